package importer

import (
	"context"
	"errors"

	"github.com/detent-ml/detent/master/database"
)

// Translate is for the fuzz test.
var Translate = translate

// Alone is for the test of two imports at once.
func Alone(ctx context.Context, db *database.DB, fn func() error) error {
	return db.Exclusively(ctx, importLock, errors.New("not alone"), fn)
}
