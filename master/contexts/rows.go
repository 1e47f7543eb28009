package contexts

import (
	"context"
	"io"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
)

// partBytes is the size of the parts in which contexts are stored, in bytes.
const partBytes = 1 << 20

// readBytes is how many bytes of a part are read at a time. Parts are stored
// uncompressed, so the server need not read the whole part for this either.
const readBytes = 64 << 10

// Save stores a context of a user unless the database has it. write writes the archive; Save may
// call it more than once.
func Save(ctx context.Context, db *database.DB, owner int, hash []byte, write func(io.Writer) error) error {
	return db.Tx(ctx, func(tx *database.DB) error {
		// Update the time of a stored context, so that Drop does not remove it
		// before the new experiment refers to it.
		fresh, err := database.Scalar[bool](ctx, tx, `
			INSERT INTO contexts (hash, size, owner_id) VALUES ($1, 0, $2)
			ON CONFLICT (hash) DO UPDATE SET created_at = now(), owner_id = $2 RETURNING xmax = 0`, hash, owner)
		if err != nil || !fresh {
			return err
		}
		w := &partWriter{ctx: ctx, db: tx, hash: hash, buf: make([]byte, 0, partBytes)}
		if err := write(w); err != nil {
			return err
		}
		if err := w.flush(); err != nil {
			return err
		}
		return tx.Exec(ctx, `UPDATE contexts SET size = $2 WHERE hash = $1`, hash, w.size)
	})
}

// partWriter is the writer of Save: it stores the archive in parts.
type partWriter struct {
	ctx  context.Context
	db   *database.DB
	hash []byte
	n    int
	size int64
	buf  []byte
}

func (w *partWriter) Write(p []byte) (int, error) {
	for done := 0; done < len(p); {
		n := copy(w.buf[len(w.buf):cap(w.buf)], p[done:])
		w.buf = w.buf[:len(w.buf)+n]
		done += n
		if len(w.buf) == cap(w.buf) {
			if err := w.flush(); err != nil {
				return done, err
			}
		}
	}
	return len(p), nil
}

func (w *partWriter) flush() error {
	if len(w.buf) == 0 {
		return nil
	}
	err := w.db.Exec(w.ctx, `INSERT INTO context_parts (hash, n, data) VALUES ($1, $2, $3)`, w.hash, w.n, w.buf)
	w.size += int64(len(w.buf))
	w.n++
	w.buf = w.buf[:0]
	return err
}

// Lock locks a context until the commit, so that Drop cannot delete it. It does nothing if hash is nil.
func Lock(ctx context.Context, db *database.DB, hash []byte) error {
	if hash == nil {
		return nil
	}
	return db.Change(ctx, fault.New(fault.NotFound, "the code of this experiment or task is no longer stored"), `SELECT FROM contexts WHERE hash = $1 FOR KEY SHARE`, hash)
}

// Has reports whether a context is stored.
func Has(ctx context.Context, db *database.DB, hash []byte) (bool, error) {
	return database.Scalar[bool](ctx, db, `SELECT EXISTS (SELECT FROM contexts WHERE hash = $1)`, hash)
}

// Get finds a context by its hash; nil if hash is nil.
func Get(ctx context.Context, db *database.DB, hash []byte) (*Context, error) {
	if hash == nil {
		return nil, nil
	}
	size, err := database.Scalar[int64](ctx, db, `SELECT size FROM contexts WHERE hash = $1`, hash)
	return &Context{Hash: hash, Size: size}, err
}

// OfTask finds the context of a task; nil if it has none.
func OfTask(ctx context.Context, db *database.DB, task string) (*Context, error) {
	c, err := database.Row[Context](ctx, db, "task "+task, `
		SELECT c.hash, coalesce(c.size, 0) AS size FROM tasks t LEFT JOIN contexts c ON c.hash = t.context_hash WHERE t.id = $1`, task)
	if err != nil || c.Hash == nil {
		return nil, err
	}
	return &c, nil
}

// Read returns a reader of a context. It reads readBytes at a time and holds
// no connection in between, so its user may be slow. Reads fail after the end of ctx.
func Read(ctx context.Context, db *database.DB, c *Context) io.Reader {
	return &partReader{ctx: ctx, db: db, of: c}
}

// partReader is the reader of Read.
type partReader struct {
	ctx  context.Context
	db   *database.DB
	of   *Context
	n    int   // number of the part
	at   int64 // offset in the part
	seen int64
	buf  []byte
}

// A readPart is a section of a part.
type readPart struct {
	Data []byte `db:"data"`
	Size int64  `db:"size"` // of the whole part
}

func (r *partReader) Read(p []byte) (int, error) {
	if len(r.buf) == 0 {
		if r.seen == r.of.Size {
			return 0, io.EOF
		}
		part, err := database.Row[readPart](r.ctx, r.db, "a piece of the code", `
			SELECT substring(data FROM $3 + 1 FOR $4) AS data, octet_length(data) AS size FROM context_parts WHERE hash = $1 AND n = $2`,
			r.of.Hash, r.n, r.at, readBytes)
		if err != nil {
			return 0, err
		}
		r.buf = part.Data
		r.at += int64(len(part.Data))
		r.seen += int64(len(part.Data))
		if r.at >= part.Size {
			r.n, r.at = r.n+1, 0
		}
	}
	n := copy(p, r.buf)
	r.buf = r.buf[n:]
	return n, nil
}

// Drop deletes contexts that no experiment or task uses any more.
func Drop(ctx context.Context, db *database.DB) (int64, error) {
	return db.Affect(ctx, `
		DELETE FROM contexts c WHERE created_at < now() - interval '1 hour'
			AND NOT EXISTS (SELECT FROM experiments e WHERE e.context_hash = c.hash)
			AND NOT EXISTS (SELECT FROM tasks t WHERE t.context_hash = c.hash)`)
}
