package plugin

import (
	"cmp"
	"context"
	"time"

	"github.com/hashicorp/nomad/plugins/device"
	"github.com/hashicorp/nomad/plugins/shared/structs"

	"github.com/detent-ml/detent/plugins/gpu/gpus"
)

// Stats sends the use of the devices to Nomad, at the rate that Nomad requests.
func (p *Plugin) Stats(ctx context.Context, interval time.Duration) (<-chan *device.StatsResponse, error) {
	if !p.current().enabled {
		return nil, device.ErrPluginDisabled
	}
	out := make(chan *device.StatsResponse)
	go func() {
		defer close(out)
		tick := time.NewTicker(max(interval, minPeriod))
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case out <- &device.StatsResponse{Groups: p.measure()}:
			}
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
	}()
	return out, nil
}

// measure measures all devices. For an unhealthy device the summary is the reason instead of its
// utilization, because Nomad's tables of devices show only the summary.
func (p *Plugin) measure() []*device.DeviceGroupStats {
	source := p.scanner.current()
	p.mu.Lock()
	diagnoses, patience := p.diagnoses, p.settings.answerWithin
	p.mu.Unlock()
	if source == nil {
		return nil
	}
	var groups []*device.DeviceGroupStats
	for _, d := range diagnoses {
		sample, err := p.meter.measure(source, d.ID, patience)
		if err != nil {
			p.log.Debug("could not measure a GPU", "gpu", d.ID, "error", err)
			if d.Why == "" {
				continue
			}
		}
		n := len(groups)
		if n == 0 || groups[n-1].Name != d.Model {
			groups = append(groups, &device.DeviceGroupStats{Vendor: vendor, Type: kind, Name: d.Model, InstanceStats: map[string]*device.DeviceStats{}})
			n++
		}
		stats := statsOf(sample, p.now())
		if d.Why != "" {
			stats.Summary = &structs.StatValue{StringVal: &d.Why, Desc: "why the GPU is out of use"}
		}
		groups[n-1].InstanceStats[d.ID] = stats
	}
	return groups
}

// statsOf converts a sample. The summary, the only value in Nomad's short tables, is the
// utilization of the GPU, or for a part, which has none, the use of its memory.
func statsOf(s gpus.Sample, now time.Time) *device.DeviceStats {
	attrs := map[string]*structs.StatValue{}
	part := func(name, unit, desc string, of, all *uint64) {
		if v := fraction(of, all, unit, desc); v != nil {
			attrs[name] = v
		}
	}
	hundred := uint64(100)
	part("GPU utilization", "%", "time in which the GPU computed", s.Utilization, &hundred)
	part("Memory utilization", "%", "time in which its memory was read or written", s.MemoryUtilization, &hundred)
	part("Encoder utilization", "%", "use of its encoder", s.Encoder, &hundred)
	part("Decoder utilization", "%", "use of its decoder", s.Decoder, &hundred)
	part("Memory state", structs.UnitMiB, "used and total memory", s.MemoryUsedMiB, s.MemoryTotalMiB)
	part("BAR1 buffer state", structs.UnitMiB, "used part of the BAR1 window", s.BAR1UsedMiB, nil)
	part("Temperature", "C", "temperature of the GPU", s.TemperatureC, nil)
	part("Cores clock", structs.UnitMHz, "clock of its cores", s.CoreClockMHz, nil)
	part("Memory clock", structs.UnitMHz, "clock of its memory", s.MemClockMHz, nil)
	part("ECC corrected errors", "#", "corrected memory errors since the last reset", s.Corrected, nil)
	part("ECC uncorrected errors", "#", "uncorrectable memory errors since the last reset", s.Uncorrected, nil)
	part("Remapped rows", "#", "rows of memory that were replaced by spare ones", s.RemappedRows, nil)
	if s.PowerW != nil {
		attrs["Power usage"] = &structs.StatValue{FloatNumeratorVal: s.PowerW, FloatDenominatorVal: s.PowerLimitW, Unit: structs.UnitW, Desc: "power, and its limit"}
	}
	summary := cmp.Or(attrs["GPU utilization"], attrs["Memory state"])
	return &device.DeviceStats{Summary: summary, Stats: &structs.StatObject{Attributes: attrs}, Timestamp: now}
}

func fraction(of, all *uint64, unit, desc string) *structs.StatValue {
	if of == nil {
		return nil
	}
	v := &structs.StatValue{IntNumeratorVal: signed(of), Unit: unit, Desc: desc}
	if all != nil {
		v.IntDenominatorVal = signed(all)
	}
	return v
}

func signed(n *uint64) *int64 {
	s := int64(*n)
	return &s
}
