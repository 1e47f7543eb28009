package frameworks

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/nomad/api"
	"github.com/jackc/pgx/v5"

	"github.com/detent-ml/detent/integration/rig"
	"github.com/detent-ml/detent/jobspecs"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/nomad/local"
)

// gangConfig has two pools of the same nodes, with a policy each. A node that is cut off ends its tasks after stop_after, which
// is later than Nomad's heartbeats.
const gangConfig = `
cluster_name: gang
checkpoint_storage: {type: shared_fs, host_path: %s/checkpoints}
stop_after: 30s
shared_raw_exec: true
blank_passwords: always
task_container_defaults:
  environment_variables: ["PATH=%s:/usr/local/bin:/usr/bin:/bin", OMP_NUM_THREADS=1]
  dtrain_network_interface: eth0
resource_pools:
  - {name: default, driver: raw_exec, slots: cpu, slots_per_node: 1, memory_mb_per_slot: 64}
  - {name: gangs, node_pool: gpu, driver: raw_exec, slots: device, device: nvidia/gpu, memory_mb_per_slot: 512,
     scheduler: {type: priority, preemption: true}}
  - {name: teams, node_pool: gpu, driver: raw_exec, slots: device, device: nvidia/gpu, memory_mb_per_slot: 64,
     scheduler: {type: fair_share, workspace_weights: {research: 3}, min_run_time: 1s}}
`

// gangNomad makes Nomad declare a node lost that it has not heard for some seconds, though not one that is only busy.
const gangNomad = `
server {
  min_heartbeat_ttl = "2s"
  heartbeat_grace   = "20s"
}
`

const (
	gangSlots = 8
	nodeGPUs  = 4
)

// TestFourNetworks: four Nomad clients, each in a network namespace of its own and with four simulated GPUs. A PyTorch DDP
// training of two nodes waits until the job of somebody else leaves it room, starts whole, loses one of its clients, and
// goes on elsewhere; it is preempted by a more important one, and goes on. Each time it continues from its checkpoint, and
// it ends as the more important one, which nobody disturbed. Then two teams share the sixteen GPUs.
func TestFourNetworks(t *testing.T) {
	rig.Long(t)
	python := rig.PythonOf(t, "torch")
	networks := rig.NewSwitch(t)
	r, dir := rig.NewOwn(t, "gang")
	r.StartCluster(t, dir, local.Options{Name: "gang", Ephemeral: true, Interface: networks.Device, Apart: true, ExtraNomad: gangNomad,
		GPUs: local.GPUs{Binary: filepath.Join(r.Bin, "det-gpu")}, Master: local.Master{Config: fmt.Sprintf(gangConfig, dir, python)}})
	g := &gang{Rig: r, networks: networks, spaces: map[string]string{}, gates: filepath.Join(dir, "gates")}
	if err := os.Mkdir(g.gates, 0o755); err != nil {
		t.Fatal(err)
	}
	for i := range 4 {
		name := fmt.Sprint("n", i+1)
		network := networks.Connect(t, name)
		if err := r.AddClient(t.Context(), local.Client{Name: name, Pool: "gpu", GPUs: nodeGPUs, Network: network}); err != nil {
			t.Fatal(err)
		}
		space, err := os.Readlink(network.File)
		if err != nil {
			t.Fatal(err)
		}
		g.nodes, g.spaces[g.node(name)] = append(g.nodes, g.node(name)), space
	}
	g.trains(t)
	if t.Failed() {
		return
	}
	teamsShare(t, r, "teams")
}

// A gang is the cluster, with what the trainings on it wait for.
type gang struct {
	*rig.Rig
	networks *rig.Switch
	nodes    []string          // in Nomad
	spaces   map[string]string // the network namespace of each node
	gates    string            // the folder of gates of the training
}

// node is the name of a client's node in Nomad.
func (g *gang) node(client string) string { return g.Name + "-" + client }

func (g *gang) trains(t *testing.T) {
	g.shut(t, "1-19")
	g.shut(t, "2-31")
	// Eight GPUs are free, and no two nodes have four.
	stays := g.TakeGPUs(t, "neighbours-web", "gpu", map[string]int{g.nodes[3]: 3})
	leaves := g.TakeGPUs(t, "neighbours-batch", "gpu", map[string]int{g.nodes[1]: 1, g.nodes[2]: 4})
	rig.Eventually(t, "the neighbours have their GPUs, and the master knows", func() (bool, error) {
		resp, err := client.Send(t.Context(), g.Client, v1.ListPools, v1.GetListRequest{})
		for _, p := range resp.ResourcePools {
			if p.Name == "gangs" { // two nodes without neighbours would also have eight
				return p.NumAgents == len(g.nodes) && p.SlotsAvailable == 4+3+0+1, fmt.Errorf("%d GPUs are free on %d nodes", p.SlotsAvailable, p.NumAgents)
			}
		}
		return false, err
	})
	id := submitRanks(t, g.Rig, ranksOptions{pool: "gangs", slots: gangSlots, dies: -1, gates: g.gates})
	g.waits(t, id, "needs 8 slots")
	if nodes := g.members(t, id, 1); len(nodes) > 0 || g.submitted(t, id, 1) {
		t.Errorf("a part of the gang was placed on %v", nodes)
	}
	leaves()

	g.workersWait(t, id, 1, 19)
	first := g.holdsTwoNodes(t, id, 1)
	cut := first[0]
	g.networks.Cut(t, strings.TrimPrefix(cut, g.Name+"-"))
	g.workersWait(t, id, 2, 31)
	if second := g.holdsTwoNodes(t, id, 2); slices.Contains(second, cut) {
		t.Errorf("the training runs on %v, and the network of %s is cut", second, cut)
	}
	rig.Eventually(t, "nothing of the training runs on the node without a network", func() (bool, error) {
		left := g.processes(t, cut, "train.py")
		return len(left) == 0, fmt.Errorf("%q", left)
	})
	g.networks.Restore(t, strings.TrimPrefix(cut, g.Name+"-"))

	important := submitRanks(t, g.Rig, ranksOptions{pool: "gangs", slots: gangSlots, dies: -1, priority: 10})
	rig.Eventually(t, "the training is asked to leave", func() (bool, error) {
		return rig.Value[bool](t, g.Rig, `SELECT preempt_at IS NOT NULL FROM allocations WHERE id = $1`, g.attempt(t, id, 2)), nil
	})
	g.open(t, "2-31")
	g.waits(t, id, "needs 8 slots")
	undisturbed := readRanks(t, g.Rig, important, gangSlots)
	disturbed := readRanks(t, g.Rig, id, gangSlots)
	sameRun(t, disturbed, undisturbed)
	g.continued(t, id, important)
	for what, run := range map[string]ranksRun{"disturbed": disturbed, "undisturbed": undisturbed} {
		if run.placed[0] == run.placed[nodeGPUs] || !slices.Equal(run.placed[:nodeGPUs], slices.Repeat(run.placed[:1], nodeGPUs)) ||
			!slices.Equal(run.placed[nodeGPUs:], slices.Repeat(run.placed[nodeGPUs:nodeGPUs+1], nodeGPUs)) {
			t.Errorf("the ranks of the %s training are on %v", what, run.placed)
		}
	}
	stays()
}

var fromCheckpoint = regexp.MustCompile(`attempt (\d) begins[^\n]* from checkpoint \S+ at (\d+) steps`)

// continued: the trial lost one attempt and another was preempted, each went on from a checkpoint, and no restart is
// counted. The one that disturbed it was not disturbed itself.
func (g *gang) continued(t *testing.T, id, important int) {
	t.Helper()
	outcomes, err := rig.Query(t, g.Rig, pgx.RowTo[string], `SELECT outcome FROM allocations WHERE task_id = $1 ORDER BY run_id`, g.Trial(t, id).TaskID)
	if err != nil || !slices.Equal(outcomes, []string{"lost", "preempted", "completed"}) {
		t.Errorf("the attempts' outcomes are %v, %v", outcomes, err)
	}
	log := g.Log(t, id)
	from := map[string]int{}
	for _, m := range fromCheckpoint.FindAllStringSubmatch(log, -1) {
		from[m[1]] = rig.Number(t, m[2])
	}
	// The client was lost before batch 19, after the checkpoint of batch 15. The signal came before batch 31, when
	// batch 30 had its checkpoint already.
	if from["2"] != 15 || from["3"] <= 30 || from["3"] == 35 || from["3"] == 40 {
		t.Errorf("the attempts continued at the steps %v; the log:\n%s", from, log)
	}
	for _, x := range []int{id, important} {
		if trial := g.Trial(t, x); trial.Restarts != 0 {
			t.Errorf("%d restarts are counted against the trial of experiment %d", trial.Restarts, x)
		}
	}
	if n := rig.Value[int](t, g.Rig, `SELECT count(*) FROM allocations WHERE task_id = $1`, g.Trial(t, important).TaskID); n != 1 {
		t.Errorf("the more important training has %d attempts", n)
	}
}

func (g *gang) shut(t *testing.T, gate string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(g.gates, gate), nil, 0o644); err != nil {
		t.Fatal(err)
	}
}

func (g *gang) open(t *testing.T, gate string) {
	t.Helper()
	if err := os.Remove(filepath.Join(g.gates, gate)); err != nil {
		t.Fatal(err)
	}
}

func (g *gang) attempt(t *testing.T, id, run int) string {
	t.Helper()
	return fmt.Sprintf("%s.%d", g.Trial(t, id).TaskID, run)
}

// waits waits until the reason why a training waits begins with a text.
func (g *gang) waits(t *testing.T, id int, text string) {
	t.Helper()
	rig.Eventually(t, fmt.Sprintf("experiment %d waits because it %s", id, text), func() (bool, error) {
		trial := g.Trial(t, id)
		if trial.State == v1.TrialStateError || trial.State == v1.TrialStateCompleted {
			t.Fatalf("it does not wait: it ended in %s; the log:\n%s", trial.State, g.Log(t, id))
		}
		reason := trial.WaitingReason
		if strings.HasPrefix(reason, text) {
			t.Logf("experiment %d: %s", id, reason)
			return true, nil
		}
		return false, fmt.Errorf("the waiting reason is %q", reason)
	})
}

// workersWait waits until all workers of a run wait at a gate.
func (g *gang) workersWait(t *testing.T, id, run, batch int) {
	t.Helper()
	rig.Eventually(t, fmt.Sprintf("all workers of run %d wait before batch %d", run, batch), func() (bool, error) {
		log := g.Log(t, id)
		if state := g.Trial(t, id).State; state == v1.TrialStateError || state == v1.TrialStateCompleted {
			t.Fatalf("it ended in %s; the log:\n%s", state, log)
		}
		for rank := range gangSlots {
			if line := fmt.Sprintf("rank %d of run %d waits before batch %d\n", rank, run, batch); !strings.Contains(log, line) {
				return false, fmt.Errorf("the log lacks %q:\n%s", line, log)
			}
		}
		return true, nil
	})
}

// members returns the nodes of an attempt's members, by rank.
func (g *gang) members(t *testing.T, id, run int) []string {
	t.Helper()
	nodes, err := rig.Query(t, g.Rig, pgx.RowTo[string], `SELECT node_name FROM members WHERE allocation_id = $1 ORDER BY rank`, g.attempt(t, id, run))
	if err != nil {
		t.Fatal(err)
	}
	return nodes
}

// submitted reports whether Nomad has a job of an attempt.
func (g *gang) submitted(t *testing.T, id, run int) bool {
	t.Helper()
	nomad, err := g.Nomad()
	if err != nil {
		t.Fatal(err)
	}
	jobs, _, err := nomad.Jobs().PrefixList(jobspecs.JobID(g.attempt(t, id, run)))
	if err != nil {
		t.Fatal(err)
	}
	return len(jobs) > 0
}

// holdsTwoNodes: an attempt holds all GPUs of two nodes, neither of which is the neighbours'.
func (g *gang) holdsTwoNodes(t *testing.T, id, run int) []string {
	t.Helper()
	nodes := g.members(t, id, run)
	if len(nodes) != 2 || nodes[0] == nodes[1] || slices.Contains(nodes, g.nodes[3]) {
		t.Errorf("run %d has its members on %v; %s is not free", run, nodes, g.nodes[3])
	}
	oneHolderEach(t, g.Rig, gangSlots+3)
	of := map[string]int{}
	for device, holder := range g.held(t) {
		if holder == jobspecs.JobID(g.attempt(t, id, run)) {
			node, _, _ := strings.Cut(device, " ")
			of[node]++
		}
	}
	for _, node := range nodes {
		if of[node] != nodeGPUs {
			t.Errorf("run %d holds %v", run, of)
		}
	}
	return nodes
}

// processes returns the command lines with this word in a node's network namespace.
func (g *gang) processes(t *testing.T, node, word string) (found []string) {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	for _, process := range all {
		// A process may end meanwhile.
		space, err := os.Readlink(filepath.Join(process, "ns", "net"))
		command, err2 := os.ReadFile(filepath.Join(process, "cmdline"))
		if err == nil && err2 == nil && space == g.spaces[node] && strings.Contains(string(command), word) {
			found = append(found, strings.ReplaceAll(string(command), "\x00", " "))
		}
	}
	return found
}

// held returns the job that holds each GPU ("node id") in Nomad.
func (g *gang) held(t *testing.T) map[string]string {
	t.Helper()
	return holders(t, g.Rig)
}

// holders returns the job that holds each GPU ("node id") in Nomad, and fails the test if one has two.
func holders(t *testing.T, r *rig.Rig) map[string]string {
	t.Helper()
	nomad, err := r.Nomad()
	if err != nil {
		t.Fatal(err)
	}
	allocs, _, err := nomad.Allocations().List(&api.QueryOptions{Params: map[string]string{"resources": "true"}})
	if err != nil {
		t.Fatal(err)
	}
	by := map[string]string{}
	for _, a := range allocs {
		if a.ClientStatus != api.AllocClientStatusRunning && a.ClientStatus != api.AllocClientStatusPending || a.AllocatedResources == nil {
			continue
		}
		for _, task := range a.AllocatedResources.Tasks {
			for _, group := range task.Devices {
				for _, id := range group.DeviceIDs {
					if other := by[a.NodeName+" "+id]; other != "" {
						t.Errorf("the GPU %s of %s is held by %s and by %s", id, a.NodeName, other, a.JobID)
					}
					by[a.NodeName+" "+id] = a.JobID
				}
			}
		}
	}
	return by
}

// oneHolderEach: this number of GPUs is held, each by one job, and those of the cluster's own members are the ones that its
// tables have.
func oneHolderEach(t *testing.T, r *rig.Rig, want int) {
	t.Helper()
	by := holders(t, r)
	if len(by) != want {
		t.Errorf("%d GPUs are held, want %d: %v", len(by), want, by)
	}
	type row struct{ Allocation, Device string }
	list, err := rig.Query(t, r, pgx.RowToStructByPos[row], `SELECT a.id, m.node_name || ' ' || unnest(m.devices)
		FROM members m JOIN allocations a ON a.id = m.allocation_id WHERE a.state <> 'TERMINATED'`)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range list {
		if by[x.Device] != jobspecs.JobID(x.Allocation) {
			t.Errorf("the GPU %s is of attempt %s, and in Nomad of %q", x.Device, x.Allocation, by[x.Device])
		}
	}
}
