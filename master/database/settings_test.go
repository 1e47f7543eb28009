package database

import (
	"testing"

	"github.com/jackc/pgx/v5"
)

// TestJIT: a server may compile statements, as PostgreSQL does by default; a master's connections turn that off, unless the address asks for it.
func TestJIT(t *testing.T) {
	w := newWorld(t)
	w.exec(`DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET jit = on', current_database()); END $$`)
	cfg, err := pgx.ParseConfig(w.dsn)
	if err != nil {
		t.Fatal(err)
	}
	asking := cfg.ConnString() + "&jit=on"
	for dsn, want := range map[string]string{w.dsn: "off", asking: "on"} {
		if got, err := Scalar[string](t.Context(), openTest(t, dsn, 1), "SHOW jit"); err != nil || got != want {
			t.Errorf("jit is %q with %s, want %q: %v", got, Redact(dsn), want, err)
		}
	}
}
