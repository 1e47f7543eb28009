package faults

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/nomad/api"
	"github.com/jackc/pgx/v5"

	"github.com/detent-ml/detent/integration/rig"
	"github.com/detent-ml/detent/jobspecs"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/v1"
)

// nodeIsDead kills the Nomad agent of a training's node. The tasks continue, and only the runner can
// end them, because it asks the master. Nomad declares the node lost, and the trial continues on
// another node from its checkpoint. Then the agent starts again, with DETENT_LONG_OUTAGE=1 after a
// minute.
func nodeIsDead(t *testing.T, r *rig.Rig) {
	k := r.Train(t, rig.TrainOptions{Pause: 0.1, Stubborn: true})
	k.Advance(t, 2*rig.CheckpointEvery)
	node := rig.Value[string](t, r, `SELECT node_name FROM members WHERE allocation_id = $1`, k.TaskID+".1")
	agent := "client-" + strings.TrimPrefix(node, "faults-")
	killed := r.Kill9(t, agent)
	t.Cleanup(func() { r.StartPart(t, agent) })
	waitRun(t, k, 2)
	t.Logf("%s is dead; another attempt runs after %s", node, time.Since(killed).Round(time.Millisecond))
	k.Advance(t, rig.CheckpointEvery)
	checkOneAtATime(t, k)

	lastFor(t, k, killed, outage(0, time.Minute))
	r.StartPart(t, agent)
	t.Logf("%s is back after %s", node, time.Since(killed).Round(time.Millisecond))
	r.Healthy(t)
	// Nomad must now end the allocation that it had declared lost.
	rig.Eventually(t, "nothing of the lost attempt runs any more", func() (bool, error) { return idle(t, r, k.TaskID+".1") })
	k.Advance(t, rig.CheckpointEvery)
	k.Finish(t)
	checkOneAtATime(t, k)
	checkGoesOn(t, k)
}

// waitRun waits until the program of a run has started and makes steps.
func waitRun(t testing.TB, k *rig.Training, run int) {
	t.Helper()
	rig.Eventually(t, "another attempt's program", func() (bool, error) {
		starts := k.Starts(t)
		return starts[len(starts)-1].Run >= run, errors.New(k.Attempts(t))
	})
	k.Advance(t, 1)
}

// checkOneAtATime: the program of each attempt was started once, and each ended
// before the next one began.
func checkOneAtATime(t testing.TB, k *rig.Training) {
	t.Helper()
	starts := k.Starts(t)
	for i, s := range starts {
		if s.Run != i+1 {
			t.Errorf("start %d was of attempt %d: %+v", i+1, s.Run, starts)
		}
		if i == 0 {
			continue
		}
		before := starts[i-1]
		last := k.LastBeat(t, before)
		t.Logf("the program of attempt %d was last seen %.3f s before that of attempt %d started", before.Run, s.At-last, s.Run)
		if last >= s.At {
			t.Errorf("attempts %d and %d ran at once for %.3f s", before.Run, s.Run, last-s.At)
		}
	}
}

// checkGoesOn tests that the trial continued from its last checkpoint, that this does not count as a
// failure, and that its curve has each step once.
func checkGoesOn(t testing.TB, k *rig.Training) {
	t.Helper()
	trial, err := k.Client.Trial(t.Context(), k.TrialID)
	if err != nil {
		t.Fatal(err)
	}
	if trial.Restarts != 0 {
		t.Errorf("%d restarts are counted against the trial", trial.Restarts)
	}
	byRun := map[string][]int{}
	for _, words := range k.Lines(t, "steps") {
		byRun[words[0]] = append(byRun[words[0]], rig.Number(t, words[1]))
	}
	// Not the program's own account: it may be ended before it has noted what it stored.
	stored, err := rig.Query(t, k.Rig, pgx.RowTo[int], `SELECT steps FROM checkpoints WHERE trial_id = $1`, k.TrialID)
	if err != nil {
		t.Fatal(err)
	}
	saved := map[int]bool{0: true}
	for _, steps := range stored {
		saved[steps] = true
	}
	last := 0
	for i, s := range k.Starts(t) {
		steps := byRun[strconv.Itoa(s.Run)]
		if len(steps) == 0 {
			continue
		}
		if from := steps[0] - 1; !saved[from] || i > 0 && from == 0 {
			t.Errorf("attempt %d began after step %d, which is no checkpoint", s.Run, from)
		}
		last = slices.Max(steps)
	}
	outcomes, err := rig.Query(t, k.Rig, pgx.RowTo[string], `SELECT outcome FROM allocations WHERE task_id = $1 ORDER BY run_id`, k.TaskID)
	if err != nil {
		t.Fatal(err)
	}
	for i, outcome := range outcomes {
		if i < len(outcomes)-1 && outcome != "lost" || i == len(outcomes)-1 && outcome != "completed" {
			t.Errorf("the attempts' outcomes are %v", outcomes)
			break
		}
	}
	k.CheckMetrics(t, last)
}

// idle reports whether Nomad runs no process of an attempt on any node.
func idle(t testing.TB, r *rig.Rig, attempt string) (bool, error) {
	t.Helper()
	nomad, err := r.Nomad()
	if err != nil {
		return false, err
	}
	allocs, _, err := nomad.Jobs().Allocations(jobspecs.JobID(attempt), true, nil)
	if err != nil {
		return false, err
	}
	for _, a := range allocs {
		if a.ClientStatus == "running" || a.ClientStatus == "pending" {
			return false, nil
		}
	}
	return true, nil
}

// nodeIsDrained drains the node of a trial in Nomad. Without a deadline the trial runs to its end; with
// a deadline it is preempted at once and stores a checkpoint.
func nodeIsDrained(t *testing.T, r *rig.Rig) {
	nomad, err := r.Nomad()
	if err != nil {
		t.Fatal(err)
	}
	id := r.Submit(t, rig.Head("drained")+fmt.Sprintf("searcher: {name: single, metric: loss, max_length: {batches: 10}}\nhyperparameters: {folder: %s}\n",
		t.TempDir()), rig.Script(rig.Patient))
	t.Cleanup(func() {
		if err := client.Act(context.WithoutCancel(t.Context()), r.Client, v1.KillExperiment, id); err != nil {
			t.Error(err)
		}
	})
	r.WaitTrials(t, id, "RUNNING")
	first := r.Trial(t, id).TaskID + ".1"
	node := rig.Value[string](t, r, `SELECT node_id FROM members WHERE allocation_id = $1`, first)
	drain := func(spec *api.DrainSpec) {
		t.Helper()
		if _, err := nomad.Nodes().UpdateDrain(node, spec, spec == nil, nil); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { drain(nil) })
	drain(&api.DrainSpec{})
	rig.Eventually(t, "the drain is known", func() (bool, error) {
		list, err := rig.Query(t, r, pgx.RowTo[bool], `SELECT draining AND drain_deadline IS NULL FROM nodes WHERE id = $1`, node)
		return err == nil && list[0], err
	})
	r.WaitTrials(t, id, "RUNNING")
	began := rig.Value[int](t, r, `SELECT count(*) FROM metrics`)
	rig.Eventually(t, "it goes on", func() (bool, error) { return rig.Value[int](t, r, `SELECT count(*) FROM metrics`) > began+20, nil })
	if why := rig.Value[string](t, r, `SELECT preempt_reason FROM allocations WHERE id = $1`, first); why != "" {
		t.Errorf("a drain without a deadline: it was asked to leave because of %q", why)
	}

	drain(&api.DrainSpec{Deadline: time.Hour})
	since := time.Now()
	rig.Eventually(t, "another attempt, elsewhere", func() (bool, error) {
		list, err := rig.Query(t, r, pgx.RowTo[string], `SELECT node_id FROM members m JOIN allocations a ON a.id = m.allocation_id
			WHERE a.task_id = $1 AND a.run_id = 2 AND a.state = 'RUNNING'`, r.Trial(t, id).TaskID)
		return len(list) == 1 && list[0] != node, err
	})
	t.Logf("the trial continued on another node %s after the drain began", time.Since(since).Round(time.Millisecond))
	outcome := rig.Value[string](t, r, `SELECT outcome || ': ' || preempt_reason FROM allocations WHERE id = $1`, first)
	if !strings.HasPrefix(outcome, "preempted: node faults-") || !strings.Contains(outcome, "is drained in Nomad until 20") {
		t.Errorf("the first attempt is %q", outcome)
	}
	if trial := r.Trial(t, id); trial.Restarts != 0 {
		t.Errorf("%d restarts are counted against it", trial.Restarts)
	}
}
