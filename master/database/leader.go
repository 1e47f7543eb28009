package database

import (
	"context"
	"time"

	"github.com/detent-ml/detent/master/fault"
)

// ErrNotLeader means that another master holds the lease: stop leading.
var ErrNotLeader = fault.New(fault.Conflict, "this master no longer leads")

// Elect tries to acquire the lease. It returns the new term, or 0 when another master
// holds the lease.
func (db *DB) Elect(ctx context.Context, holder, address string, lease time.Duration) (int64, error) {
	term, err := Scalar[int64](ctx, db, `
		INSERT INTO leader (name, holder, address, term, expires_at) VALUES ('control', $1, $2, 1, now() + $3)
		ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, address = excluded.address,
			term = leader.term + 1, expires_at = excluded.expires_at
		WHERE leader.expires_at < now()
		RETURNING term`, holder, address, lease)
	// If two masters insert the same term at once, one gets a conflict: the other leads.
	if fault.Is(err, fault.NotFound) || fault.Is(err, fault.Conflict) {
		return 0, nil
	}
	return term, err
}

// Renew renews the lease of holder in this term. It fails with ErrNotLeader if the lease has
// expired or another master holds it.
func (db *DB) Renew(ctx context.Context, holder string, term int64, lease time.Duration) error {
	return db.Change(ctx, ErrNotLeader, `
		UPDATE leader SET expires_at = now() + $3
		WHERE name = 'control' AND holder = $1 AND term = $2 AND expires_at >= now()`, holder, term, lease)
}

// Resign releases the lease, so that another master leads at once.
func (db *DB) Resign(ctx context.Context, holder string, term int64) error {
	return db.Exec(ctx, `
		UPDATE leader SET expires_at = now() - interval '1 second'
		WHERE name = 'control' AND holder = $1 AND term = $2`, holder, term)
}

// Leader returns the master that leads; holder is "" if none does.
func (db *DB) Leader(ctx context.Context) (holder, address string, term int64, err error) {
	err = db.QueryRow(ctx, `
		SELECT holder, address, term FROM leader WHERE name = 'control' AND expires_at >= now()`).Scan(&holder, &address, &term)
	return holder, address, term, Missing(err, nil)
}

// Timeouts in the leader's transactions. Both are at most as long as a lease, so that a
// leader that stalls in a transaction does not delay the next leader for longer.
const fencedLimits = `SELECT set_config('statement_timeout', '3000', true),
	set_config('idle_in_transaction_session_timeout', '1500', true)`

// fencedTimeout limits a whole transaction of the leader, from the request for a connection
// to the commit.
const fencedTimeout = 30 * time.Second

// Fenced is Tx for the leader: it begins with the fence, which fails with
// ErrNotLeader once a later term exists and holds off elections until it ends.
//
// It has a deadline even if ctx has none, because a server that does not answer must not
// block the leader.
func (db *DB) Fenced(ctx context.Context, term int64, fn func(tx *DB) error) error {
	ctx, cancel := context.WithTimeout(ctx, fencedTimeout)
	defer cancel()
	return db.Tx(ctx, func(tx *DB) error {
		if err := tx.Exec(ctx, fencedLimits); err != nil {
			return err
		}
		var one int
		err := tx.QueryRow(ctx, `SELECT 1 FROM leader WHERE name = 'control' AND term = $1 FOR KEY SHARE`, term).Scan(&one)
		if fault.Is(err, fault.NotFound) {
			return ErrNotLeader
		}
		if err != nil {
			return err
		}
		return fn(tx)
	})
}
