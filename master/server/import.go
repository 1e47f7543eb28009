package server

import (
	"context"
	"log/slog"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/importer"
)

// Import copies the database of a Determined cluster into that of a configuration, whose masters may run meanwhile.
func Import(ctx context.Context, cfg Config, o importer.Options) error {
	if err := migrate(ctx, cfg.Database, slog.Default()); err != nil {
		return err
	}
	db, err := database.Open(ctx, cfg.Database, database.Options{MaxConns: 2})
	if err != nil {
		return err
	}
	defer db.Close()
	return importer.Run(ctx, db, o)
}
