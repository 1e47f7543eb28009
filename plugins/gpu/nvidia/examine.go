//go:build cgo && linux

package nvidia

import (
	"encoding/binary"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/detent-ml/detent/plugins/gpu/gpus"
)

// fabricInfo is a function that drivers before 525 do not have; calling it there would crash.
const fabricInfo = "nvmlDeviceGetGpuFabricInfo"

// examine reads the values that decide about a GPU's health.
func (r *reader) examine(g *gpus.GPU) {
	h := r.handle
	if n, ret := h.GetTotalEccErrors(nvml.MEMORY_ERROR_TYPE_UNCORRECTED, nvml.VOLATILE_ECC); r.ok(ret) {
		g.Uncorrected = n
	}
	if _, _, pending, broken, ret := h.GetRemappedRows(); r.ok(ret) {
		g.RemapFailed, g.RepairPending = broken, pending
	}
	// GPUs before Ampere retire pages instead of rows.
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

// slowdowns are the reasons for a lower clock that indicate a fault. Other reasons, such as a power
// limit or an idle GPU, are normal.
func slowdowns(reasons uint64) []string {
	var words []string
	if reasons&nvml.ClocksThrottleReasonHwThermalSlowdown != 0 {
		words = append(words, "heat")
	}
	if reasons&nvml.ClocksThrottleReasonHwPowerBrakeSlowdown != 0 {
		words = append(words, "an external power brake")
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
			break // no more links
		}
		if state == nvml.FEATURE_ENABLED {
			up |= 1 << i
		}
	}
	return up
}

// fabric returns why a GPU is not part of the fabric of NVSwitches, without which CUDA does not
// start on it; "" if it is part of it, or has no fabric.
func fabric(info nvml.GpuFabricInfo) string {
	switch {
	case info.State == nvml.GPU_FABRIC_STATE_NOT_STARTED || info.State == nvml.GPU_FABRIC_STATE_IN_PROGRESS:
		return "it is not part of the NVLink fabric yet; check that the service nvidia-fabricmanager runs"
	case info.State == nvml.GPU_FABRIC_STATE_COMPLETED && nvml.Return(info.Status) != nvml.SUCCESS:
		return "it could not join the NVLink fabric (" + nvml.Return(info.Status).String() + "); see the log of nvidia-fabricmanager"
	}
	return ""
}

// recovery is the driver's recommended action for a GPU. Drivers before 570 have none.
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
		return "stop the programs that use it together with other GPUs", true
	case nvml.GPU_RECOVERY_ACTION_DRAIN_AND_RESET:
		return "stop the programs that use it, and reset the GPU", true
	}
	return "recover the GPU (nvidia-smi -q names the action)", true
}
