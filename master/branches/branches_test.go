package branches_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/experiments"
	"github.com/detent-ml/detent/master/search"
	"github.com/detent-ml/detent/master/server/servertest"
	"github.com/detent-ml/detent/master/trial"
	v1 "github.com/detent-ml/detent/master/v1"
)

const halving = `
name: halving
max_restarts: 0
entrypoint: python3 train.py
searcher: {name: async_halving, metric: loss, num_rungs: 2, divisor: 2, max_trials: 4, max_concurrent_trials: 1, max_length: {epochs: 4}, sampler: random}
checkpoint_storage: {save_trial_latest: 10}
hyperparameters:
  lr: {type: log, base: 10, minval: -4, maxval: 0}
`

// train trains a trial to the length that its search wants now, from its newest checkpoint: it stores a checkpoint and reports after each epoch.
func train(ctx context.Context, a *servertest.Attempt) int {
	if a.TaskType != "TRIAL" {
		return servertest.Play(ctx, a)
	}
	api, err := client.New(client.Options{Master: a.Master().Address(), TaskToken: a.Token()})
	if err != nil {
		return 1
	}
	defer api.Close()
	epoch, _ := strconv.Atoi(a.Env["DET_STEPS_COMPLETED"])
	for ctx.Err() == nil {
		target, err := database.Scalar[int](ctx, a.Master().DB, `SELECT coalesce(target, 0) FROM trials WHERE id = $1`, a.TrialID)
		if err != nil {
			return 1
		}
		if epoch >= target {
			asked, err := client.Send(ctx, api, v1.AwaitPreemption, v1.AwaitPreemptionRequest{TimeoutSeconds: new(1)}, a.ID)
			if err == nil && asked.Preempt {
				_ = client.Act(ctx, api, v1.AcknowledgePreemption, a.ID)
				return 0
			}
			continue
		}
		epoch++
		a.Checkpoint(ctx, uuid.NewString(), epoch, time.Now(), map[string]string{"model": strconv.Itoa(epoch)})
		a.Metrics(ctx, "training", epoch, map[string]float64{"speed": float64(epoch)})
		a.Metrics(ctx, "validation", epoch, map[string]float64{"loss": math.Abs(math.Log10(a.HParam("lr"))+2) + 1/float64(epoch), "epochs": float64(epoch)})
	}
	return 1
}

type world struct {
	*testing.T
	m *servertest.Master
	c *client.Client
}

func (w world) count(sql string, args ...any) int {
	w.Helper()
	n, err := database.Scalar[int](w.Context(), w.m.DB, sql, args...)
	if err != nil {
		w.Fatal(err)
	}
	return n
}

func (w world) branch(of int, at string, set ...string) (*v1.BranchExperimentResponse, error) {
	return client.Send(w.Context(), w.c, v1.BranchExperiment, v1.BranchExperimentRequest{At: at, Set: set, Activate: new(true)}, of)
}

// history lists what trials reported to a search after an event, without the run. When slots become free is a matter of time.
func (w world) history(id int, after int64) string {
	w.Helper()
	list, err := database.Scalars[string](w.Context(), w.m.DB, `SELECT concat_ws(' ', kind, trial, body - 'run' - 'experiment' - 'event') FROM search_events
		WHERE experiment_id = $1 AND seq > $2 AND kind = 'validated' ORDER BY seq`, id, after)
	if err != nil {
		w.Fatal(err)
	}
	return strings.Join(list, "\n")
}

// replay computes the search of an experiment as a master does that begins to lead, and compares it with the rows.
func (w world) replay(id int) {
	w.Helper()
	type began struct {
		Config json.RawMessage `db:"config"`
		Seed   int64           `db:"seed"`
	}
	e, err := database.Row[began](w.Context(), w.m.DB, "experiment", `SELECT coalesce(search_config, config) AS config, seed FROM experiments WHERE id = $1`, id)
	if err != nil {
		w.Fatal(err)
	}
	cfg, err := expconf.ParseConfigJSON(e.Config)
	if err != nil {
		w.Fatal(err)
	}
	s, err := search.New(cfg, e.Seed)
	if err != nil {
		w.Fatal(err)
	}
	events, err := database.Rows[experiments.SearchEvent](w.Context(), w.m.DB, `SELECT experiment_id, seq, kind, trial, body FROM search_events WHERE experiment_id = $1 ORDER BY seq`, id)
	if err != nil {
		w.Fatal(err)
	}
	for _, e := range events {
		if err := s.Apply(search.Event{Seq: e.Seq, Kind: e.Kind, Trial: e.Trial, Body: e.Body}); err != nil {
			w.Fatal(err)
		}
	}
	rows, err := database.Scalars[string](w.Context(), w.m.DB, `SELECT concat_ws(' ', number, seed, state IN ('COMPLETED', 'ERROR', 'CANCELED'), hparams) FROM trials WHERE experiment_id = $1 ORDER BY number`, id)
	if err != nil {
		w.Fatal(err)
	}
	if len(rows) != s.Len() {
		w.Fatalf("%d rows, and the replay has %d trials", len(rows), s.Len())
	}
	for n, row := range rows {
		t := s.Trial(n)
		want := fmt.Sprintf("%d %d %s ", n, t.Seed, map[bool]string{true: "t", false: "f"}[t.Ended])
		var stored map[string]any
		at := strings.IndexByte(row, '{')
		if err := json.Unmarshal([]byte(row[at:]), &stored); err != nil {
			w.Fatal(err)
		}
		a, _ := json.Marshal(stored)
		b, _ := json.Marshal(s.HParams(n))
		if row[:at] != want || string(a) != string(b) {
			w.Errorf("trial %d is %s in the rows, and %s%s in the replay", n, row, want, b)
		}
	}
	best, metric := s.Best()
	if metric == nil || w.count(`SELECT count(*) FROM experiments e JOIN trials t ON t.id = e.best_trial_id WHERE e.id = $1 AND t.number = $2 AND abs(e.best_metric - $3::float8) < 1e-9`, id, best, cmp.Or(metric, new(0.0))) != 1 {
		w.Errorf("the best trial of the replay is %d with %v", best, metric)
	}
}

// TestABranchSharesThePast through a real master and the control loop: a branch without a change makes the events that its origin made; one with more
// and longer trials goes on after the end, also when another leader takes over; what the past needs is kept, and nothing of it is trained again.
func TestABranchSharesThePast(t *testing.T) {
	t.Parallel()
	m := servertest.Start(t, train)
	w := world{t, m, m.Client("determined")}
	made, err := w.c.CreateExperiment(t.Context(), v1.CreateExperimentRequest{Config: new(halving), Activate: new(true)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	origin := made.Experiment.ID
	m.Ended(origin)
	w.replay(origin)
	events, err := client.Send(t.Context(), w.c, v1.ListSearchEvents, v1.ListSearchEventsRequest{}, origin)
	if err != nil {
		t.Fatal(err)
	}
	if first := events.Events[0]; first.Number != 0 || first.Decisions[0] != "trial 0 begins to 2 epochs" {
		t.Errorf("the search began with %+v", first)
	}

	t.Run("without a change", func(t *testing.T) {
		w := world{t, m, w.c}
		// In the middle of the second trial.
		middle := int64(w.count(`SELECT min(seq) FROM search_events WHERE experiment_id = $1 AND kind = 'validated' AND trial = 1`, origin))
		b, err := w.branch(origin, strconv.FormatInt(middle, 10))
		if err != nil {
			t.Fatal(err)
		}
		id := b.Experiment.ID
		if b.Event != middle || *b.Experiment.BranchEvent != middle || *b.Experiment.ForkedFrom != origin || b.Resumed != 2 || b.Restarted != 0 {
			t.Errorf("the branch: %+v", b)
		}
		m.Ended(id)
		w.replay(id)
		if a, b := w.history(origin, middle), w.history(id, middle+1); a != b {
			t.Errorf("the origin went on with\n%s\nthe branch with\n%s", a, b)
		}
		if n := w.count(`SELECT count(*) FROM metrics m JOIN trials t ON t.id = m.trial_id WHERE t.experiment_id = $1 AND t.number = 1 AND m.run_id = 0 AND m.steps = 1`, id); n != 2 {
			t.Errorf("the trial that went on has %d of the two reports of its past", n)
		}
	})
	t.Run("a branch of a branch", func(t *testing.T) { testABranchOfABranch(world{t, m, w.c}, origin) })
	t.Run("from its end, with another leader", func(t *testing.T) { testFromTheEnd(world{t, m, w.c}, origin) })
	t.Run("what is refused", func(t *testing.T) { testRefused(world{t, m, w.c}, origin) })
	t.Run("the origin is deleted", func(t *testing.T) { testOriginDeleted(world{t, m, w.c}, origin) })
}

func testFromTheEnd(w world, origin int) {
	t, m := w.T, w.m
	b, err := w.branch(origin, "end", "searcher.max_trials=7", "searcher.max_length.epochs=8")
	if err != nil {
		t.Fatal(err)
	}
	id := b.Experiment.ID
	if err := m.DB.Exec(t.Context(), `UPDATE leader SET term = term + 1, holder = 'another master', expires_at = now()`); err != nil {
		t.Fatal(err)
	}
	m.Ended(id)
	w.replay(id)
	if n := w.count(`SELECT count(*) FROM trials WHERE experiment_id = $1`, id); n != 7 {
		t.Errorf("%d trials", n)
	}
	if n := w.count(`SELECT count(*) FROM metrics m JOIN trials t ON t.id = m.trial_id WHERE t.experiment_id = $1 AND m.steps > 4`, id); n == 0 {
		t.Error("no trial has trained longer than before")
	}
	again := w.count(`SELECT count(*) FROM metrics m JOIN trials t ON t.id = m.trial_id JOIN metrics o ON o.trial_id = t.origin_id AND o.steps = m.steps AND o.group_name = m.group_name
		WHERE t.experiment_id = $1 AND m.run_id > 0`, id)
	if again != 0 {
		t.Errorf("%d reports of the past were made again", again)
	}
	// A trial of the past that did not go on is that of the origin.
	past := w.count(`SELECT min(id) FROM trials WHERE experiment_id = $1 AND past`, id)
	if n := w.count(`SELECT count(*) FROM allocations a JOIN trials t ON t.task_id = a.task_id WHERE t.id = $1`, past); n != 0 {
		t.Errorf("it has %d attempts", n)
	}
	shown, err := client.Call(t.Context(), w.c, v1.GetTrial, past)
	if err != nil {
		t.Fatal(err)
	}
	if shown.Trial.BestValidation == nil || shown.Trial.BestCheckpoint == nil || shown.Trial.OriginTrialID == nil || shown.Trial.TotalBatchesProcessed == 0 {
		t.Errorf("the trial of the past lacks facts: %+v", shown.Trial)
	}
	if n := w.count(`SELECT count(*) FROM metrics WHERE trial_id = $1`, past); n != 0 {
		t.Errorf("%d reports were copied", n)
	}
	list, err := client.Send(t.Context(), w.c, v1.ListExperimentCheckpoints, v1.GetCheckpointsRequest{}, id)
	if err != nil {
		t.Fatal(err)
	}
	theirs := 0
	for _, k := range list.Checkpoints {
		if *k.Training.ExperimentID == origin {
			theirs++
		}
	}
	if theirs == 0 {
		t.Error("the checkpoints of the branch lack those of its past")
	}
}

// testABranchOfABranch: what has not run in a branch goes on from the checkpoints of the first origin in a branch of it.
func testABranchOfABranch(w world, origin int) {
	t := w.T
	make := func(of int, set string) *v1.BranchExperimentResponse {
		b, err := client.Send(t.Context(), w.c, v1.BranchExperiment, v1.BranchExperimentRequest{At: "end", Set: []string{set}}, of)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	// What ran at the event has gone on in the origin, and begins in both with the same checkpoint.
	running := strconv.Itoa(w.count(`SELECT max(seq) FROM search_events WHERE experiment_id = $1 AND kind = 'validated'`, origin) - 1)
	early, err := client.Send(t.Context(), w.c, v1.BranchExperiment, v1.BranchExperimentRequest{At: running}, origin)
	if err != nil {
		t.Fatal(err)
	}
	if n := w.count(`SELECT count(*) FROM trials WHERE experiment_id = $1 AND past IS DISTINCT FROM (origin_run IS NOT NULL)`, early.Experiment.ID); n != 0 {
		t.Errorf("of %d trials it is not known up to which run they are of the past", n)
	}
	later := make(early.Experiment.ID, "searcher.max_trials=6").Experiment.ID
	if n := w.count(`SELECT count(*) FROM trials a JOIN trials b ON b.experiment_id = $2 AND b.number = a.number WHERE a.experiment_id = $1 AND NOT a.past AND a.ended_at IS NULL AND a.warm_start = b.warm_start`,
		early.Experiment.ID, later); n == 0 {
		t.Error("no trial that ran at the event begins with the same checkpoint in a branch of the branch")
	}
	first := make(origin, "searcher.max_trials=5").Experiment.ID
	second := make(first, "searcher.max_length.epochs=8")
	if second.Resumed == 0 || second.Restarted != 0 {
		t.Errorf("%d trials go on, and %d begin anew", second.Resumed, second.Restarted)
	}
	id := second.Experiment.ID
	if n := w.count(`SELECT count(*) FROM trials t JOIN checkpoints k ON k.uuid = t.warm_start JOIN trials o ON o.id = k.trial_id WHERE t.experiment_id = $1 AND t.ended_at IS NULL AND t.past
		AND o.experiment_id = $2 AND o.number = t.number AND k.steps = (SELECT max(steps) FROM checkpoints WHERE trial_id = o.id)`, id, origin); n != second.Resumed {
		t.Errorf("%d of %d start from the newest checkpoints of the origin", n, second.Resumed)
	}
	if n := w.count(`SELECT count(*) FROM trials t JOIN trials o ON o.experiment_id = $2 AND o.number = t.number LEFT JOIN trial_summaries s ON s.trial_id = t.id
		JOIN trial_summaries x ON x.trial_id = o.id WHERE t.experiment_id = $1 AND x.searcher_value IS DISTINCT FROM s.searcher_value`, id, origin); n != 0 {
		t.Errorf("%d trials have other values than in the origin", n)
	}
	// The copy of a trial of the past, in a population.
	copied := &database.Statements{}
	experiments.QueueNewTrial(copied, trial.Row{ExperimentID: id, Number: 77, TaskID: fmt.Sprint(id, ".copy"), Name: "copy", HParams: []byte(`{}`), From: new(0)})
	if err := copied.Send(t.Context(), w.m.DB); err != nil {
		t.Fatal(err)
	}
	if n := w.count(`SELECT count(*) FROM trials t JOIN checkpoints k ON k.uuid = t.warm_start JOIN trials o ON o.id = k.trial_id WHERE t.experiment_id = $1 AND t.number = 77 AND o.experiment_id = $2 AND o.number = 0`, id, origin); n != 1 {
		t.Error("a copy of a trial of the past begins without a checkpoint of it")
	}
	shown, err := client.Call(t.Context(), w.c, v1.GetExperiment, first)
	if err != nil || len(shown.Branches) != 1 || shown.Branches[0].ID != id || shown.Branches[0].Event != second.Event {
		t.Errorf("the branches of the first branch: %+v, %v", shown, err)
	}
	for _, x := range []int{id, first, later, early.Experiment.ID} {
		if err := client.Act(t.Context(), w.c, v1.KillExperiment, x); err != nil {
			t.Fatal(err)
		}
	}
}

func testRefused(w world, origin int) {
	for _, c := range []struct {
		at    string
		set   []string
		words string
	}{
		{"end", nil, "nothing more to do"},
		{"999", nil, "no event 999"},
		{"trial=40", nil, "no trial 40"},
		{"trial=0", nil, "fork the experiment"},
		{"soon", nil, "is not an event"},
		{"3", []string{"searcher.metric=error"}, "searcher.metric cannot change"},
		{"3", []string{"searcher.max_trials=1"}, "less than the 2 trials"},
		{"3", []string{"hyperparameters.lr.minval=-5"}, "hyperparameters cannot change"},
		{"3", []string{"searcher.max_length.epochs=2"}, "only become longer"},
		{"3", []string{"searcher.colour=red"}, "colour"},
	} {
		if _, err := w.branch(origin, c.at, c.set...); err == nil || !strings.Contains(err.Error(), c.words) {
			w.Errorf("at %s with %s: %v, want %q", c.at, c.set, err, c.words)
		}
	}
	custom := strings.Replace(strings.Replace(halving, "async_halving", "custom", 1), ", num_rungs: 2, divisor: 2, max_trials: 4, max_concurrent_trials: 1, max_length: {epochs: 4}, sampler: random", "", 1)
	made, err := w.c.CreateExperiment(w.Context(), v1.CreateExperimentRequest{Config: &custom}, nil)
	if err != nil {
		w.Fatal(err)
	}
	if _, err := w.branch(made.Experiment.ID, "end"); err == nil || !strings.Contains(err.Error(), "custom") {
		w.Errorf("a branch of a custom search: %v", err)
	}
}

// testOriginDeleted: while a branch needs a checkpoint of its origin, the origin stays; afterwards it may go, and the branch has what it knows.
func testOriginDeleted(w world, origin int) {
	t, m := w.T, w.m
	b, err := client.Send(t.Context(), w.c, v1.BranchExperiment, v1.BranchExperimentRequest{At: "5", Set: []string{"searcher.max_concurrent_trials=2"}}, origin)
	if err != nil {
		t.Fatal(err)
	}
	id := b.Experiment.ID
	if err := client.Act(t.Context(), w.c, v1.DeleteExperiment, origin); err == nil || !strings.Contains(err.Error(), "starts from its checkpoint") {
		t.Errorf("the origin of a branch that needs it is deleted: %v", err)
	}
	if err := client.Act(t.Context(), w.c, v1.KillExperiment, id); err != nil {
		t.Fatal(err)
	}
	m.Ended(id)
	if err := client.Act(t.Context(), w.c, v1.DeleteExperiment, origin); err != nil {
		t.Fatal(err)
	}
	m.Until("the origin is gone", func() bool { return w.count(`SELECT count(*) FROM experiments WHERE id = $1`, origin) == 0 })
	for _, branch := range []int{id, id - 2} {
		e, err := client.Call(t.Context(), w.c, v1.GetExperiment, branch)
		if err != nil {
			continue // the custom search was made between them
		}
		if e.Experiment.ForkedFrom != nil {
			t.Errorf("experiment %d is forked from %d, which is gone", branch, *e.Experiment.ForkedFrom)
		}
	}
	if n := w.count(`SELECT count(*) FROM trials t JOIN trial_summaries s ON s.trial_id = t.id WHERE t.past AND t.origin_id NOT IN (SELECT id FROM trials) AND s.searcher_value IS NOT NULL`); n == 0 {
		t.Error("no trial of the past has its best result any more")
	}
}
