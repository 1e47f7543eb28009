package plugin

import (
	"cmp"
	"context"
	"reflect"
	"strconv"

	"github.com/hashicorp/nomad/plugins/device"
	"github.com/hashicorp/nomad/plugins/shared/structs"

	"github.com/detent-ml/detent/master/sleep"
	"github.com/detent-ml/detent/plugins/gpu/gpus"
)

// Fingerprint sends Nomad the list of the GPUs with their health: at once, and after each
// change.
func (p *Plugin) Fingerprint(ctx context.Context) (<-chan *device.FingerprintResponse, error) {
	if !p.current().enabled {
		return nil, device.ErrPluginDisabled
	}
	out := make(chan *device.FingerprintResponse)
	go p.fingerprint(ctx, out)
	return out, nil
}

func (p *Plugin) fingerprint(ctx context.Context, out chan<- *device.FingerprintResponse) {
	defer close(out)
	watching, stop := context.WithCancel(ctx)
	defer stop()
	var last []*device.DeviceGroup
	complaint := ""
	watched := false
	for first := true; ; first = false {
		groups, source, err := p.look()
		if err != nil && err.Error() != complaint {
			complaint = err.Error()
			p.log.Error("could not examine the GPUs", "error", err)
		} else if err == nil {
			complaint = ""
		}
		if source != nil && !watched {
			watched = true
			go source.Watch(watching, p.event)
		}
		if first || !reflect.DeepEqual(groups, last) {
			p.logChanges(last, groups)
			select {
			case <-ctx.Done():
				return
			case out <- device.NewFingerprint(groups...):
				last = groups
			}
		}
		sleep.UntilWoken(ctx, p.wake, p.current().period) // an event makes an examination necessary
		if ctx.Err() != nil {
			return
		}
	}
}

// event handles an event that the driver reports.
func (p *Plugin) event(e gpus.Event) {
	p.mu.Lock()
	matters := p.monitor.Note(e, p.now())
	p.mu.Unlock()
	if e.Xid != 0 {
		p.log.Warn("the driver reports an error of a GPU", "gpu", e.ID, "xid", e.Xid, "matters", matters)
	}
	if matters {
		sleep.Wake(p.wake)
	}
}

// look examines the GPUs and returns them in groups. The source is nil while no driver answers.
func (p *Plugin) look() ([]*device.DeviceGroup, gpus.Source, error) {
	err := p.examine()
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.groups(), p.scanner.current(), err
}

// examine scans the GPUs and records their health.
func (p *Plugin) examine() error {
	scan, err := p.scanner.scan(p.current().answerWithin)
	p.mu.Lock()
	defer p.mu.Unlock()
	if err == nil {
		p.driver = gpus.Scan{Driver: scan.Driver, CUDA: scan.CUDA}
		scan.GPUs = p.wanted(scan.GPUs)
	}
	p.diagnoses = p.monitor.Judge(scan, err, p.now())
	return err
}

// wanted removes the GPUs and parts that the configuration ignores.
func (p *Plugin) wanted(all []gpus.GPU) []gpus.GPU {
	var kept []gpus.GPU
	for _, g := range all {
		if p.settings.ignored[g.ID] {
			continue
		}
		var parts []gpus.Device
		for _, d := range g.Parts {
			if !p.settings.ignored[d.ID] {
				parts = append(parts, d)
			}
		}
		g.Parts = parts
		kept = append(kept, g)
	}
	return kept
}

// groups groups the devices by model, in the form that Nomad requires.
func (p *Plugin) groups() []*device.DeviceGroup {
	var groups []*device.DeviceGroup
	for _, d := range p.diagnoses {
		model := modelOf(d.Device)
		n := len(groups)
		if n == 0 || groups[n-1].Name != model {
			groups = append(groups, &device.DeviceGroup{Vendor: vendor, Type: kind, Name: model, Attributes: p.attributes(d.Device)})
			n++
		}
		instance := &device.Device{ID: d.ID, Healthy: d.Why == "", HealthDesc: d.Why}
		if d.BusID != "" {
			instance.HwLocality = &device.DeviceLocality{PciBusID: d.BusID}
		}
		groups[n-1].Devices = append(groups[n-1].Devices, instance)
	}
	p.addLinks(groups)
	return groups
}

// modelOf is a device's model in the form that Nomad shows: unknown, if the GPU was lost before the plugin read its model.
func modelOf(d gpus.Device) string { return cmp.Or(d.Model, "unknown") }

// attributes are the attributes that constraints of jobs may use. Attributes that NVIDIA's
// plugin for Nomad also has, have the same names.
func (p *Plugin) attributes(d gpus.Device) map[string]*structs.Attribute {
	attrs := map[string]*structs.Attribute{}
	number := func(name string, n uint64, unit string) {
		if n > 0 {
			attrs[name] = structs.NewIntAttribute(int64(n), unit)
		}
	}
	word := func(name, s string) {
		if s != "" {
			attrs[name] = structs.NewStringAttribute(s)
		}
	}
	number("memory", d.MemoryMiB, structs.UnitMiB)
	number("power", uint64(d.PowerLimitW), structs.UnitW)
	number("bar1", d.BAR1MiB, structs.UnitMiB)
	number("cores_clock", d.CoreClockMHz, structs.UnitMHz)
	number("memory_clock", d.MemClockMHz, structs.UnitMHz)
	number("pci_bandwidth", d.PCIeMBs, structs.UnitMBPerS)
	word("driver_version", p.driver.Driver)
	word("cuda_version", p.driver.CUDA)
	word("persistence_mode", d.Persistence)
	if v, err := strconv.ParseFloat(d.Capability, 64); err == nil {
		attrs["compute_capability"] = structs.NewFloatAttribute(v, "")
	}
	attrs["mig"] = structs.NewBoolAttribute(d.Instance >= 0)
	if p.settings.isSimulated() {
		attrs["simulated"] = structs.NewBoolAttribute(true)
	}
	return attrs
}

// logChanges logs which devices became unhealthy, and which are healthy again.
func (p *Plugin) logChanges(before, after []*device.DeviceGroup) {
	was := map[string]*device.Device{}
	for _, g := range before {
		for _, d := range g.Devices {
			was[d.ID] = d
		}
	}
	for _, g := range after {
		for _, d := range g.Devices {
			old := was[d.ID]
			switch {
			case !d.Healthy && (old == nil || old.HealthDesc != d.HealthDesc):
				p.log.Warn("a GPU is out of use", "gpu", d.ID, "model", g.Name, "reason", d.HealthDesc)
			case d.Healthy && old == nil:
				p.log.Info("a GPU", "gpu", d.ID, "model", g.Name)
			case d.Healthy && !old.Healthy:
				p.log.Info("a GPU is healthy again", "gpu", d.ID, "model", g.Name)
			}
		}
	}
}
