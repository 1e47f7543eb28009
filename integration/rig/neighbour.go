package rig

import (
	"context"
	"testing"

	"github.com/hashicorp/nomad/api"
)

// TakeGPUs runs a job of Nomad's that is not of this cluster, and that holds this number of GPUs on each of
// these nodes. It ends with the test, or when leave is called.
func (r *Rig) TakeGPUs(t testing.TB, id, pool string, on map[string]int) (leave func()) {
	t.Helper()
	nomad, err := r.Nomad()
	if err != nil {
		t.Fatal(err)
	}
	job := api.NewBatchJob(id, id, "global", 50).AddDatacenter("*")
	job.NodePool = &pool
	for node, gpus := range on {
		count := uint64(gpus)
		task := &api.Task{Name: "web", Driver: "raw_exec", Config: map[string]any{"command": "/bin/sleep", "args": []string{"3600"}},
			Resources: &api.Resources{Devices: []*api.RequestedDevice{{Name: "nvidia/gpu", Count: &count}}}}
		group := api.NewTaskGroup("on-"+node, 1).AddTask(task)
		group.Constrain(api.NewConstraint("${node.unique.name}", "=", node))
		job.AddTaskGroup(group)
	}
	if _, _, err := nomad.Jobs().Register(job, nil); err != nil {
		t.Fatal(err)
	}
	leave = func() {
		if _, _, err := nomad.Jobs().Deregister(id, true, (&api.WriteOptions{}).WithContext(context.WithoutCancel(t.Context()))); err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(leave)
	return leave
}
