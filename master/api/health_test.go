package api

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"github.com/detent-ml/detent/master/about/risks"
)

// TestOnlyAdminsReadWarnings: the settings that weaken security tell an attacker where to begin.
func TestOnlyAdminsReadWarnings(t *testing.T) {
	r := newRig(t, func(c *Config) {
		c.Risks = []risks.Risk{{Setting: "blank_passwords", Warning: "whoever knows a name signs in"}}
	})
	admin := r.user("admin").get("/health").ok()
	if at(t, admin.tree(), "warnings.0.setting") != "blank_passwords" || at(t, admin.tree(), "warnings.0.warning") != "whoever knows a name signs in" {
		t.Errorf("an administrator reads %s", admin.body)
	}
	program := r.placeOf("admin", yaml(), 1).session()
	for who, caller := range map[string]as{"nobody": r.anyone(), "another user": r.user("determined"), "a task of an administrator": program, "a wrong token": {r: r, header: "Authorization", token: "Bearer x"}} {
		if got := caller.get("/health").ok(); bytes.Contains(got.body, []byte("warning")) {
			t.Errorf("%s reads %s", who, got.body)
		}
	}
}

// TestManyAskForTheHealth: anybody may ask, so however many do, the database gets one question at a time.
func TestManyAskForTheHealth(t *testing.T) {
	r := newRig(t)
	own, err := pgx.Connect(t.Context(), r.dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer own.Close(context.Background())
	if _, err := own.Exec(t.Context(), `BEGIN; LOCK TABLE leader`); err != nil {
		t.Fatal(err)
	}
	const callers = 12
	var group errgroup.Group
	for range callers {
		group.Go(func() error {
			if got := r.anyone().get("/health"); got.code != http.StatusServiceUnavailable {
				return fmt.Errorf("%d %s", got.code, got.body)
			}
			return nil
		})
	}
	answered := make(chan error, 1)
	go func() { answered <- group.Wait() }()
	most := 0
	for {
		var n int
		if err := own.QueryRow(t.Context(), `SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'leader'::regclass`).Scan(&n); err != nil {
			t.Fatal(err)
		}
		most = max(most, n)
		select {
		case err := <-answered:
			if err != nil || most != 1 {
				t.Errorf("%d callers ask the database %d times at once: %v", callers, most, err)
			}
			return
		case <-time.After(20 * time.Millisecond):
		}
	}
}
