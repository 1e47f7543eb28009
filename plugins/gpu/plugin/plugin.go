package plugin

import (
	"os"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/nomad/plugins/base"
	"github.com/hashicorp/nomad/plugins/device"
	"github.com/hashicorp/nomad/plugins/shared/hclspec"

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
	scanner scanner
	meter   meter

	// mu is not held while a driver is called: a call may not return.
	mu        sync.Mutex
	settings  settings
	monitor   *gpus.Monitor
	diagnoses []gpus.Diagnosis // as last told
	driver    gpus.Scan        // the last one that there was; versions only
	wake      chan struct{}    // an event happened that may matter
}

// New makes a plugin of that version.
func New(version string, log hclog.Logger) *Plugin {
	p := &Plugin{log: log, version: version, now: time.Now, open: openSource, wake: make(chan struct{}, 1), settings: settings{}, monitor: gpus.NewMonitor(gpus.Policy{})}
	p.scanner.open = func() (gpus.Source, error) { return p.open(p.current()) }
	return p
}

// current are the settings.
func (p *Plugin) current() settings {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.settings
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
	p.monitor = gpus.NewMonitor(s.policy)
	return nil
}

// closePatience is how long the end may wait for the driver.
const closePatience = 2 * time.Second

// Close gives up what the plugin holds.
func (p *Plugin) Close() error { return p.scanner.close(closePatience) }
