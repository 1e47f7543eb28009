package store

import (
	"context"

	"github.com/detent-ml/detent/master/fault"
)

// A Context is the code of an experiment or task: a gzipped tar, named by the
// hash of what is in it.
type Context struct {
	Hash []byte
	Tgz  []byte // nil: it is stored already
	Size int64
}

// keepContext stores a context that is not there yet and returns its hash. Its
// row is held until the commit, so that what removes unused contexts cannot take
// it in between.
func (db *DB) keepContext(ctx context.Context, c *Context) ([]byte, error) {
	if c == nil {
		return nil, nil
	}
	if c.Tgz != nil {
		_, err := db.exec(ctx, `INSERT INTO contexts (hash, tgz, size) VALUES ($1, $2, $3) ON CONFLICT (hash) DO NOTHING`, c.Hash, c.Tgz, int64(len(c.Tgz)))
		if err != nil {
			return nil, err
		}
	}
	n, err := db.exec(ctx, `SELECT FROM contexts WHERE hash = $1 FOR KEY SHARE`, c.Hash)
	if err == nil && n == 0 {
		return nil, fault.New(fault.NotFound, "the code that this refers to is no longer stored")
	}
	return c.Hash, err
}

// HasContext reports whether a context is stored.
func (db *DB) HasContext(ctx context.Context, hash []byte) (bool, error) {
	return scalar[bool](ctx, db, `SELECT EXISTS (SELECT FROM contexts WHERE hash = $1)`, hash)
}

// ContextTgz reads a context; nil for no hash.
func (db *DB) ContextTgz(ctx context.Context, hash []byte) ([]byte, error) {
	if hash == nil {
		return nil, nil
	}
	return scalar[[]byte](ctx, db, `SELECT tgz FROM contexts WHERE hash = $1`, hash)
}

// DropContexts removes code that nothing refers to any more.
func (db *DB) DropContexts(ctx context.Context) (int64, error) {
	return db.exec(ctx, `
		DELETE FROM contexts c WHERE created_at < now() - interval '1 hour'
			AND NOT EXISTS (SELECT FROM experiments e WHERE e.context_hash = c.hash)
			AND NOT EXISTS (SELECT FROM tasks t WHERE t.context_hash = c.hash)`)
}
