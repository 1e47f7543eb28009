package store

import (
	"context"
	"slices"
	"time"

	"github.com/detent-ml/detent/master/fault"
)

// maxTries keeps the number of tries within its column.
const maxTries = 1_000_000

// A LoginTally says how often something was tried within the running window.
type LoginTally struct {
	Key   string  `db:"key"`
	Tries int     `db:"tries"`
	Wait  float64 `db:"wait"` // seconds until the window is over
}

// CountLogin counts a try to sign in for each key, and says how many there are now.
// All masters count together; a try counts before it is known whether it fails, so
// that many at once are not more than many in a row.
func (db *DB) CountLogin(ctx context.Context, keys []string, window time.Duration) (map[string]LoginTally, error) {
	keys = slices.Sorted(slices.Values(keys)) // the same order everywhere: two that count never wait for each other
	list, err := rows[LoginTally](ctx, db, `
		INSERT INTO login_tries AS l (key, tries) SELECT k, 1 FROM unnest($1::text[]) AS k
		ON CONFLICT (key) DO UPDATE SET
			tries = CASE WHEN l.since < now() - $2::interval THEN 1 ELSE least(l.tries + 1, $3) END,
			since = CASE WHEN l.since < now() - $2::interval THEN now() ELSE l.since END
		RETURNING key, tries, extract(epoch FROM since + $2::interval - now())::float8 AS wait`, keys, window, maxTries)
	out := map[string]LoginTally{}
	for _, t := range list {
		out[t.Key] = t
	}
	return out, err
}

// LoginSucceeded takes a try back: of the first key all are forgotten, of the
// second one is.
func (db *DB) LoginSucceeded(ctx context.Context, forget, less string) error {
	_, err := db.exec(ctx, `
		WITH gone AS (DELETE FROM login_tries WHERE key = $1)
		UPDATE login_tries SET tries = greatest(tries - 1, 0) WHERE key = $2`, forget, less)
	return err
}

// DropLoginTries forgets tries whose window is over.
func (db *DB) DropLoginTries(ctx context.Context, window time.Duration) (int64, error) {
	return db.exec(ctx, `DELETE FROM login_tries WHERE since < now() - $1::interval`, window)
}

// SetFirstPassword gives the user admin a password while there is none, and says
// whether it did. Sessions of the blank password end. A blank one is none.
func (db *DB) SetFirstPassword(ctx context.Context, hash string) (bool, error) {
	set := false
	if hash == "" {
		return set, nil
	}
	err := db.Tx(ctx, func(tx *DB) error {
		set = false
		id, err := scalar[int](ctx, tx, `UPDATE users SET password_hash = $1 WHERE username = 'admin' AND password_hash = '' AND NOT remote RETURNING id`, hash)
		if fault.Is(err, fault.NotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		set = true
		return tx.endSessions(ctx, id, 0)
	})
	return set && err == nil, err
}

// NeedsFirstPassword tells whether the user admin has no password.
func (db *DB) NeedsFirstPassword(ctx context.Context) (bool, error) {
	return scalar[bool](ctx, db, `SELECT EXISTS (SELECT FROM users WHERE username = 'admin' AND password_hash = '' AND NOT remote)`)
}
