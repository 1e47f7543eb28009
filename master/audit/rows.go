package audit

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/sleep"
)

// An Entry is a row of the audit trail.
type Entry struct {
	ID          int64           `db:"id"`
	At          time.Time       `db:"at"`
	EndedAt     *time.Time      `db:"ended_at"` // nil: its master ended first
	LastAt      *time.Time      `db:"last_at"`
	Times       int             `db:"times"`
	UserID      *int            `db:"user_id"`
	Username    string          `db:"username"`
	Credential  string          `db:"credential"`
	Address     string          `db:"address"`
	Method      string          `db:"method"`
	Path        string          `db:"path"`
	Verb        string          `db:"verb"`
	Kind        string          `db:"kind"`
	Object      string          `db:"object"`
	WorkspaceID *int            `db:"workspace_id"`
	Names       json.RawMessage `db:"names"`
	Status      *int            `db:"status"`
	Error       string          `db:"error"`
}

// in adds the workspace of an object.
func (e *Entry) in(is auth.Object) *Entry {
	if is.WorkspaceID != 0 {
		e.WorkspaceID = &is.WorkspaceID
	}
	return e
}

const columns = `id, at, ended_at, last_at, times, user_id, username, credential, address, method, path, verb, kind, object, workspace_id, names, status, error`

// maxText is the maximum number of bytes of a name or an error in the audit trail.
const maxText = 500

// unflushed is a condition that is always true. A statement with it makes its transaction commit without waiting
// until PostgreSQL has written the commit to the disk. The next commit that waits also writes all earlier ones. So
// if a call changes the database, its entry is on the disk before the change. If PostgreSQL crashes, a
// result that is less than a second old may be lost; then the entry looks like that of a call whose master ended
// first.
const unflushed = `set_config('synchronous_commit', 'off', true) = 'off'`

// Begin inserts the entry of a call that is about to begin, or, if it has a status, of one
// that has ended.
func Begin(ctx context.Context, db *database.DB, e Entry) (int64, error) {
	return database.Scalar[int64](ctx, db, `
		INSERT INTO audit (user_id, username, credential, address, method, path, verb, kind, object, workspace_id, names, status, error, ended_at)
		SELECT @user::int, @username, @credential, @address, @method, @path, @verb, @kind, @object, @workspace::int, @names::text::jsonb, @status::int, @error, CASE WHEN @status::int IS NOT NULL THEN now() END
		WHERE @status::int IS NOT NULL OR `+unflushed+`
		RETURNING id`,
		database.Args{"user": e.UserID, "username": stored(e.Username), "credential": e.Credential, "address": stored(e.Address), "method": e.Method, "path": e.Path,
			"verb": e.Verb, "kind": e.Kind, "object": stored(e.Object), "workspace": e.WorkspaceID, "names": database.JSONOrNull(e.Names), "status": e.Status, "error": stored(e.Error)})
}

// End completes an entry: its user, object, workspace, names and result.
func End(ctx context.Context, db *database.DB, e Entry) error {
	return db.Exec(ctx, `
		UPDATE audit SET ended_at = now(), user_id = @user, username = @username, object = @object, workspace_id = @workspace, names = @names::text::jsonb, status = @status, error = @error
		WHERE id = @id AND ended_at IS NULL AND `+unflushed,
		database.Args{"id": e.ID, "user": e.UserID, "username": stored(e.Username), "object": stored(e.Object), "workspace": e.WorkspaceID, "names": database.JSONOrNull(e.Names), "status": e.Status, "error": stored(e.Error)})
}

func stored(s string) string {
	return fault.ClipTo(database.Text(s), maxText)
}

// repeat counts a further call in the entry of an equal earlier call.
func repeat(ctx context.Context, db *database.DB, id int64) error {
	return db.Exec(ctx, `UPDATE audit SET times = times + 1, last_at = now() WHERE id = $1`, id)
}

// merge removes the entry of a call that has failed in the same way as an earlier call, and
// counts the call in the earlier entry.
func merge(ctx context.Context, db *database.DB, id, earlier int64) error {
	return db.Exec(ctx, `
		WITH counted AS (UPDATE audit SET times = times + 1, last_at = now() WHERE id = $2 RETURNING id)
		DELETE FROM audit WHERE id = $1 AND EXISTS (SELECT FROM counted)`, id, earlier)
}

// A Filter chooses entries; zero values choose all.
type Filter struct {
	Username    string
	Kind        string
	Object      string
	Verb        string
	WorkspaceID int
	Failed      bool // only calls that failed, or whose master ended first
	Since       *time.Time
	Until       *time.Time
	Before      int64 // only entries with smaller ids
}

// Entries lists entries, the newest first.
func Entries(ctx context.Context, db *database.DB, f Filter, limit int) ([]Entry, error) {
	return database.Rows[Entry](ctx, db, `SELECT `+columns+` FROM audit
		WHERE (@username = '' OR username = lower(@username)) AND (@kind = '' OR kind = @kind) AND (@object = '' OR object = @object)
			AND (@verb = '' OR verb = @verb) AND (@workspace = 0 OR workspace_id = @workspace)
			AND (NOT @failed OR status IS NULL OR status >= 400)
			AND (@since::timestamptz IS NULL OR at >= @since) AND (@until::timestamptz IS NULL OR at < @until)
			AND (@before::bigint = 0 OR id < @before)
		ORDER BY id DESC LIMIT @limit`,
		database.Args{"username": f.Username, "kind": f.Kind, "object": f.Object, "verb": f.Verb, "workspace": f.WorkspaceID, "failed": f.Failed,
			"since": f.Since, "until": f.Until, "before": f.Before, "limit": limit})
}

const (
	keepEvery = time.Hour
	keepBatch = 5000 // entries in one statement
)

// Keep deletes entries that are older than some days, until ctx ends. Any number of
// masters may run it.
func Keep(ctx context.Context, db *database.DB, days int, log *slog.Logger) {
	for ctx.Err() == nil {
		pause := keepEvery
		n, err := Delete(ctx, db, days)
		switch {
		case err != nil && ctx.Err() == nil:
			log.Warn("could not delete old entries of the audit trail", "error", err)
			pause = time.Minute
		case n == keepBatch:
			pause = time.Second
		}
		_ = sleep.For(ctx, pause)
	}
}

// Delete deletes a batch of entries that are older than some days, the oldest first.
func Delete(ctx context.Context, db *database.DB, days int) (int64, error) {
	return db.Affect(ctx, `DELETE FROM audit WHERE id IN (
		SELECT id FROM audit WHERE at < now() - make_interval(days => $1) ORDER BY at LIMIT $2 FOR UPDATE SKIP LOCKED)`, days, keepBatch)
}
