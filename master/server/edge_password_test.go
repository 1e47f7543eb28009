package server

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/accounts"
	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/schema"

	"github.com/detent-ml/detent/nomad/servers/pgtest"
)

// The master rejects a configuration with an invalid initial password, with the reason.
func TestInitialPasswordsThatAreRefused(t *testing.T) {
	for password, want := range map[string]string{
		"":                        "",
		"eight888":                "",
		"with blanks in between":  "",
		strings.Repeat("p", 1024): "", // the most that the sign-in reads
		strings.Repeat("p", 1025): "has 1025 bytes; at most 1024 are allowed",
		"short":                   "at least 8",
		"        ":                "begins or ends with a space",
		"out of a file\n":         "begins or ends with a space or a line break",
		" pasted with a blank":    "begins or ends with a space",
	} {
		cfg := Defaults()
		cfg.Database, cfg.InitialPassword = "postgres://x", password
		cfg.fill()
		problems := strings.Join(cfg.check(), "\n")
		if want == "" && problems != "" || want != "" && (!strings.HasPrefix(problems, "initial_password: ") || !strings.Contains(problems, want)) {
			t.Errorf("%.20q: %q, want %q", password, problems, want)
		}
		if password != "" && len(password) < 100 && strings.TrimSpace(password) != "" && strings.Contains(problems, password) {
			t.Errorf("the password is shown: %q", problems)
		}
	}
}

// A starting master gives admin the initial password if admin has none. Without an initial password
// the log explains what to do, if users could not sign in otherwise.
func TestAMasterSetsTheInitialPassword(t *testing.T) {
	dsn := pgtest.New(t, schema.Hash(), schema.Migrate)
	db, err := database.Open(t.Context(), dsn, database.Options{MaxConns: 4})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	start := func(listen, blank, password string) (said, stored string) {
		t.Helper()
		var log bytes.Buffer
		cfg := Defaults()
		cfg.Listen, cfg.BlankPasswords, cfg.InitialPassword = listen, blank, password
		m := &master{cfg: cfg, db: db, log: slog.New(slog.NewTextHandler(&log, nil))}
		if err := m.initialPassword(t.Context()); err != nil {
			t.Fatal(err)
		}
		u, err := accounts.UserByName(t.Context(), db, "admin")
		if err != nil {
			t.Fatal(err)
		}
		return log.String(), u.PasswordHash
	}
	for _, c := range []struct {
		listen, blank string
		warns         bool
	}{{"127.0.0.1:8080", "loopback", false}, {"192.0.2.7:8080", "loopback", true}, {":8080", "loopback", true},
		{"192.0.2.7:8080", "always", false}, {"127.0.0.1:8080", "never", true}} {
		said, stored := start(c.listen, c.blank, "")
		if stored != "" || strings.Contains(said, "initial_password") != c.warns {
			t.Errorf("without a password at %s, blank ones %s: %q, stored %q", c.listen, c.blank, said, stored)
		}
	}
	sent := strings.Repeat("a very long password ", 40) + "1"
	said, first := start("192.0.2.7:8080", "loopback", sent)
	if !strings.Contains(said, "change-password") || strings.Contains(said, "very long") || !strings.HasPrefix(first, "$argon2id$") {
		t.Fatalf("the first start logs %q and stores %q", said, first)
	}
	for _, again := range []string{sent, "another one", ""} {
		if said, stored := start("192.0.2.7:8080", "loopback", again); said != "" || stored != first {
			t.Errorf("a later start logs %q and stores %q", said, stored)
		}
	}
	if auth.CheckPassword(first, sent) {
		t.Error("the stored hash is of the password itself; it must be of the hash that clients send")
	}
}
