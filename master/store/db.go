package store

import (
	"context"

	"github.com/detent-ml/detent/master/accounts"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/search/budget"
)

// DB has the rows of all nouns, over a pool of connections or, within Tx, over one transaction.
type DB struct {
	*database.DB
	memory budget.Budget  // for the searches of all experiments
	sums   *memorySums    // of that memory
	limits Limits         // for what users store
	stored *storedSums    // by users
	Roles  accounts.Roles // roles decide what users may do
}

// Options are the settings of the cluster that rows need.
type Options struct {
	Memory budget.Budget // memory for the searches of all experiments, in one master
	Roles  bool          // roles decide what users may do; else only owners and admins
	Limits Limits        // for what users store
}

// New returns the rows in a database.
func New(db *database.DB, opts Options) *DB {
	return &DB{DB: db, memory: opts.Memory, sums: &memorySums{}, Roles: accounts.Roles(opts.Roles), limits: opts.Limits, stored: newStoredSums()}
}

// over returns the same rows over another pool or a transaction. Both know the same of the searches and of what users store.
func (db *DB) over(engine *database.DB) *DB {
	other := *db
	other.DB = engine
	return &other
}

// within makes a function over rows a function over the engine.
func (db *DB) within(fn func(tx *DB) error) func(tx *database.DB) error {
	return func(tx *database.DB) error { return fn(db.over(tx)) }
}

// Tx is the engine's Tx for these rows.
func (db *DB) Tx(ctx context.Context, fn func(tx *DB) error) error {
	return db.DB.Tx(ctx, db.within(fn))
}

// GroupTx is the engine's GroupTx for these rows.
func (db *DB) GroupTx(ctx context.Context, fn func(tx *DB) error) error {
	return db.DB.GroupTx(ctx, db.within(fn))
}

// Snapshot is the engine's Snapshot for these rows.
func (db *DB) Snapshot(ctx context.Context, fn func(tx *DB) error) error {
	return db.DB.Snapshot(ctx, db.within(fn))
}

// Fenced is the engine's Fenced for these rows.
func (db *DB) Fenced(ctx context.Context, term int64, fn func(tx *DB) error) error {
	return db.DB.Fenced(ctx, term, db.within(fn))
}

// Beside opens the engine's pool beside for these rows.
func (db *DB) Beside(ctx context.Context, conns int32) (*DB, error) {
	pool, err := db.DB.Beside(ctx, conns)
	if err != nil {
		return nil, err
	}
	return db.over(pool), nil
}
