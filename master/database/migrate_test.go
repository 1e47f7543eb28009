package database

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/nomad/servers/pgtest"
)

// TestMigrate: files are applied once and in their order, a program accepts a newer schema that allows it, and rejects others.
func TestMigrate(t *testing.T) {
	dsn := pgtest.Empty(t)
	file := func(sql string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(sql)} }
	first := fstest.MapFS{"0001_a.sql": file("CREATE TABLE a (id int);")}
	second := fstest.MapFS{"0001_a.sql": first["0001_a.sql"], "0002_b.sql": file("ALTER TABLE a ADD COLUMN b int;")}
	third := fstest.MapFS{"0001_a.sql": first["0001_a.sql"], "0002_b.sql": second["0002_b.sql"], "0003_c.sql": file("-- minimum: 2\nALTER TABLE a ADD COLUMN c int;")}
	for i, files := range []fstest.MapFS{first, first, second, first, third, second} {
		if err := Migrate(t.Context(), dsn, files); err != nil {
			t.Fatalf("%d: %v", i, err)
		}
	}
	if err := Migrate(t.Context(), dsn, first); !fault.Is(err, fault.Conflict) || !strings.Contains(err.Error(), "needs a master that knows version 2 or later") {
		t.Errorf("a program that is too old: %v", err)
	}
	other := fstest.MapFS{"0001_z.sql": first["0001_a.sql"], "0002_b.sql": second["0002_b.sql"], "0003_c.sql": third["0003_c.sql"], "0004_d.sql": file("CREATE TABLE d ();")}
	if err := Migrate(t.Context(), dsn, other); !fault.Is(err, fault.Conflict) || !strings.Contains(err.Error(), "0001_a.sql instead of 0001_z.sql") {
		t.Errorf("a database of another program: %v", err)
	}
	db := openTest(t, dsn, 1)
	if n, err := Scalar[int](t.Context(), db, `SELECT count(*) FROM information_schema.columns WHERE table_name = 'a'`); n != 3 || err != nil {
		t.Errorf("%d columns, %v", n, err)
	}
	if err := Migrate(t.Context(), dsn, fstest.MapFS{"0002_b.sql": file("")}); err == nil {
		t.Error("a number is left out")
	}
	if SchemaHash(first) == SchemaHash(second) {
		t.Error("hashes do not identify schemas")
	}
}
