package plugin

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/nomad/plugins/base"
	"github.com/hashicorp/nomad/plugins/device"

	"github.com/detent-ml/detent/plugins/gpu/gpus"
	"github.com/detent-ml/detent/plugins/gpu/simulated"
)

// full is a configuration as Nomad fills it in.
func full() config {
	return config{Enabled: true, FingerprintPeriod: "10s", AnswerWithin: "30s", CUDADevices: true, NvidiaDevices: true, DeviceFiles: true}
}

func TestSettings(t *testing.T) {
	s, err := full().settings()
	if err != nil || s.period != 10*time.Second || s.policy.Quiet != defaultQuiet || s.policy.IgnoreECC || !slices.Contains(s.policy.IgnoredXids, 31) || s.isSimulated() || !s.nvidia {
		t.Errorf("%+v, %v", s, err)
	}
	c := full()
	c.IgnoredGPUs = []string{"GPU-1"}
	c.Health = &health{IgnoredXids: []int64{7}, Quiet: "0s", Throttled: "0s", ResetXids: []int64{8}}
	c.Simulate = &simulate{Count: 4, Model: "A100", MemoryMiB: 10, GroupsOf: 2}
	s, err = c.settings()
	if err != nil || s.policy.Quiet != 0 || s.policy.Throttled != 0 || !s.policy.IgnoreECC || !s.policy.IgnoreNVLink || len(s.policy.ResetXids) != 1 || len(s.policy.IgnoredXids) != 1 || !s.ignored["GPU-1"] || s.simulated == nil || s.nvidia || !s.cuda {
		t.Errorf("%+v, %v", s, err)
	}
	if fixed := s.simulated.Expand("x"); len(fixed.GPUs) != 4 || fixed.GPUs[0].Linked != fixed.GPUs[1].Linked || fixed.GPUs[1].Linked == fixed.GPUs[2].Linked {
		t.Errorf("groups of two: %+v", fixed.GPUs)
	}
	for words, change := range map[string]func(*config){
		"fingerprint_period":     func(c *config) { c.FingerprintPeriod = "often" },
		"100ms or more":          func(c *config) { c.FingerprintPeriod = "1ms" },
		"health.ignored_xids":    func(c *config) { c.Health = &health{IgnoredXids: []int64{-1}, Quiet: "1s"} },
		"health.reset_xids":      func(c *config) { c.Health = &health{ResetXids: []int64{-1}, Quiet: "1s"} },
		"health.quiet":           func(c *config) { c.Health = &health{Quiet: "-1s"} },
		"health.throttled":       func(c *config) { c.Health = &health{Quiet: "1s", Throttled: "hot"} },
		"answer_within":          func(c *config) { c.AnswerWithin = "1ms" },
		"either state":           func(c *config) { c.Simulate = &simulate{State: "x", Count: 1} },
		"a count of 1 or more":   func(c *config) { c.Simulate = &simulate{} },
		"groups_of":              func(c *config) { c.Simulate = &simulate{Count: 4, GroupsOf: -1} },
		"memory_mib and groups_": func(c *config) { c.Simulate = &simulate{State: "x", GroupsOf: 2} },
		"memory_mib of 0 or mor": func(c *config) { c.Simulate = &simulate{Count: 1, MemoryMiB: -1} },
	} {
		c := full()
		change(&c)
		if _, err := c.settings(); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%s: %v", words, err)
		}
	}
	if _, err := decode([]byte{0xc1}); err == nil {
		t.Error("invalid bytes were decoded as a configuration")
	}
	if _, err := decode(nil); err == nil {
		t.Error("an empty message is a configuration")
	}
	if err := New("1", hclog.NewNullLogger()).SetConfig(&base.Config{}); err == nil {
		t.Error("a plugin takes an empty configuration")
	}
}

// A bench is a plugin on GPUs that a test writes down.
type bench struct {
	*Plugin
	t    *testing.T
	path string

	mu  sync.Mutex
	now time.Time
}

func newBench(t *testing.T, state simulated.State, change ...func(*config)) *bench {
	t.Helper()
	b := &bench{Plugin: New("1.2.3", hclog.NewNullLogger()), t: t, path: filepath.Join(t.TempDir(), "gpus.yaml"), now: time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)}
	b.write(state)
	c := full()
	c.FingerprintPeriod = "100ms"
	c.Simulate = &simulate{State: b.path}
	for _, f := range change {
		f(&c)
	}
	s, err := c.settings()
	if err != nil {
		t.Fatal(err)
	}
	b.settings, b.monitor = s, gpus.NewMonitor(s.policy)
	b.Plugin.now = func() time.Time { b.mu.Lock(); defer b.mu.Unlock(); return b.now }
	return b
}

func (b *bench) write(s simulated.State) {
	b.t.Helper()
	if err := simulated.Write(b.path, s); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) pass(d time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.now = b.now.Add(d)
}

// next is the next fingerprint.
func next[T any](t *testing.T, ch <-chan T) T {
	t.Helper()
	select {
	case v, ok := <-ch:
		if !ok {
			t.Fatal("the stream ended")
		}
		return v
	case <-time.After(30 * time.Second):
		t.Fatal("the plugin sent nothing")
	}
	panic("unreachable")
}

// health is how the devices of a fingerprint are, in their order.
func healthOf(f *device.FingerprintResponse) []string {
	var all []string
	for _, g := range f.Devices {
		for _, d := range g.Devices {
			all = append(all, d.HealthDesc)
		}
	}
	return all
}

func TestFingerprint(t *testing.T) {
	b := newBench(t, simulated.State{GPUs: []simulated.GPU{{ID: "GPU-1", Model: "A100"}, {ID: "GPU-2", Model: "H200"}, {ID: "GPU-3", Model: "A100"}}},
		func(c *config) { c.IgnoredGPUs = []string{"GPU-4"} })
	ctx, cancel := context.WithCancel(t.Context())
	ch, err := b.Fingerprint(ctx)
	if err != nil {
		t.Fatal(err)
	}
	f := next(t, ch)
	if len(f.Devices) != 2 || f.Devices[0].Name != "A100" || len(f.Devices[0].Devices) != 2 || f.Devices[1].Name != "H200" || f.Devices[0].Vendor != "nvidia" || f.Devices[0].Type != "gpu" {
		t.Fatalf("%+v", f.Devices)
	}
	for _, g := range f.Devices {
		if err := g.Validate(); err != nil {
			t.Error(err)
		}
		for _, name := range []string{"memory", "driver_version", "cuda_version", "compute_capability", "bar1", "simulated", "mig"} {
			if g.Attributes[name] == nil {
				t.Errorf("%s has no attribute %s", g.Name, name)
			}
		}
	}
	if d := f.Devices[0].Devices[0]; !d.Healthy || d.HwLocality == nil || d.HwLocality.PciBusID == "" {
		t.Errorf("%+v", d)
	}
	b.write(simulated.State{GPUs: []simulated.GPU{{ID: "GPU-1", Model: "A100", Unhealthy: "it smells"}, {ID: "GPU-2", Model: "H200"}, {ID: "GPU-3", Model: "A100"}, {ID: "GPU-4"}}})
	if got := healthOf(next(t, ch)); !slices.Equal(got, []string{"it smells", "", ""}) {
		t.Errorf("unhealthy: %q", got)
	}
	b.write(simulated.State{GPUs: []simulated.GPU{{ID: "GPU-1", Model: "A100"}, {ID: "GPU-2", Model: "H200", Xids: []uint64{94}}, {ID: "GPU-3", Model: "A100", Xids: []uint64{31}}}})
	var got []string
	for !slices.ContainsFunc(got, func(s string) bool { return strings.Contains(s, "Xid 94") }) {
		got = healthOf(next(t, ch))
	}
	if got[0] != "" || got[1] != "" {
		t.Errorf("an error of a program makes a GPU unhealthy: %q", got)
	}
	b.pass(defaultQuiet)
	if got := healthOf(next(t, ch)); !slices.Equal(got, []string{"", "", ""}) {
		t.Errorf("healthy again: %q", got)
	}
	b.write(simulated.State{Error: "version mismatch"})
	if got := healthOf(next(t, ch)); len(got) != 3 || !strings.Contains(got[2], "version mismatch") {
		t.Errorf("without a driver: %q", got)
	}
	for id, s := range b.measure()[0].InstanceStats {
		if s.Summary.StringVal == nil || !strings.Contains(*s.Summary.StringVal, "version mismatch") || len(s.Stats.Attributes) != 0 {
			t.Errorf("%s without a driver: %+v", id, s)
		}
	}
	cancel()
	for range ch { //nolint:revive // until it is closed
	}
	if err := errors.Join(b.Close(), b.Close()); err != nil {
		t.Error(err)
	}
}

func TestReserve(t *testing.T) {
	state := simulated.State{GPUs: []simulated.GPU{{ID: "GPU-1", Nodes: []string{"/dev/null", "/dev/zero"}}, {ID: "GPU-2", Nodes: []string{"/dev/zero"}}, {ID: "GPU-3", Lost: true}}}
	b := newBench(t, state)
	if _, err := b.Reserve([]string{"GPU-1"}); err != nil { // it looks by itself
		t.Fatal(err)
	}
	res, err := b.Reserve([]string{"GPU-2", "GPU-1"})
	if err != nil {
		t.Fatal(err)
	}
	if len(res.Envs) != 2 || res.Envs["CUDA_VISIBLE_DEVICES"] != "GPU-2,GPU-1" || res.Envs["DET_SIMULATED_GPUS"] != "GPU-2,GPU-1" {
		t.Errorf("%v", res.Envs)
	}
	if len(res.Devices) != 2 || res.Devices[0].HostPath != "/dev/zero" || res.Devices[1].TaskPath != "/dev/null" || res.Devices[0].CgroupPerms != "rw" {
		t.Errorf("%+v", res.Devices)
	}
	for words, ids := range map[string][]string{"no devices": nil, "no GPU GPU-9": {"GPU-1", "GPU-9"}, "out of use: it fell off": {"GPU-3"}} {
		if _, err := b.Reserve(ids); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%v: %v", ids, err)
		}
	}
	real := newBench(t, state, func(c *config) { c.DeviceFiles = false })
	real.settings.nvidia, real.settings.simulatedFile = true, ""
	real.open = func(settings) (gpus.Source, error) { return simulated.Open(real.path), nil }
	if _, _, err := real.look(); err != nil {
		t.Fatal(err)
	}
	res, err = real.Reserve([]string{"GPU-1"})
	if err != nil || len(res.Devices) != 0 || len(res.Envs) != 2 || res.Envs["NVIDIA_VISIBLE_DEVICES"] != "GPU-1" || res.Envs["CUDA_VISIBLE_DEVICES"] != "GPU-1" {
		t.Errorf("%+v, %v", res, err)
	}
}

// TestHang: a driver that does not answer makes the GPUs unhealthy, and holds up neither Nomad's questions
// nor the end; when it answers again they are healthy.
func TestHang(t *testing.T) {
	sound := simulated.State{GPUs: []simulated.GPU{{ID: "GPU-1"}, {ID: "GPU-2"}}}
	b := newBench(t, sound, func(c *config) { c.AnswerWithin = "100ms" })
	ch, err := b.Fingerprint(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got := healthOf(next(t, ch)); !slices.Equal(got, []string{"", ""}) {
		t.Fatalf("%q", got)
	}
	hung := sound
	hung.Hang = true
	b.write(hung)
	want := "the driver does not answer: no answer within 100ms"
	if got := healthOf(next(t, ch)); !slices.Equal(got, []string{want, want}) {
		t.Errorf("%q", got)
	}
	if _, err := b.Reserve([]string{"GPU-1"}); err == nil || !strings.Contains(err.Error(), "no answer within") {
		t.Errorf("a task is given a GPU of a driver that hangs: %v", err)
	}
	stats, err := b.Stats(t.Context(), time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if s := next(t, stats).Groups[0].InstanceStats["GPU-1"]; s.Summary.StringVal == nil || !strings.Contains(*s.Summary.StringVal, "no answer") {
			t.Errorf("%+v", s.Summary)
		}
	}
	b.write(sound)
	if got := healthOf(next(t, ch)); !slices.Equal(got, []string{"", ""}) {
		t.Errorf("healthy again: %q", got)
	}
	b.write(hung)
	next(t, ch)
	if err := b.Close(); err != nil {
		t.Error(err)
	}
}

func TestStats(t *testing.T) {
	b := newBench(t, simulated.State{GPUs: []simulated.GPU{{ID: "GPU-1", Sample: simulated.Sample{Utilization: 70, MemoryUsedMiB: 9}},
		{ID: "GPU-2", Lost: true}, {ID: "GPU-3", Parts: []simulated.Part{{ID: "MIG-1", Profile: "1g"}}}}})
	if _, _, err := b.look(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ch, err := b.Stats(ctx, time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	next(t, ch)
	got := next(t, ch)
	if len(got.Groups) != 2 || len(got.Groups[0].InstanceStats) != 2 {
		t.Fatalf("%+v", got.Groups)
	}
	if sick := got.Groups[0].InstanceStats["GPU-2"].Summary; sick.StringVal == nil || !strings.Contains(*sick.StringVal, "fell off") {
		t.Errorf("the summary of a lost GPU: %+v", sick)
	}
	s := got.Groups[0].InstanceStats["GPU-1"]
	if *s.Summary.IntNumeratorVal != 70 || *s.Summary.IntDenominatorVal != 100 || s.Summary.Unit != "%" {
		t.Errorf("summary: %+v", s.Summary)
	}
	if m := s.Stats.Attributes["Memory state"]; *m.IntNumeratorVal != 9 || *m.IntDenominatorVal != simulated.MemoryMiB {
		t.Errorf("memory: %+v", m)
	}
	if p := s.Stats.Attributes["Power usage"]; *p.FloatNumeratorVal != 30 || *p.FloatDenominatorVal != 300 {
		t.Errorf("power: %+v", p)
	}
	if part := got.Groups[1].InstanceStats["MIG-1"]; part == nil || part.Summary.Desc != "used and total memory" {
		t.Errorf("a part: %+v", part)
	}
	cancel()
	for range ch { //nolint:revive // until it is closed
	}
}

func TestDisabled(t *testing.T) {
	b := newBench(t, simulated.State{}, func(c *config) { c.Enabled = false })
	_, ferr := b.Fingerprint(t.Context())
	_, serr := b.Stats(t.Context(), time.Second)
	_, rerr := b.Reserve([]string{"x"})
	for _, err := range []error{ferr, serr, rerr} {
		if !errors.Is(err, device.ErrPluginDisabled) {
			t.Errorf("a plugin that is turned off: %v", err)
		}
	}
}

// TestWithoutDriver: a node without a driver has no GPUs, and gets them when the driver is loaded.
func TestWithoutDriver(t *testing.T) {
	b := newBench(t, simulated.State{GPUs: []simulated.GPU{{ID: "GPU-1"}}})
	open := b.open
	tries := make(chan struct{}, 2)
	b.open = func(s settings) (gpus.Source, error) {
		select {
		case tries <- struct{}{}:
			return nil, errors.New("no driver")
		default:
			return open(s)
		}
	}
	ch, err := b.Fingerprint(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if f := next(t, ch); len(f.Devices) != 0 {
		t.Errorf("%+v", f.Devices)
	}
	if f := next(t, ch); len(f.Devices) != 1 {
		t.Errorf("%+v", f.Devices)
	}
}
