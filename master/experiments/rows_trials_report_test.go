package experiments

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/attempts"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/logs"
	"github.com/detent-ml/detent/master/metrics"
	"github.com/detent-ml/detent/master/schema/rowtest"
)

func TestTrialReports(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	trial := w.Trial(w.Experiment(rowtest.LossSearcher), 0, 1)
	for what, err := range map[string]error{
		"progress": SetTrialProgress(ctx, w.DB, trial, 0.5), "state": SetRunnerState(ctx, w.DB, trial, "training"),
		"metadata": SetTrialMetadata(ctx, w.DB, trial, json.RawMessage(`{"a": 1}`)), "exit": ReportEarlyExit(ctx, w.DB, trial, "INVALID_HP"),
		"length": CompleteLength(ctx, w.DB, trial, 100, nil),
	} {
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	got := w.Text(`SELECT format('%s %s %s %s %s', progress, runner_state, metadata, early_exit, completed_length) FROM trials WHERE id = $1`, trial)
	if got != `1 training {"a": 1} INVALID_HP 100` && got != `0.5 training {"a": 1} INVALID_HP 100` { // progress and length in either order
		t.Error(got)
	}
	if err := ReportEarlyExit(ctx, w.DB, trial, "INVALID_HP"); err != nil {
		t.Errorf("the same reason again: %v", err)
	}
	if err := ReportEarlyExit(ctx, w.DB, trial, "USER_REQUESTED_STOP"); !fault.Is(err, fault.Invalid) {
		t.Errorf("another reason: %v", err)
	}
	if s, err := SearcherOf(ctx, w.DB, trial); err != nil || s.Stopped || s.Reached == nil || *s.Reached != 100 || s.TaskID != w.TaskOf(trial) {
		t.Errorf("%+v %v", s, err)
	}
	if err := SetTrialProgress(ctx, w.DB, 999, 1); !fault.Is(err, fault.NotFound) {
		t.Errorf("no such trial: %v", err)
	}
	if err := SetTrialMetadata(ctx, w.DB, trial, json.RawMessage(`{"a": "\u0000"}`)); !fault.Is(err, fault.Invalid) {
		t.Errorf("a NUL: %v", err)
	}
}

// TestMaxLength: programs that ask for lengths get the number of their configuration, in any of its forms.
func TestMaxLength(t *testing.T) {
	w := newWorld(t)
	for text, want := range map[string]int64{`{"searcher": {"max_length": 100}}`: 100, `{"searcher": {"max_length": {"epochs": 7}}}`: 7,
		`{"searcher": {"max_length": 1e3}}`: 1000, `{"searcher": {"max_length": {"batches": 5.0}}}`: 5, `{"searcher": {"max_length": null}}`: 0, `{"searcher": {}}`: 0, `{}`: 0} {
		id := w.Experiment(rowtest.LossSearcher)
		trial := w.Trial(id, 0, 1)
		w.Exec(`UPDATE experiments SET config = $2::jsonb WHERE id = $1`, id, text)
		s, err := SearcherOf(t.Context(), w.DB, trial)
		if err != nil || (want == 0) != (s.MaxLength == nil) || want != 0 && *s.MaxLength != want {
			t.Errorf("%s: %+v, %v", text, s.MaxLength, err)
		}
	}
}

// DeleteRows deletes all rows of an experiment, and no others.
func TestDeletedWithTheExperiment(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	m, s := w.Writer(AppendValidations), logs.NewStore(w.DB, w.Bus, logs.Settings{Days: logs.Forever})
	line := logs.Line{At: time.Now(), Rank: -1, Text: "a line"}
	exps := []int{w.Experiment(rowtest.LossSearcher), w.Experiment(rowtest.LossSearcher)}
	for _, exp := range exps {
		trial := w.Trial(exp, 0, 0)
		id := w.Attempt(trial, 1, 1)
		if _, err := attempts.Accept(ctx, w.DB, rowtest.Claim(id, 0, "n")); err != nil {
			t.Fatal(err)
		}
		if err := m.Report(ctx, metrics.Report{TrialID: trial, RunID: 1, Group: "validation", Steps: new(1), Metrics: json.RawMessage(`{"loss": 1}`)}); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Append(ctx, logs.Batch{TaskID: w.TaskOf(trial), Shipper: id, Lines: []logs.Line{line, line, line}}); err != nil {
			t.Fatal(err)
		}
		if _, _, err := attempts.Gather(ctx, w.DB, attempts.Round{AllocationID: id}, "r", 1, 100, json.RawMessage(`{}`)); err != nil {
			t.Fatal(err)
		}
	}
	w.Summarize()
	w.Exec(`DELETE FROM experiments WHERE id = $1`, exps[0])
	for _, table := range []string{"metrics", "trial_summaries", "search_events", "log_tasks", "log_chunks", "log_shippers", "log_origins", "log_kinds", "gathers", "members"} {
		if n := w.Int(`SELECT count(*) FROM ` + table); n != 1 {
			t.Errorf("%s has %d rows, want that of the other experiment", table, n)
		}
	}
	// A writer with the deleted task in its cache reports that it does not exist, and still
	// stores lines of other tasks.
	if _, err := s.Append(ctx, logs.Batch{TaskID: "1.trial-0", Lines: []logs.Line{line}}); !fault.Is(err, fault.NotFound) {
		t.Errorf("logs of a deleted task: %v", err)
	}
	if _, err := s.Append(ctx, logs.Batch{TaskID: "2.trial-0", Lines: []logs.Line{line}}); err != nil {
		t.Errorf("logs of another: %v", err)
	}
}
