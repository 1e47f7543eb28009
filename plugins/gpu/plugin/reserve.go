package plugin

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/nomad/plugins/device"

	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/plugins/gpu/gpus"
)

// Variables that name a task's GPUs.
const (
	// visibleNvidia is read by NVIDIA's container runtime, which the docker driver uses for a task
	// with this variable.
	visibleNvidia = "NVIDIA_VISIBLE_DEVICES"
	// visibleCUDA is read by CUDA itself, inside and outside of containers.
	visibleCUDA = "CUDA_VISIBLE_DEVICES"
	// simulatedFlag means that programs cannot use the GPUs.
	simulatedFlag = "DET_SIMULATED_GPUS"
)

// Reserve returns what a task needs to use its devices. It scans the GPUs again: a GPU that was
// lost since the last scan is not reserved.
func (p *Plugin) Reserve(ids []string) (*device.ContainerReservation, error) {
	if !p.current().enabled {
		return nil, device.ErrPluginDisabled
	}
	if len(ids) == 0 {
		return nil, fmt.Errorf("the request names no devices")
	}
	if err := p.examine(); err != nil {
		p.log.Warn("could not examine the GPUs of a task", "gpus", ids, "error", err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	known := each.Keyed(p.diagnoses, func(d gpus.Diagnosis) string { return d.ID })
	res := &device.ContainerReservation{Envs: map[string]string{}}
	for _, id := range ids {
		d, ok := known[id]
		if !ok {
			return nil, fmt.Errorf("there is no GPU %s on this node", id)
		}
		if d.Why != "" {
			return nil, fmt.Errorf("GPU %s is out of use: %s", id, d.Why)
		}
		if p.settings.files {
			res.Devices = addFiles(res.Devices, d.Nodes)
		}
	}
	visible := strings.Join(ids, ",")
	if p.settings.nvidia {
		res.Envs[visibleNvidia] = visible
	}
	if p.settings.cuda {
		res.Envs[visibleCUDA] = visible
	}
	if p.settings.isSimulated() {
		res.Envs[simulatedFlag] = visible
	}
	return res, nil
}

// addFiles adds device files without duplicates.
func addFiles(list []*device.DeviceSpec, paths []string) []*device.DeviceSpec {
	for _, path := range paths {
		if !slices.ContainsFunc(list, func(d *device.DeviceSpec) bool { return d.HostPath == path }) {
			list = append(list, &device.DeviceSpec{HostPath: path, TaskPath: path, CgroupPerms: "rw"})
		}
	}
	return list
}
