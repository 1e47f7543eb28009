package runs

import (
	"testing"

	"github.com/detent-ml/detent/master/schema/rowtest"
)

// world is a database with experiments and trials.
type world struct{ *rowtest.World }

func newWorld(t testing.TB) *world {
	t.Helper()
	return &world{rowtest.New(t)}
}
