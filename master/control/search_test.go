package control

import (
	"encoding/json"
	"testing"

	"github.com/detent-ml/detent/master/attempts"
	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/experiments"
	"github.com/detent-ml/detent/master/lifecycle"
	"github.com/detent-ml/detent/master/search"
)

// report is a validation of a trial, by its number.
func (b *bench) report(experiment, trial, steps int, metric *float64) {
	b.t.Helper()
	body, err := json.Marshal(search.Validation{Metric: metric, Steps: steps, Run: 1})
	if err != nil {
		b.t.Fatal(err)
	}
	b.event(experiments.NewEvent{ExperimentID: experiment, Trial: trial, Kind: search.Validated, Body: body})
}

func (b *bench) event(e experiments.NewEvent) {
	b.t.Helper()
	if err := b.db.Tx(b.t.Context(), func(tx *database.DB) error {
		return experiments.AppendEvents(b.t.Context(), tx, []experiments.NewEvent{e})
	}); err != nil {
		b.t.Fatal(err)
	}
	b.settle()
}

// start lets the newest attempt of a trial through the gate.
func (b *bench) start(experiment, trial int) (attempt string) {
	b.t.Helper()
	b.settle()
	attempt = b.attempt(experiment, trial)
	b.claim(attempt)
	b.settle()
	return attempt
}

func (b *bench) attempt(experiment, trial int) string {
	b.t.Helper()
	return b.text(`SELECT a.id FROM allocations a JOIN trials t ON t.task_id = a.task_id WHERE t.experiment_id = $1 AND t.number = $2
		ORDER BY a.run_id DESC LIMIT 1`, experiment, trial)
}

// leave ends a preempted program with a checkpoint.
func (b *bench) leave(attempt string, steps int) {
	b.t.Helper()
	b.exec(`INSERT INTO checkpoints (uuid, task_id, trial_id, steps, state) SELECT gen_random_uuid(), t.task_id, t.id, $2, 'COMPLETED'
		FROM trials t JOIN allocations a ON a.task_id = t.task_id WHERE a.id = $1`, attempt, steps)
	b.ack(attempt)
	b.exit(attempt, 0)
	b.settle()
}

func (b *bench) trials(experiment int, want string) {
	b.t.Helper()
	got := b.text(`SELECT string_agg(t.number || ' ' || t.state || coalesce(' ' || (SELECT a.state FROM allocations a
		WHERE a.task_id = t.task_id AND a.state <> 'TERMINATED'), ''), ', ' ORDER BY t.number) FROM trials t WHERE t.experiment_id = $1`, experiment)
	if got != want {
		b.t.Errorf("the trials are %q, want %q", got, want)
	}
}

func at1(v float64) *float64 { return &v }

// TestATrialWaitsAndIsCalledBack: a trial at its rung is preempted with a checkpoint, other trials
// get its slots, and it continues when others have worse results.
func TestATrialWaitsAndIsCalledBack(t *testing.T) {
	b := newBench(t, "n1")
	e := b.submit("searcher: {name: async_halving, metric: loss, num_rungs: 2, divisor: 2, max_trials: 2, max_concurrent_trials: 1, max_length: {batches: 10}}")
	first := b.start(e, 0)
	if n := b.int(`SELECT target FROM trials WHERE number = 0`); n != 5 {
		t.Errorf("the trial's target is %d", n)
	}
	b.report(e, 0, 5, at1(0.5))
	b.trials(e, "0 PAUSED RUNNING, 1 ACTIVE STARTING")
	if why := b.text(`SELECT preempt_reason FROM allocations WHERE id = $1`, first); why != "it waits until the search calls it back" {
		t.Errorf("the preemption's reason is %q", why)
	}
	b.leave(first, 5)
	b.trials(e, "0 PAUSED, 1 ACTIVE STARTING")
	if n := b.int(`SELECT count(*) FROM search_events WHERE kind = 'left'`); n != 1 {
		t.Errorf("the search heard %d times that it left", n)
	}
	second := b.start(e, 1)
	b.report(e, 1, 5, at1(0.9))
	b.trials(e, "0 ACTIVE STARTING, 1 STOPPING_COMPLETED RUNNING")
	b.leave(second, 5)
	again := b.start(e, 0)
	if again == first {
		t.Error("the trial continues in its old attempt")
	}
	if n := b.int(`SELECT target FROM trials WHERE number = 0`); n != 10 {
		t.Errorf("the trial's target is %d", n)
	}
	b.report(e, 0, 10, at1(0.4))
	b.leave(again, 10)
	b.trials(e, "0 COMPLETED, 1 COMPLETED")
	if s := b.text(`SELECT state FROM experiments`); s != "COMPLETED" {
		t.Errorf("the experiment is %s", s)
	}
	b.reasons(e, map[string]string{first: lifecycle.WhyHeld, again: lifecycle.WhyTrained, second: lifecycle.WhyStopped})
}

// reasons compares why the attempts of an experiment were asked to leave, as the pages show it.
func (b *bench) reasons(experiment int, want map[string]string) {
	b.t.Helper()
	list, err := attempts.List(b.t.Context(), b.db, attempts.Filter{Experiment: experiment, In: auth.Everywhere()}, 0, 10)
	if err != nil || len(list) != len(want) {
		b.t.Errorf("%d attempts, want %d: %v", len(list), len(want), err)
	}
	for _, a := range list {
		if a.PreemptReason != want[a.ID] {
			b.t.Errorf("attempt %s left because %q, want %q", a.ID, a.PreemptReason, want[a.ID])
		}
	}
}

// TestATrialThatIsNeverCalledBack: a trial that waited until its search was over was stopped early, and waits no more.
func TestATrialThatIsNeverCalledBack(t *testing.T) {
	b := newBench(t, "n1")
	e := b.submit("searcher: {name: async_halving, metric: loss, num_rungs: 2, divisor: 2, max_trials: 2, max_concurrent_trials: 1, max_length: {batches: 10}}")
	first := b.start(e, 0)
	b.report(e, 0, 5, at1(0.9))
	b.leave(first, 5)
	second := b.start(e, 1)
	b.reasons(e, map[string]string{first: lifecycle.WhyHeld, second: ""})
	b.report(e, 1, 5, at1(0.5))
	b.report(e, 1, 10, at1(0.4))
	b.leave(second, 10)
	b.trials(e, "0 COMPLETED, 1 COMPLETED")
	b.reasons(e, map[string]string{first: lifecycle.WhyStopped, second: lifecycle.WhyTrained})
}

// TestAPoorTrialFreesItsSlots: the master preempts a trial that the search stops, and kills it if
// it does not exit.
func TestAPoorTrialFreesItsSlots(t *testing.T) {
	b := newBench(t, "n1")
	e := b.submit(`preemption_timeout: 0
searcher: {name: async_halving, metric: loss, num_rungs: 2, divisor: 2, max_trials: 3, max_concurrent_trials: 2, max_length: {batches: 10}, stop_once: true}`)
	b.start(e, 0)
	poor := b.start(e, 1)
	b.report(e, 0, 5, at1(0.1))
	b.report(e, 1, 5, at1(0.9))
	b.exec(`UPDATE allocations SET preempt_at = now() - interval '2 hours' WHERE id = $1`, poor)
	b.settle()
	if b.nomad.stops[poor] == 0 {
		t.Error("the poor trial keeps its slots")
	}
	b.exit(poor, 137)
	b.settle()
	b.trials(e, "0 ACTIVE RUNNING, 1 COMPLETED, 2 ACTIVE STARTING")
}

// TestATrialWithoutTheMetricFails, and the search continues without it.
func TestATrialWithoutTheMetricFails(t *testing.T) {
	b := newBench(t, "n1")
	e := b.submit("searcher: {name: async_halving, metric: loss, num_rungs: 2, max_trials: 2, max_concurrent_trials: 1, max_length: {batches: 10}}")
	id := b.start(e, 0)
	b.report(e, 0, 5, nil)
	b.exit(id, 143)
	b.settle()
	b.trials(e, "0 ERROR, 1 ACTIVE STARTING")
	if why := b.text(`SELECT error FROM trials WHERE number = 0`); why != `its validation at step 5 lacks the metric "loss", which searcher.metric names` {
		t.Errorf("the trial's error is %q", why)
	}
}

// TestACopyStartsFromACheckpoint: in a population, a copy of the best has its
// newest checkpoint, and starts when everybody has left.
func TestACopyStartsFromACheckpoint(t *testing.T) {
	b := newBench(t, "n1")
	e := b.submit(`hyperparameters: {lr: {type: double, minval: 1, maxval: 2}}
searcher: {name: pbt, metric: loss, population_size: 2, num_rounds: 2, length_per_round: {batches: 5}, replace_function: {truncate_fraction: 0.5}, explore_function: {resample_probability: 0, perturb_factor: 0.1}}`)
	best, worst := b.start(e, 0), b.start(e, 1)
	b.report(e, 0, 5, at1(0.1))
	b.report(e, 1, 5, at1(0.2))
	b.leave(worst, 5)
	b.trials(e, "0 PAUSED RUNNING, 1 PAUSED")
	b.leave(best, 5)
	b.trials(e, "0 ACTIVE STARTING, 1 COMPLETED, 2 ACTIVE STARTING")
	if n := b.int(`SELECT count(*) FROM trials c JOIN checkpoints k ON k.uuid = c.warm_start JOIN trials o ON o.id = k.trial_id WHERE c.number = 2 AND o.number = 0`); n != 1 {
		t.Error("the copy does not start from the best trial's checkpoint")
	}
}

// TestASearchDrivenFromOutside: a program creates a trial, which runs only when the program sets a
// length, and the experiment ends when the program shuts it down.
func TestASearchDrivenFromOutside(t *testing.T) {
	b := newBench(t, "n1")
	e := b.submit("searcher: {name: custom, metric: loss, unit: batches}")
	b.settle()
	told := func(body string) {
		b.event(experiments.NewEvent{ExperimentID: e, Kind: search.Told, Body: []byte(body)})
	}
	told(`{"event": 1, "list": [{"create": {"name": "a", "hparams": {"lr": 1}}}]}`)
	b.trials(e, "0 PAUSED")
	told(`{"event": 2, "list": [{"train": {"name": "a", "length": 5}}]}`)
	b.trials(e, "0 ACTIVE STARTING")
	id := b.start(e, 0)
	b.report(e, 0, 5, at1(0.1))
	b.leave(id, 5)
	b.trials(e, "0 PAUSED")
	told(`{"event": 4, "list": [{"close": "a"}]}`)
	b.trials(e, "0 COMPLETED")
	if s := b.text(`SELECT state FROM experiments`); s != "ACTIVE" {
		t.Errorf("the experiment is %s while its program has not ended it", s)
	}
	told(`{"event": 5, "list": [{"shutdown": {}}]}`)
	if s := b.text(`SELECT state FROM experiments`); s != "COMPLETED" {
		t.Errorf("the experiment is %s", s)
	}
}
