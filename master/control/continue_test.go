package control

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/experiments"
	"github.com/detent-ml/detent/master/search"
	"github.com/detent-ml/detent/master/searches"
)

// continueExperiment requests that an experiment continues, with a changed configuration if
// one is given.
func (b *bench) goOn(experiment int, single bool, config string) error {
	b.t.Helper()
	c := experiments.Continuation{Single: single}
	body := search.Continuation{}
	if config != "" {
		raw, _, err := expconf.Parse("test.yaml", []byte(config))
		if err != nil {
			b.t.Fatal(err)
		}
		cfg, err := expconf.Complete(raw, expconf.ClusterDefaults{Name: "x", Seed: 7})
		if err != nil {
			b.t.Fatal(err)
		}
		js, err := cfg.JSON()
		if err != nil {
			b.t.Fatal(err)
		}
		c.Changed = &experiments.New{Config: js, Name: "again", Pool: "default", SlotsPerTrial: cfg.Resources.SlotsPerTrial, Weight: 1, Priority: 42}
		c.Saw = json.RawMessage(b.text(`SELECT config::text FROM experiments WHERE id = $1`, experiment))
		if body, err = search.NewContinuation(js); err != nil {
			b.t.Fatal(err)
		}
	}
	event, err := json.Marshal(body)
	if err != nil {
		b.t.Fatal(err)
	}
	c.Event = event
	_, err = experiments.Continue(b.t.Context(), b.db, nil, experiment, c)
	return err
}

const oneTrial = "searcher: {name: single, metric: loss, max_length: {batches: 10}}\nhyperparameters: {lr: 1}"

// TestATrialGoesOn tests that the same trial continues, with a new attempt, all its restarts,
// and the changed configuration.
func TestATrialGoesOn(t *testing.T) {
	b := newBench(t, "n1")
	e := b.submit(oneTrial)
	for range 2 {
		b.exit(b.start(e, 0), 3)
		b.settle()
	}
	b.want(e, "ERROR", "ERROR", "TERMINATED failed")
	if err := b.goOn(e, true, strings.Replace(oneTrial, "lr: 1", "lr: 2", 1)); err != nil {
		t.Fatal(err)
	}
	if err := b.goOn(e, true, ""); err == nil {
		t.Error("a second request was accepted before the first was carried out")
	}
	third := b.start(e, 0)
	b.want(e, "ACTIVE", "ACTIVE", "RUNNING")
	if got := b.text(`SELECT a.run_id || ' ' || t.restarts || ' ' || t.hparams || ' ' || e.name || ' ' || e.progress FROM allocations a
		JOIN trials t ON t.task_id = a.task_id JOIN experiments e ON e.id = t.experiment_id WHERE a.id = $1`, third); got != `3 0 {"lr": 2} again 0` {
		t.Errorf("the attempt is %s", got)
	}
	// Matches of log policies from before the end no longer count.
	b.exec(`INSERT INTO log_matches (task_id, pattern, action, line, at) SELECT task_id, 'x', 'cancel_retries', 'x', now() - interval '1 hour' FROM trials`)
	b.exit(third, 3) // the number of restarts begins at 0 again
	b.settle()
	b.want(e, "ACTIVE", "ACTIVE", "STARTING")
	b.exit(b.start(e, 0), 0)
	b.settle()
	b.want(e, "COMPLETED", "COMPLETED", "TERMINATED completed")
	b.rebuilt(e)
	if err := b.goOn(e, true, ""); err != nil { // one that was completed trains on
		t.Fatal(err)
	}
	b.exit(b.start(e, 0), 0)
	b.settle()
	b.want(e, "COMPLETED", "COMPLETED", "TERMINATED completed")
	if n := b.int(`SELECT count(*) FROM trials`); n != 1 {
		t.Errorf("%d trials", n)
	}
	b.rebuilt(e)
}

// rebuilt applies the search's events again, as a new leader does, and compares what the
// search wants of its trials with the rows.
func (b *bench) rebuilt(experiment int) {
	b.t.Helper()
	in, err := searches.ReadInput(b.t.Context(), b.db, experiment, 0)
	if err != nil {
		b.t.Fatal(err)
	}
	cfg, err := expconf.ParseConfigJSON(in.Config)
	if err != nil {
		b.t.Fatal(err)
	}
	s, err := search.New(cfg, in.Seed)
	if err != nil {
		b.t.Fatal(err)
	}
	for _, e := range in.Events {
		if err := s.Apply(search.Event{Seq: e.Seq, Kind: e.Kind, Trial: e.Trial, Body: e.Body}); err != nil {
			b.t.Fatal(err)
		}
	}
	for _, w := range s.Wanted() {
		hparams, err := json.Marshal(s.HParams(w.Number))
		if err != nil {
			b.t.Fatal(err)
		}
		if b.int(`SELECT count(*) FROM trials WHERE experiment_id = $1 AND number = $2 AND hparams = $3 AND (ended_at IS NOT NULL) = $4`,
			experiment, w.Number, string(hparams), w.Ended) != 1 {
			b.t.Errorf("trial %d is not what its search made it: %s, ended %v", w.Number, hparams, w.Ended)
		}
	}
}

// TestASearchGoesOn tests that a search continues with the trials that failed, were canceled
// or were never created, with at most max_concurrent_trials at once.
func TestASearchGoesOn(t *testing.T) {
	b := newBench(t, "n1", "n2")
	e := b.submit("searcher: {name: random, metric: loss, max_trials: 4, max_concurrent_trials: 2}\nhyperparameters: {lr: {type: double, minval: 0, maxval: 1}}")
	one, two := b.start(e, 0), b.start(e, 1)
	b.exit(one, 0)
	b.settle()
	b.exec(`UPDATE experiments SET desired = 'canceled' WHERE id = $1`, e)
	b.settle()
	b.leave(two, 5)
	b.exit(b.attempt(e, 2), 0)
	b.settle()
	b.trials(e, "0 COMPLETED, 1 CANCELED, 2 CANCELED")
	b.exec(`UPDATE trials SET kill_wanted = true WHERE number = 1`)
	if err := b.goOn(e, false, ""); err != nil {
		t.Fatal(err)
	}
	b.settle()
	b.trials(e, "0 COMPLETED, 1 ACTIVE STARTING, 2 ACTIVE STARTING, 3 PAUSED")
	if got := b.text(`SELECT k.id || coalesce(k.exit_status, '') || k.unstarted FROM tasks k JOIN trials t ON t.task_id = k.id WHERE t.number = 1`); !strings.HasSuffix(got, "0") {
		t.Errorf("the trial's task is %s", got)
	}
	b.exit(b.start(e, 1), 0)
	b.settle()
	b.trials(e, "0 COMPLETED, 1 COMPLETED, 2 ACTIVE STARTING, 3 ACTIVE STARTING")
	b.exit(b.start(e, 2), 1)
	b.exit(b.start(e, 3), 0)
	b.settle()
	b.exit(b.start(e, 2), 1) // its restart
	b.settle()
	b.trials(e, "0 COMPLETED, 1 COMPLETED, 2 ERROR, 3 COMPLETED")
	if state := b.text(`SELECT state FROM experiments WHERE id = $1`, e); state != "COMPLETED" {
		t.Errorf("the experiment is %s", state)
	}
	b.rebuilt(e)
	if err := b.goOn(e, false, ""); err != nil { // the one that failed
		t.Fatal(err)
	}
	b.exit(b.start(e, 2), 0)
	b.settle()
	b.trials(e, "0 COMPLETED, 1 COMPLETED, 2 COMPLETED, 3 COMPLETED")
	if err := b.goOn(e, false, ""); err == nil || err.Error() != "experiment has been completed, cannot continue this experiment" {
		t.Errorf("a search with nothing left to do: %v", err)
	}
}

// TestAChangeOfMind tests that a user can cancel, kill or delete an experiment after a request
// to continue it, before the loop has handled that request.
func TestAChangeOfMind(t *testing.T) {
	b := newBench(t, "n1")
	e := b.submit(oneTrial)
	b.exit(b.start(e, 0), 0)
	b.settle()
	if err := b.goOn(e, true, ""); err != nil {
		t.Fatal(err)
	}
	if had, err := experiments.RequestAction(t.Context(), b.db, []int{e}, experiments.Delete); err != nil || len(had) != 0 {
		t.Errorf("the experiment was deleted while a user continued it: %v, %v", had, err)
	}
	if _, err := experiments.RequestAction(t.Context(), b.db, []int{e}, experiments.Cancel); err != nil {
		t.Fatal(err)
	}
	b.settle()
	b.want(e, "CANCELED", "COMPLETED", "TERMINATED completed")
	if err := b.goOn(e, true, ""); err != nil { // request to continue it again
		t.Fatal(err)
	}
	b.start(e, 0)
	b.want(e, "ACTIVE", "ACTIVE", "RUNNING")
}
