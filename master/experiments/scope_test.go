package experiments_test

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	gotypes "go/types"
	"slices"

	"path/filepath"
	"testing"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/diskuse"
	"github.com/detent-ml/detent/master/experiments"
	"github.com/detent-ml/detent/master/find/query"
	"github.com/detent-ml/detent/master/live"
	"github.com/detent-ml/detent/master/live/updates"
	"github.com/detent-ml/detent/master/runs"
	"github.com/detent-ml/detent/master/schema/rowtest"
	"github.com/detent-ml/detent/master/tasks"
)

// twoWorkspaces creates one object of each kind in workspace 1 and in a second workspace, and
// returns the second workspace and the experiments of both.
func twoWorkspaces(t *testing.T) (w *rowtest.World, theirs int, both []int) {
	t.Helper()
	w = rowtest.New(t)
	both = []int{w.Experiment(rowtest.LossSearcher), w.Experiment(rowtest.LossSearcher)}
	theirs = w.Int(`INSERT INTO workspaces (name, owner_id) VALUES ('theirs', 1) RETURNING id`)
	project := w.Int(`INSERT INTO projects (workspace_id, name, key, owner_id) VALUES ($1, 'p', 'P', 1) RETURNING id`, theirs)
	w.Exec(`UPDATE experiments SET project_id = $2 WHERE id = $1`, both[1], project)
	for i, e := range both {
		name := []string{"ours", "theirs"}[i]
		w.Exec(`UPDATE experiments SET labels = ARRAY[$2], config = config || jsonb_build_object('hyperparameters',
			jsonb_build_object('h' || $2, '{"type": "const", "val": 1}'::jsonb)) WHERE id = $1`, e, name)
		trial := w.Trial(e, 0, 1)
		w.Exec(`UPDATE trials SET hparams = jsonb_build_object('h' || $2, 1), metadata = jsonb_build_object('m' || $2, 1, 'stage', $2) WHERE id = $1`, trial, name)
		w.Attempt(trial, 1, 1)
		w.Exec(`INSERT INTO checkpoints (uuid, task_id, trial_id, run_id, steps, state, resources) SELECT gen_random_uuid(), task_id, id, 1, 1, 'COMPLETED', '{}' FROM trials WHERE id = $1`, trial)
		w.Exec(`INSERT INTO trial_summaries (trial_id, summary) VALUES ($1, jsonb_build_object('validation_metrics', jsonb_build_object('m' || $2, '{"type": "number", "last": 1}'::jsonb)))
			ON CONFLICT (trial_id) DO UPDATE SET summary = excluded.summary`, trial, name)
		w.Exec(`UPDATE experiments SET best_trial_id = $2 WHERE id = $1`, e, trial)
		for _, kind := range []string{"COMMAND", "NOTEBOOK", "SHELL", "TENSORBOARD"} {
			n := tasks.New{ID: name + kind, Type: kind, Slots: 1, OwnerID: 2, WorkspaceID: 1, Name: "t", Config: []byte(`{}`), Pool: "default", Priority: 42}
			if _, err := tasks.Create(t.Context(), w.DB, n); err != nil {
				t.Fatal(err)
			}
		}
		model := w.Int(`INSERT INTO models (name, workspace_id, owner_id, labels) VALUES ($1, CASE WHEN $1 = 'ours' THEN 1 ELSE $2 END, 2, ARRAY[$1]) RETURNING id`, name, theirs)
		w.Exec(`INSERT INTO model_versions (model_id, version, checkpoint, owner_id) SELECT $1, 1, uuid, 2 FROM checkpoints WHERE trial_id = $2`, model, trial)
		w.Exec(`INSERT INTO trial_sources (trial_id, checkpoint, kind, model_id, version) SELECT $2, uuid, 'INFERENCE', $1, 1 FROM checkpoints WHERE trial_id = $2`, model, trial)
		w.Exec(`INSERT INTO templates (name, workspace_id, owner_id, source, config) VALUES ($1, CASE WHEN $1 = 'ours' THEN 1 ELSE $2 END, 2, '{}', '{}')`, name, theirs)
		w.Exec(`INSERT INTO log_tasks (task_id, next) VALUES ($1, 2)`, name+"COMMAND")
	}
	w.Exec(`UPDATE experiments SET parent_id = $1, branch_event = 1`, both[0])
	w.Exec(`UPDATE tasks SET workspace_id = $1 WHERE id LIKE 'theirs%' OR experiment_id = $2`, theirs, both[1])
	return w, theirs, both
}

// TestListsKeepToTheirScope tests that no list returns a row of a workspace outside of its
// scope, nor any row for the zero scope. It must have each function of these rooms with a scope.
func TestListsKeepToTheirScope(t *testing.T) {
	w, theirs, both := twoWorkspaces(t)
	ctx := t.Context()
	of := func(count func(experiment int) (int, error)) (sum int, err error) {
		for _, e := range both {
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
		"experiments.List": func(in auth.Scope) (int, error) {
			return lenOf(experiments.List(ctx, w.DB, in, experiments.Filter{}, 0, 10))
		},
		"experiments.Count": func(in auth.Scope) (int, error) { return experiments.Count(ctx, w.DB, in, experiments.Filter{}) },
		"experiments.ListHeads": func(in auth.Scope) (int, error) {
			return lenOf(experiments.ListHeads(ctx, w.DB, in, experiments.Filter{}, 10))
		},
		"experiments.Search": func(in auth.Scope) (int, error) {
			list, total, err := experiments.Search(ctx, w.DB, in, query.Search{}, 0, 10)
			if total != len(list) {
				t.Errorf("the search finds %d and lists %d", total, len(list))
			}
			return len(list), err
		},
		"experiments.CountSearched": func(in auth.Scope) (int, error) { return experiments.CountSearched(ctx, w.DB, in, query.Search{}) },
		"experiments.LabelsUsed":    func(in auth.Scope) (int, error) { return lenOf(experiments.LabelsUsed(ctx, w.DB, in, 0)) },
		"experiments.MetricsUsed":   func(in auth.Scope) (int, error) { return lenOf(experiments.MetricsUsed(ctx, w.DB, in, 0)) },
		"experiments.HParamsUsed":   func(in auth.Scope) (int, error) { return lenOf(experiments.HParamsUsed(ctx, w.DB, in, 0)) },
		"runs.Search": func(in auth.Scope) (int, error) {
			list, total, err := runs.Search(ctx, w.DB, in, query.Search{}, 0, 10)
			if total != len(list) {
				t.Errorf("the search finds %d runs and lists %d", total, len(list))
			}
			return len(list), err
		},
		"runs.Count":       func(in auth.Scope) (int, error) { return runs.Count(ctx, w.DB, in, query.Search{}) },
		"runs.Heads":       func(in auth.Scope) (int, error) { return lenOf(runs.Heads(ctx, w.DB, in, query.Search{}, 10)) },
		"runs.MetricsUsed": func(in auth.Scope) (int, error) { return lenOf(runs.MetricsUsed(ctx, w.DB, in, 0)) },
		"runs.HParamsUsed": func(in auth.Scope) (int, error) { return lenOf(runs.HParamsUsed(ctx, w.DB, in, 0)) },
		"runs.MetadataUsed": func(in auth.Scope) (sum int, err error) { // without the key that all have
			list, err := runs.MetadataUsed(ctx, w.DB, in, 0)
			for _, v := range list {
				if v.Name != "stage" {
					sum++
				}
			}
			return sum, err
		},
		"runs.MetadataValues": func(in auth.Scope) (int, error) { return lenOf(runs.MetadataValues(ctx, w.DB, in, 0, "stage")) },
		"experiments.MetricRanges": func(in auth.Scope) (sum int, err error) { // without the searcher's metric, which has one row for all experiments
			list, err := experiments.MetricRanges(ctx, w.DB, in, 0)
			for _, r := range list {
				if r.Name != "" {
					sum++
				}
			}
			return sum, err
		},
		"experiments.ListTrials": func(in auth.Scope) (int, error) {
			return of(func(e int) (int, error) {
				return lenOf(experiments.ListTrials(ctx, w.DB, in, experiments.TrialFilter{ExperimentID: e}, 0, 10))
			})
		},
		"experiments.CountTrials": func(in auth.Scope) (int, error) {
			return of(func(e int) (int, error) {
				return experiments.CountTrials(ctx, w.DB, in, experiments.TrialFilter{ExperimentID: e})
			})
		},
		"experiments.BranchesOf": func(in auth.Scope) (int, error) { return lenOf(experiments.BranchesOf(ctx, w.DB, in, both[0])) },
		"experiments.Workloads": func(in auth.Scope) (sum int, err error) { // each has the other's checkpoint as its past
			counted := false
			err = w.DB.Tx(ctx, func(tx *database.DB) error {
				if err := tx.Exec(ctx, `UPDATE trials t SET past = true, origin_id = o.id FROM trials o WHERE o.id <> t.id AND o.experiment_id = ANY($1) AND t.experiment_id = ANY($1)`, both); err != nil {
					return err
				}
				sum, err = of(func(e int) (int, error) {
					id, err := database.Scalar[int](ctx, tx, `SELECT id FROM trials WHERE experiment_id = $1`, e)
					if err != nil {
						return 0, err
					}
					_, n, err := experiments.Workloads(ctx, tx, in, experiments.WorkloadFilter{TrialID: id, Checkpoints: true}, 0, 0)
					return n, err
				})
				if counted = err == nil; counted {
					err = errors.New("this change is not to stay")
				}
				return err
			})
			if counted {
				err = nil
			}
			return sum, err
		},
		"experiments.TrialsWith": func(in auth.Scope) (int, error) {
			return lenOf(experiments.TrialsWith(ctx, w.DB, in, experiments.TrialSource{}))
		},
		"live.ProjectUpdates": func(in auth.Scope) (int, error) { return lenOf(live.ProjectUpdates(ctx, w.DB, in, follow)) },
		"live.ModelUpdates":   func(in auth.Scope) (int, error) { return lenOf(live.ModelUpdates(ctx, w.DB, in, follow)) },
		"live.VersionUpdates": func(in auth.Scope) (int, error) {
			return lenOf(live.VersionUpdates(ctx, w.DB, in, &updates.Filter{UserIDs: []int{2}}))
		},
		"live.ProjectsByID": func(in auth.Scope) (int, error) { return lenOfFirst(live.ProjectsByID(ctx, w.DB, in, all)) },
		"live.ModelsByID":   func(in auth.Scope) (int, error) { return lenOfFirst(live.ModelsByID(ctx, w.DB, in, all)) },
		"live.VersionsByID": func(in auth.Scope) (int, error) { return lenOfFirst(live.VersionsByID(ctx, w.DB, in, all)) },
		"diskuse.OfWorkspaces": func(in auth.Scope) (sum int, err error) {
			list, err := diskuse.OfWorkspaces(ctx, w.DB, in)
			for _, u := range list {
				sum += u.Checkpoints
			}
			return sum, err
		},
	}
	for name, list := range lists {
		rowtest.KeepsToScope(t, name, theirs, list)
	}
	takes := map[string]bool{}
	for _, room := range []string{"experiments", "runs", "searches", "live", "diskuse"} {
		for _, name := range scopedFunctions(t, room) {
			if takes[name] = true; lists[name] == nil {
				t.Errorf("%s takes a scope, and this test does not ask what it lists", name)
			}
		}
	}
	for name := range lists {
		if !takes[name] {
			t.Errorf("%s was not found in the sources", name)
		}
	}
}

func lenOf[T any](list []T, err error) (int, error) { return len(list), err }

func lenOfFirst[T any](list []T, _ []int, err error) (int, error) { return len(list), err }

// scopedFunctions lists the exported functions of a room that read rows in a scope.
func scopedFunctions(t *testing.T, room string) (names []string) {
	t.Helper()
	files, err := filepath.Glob("../" + room + "/*.go")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		tree, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range tree.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || !f.Name.IsExported() || f.Type.TypeParams != nil { // PageOf, which has a type parameter, calls others
				continue
			}
			var types []string
			for _, p := range f.Type.Params.List {
				types = append(types, gotypes.ExprString(p.Type))
			}
			if slices.Contains(types, "auth.Scope") && slices.Contains(types, "*database.DB") {
				names = append(names, room+"."+f.Name.Name)
			}
		}
	}
	return names
}
