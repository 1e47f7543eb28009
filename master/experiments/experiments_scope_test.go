package experiments

import (
	"fmt"
	"slices"
	"testing"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/schema/rowtest"
)

// TestPagesOfAFewWorkspaces: the pages of a list that is limited to some workspaces are those of the whole
// list without the experiments of the others, whatever way the database takes.
func TestPagesOfAFewWorkspaces(t *testing.T) {
	w := newWorld(t)
	var spaces []int
	in := map[int]int{} // experiment → workspace
	for i := range maxSeparate + 2 {
		spaces = append(spaces, w.Int(`INSERT INTO workspaces (name, owner_id) VALUES ($1, 1) RETURNING id`, fmt.Sprint("team ", i)))
	}
	var made []int
	for range 60 {
		made = append(made, w.Experiment(rowtest.LossSearcher))
	}
	for i, id := range made {
		of := spaces[i*i%len(spaces)]
		project := w.Int(`INSERT INTO projects (workspace_id, name, key, owner_id) VALUES ($1, $2, $2, 1) RETURNING id`, of, fmt.Sprintf("P%d", i))
		w.Exec(`UPDATE experiments SET project_id = $2, archived = $3, name = $4 WHERE id = $1`, id, project, i%5 == 0, fmt.Sprintf("name %d", i%7))
		in[id] = of
	}
	yes := false
	for name, scope := range map[string][]int{"none": {}, "one": spaces[:1], "three": spaces[:3], "as many as are separate": spaces[:maxSeparate], "more": spaces} {
		for kind, f := range map[string]Filter{"all": {}, "not archived": {Archived: &yes}, "named": {Name: "NAME 3"}, "newest first": {Desc: true}, "above": {Above: new(20), Desc: true}} {
			whole, err := List(t.Context(), w.DB, auth.Everywhere(), f, 0, 1000)
			if err != nil {
				t.Fatal(err)
			}
			var want []int
			for _, e := range whole {
				if slices.Contains(scope, in[e.ID]) {
					want = append(want, e.ID)
				}
			}
			for _, page := range [][2]int{{0, 1000}, {0, 4}, {3, 4}, {len(want), 4}, {1, 0}} {
				list, err := List(t.Context(), w.DB, auth.Scope{Workspaces: scope}, f, page[0], page[1])
				if err != nil {
					t.Fatal(err)
				}
				var got []int
				for _, e := range list {
					got = append(got, e.ID)
				}
				if from := min(page[0], len(want)); !slices.Equal(got, want[from:min(from+page[1], len(want))]) {
					t.Errorf("%s, %s, %v: %v; all are %v", name, kind, page, got, want)
				}
			}
		}
	}
}
