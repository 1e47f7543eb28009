package store

import (
	"testing"

	"github.com/detent-ml/detent/master/database"
)

// TestAnEntryDoesNotWaitForTheDisk tests that the entries of a call do not wait for the disk, that the
// entry of an ended call and the next transaction of the connection do.
func TestAnEntryDoesNotWaitForTheDisk(t *testing.T) {
	w := newWorld(t)
	db, ctx := openTest(t, w.dsn, 1), t.Context()
	begun, status := int64(0), 200
	for i, step := range []struct {
		do   func(tx *DB) error
		want string
	}{
		{func(tx *DB) (err error) {
			begun, err = tx.BeginAudit(ctx, AuditEntry{Credential: "none", Method: "POST", Path: "/x"})
			return err
		}, "off"},
		{func(tx *DB) error { return tx.EndAudit(ctx, AuditEntry{ID: begun, Status: &status}) }, "off"},
		{func(tx *DB) error {
			_, err := tx.BeginAudit(ctx, AuditEntry{Credential: "none", Method: "GET", Path: "/x", Status: &status})
			return err
		}, "on"},
		{func(*DB) error { return nil }, "on"},
	} {
		if err := db.Tx(ctx, func(tx *DB) error {
			if err := step.do(tx); err != nil {
				return err
			}
			if got, err := database.Scalar[string](ctx, tx.DB, `SELECT current_setting('synchronous_commit')`); err != nil || got != step.want {
				t.Errorf("step %d: synchronous_commit is %s, %v; want %s", i, got, err, step.want)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	if n := w.int(`SELECT count(*) FROM audit WHERE status = 200 AND ended_at IS NOT NULL`); n != 2 {
		t.Errorf("%d entries have a result, want 2", n)
	}
}
