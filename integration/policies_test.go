package integration

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/nomad/local"
)

// policed is a one-file experiment with log policies.
func (r *rig) policed(t testing.TB, name, entry, more, code string) int {
	t.Helper()
	return r.submit(t, fmt.Sprintf(`
name: %s
entrypoint: %s
searcher: {name: single, metric: loss, max_length: {batches: 1}}
max_restarts: 4
%s`, name, entry, more), script(code))
}

// nodes are those on which the attempts of an experiment's trial ran, in order.
func (r *rig) nodes(t testing.TB, experiment int) []string {
	t.Helper()
	list, err := query(t, r, pgx.RowTo[string], `SELECT m.node_name FROM members m JOIN allocations a ON a.id = m.allocation_id
		JOIN tasks k ON k.id = a.task_id WHERE k.experiment_id = $1 ORDER BY a.run_id`, experiment)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// TestFaultsOfNodes: lines of a trial's log keep it off a node or end it, whoever
// ships them, and a node on which an experiment keeps failing is left.
func TestFaultsOfNodes(t *testing.T) {
	r := start(t)
	if err := r.AddClient(t.Context(), local.Client{Name: "faulty"}); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := r.RemoveClient(context.WithoutCancel(t.Context()), "faulty"); err != nil {
			t.Error(err)
		}
	}()
	python := determinedPython(t)

	// The second attempt fails as well, elsewhere and without a word about it: the
	// third still does not go back.
	printed := r.policed(t, "printed", "python3 train.py", `log_policies: [{name: Bad sensor, pattern: '^sensor \d+ is broken$', action: exclude_node}]`, `
import os, sys
run = int(os.environ["DET_TRIAL_RUN_ID"])
if run == 1:
    print("sensor 7 is broken", flush=True)
sys.exit(0 if run == 3 else 3)
`)
	// Their own log shipper, unmodified, with a line that is printed nowhere.
	shipped := r.policed(t, "shipped", python+" train.py", `
environment: {environment_variables: [DET_USE_INSTALLED_HARNESS=1]}
log_policies: [{name: Bad sensor, pattern: '^sensor \d+ is broken$', action: exclude_node}]`, `
import os, sys
import determined
from determined import core
from determined.core import _log_shipper
info = determined.get_cluster_info()
if os.environ["DET_TRIAL_RUN_ID"] == "1":
    with core.init(tensorboard_mode=core.TensorboardMode.MANUAL) as ctx:
        sender = _log_shipper._LogSender(session=ctx.train._session, logs_metadata={"task_id": info.task_id})
        sender.start()
        sender.write("sensor 8 is broken\n")
        sender.close()
    sys.exit(3)
`)
	hopeless := r.policed(t, "hopeless", "python3 train.py", "log_policies: [{name: Hopeless, pattern: no use, action: cancel_retries}]", `
import sys
print("it is no use", file=sys.stderr, flush=True)
sys.exit(3)
`)
	hooked := r.submit(t, config(""), map[string]string{"train.py": "print('it trains')", "startup-hook.sh": "echo it prepares\n(exit 7)\n"})
	for id, want := range map[int]int{printed: 3, shipped: 2} {
		r.waitState(t, id, v1.ExperimentStateCompleted)
		nodes := r.nodes(t, id)
		if len(nodes) != want || slices.Contains(nodes[1:], nodes[0]) {
			t.Errorf("experiment %d ran on %v; want %d attempts, and none after the first on its node", id, nodes, want)
		}
		trial := r.trial(t, id)
		if trial.LogPolicyMatched == nil || *trial.LogPolicyMatched != "Bad sensor" || trial.Restarts != want-1 {
			t.Errorf("its trial is %+v", trial)
		}
		if log := r.log(t, id); !strings.Contains(log, "the trial will not use node "+nodes[0]+" again") {
			t.Errorf("its log does not say so:\n%s", log)
		}
		if out, err := r.det(t, "trial", "describe", itoa(trial.ID)); err != nil || !strings.Contains(out, `has printed a line of log policy "Bad sensor"`) {
			t.Errorf("det trial describe: %v\n%s", err, out)
		}
	}
	r.waitOver(t, hopeless)
	if trial, nodes := r.trial(t, hopeless), r.nodes(t, hopeless); trial.State != v1.TrialStateError || trial.Restarts != 0 || len(nodes) != 1 ||
		!strings.Contains(trial.Error, `not retried: log policy "Hopeless" matched "it is no use"`) {
		t.Errorf("the hopeless trial is %+v, and ran on %v", trial, nodes)
	}
	r.waitOver(t, hooked)
	if trial, log := r.trial(t, hooked), r.log(t, hooked); !strings.Contains(trial.Error, "startup-hook.sh failed with exit code 7") ||
		!strings.Contains(log, "it prepares") || strings.Contains(log, "it trains") {
		t.Errorf("the trial with a failing hook is %+v; its log:\n%s", trial, log)
	}
	r.nodeThatKeepsFailing(t)
}

// waitOver waits until an experiment is over, however.
func (r *rig) waitOver(t testing.TB, id int) {
	t.Helper()
	eventually(t, fmt.Sprintf("experiment %d ends", id), func() (bool, error) {
		e, err := r.client.Experiment(t.Context(), id)
		return err == nil && terminal(e.Experiment.State), err
	})
}

// nodeThatKeepsFailing: alone in the cluster, attempts go to the same of two empty
// nodes each time, until three have failed there.
func (r *rig) nodeThatKeepsFailing(t testing.TB) {
	t.Helper()
	id := r.policed(t, "unlucky", "python3 train.py", "", `
import os, sys
sys.exit(0 if os.environ["DET_TRIAL_RUN_ID"] == "4" else 3)
`)
	r.waitState(t, id, v1.ExperimentStateCompleted)
	nodes := r.nodes(t, id)
	if len(nodes) != 4 || nodes[1] != nodes[0] || nodes[2] != nodes[0] || nodes[3] == nodes[0] {
		t.Errorf("it ran on %v; want three times on one node, then on the other", nodes)
	}
	if out, err := r.det(t, "experiment", "describe", itoa(id)); err != nil || !strings.Contains(out, "avoids node "+nodes[0]+": 3 of its attempts in a row failed there") {
		t.Errorf("det experiment describe: %v\n%s", err, out)
	}
}
