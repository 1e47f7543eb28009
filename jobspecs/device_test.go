package jobspecs_test

import (
	"strings"
	"testing"

	"github.com/detent-ml/detent/jobspecs"
	"github.com/detent-ml/detent/master/pool"
)

// devices is a trial of two GPUs on one node.
func devices() jobspecs.Task {
	t := trial()
	t.AllocationID = "31.4c1d2f6e-0b7a-4f0e-9a53-6f1f0f9f3b11.1"
	t.Pool.Name, t.Pool.Driver, t.Pool.Slots = "gpu", pool.Exec, pool.Slots{Kind: pool.DeviceSlots, Device: "nvidia/gpu"}
	t.Members[0].SlotIDs = []int{2, 3}
	t.Members[0].DeviceIDs = []string{"GPU-7b1e1f5c-2b9d-4df0-8d0b-2b1c3a4d5e6f", "GPU-1c0ffee0-2b9d-4df0-8d0b-2b1c3a4d5e6f"}
	return t
}

// TestDeviceProblems: devices that Nomad would misread, or could never assign, are rejected.
func TestDeviceProblems(t *testing.T) {
	for words, change := range map[string]func(*jobspecs.Task){
		"2 slots and 1 devices":    func(t *jobspecs.Task) { t.Members[0].DeviceIDs = []string{"GPU-1"} },
		"2 slots and 0 devices":    func(t *jobspecs.Task) { t.Members[0].DeviceIDs = nil },
		`"GPU-1" is no id`:         func(t *jobspecs.Task) { t.Members[0].DeviceIDs = []string{"GPU-1", "GPU-1"} },
		`"GPU-1,GPU-2" is no id`:   func(t *jobspecs.Task) { t.Members[0].DeviceIDs = []string{"GPU-1,GPU-2", "GPU-3"} },
		`"${device.ids}" is no id`: func(t *jobspecs.Task) { t.Members[0].DeviceIDs = []string{"${device.ids}", "GPU-3"} },
		"the slots of pool gpu":    func(t *jobspecs.Task) { t.Pool.Slots = pool.Slots{} },
	} {
		task := devices()
		change(&task)
		if _, err := jobspecs.Render(task); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%s: %v", words, err)
		}
	}
	task := devices()
	task.Members[0].SlotIDs, task.Members[0].DeviceIDs = nil, nil
	job, err := jobspecs.Render(task)
	if err != nil || job.TaskGroups[0].Tasks[0].Resources.Devices != nil {
		t.Errorf("a task without slots: %v", err)
	}
}
