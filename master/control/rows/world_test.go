package rows

import (
	"testing"

	"github.com/detent-ml/detent/master/store"
	"github.com/detent-ml/detent/master/store/rowtest"
)

// world is a database, with the rows that the loop reads.
type world struct{ *rowtest.World }

func newWorld(t *testing.T) *world { t.Helper(); return &world{rowtest.New(t)} }

func (w *world) task(n store.NewTask) {
	w.T.Helper()
	n.OwnerID, n.WorkspaceID, n.Name, n.Config, n.Pool, n.Priority = 2, 1, "t", []byte(`{}`), "default", 42
	if _, err := w.DB.CreateTask(w.T.Context(), n); err != nil {
		w.T.Fatal(err)
	}
}
