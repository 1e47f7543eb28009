package store

import (
	"reflect"
	"testing"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/store/updates"
	"github.com/detent-ml/detent/master/tasks"
)

// twoWorkspaces creates one object of each kind in workspace 1 and in a second workspace, and
// returns the second workspace and the experiments of both.
func twoWorkspaces(t *testing.T) (w *world, theirs int, experiments []int) {
	t.Helper()
	w = newWorld(t)
	experiments = []int{w.experiment(lossSearcher), w.experiment(lossSearcher)}
	theirs = w.int(`INSERT INTO workspaces (name, owner_id) VALUES ('theirs', 1) RETURNING id`)
	project := w.int(`INSERT INTO projects (workspace_id, name, key, owner_id) VALUES ($1, 'p', 'P', 1) RETURNING id`, theirs)
	w.exec(`UPDATE experiments SET project_id = $2 WHERE id = $1`, experiments[1], project)
	for i, e := range experiments {
		name := []string{"ours", "theirs"}[i]
		w.exec(`UPDATE experiments SET labels = ARRAY[$2], config = config || jsonb_build_object('hyperparameters',
			jsonb_build_object('h' || $2, '{"type": "const", "val": 1}'::jsonb)) WHERE id = $1`, e, name)
		trial := w.trial(e, 0, 1)
		w.exec(`UPDATE trials SET hparams = jsonb_build_object('h' || $2, 1), metadata = jsonb_build_object('m' || $2, 1, 'stage', $2) WHERE id = $1`, trial, name)
		w.attempt(trial, 1, 1)
		w.exec(`INSERT INTO checkpoints (uuid, task_id, trial_id, run_id, steps, state, resources) SELECT gen_random_uuid(), task_id, id, 1, 1, 'COMPLETED', '{}' FROM trials WHERE id = $1`, trial)
		w.exec(`INSERT INTO trial_summaries (trial_id, summary) VALUES ($1, jsonb_build_object('validation_metrics', jsonb_build_object('m' || $2, '{"type": "number", "last": 1}'::jsonb)))
			ON CONFLICT (trial_id) DO UPDATE SET summary = excluded.summary`, trial, name)
		w.exec(`UPDATE experiments SET best_trial_id = $2 WHERE id = $1`, e, trial)
		for _, kind := range []string{"COMMAND", "NOTEBOOK", "SHELL", "TENSORBOARD"} {
			w.task(tasks.New{ID: name + kind, Type: kind, Slots: 1})
		}
		model := w.int(`INSERT INTO models (name, workspace_id, owner_id, labels) VALUES ($1, CASE WHEN $1 = 'ours' THEN 1 ELSE $2 END, 2, ARRAY[$1]) RETURNING id`, name, theirs)
		w.exec(`INSERT INTO model_versions (model_id, version, checkpoint, owner_id) SELECT $1, 1, uuid, 2 FROM checkpoints WHERE trial_id = $2`, model, trial)
		w.exec(`INSERT INTO trial_sources (trial_id, checkpoint, kind, model_id, version) SELECT $2, uuid, 'INFERENCE', $1, 1 FROM checkpoints WHERE trial_id = $2`, model, trial)
		w.exec(`INSERT INTO templates (name, workspace_id, owner_id, source, config) VALUES ($1, CASE WHEN $1 = 'ours' THEN 1 ELSE $2 END, 2, '{}', '{}')`, name, theirs)
		w.exec(`INSERT INTO log_tasks (task_id, next) VALUES ($1, 2)`, name+"COMMAND")
	}
	w.exec(`UPDATE tasks SET workspace_id = $1 WHERE id LIKE 'theirs%' OR experiment_id = $2`, theirs, experiments[1])
	return w, theirs, experiments
}

// TestListsKeepToTheirScope tests that no list returns a row of a workspace outside of its
// scope, nor any row for the zero scope. It must have each function of the store with a scope.
func TestListsKeepToTheirScope(t *testing.T) {
	w, theirs, experiments := twoWorkspaces(t)
	ctx := t.Context()
	of := func(count func(experiment int) (int, error)) (sum int, err error) {
		for _, e := range experiments {
			n, err := count(e)
			if sum += n; err != nil {
				return sum, err
			}
		}
		return sum, nil
	}
	follow, all := &updates.Filter{WorkspaceIDs: []int{1, theirs}}, make([]int, 20)
	for i := range all {
		all[i] = i + 1
	}
	lists := map[string]func(in auth.Scope) (int, error){
		"Experiments":      func(in auth.Scope) (int, error) { return lenOf(w.db.Experiments(ctx, in, ExperimentFilter{}, 0, 10)) },
		"CountExperiments": func(in auth.Scope) (int, error) { return w.db.CountExperiments(ctx, in, ExperimentFilter{}) },
		"ExperimentHeads":  func(in auth.Scope) (int, error) { return lenOf(w.db.ExperimentHeads(ctx, in, ExperimentFilter{}, 10)) },
		"SearchExperiments": func(in auth.Scope) (int, error) {
			list, total, err := w.db.SearchExperiments(ctx, in, Search{}, 0, 10)
			if total != len(list) {
				t.Errorf("the search finds %d and lists %d", total, len(list))
			}
			return len(list), err
		},
		"CountSearched":    func(in auth.Scope) (int, error) { return w.db.CountSearched(ctx, in, Search{}) },
		"ExperimentLabels": func(in auth.Scope) (int, error) { return lenOf(w.db.ExperimentLabels(ctx, in, 0)) },
		"MetricsUsed":      func(in auth.Scope) (int, error) { return lenOf(w.db.MetricsUsed(ctx, in, 0)) },
		"HParamsUsed":      func(in auth.Scope) (int, error) { return lenOf(w.db.HParamsUsed(ctx, in, 0)) },
		"SearchRuns": func(in auth.Scope) (int, error) {
			list, total, err := w.db.SearchRuns(ctx, in, Search{}, 0, 10)
			if total != len(list) {
				t.Errorf("the search finds %d runs and lists %d", total, len(list))
			}
			return len(list), err
		},
		"CountRuns":      func(in auth.Scope) (int, error) { return w.db.CountRuns(ctx, in, Search{}) },
		"RunHeads":       func(in auth.Scope) (int, error) { return lenOf(w.db.RunHeads(ctx, in, Search{}, 10)) },
		"RunMetricsUsed": func(in auth.Scope) (int, error) { return lenOf(w.db.RunMetricsUsed(ctx, in, 0)) },
		"RunHParamsUsed": func(in auth.Scope) (int, error) { return lenOf(w.db.RunHParamsUsed(ctx, in, 0)) },
		"RunMetadataUsed": func(in auth.Scope) (sum int, err error) { // without the key that all have
			list, err := w.db.RunMetadataUsed(ctx, in, 0)
			for _, v := range list {
				if v.Name != "stage" {
					sum++
				}
			}
			return sum, err
		},
		"RunMetadataValues": func(in auth.Scope) (int, error) { return lenOf(w.db.RunMetadataValues(ctx, in, 0, "stage")) },
		"MetricRanges": func(in auth.Scope) (sum int, err error) { // without the searcher's metric, which has one row for all experiments
			list, err := w.db.MetricRanges(ctx, in, 0)
			for _, r := range list {
				if r.Name != "" {
					sum++
				}
			}
			return sum, err
		},
		"Trials": func(in auth.Scope) (int, error) {
			return of(func(e int) (int, error) { return lenOf(w.db.Trials(ctx, in, TrialFilter{ExperimentID: e}, 0, 10)) })
		},
		"CountTrials": func(in auth.Scope) (int, error) {
			return of(func(e int) (int, error) { return w.db.CountTrials(ctx, in, TrialFilter{ExperimentID: e}) })
		},
		"TrialsWith":     func(in auth.Scope) (int, error) { return lenOf(w.db.TrialsWith(ctx, in, TrialSource{})) },
		"ProjectUpdates": func(in auth.Scope) (int, error) { return lenOf(w.db.ProjectUpdates(ctx, in, follow)) },
		"ModelUpdates":   func(in auth.Scope) (int, error) { return lenOf(w.db.ModelUpdates(ctx, in, follow)) },
		"VersionUpdates": func(in auth.Scope) (int, error) {
			return lenOf(w.db.VersionUpdates(ctx, in, &updates.Filter{UserIDs: []int{2}}))
		},
		"ProjectsByID": func(in auth.Scope) (int, error) { return lenOfFirst(w.db.ProjectsByID(ctx, in, all)) },
		"ModelsByID":   func(in auth.Scope) (int, error) { return lenOfFirst(w.db.ModelsByID(ctx, in, all)) },
		"VersionsByID": func(in auth.Scope) (int, error) { return lenOfFirst(w.db.VersionsByID(ctx, in, all)) },
		"DiskUses": func(in auth.Scope) (sum int, err error) {
			list, err := w.db.DiskUses(ctx, in)
			for _, u := range list {
				sum += u.Checkpoints
			}
			return sum, err
		},
	}
	for name, list := range lists {
		count := func(in auth.Scope) int {
			n, err := list(in)
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			return n
		}
		all, their, our := count(auth.Everywhere()), count(auth.Scope{Workspaces: []int{theirs}}), count(auth.Scope{Workspaces: []int{1}})
		if their == 0 || our == 0 || their+our != all {
			t.Errorf("%s: %d of ours, %d of theirs, %d in all", name, our, their, all)
		}
		if n := count(auth.Scope{}); n != 0 {
			t.Errorf("%s: %d without a scope", name, n)
		}
	}
	db := reflect.TypeFor[*DB]()
	for i := range db.NumMethod() {
		m := db.Method(i)
		for in := range m.Type.NumIn() {
			if m.Type.In(in) == reflect.TypeFor[auth.Scope]() && lists[m.Name] == nil {
				t.Errorf("%s takes a scope, and this test does not ask what it lists", m.Name)
			}
		}
	}
}

func lenOf[T any](list []T, err error) (int, error) { return len(list), err }

func lenOfFirst[T any](list []T, _ []int, err error) (int, error) { return len(list), err }
