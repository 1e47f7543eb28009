package faults

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/detent-ml/detent/integration/rig"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/plugins/notice/cloud/cloudtest"
)

// leaver trains until there is a file "stop", stores a checkpoint when it is preempted, and says what it knows of the time.
const leaver = `
import pathlib
import time

import determined as det
from determined import core


def main() -> None:
    info = det.get_cluster_info()
    folder = pathlib.Path(info.trial.hparams["folder"])
    with core.init(tensorboard_mode=core.TensorboardMode.MANUAL) as context:
        step = 0
        if info.latest_checkpoint:
            with context.checkpoint.restore_path(info.latest_checkpoint) as path:
                step = int((path / "step").read_text())
        print(f"begins after step {step}", flush=True)
        while not (folder / "stop").exists():
            step += 1
            time.sleep(0.05)
            if context.preempt.should_preempt():
                with context.checkpoint.store_path({"steps_completed": step}) as (path, _):
                    (path / "step").write_text(str(step))
                print(f"saved step {step} until {context.preempt.deadline.timestamp():.0f}", flush=True)
                return
        context.train.report_validation_metrics(steps_completed=step, metrics={"loss": 1.0})


main()
`

// cloudTakesAMachine: AWS takes the machine of a trial back. det-notice, which runs as operators run it, sees that; the trial
// stores a checkpoint, knows how long it has, and continues elsewhere before its machine is gone. When the machine is
// started again, the notice goes.
func cloudTakesAMachine(t *testing.T, r *rig.Rig) {
	machines := watchedMachines(t, r, "faults-a", "faults-b")
	folder := t.TempDir()
	id := r.Submit(t, rig.Head("spot")+fmt.Sprintf("searcher: {name: single, metric: loss, max_length: {batches: 10}}\nhyperparameters: {folder: %s}\n", folder), rig.Script(leaver))
	t.Cleanup(func() {
		if err := client.Act(context.WithoutCancel(t.Context()), r.Client, v1.KillExperiment, id); err != nil {
			t.Error(err)
		}
	})
	r.WaitLog(t, id, "begins after step 0")
	task := r.Trial(t, id).TaskID
	node := rig.Value[string](t, r, `SELECT node_name FROM members WHERE allocation_id = $1`, task+".1")

	at := time.Now().Add(2 * time.Minute).Truncate(time.Second)
	machines[node].Set(cloudtest.Fate{Action: "terminate", ActionTime: at.UTC().Format(time.RFC3339)})
	since := time.Now()
	r.WaitLog(t, id, fmt.Sprintf("until %d", at.Unix()))
	t.Logf("the checkpoint was stored %s after the cloud's notice", time.Since(since).Round(time.Millisecond))
	saved := regexp.MustCompile(`saved step (\d+) until`).FindStringSubmatch(r.Log(t, id))
	r.WaitLog(t, id, "begins after step "+saved[1])
	t.Logf("the next attempt began %s after the cloud's notice", time.Since(since).Round(time.Millisecond))
	if there := rig.Value[string](t, r, `SELECT node_name FROM members WHERE allocation_id = $1`, task+".2"); there == node {
		t.Errorf("it continues on %s, which goes away", there)
	}
	want := fmt.Sprintf(`preempted: node %s goes away at %s ("det-notice: AWS takes the spot machine back (terminate)")`, node, at.UTC().Format(time.RFC3339))
	if got := rig.Value[string](t, r, `SELECT outcome || ': ' || preempt_reason FROM allocations WHERE id = $1`, task+".1"); got != want {
		t.Errorf("the first attempt is %q, want %q", got, want)
	}

	agent := "client-" + strings.TrimPrefix(node, "faults-")
	r.Kill9(t, agent)
	back := false
	t.Cleanup(func() {
		if !back {
			r.StartPart(t, agent)
		}
	})
	rig.Eventually(t, "the machine is lost", func() (bool, error) {
		return rig.Value[string](t, r, `SELECT status FROM nodes WHERE name = $1`, node) == "down", nil
	})
	if restarts := r.Trial(t, id).Restarts; restarts != 0 {
		t.Errorf("%d restarts are counted for a machine that went away", restarts)
	}
	billed, err := rig.Query(t, r, pgx.RowTo[bool], `SELECT ended_at IS NOT NULL FROM usage WHERE allocation_id LIKE $1 || '.%' ORDER BY started_at`, task)
	if err != nil || fmt.Sprint(billed) != "[true false]" {
		t.Errorf("the accounting has the attempts %v: %v", billed, err)
	}

	machines[node].Set(cloudtest.Fate{})
	r.StartPart(t, agent)
	back = true
	rig.Eventually(t, "the machine is ready", func() (bool, error) {
		return rig.Value[string](t, r, `SELECT status FROM nodes WHERE name = $1`, node) == "ready", nil
	})
	r.EvaluateNotice(t)
	rig.Eventually(t, "the notice is withdrawn", func() (bool, error) {
		return rig.Value[bool](t, r, `SELECT status = 'ready' AND NOT inventory->'Facts' ? 'meta.detent.leaving' FROM nodes WHERE name = $1`, node), nil
	})
	if err := os.WriteFile(filepath.Join(folder, "stop"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	r.WaitState(t, id, v1.ExperimentStateCompleted)
}

// watchedMachines runs det-notice on the nodes of the pool tasks, with a metadata service of AWS for each of them.
func watchedMachines(t *testing.T, r *rig.Rig, nodes ...string) map[string]*cloudtest.Machine {
	t.Helper()
	machines := map[string]*cloudtest.Machine{}
	mux := http.NewServeMux()
	for _, name := range nodes {
		machines[name] = cloudtest.New("aws", name)
		mux.Handle("/"+name+"/", http.StripPrefix("/"+name, machines[name]))
	}
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	r.RunNotice(t, map[string]string{"node_pool": "tasks", "binary": filepath.Join(r.Bin, "det-notice"), "metadata": server.URL + "/${node.unique.name}"})
	return machines
}
