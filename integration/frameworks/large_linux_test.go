package frameworks

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/detent-ml/detent/integration/rig"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/nomad/local"
	"github.com/detent-ml/detent/nomad/servers/turn"
	"github.com/detent-ml/detent/plugins/gpu/simulated"
)

// largeConfig is a site with two kinds of GPUs in two regions, as the published configurations describe it: the labels and
// the device of Kubernetes are translated for Nomad. Tasks share the files of their node, so InfiniBand's devices need no mount.
const largeConfig = `
cluster_name: large
checkpoint_storage: {type: shared_fs, host_path: %s/checkpoints}
shared_raw_exec: true
blank_passwords: always
task_container_defaults: {dtrain_network_interface: eth0}
resource_pools:
  - name: default
    node_pool: gpu
    driver: raw_exec
    slots: device
    device: nvidia/gpu
    memory_mb_per_slot: 64
    scheduler: {type: priority, preemption: true}
    pod_labels:
      - {label: gpu.nvidia.com/class, value: A40, gpu: NVIDIA A40}
      - {label: gpu.nvidia.com/class, value: A100_NVLINK, gpu: "NVIDIA A100*"}
      - {label: topology.kubernetes.io/region, value: ORD1, attribute: "${node.class}", is: ord1}
    pod_limits:
      - {name: rdma/ib, devices: []}
`

// largeScript runs a process for each GPU of its node. All of them meet, and then wait until they are asked to leave or the
// file exists that the experiment names.
const largeScript = `
import os, subprocess, sys, time
import determined as det
from determined import core

info = det.get_cluster_info()
counts = info.container_slot_counts
if "HERE" not in os.environ:
    parts = [subprocess.Popen([sys.executable, __file__], env={**os.environ, "HERE": str(i)}) for i in range(counts[info.container_rank])]
    sys.exit(max(p.wait() for p in parts))
here, node = int(os.environ["HERE"]), info.container_rank
gpu = os.environ["CUDA_VISIBLE_DEVICES"].split(",")[here]
began = time.time()
distributed = core.DistributedContext(rank=sum(counts[:node]) + here, size=sum(counts), local_rank=here, local_size=counts[node],
    cross_rank=node, cross_size=len(counts), chief_ip=info.container_addrs[0])
with core.init(distributed=distributed) as context:
    everybody = distributed.gather((began, gpu))
    met = distributed.gather(time.time())
    if distributed.rank == 0:
        print("met", len(everybody), len({g for _, g in everybody}), "%.2f" % (max(met) - max(b for b, _ in everybody)), flush=True)
    end = info.trial.hparams["end"]
    left = False
    while not (left or distributed.broadcast(os.path.exists(end) if distributed.rank == 0 else None)):
        left = context.preempt.should_preempt()
        time.sleep(0.2)
    if distributed.rank == 0 and not left:
        context.train.report_validation_metrics(5, {"val_accuracy": 0.5})
        print("ended", flush=True)
`

// large is the cluster, and where its experiments look for their end.
type large struct {
	*rig.Rig
	ends string
}

// TestNinetySixSlots: the published configurations of 32 slots on A40 and 96 slots with InfiniBand on A100, of one region,
// run among nodes of both kinds and of another region; only their program is another. Each runs whole on the right nodes, or
// waits with the reason; the large one is paused and continued, and leaves for one that is more important.
func TestNinetySixSlots(t *testing.T) {
	turn.Second(t)
	rig.Long(t)
	networks := rig.NewSwitch(t)
	r, dir := rig.NewOwn(t, "large")
	r.StartCluster(t, dir, local.Options{Name: "large", Ephemeral: true, Interface: networks.Device, Apart: true,
		GPUs: local.GPUs{Binary: filepath.Join(r.Bin, "det-gpu")}, Master: local.Master{Config: fmt.Sprintf(largeConfig, dir)}})
	l := &large{r, t.TempDir()}
	for name, kind := range map[string]struct {
		count        int
		model, class string
	}{"a": {12, "NVIDIA A100-SXM4-80GB", "ord1"}, "b": {4, "NVIDIA A40", "ord1"}, "c": {1, "NVIDIA A40", "las1"}, "d": {1, "NVIDIA A100-SXM4-80GB", "las1"}} {
		for i := range kind.count {
			c := local.Client{Name: fmt.Sprint(name, i+1), Pool: "gpu", Class: kind.class, GPUs: 8}
			file := r.GPUState(c.Name)
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			state := simulated.Of(8, "", 0).Expand(file)
			for j := range state.GPUs {
				state.GPUs[j].Model = kind.model
			}
			if err := simulated.Write(file, state); err != nil {
				t.Fatal(err)
			}
			c.Network = networks.Connect(t, c.Name)
			if err := r.AddClient(t.Context(), c); err != nil {
				t.Fatal(err)
			}
		}
	}
	rig.Eventually(t, "the master knows all GPUs", func() (bool, error) {
		resp, err := client.Send(t.Context(), r.Client, v1.ListPools, v1.GetListRequest{})
		return err == nil && resp.ResourcePools[0].SlotsAvailable == 18*8, fmt.Errorf("%+v: %w", resp.ResourcePools, err)
	})

	medium, wide := l.submit(t, "coreweave-2", 42), l.submit(t, "coreweave-3", 42)
	l.meets(t, medium, 1, 32, 4, "b")
	l.meets(t, wide, 1, 96, 12, "a")
	second := l.submit(t, "coreweave-2", 42)
	l.waitsFor(t, second, "needs 32 slots on 4 nodes, 8 on each; all 32 of pool default that it may use are in use")

	l.act(t, v1.PauseExperiment, wide)
	l.WaitState(t, wide, v1.ExperimentStatePaused)
	l.act(t, v1.ActivateExperiment, wide)
	l.meets(t, wide, 2, 96, 12, "a")
	urgent := l.submit(t, "coreweave-3", 10)
	l.meets(t, urgent, 1, 96, 12, "a")
	l.waitsFor(t, wide, "needs 96 slots on 12 nodes")
	l.end(t, urgent)
	l.meets(t, wide, 3, 96, 12, "a")
	l.end(t, wide)
	l.end(t, medium)
	l.meets(t, second, 1, 32, 4, "b")
	l.end(t, second)
}

// submit submits a published configuration with another program.
func (l *large) submit(t *testing.T, name string, priority int) int {
	t.Helper()
	text, err := os.ReadFile("../../master/expconf/testdata/seeds/" + name + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	end := filepath.Join(l.ends, fmt.Sprint(len(rig.Value[[]int](t, l.Rig, `SELECT coalesce(array_agg(id), '{}') FROM experiments`))+1))
	config := strings.NewReplacer("entrypoint: model_def:FashionMNISTTrial", "entrypoint: python3 train.py", "dense1: 128\n", fmt.Sprintf("dense1: 128\n  end: %q\n", end),
		"resources:\n  slots", fmt.Sprintf("resources:\n  priority: %d\n  slots", priority)).Replace(string(text))
	return l.Submit(t, config, rig.Script(largeScript))
}

func (l *large) act(t *testing.T, action v1.Endpoint[v1.None, v1.Empty], id int) {
	t.Helper()
	if err := client.Act(t.Context(), l.Client, action, id); err != nil {
		t.Fatal(err)
	}
}

// end lets an experiment end.
func (l *large) end(t *testing.T, id int) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(l.ends, strconv.Itoa(id)), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	l.WaitState(t, id, v1.ExperimentStateCompleted)
}

func (l *large) waitsFor(t *testing.T, id int, reason string) {
	t.Helper()
	rig.Eventually(t, fmt.Sprintf("experiment %d waits", id), func() (bool, error) {
		trial := l.Trial(t, id)
		return strings.HasPrefix(trial.WaitingReason, reason), fmt.Errorf("it waits: %q", trial.WaitingReason)
	})
}

var met = regexp.MustCompile(`met (\d+) (\d+) ([0-9.]+)\n`)

// meets waits until all ranks of a run of an experiment have met, each with a GPU of its own, on whole nodes of a kind.
func (l *large) meets(t *testing.T, id, run, ranks, nodes int, kind string) {
	t.Helper()
	var found [][]string
	rig.Eventually(t, fmt.Sprintf("the ranks of run %d of experiment %d meet", run, id), func() (bool, error) {
		log := l.Log(t, id)
		found = met.FindAllStringSubmatch(log, -1)
		return len(found) == run, fmt.Errorf("%q waits, and its log is\n%s", l.Trial(t, id).WaitingReason, log)
	})
	t.Logf("experiment %d: %s ranks with %s GPUs met %s s after the last one began", id, found[run-1][1], found[run-1][2], found[run-1][3])
	took, err := strconv.ParseFloat(found[run-1][3], 64)
	if err != nil || found[run-1][1] != strconv.Itoa(ranks) || found[run-1][2] != strconv.Itoa(ranks) || took > 60 {
		t.Errorf("the ranks of run %d of experiment %d: %q", run, id, found[run-1])
	}
	on, err := rig.Query(t, l.Rig, pgx.RowTo[string], `SELECT DISTINCT m.node_name FROM members m JOIN allocations a ON a.id = m.allocation_id WHERE a.task_id = $1 AND a.run_id = $2`,
		l.Trial(t, id).TaskID, run)
	if err != nil || len(on) != nodes || slices.ContainsFunc(on, func(name string) bool { return !strings.HasPrefix(name, l.Name+"-"+kind) }) {
		t.Errorf("run %d of experiment %d was on %q: %v", run, id, on, err)
	}
}
