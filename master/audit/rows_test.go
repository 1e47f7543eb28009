package audit_test

import (
	"testing"

	"github.com/detent-ml/detent/master/audit"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/schema"
	"github.com/detent-ml/detent/nomad/servers/pgtest"
)

// TestAnEntryDoesNotWaitForTheDisk tests that the entries of a call do not wait for the disk, that the
// entry of an ended call and the next transaction of the connection do.
func TestAnEntryDoesNotWaitForTheDisk(t *testing.T) {
	ctx := t.Context()
	db, err := database.Open(ctx, pgtest.New(t, schema.Hash(), schema.Migrate), database.Options{MaxConns: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	begun, status := int64(0), 200
	for i, step := range []struct {
		do   func(tx *database.DB) error
		want string
	}{
		{func(tx *database.DB) (err error) {
			begun, err = audit.Begin(ctx, tx, audit.Entry{Credential: "none", Method: "POST", Path: "/x"})
			return err
		}, "off"},
		{func(tx *database.DB) error { return audit.End(ctx, tx, audit.Entry{ID: begun, Status: &status}) }, "off"},
		{func(tx *database.DB) error {
			_, err := audit.Begin(ctx, tx, audit.Entry{Credential: "none", Method: "GET", Path: "/x", Status: &status})
			return err
		}, "on"},
		{func(*database.DB) error { return nil }, "on"},
	} {
		if err := db.Tx(ctx, func(tx *database.DB) error {
			if err := step.do(tx); err != nil {
				return err
			}
			if got, err := database.Scalar[string](ctx, tx, `SELECT current_setting('synchronous_commit')`); err != nil || got != step.want {
				t.Errorf("step %d: synchronous_commit is %s, %v; want %s", i, got, err, step.want)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := database.Scalar[int](ctx, db, `SELECT count(*) FROM audit WHERE status = 200 AND ended_at IS NOT NULL`); err != nil || n != 2 {
		t.Errorf("%d entries have a result, want 2: %v", n, err)
	}
}
