//go:build cgo && linux

package nvidia

import (
	"errors"
	"fmt"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/detent-ml/detent/plugins/gpu/gpus"
)

// Measure reads the current values of a device.
func (l *library) Measure(id string) (gpus.Sample, error) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if !l.up {
		return gpus.Sample{}, errors.New("NVIDIA's library is not loaded")
	}
	h, ret := l.api.DeviceGetHandleByUUID(id)
	if ret != nvml.SUCCESS {
		return gpus.Sample{}, failed("device "+id, ret)
	}
	r := reader{l: l, handle: h}
	s := r.sample()
	if r.lost {
		return s, fmt.Errorf("device %s: the GPU is lost", id)
	}
	return s, nil
}

func (r *reader) sample() gpus.Sample {
	var s gpus.Sample
	h := r.handle
	if m, ret := h.GetMemoryInfo(); r.ok(ret) {
		s.MemoryUsedMiB, s.MemoryTotalMiB = new(m.Used/mib), new(m.Total/mib)
	}
	if u, ret := h.GetUtilizationRates(); r.ok(ret) {
		s.Utilization, s.MemoryUtilization = new(uint64(u.Gpu)), new(uint64(u.Memory))
	}
	if u, _, ret := h.GetEncoderUtilization(); r.ok(ret) {
		s.Encoder = new(uint64(u))
	}
	if u, _, ret := h.GetDecoderUtilization(); r.ok(ret) {
		s.Decoder = new(uint64(u))
	}
	if b, ret := h.GetBAR1MemoryInfo(); r.ok(ret) {
		s.BAR1UsedMiB = new(b.Bar1Used / mib)
	}
	if mw, ret := h.GetPowerUsage(); r.ok(ret) {
		s.PowerW = new(float64(mw) / 1000)
	}
	if mw, ret := h.GetEnforcedPowerLimit(); r.ok(ret) {
		s.PowerLimitW = new(float64(mw) / 1000)
	}
	if c, ret := h.GetTemperature(nvml.TEMPERATURE_GPU); r.ok(ret) {
		s.TemperatureC = new(uint64(c))
	}
	if mhz, ret := h.GetClockInfo(nvml.CLOCK_SM); r.ok(ret) {
		s.CoreClockMHz = new(uint64(mhz))
	}
	if mhz, ret := h.GetClockInfo(nvml.CLOCK_MEM); r.ok(ret) {
		s.MemClockMHz = new(uint64(mhz))
	}
	if n, ret := h.GetTotalEccErrors(nvml.MEMORY_ERROR_TYPE_CORRECTED, nvml.VOLATILE_ECC); r.ok(ret) {
		s.Corrected = new(n)
	}
	if n, ret := h.GetTotalEccErrors(nvml.MEMORY_ERROR_TYPE_UNCORRECTED, nvml.VOLATILE_ECC); r.ok(ret) {
		s.Uncorrected = new(n)
	}
	if corrected, uncorrected, _, _, ret := h.GetRemappedRows(); r.ok(ret) {
		s.RemappedRows = new(uint64(corrected + uncorrected))
	}
	return s
}
