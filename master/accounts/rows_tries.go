package accounts

import (
	"context"
	"slices"
	"time"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/each"
)

// maxTries is the highest number of tries that is stored.
const maxTries = 1_000_000

// A LoginTally counts tries to sign in within the current window.
type LoginTally struct {
	Key   string  `db:"key"`
	Tries int     `db:"tries"`
	Wait  float64 `db:"wait"` // seconds until the window ends
}

// CountLogin counts a try to sign in for each key, and returns the counts. All masters count
// in the same rows. A try counts before its password is checked, so that parallel tries
// cannot exceed the limit.
func CountLogin(ctx context.Context, db *database.DB, keys []string, window time.Duration) (map[string]LoginTally, error) {
	keys = slices.Sorted(slices.Values(keys)) // always lock rows in the same order: no deadlock
	list, err := database.Rows[LoginTally](ctx, db, `
		INSERT INTO login_tries AS l (key, tries) SELECT k, 1 FROM unnest($1::text[]) AS k
		ON CONFLICT (key) DO UPDATE SET
			tries = CASE WHEN l.since < now() - $2::interval THEN 1 ELSE least(l.tries + 1, $3) END,
			since = CASE WHEN l.since < now() - $2::interval THEN now() ELSE l.since END
		RETURNING key, tries, extract(epoch FROM since + $2::interval - now())::float8 AS wait`, keys, window, maxTries)
	return each.Keyed(list, func(t LoginTally) string { return t.Key }), err
}

// LoginSucceeded removes counted tries after a successful sign-in: all of the key forget,
// and one of the key less.
func LoginSucceeded(ctx context.Context, db *database.DB, forget, less string) error {
	return db.Exec(ctx, `
		WITH gone AS (DELETE FROM login_tries WHERE key = $1)
		UPDATE login_tries SET tries = greatest(tries - 1, 0) WHERE key = $2`, forget, less)
}

// DropLoginTries deletes counts whose window has ended.
func DropLoginTries(ctx context.Context, db *database.DB, window time.Duration) (int64, error) {
	return db.Affect(ctx, `DELETE FROM login_tries WHERE since < now() - $1::interval`, window)
}

// SetFirstPassword sets the password of the user admin, if that user has none or a blank one, and with it that of the
// user determined, if that one has none either. It reports whether it did, and ends the sessions that were begun with
// blank passwords.
func SetFirstPassword(ctx context.Context, db *database.DB, hash string) (bool, error) {
	set := false
	if hash == "" {
		return set, nil
	}
	err := db.Tx(ctx, func(tx *database.DB) error {
		ids, err := database.Scalars[int](ctx, tx, `UPDATE users SET password_hash = $1
			WHERE username IN ('admin', 'determined') AND password_hash = '' AND NOT remote
				AND EXISTS (SELECT FROM users WHERE username = 'admin' AND password_hash = '' AND NOT remote) RETURNING id`, hash)
		if err != nil {
			return err
		}
		set = len(ids) > 0
		for _, id := range ids {
			if err := EndSessions(ctx, tx, id, 0); err != nil {
				return err
			}
		}
		return nil
	})
	return set && err == nil, err
}

// NeedsFirstPassword reports whether the user admin has no password.
func NeedsFirstPassword(ctx context.Context, db *database.DB) (bool, error) {
	return database.Scalar[bool](ctx, db, `SELECT EXISTS (SELECT FROM users WHERE username = 'admin' AND password_hash = '' AND NOT remote)`)
}
