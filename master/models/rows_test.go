package models_test

import (
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/auth"
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
