package rows

import (
	"testing"

	"github.com/detent-ml/detent/master/schema/rowtest"
	"github.com/detent-ml/detent/master/tasks"
)

// world is a database, with the rows that the loop reads.
type world struct{ *rowtest.World }

func newWorld(t *testing.T) *world { t.Helper(); return &world{rowtest.New(t)} }

func (w *world) task(n tasks.New) {
	w.T.Helper()
	n.OwnerID, n.WorkspaceID, n.Name, n.Config, n.Pool, n.Priority = 2, 1, "t", []byte(`{}`), "default", 42
	if _, err := tasks.Create(w.T.Context(), w.DB, n); err != nil {
		w.T.Fatal(err)
	}
}

// pages are the tasks as the proxy finds them.
func (w *world) pages() tasks.Directory { return tasks.Directory{DB: w.DB} }
