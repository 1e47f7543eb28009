package attempts_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/attempts"
	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/checkpoints"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/experiments"
	"github.com/detent-ml/detent/master/metrics"
	"github.com/detent-ml/detent/master/schema/rowtest"
)

// A past is a trial of a branch that has not run there, and its origin with reports and checkpoints at steps 1 to 4 of its run 2.
type past struct {
	*rowtest.World
	experiment, trial, origin int
}

func checkpointAt(steps int) string { return fmt.Sprintf("00000000-0000-4000-8000-%012d", steps) }

func newPast(t *testing.T) past {
	t.Helper()
	w := past{World: rowtest.New(t)}
	w.origin = w.Trial(w.Experiment(rowtest.LossSearcher), 0, 2)
	w.experiment = w.Experiment(rowtest.LossSearcher)
	w.trial = w.Trial(w.experiment, 0, 0)
	for steps := range 4 {
		w.reports(2, steps+1)
	}
	w.Exec(`UPDATE trials SET origin_id = $2, origin_until = now(), origin_run = 2, past = true, warm_start = $3 WHERE id = $1`, w.trial, w.origin, checkpointAt(4))
	return w
}

// reports lets the origin report and store a checkpoint; each loss is better than the last one.
func (w past) reports(run, steps int) {
	w.T.Helper()
	w.Exec(`INSERT INTO metrics (trial_id, run_id, group_name, reported_at, steps, position, avg) SELECT $1, $2, g, now(), $3::int, $3::int, jsonb_build_object('loss', -$3::int) FROM unnest('{training,validation}'::text[]) g`,
		w.origin, run, steps)
	at := time.Now()
	if err := checkpoints.Add(w.T.Context(), w.DB, checkpoints.New{UUID: checkpointAt(steps), TaskID: w.TaskOf(w.origin), RunID: run, State: "COMPLETED", Steps: steps, ReportedAt: &at, Metadata: []byte(`{}`)}); err != nil {
		w.T.Fatal(err)
	}
}

// TestThePastStaysAsItWas: what an origin does after the event at which a branch begins is shown nowhere as the past of the branch, and the checkpoints of the past only to those
// who see the origin.
func TestThePastStaysAsItWas(t *testing.T) {
	w := newPast(t)
	ctx := t.Context()
	w.reports(3, 5)
	if points, err := metrics.Curve(ctx, w.DB, metrics.CurveQuery{TrialID: w.trial, Group: "validation", Names: []string{"loss"}}); err != nil || len(points) != 4 {
		t.Errorf("the curve: %v, %v", points, err)
	}
	rows := 0
	if _, err := metrics.EachAfter(ctx, w.DB, w.trial, "training", metrics.BeforeFirst(), func(page []metrics.Row) error { rows += len(page); return nil }); err != nil || rows != 4 {
		t.Errorf("%d reports, %v", rows, err)
	}
	if curves, _, err := metrics.Curves(ctx, w.DB, []int{w.trial}, "validation", "loss"); err != nil || len(curves[w.trial]) != 4 {
		t.Errorf("the curves of the search: %v, %v", curves, err)
	}
	if steps, err := metrics.Steps(ctx, w.DB, w.experiment, "validation", "loss"); err != nil || len(steps) != 4 {
		t.Errorf("steps %v, %v", steps, err)
	}
	near := 0
	if err := metrics.ValuesNear(ctx, w.DB, w.experiment, "validation", "loss", 5, 5, func(page []metrics.TrialValue) error { near = page[0].Steps; return nil }); err != nil || near != 4 {
		t.Errorf("the value near step 5 is that of step %d, %v", near, err)
	}
	list, err := experiments.Improvements(ctx, w.DB, w.experiment)
	if err != nil || len(list) != 4 || list[3].Value != -4 || list[3].TrialID != w.trial {
		t.Errorf("improvements %+v, %v", list, err)
	}
	filter := experiments.WorkloadFilter{TrialID: w.trial, Groups: []string{"training", "validation"}, Checkpoints: true}
	for scope, want := range map[int]int{0: 12, 1: 12, 99: 8} { // workspaces; 0: all
		in := auth.Scope{All: scope == 0, Workspaces: []int{scope}}
		if _, n, err := experiments.Workloads(ctx, w.DB, in, filter, 0, 0); err != nil || n != want {
			t.Errorf("whoever sees workspace %d sees %d workloads, want %d: %v", scope, n, want, err)
		}
		best, err := checkpoints.BestOf(ctx, w.DB, in, []int{w.trial}, 1<<20)
		if k, there := best[w.trial]; err != nil || there != (scope != 99) || there && k.Steps != 4 {
			t.Errorf("whoever sees workspace %d sees %+v as the best: %v", scope, k, err)
		}
		listed, err := checkpoints.List(ctx, w.DB, in, checkpoints.Filter{ExperimentID: w.experiment, TrialID: w.trial}, 0, 10, 0)
		if err != nil || len(listed) != (want-8) {
			t.Errorf("whoever sees workspace %d finds %d checkpoints, %v", scope, len(listed), err)
		}
	}
	if own, err := checkpoints.BestOf(ctx, w.DB, auth.Scope{Workspaces: []int{99}}, []int{w.origin}, 1<<20); err != nil || own[w.origin].Steps != 5 {
		t.Errorf("the origin itself: %+v, %v", own, err)
	}
}

// TestAClaimTakesThePastOver: before the first run of a trial in a branch begins, it has the reports up to its checkpoint; a branch of that branch has them, too. While that takes long, the
// leader waits for nothing.
func TestAClaimTakesThePastOver(t *testing.T) {
	w := newPast(t)
	ctx := t.Context()
	w.reports(2, 5) // beyond the checkpoint
	id := w.Attempt(w.trial, 1, 1)
	held, release, claimed := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		_ = w.DB.Tx(ctx, func(tx *database.DB) error {
			err := metrics.LockArchive(ctx, tx, w.trial)
			close(held)
			<-release
			return err
		})
	}()
	<-held
	go func() {
		got, err := attempts.Accept(ctx, w.DB, rowtest.Claim(id, 0, "n"))
		if err == nil && (got.StepsCompleted != 4 || len(got.Origins) != 1) {
			err = fmt.Errorf("it goes on from %d steps of %v", got.StepsCompleted, got.Origins)
		}
		claimed <- err
	}()
	w.WaitBlocked(1)
	w.Exec(`SELECT FROM allocations a JOIN trials t ON t.task_id = a.task_id JOIN members m ON m.allocation_id = a.id WHERE t.id = $1 FOR NO KEY UPDATE NOWAIT`, w.trial)
	close(release)
	if err := <-claimed; err != nil {
		t.Fatal(err)
	}
	if n := w.Int(`SELECT count(*) FROM metrics WHERE trial_id = $1 AND run_id = 0 AND steps <= 4`, w.trial); n != 8 {
		t.Errorf("it has %d reports of its past, not 8", n)
	}
	if w.Int(`SELECT count(*) FROM trials WHERE id = $1 AND NOT past AND origin_until IS NULL`, w.trial) != 1 || w.Int(`SELECT count(*) FROM metrics WHERE trial_id = $1`, w.trial) != 8 {
		t.Error("its reports are not its own")
	}
	next := w.Trial(w.Experiment(rowtest.LossSearcher), 0, 0)
	w.Exec(`UPDATE trials SET origin_id = $2, origin_until = now(), warm_start = $3 WHERE id = $1`, next, w.trial, checkpointAt(4))
	got, err := attempts.Accept(ctx, w.DB, rowtest.Claim(w.Attempt(next, 1, 1), 0, "n"))
	if err != nil || got.StepsCompleted != 4 || len(got.Origins) != 2 {
		t.Errorf("a branch of the branch: %+v, %v", got.Origins, err)
	}
	if n := w.Int(`SELECT count(*) FROM metrics WHERE trial_id = $1`, next); n != 8 {
		t.Errorf("a branch of the branch has %d reports, not 8", n)
	}
}
