package server

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"

	"github.com/detent-ml/detent/master/audit"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/schema"
	"github.com/detent-ml/detent/nomad/servers/pgtest"
)

// opened is a database that is used as a configuration says.
func opened(t *testing.T, text string) (*master, *database.DB) {
	t.Helper()
	m := configured(t, "database: postgres://x\n"+text)
	pool, err := database.Open(t.Context(), pgtest.New(t, schema.Hash(), schema.Migrate), database.Options{MaxConns: int32(m.cfg.DatabaseConns)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return m, pool
}

// TestConnectionsToTheDatabase: a master opens database_conns connections at most; who needs another one waits.
func TestConnectionsToTheDatabase(t *testing.T) {
	for _, most := range []int{4, 6} {
		_, db := opened(t, fmt.Sprintf("database_conns: %d", most))
		var held sync.WaitGroup
		begun, release := make(chan struct{}), make(chan struct{})
		for range most {
			held.Go(func() {
				if err := db.Tx(t.Context(), func(tx *database.DB) error {
					_, err := tx.Now(t.Context()) // it has a connection
					begun <- struct{}{}
					<-release
					return err
				}); err != nil {
					t.Error(err)
				}
			})
		}
		for range most {
			<-begun
		}
		if open, used, allowed := db.Conns(); int(open) != most || int(used) != most || int(allowed) != most {
			t.Errorf("%d connections are open, %d in use, %d allowed; want %d", open, used, allowed, most)
		}
		held.Go(func() {
			if _, err := db.Now(t.Context()); err != nil { // it waits for a connection
				t.Error(err)
			}
		})
		close(release)
		held.Wait()
		if open, _, _ := db.Conns(); int(open) > most {
			t.Errorf("%d connections are open, want at most %d", open, most)
		}
	}
}

// TestHowLongTheAuditTrailIsKept: a master deletes entries that are older than audit.keep_days, and with -1 none.
func TestHowLongTheAuditTrailIsKept(t *testing.T) {
	for days, want := range map[int]int{10: 1, 12: 2, -1: 3} {
		m, db := opened(t, fmt.Sprintf("audit: {keep_days: %d}", days))
		m.db, m.log = db, slog.New(slog.DiscardHandler)
		for _, old := range []int{9, 11, 13} {
			id, err := audit.Begin(t.Context(), db, audit.Entry{Username: "ada", Method: "POST"})
			if err == nil {
				err = db.Exec(t.Context(), `UPDATE audit SET at = now() - make_interval(days => $2) WHERE id = $1`, id, old)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if days < 0 {
			m.keepAudit(t.Context()) // returns at once
		}
		ctx, stop := context.WithCancel(t.Context())
		var chores sync.WaitGroup
		for _, chore := range m.chores() {
			chores.Go(func() { chore(ctx) })
		}
		kept := func() int {
			list, err := audit.Entries(t.Context(), db, audit.Filter{}, 10)
			if err != nil {
				t.Fatal(err)
			}
			return len(list)
		}
		until(t, fmt.Sprintf("the entries that are kept for %d days", days), func() bool { return kept() == want })
		stop()
		chores.Wait()
		if n := kept(); n != want {
			t.Errorf("with keep_days: %d there are %d entries in the end, want %d", days, n, want)
		}
	}
}
