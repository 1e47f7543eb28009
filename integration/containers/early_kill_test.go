package containers

import (
	"fmt"
	"slices"
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

// earlyKills is the number of attempts that the test kills as soon as Nomad has their jobs.
const earlyKills = 8

// An ending has the rows of a killed attempt when the loop ended it.
type ending struct {
	Runs      int
	Outcome   string
	Submitted bool // the master had stored that Nomad accepted its job
	Stopped   bool // Nomad had accepted the stop of its job
	Claimed   bool // its runner's claim had been accepted
	Over      bool // its runner or Nomad had reported its end
}

func endingOf(t *testing.T, r *rig.Rig, experiment int) ending {
	t.Helper()
	found, err := rig.Query(t, r, pgx.RowToStructByPos[ending], `
		SELECT count(*) OVER ()::int, coalesce(outcome, ''), submitted_at IS NOT NULL, stopped_at IS NOT NULL, claimed_at IS NOT NULL,
			exited_at IS NOT NULL OR nomad_ended_at IS NOT NULL
		FROM allocations a JOIN tasks k ON k.id = a.task_id JOIN members m ON m.allocation_id = a.id WHERE k.experiment_id = $1`, experiment)
	if err != nil || len(found) == 0 {
		t.Fatalf("no attempt of experiment %d: %v", experiment, err)
	}
	return found[0]
}

// TestAKillRightAfterPlacement kills attempts as soon as Nomad has their jobs, every second one
// only after the master has stored that Nomad accepted its job. Such a stored attempt ends
// because Nomad has accepted the stop, or, after its claim, because its runner ended; one whose
// acceptance is not stored yet may end at once, and its stop follows. The test logs how long
// this takes, but does not check the time.
func TestAKillRightAfterPlacement(t *testing.T) {
	r := rig.Start(t)
	nomad, err := r.Nomad()
	if err != nil {
		t.Fatal(err)
	}
	var took []time.Duration
	for i := range earlyKills {
		id := r.Submit(t, "name: killed early\nentrypoint: python3 train.py\nsearcher: {name: single, metric: loss, max_length: {batches: 1}}\n", rig.Script(rig.Waiting))
		submitted := time.Now()
		stored := i%2 == 1
		job := jobspecs.JobID(r.Trial(t, id).TaskID + ".1")
		rig.Eventually(t, "Nomad has "+job, func() (bool, error) {
			_, _, err := nomad.Jobs().Info(job, nil)
			return err == nil && (!stored || endingOf(t, r, id).Submitted), err
		})
		killed := time.Now()
		r.End(t, id)
		took = append(took, time.Since(killed).Round(time.Millisecond))
		end := endingOf(t, r, id)
		t.Logf("experiment %d is killed %s after its submission and over after %s more: %+v", id, killed.Sub(submitted).Round(time.Millisecond), took[len(took)-1], end)
		if end.Runs != 1 || end.Outcome != "killed" || stored && !end.Stopped || end.Claimed && !end.Over {
			t.Errorf("the attempt of experiment %d was called over with %+v", id, end)
		}
		rig.Eventually(t, "Nomad stops "+job, func() (bool, error) {
			info, _, err := nomad.Jobs().Info(job, nil)
			return err == nil && *info.Stop && endingOf(t, r, id).Stopped, err
		})
		if end, log := endingOf(t, r, id), r.Log(t, id); end.Runs != 1 || strings.Contains(log, "begins") && !end.Claimed {
			t.Errorf("the program of experiment %d ran without passing the gate, with %+v:\n%s", id, end, log)
		}
	}
	slices.Sort(took)
	t.Logf("from the kill to the end: least %s, median %s, most %s", took[0], took[len(took)/2], took[len(took)-1])
}

// killWhilePulling tests that an attempt ends when it is killed while its image is being
// pulled, however long the registry takes, and that a runner that Nomad starts later starts
// no program.
func (d *inContainers) killWhilePulling(t *testing.T) {
	g := newRegistry(t, nil, d.python, map[string]any{"Env": []string{"PATH=/usr/local/bin:/usr/bin:/bin"}})
	release := g.holdBack("team/slow")
	defer release()
	id := d.Submit(t, fmt.Sprintf("name: killed while its image comes\nentrypoint: [python3, wait.py]\nmax_restarts: 0\nenvironment: {image: '%s/team/slow:1'}\n", g.host())+
		"searcher: {name: single, metric: loss, max_length: {batches: 1}}\n", map[string]string{"wait.py": rig.Waiting})
	rig.Eventually(t, "the image is asked for", func() (bool, error) { return g.count("team/slow") > 0, nil })
	killed := time.Now()
	d.End(t, id)
	t.Logf("the attempt ended %s after the kill", time.Since(killed).Round(time.Millisecond))
	if end := endingOf(t, d.Rig, id); end.Runs != 1 || end.Outcome != "killed" || !end.Stopped || end.Claimed || end.Over {
		t.Errorf("the attempt ended as %+v", end)
	}
	release()
	nomad, err := d.Nomad()
	if err != nil {
		t.Fatal(err)
	}
	rig.Eventually(t, "Nomad is done with it", func() (bool, error) {
		list, _, err := nomad.Jobs().Allocations(jobspecs.JobID(d.Trial(t, id).TaskID+".1"), true, nil)
		if err != nil || len(list) != 1 {
			return false, fmt.Errorf("%d allocations: %w", len(list), err)
		}
		return slices.Contains([]string{api.AllocClientStatusComplete, api.AllocClientStatusFailed, api.AllocClientStatusLost}, list[0].ClientStatus), fmt.Errorf("the Nomad allocation is %s", list[0].ClientStatus)
	})
	d.waitUntilEmpty(t)
	if end, log := endingOf(t, d.Rig, id), d.Log(t, id); end.Claimed || strings.Contains(log, "begins") {
		t.Errorf("after its end the attempt is %+v, with the log\n%s", end, log)
	}
	if e, err := client.Call(t.Context(), d.Client, v1.GetExperiment, id); err != nil || e.Experiment.State != v1.ExperimentStateCanceled {
		t.Errorf("the experiment is %s: %v", e.Experiment.State, err)
	}
}
