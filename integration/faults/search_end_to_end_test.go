package faults

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/detent-ml/detent/integration/rig"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/nomad/local"
	"github.com/detent-ml/detent/nomad/servers/turn"
)

// hunted reports a better metric the nearer its x is to 0.3. While a file "wait" exists in the folder
// that the hyperparameter gate names, it pauses, and records that in the folder.
const hunted = `
import pathlib, time
import determined
from determined import core

info = determined.get_cluster_info()
x, gate = info.trial.hparams["x"], pathlib.Path(info.trial.hparams["gate"])

def stand():
    while (gate / "wait").exists():
        (gate / info.allocation_id).touch()
        time.sleep(0.02)

with core.init() as ctx:
    step = 0
    if info.latest_checkpoint:
        with ctx.checkpoint.restore_path(info.latest_checkpoint) as path:
            step = int((path / "step").read_text())
    for op in ctx.searcher.operations():
        while step < op.length:
            stand()
            step += 1
        loss = abs(x - 0.3) + 0.1 / step
        ctx.train.report_validation_metrics(steps_completed=step, metrics={"loss": loss})
        with ctx.checkpoint.store_path({"steps_completed": step}) as (path, uuid):
            (path / "step").write_text(str(step))
        op.report_completed(loss)
`

// huntConfig is the configuration of a master whose GPUs are on separate nodes, so that no dead node
// runs the master.
const huntConfig = `
cluster_name: hunt
checkpoint_storage: {type: shared_fs, host_path: %s}
resource_pools:
  - {name: gpu, node_pool: gpu, driver: raw_exec, slots: device, device: nvidia/gpu, memory_mb_per_slot: 64}
stop_after: 12s
`

const (
	huntTrials = 30
	huntGPUs   = 4
	huntLength = 16  // a whole training
	huntBest   = 0.3 // the x with the best metric
)

// A hunt is a search for the best x, on a cluster of its own.
type hunt struct {
	*rig.Rig
	experiment int
	gate       string
}

// TestASearchSurvives runs thirty trials of adaptive_asha on four GPUs. Poor trials end at their rung,
// and other trials use their slots. Meanwhile a trial is killed, a node dies and the master is killed.
// None of this counts as a failure of a trial, and the decisions of the search follow from its events.
func TestASearchSurvives(t *testing.T) {
	turn.First(t)
	t.Parallel()
	h := startHunt(t)
	h.survivesAll(t)
	h.WaitState(t, h.experiment, v1.ExperimentStateCompleted)
	h.checkSlots(t)
	h.checkReplay(t)
}

// startHunt starts a cluster with two nodes of two GPUs, and the search.
func startHunt(t *testing.T) *hunt {
	t.Helper()
	r, dir := rig.NewOwn(t, "hunt")
	r.StartCluster(t, dir, local.Options{Name: "hunt", ExtraNomad: ownNomad, Ephemeral: true, GPUs: local.GPUs{Binary: filepath.Join(r.Bin, "det-gpu")},
		Master: local.Master{Config: fmt.Sprintf(huntConfig, filepath.Join(dir, "checkpoints"))}})
	for _, name := range []string{"a", "b"} {
		if err := r.AddClient(t.Context(), local.Client{Name: name, Pool: "gpu", GPUs: huntGPUs / 2}); err != nil {
			t.Fatal(err)
		}
	}
	h := &hunt{Rig: r, gate: filepath.Join(dir, "gate")}
	if err := os.Mkdir(h.gate, 0o777); err != nil {
		t.Fatal(err)
	}
	rig.Eventually(t, "four GPUs", func() (bool, error) {
		resp, err := client.Send(t.Context(), r.Client, v1.ListPools, v1.GetListRequest{})
		return err == nil && len(resp.ResourcePools) == 1 && resp.ResourcePools[0].SlotsAvailable == huntGPUs, fmt.Errorf("%+v, %w", resp.ResourcePools, err)
	})
	h.experiment = r.Submit(t, fmt.Sprintf(`
name: hunt
entrypoint: python3 train.py
max_restarts: 0
reproducibility: {experiment_seed: 5}
hyperparameters: {x: {type: double, minval: 0, maxval: 1}, gate: %s}
searcher: {name: adaptive_asha, metric: loss, max_trials: %d, max_concurrent_trials: %d, bracket_rungs: [3, 2], max_length: {batches: %d}}
`, h.gate, huntTrials, huntGPUs, huntLength), rig.Script(hunted))
	return h
}

// survivesAll kills a trial, a node and the master during the search.
func (h *hunt) survivesAll(t *testing.T) {
	h.results(t, 8)
	h.shut(t)
	held := h.stand(t, huntGPUs)

	victim := held[slices.IndexFunc(held, func(a attempt) bool { return a.Node == "hunt-a" })]
	if out, err := h.Det(t, "trial", "kill", strconv.Itoa(victim.Trial)); err != nil {
		t.Fatalf("det trial kill: %v\n%s", err, out)
	}
	rig.Eventually(t, "the killed trial has ended", func() (bool, error) {
		at := h.one(t, victim.ID)
		return at.Outcome == "killed", fmt.Errorf("the trial's attempt: %+v", at)
	})
	held = h.stand(t, huntGPUs)
	if !slices.ContainsFunc(held, func(a attempt) bool { return a.place() == victim.place() && a.Trial != victim.Trial }) {
		t.Errorf("no trial runs on the GPU %s that the killed trial freed: %+v", victim.place(), held)
	}

	killed := h.Kill9(t, "client-b")
	t.Cleanup(func() { h.StartPart(t, "client-b") })
	for _, a := range held {
		if a.Node != "hunt-b" {
			continue
		}
		rig.Eventually(t, "the attempts on the dead node are lost", func() (bool, error) {
			at := h.one(t, a.ID)
			return at.Outcome == "lost", fmt.Errorf("attempt: %+v", at)
		})
	}
	t.Logf("the attempts on node b were lost after %s", time.Since(killed).Round(time.Millisecond))

	before := currentLeader(t, h.Rig)
	h.Kill9(t, "master")
	h.open(t)
	h.StartPart(t, "client-b")
	rig.Eventually(t, "another term", func() (bool, error) {
		list, err := rig.Query(t, h.Rig, pgx.RowToStructByPos[leader], leaderRow)
		return err == nil && len(list) == 1 && list[0].Term > before.Term, err
	})
}

// results waits until the search has received this number of results.
func (h *hunt) results(t *testing.T, n int) {
	t.Helper()
	rig.Eventually(t, fmt.Sprintf("%d results", n), func() (bool, error) {
		have := rig.Value[int](t, h.Rig, `SELECT count(*) FROM search_events WHERE experiment_id = $1 AND kind = 'validated'`, h.experiment)
		return have >= n, fmt.Errorf("there are %d", have)
	})
}

func (h *hunt) shut(t *testing.T) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(h.gate, "wait"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
}

func (h *hunt) open(t *testing.T) {
	t.Helper()
	if err := os.Remove(filepath.Join(h.gate, "wait")); err != nil {
		t.Fatal(err)
	}
}

// stand waits until this number of attempts hold GPUs and all of them pause, so that nothing changes
// until the test acts.
func (h *hunt) stand(t *testing.T, n int) []attempt {
	t.Helper()
	var held []attempt
	rig.Eventually(t, fmt.Sprintf("%d attempts stand still", n), func() (bool, error) {
		held = slices.DeleteFunc(h.attempts(t), func(a attempt) bool { return a.From == nil || a.To != nil })
		for _, a := range held {
			if _, err := os.Stat(filepath.Join(h.gate, a.ID)); err != nil {
				return false, err
			}
		}
		return len(held) == n, fmt.Errorf("%+v", held)
	})
	return held
}

// An attempt is a row of allocations, with its node and GPU.
type attempt struct {
	ID      string
	Trial   int // its id
	Number  int // and its number in the search
	Outcome string
	Node    string
	Devices []string
	From    *time.Time // when it got its slots; nil: not yet
	To      *time.Time // when it released them
}

// place is the GPU of an attempt with one slot.
func (a attempt) place() string { return a.Node + " " + strings.Join(a.Devices, ",") }

// attempts returns the attempts of the search in the order of their placement.
func (h *hunt) attempts(t testing.TB) []attempt {
	t.Helper()
	list, err := rig.Query(t, h.Rig, pgx.RowToStructByPos[attempt], `
		SELECT a.id, t.id, t.number, coalesce(a.outcome, ''), coalesce(m.node_name, ''), coalesce(m.devices, '{}'), a.assigned_at, a.ended_at
		FROM allocations a JOIN trials t USING (task_id) LEFT JOIN members m ON m.allocation_id = a.id
		WHERE t.experiment_id = $1 ORDER BY a.assigned_at, a.id`, h.experiment)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func (h *hunt) one(t testing.TB, id string) attempt {
	t.Helper()
	list := h.attempts(t)
	return list[slices.IndexFunc(list, func(a attempt) bool { return a.ID == id })]
}

// checkSlots: at no time do attempts hold more GPUs than exist, or two attempts the same GPU. All GPUs
// are in use at some time, and another attempt uses each GPU that an attempt has released, also while
// the former trial waits at its rung.
func (h *hunt) checkSlots(t *testing.T) {
	t.Helper()
	attempts := h.attempts(t)
	ended := h.ended(t)
	last := map[string]attempt{} // on each GPU
	outcomes := map[string]int{}
	most, lent := 0, 0
	for i, a := range attempts {
		outcomes[a.Outcome]++
		if a.From == nil || a.To == nil || len(a.Devices) != 1 {
			t.Fatalf("attempt %s ended without a GPU of its own: %+v", a.ID, a)
		}
		held := 1
		for _, b := range attempts[:i] {
			if b.To.After(*a.From) {
				held++
			}
		}
		most = max(most, held)
		before, again := last[a.place()]
		switch {
		case again && before.To.After(*a.From):
			t.Errorf("%s and %s had %s at once: %v–%v and %v–%v", before.ID, a.ID, a.place(), before.From, before.To, a.From, a.To)
		case again && before.Outcome == "preempted" && a.From.Before(ended[before.Number]):
			lent++
		}
		if a.To.After(ended[a.Number]) {
			t.Errorf("trial %d ended at %v, while its attempt held %s until %v", a.Number, ended[a.Number], a.place(), a.To)
		}
		last[a.place()] = a
	}
	t.Logf("%d attempts on %d GPUs, by their outcome: %v; %d took the GPU of a trial that waited", len(attempts), len(last), outcomes, lent)
	if most != huntGPUs || len(last) != huntGPUs {
		t.Errorf("%d GPUs of %d were held at once, want all %d", most, len(last), huntGPUs)
	}
	// A rung stops no trial before the last trial of its bracket exists.
	if lent == 0 {
		t.Error("no trial gave its GPU to another while it waited")
	}
	if outcomes["killed"] != 1 || outcomes["lost"] != huntGPUs/2 {
		t.Errorf("attempts by their outcome: %v; want 1 killed and %d lost", outcomes, huntGPUs/2)
	}
}

// ended returns the end of each trial, by number.
func (h *hunt) ended(t *testing.T) []time.Time {
	t.Helper()
	list, err := rig.Query(t, h.Rig, pgx.RowTo[time.Time], `SELECT ended_at FROM trials WHERE experiment_id = $1 ORDER BY number`, h.experiment)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// A huntTrial is a row of trials, with its length and its best metric.
type huntTrial struct {
	Number, Restarts int
	State            string
	HParams          json.RawMessage
	Seed             int64
	Target           int64
	Batches          int64
	loss             float64
}
