// Package importertest has databases of Determined, for tests of what imports them.
package importertest

import (
	"context"
	"crypto/sha512"
	_ "embed"
	"encoding/hex"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/crypto/bcrypt"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/schema/rowtest"
	"github.com/detent-ml/detent/nomad/servers/pgtest"
)

// The tables of Determined, and rows for them.
var (
	//go:embed determined.sql
	tables string
	//go:embed history.sql
	history string
)

// A Shape is the size of an invented cluster: its experiments, the trials of each third one, and the reports and lines of a trial.
type Shape struct{ Experiments, Trials, Steps, Lines int }

// Small is enough for everything that an importer meets.
var Small = Shape{60, 4, 60, 8}

// Password is that of each user who has one.
const Password = "Secret-ada-1"

// hash is Determined's hash of the password, with bcrypt's smallest cost.
func hash(t testing.TB) string {
	t.Helper()
	sum := sha512.Sum512([]byte("GubPEmmotfiK9TMD6Zdw" + Password))
	hash, err := bcrypt.GenerateFromPassword([]byte(hex.EncodeToString(sum[:])[:72]), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	return string(hash)
}

// Old makes the database of an invented cluster. Tests of one shape copy one database.
func Old(t testing.TB, s Shape) *rowtest.World {
	t.Helper()
	password := hash(t)
	return open(t, pgtest.New(t, fmt.Sprintf("determined-%d-%d-%d-%d-%d", s.Experiments, s.Trials, s.Steps, s.Lines, len(tables)+len(history)), func(ctx context.Context, dsn string) error {
		db, err := database.Open(ctx, dsn, database.Options{MaxConns: 1})
		if err != nil {
			return err
		}
		defer db.Close()
		settings := fmt.Sprintf(`SET import.experiments = '%d'; SET import.trials = '%d'; SET import.steps = '%d'; SET import.lines = '%d'; SET import.password = '%s'; SET statement_timeout = 0;`,
			s.Experiments, s.Trials, s.Steps, s.Lines, password)
		return db.Exec(ctx, settings+tables+history+`; ANALYZE`)
	}))
}

// Restored makes a database from a dump of PostgreSQL (pg_dump -Fc).
func Restored(t testing.TB, dump string) *rowtest.World {
	t.Helper()
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/pg_restore")
	if err != nil || len(found) == 0 {
		t.Fatal("this machine has no pg_restore")
	}
	dsn := pgtest.Empty(t)
	if out, err := exec.CommandContext(t.Context(), slices.Max(found), "--no-owner", "-d", dsn, dump).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return open(t, dsn)
}

func open(t testing.TB, dsn string) *rowtest.World {
	t.Helper()
	w := &rowtest.World{T: t, DSN: dsn}
	w.DB = w.Open(2)
	return w
}
