package database

import (
	"context"
	"encoding/json"
	"iter"

	"github.com/jackc/pgx/v5"
)

// maxBatchBytes is the maximum size of the arguments in one message, unless a single statement has more.
const maxBatchBytes = 4 << 20

// A Batch has statements that are sent together, in one message.
type Batch struct{ list []statement }

type statement struct {
	sql  string
	args []any
}

// Queue adds a statement.
func (b *Batch) Queue(sql string, args ...any) { b.list = append(b.list, statement{sql, args}) }

// Len is the number of statements.
func (b *Batch) Len() int { return len(b.list) }

// Parts divides the statements into batches of at most maxBatchBytes.
func (b *Batch) Parts() (parts []*Batch) {
	bytes := 0
	for _, s := range b.list {
		size := len(s.sql)
		for _, arg := range s.args {
			size += sizeOf(arg)
		}
		if bytes += size; len(parts) == 0 || bytes > maxBatchBytes {
			parts, bytes = append(parts, &Batch{}), size
		}
		part := parts[len(parts)-1]
		part.list = append(part.list, s)
	}
	return parts
}

// send begins to send a batch. The driver's batch is made for each, because it remembers prepared statements.
func (db *DB) send(ctx context.Context, b *Batch) pgx.BatchResults {
	queue := &pgx.Batch{}
	for _, s := range b.list {
		queue.Queue(s.sql, s.args...)
	}
	return db.on.SendBatch(ctx, queue)
}

// Send executes the statements of a batch, all or none. In a transaction, its statements before the one that fails
// are part of the transaction.
func (db *DB) Send(ctx context.Context, b *Batch) error {
	return AsFault(db.send(ctx, b).Close())
}

// SendEach is Send for a transaction, and returns of each statement in turn the number of rows that it changed, or the
// error as PostgreSQL answered it (RejectionOf), or why it could not be sent.
func (db *DB) SendEach(ctx context.Context, b *Batch) iter.Seq2[int64, error] {
	return func(yield func(int64, error) bool) {
		results := db.send(ctx, b)
		defer results.Close() // its error repeats that of an answer
		for range b.Len() {
			tag, err := results.Exec()
			if !yield(tag.RowsAffected(), err) {
				return
			}
		}
	}
}

// sizeOf estimates the size of an argument, in bytes.
func sizeOf(arg any) int {
	switch v := arg.(type) {
	case string:
		return len(v)
	case *string:
		if v != nil {
			return len(*v)
		}
	case []byte:
		return len(v)
	case json.RawMessage:
		return len(v)
	case []string:
		size := 0
		for _, text := range v {
			size += len(text)
		}
		return size
	}
	return 16
}
