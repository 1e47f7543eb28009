package importertest

import (
	_ "embed"
	"strings"

	"github.com/detent-ml/detent/master/schema/rowtest"
)

//go:embed fork.sql
var fork string

// Fork migrates the database of an invented cluster as the public fork of Determined does, one migration after another, and calls at after each with its number.
func Fork(w *rowtest.World, at func(migration string)) {
	w.T.Helper()
	sql := ""
	for line := range strings.Lines(fork) {
		migration, ends := strings.CutPrefix(line, "-- migration ")
		if !ends {
			sql += line
			continue
		}
		migration = strings.TrimSpace(migration)
		w.Exec(sql)
		w.Exec(`INSERT INTO gopg_migrations SELECT max(id) + 1, $1::text::bigint, now() FROM gopg_migrations`, migration)
		at(migration)
		sql = ""
	}
}
