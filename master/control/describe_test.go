package control

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/detent-ml/detent/jobspecs"
	"github.com/detent-ml/detent/master/cluster"
	"github.com/detent-ml/detent/master/control/rows"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/pool"
	"github.com/detent-ml/detent/master/sched"
	"github.com/detent-ml/detent/master/task"
)

// TestWhatAMembersNodeHas tests that a member gets the resources of its node's row, and the
// number of slots that other jobs leave free.
func TestWhatAMembersNodeHas(t *testing.T) {
	gpus := []sched.Slot{{Device: "GPU-a", Healthy: true, Enabled: true}, {Device: "GPU-b", Healthy: true, Enabled: true, Taken: "somebody else's job"}}
	inventory, err := json.Marshal(cluster.Node{Cores: 16, FreeCores: 8, MHz: 40000, FreeMHz: 8000, MemoryMB: 128000, FreeMemoryMB: 64000,
		Devices: map[string][]sched.Slot{"nvidia/gpu": gpus}})
	if err != nil {
		t.Fatal(err)
	}
	x := rows.LiveMember{NodeID: "n1", NodeName: "north", SlotIDs: []int{1}, Devices: []string{"GPU-b"}}
	for free, slots := range map[int]pool.Slots{1: {Kind: pool.DeviceSlots, Device: "nvidia/gpu"}, 4: {Kind: pool.CPUSlots, CoresPerSlot: 2}} {
		got, err := placedOn(x, inventory, &pool.Pool{Slots: slots})
		want := task.Node{Cores: 16, MHz: 40000, FreeMHz: 8000, FreeMemoryMB: 64000, FreeSlots: free}
		if err != nil || got.Node != want || got.NodeID != "n1" || got.NodeName != "north" || !slices.Equal(got.SlotIDs, []int{1}) || !slices.Equal(got.Devices, x.Devices) {
			t.Errorf("%s slots: %+v, want %+v: %v", slots.Kind, got, want, err)
		}
	}
	if got, err := placedOn(x, nil, &pool.Pool{}); err != nil || got.Node != (task.Node{}) {
		t.Errorf("a node that is not known has %+v: %v", got.Node, err)
	}
	if _, err := placedOn(x, []byte("{"), &pool.Pool{}); err == nil {
		t.Error("an inventory that cannot be read")
	}
}

// TestWhereTasksSeeTheNodesRunner: tasks of raw_exec see a runner of their node, and those of docker if the node lets jobs mount its folders.
func TestWhereTasksSeeTheNodesRunner(t *testing.T) {
	for _, c := range []struct {
		driver, volumes string
		sees            bool
	}{{pool.RawExec, "", true}, {pool.Docker, "true", true}, {pool.Docker, "", false}, {pool.Exec, "true", false}, {pool.Podman, "true", false}} {
		inventory, err := json.Marshal(cluster.Node{Facts: map[string]string{pool.RunnerMeta: "/opt/det-runner-aa", "attr.driver.docker.volumes.enabled": c.volumes}})
		if err != nil {
			t.Fatal(err)
		}
		got, err := placedOn(rows.LiveMember{NodeID: "n1"}, inventory, &pool.Pool{Driver: c.driver})
		if want := map[bool]string{true: "/opt/det-runner-aa"}[c.sees]; err != nil || got.Runner != want {
			t.Errorf("%s with volumes %q: %q, want %q: %v", c.driver, c.volumes, got.Runner, want, err)
		}
	}
}

// TestTheMasterReadsTheRegistrysCredentials tests that the master reads the credentials of an
// image's registry, which the job itself must not read, before it grants the job's role.
func TestTheMasterReadsTheRegistrysCredentials(t *testing.T) {
	b, f := withSecrets(t)
	job := task.Job{Task: jobspecs.Task{AllocationID: "a", Credentials: &jobspecs.Credentials{Role: "det-task"}}, Login: "kv/registry"}
	if outcome, err := b.term.prepareSecrets(t.Context(), &job); outcome != cluster.Done || err != nil || job.Variables["username"] != "robot" || job.Variables["password"] != "kv/registry" {
		t.Errorf("%v %v: %v", outcome, err, job.Variables)
	}
	for code, want := range map[fault.Code]cluster.Outcome{fault.Unavailable: cluster.TryAgain, fault.Invalid: cluster.Refused} {
		f.set("", fault.New(code, "no"))
		if outcome, err := b.term.prepareSecrets(t.Context(), &job); outcome != want || err == nil {
			t.Errorf("%v: %v %v", code, outcome, err)
		}
	}
}
