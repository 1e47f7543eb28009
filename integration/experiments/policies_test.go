package experiments

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/detent-ml/detent/integration/rig"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/nomad/local"
)

// policed is a one-file experiment with log policies.
func policed(t testing.TB, r *rig.Rig, name, entry, more, code string) int {
	t.Helper()
	return r.Submit(t, fmt.Sprintf(`
name: %s
entrypoint: %s
searcher: {name: single, metric: loss, max_length: {batches: 1}}
max_restarts: 4
%s`, name, entry, more), rig.Script(code))
}

// nodes returns the nodes on which the attempts of an experiment's trial ran, in order.
func nodes(t testing.TB, r *rig.Rig, experiment int) []string {
	t.Helper()
	list, err := rig.Query(t, r, pgx.RowTo[string], `SELECT m.node_name FROM members m JOIN allocations a ON a.id = m.allocation_id
		JOIN tasks k ON k.id = a.task_id WHERE k.experiment_id = $1 ORDER BY a.run_id`, experiment)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// TestFaultsOfNodes: log policies exclude a node from a trial or end the trial, with our log shipper
// and with Determined's; and an experiment avoids a node on which it fails repeatedly.
func TestFaultsOfNodes(t *testing.T) {
	r := rig.Start(t)
	if err := r.AddClient(t.Context(), local.Client{Name: "faulty"}); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := r.RemoveClient(context.WithoutCancel(t.Context()), "faulty"); err != nil {
			t.Error(err)
		}
	}()
	rig.Eventually(t, "the master knows the second node", func() (bool, error) {
		// The master lists the nodes of earlier tests too, until Nomad removes them.
		nodes, err := client.Send(t.Context(), r.Client, v1.ListAgents, v1.GetAgentsRequest{})
		return slices.ContainsFunc(nodes.Agents, func(n v1.Agent) bool { return n.Enabled && strings.HasSuffix(n.ID, "-faulty") }), err
	})
	python := rig.DeterminedPython(t)

	// The second attempt fails on another node without a matching line. The third attempt must still
	// exclude the first node.
	printed := policed(t, r, "printed", "python3 train.py", `log_policies: [{name: Bad sensor, pattern: '^sensor \d+ is broken$', action: exclude_node}]`, `
import os, sys
run = int(os.environ["DET_TRIAL_RUN_ID"])
if run == 1:
    print("sensor 7 is broken", flush=True)
sys.exit(0 if run == 3 else 3)
`)
	// Determined's unmodified log shipper sends a line that no program printed.
	shipped := policed(t, r, "shipped", python+" train.py", `
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
	hopeless := policed(t, r, "hopeless", "python3 train.py", "log_policies: [{name: Hopeless, pattern: no use, action: cancel_retries}]", `
import sys
print("it is no use", file=sys.stderr, flush=True)
sys.exit(3)
`)
	hooked := r.Submit(t, rig.Config(""), map[string]string{"train.py": "print('it trains')", "startup-hook.sh": "echo it prepares\n(exit 7)\n"})
	for id, want := range map[int]int{printed: 3, shipped: 2} {
		r.WaitState(t, id, v1.ExperimentStateCompleted)
		nodes := nodes(t, r, id)
		if len(nodes) != want || slices.Contains(nodes[1:], nodes[0]) {
			t.Errorf("experiment %d ran on %v; want %d attempts, and none after the first on its node", id, nodes, want)
		}
		trial := r.Trial(t, id)
		if trial.LogPolicyMatched == nil || *trial.LogPolicyMatched != "Bad sensor" || trial.Restarts != want-1 {
			t.Errorf("the experiment's trial is %+v", trial)
		}
		if log := r.Log(t, id); !strings.Contains(log, `is broken" matched regex ^sensor \d+ is broken$) therefore will not schedule on `+nodes[0]) {
			t.Errorf("the trial's log does not name the excluded node:\n%s", log)
		}
		if out, err := r.Det(t, "trial", "describe", strconv.Itoa(trial.ID)); err != nil || !strings.Contains(out, `has printed a line of log policy "Bad sensor"`) {
			t.Errorf("det trial describe: %v\n%s", err, out)
		}
	}
	waitOver(t, r, hopeless)
	if trial, nodes := r.Trial(t, hopeless), nodes(t, r, hopeless); trial.State != v1.TrialStateError || trial.Restarts != 0 || len(nodes) != 1 ||
		!strings.Contains(trial.Error, `not retried: log policy "Hopeless" matched "it is no use"`) {
		t.Errorf("the hopeless trial is %+v, and ran on %v", trial, nodes)
	}
	rig.Eventually(t, "the log says why it is not retried", func() (bool, error) {
		log := r.Log(t, hopeless)
		return strings.Contains(log, "trial failed and matched logs to a don't retry policy") && strings.Contains(log, `(log "it is no use" matched regex "no use")`), fmt.Errorf("the log:\n%s", log)
	})
	waitOver(t, r, hooked)
	if trial, log := r.Trial(t, hooked), r.Log(t, hooked); !strings.Contains(trial.Error, "startup-hook.sh failed with exit code 7") ||
		!strings.Contains(log, "it prepares") || strings.Contains(log, "it trains") {
		t.Errorf("the trial with a failing hook is %+v; its log:\n%s", trial, log)
	}
	nodeThatKeepsFailing(t, r)
}

// waitOver waits until an experiment has ended, in any state.
func waitOver(t testing.TB, r *rig.Rig, id int) {
	t.Helper()
	rig.Eventually(t, fmt.Sprintf("experiment %d ends", id), func() (bool, error) {
		e, err := client.Call(t.Context(), r.Client, v1.GetExperiment, id)
		return err == nil && rig.Terminal(e.Experiment.State), err
	})
}

// nodeThatKeepsFailing: alone in the cluster, attempts go to the same of two empty
// nodes each time, until three have failed there.
func nodeThatKeepsFailing(t testing.TB, r *rig.Rig) {
	t.Helper()
	id := policed(t, r, "unlucky", "python3 train.py", "", `
import os, sys
sys.exit(0 if os.environ["DET_TRIAL_RUN_ID"] == "4" else 3)
`)
	r.WaitState(t, id, v1.ExperimentStateCompleted)
	nodes := nodes(t, r, id)
	if len(nodes) != 4 || nodes[1] != nodes[0] || nodes[2] != nodes[0] || nodes[3] == nodes[0] {
		t.Errorf("the trial ran on %v; want three times on one node, then on the other", nodes)
	}
	if out, err := r.Det(t, "experiment", "describe", strconv.Itoa(id)); err != nil || !strings.Contains(out, "avoided node "+nodes[0]+": 3 of its attempts in a row failed there") {
		t.Errorf("det experiment describe: %v\n%s", err, out)
	}
}
