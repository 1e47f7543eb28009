package rig

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/detent-ml/detent/jobspecs"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/v1"
)

// CheckWhole compares the record of a finished training with the cluster's data: metrics,
// checkpoints and log lines must all be stored exactly once. The training must have had
// one attempt, with one Nomad allocation and one process.
func (k *Training) CheckWhole(t testing.TB) {
	t.Helper()
	if starts := k.Starts(t); len(starts) != 1 {
		t.Errorf("the trial's program was started %d times: %+v; want once", len(starts), starts)
	}
	if n := Value[int](t, k.Rig, `SELECT count(*) FROM allocations WHERE task_id = $1`, k.TaskID); n != 1 {
		t.Errorf("%d attempts, want one: %s", n, k.Attempts(t))
	}
	k.checkNomad(t, 1)
	steps := k.reported(t)
	if want := upTo(len(steps)); !slices.Equal(steps, want) {
		t.Fatalf("the program's own record of steps is not 1 to %d: %v", len(steps), steps)
	}
	k.CheckMetrics(t, len(steps))
	k.checkCheckpoints(t, len(steps))
	k.checkLog(t)
	t.Logf("%d steps: %d metrics, %d checkpoints, %d log lines", len(steps),
		Value[int](t, k.Rig, `SELECT count(*) FROM metrics WHERE trial_id = $1`, k.TrialID),
		Value[int](t, k.Rig, `SELECT count(*) FROM checkpoints WHERE trial_id = $1`, k.TrialID),
		Value[int](t, k.Rig, `SELECT next::int - 1 FROM log_tasks WHERE task_id = $1`, k.TaskID))
}

// checkNomad checks the number of Nomad allocations of the first run's job.
func (k *Training) checkNomad(t testing.TB, run int) {
	t.Helper()
	nomad, err := k.Nomad()
	if err != nil {
		t.Fatal(err)
	}
	job := jobspecs.JobID(fmt.Sprintf("%s.%d", k.TaskID, run))
	allocs, _, err := nomad.Jobs().Allocations(job, true, nil)
	if err != nil || len(allocs) != 1 {
		t.Errorf("Nomad has %d allocations of %s, %v; want one", len(allocs), job, err)
	}
}

// reported returns the steps that the training has reported according to its record, in all
// runs.
func (k *Training) reported(t testing.TB) []int {
	t.Helper()
	var steps []int
	for _, words := range k.Lines(t, "steps") {
		steps = append(steps, Number(t, words[1]))
	}
	return steps
}

// CheckMetrics checks that the API and the database have each step's metrics once, with the
// reported values.
func (k *Training) CheckMetrics(t testing.TB, last int) {
	t.Helper()
	for group, want := range map[string][]int{client.TrainingGroup: upTo(last), client.ValidationGroup: multiples(last)} {
		reports, err := client.Collect(k.Client.TrialMetrics(t.Context(), group, k.TrialID))
		if err != nil {
			t.Error(err)
		}
		var got []int
		for _, r := range reports {
			got = append(got, r.TotalBatches)
			var m map[string]struct{ Loss float64 } // the key is the API's name of the group
			if err := r.Metrics.Into(&m); err != nil || m["avg_metrics"].Loss+m["validation_metrics"].Loss != 1/float64(r.TotalBatches) {
				t.Fatalf("%s metrics of step %d are %s, %v", group, r.TotalBatches, r.Metrics, err)
			}
		}
		compare(t, "the API's "+group+" metrics", got, want)
		rows, err := Query(t, k.Rig, pgx.RowTo[int], `SELECT steps FROM metrics WHERE trial_id = $1 AND group_name = $2 AND NOT archived ORDER BY steps`, k.TrialID, group)
		if err != nil {
			t.Error(err)
		}
		compare(t, "rows of "+group+" metrics", rows, want)
	}
}

// checkCheckpoints checks that every CheckpointEvery-th step has one checkpoint, and that
// these are the checkpoints in the training's record.
func (k *Training) checkCheckpoints(t testing.TB, last int) {
	t.Helper()
	list, err := client.List(t.Context(), k.Client, v1.ListTrialCheckpoints, client.Page{}, nil, k.TrialID)
	if err != nil {
		t.Error(err)
	}
	stored := map[string]int{}
	for _, words := range k.Lines(t, "checkpoints") {
		stored[words[2]] = Number(t, words[1])
	}
	var got []int
	for _, c := range list {
		got = append(got, stored[c.UUID])
		var m struct {
			Steps int `json:"steps_completed"`
		}
		if err := c.Metadata.Into(&m); err != nil || m.Steps != stored[c.UUID] || c.State != v1.CheckpointStateCompleted || c.Resources["state"] == 0 {
			t.Errorf("checkpoint %s of step %d is %s, with %s, files %v, %v", c.UUID, stored[c.UUID], c.State, c.Metadata, c.Resources, err)
		}
	}
	slices.Sort(got)
	compare(t, "the API's checkpoints", got, multiples(last))
	rows, err := Query(t, k.Rig, pgx.RowTo[int], `SELECT steps FROM checkpoints WHERE trial_id = $1 ORDER BY steps`, k.TrialID)
	if err != nil {
		t.Error(err)
	}
	compare(t, "rows of checkpoints", rows, multiples(last))
}

var stepLine = regexp.MustCompile(`run \d+ step \d+\n?$`)

// checkLog checks that the log has the line of every step of every run once and in order, and
// that the chunks in the database have exactly the lines that the API returns.
func (k *Training) checkLog(t testing.TB) {
	t.Helper()
	var got, want []string
	shown := 0
	for rec, err := range k.Client.TrialLogs(t.Context(), k.TrialID, client.LogQuery{}) {
		if err != nil {
			t.Errorf("log: %v", err)
			break
		}
		shown++
		if line := stepLine.FindString(rec.Message); line != "" {
			got = append(got, strings.TrimSpace(line))
		} else if strings.Contains(rec.Message, "are missing here") {
			t.Errorf("the log has a gap: %s", rec.Message)
		}
	}
	for _, words := range k.Lines(t, "steps") {
		want = append(want, "run "+words[0]+" step "+words[1])
	}
	compare(t, "lines of the log", got, want)
	type chunk struct{ First, Lines int }
	chunks, err := Query(t, k.Rig, pgx.RowToStructByPos[chunk], `SELECT c.first::int, c.lines FROM log_chunks c JOIN log_tasks l ON l.id = c.log_task
		WHERE l.task_id = $1 ORDER BY c.first`, k.TaskID)
	if err != nil {
		t.Error(err)
	}
	next := 1
	for _, c := range chunks {
		if c.First != next {
			t.Errorf("a chunk of the log begins at line %d, want %d", c.First, next)
		}
		next = c.First + c.Lines
	}
	if next-1 != shown {
		t.Errorf("the database has %d lines, the API shows %d", next-1, shown)
	}
}

// compare fails the test with the missing, additional and misplaced elements, if there are any.
func compare[T comparable](t testing.TB, what string, got, want []T) {
	t.Helper()
	if slices.Equal(got, want) {
		return
	}
	count := map[T]int{}
	for _, x := range want {
		count[x]++
	}
	for _, x := range got {
		count[x]--
	}
	var missing, extra []string
	for x, n := range count {
		switch {
		case n > 0:
			missing = append(missing, fmt.Sprint(x))
		case n < 0:
			extra = append(extra, fmt.Sprint(x))
		}
	}
	slices.Sort(missing)
	slices.Sort(extra)
	if len(missing)+len(extra) == 0 {
		t.Errorf("%s: all %d there, but in another order: %v", what, len(want), got)
		return
	}
	t.Errorf("%s: %d, want %d; missing or too few: %v; doubled or too many: %v", what, len(got), len(want), missing, extra)
}

// upTo returns 1 to n.
func upTo(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i + 1
	}
	return list
}

// multiples returns the steps up to n after which the training stores a checkpoint.
func multiples(n int) []int {
	var list []int
	for step := CheckpointEvery; step <= n; step += CheckpointEvery {
		list = append(list, step)
	}
	return list
}
