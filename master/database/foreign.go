package database

import (
	"context"
	"errors"
	"io"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/detent-ml/detent/master/fault"
)

// A Foreign is one snapshot of the database of another program, which is only read. Its connection and the
// transaction last until Close, without limits of time: a copy may take hours.
type Foreign struct {
	*DB
	conn *pgx.Conn
}

// OpenForeign connects to a database of another program and begins a snapshot of it.
func OpenForeign(ctx context.Context, dsn string) (*Foreign, error) { return openForeign(ctx, dsn, "") }

// OpenSchema begins a snapshot of a schema of this database that has the tables of another program.
func (db *DB) OpenSchema(ctx context.Context, schema string) (*Foreign, error) {
	return openForeign(ctx, db.dsn, schema)
}

func openForeign(ctx context.Context, dsn, schema string) (*Foreign, error) {
	cfg, err := pgx.ParseConfig(dsn)
	if err != nil {
		return nil, fault.Wrap(fault.Invalid, err, "%q is not a PostgreSQL address: %v", Redact(dsn), err)
	}
	patient(cfg.RuntimeParams)
	if schema != "" {
		cfg.RuntimeParams["search_path"] = schema
	}
	conn, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		return nil, fault.Wrap(fault.Unavailable, err, "cannot connect to %s: %v", Redact(dsn), err)
	}
	tx, err := conn.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	if err != nil {
		return nil, errors.Join(AsFault(err), conn.Close(ctx))
	}
	return &Foreign{DB: &DB{on: tx, dsn: dsn}, conn: conn}, nil
}

// patient are the parameters of a connection whose statements may take as long as they need.
func patient(p map[string]string) {
	p["application_name"] = "det-master import"
	p["timezone"] = "UTC"
	p["statement_timeout"] = "0"
	p["lock_timeout"] = "0"
	p["idle_in_transaction_session_timeout"] = "0"
	p["jit"] = "off" // it compiles statements over many columns for seconds
}

// Close ends the snapshot and the connection.
func (f *Foreign) Close(ctx context.Context) error { return f.conn.Close(context.WithoutCancel(ctx)) }

// Alone runs fn in a transaction on a connection of its own, without limits of time. As in Tx, fn must have no effects
// besides its SQL; but Alone does not repeat it.
func (db *DB) Alone(ctx context.Context, fn func(tx *DB) error) error {
	cfg, err := pgx.ParseConfig(db.dsn)
	if err != nil {
		return err
	}
	patient(cfg.RuntimeParams)
	conn, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		return AsFault(err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	var failed error
	err = pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		failed = fn(&DB{on: tx, dsn: db.dsn})
		return failed
	})
	if failed != nil {
		return failed // with what fn says of it
	}
	return AsFault(err)
}

// Receive copies what a query of another database returns into columns of a table, and returns the number of rows. The
// query has as many columns, whose texts PostgreSQL reads as values of the table's. db is a transaction.
func (db *DB) Receive(ctx context.Context, from *Foreign, query, table string, columns []string) (int64, error) {
	tx, ok := db.on.(pgx.Tx)
	if !ok {
		return 0, errors.New("database: Receive needs a transaction")
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r, w := io.Pipe()
	sent := make(chan error, 1)
	go func() {
		_, err := from.conn.PgConn().CopyTo(ctx, w, "COPY ("+query+") TO STDOUT")
		_ = w.CloseWithError(err)
		sent <- err
	}()
	tag, err := tx.Conn().PgConn().CopyFrom(ctx, r, "COPY "+table+" ("+strings.Join(columns, ", ")+") FROM STDIN")
	_ = r.CloseWithError(err)
	return tag.RowsAffected(), AsFault(errors.Join(<-sent, err))
}

// Exclusively runs fn while no other caller with the same key runs, in any process; busy is the error if one does.
func (db *DB) Exclusively(ctx context.Context, key int64, busy error, fn func() error) error {
	conn, err := pgx.Connect(ctx, db.dsn)
	if err != nil {
		return AsFault(err)
	}
	defer conn.Close(context.WithoutCancel(ctx)) // which ends the lock, too, but a moment later
	var free bool
	if err := conn.QueryRow(ctx, `SELECT pg_try_advisory_lock($1)`, key).Scan(&free); err != nil {
		return AsFault(err)
	}
	if !free {
		return busy
	}
	err = fn()
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), unlockWithin)
	defer cancel()
	_, unlocked := conn.Exec(last, `SELECT pg_advisory_unlock($1)`, key)
	return errors.Join(err, ignoreClosed(conn, unlocked))
}

// unlockWithin is the time limit of the end of an exclusive lock.
const unlockWithin = 10 * time.Second

// ignoreClosed ignores the error of a call over a connection that is closed: its lock has ended.
func ignoreClosed(conn *pgx.Conn, err error) error {
	if conn.IsClosed() {
		return nil
	}
	return AsFault(err)
}
