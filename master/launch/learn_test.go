package launch

import (
	"fmt"
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/experiments"
	"github.com/detent-ml/detent/master/search"
	v1 "github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/master/workspaces"
)

const learner = "entrypoint: python3 train.py\nsearcher:\n  name: random\n  metric: loss\n  max_trials: 4\n  max_concurrent_trials: 2\n%shyperparameters: {lr: {type: double, minval: 0, maxval: 1}}\n"

// TestExperimentsThatLearn are stored with what they have read; templates, policies and forks name experiments too, and each is
// read with the rights of whoever submits.
func TestExperimentsThatLearn(t *testing.T) {
	w, l, _ := launchers(t)
	create := func(by Submitter, req *v1.CreateExperimentRequest) *Experiment {
		t.Helper()
		made, err := l.Create(t.Context(), by, req)
		if err != nil {
			t.Fatal(err)
		}
		return made
	}
	first := create(me, &v1.CreateExperimentRequest{Config: new(fmt.Sprintf(learner, ""))}).ID
	for trial, best := range []float64{0.5, 0.25} {
		id := w.Int(`UPDATE trials SET state = 'COMPLETED', ended_at = now(), hparams = jsonb_build_object('lr', $3::float8) WHERE experiment_id = $1 AND number = $2 RETURNING id`, first, trial, best/2)
		w.Exec(`INSERT INTO trial_summaries (trial_id, searcher_value) VALUES ($1, $2)`, id, best)
	}
	begins := func(what string, id int) {
		t.Helper()
		if lr := w.Text(`SELECT hparams->>'lr' FROM trials WHERE experiment_id = $1 AND number = 0`, id); lr != "0.125" {
			t.Errorf("%s begins with %s", what, lr)
		}
		if n := w.Int(`SELECT count(*) FROM search_events s JOIN search_counters c USING (experiment_id) WHERE experiment_id = $1 AND seq = 1 AND kind = $2 AND c.next = 2`, id, search.Learned); n != 1 {
			t.Errorf("%s: %d first events say what it learns", what, n)
		}
	}
	from := func(id int) string { return fmt.Sprintf("  learn_from: [%d]\n", id) }
	config := fmt.Sprintf(learner, from(first))
	asked := create(me, &v1.CreateExperimentRequest{Config: &config, ValidateOnly: new(true)})
	if want := fmt.Sprintf("searcher.learn_from: this search learns from 2 trials of experiment %d", first); asked.ID != 0 || !strings.Contains(strings.Join(asked.Remarks, "\n"), want) {
		t.Errorf("the remarks %q lack %q", asked.Remarks, want)
	}
	elsewhere := create(me, &v1.CreateExperimentRequest{Config: &config, ValidateOnly: new(true), Unmanaged: new(true)})
	if !strings.Contains(strings.Join(elsewhere.Remarks, "\n"), "searcher.learn_from: has no effect") {
		t.Errorf("an unmanaged experiment is told %q", elsewhere.Remarks)
	}
	second := create(me, &v1.CreateExperimentRequest{Config: &config}).ID
	begins("a search", second)
	begins("a fork", create(me, &v1.CreateExperimentRequest{ParentID: &second}).ID)
	w.template("good", "searcher:\n  name: random\n"+from(first))
	w.template("bad", "searcher:\n  name: random\n  learn_from: [999]\n")
	begins("a template", create(me, &v1.CreateExperimentRequest{Config: new(fmt.Sprintf(learner, "")), Template: new("good")}).ID)
	refused := func(says string, by Submitter, req *v1.CreateExperimentRequest) {
		t.Helper()
		if _, err := l.Create(t.Context(), by, req); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("got %v, want %q", err, says)
		}
	}
	refused(`:3:16: searcher.learn_from[0]: there is no experiment 999`, me, &v1.CreateExperimentRequest{Config: new(fmt.Sprintf(learner, "")), Template: new("bad")})
	w.policies(ofWorkspace(workspaces.WorkloadExperiment, "invariant_config:\n  searcher: {name: random, learn_from: [998]}\n"))
	refused(`config policy of workspace "w":2:41: searcher.learn_from[0]: there is no experiment 998`, me, &v1.CreateExperimentRequest{Config: &config})
	w.policies(ofWorkspace(workspaces.WorkloadExperiment, fmt.Sprintf("invariant_config: {searcher: {name: random, learn_from: [%d]}}", first)))
	begins("a policy", create(me, &v1.CreateExperimentRequest{Config: new(fmt.Sprintf(learner, ""))}).ID)

	// Continuing reads nothing again, whatever became of the earlier experiment.
	w.Exec(`UPDATE experiments SET state = 'CANCELED', ended_at = now() WHERE id = $1`, second)
	w.Exec(`DELETE FROM experiments WHERE id = $1`, first)
	if _, err := l.Continue(t.Context(), w.experiment(second), "", true); err != nil {
		t.Error(err)
	}
	w.policies()
	if n := w.Int(`SELECT count(*) FROM search_events WHERE experiment_id = $1 AND kind = $2`, second, search.Learned); n != 1 {
		t.Errorf("a continued search has %d events about what it learns", n)
	}
	refused(fmt.Sprintf("config:7:16: searcher.learn_from[0]: there is no experiment %d", first), me, &v1.CreateExperimentRequest{ParentID: &second})

	// In another workspace, which the submitter may not see.
	grants := auth.NewGrants([][2]int{{int(auth.Editor), 7}})
	hidden := Submitter{Who: auth.Who{UserID: 4, Username: "ben", Grants: &grants}, Share: "user ben"}
	w.Exec(`INSERT INTO workspaces (id, name, owner_id) OVERRIDING SYSTEM VALUE VALUES (7, 'v', 4)`)
	w.Exec(`INSERT INTO projects (id, workspace_id, name, key, owner_id) OVERRIDING SYSTEM VALUE VALUES (7, 7, 'v', 'V', 4)`)
	refused(fmt.Sprintf("searcher.learn_from[0]: there is no experiment %d", second), hidden, &v1.CreateExperimentRequest{Config: new(fmt.Sprintf(learner, from(second))), ProjectID: new(7)})
	if _, _, err := experiments.Learn(t.Context(), w.DB, me.Who, asked.Complete); err == nil {
		t.Error("an experiment that was deleted can be learned from")
	}
}
