package checkpoints_test

import (
	"testing"

	"github.com/detent-ml/detent/master/schema/rowtest"
)

// world is a database, with the checkpoints that tests need.
type world struct{ *rowtest.World }

func newWorld(t testing.TB) *world { t.Helper(); return &world{rowtest.New(t)} }
