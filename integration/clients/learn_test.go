package clients

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/detent-ml/detent/integration/rig"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/experiments"
	"github.com/detent-ml/detent/master/search"
	"github.com/detent-ml/detent/master/server/servertest"
	v1 "github.com/detent-ml/detent/master/v1"
)

const learns = `
name: learns
max_restarts: 0
entrypoint: python3 train.py
searcher: {name: %s, metric: loss, max_length: {batches: 16}%s}
hyperparameters:
  lr: {type: log, base: 10, minval: -4, maxval: 0}
  depth: {type: int, minval: 1, maxval: 8}
`

// fit trains with a loss that is smallest at lr = 0.01 and depth 3. The first attempt of the eighth trial fails.
func fit(ctx context.Context, a *servertest.Attempt) int {
	if a.TaskType != "TRIAL" {
		return servertest.Play(ctx, a)
	}
	if number, err := database.Scalar[int](ctx, a.Master().DB, `SELECT number FROM trials WHERE id = $1`, a.TrialID); err != nil || number == 7 && a.Run == 1 {
		return 1
	}
	lr, depth := a.HParam("lr"), a.HParam("depth")
	for steps := 1; steps <= 16; steps++ {
		a.Metrics(ctx, "validation", steps, map[string]float64{"loss": math.Abs(math.Log10(lr)+2) + math.Abs(depth-3)/4 + 1/float64(steps)})
	}
	return 0
}

// readLearning checks a search that has learned from earlier ones with Determined's own client.
const readLearning = `
import sys
from determined.experimental import client
client.login(master=sys.argv[1], user="determined", password="")
e = client.get_experiment(int(sys.argv[2]))
assert e.config["searcher"]["learn_from"] == [int(sys.argv[3])], e.config
trials = sorted(e.list_trials(), key=lambda t: t.id)
assert len(trials) == 8, trials
best = client.get_experiment(int(sys.argv[3])).list_trials()
assert trials[0].hparams in [t.hparams for t in best], trials[0].hparams
`

// TestASearchLearnsFromAnEarlierOne through a real master: what it has learned stays when the earlier experiment is deleted, another
// master computes the same search, the experiment continues, and Determined's unmodified client reads it.
func TestASearchLearnsFromAnEarlierOne(t *testing.T) {
	t.Parallel()
	m := servertest.Start(t, fit)
	c := m.Client("determined")
	create := func(config string) (*v1.CreateExperimentResponse, error) {
		return c.CreateExperiment(t.Context(), v1.CreateExperimentRequest{Config: &config, Activate: new(true)}, nil)
	}
	run := func(config string) (int, []string) {
		t.Helper()
		e, err := create(config)
		if err != nil {
			t.Fatal(err)
		}
		m.Ended(e.Experiment.ID)
		return e.Experiment.ID, e.Remarks
	}
	earlier, _ := run(fmt.Sprintf(learns, "random", ", max_trials: 20"))
	halved, _ := run(fmt.Sprintf(learns, "async_halving", ", max_trials: 12, num_rungs: 2, stop_once: true"))
	for _, source := range []int{earlier, halved} {
		id, remarks := run(fmt.Sprintf(learns, "random", fmt.Sprintf(", max_trials: 8, max_concurrent_trials: 2, learn_from: [%d]", source)))
		if want := fmt.Sprintf("of experiment %d", source); !strings.Contains(strings.Join(remarks, "\n"), want) {
			t.Errorf("the remarks %q lack %q", remarks, want)
		}
		sameSearch(t, m, id)
		if n := count(t, m, `SELECT count(*) FROM search_events WHERE experiment_id = $1 AND kind = 'learned' AND seq = 1`, id); n != 1 {
			t.Errorf("experiment %d begins with %d events about what it learns", id, n)
		}
	}
	best := count(t, m, `SELECT count(*) FROM trials t JOIN experiments e ON e.best_trial_id = t.id, trials l JOIN experiments n ON n.id = l.experiment_id
		WHERE e.id = $1 AND l.number = 0 AND l.hparams = t.hparams AND n.config->'searcher'->'learn_from' = to_jsonb(ARRAY[$1::int])`, earlier)
	if best != 1 {
		t.Error("the first trial does not have the values of the best earlier one")
	}
	if _, err := create(fmt.Sprintf(learns, "random", ", max_trials: 8, learn_from: [99]")); err == nil || !strings.Contains(err.Error(), "config:5:95: searcher.learn_from[0]: there is no experiment 99") {
		t.Errorf("it learns from an experiment that does not exist: %v", err)
	}
	learner := count(t, m, `SELECT max(id) FROM experiments WHERE config->'searcher'->'learn_from' = to_jsonb(ARRAY[$1::int])`, earlier)
	cmd := exec.CommandContext(t.Context(), rig.DeterminedPython(t), "-c", readLearning, m.Address(), strconv.Itoa(learner), strconv.Itoa(earlier))
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir())
	var errs bytes.Buffer
	if cmd.Stderr = &errs; cmd.Run() != nil {
		t.Fatal(errs.String())
	}
	if err := client.Act(t.Context(), c, v1.DeleteExperiment, earlier); err != nil {
		t.Fatal(err)
	}
	m.Until("the earlier experiment is gone", func() bool { return count(t, m, `SELECT count(*) FROM experiments WHERE id = $1`, earlier) == 0 })
	sameSearch(t, m, learner)
	if _, err := client.Send(t.Context(), c, v1.ContinueExperiment, v1.ContinueExperimentRequest{ID: learner}); err != nil {
		t.Fatal(err)
	}
	m.Ended(learner)
	sameSearch(t, m, learner)
}

// sameSearch computes a search from its rows, as a master does that begins to lead, and compares its trials with those of the rows.
func sameSearch(t *testing.T, m *servertest.Master, id int) {
	t.Helper()
	type began struct {
		Config json.RawMessage `db:"config"`
		Seed   int64           `db:"seed"`
	}
	e, err := database.Row[began](t.Context(), m.DB, "experiment", `SELECT config, seed FROM experiments WHERE id = $1`, id)
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := expconf.ParseConfigJSON(e.Config)
	if err != nil {
		t.Fatal(err)
	}
	s, err := search.New(cfg, e.Seed)
	if err != nil {
		t.Fatal(err)
	}
	events, err := database.Rows[experiments.SearchEvent](t.Context(), m.DB, `SELECT experiment_id, seq, kind, trial, body FROM search_events WHERE experiment_id = $1 ORDER BY seq`, id)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		if err := s.Apply(search.Event{Seq: e.Seq, Kind: e.Kind, Trial: e.Trial, Body: e.Body}); err != nil {
			t.Fatal(err)
		}
	}
	rows, err := database.Scalars[string](t.Context(), m.DB, `SELECT hparams::text FROM trials WHERE experiment_id = $1 ORDER BY number`, id)
	if err != nil || len(rows) != s.Len() {
		t.Fatalf("%d rows, %d trials: %v", len(rows), s.Len(), err)
	}
	for i, row := range rows {
		var stored map[string]any
		if err := json.Unmarshal([]byte(row), &stored); err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(stored)
		if again, bad := json.Marshal(s.HParams(i)); err != nil || bad != nil || string(again) != string(text) {
			t.Errorf("trial %d of experiment %d is %s in the rows, and %s when the search is read again", i, id, text, again)
		}
	}
}

// count is the number that a query reads.
func count(t *testing.T, m *servertest.Master, sql string, args ...any) int {
	t.Helper()
	n, err := database.Scalar[int](t.Context(), m.DB, sql, args...)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
