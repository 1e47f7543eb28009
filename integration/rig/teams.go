package rig

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/v1"
)

// Teams are two workspaces, research and product, whose trials compete for the slots of a pool.
type Teams struct {
	*Rig
	Pool  string
	Slots int // of each trial
	dir   string
}

// NewTeams waits until the pool has this number of slots and all are free, and creates the workspaces.
func (r *Rig) NewTeams(t testing.TB, pool string, slots, ofTrial int) *Teams {
	t.Helper()
	s := &Teams{Rig: r, Pool: pool, Slots: ofTrial, dir: t.TempDir()}
	Eventually(t, fmt.Sprintf("pool %s has %d slots", pool, slots), func() (bool, error) {
		p := s.State(t)
		return p.SlotsAvailable == slots && p.SlotsUsed == 0, fmt.Errorf("%+v", p)
	})
	for _, workspace := range []string{"research", "product"} {
		for _, args := range [][]string{{"workspace", "create", workspace}, {"project", "create", workspace, "models"}} {
			if out, err := r.Det(t, args...); err != nil {
				t.Fatalf("det %s: %v\n%s", strings.Join(args, " "), err, out)
			}
		}
		if err := os.Mkdir(filepath.Join(s.dir, workspace), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// State returns the pool from the API.
func (s *Teams) State(t testing.TB) v1.ResourcePool {
	t.Helper()
	resp, err := client.Send(t.Context(), s.Client, v1.ListPools, v1.GetListRequest{})
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(resp.ResourcePools, func(p v1.ResourcePool) bool { return p.Name == s.Pool })
	if i < 0 {
		t.Fatalf("no pool %s in %+v", s.Pool, resp.ResourcePools)
	}
	return resp.ResourcePools[i]
}

// Train submits an experiment with this number of trials, which train until the test stops the trials of their
// workspace.
func (s *Teams) Train(t testing.TB, workspace string, trials int) int {
	t.Helper()
	return s.Submit(t, fmt.Sprintf(`
name: %[1]s
workspace: %[1]s
project: models
entrypoint: python3 train.py
max_restarts: 0
hyperparameters: {folder: %[2]s}
resources: {resource_pool: %[4]s, slots_per_trial: %[5]d}
searcher: {name: random, metric: loss, max_trials: %[3]d, max_concurrent_trials: %[3]d, max_length: {batches: 10}}
`, workspace, filepath.Join(s.dir, workspace), trials, s.Pool, s.Slots), Script(Patient))
}

// Stop ends all trials of a workspace.
func (s *Teams) Stop(t testing.TB, workspace string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(s.dir, workspace, "stop"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
}

// Hold waits until programs of each workspace run on this number of slots, and none is being preempted.
func (s *Teams) Hold(t testing.TB, research, product int) {
	t.Helper()
	Eventually(t, fmt.Sprintf("research holds %d slots and product %d", research, product), func() (bool, error) {
		type row struct {
			Workspace       string
			Running, Placed int
			Leaving         int
		}
		list, err := Query(t, s.Rig, pgx.RowToStructByPos[row], `
			SELECT w.name, coalesce(sum(a.slots) FILTER (WHERE a.state = 'RUNNING'), 0), sum(a.slots), count(a.preempt_at)
			FROM allocations a JOIN tasks k ON k.id = a.task_id JOIN workspaces w ON w.id = k.workspace_id
			WHERE a.state NOT IN ('PENDING', 'TERMINATED') AND a.slots > 0 GROUP BY w.name`)
		have := map[string]row{}
		for _, x := range list {
			have[x.Workspace] = x
		}
		for workspace, want := range map[string]int{"research": research, "product": product} {
			if x := have[workspace]; x.Running != want || x.Placed != want || x.Leaving != 0 {
				return false, fmt.Errorf("%+v, %w", list, err)
			}
		}
		return true, nil
	})
}

// Continues reports whether a trial has begun after a step of an earlier attempt.
func (s *Teams) Continues(t testing.TB, trial int) bool {
	t.Helper()
	for line, err := range s.Client.TrialLogs(t.Context(), trial, client.LogQuery{}) {
		if err != nil {
			t.Fatal(err)
		}
		if _, step, found := strings.Cut(strings.TrimSpace(line.Message), "begins after "); found && step != "0" {
			return true
		}
	}
	return false
}
