//go:build cgo && linux

package nvidia

import (
	"encoding/binary"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/detent-ml/detent/plugins/gpu/gpus"
)

// fabricInfo is a function that drivers before 525 lack. To call it there would end the program.
const fabricInfo = "nvmlDeviceGetGpuFabricInfo"

// examine reads what says that a GPU is unhealthy.
func (r *reader) examine(g *gpus.GPU) {
	h := r.handle
	if n, ret := h.GetTotalEccErrors(nvml.MEMORY_ERROR_TYPE_UNCORRECTED, nvml.VOLATILE_ECC); r.ok(ret) {
		g.Uncorrected = n
	}
	if _, _, pending, broken, ret := h.GetRemappedRows(); r.ok(ret) {
		g.RemapFailed, g.RepairPending = broken, pending
	}
	// Before Ampere it is pages that are replaced.
	if pending, ret := h.GetRetiredPagesPendingStatus(); r.ok(ret) && pending == nvml.FEATURE_ENABLED {
		g.RepairPending = true
	}
	if reasons, ret := h.GetCurrentClocksThrottleReasons(); r.ok(ret) {
		g.Throttled = slowdowns(reasons)
	}
	g.Links = r.links()
	if r.l.knows(fabricInfo) {
		if info, ret := h.GetGpuFabricInfo(); r.ok(ret) {
			g.Fabric = fabric(info)
		}
	}
	g.Recovery, g.RecoveryKnown = r.recovery()
}

// slowdowns are those reasons for a lower clock that say that something is broken. Others, such
// as a limit of power or nothing to do, are everyday.
func slowdowns(reasons uint64) []string {
	var words []string
	if reasons&nvml.ClocksThrottleReasonHwThermalSlowdown != 0 {
		words = append(words, "heat")
	}
	if reasons&nvml.ClocksThrottleReasonHwPowerBrakeSlowdown != 0 {
		words = append(words, "a power brake from outside")
	}
	if len(words) == 0 && reasons&nvml.ClocksThrottleReasonHwSlowdown != 0 {
		words = append(words, "heat or power")
	}
	return words
}

// links are the NVLinks that are up.
func (r *reader) links() uint64 {
	var up uint64
	for i := range nvml.NVLINK_MAX_LINKS {
		state, ret := r.handle.GetNvLinkState(i)
		if !r.ok(ret) {
			break // it has no more
		}
		if state == nvml.FEATURE_ENABLED {
			up |= 1 << i
		}
	}
	return up
}

// fabric says what keeps a GPU out of the fabric of NVSwitches, without which CUDA does not start
// on it; "" for one that is part of it, or has none.
func fabric(info nvml.GpuFabricInfo) string {
	switch {
	case info.State == nvml.GPU_FABRIC_STATE_NOT_STARTED || info.State == nvml.GPU_FABRIC_STATE_IN_PROGRESS:
		return "it is not part of the NVLink fabric yet; check that the service nvidia-fabricmanager runs"
	case info.State == nvml.GPU_FABRIC_STATE_COMPLETED && nvml.Return(info.Status) != nvml.SUCCESS:
		return "it could not join the NVLink fabric (" + nvml.Return(info.Status).String() + "); see the log of nvidia-fabricmanager"
	}
	return ""
}

// recovery is what the driver says must be done with a GPU. Drivers before 570 do not say.
func (r *reader) recovery() (words string, known bool) {
	values := []nvml.FieldValue{{FieldId: nvml.FI_DEV_GET_GPU_RECOVERY_ACTION}}
	if ret := r.handle.GetFieldValues(values); !r.ok(ret) || !r.ok(nvml.Return(values[0].NvmlReturn)) {
		return "", false
	}
	switch nvml.DeviceGpuRecoveryAction(binary.NativeEndian.Uint32(values[0].Value[:4])) {
	case nvml.GPU_RECOVERY_ACTION_NONE:
		return "", true
	case nvml.GPU_RECOVERY_ACTION_GPU_RESET:
		return "reset the GPU", true
	case nvml.GPU_RECOVERY_ACTION_NODE_REBOOT:
		return "restart the node", true
	case nvml.GPU_RECOVERY_ACTION_DRAIN_P2P:
		return "end what uses it together with other GPUs", true
	case nvml.GPU_RECOVERY_ACTION_DRAIN_AND_RESET:
		return "end what uses it, and reset the GPU", true
	}
	return "recover the GPU (nvidia-smi -q names the action)", true
}
