package plugin

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/nomad/plugins/base"
	"github.com/hashicorp/nomad/plugins/shared/hclspec"

	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/plugins/gpu/gpus"
	"github.com/detent-ml/detent/plugins/gpu/simulated"
)

// config is the plugin's block in the agent's configuration.
type config struct {
	Enabled           bool      `codec:"enabled"`
	IgnoredGPUs       []string  `codec:"ignored_gpu_ids"`
	FingerprintPeriod string    `codec:"fingerprint_period"`
	CUDADevices       bool      `codec:"cuda_visible_devices"`
	NvidiaDevices     bool      `codec:"nvidia_visible_devices"`
	DeviceFiles       bool      `codec:"device_files"`
	AnswerWithin      string    `codec:"answer_within"`
	Health            *health   `codec:"health"`
	Simulate          *simulate `codec:"simulate"`
}

type health struct {
	IgnoredXids []int64 `codec:"ignored_xids"`
	ResetXids   []int64 `codec:"reset_xids"`
	Quiet       string  `codec:"quiet"`
	Throttled   string  `codec:"throttled"`
	ECC         bool    `codec:"ecc"`
	NVLink      bool    `codec:"nvlink"`
}

type simulate struct {
	State     string `codec:"state"`
	Count     int64  `codec:"count"`
	Model     string `codec:"model"`
	MemoryMiB int64  `codec:"memory_mib"`
	GroupsOf  int64  `codec:"groups_of"`
}

// schema is how Nomad parses the block.
func schema() *hclspec.Spec {
	attr := func(name, kind, otherwise string) *hclspec.Spec {
		return hclspec.NewDefault(hclspec.NewAttr(name, kind, false), hclspec.NewLiteral(otherwise))
	}
	return hclspec.NewObject(map[string]*hclspec.Spec{
		"enabled":                attr("enabled", "bool", "true"),
		"ignored_gpu_ids":        attr("ignored_gpu_ids", "list(string)", "[]"),
		"fingerprint_period":     attr("fingerprint_period", "string", `"10s"`),
		"cuda_visible_devices":   attr("cuda_visible_devices", "bool", "true"),
		"nvidia_visible_devices": attr("nvidia_visible_devices", "bool", "true"),
		"device_files":           attr("device_files", "bool", "true"),
		"answer_within":          attr("answer_within", "string", `"30s"`),
		"health": hclspec.NewBlock("health", false, hclspec.NewObject(map[string]*hclspec.Spec{
			"ignored_xids": attr("ignored_xids", "list(number)", list(gpus.DefaultIgnoredXids())),
			"reset_xids":   attr("reset_xids", "list(number)", list(gpus.DefaultResetXids())),
			"quiet":        attr("quiet", "string", `"10m"`),
			"throttled":    attr("throttled", "string", `"5m"`),
			"ecc":          attr("ecc", "bool", "true"),
			"nvlink":       attr("nvlink", "bool", "true"),
		})),
		"simulate": hclspec.NewBlock("simulate", false, hclspec.NewObject(map[string]*hclspec.Spec{
			"state":      attr("state", "string", `""`),
			"count":      attr("count", "number", "0"),
			"model":      attr("model", "string", `""`),
			"memory_mib": attr("memory_mib", "number", "0"),
			"groups_of":  attr("groups_of", "number", "0"),
		})),
	})
}

// list formats numbers in HCL.
func list(numbers []uint64) string {
	return "[" + strings.Join(each.Of(numbers, func(n uint64) string { return strconv.FormatUint(n, 10) }), ", ") + "]"
}

// settings are computed from the configuration.
type settings struct {
	enabled       bool
	ignored       map[string]bool
	period        time.Duration
	answerWithin  time.Duration // time limit for the driver's answer about the GPUs
	cuda, nvidia  bool          // which variables name a task's GPUs
	files         bool          // whether a task gets device files
	policy        gpus.Policy
	simulated     *simulated.State // simulated GPUs whose state does not change
	simulatedFile string           // or the file with their state
}

const (
	defaultQuiet     = 10 * time.Minute
	defaultThrottled = 5 * time.Minute
	// minPeriod prevents a mistake in the configuration from overloading a node.
	minPeriod = 100 * time.Millisecond
)

// decode decodes the configuration from Nomad.
func decode(msgpack []byte) (settings, error) {
	var c config
	if len(msgpack) > 0 {
		if err := base.MsgPackDecode(msgpack, &c); err != nil {
			return settings{}, fmt.Errorf("cannot decode the configuration of the plugin: %w", err)
		}
	}
	return c.settings()
}

func (c config) settings() (settings, error) {
	s := settings{enabled: c.Enabled, ignored: map[string]bool{}, cuda: c.CUDADevices, nvidia: c.NvidiaDevices, files: c.DeviceFiles,
		policy: gpus.Policy{IgnoredXids: gpus.DefaultIgnoredXids(), ResetXids: gpus.DefaultResetXids(), Quiet: defaultQuiet, Throttled: defaultThrottled}}
	for _, id := range c.IgnoredGPUs {
		s.ignored[id] = true
	}
	var err error
	if s.period, err = time.ParseDuration(c.FingerprintPeriod); err != nil || s.period < minPeriod {
		return s, fmt.Errorf("fingerprint_period: expected a time of %s or more, such as 10s, found %q", minPeriod, c.FingerprintPeriod)
	}
	if s.answerWithin, err = time.ParseDuration(c.AnswerWithin); err != nil || s.answerWithin < minPeriod {
		return s, fmt.Errorf("answer_within: expected a time of %s or more, such as 30s, found %q", minPeriod, c.AnswerWithin)
	}
	if c.Health != nil {
		if err := s.judge(c.Health); err != nil {
			return s, err
		}
	}
	return s, s.simulate(c.Simulate)
}

// judge reads what makes a GPU unhealthy.
func (s *settings) judge(h *health) error {
	s.policy.IgnoreECC, s.policy.IgnoreNVLink = !h.ECC, !h.NVLink
	var err error
	if s.policy.IgnoredXids, err = xids("health.ignored_xids", h.IgnoredXids); err != nil {
		return err
	}
	if s.policy.ResetXids, err = xids("health.reset_xids", h.ResetXids); err != nil {
		return err
	}
	if s.policy.Quiet, err = time.ParseDuration(h.Quiet); err != nil || s.policy.Quiet < 0 {
		return fmt.Errorf("health.quiet: expected a duration such as 10m, or 0s to keep a GPU out of use until the plugin restarts, found %q", h.Quiet)
	}
	if s.policy.Throttled, err = time.ParseDuration(h.Throttled); err != nil || s.policy.Throttled < 0 {
		return fmt.Errorf("health.throttled: expected a duration such as 5m, or 0s to ignore throttling, found %q", h.Throttled)
	}
	return nil
}

func xids(key string, numbers []int64) ([]uint64, error) {
	var codes []uint64
	for _, x := range numbers {
		if x < 0 {
			return nil, fmt.Errorf("%s: there is no Xid %d", key, x)
		}
		codes = append(codes, uint64(x))
	}
	return codes, nil
}

func (s *settings) simulate(c *simulate) error {
	switch {
	case c == nil:
		return nil
	case c.State != "" && (c.Count != 0 || c.Model != "" || c.MemoryMiB != 0 || c.GroupsOf != 0):
		return fmt.Errorf("simulate: set either state, which is a file, or count, model, memory_mib and groups_of")
	case c.State != "":
		s.simulatedFile = c.State
	case c.Count <= 0 || c.MemoryMiB < 0:
		return fmt.Errorf("simulate: requires state, which is a file, or a count of 1 or more (and memory_mib of 0 or more); found count %d, memory_mib %d", c.Count, c.MemoryMiB)
	case c.GroupsOf < 0:
		return fmt.Errorf("simulate: groups_of, the number of GPUs that are linked with each other, is %d; it must be 0 or more", c.GroupsOf)
	default:
		state := simulated.Of(int(c.Count), c.Model, uint64(c.MemoryMiB))
		if c.GroupsOf > 0 {
			state = state.InGroups(int(c.GroupsOf))
		}
		s.simulated = &state
	}
	// Container runtimes cannot give a task a GPU that does not exist.
	s.nvidia = false
	return nil
}

// isSimulated reports whether the GPUs are simulated.
func (s *settings) isSimulated() bool { return s.simulated != nil || s.simulatedFile != "" }
