package api

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/control/rows"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/experiments"
	"github.com/detent-ml/detent/master/nodes"
	"github.com/detent-ml/detent/master/tasks"
	"github.com/detent-ml/detent/master/trial"
)

// What the control loop would do: tests of the API write its rows as it does.

// apply makes changes as the loop does.
func (r *rig) apply(c rows.Changes) {
	r.t.Helper()
	err := r.db.Tx(context.Background(), func(tx *database.DB) error { return rows.ApplyChanges(context.Background(), tx, &c) })
	if err != nil {
		r.t.Fatal(err)
	}
}

// yaml is a small configuration; lines are added to it.
func yaml(lines ...string) string {
	return strings.Join(append([]string{
		"name: small", "entrypoint: python3 train.py", "searcher:", "  name: single", "  metric: loss", "  max_length: {batches: 100}"}, lines...), "\n") + "\n"
}

// create submits an experiment and returns its id.
func (c as) create(config string, more ...string) int {
	c.r.t.Helper()
	var got struct{ Experiment struct{ ID int } }
	c.post("/api/v1/experiments", createBody(config, more...)).ok().into(&got)
	return got.Experiment.ID
}

// createBody is the body of a submission; more are further members.
// ownWorkspace creates a workspace and returns its id.
func (c as) ownWorkspace() any {
	c.r.t.Helper()
	return at(c.r.t, c.post("/api/v1/workspaces", `{"name":"own"}`).ok().tree(), "workspace.id")
}

func createBody(config string, more ...string) string {
	b, err := json.Marshal(config)
	if err != nil {
		panic(err)
	}
	return fmt.Sprintf(`{%s}`, strings.Join(append([]string{`"config":` + string(b)}, more...), ","))
}

// moves puts an experiment from one state into another.
func (r *rig) moves(id int, saw, state string) {
	r.t.Helper()
	ended := state == "COMPLETED" || state == "CANCELED" || state == "ERROR"
	r.apply(rows.Changes{Experiments: []rows.ExperimentChange{{ID: id, Saw: saw, State: state, Ended: ended}}})
}

// trial starts the first attempt of an experiment's trial, and returns the trial's id and task. It
// creates the trial if the search has not created it, and sets its hyperparameters.
func (r *rig) trial(experiment, number int) (id int, task string) {
	r.t.Helper()
	err := r.db.QueryRow(context.Background(), `UPDATE trials SET hparams = '{"lr":0.1}', state = 'ACTIVE', run_id = 1
		WHERE experiment_id = $1 AND number = $2 RETURNING id, task_id`, experiment, number).Scan(&id, &task)
	there := err == nil
	if !there {
		task = fmt.Sprintf("%d.%d", experiment, number)
		r.apply(rows.Changes{
			NewTrials: []trial.Row{{ExperimentID: experiment, Number: number, TaskID: task, Name: "t", HParams: json.RawMessage(`{"lr":0.1}`)}},
		})
	}
	r.apply(rows.Changes{NewAllocations: []tasks.NewAttempt{{ID: task + ".1", TaskID: task, RunID: 1, Pool: "default", Slots: 1, Priority: 42}}})
	if there {
		return id, task
	}
	ids, err := experiments.TrialIDs(context.Background(), r.db, experiment)
	if err != nil {
		r.t.Fatal(err)
	}
	return ids[len(ids)-1], task
}

// runs moves an attempt on to a state.
func (r *rig) runs(allocation, saw, state string) {
	r.t.Helper()
	c := rows.AllocationChange{ID: allocation, Saw: saw, State: state, Started: state == "RUNNING", Ended: state == "TERMINATED"}
	if c.Ended {
		c.Outcome = "completed"
	}
	r.apply(rows.Changes{Allocations: []rows.AllocationChange{c}})
}

// node adds a machine with slots to the default pool.
func (r *rig) node(id, name string, slots int) {
	r.t.Helper()
	inv := `{"Slots":[`
	for i := range slots {
		if i > 0 {
			inv += ","
		}
		inv += fmt.Sprintf(`{"ID":%d,"Brand":"cores","Healthy":true,"Enabled":true}`, i)
	}
	all, err := nodes.List(context.Background(), r.db)
	if err != nil {
		r.t.Fatal(err)
	}
	all = append(all, nodes.Row{ID: id, Name: name, Address: "127.0.0.1", NodePool: "default", Status: "ready", Eligible: true,
		Version: "2.0.4", Inventory: json.RawMessage(inv + "]}")})
	if err := rows.RecordNodes(context.Background(), r.db, "", all); err != nil {
		r.t.Fatal(err)
	}
}

// requireKeys fails unless all keys are in a decoded object.
func requireKeys(t testing.TB, what string, v any, keys ...string) {
	t.Helper()
	m, ok := v.(map[string]any)
	if !ok {
		t.Errorf("%s: not an object: %v", what, v)
		return
	}
	for _, k := range keys {
		if x, there := m[k]; !there || x == nil {
			t.Errorf("%s: required field %s is missing: %v", what, k, m)
		}
	}
}
