package store

import (
	"testing"
	"time"

	"github.com/detent-ml/detent/master/attempts"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/logs"
	"github.com/detent-ml/detent/master/metrics"
)

func TestTrialReports(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	trial := w.trial(w.experiment(lossSearcher), 0, 1)
	for what, err := range map[string]error{
		"progress": w.db.SetTrialProgress(ctx, trial, 0.5), "state": w.db.SetRunnerState(ctx, trial, "training"),
		"metadata": w.db.SetTrialMetadata(ctx, trial, raw(`{"a": 1}`)), "exit": w.db.ReportEarlyExit(ctx, trial, "INVALID_HP"),
		"length": w.db.CompleteLength(ctx, trial, 100, nil),
	} {
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	got := w.text(`SELECT format('%s %s %s %s %s', progress, runner_state, metadata, early_exit, completed_length) FROM trials WHERE id = $1`, trial)
	if got != `1 training {"a": 1} INVALID_HP 100` && got != `0.5 training {"a": 1} INVALID_HP 100` { // progress and length in either order
		t.Error(got)
	}
	if err := w.db.ReportEarlyExit(ctx, trial, "INVALID_HP"); err != nil {
		t.Errorf("the same reason again: %v", err)
	}
	if err := w.db.ReportEarlyExit(ctx, trial, "USER_REQUESTED_STOP"); !fault.Is(err, fault.Invalid) {
		t.Errorf("another reason: %v", err)
	}
	if s, err := w.db.TrialSearcher(ctx, trial); err != nil || s.Stopped || s.Reached == nil || *s.Reached != 100 || s.TaskID != w.taskOf(trial) {
		t.Errorf("%+v %v", s, err)
	}
	if err := w.db.SetTrialProgress(ctx, 999, 1); !fault.Is(err, fault.NotFound) {
		t.Errorf("no such trial: %v", err)
	}
	if err := w.db.SetTrialMetadata(ctx, trial, raw(`{"a": "\u0000"}`)); !fault.Is(err, fault.Invalid) {
		t.Errorf("a NUL: %v", err)
	}
}

// TestMaxLength: programs that ask for lengths get the number of their configuration, in any of its forms.
func TestMaxLength(t *testing.T) {
	w := newWorld(t)
	for text, want := range map[string]int64{`{"searcher": {"max_length": 100}}`: 100, `{"searcher": {"max_length": {"epochs": 7}}}`: 7,
		`{"searcher": {"max_length": 1e3}}`: 1000, `{"searcher": {"max_length": {"batches": 5.0}}}`: 5, `{"searcher": {"max_length": null}}`: 0, `{"searcher": {}}`: 0, `{}`: 0} {
		id := w.experiment(lossSearcher)
		trial := w.trial(id, 0, 1)
		w.exec(`UPDATE experiments SET config = $2::jsonb WHERE id = $1`, id, text)
		s, err := w.db.TrialSearcher(t.Context(), trial)
		if err != nil || (want == 0) != (s.MaxLength == nil) || want != 0 && *s.MaxLength != want {
			t.Errorf("%s: %+v, %v", text, s.MaxLength, err)
		}
	}
}

// DeleteRows deletes all rows of an experiment, and no others.
func TestDeletedWithTheExperiment(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	m, s := w.writer(), logs.NewStore(w.db.DB, w.bus, logs.Settings{Days: logs.Forever})
	line := logs.Line{At: time.Now(), Rank: -1, Text: "a line"}
	exps := []int{w.experiment(lossSearcher), w.experiment(lossSearcher)}
	for _, exp := range exps {
		trial := w.trial(exp, 0, 0)
		id := w.attempt(trial, 1, 1)
		if _, err := (attempts.Gate{DB: w.db.DB}).Claim(ctx, goodClaim(id, 0, "n")); err != nil {
			t.Fatal(err)
		}
		if err := m.Report(ctx, metrics.Report{TrialID: trial, RunID: 1, Group: "validation", Steps: step(1), Metrics: raw(`{"loss": 1}`)}); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Append(ctx, logs.Batch{TaskID: w.taskOf(trial), Shipper: id, Lines: []logs.Line{line, line, line}}); err != nil {
			t.Fatal(err)
		}
		if _, _, err := attempts.Gather(ctx, w.db.DB, attempts.Round{AllocationID: id}, "r", 1, 100, raw(`{}`)); err != nil {
			t.Fatal(err)
		}
	}
	w.summarize()
	w.exec(`DELETE FROM experiments WHERE id = $1`, exps[0])
	for _, table := range []string{"metrics", "trial_summaries", "search_events", "log_tasks", "log_chunks", "log_shippers", "log_origins", "log_kinds", "gathers", "members"} {
		if n := w.int(`SELECT count(*) FROM ` + table); n != 1 {
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
