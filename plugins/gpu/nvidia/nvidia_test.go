//go:build cgo && linux

package nvidia

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock/dgxa100"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock/dgxh100"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock/dgxh200"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock/server"

	"github.com/detent-ml/detent/plugins/gpu/gpus"
)

// devRoot is a file system with the device files of GPUs 0 and 1, and of MIG on 0.
func devRoot(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	for path, text := range map[string]string{
		"dev/nvidia0": "", "dev/nvidia1": "", "dev/nvidiactl": "", "dev/nvidia-uvm": "", "dev/nvidia-caps/nvidia-cap66": "", "dev/nvidia-caps/nvidia-cap67": "",
		"proc/driver/nvidia-caps/mig-minors": "config 1\nmonitor 2\ngpu0/gi7/access 66\ngpu0/gi7/ci0/access 67\n",
	} {
		path = filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func openOn(t *testing.T, s *server.Server) (*machine, *library) {
	t.Helper()
	m := newMachine(t, s)
	l, err := open(m, devRoot(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return m, l
}

func scanned(t *testing.T, l *library) gpus.Scan {
	t.Helper()
	scan, err := l.Scan()
	if err != nil {
		t.Fatal(err)
	}
	return scan
}

func TestServers(t *testing.T) {
	for name, test := range map[string]struct {
		server     *server.Server
		model      string
		memory     uint64
		capability string
		cuda       string
	}{
		"A100": {dgxa100.New(), "Mock NVIDIA A100-SXM4-40GB", 40960, "8.0", "12.4"},
		"H100": {dgxh100.New(), "NVIDIA H100 80GB HBM3", 81920, "9.0", "12.4"},
		"H200": {dgxh200.New(), "NVIDIA H200 141GB HBM3e", 144384, "9.0", "12.4"},
	} {
		t.Run(name, func(t *testing.T) {
			_, l := openOn(t, test.server)
			scan := scanned(t, l)
			if len(scan.GPUs) != 8 || scan.Driver != "550.54.15" || scan.CUDA != test.cuda {
				t.Fatalf("%d GPUs, driver %s, CUDA %s", len(scan.GPUs), scan.Driver, scan.CUDA)
			}
			g := scan.GPUs[1]
			if g.Model != test.model || g.MemoryMiB != test.memory || g.Capability != test.capability || !strings.HasPrefix(g.ID, "GPU-") {
				t.Errorf("%+v", g)
			}
			if g.PowerLimitW != 700 || g.CoreClockMHz != 1980 || g.MemClockMHz != 3201 || g.BAR1MiB != 256<<10 || g.PCIeMBs != 63008 || g.Persistence != "enabled" {
				t.Errorf("what it is capable of: %+v", g)
			}
			if g.BusID != "00000000:00:00.0" || g.Split || g.Lost || g.Uncorrected != 0 || g.RemapFailed || g.Instance != -1 {
				t.Errorf("%+v", g)
			}
			want := []string{"/dev/nvidia1", "/dev/nvidiactl", "/dev/nvidia-uvm"}
			if !slices.Equal(g.Nodes, want) {
				t.Errorf("device files %v, want %v", g.Nodes, want)
			}
		})
	}
}

func TestParts(t *testing.T) {
	m, l := openOn(t, dgxh200.New())
	m.splitUp(m.Devices[0].(*server.Device))
	scan := scanned(t, l)
	g := scan.GPUs[0]
	if !g.Split || len(g.Devices()) != 2 || len(scan.GPUs[1].Devices()) != 1 {
		t.Fatalf("%+v", g)
	}
	p := g.Parts[0]
	if p.ID != "MIG-0" || p.Instance != 7 || p.Compute != 0 || p.Model != "NVIDIA H200 141GB HBM3e MIG 1g.18gb" || p.MemoryMiB != 18<<10 {
		t.Errorf("%+v", p)
	}
	want := []string{"/dev/nvidia0", "/dev/nvidia-caps/nvidia-cap66", "/dev/nvidia-caps/nvidia-cap67", "/dev/nvidiactl", "/dev/nvidia-uvm"}
	if !slices.Equal(p.Nodes, want) {
		t.Errorf("device files %v, want %v", p.Nodes, want)
	}
	s, err := l.Measure("MIG-0")
	if err != nil || *s.MemoryUsedMiB != 1024 || s.Utilization != nil || s.PowerW != nil {
		t.Errorf("%+v, %v", s, err)
	}
}

func TestMeasure(t *testing.T) {
	m, l := openOn(t, dgxh100.New())
	s, err := l.Measure(m.ids()[2])
	if err != nil {
		t.Fatal(err)
	}
	if *s.Utilization != 97 || *s.MemoryUtilization != 40 || s.Encoder != nil || *s.Decoder != 3 || *s.PowerW != 512.3 || *s.PowerLimitW != 700 ||
		*s.TemperatureC != 61 || *s.CoreClockMHz != 345 || *s.MemClockMHz != 3000 || *s.Corrected != 7 || *s.Uncorrected != 0 ||
		*s.RemappedRows != 3 || *s.BAR1UsedMiB != 5 || *s.MemoryTotalMiB != 81920 {
		t.Errorf("%+v", s)
	}
	if _, err := l.Measure("GPU-none"); err == nil || !strings.Contains(err.Error(), "GPU-none") {
		t.Errorf("a GPU that there is not: %v", err)
	}
	d := m.Devices[2].(*server.Device)
	d.GetPowerUsageFunc = func() (uint32, nvml.Return) { return 0, nvml.ERROR_GPU_IS_LOST }
	if _, err := l.Measure(d.UUID); err == nil || !strings.Contains(err.Error(), "lost") {
		t.Errorf("a GPU that is lost: %v", err)
	}
}

func TestSickness(t *testing.T) {
	m, l := openOn(t, dgxa100.New())
	ids := m.ids()
	m.set(func() { m.uncorrected[ids[0]], m.broken[ids[1]] = 3, true })
	scan := scanned(t, l)
	if scan.GPUs[0].Uncorrected != 3 || !scan.GPUs[1].RemapFailed || scan.GPUs[2].Uncorrected != 0 {
		t.Errorf("%+v", scan.GPUs[:3])
	}
}

// TestLost: a GPU that falls off the bus is known by its index, then missing, and
// found again; while one is missing the library is begun again at each look.
func TestLost(t *testing.T) {
	m, l := openOn(t, dgxh100.New())
	ids := m.ids()
	scanned(t, l)
	if m.begun != 1 {
		t.Errorf("begun %d times with all in order", m.begun)
	}
	m.set(func() { m.lost[ids[3]] = true })
	scan := scanned(t, l)
	if len(scan.GPUs) != 8 || scan.GPUs[3].ID != ids[3] || !scan.GPUs[3].Lost || scan.GPUs[4].Lost {
		t.Errorf("lost: %+v", scan.GPUs[3])
	}
	m.set(func() { m.gone[3] = true })
	if scan = scanned(t, l); len(scan.GPUs) != 7 || scan.GPUs[3].ID != ids[4] {
		t.Errorf("gone: %d GPUs", len(scan.GPUs))
	}
	if m.begun != 3 {
		t.Errorf("begun %d times, want once and at each look without it", m.begun)
	}
	m.set(func() { clear(m.lost); clear(m.gone) })
	if scan = scanned(t, l); len(scan.GPUs) != 8 || scan.GPUs[3].Lost {
		t.Errorf("back: %+v", scan.GPUs)
	}
	d := m.Devices[5].(*server.Device)
	d.GetMemoryInfoFunc = func() (nvml.Memory, nvml.Return) { return nvml.Memory{}, nvml.ERROR_GPU_IS_LOST }
	if scan = scanned(t, l); !scan.GPUs[5].Lost {
		t.Error("a GPU whose handle is fine and which answers that it is lost is not")
	}
}

func TestDriverAway(t *testing.T) {
	m, l := openOn(t, dgxh100.New())
	m.set(func() { m.answers = nvml.ERROR_DRIVER_NOT_LOADED })
	if _, err := l.Scan(); err == nil || !strings.Contains(err.Error(), "not loaded") {
		t.Errorf("without a driver: %v", err)
	}
	if _, err := l.Measure(m.ids()[0]); err == nil {
		t.Error("measured without a driver")
	}
	m.set(func() { m.answers = nvml.SUCCESS })
	if scan := scanned(t, l); len(scan.GPUs) != 8 {
		t.Errorf("%d GPUs when the driver is back", len(scan.GPUs))
	}
	if err := errors.Join(l.Close(), l.Close()); err != nil {
		t.Errorf("closed twice: %v", err)
	}
	for ret, words := range map[nvml.Return]string{
		nvml.ERROR_LIBRARY_NOT_FOUND: "no NVIDIA driver", nvml.ERROR_NO_PERMISSION: "root", nvml.ERROR_UNKNOWN: "library",
	} {
		m.set(func() { m.answers = ret })
		if _, err := open(m, "/"); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%v is worded %v", ret, err)
		}
	}
}

// TestEvents: errors are reported with their GPU, also after the library was
// initialised again.
func TestEvents(t *testing.T) {
	m, l := openOn(t, dgxh100.New())
	scanned(t, l)
	got := make(chan gpus.Event, 8)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); l.Watch(ctx, func(e gpus.Event) { got <- e }) }()
	defer func() { cancel(); <-done }()
	expect := func(want gpus.Event) {
		t.Helper()
		select {
		case e := <-got:
			if e != want {
				t.Errorf("got %+v, want %+v", e, want)
			}
		case <-time.After(30 * time.Second):
			t.Fatalf("no event; want %+v", want)
		}
	}
	id := m.ids()[6]
	xid := nvml.EventData{Device: m.Devices[6], EventType: nvml.EventTypeXidCriticalError, EventData: 79, GpuInstanceId: noPart, ComputeInstanceId: noPart}
	m.events <- xid
	expect(gpus.Event{ID: id, Xid: 79, Instance: -1, Compute: -1})
	xid.GpuInstanceId, xid.ComputeInstanceId = 7, 0
	m.events <- xid
	expect(gpus.Event{ID: id, Xid: 79, Instance: 7, Compute: 0})
	m.events <- nvml.EventData{Device: m.Devices[6], EventType: nvml.EventTypeDoubleBitEccError}
	expect(gpus.Event{ID: id, Instance: -1, Compute: -1})

	m.set(func() { m.lost[id] = true })
	scanned(t, l)
	m.set(func() { clear(m.lost) })
	m.events <- nvml.EventData{Device: m.Devices[6], EventType: nvml.EventTypeXidCriticalError, EventData: 62, GpuInstanceId: noPart, ComputeInstanceId: noPart}
	expect(gpus.Event{ID: id, Xid: 62, Instance: -1, Compute: -1})
}

// TestHealth: the health that newer drivers report.
func TestHealth(t *testing.T) {
	m, l := openOn(t, dgxh100.New())
	id := m.ids()
	failed := nvml.GpuFabricInfo{State: nvml.GPU_FABRIC_STATE_COMPLETED, Status: uint32(nvml.ERROR_UNKNOWN)}
	m.set(func() {
		m.pending[id[0]], m.retired[id[1]] = true, true
		m.throttle[id[2]] = nvml.ClocksThrottleReasonHwSlowdown | nvml.ClocksThrottleReasonHwThermalSlowdown
		m.throttle[id[3]] = nvml.ClocksThrottleReasonHwSlowdown
		m.links[id[4]] = 17
		m.fabric[id[5]], m.fabric[id[6]] = nvml.GpuFabricInfo{State: nvml.GPU_FABRIC_STATE_IN_PROGRESS}, failed
		m.recovery[id[5]], m.recovery[id[6]] = int(nvml.GPU_RECOVERY_ACTION_GPU_RESET), -1
	})
	g := scanned(t, l).GPUs
	if !g[0].RepairPending || !g[1].RepairPending || g[2].RepairPending || g[0].RemapFailed {
		t.Errorf("repairs: %+v, %+v, %+v", g[0], g[1], g[2])
	}
	if strings.Join(g[2].Throttled, ",") != "heat" || strings.Join(g[3].Throttled, ",") != "heat or power" || g[4].Throttled != nil {
		t.Errorf("slowed down: %q %q %q", g[2].Throttled, g[3].Throttled, g[4].Throttled)
	}
	if g[3].Links != 1<<18-1 || g[4].Links != 1<<17-1 {
		t.Errorf("links: %b %b", g[3].Links, g[4].Links)
	}
	if !strings.Contains(g[5].Fabric, "nvidia-fabricmanager") || !strings.Contains(g[6].Fabric, "could not join") || g[4].Fabric != "" {
		t.Errorf("fabric: %q %q %q", g[5].Fabric, g[6].Fabric, g[4].Fabric)
	}
	if g[5].Recovery != "reset the GPU" || !g[5].RecoveryKnown || g[6].RecoveryKnown || g[4].Recovery != "" || !g[4].RecoveryKnown {
		t.Errorf("what to do: %+v, %+v, %+v", g[5], g[6], g[4])
	}
}

// TestOlderDriver: a function that its library lacks is not called, which would end the program.
func TestOlderDriver(t *testing.T) {
	m := newMachine(t, dgxa100.New())
	m.symbols = errors.New("undefined symbol")
	l, err := open(m, devRoot(t))
	if err != nil {
		t.Fatal(err)
	}
	if g := scanned(t, l).GPUs[0]; g.Fabric != "" || g.Unanswered != "" {
		t.Errorf("%+v", g)
	}
}

// TestNoAnswer: an error of the library that is not about a GPU does not mean that it fell off the bus.
func TestNoAnswer(t *testing.T) {
	m, l := openOn(t, dgxh100.New())
	scanned(t, l)
	id := m.ids()[3]
	m.set(func() { m.unknown[id] = true })
	if g := scanned(t, l).GPUs[3]; g.ID != id || g.Lost || g.Unanswered == "" {
		t.Errorf("%+v", g)
	}
	m.set(func() { clear(m.unknown) })
	if g := scanned(t, l).GPUs[3]; g.Lost || g.Unanswered != "" || g.Model == "" {
		t.Errorf("%+v", g)
	}
}

// TestHang: a call about one GPU does not return. The others are described all the same, the library
// is not begun again under the call, and when it returns the GPU is described again.
func TestHang(t *testing.T) {
	m, l := openOn(t, dgxh100.New())
	scanned(t, l)
	id, hang := m.ids()[3], make(chan struct{})
	past := make(chan time.Time)
	close(past)
	l.late = func(index int, _ time.Time) (<-chan time.Time, func() bool) {
		if index == 3 {
			return past, func() bool { return false }
		}
		return nil, func() bool { return false }
	}
	begun := m.begun
	m.set(func() { m.hangs[id] = hang })
	for range 3 {
		all := scanned(t, l).GPUs
		g := all[3]
		if len(all) != 8 || g.ID != id || !strings.Contains(g.Unanswered, "does not return") || g.Lost {
			t.Fatalf("%d GPUs, %+v", len(all), g)
		}
		if other := all[4]; other.Unanswered != "" || other.Model == "" {
			t.Errorf("another one: %+v", other)
		}
	}
	if m.begun != begun {
		t.Errorf("the library was begun %d times while a call was under way", m.begun-begun)
	}
	m.set(func() { clear(m.hangs) })
	close(hang)
	l.late = late
	for deadline := time.Now().Add(30 * time.Second); ; {
		if g := scanned(t, l).GPUs[3]; g.Unanswered == "" && g.Model != "" {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the GPU stays silent")
		}
	}
}

// TestWithoutEvents: GPUs that offer no events are watched by their counters.
func TestWithoutEvents(t *testing.T) {
	m, l := openOn(t, dgxh100.New())
	for _, d := range m.Devices {
		d.(*server.Device).GetSupportedEventTypesFunc = func() (uint64, nvml.Return) { return 0, nvml.SUCCESS }
	}
	w := watcher{l: l, report: func(e gpus.Event) { t.Errorf("reported %+v", e) }}
	if w.once() {
		t.Error("waited for events that there are not")
	}
}

// TestThisMachine opens the real library: it lists the GPUs, or the error names the missing driver.
func TestThisMachine(t *testing.T) {
	s, err := Open()
	if err != nil {
		if !strings.Contains(err.Error(), "driver") && !strings.Contains(err.Error(), "NVIDIA") {
			t.Errorf("%v does not name what is missing", err)
		}
		t.Skipf("no GPU here: %v", err)
	}
	defer s.Close()
	scan, err := s.Scan()
	if err != nil || scan.Driver == "" {
		t.Fatalf("%+v, %v", scan, err)
	}
	t.Logf("linked: %v", scan.Linked)
	for _, g := range scan.GPUs {
		for _, d := range g.Devices() {
			sample, err := s.Measure(d.ID)
			if err != nil || d.Model == "" || d.MemoryMiB == 0 || len(d.Nodes) == 0 || sample.MemoryTotalMiB == nil {
				t.Errorf("%+v, %+v, %v", d, sample, err)
			}
			t.Logf("%+v", d)
		}
	}
}
