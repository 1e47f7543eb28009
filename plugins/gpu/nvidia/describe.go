//go:build cgo && linux

package nvidia

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/detent-ml/detent/plugins/gpu/gpus"
)

// reader reads the properties of a GPU. A property that the GPU does not report stays unset; a lost
// GPU is recorded.
type reader struct {
	l      *library
	handle nvml.Device
	lost   bool
}

// ok reports whether a call succeeded.
func (r *reader) ok(ret nvml.Return) bool {
	r.lost = r.lost || lost(ret)
	return ret == nvml.SUCCESS
}

const mib = 1 << 20

func (r *reader) describe(g *gpus.GPU) {
	h := r.handle
	if name, ret := h.GetName(); r.ok(ret) {
		g.Model = name
	}
	if m, ret := h.GetMemoryInfo(); r.ok(ret) {
		g.MemoryMiB = m.Total / mib
	}
	if p, ret := h.GetPciInfo(); r.ok(ret) {
		g.BusID = busID(p)
	}
	if major, minor, ret := h.GetCudaComputeCapability(); r.ok(ret) {
		g.Capability = fmt.Sprintf("%d.%d", major, minor)
	}
	if limit, ret := h.GetEnforcedPowerLimit(); r.ok(ret) {
		g.PowerLimitW = float64(limit) / 1000
	}
	if clock, ret := h.GetMaxClockInfo(nvml.CLOCK_SM); r.ok(ret) {
		g.CoreClockMHz = uint64(clock)
	}
	if clock, ret := h.GetMaxClockInfo(nvml.CLOCK_MEM); r.ok(ret) {
		g.MemClockMHz = uint64(clock)
	}
	if bar1, ret := h.GetBAR1MemoryInfo(); r.ok(ret) {
		g.BAR1MiB = bar1.Bar1Total / mib
	}
	if mode, ret := h.GetPersistenceMode(); r.ok(ret) {
		g.Persistence = "disabled"
		if mode == nvml.FEATURE_ENABLED {
			g.Persistence = "enabled"
		}
	}
	g.PCIeMBs = r.bandwidth()
	r.examine(g)
	minor, ret := h.GetMinorNumber()
	known := r.ok(ret)
	if known {
		g.Nodes = r.l.nodes(fmt.Sprintf("nvidia%d", minor))
	}
	if current, _, ret := h.GetMigMode(); r.ok(ret) && current == nvml.DEVICE_MIG_ENABLE {
		g.Split = true
		r.parts(g, minor)
	}
}

// bandwidth is the maximum of the bus in one direction, in MB/s.
func (r *reader) bandwidth() uint64 {
	generation, ret := r.handle.GetMaxPcieLinkGeneration()
	if !r.ok(ret) {
		return 0
	}
	width, ret := r.handle.GetMaxPcieLinkWidth()
	if !r.ok(ret) {
		return 0
	}
	perLane := map[int]uint64{1: 250, 2: 500, 3: 985, 4: 1969, 5: 3938, 6: 7563}
	return perLane[generation] * uint64(width)
}

// parts lists the parts of a split GPU.
func (r *reader) parts(g *gpus.GPU, minor int) {
	most, ret := r.handle.GetMaxMigDeviceCount()
	if !r.ok(ret) {
		return
	}
	minors := r.l.migMinors()
	for i := range most {
		handle, ret := r.handle.GetMigDeviceHandleByIndex(i)
		if !r.ok(ret) {
			continue // no such part
		}
		p := reader{l: r.l, handle: handle}
		if d, ok := p.part(g.Device, minor, minors); ok {
			g.Parts = append(g.Parts, d)
		}
		r.lost = r.lost || p.lost
	}
}

func (r *reader) part(whole gpus.Device, minor int, minors map[string]int) (gpus.Device, bool) {
	d := whole
	d.PowerLimitW, d.BAR1MiB, d.Nodes = 0, 0, nil
	var ret nvml.Return
	if d.ID, ret = r.handle.GetUUID(); !r.ok(ret) {
		return d, false
	}
	if d.Instance, ret = r.handle.GetGpuInstanceId(); !r.ok(ret) {
		return d, false
	}
	if d.Compute, ret = r.handle.GetComputeInstanceId(); !r.ok(ret) {
		return d, false
	}
	if m, ret := r.handle.GetMemoryInfo(); r.ok(ret) {
		d.MemoryMiB = m.Total / mib
	}
	if name, ret := r.handle.GetName(); r.ok(ret) && strings.Contains(name, "MIG") {
		d.Model = name
	} else if a, ret := r.handle.GetAttributes(); r.ok(ret) {
		d.Model = fmt.Sprintf("%s MIG %dg.%dgb", whole.Model, a.GpuInstanceSliceCount, (a.MemorySizeMB+1023)/1024)
	} else {
		d.Model = fmt.Sprintf("%s MIG %d MiB", whole.Model, d.MemoryMiB)
	}
	names := []string{fmt.Sprintf("nvidia%d", minor)}
	for _, key := range []string{
		fmt.Sprintf("gpu%d/gi%d/access", minor, d.Instance),
		fmt.Sprintf("gpu%d/gi%d/ci%d/access", minor, d.Instance, d.Compute),
	} {
		if n, ok := minors[key]; ok {
			names = append(names, filepath.Join("nvidia-caps", fmt.Sprintf("nvidia-cap%d", n)))
		}
	}
	d.Nodes = r.l.nodes(names...)
	return d, true
}

// busID is the PCI address of a GPU.
func busID(p nvml.PciInfo) string {
	var b strings.Builder
	for _, c := range p.BusId {
		if c == 0 {
			break
		}
		b.WriteByte(byte(c))
	}
	if b.Len() > 0 {
		return b.String()
	}
	return fmt.Sprintf("%08X:%02X:%02X.0", p.Domain, p.Bus, p.Device)
}
