package live

import (
	"slices"
	"testing"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/database"
)

// Rows for /stream are read about a megabyte at a time.
func TestUpdatesAreReadInPages(t *testing.T) {
	w := newWorld(t)
	w.Exec(`INSERT INTO models (name, workspace_id, owner_id, notes) SELECT 'm' || n, 1, (SELECT min(id) FROM users), repeat('x', CASE WHEN n > 5 THEN 400000 ELSE 1 END)
		FROM generate_series(1, 20) AS n`)
	all, err := database.Scalars[int](t.Context(), w.DB, `SELECT id FROM models ORDER BY id`)
	if err != nil || len(all) != 20 {
		t.Fatal(all, err)
	}
	var got []int
	pages := 0
	for rest := all; len(rest) > 0; pages++ {
		list, left, err := ModelsByID(t.Context(), w.DB, auth.Everywhere(), rest)
		if err != nil {
			t.Fatal(err)
		}
		size := 0
		for _, m := range list {
			got = append(got, m.ID)
			size += len(m.Notes)
		}
		if size > updatesPageBytes+400_000 {
			t.Errorf("a page of %d bytes", size)
		}
		rest = left
	}
	if !slices.Equal(got, all) || pages < 5 {
		t.Errorf("%v in %d pages, want %v", got, pages, all)
	}
}
