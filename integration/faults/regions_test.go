package faults

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/nomad/api"
	"github.com/jackc/pgx/v5"

	"github.com/detent-ml/detent/integration/rig"
	"github.com/detent-ml/detent/jobspecs"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/cluster/nomadtest"
	"github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/nomad/local"
	"github.com/detent-ml/detent/nomad/servers/turn"
)

// regionsConfig is the configuration of a master with pools in two regions of Nomad; %[2]s has the second one.
const regionsConfig = `
cluster_name: regions
checkpoint_storage: {type: shared_fs, host_path: %[1]s}
stop_after: 20m # a node whose Nomad is away keeps its tasks
nomad: {%[2]s}
resource_pools:
  - {name: here, driver: raw_exec, slots: cpu, slots_per_node: 4, memory_mb_per_slot: 64}
%[3]s
`

// TestTwoRegions has a second region of Nomad, with servers and a client of its own and not federated with the first. It
// hangs, and it dies, and all the time the first region works as if it were alone; then it goes on.
func TestTwoRegions(t *testing.T) {
	turn.First(t)
	t.Parallel()
	if rig.Guarded() {
		t.Skip("the Nomad of the second region runs without access control, and its services would need tokens of Consul")
	}
	r, dir := rig.NewOwn(t, "regions")
	config := func(region, pool string) string {
		return fmt.Sprintf(regionsConfig, filepath.Join(dir, "checkpoints"), region, pool)
	}
	r.StartCluster(t, dir, local.Options{Name: "regions", Master: local.Master{Config: config("", "")}})
	west := nomadtest.Start(t, nomadtest.Options{Region: "west", HeartbeatGrace: "20m", ConsulAddress: consulAgent(t, r)})
	_, err := local.Up(t.Context(), local.Options{Name: "regions", StateDir: r.Cluster.StateDir(), Master: local.Master{
		Binary: filepath.Join(r.Bin, "det-master"), Runner: filepath.Join(r.Bin, "det-runner"),
		Env: map[string]string{"DETENT_HARNESS_PATH": filepath.Join(r.Root, "plugins", "harness"), "DETENT_LAUNCH_ERROR": "false"},
		Config: config(fmt.Sprintf("regions: [{name: west, address: %q}]", west.Address),
			"  - {name: there, region: west, driver: raw_exec, slots: cpu, slots_per_node: 4, memory_mb_per_slot: 64}"),
	}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	client, err := r.Part("client-" + lender)
	if err != nil {
		t.Fatal(err)
	}
	if err := client.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	here, there := r.Train(t, inPool("here")), r.Train(t, inPool("there"))
	t.Run("each in its region", func(t *testing.T) { eachInItsRegion(t, r, west, here, there) })
	t.Run("a region hangs", func(t *testing.T) {
		west.Server.Signal(t, syscall.SIGSTOP)
		t.Cleanup(func() { west.Server.Signal(t, syscall.SIGCONT) })
		regionIsAway(t, r, here, there, func() { west.Server.Signal(t, syscall.SIGCONT) })
	})
	t.Run("a region dies, and the master starts without it", func(t *testing.T) {
		west.Server.Kill(t)
		master, err := r.Part("master")
		if err != nil {
			t.Fatal(err)
		}
		if err := master.Kill9(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := master.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		regionIsAway(t, r, here, there, func() { west.Server.Run(t) })
	})
	for _, k := range []*rig.Training{here, there} {
		k.CheckAlone(t)
		k.Finish(t)
	}
	here.CheckWhole(t)
}

// lender is a node whose Nomad client is stopped, so that the second region can have its agent of Consul: Nomad clients
// that share an agent deregister each other's services.
const lender = "lender"

// consulAgent starts an agent of the cluster's Consul, and returns its address.
func consulAgent(t *testing.T, r *rig.Rig) string {
	t.Helper()
	if err := r.AddClient(t.Context(), local.Client{Name: lender, Pool: "unused"}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(r.Cluster.StateDir(), "consul."+lender, "agent.json"))
	if err != nil {
		t.Fatal(err)
	}
	var config struct{ Ports struct{ HTTP int } }
	if err := json.Unmarshal(text, &config); err != nil || config.Ports.HTTP == 0 {
		t.Fatalf("the port of Consul's agent: %v", err)
	}
	return fmt.Sprintf("127.0.0.1:%d", config.Ports.HTTP)
}

func inPool(name string) rig.TrainOptions {
	return rig.TrainOptions{More: "resources: {resource_pool: " + name + "}\n"}
}

// eachInItsRegion: the jobs are in the Nomad of their pools' regions and nowhere else, and on its nodes.
func eachInItsRegion(t *testing.T, r *rig.Rig, west *nomadtest.Agent, here, there *rig.Training) {
	east, err := r.Nomad()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		what  string
		nomad *api.Client
		has   *rig.Training
		lacks *rig.Training
	}{{"east", east, here, there}, {"west", west.API, there, here}} {
		if _, _, err := c.nomad.Jobs().Info(jobspecs.JobID(c.has.TaskID+".1"), nil); err != nil {
			t.Errorf("the job in the %s: %v", c.what, err)
		}
		if _, _, err := c.nomad.Jobs().Info(jobspecs.JobID(c.lacks.TaskID+".1"), nil); err == nil {
			t.Errorf("the %s has the job of the other region", c.what)
		}
	}
	node, err := rig.Query(t, r, pgx.RowTo[string], `SELECT m.node_id FROM members m WHERE m.allocation_id = $1`, there.TaskID+".1")
	if err != nil || len(node) != 1 || node[0] != west.NodeID {
		t.Errorf("the training of the west runs on %v, %v; its node is %s", node, err, west.NodeID)
	}
	resp, err := client.Send(t.Context(), r.Client, v1.ListPools, v1.GetListRequest{})
	if err != nil || len(resp.ResourcePools) != 2 || resp.ResourcePools[0].NumAgents != 1 || resp.ResourcePools[1].NumAgents != 1 {
		t.Errorf("%v: the pools are %+v", err, resp.ResourcePools)
	}
}

// regionIsAway: while a region is away, everything goes on in the other one, and a task of its own says what it waits for.
// Its running training goes on as well. When it is back, what waited runs.
func regionIsAway(t *testing.T, r *rig.Rig, here, there *rig.Training, back func()) {
	rig.Eventually(t, "an alarm for the west alone", func() (bool, error) {
		list, err := rig.Query(t, r, pgx.RowTo[string], `SELECT c.alarm || '|' || r.alarm FROM cluster c, regions r WHERE r.name = 'west'`)
		if err != nil || len(list) != 1 {
			return false, errors.Join(err, fmt.Errorf("%d regions", len(list)))
		}
		return strings.HasPrefix(list[0], "|Nomad does not answer"), errors.New(list[0])
	})
	_, health := r.Read(t, r.MasterURL+"/health", nil)
	if !strings.Contains(health, "Nomad region west: Nomad does not answer") {
		t.Errorf("/health: %s", health)
	}
	late := r.SubmitTraining(t, inPool("there"))
	since := time.Now()
	next := r.Train(t, inPool("here"))
	t.Logf("a training in the east took its first steps after %s", time.Since(since).Round(time.Millisecond))
	next.Finish(t)
	next.CheckWhole(t)
	killed := r.Train(t, inPool("here"))
	if err := client.Act(t.Context(), r.Client, v1.KillExperiment, killed.Experiment); err != nil {
		t.Fatal(err)
	}
	r.WaitState(t, killed.Experiment, v1.ExperimentStateCanceled)
	here.Advance(t, 2)
	there.Advance(t, 2) // its node and its runner work without Nomad's servers
	rig.Eventually(t, "the reason why the task waits", func() (bool, error) {
		list, err := rig.Query(t, r, pgx.RowTo[string], `SELECT a.waiting_reason FROM allocations a JOIN tasks k ON k.id = a.task_id WHERE k.experiment_id = $1`, late.Experiment)
		if err != nil || len(list) != 1 {
			return false, errors.Join(err, fmt.Errorf("%d attempts", len(list)))
		}
		return strings.HasPrefix(list[0], "waits for Nomad in region west: "), errors.New(list[0])
	})
	if len(late.Starts(t)) > 0 {
		t.Error("it runs in a region that is away")
	}
	since = time.Now()
	back()
	late.Follow(t)
	t.Logf("the training that waited took its first steps %s after the region was back", time.Since(since).Round(time.Millisecond))
	late.Finish(t)
	here.CheckAlone(t)
	there.CheckAlone(t)
	calm(t, r)
	if _, health := r.Read(t, r.MasterURL+"/health", nil); strings.Contains(health, "region west") {
		t.Errorf("/health after the end: %s", health)
	}
}
