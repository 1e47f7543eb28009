package models_test

import (
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/models"
	"github.com/detent-ml/detent/master/schema/rowtest"
)

// TestModelsKeepToTheirScope: no list has a model of a workspace outside of its scope, and none for the zero scope.
func TestModelsKeepToTheirScope(t *testing.T) {
	w := rowtest.New(t)
	theirs := w.Int(`INSERT INTO workspaces (name, owner_id) VALUES ('theirs', 1) RETURNING id`)
	w.Exec(`INSERT INTO models (name, workspace_id, owner_id, labels) VALUES ('ours', 1, 2, '{ours}'), ('theirs', $1, 2, '{theirs}')`, theirs)
	for want, in := range map[string]auth.Scope{"ours theirs": auth.Everywhere(), "ours": {Workspaces: []int{1}}, "theirs": {Workspaces: []int{theirs}}, "": {}} {
		list, err := models.List(t.Context(), w.DB, in, models.Filter{}, 0, 10)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, m := range list {
			got = append(got, m.Name)
		}
		n, err := models.Count(t.Context(), w.DB, in, models.Filter{})
		if err != nil {
			t.Fatal(err)
		}
		labels, err := models.Labels(t.Context(), w.DB, in, 0)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Join(got, " ") != want || n != len(got) || strings.Join(labels, " ") != want {
			t.Errorf("%+v: %q, %d counted, labels %q; want %q", in, got, n, labels, want)
		}
	}
}

// TestNoVersionWhileAFileIsCompleted: a file that a request makes of its parts may take the place of one that the version would have.
func TestNoVersionWhileAFileIsCompleted(t *testing.T) {
	w := rowtest.New(t)
	trial := w.Trial(w.Experiment(rowtest.LossSearcher), 0, 0)
	uuid := w.Text(`INSERT INTO checkpoints (uuid, task_id, trial_id, state) SELECT gen_random_uuid(), task_id, id, 'COMPLETED' FROM trials WHERE id = $1 RETURNING uuid::text`, trial)
	m := models.Model{ID: w.Int(`INSERT INTO models (name, workspace_id, owner_id) VALUES ('ours', 1, 2) RETURNING id`), Name: "ours"}
	w.Exec(`INSERT INTO logged_uploads (checkpoint, name, parts, store, held_until) VALUES ($1, 'a', 1, 'x', now() + interval '1 minute')`, uuid)
	if _, err := models.Register(t.Context(), w.DB, m, models.Version{UUID: uuid, OwnerID: 2}, nil); !fault.Is(err, fault.Conflict) || !strings.Contains(err.Error(), "is being completed") {
		t.Error(err)
	}
	w.Exec(`UPDATE logged_uploads SET held_until = now() - interval '1 second'`)
	if n, err := models.Register(t.Context(), w.DB, m, models.Version{UUID: uuid, OwnerID: 2}, nil); n != 1 || err != nil {
		t.Errorf("version %d, %v", n, err)
	}
}
