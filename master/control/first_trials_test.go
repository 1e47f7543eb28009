package control

import (
	"fmt"
	"testing"

	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/experiments"
	"github.com/detent-ml/detent/master/search"
	"github.com/detent-ml/detent/master/trial"
)

// create creates an experiment as the API does, with the first trials of its search.
func (b *bench) create(config string, active bool) int {
	b.t.Helper()
	return b.createFrom(search.Earlier{}, config, active)
}

// createFrom creates an experiment whose search learns from earlier ones, if its configuration says so.
func (b *bench) createFrom(earlier search.Earlier, config string, active bool) int {
	b.t.Helper()
	raw, _, err := expconf.Parse("test", []byte("entrypoint: x\nmax_restarts: 1\n"+config))
	if err != nil {
		b.t.Fatal(err)
	}
	cfg, err := expconf.Complete(raw, expconf.ClusterDefaults{Name: "x"})
	if err != nil {
		b.t.Fatal(err)
	}
	js, err := cfg.JSON()
	if err != nil {
		b.t.Fatal(err)
	}
	if cfg, err = expconf.ParseConfigJSON(js); err != nil {
		b.t.Fatal(err)
	}
	n := experiments.New{OwnerID: 2, ProjectID: 1, Config: js, Seed: 1, Name: "test", Active: active, Pool: "default",
		SlotsPerTrial: cfg.Resources.SlotsPerTrial, Weight: 1, Priority: 42}
	if n.Search, err = search.New(cfg, n.Seed); err != nil {
		b.t.Fatal(err)
	}
	if n.Learned, err = n.Search.Begin(earlier); err != nil {
		b.t.Fatal(err)
	}
	id, err := experiments.Create(b.t.Context(), b.db, nil, n)
	if err != nil {
		b.t.Fatal(err)
	}
	return id
}

// TestFirstTrialsRun tests that the loop queues the trials that the API created, and does not
// create them again.
func TestFirstTrialsRun(t *testing.T) {
	b := newBench(t, "n1")
	id := b.create("searcher: {name: single, metric: loss, max_length: {batches: 9}}", false)
	b.settle()
	b.trials(id, "0 PAUSED")
	b.exec(`UPDATE experiments SET desired = 'active' WHERE id = $1`, id)
	b.settle()
	b.trials(id, "0 ACTIVE STARTING")
	a := b.newest(id)
	if run := b.int(`SELECT t.run_id FROM trials t JOIN allocations a ON a.task_id = t.task_id WHERE a.id = $1 AND a.run_id = t.run_id`, a); run != 1 {
		t.Errorf("attempt %s is of run %d", a, run)
	}
	b.claim(a)
	b.exit(a, 0)
	b.settle()
	b.want(id, "COMPLETED", "COMPLETED", "TERMINATED completed")
}

// TestPausedTrialEnds tests that a trial that never ran can be killed, alone or with its
// experiment.
func TestPausedTrialEnds(t *testing.T) {
	b := newBench(t, "n1")
	const single = "searcher: {name: single, metric: loss, max_length: {batches: 9}}"
	one, all := b.create(single, false), b.create(single, false)
	b.exec(`UPDATE trials SET kill_wanted = true WHERE experiment_id = $1`, one)
	b.exec(`UPDATE experiments SET desired = 'killed' WHERE id = $1`, all)
	b.settle()
	for _, id := range []int{one, all} {
		b.trials(id, "0 CANCELED")
		if state := b.text(`SELECT state FROM experiments WHERE id = $1`, id); state != "CANCELED" {
			t.Errorf("experiment %d is %s", id, state)
		}
	}
}

// TestFirstTrialsAreTheSearchs tests that API and loop create the same trials, and that the
// loop adds the trials that exceed the API's limit.
func TestFirstTrialsAreTheSearchs(t *testing.T) {
	b := newBench(t, "n1")
	many := fmt.Sprintf("searcher: {name: random, metric: loss, max_trials: %d, max_concurrent_trials: %d}\nhyperparameters: {lr: {type: double, minval: 0, maxval: 1}}",
		trial.MaxFirst+4, trial.MaxFirst+4)
	byAPI, byLoop := b.create(many, true), b.submit(many)
	if n := b.int(`SELECT count(*) FROM trials WHERE experiment_id = $1`, byAPI); n != trial.MaxFirst {
		t.Errorf("the submission made %d trials", n)
	}
	b.settle()
	const rows = `SELECT string_agg(format('%s %s %s %s', number, hparams, seed, state), ', ' ORDER BY number) FROM trials WHERE experiment_id = $1`
	if one, other := b.text(rows, byAPI), b.text(rows, byLoop); one != other {
		t.Errorf("the trials differ:\n%s\n%s", one, other)
	}
	if n := b.int(`SELECT count(*) FROM trials t JOIN allocations a ON a.task_id = t.task_id WHERE t.experiment_id = $1 AND a.run_id = 1`, byAPI); n != trial.MaxFirst+4 {
		t.Errorf("%d attempts", n)
	}
	if n := b.int(`SELECT count(*) FROM trials t JOIN experiments e ON e.id = t.experiment_id WHERE e.id = $1 AND t.task_id LIKE e.id || '.%'`, byAPI); n != trial.MaxFirst+4 {
		t.Errorf("%d tasks are named after their experiment", n)
	}
}

// TestAnotherLeaderKnowsWhatASearchHasLearned: it draws the trials that the first leader would have drawn.
func TestAnotherLeaderKnowsWhatASearchHasLearned(t *testing.T) {
	b := newBench(t, "n1", "n2")
	earlier := search.Earlier{Names: []string{"lr"}, Experiments: []search.EarlierExperiment{{ID: 7}}}
	for i := range 30 {
		earlier.Experiments[0].Trials = append(earlier.Experiments[0].Trials, search.EarlierTrial{Values: fmt.Sprint(float64(i) / 100), Results: [search.Lengths]*int{search.Lengths - 1: &i}})
	}
	const config = "searcher: {name: random, metric: loss, max_trials: 8, max_concurrent_trials: 2, learn_from: [7]}\nhyperparameters: {lr: {type: double, minval: 0, maxval: 1}}"
	id := b.createFrom(earlier, config, true)
	b.settle()
	for n := range 8 {
		if n%3 == 1 {
			b.succeed(0)
		}
		a := b.attempt(id, n)
		b.claim(a)
		b.report(id, n, 9, at1(float64(n%4)))
		b.exit(a, 0)
		b.settle()
	}
	b.want(id, "COMPLETED", "COMPLETED", "TERMINATED completed")
	b.rebuilt(id)
	if lr := b.text(`SELECT hparams->>'lr' FROM trials WHERE experiment_id = $1 AND number = 0`, id); lr != "0" {
		t.Errorf("the first trial has %s, not the best earlier value", lr)
	}
}
