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

// Name is the name of the plugin in an agent's configuration, and of the program's file.
const Name = "det-gpu"

// The vendor and type of the devices in Nomad.
const (
	vendor = "nvidia"
	kind   = device.DeviceTypeGPU
)

// Plugin is the device plugin. Make one with New.
type Plugin struct {
	log     hclog.Logger
	version string
	now     func() time.Time
	open    func(settings) (gpus.Source, error)
	scanner scanner
	meter   meter

	// mu is not held during a call of the driver, because the call may hang.
	mu        sync.Mutex
	settings  settings
	monitor   *gpus.Monitor
	diagnoses []gpus.Diagnosis // as last reported
	driver    gpus.Scan        // the last scan; versions only
	wake      chan struct{}    // an event may have changed the state
}

// New makes a plugin with a version.
func New(version string, log hclog.Logger) *Plugin {
	p := &Plugin{log: log, version: version, now: time.Now, open: openSource, wake: make(chan struct{}, 1), settings: settings{}, monitor: gpus.NewMonitor(gpus.Policy{})}
	p.scanner.open = func() (gpus.Source, error) { return p.open(p.current()) }
	return p
}

// current returns the settings.
func (p *Plugin) current() settings {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.settings
}

// openSource opens the source of GPUs that the configuration selects.
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

// PluginInfo describes the plugin.
func (p *Plugin) PluginInfo() (*base.PluginInfoResponse, error) {
	return &base.PluginInfoResponse{
		Type: base.PluginTypeDevice, PluginApiVersions: []string{device.ApiVersion010}, PluginVersion: p.version, Name: Name,
	}, nil
}

// ConfigSchema is the schema of the plugin's configuration.
func (p *Plugin) ConfigSchema() (*hclspec.Spec, error) { return schema(), nil }

// SetConfig sets the configuration.
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

// closePatience is how long Close waits for the driver.
const closePatience = 2 * time.Second

// Close releases the resources of the plugin.
func (p *Plugin) Close() error { return p.scanner.close(closePatience) }
