package schema

import (
	"context"
	"embed"
	"io/fs"

	"github.com/detent-ml/detent/master/database"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

func migrations() fs.FS {
	files, err := fs.Sub(migrationFiles, "migrations")
	if err != nil {
		panic(err) // cannot happen: the name of the folder is valid
	}
	return files
}

// Hash identifies the schema of this program.
func Hash() string { return database.SchemaHash(migrations()) }

// Migrate migrates the database at dsn to the schema of this program.
func Migrate(ctx context.Context, dsn string) error { return database.Migrate(ctx, dsn, migrations()) }
