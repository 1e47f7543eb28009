package schema

import (
	"flag"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/nomad/servers/pgtest"
)

var rewrite = flag.Bool("rewrite", false, "write schema.txt anew")

// TestSchemaIsCommitted compares schema.txt with the schema after all migrations, so that
// readers find the current tables and a review shows what a migration changes. -rewrite
// writes the file.
func TestSchemaIsCommitted(t *testing.T) {
	db := opened(t)
	got := dump(t, db)
	if *rewrite {
		if err := os.WriteFile("schema.txt", []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("schema.txt")
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != got {
		t.Error("schema.txt is not what the migrations make; run this test with -rewrite and read the diff")
	}
}

// dump prints the schema as text that does not depend on the server's version.
func dump(t *testing.T, db *database.DB) string {
	t.Helper()
	type line struct {
		Thing string `db:"thing"`
		Line  string `db:"line"`
	}
	// Without partitions, which depend on the time; their parent tables are listed.
	lines, err := database.Rows[line](t.Context(), db, `
		WITH t AS (SELECT c.oid, c.relname FROM pg_class c WHERE c.relnamespace = 'public'::regnamespace
			AND c.relkind IN ('r', 'p') AND NOT c.relispartition)
		SELECT thing, line FROM (
			SELECT 'table ' || t.relname AS thing, 1 AS part, lpad(a.attnum::text, 3, '0') AS rank,
				format('  %s %s%s%s', a.attname, format_type(a.atttypid, a.atttypmod), CASE WHEN a.attnotnull THEN ' not null' ELSE '' END,
					CASE WHEN a.attidentity <> '' THEN ' identity' WHEN a.attgenerated <> '' THEN ' = ' || pg_get_expr(d.adbin, d.adrelid)
						ELSE coalesce(' default ' || pg_get_expr(d.adbin, d.adrelid), '') END) AS line
			FROM t JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum > 0 AND NOT a.attisdropped
			LEFT JOIN pg_attrdef d ON d.adrelid = t.oid AND d.adnum = a.attnum
			UNION ALL
			SELECT 'table ' || t.relname, 2, k.conname, '  ' || k.conname || ': ' || pg_get_constraintdef(k.oid)
			FROM t JOIN pg_constraint k ON k.conrelid = t.oid WHERE k.contype <> 'n'
			UNION ALL
			SELECT 'table ' || t.relname, 3, i.indexrelid::regclass::text, '  ' || pg_get_indexdef(i.indexrelid)
			FROM t JOIN pg_index i ON i.indrelid = t.oid WHERE NOT EXISTS (SELECT FROM pg_constraint k WHERE k.conindid = i.indexrelid AND k.contype IN ('p', 'u'))
			UNION ALL
			SELECT 'table ' || t.relname, 4, g.tgname, '  ' || pg_get_triggerdef(g.oid)
			FROM t JOIN pg_trigger g ON g.tgrelid = t.oid WHERE NOT g.tgisinternal
			UNION ALL
			SELECT 'function ' || p.proname, 5, p.proname, '  ' || regexp_replace(pg_get_functiondef(p.oid), '\n', E'\n  ', 'g')
			FROM pg_proc p WHERE p.pronamespace = 'public'::regnamespace) x
		ORDER BY thing COLLATE "C", part, rank COLLATE "C"`)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString("What the migrations make. Written by TestSchemaIsCommitted; do not edit.\n")
	thing := ""
	for _, l := range lines {
		if l.Thing != thing {
			fmt.Fprintf(&b, "\n%s\n", l.Thing)
			thing = l.Thing
		}
		b.WriteString(l.Line + "\n")
	}
	return b.String()
}

// TestForeignKeysHaveIndexes tests that every foreign key has an index: when a row is deleted,
// PostgreSQL searches the rows that refer to it.
func TestForeignKeysHaveIndexes(t *testing.T) {
	db := opened(t)
	missing, err := database.Scalars[string](t.Context(), db, `
		SELECT c.conrelid::regclass || ' ' || pg_get_constraintdef(c.oid) FROM pg_constraint c
		WHERE c.contype = 'f' AND c.confrelid::regclass::text = ANY($1) AND NOT EXISTS (
			SELECT FROM pg_index i WHERE i.indrelid = c.conrelid AND i.indkey[0] = c.conkey[1])
		ORDER BY 1`, []string{"experiments", "tasks", "trials", "allocations", "members", "checkpoints", "collections", "log_tasks", "log_chunks"})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range missing {
		t.Errorf("no index begins with the column of %s", m)
	}
}

// opened returns a database with this schema.
func opened(t *testing.T) *database.DB {
	t.Helper()
	db, err := database.Open(t.Context(), pgtest.New(t, Hash(), Migrate), database.Options{MaxConns: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	return db
}

// TestRunningAttemptsKeepTheirHour: the upgrade to signals counts the programs that run meanwhile as ones that have asked the preemption
// API, because nobody knows which have.
func TestRunningAttemptsKeepTheirHour(t *testing.T) {
	dsn := pgtest.Empty(t)
	before, files := fstest.MapFS{}, migrations()
	for _, name := range []string{"0001_schema.sql", "0002_imports.sql"} {
		data, err := fs.ReadFile(files, name)
		if err != nil {
			t.Fatal(err)
		}
		before[name] = &fstest.MapFile{Data: data}
	}
	if err := database.Migrate(t.Context(), dsn, before); err != nil {
		t.Fatal(err)
	}
	db, err := database.Open(t.Context(), dsn, database.Options{MaxConns: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, sql := range []string{
		`SET session_replication_role = replica`, // the rows that these refer to do not matter
		`INSERT INTO allocations (id, task_id, run_id, pool, slots, priority, state, ended_at, outcome)
			VALUES ('t.1', 't', 1, 'p', 1, 42, 'TERMINATED', now(), 'killed'), ('t.2', 't', 2, 'p', 1, 42, 'RUNNING', NULL, NULL)`,
	} {
		if err := db.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	if err := Migrate(t.Context(), dsn); err != nil {
		t.Fatal(err)
	}
	got, err := database.Scalars[string](t.Context(), db, `SELECT id FROM allocations WHERE preempt_asked_at IS NOT NULL`)
	if err != nil || !slices.Equal(got, []string{"t.2"}) {
		t.Errorf("%v, %v", got, err)
	}
}
