package plugin

import (
	"os"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/nomad/plugins/base"
	"github.com/hashicorp/nomad/plugins/device"
	"github.com/hashicorp/nomad/plugins/shared/hclspec"

	"github.com/detent-ml/detent/plugins/gpu/bulletin"
	"github.com/detent-ml/detent/plugins/gpu/gpus"
	"github.com/detent-ml/detent/plugins/gpu/nvidia"
	"github.com/detent-ml/detent/plugins/gpu/simulated"
)

// Name is the plugin's, by which an agent's configuration knows it. It is the
// name of the program's file as well.
const Name = "det-gpu"

// How devices are named in Nomad: vendor, type, and their model.
const (
	vendor = "nvidia"
	kind   = device.DeviceTypeGPU
)

// Plugin is det-gpu. It is made by New.
type Plugin struct {
	log     hclog.Logger
	version string
	now     func() time.Time
	open    func(settings) (gpus.Source, error)
	notice  string // file in which det-gpu-health finds what Nomad was told; "" for none

	mu       sync.Mutex
	settings settings
	source   gpus.Source // nil until it is first needed, and while it cannot be had
	ward     *gpus.Ward
	patients []gpus.Patient // as last told
	driver   gpus.Scan      // the last one that there was; versions only
	wake     chan struct{}  // an event happened that may matter
}

// New makes a plugin of that version.
func New(version string, log hclog.Logger) *Plugin { return NewWithNotice(version, "", log) }

// NewWithNotice makes a plugin that also leaves what it tells Nomad in a file, for
// the driver of package bulletin.
func NewWithNotice(version, notice string, log hclog.Logger) *Plugin {
	return &Plugin{log: log, version: version, notice: notice, now: time.Now, open: openSource, wake: make(chan struct{}, 1),
		settings: settings{}, ward: gpus.NewWard(gpus.Policy{})}
}

// openSource is where GPUs are known from, by the configuration.
func openSource(s settings) (gpus.Source, error) {
	switch {
	case s.simulatedFile != "":
		return simulated.Open(s.simulatedFile), nil
	case s.simulated != nil:
		host, err := os.Hostname()
		if err != nil {
			host = "node"
		}
		return simulated.Fixed(*s.simulated, host), nil
	}
	return nvidia.Open()
}

// PluginInfo says what the plugin is.
func (p *Plugin) PluginInfo() (*base.PluginInfoResponse, error) {
	return &base.PluginInfoResponse{
		Type: base.PluginTypeDevice, PluginApiVersions: []string{device.ApiVersion010}, PluginVersion: p.version, Name: Name,
	}, nil
}

// ConfigSchema says what may be in the agent's configuration.
func (p *Plugin) ConfigSchema() (*hclspec.Spec, error) { return schema(), nil }

// SetConfig takes the configuration.
func (p *Plugin) SetConfig(c *base.Config) error {
	s, err := decode(c.PluginConfig)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.settings = s
	p.ward = gpus.NewWard(s.policy)
	return nil
}

// tell leaves the notice. Without it Nomad knows all the same, so that it cannot be
// left is no more than said. The caller holds the lock.
func (p *Plugin) tell() {
	if p.notice == "" {
		return
	}
	n := bulletin.Notice{}
	for _, d := range p.patients {
		n.GPUs = append(n.GPUs, bulletin.GPU{ID: d.ID, Model: modelOf(d.Device), Why: d.Why})
	}
	if err := n.Write(p.notice); err != nil {
		p.log.Warn("det-gpu-health cannot be told how the GPUs are", "error", err)
	}
}

// Close gives up what the plugin holds.
func (p *Plugin) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.source == nil {
		return nil
	}
	err := p.source.Close()
	p.source = nil
	return err
}
