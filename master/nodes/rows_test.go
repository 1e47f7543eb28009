package nodes_test

import (
	"testing"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/nodes"
	"github.com/detent-ml/detent/master/schema/rowtest"
)

// TestHoldingsKeepToTheirScope tests that the list has no holding of a workspace outside of its scope, and none for the zero scope.
func TestHoldingsKeepToTheirScope(t *testing.T) {
	w := rowtest.New(t)
	theirs := w.Int(`INSERT INTO workspaces (name, owner_id) VALUES ('theirs', 1) RETURNING id`)
	e := w.Experiment(rowtest.LossSearcher)
	attempts := []string{w.Attempt(w.Trial(e, 0, 1), 1, 1), w.Attempt(w.Trial(e, 1, 1), 1, 2)}
	w.Exec(`UPDATE tasks SET workspace_id = $1 WHERE id = (SELECT task_id FROM allocations WHERE id = $2)`, theirs, attempts[1])
	for _, c := range []struct {
		in   auth.Scope
		want []string
	}{
		{auth.Everywhere(), []string{attempts[0], attempts[1], attempts[1]}},
		{auth.Scope{Workspaces: []int{1}}, attempts[:1]},
		{auth.Scope{Workspaces: []int{theirs}}, []string{attempts[1], attempts[1]}},
		{auth.Scope{}, nil},
	} {
		list, err := nodes.Holdings(t.Context(), w.DB, c.in)
		if err != nil || len(list) != len(c.want) {
			t.Fatalf("%+v: %+v, %v", c.in, list, err)
		}
		for i, h := range list {
			if h.AllocationID != c.want[i] {
				t.Errorf("%+v: %+v", c.in, h)
			}
		}
	}
}
