package store

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/detent-ml/detent/master/budget"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
)

// Timeouts of a statement and of an idle transaction. They are shorter than the leader's
// lease, so that no statement of a leader is still running after its lease has expired.
const (
	statementTimeout = 20 * time.Second
	idleInTxTimeout  = 10 * time.Second
	maxRetries       = 5
	// callTimeout limits a call without a deadline, including a transaction with all its
	// statements. The server enforces the limits above, but it may not answer at all.
	callTimeout = 2 * time.Minute
)

// querier is the interface of a pool and of a transaction.
type querier interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
	SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults
	CopyFrom(ctx context.Context, table pgx.Identifier, columns []string, src pgx.CopyFromSource) (int64, error)
}

// DB is the database: a pool, or within Tx one transaction.
type DB struct {
	querier
	pool   *pgxpool.Pool // nil within a transaction
	dsn    string
	within time.Duration // timeout of a call without a deadline; 0 in a transaction, which has a deadline
	memory budget.Budget // for the searches of all experiments
	sums   *memorySums   // of that memory
	limits Limits        // for what users store
	stored *storedSums   // by users
	roles  bool          // roles decide what users may do
	owners *owners       // of connections; nil within a transaction
}

// Options tune the pool.
type Options struct {
	MaxConns int32
	Within   time.Duration // timeout of a call without a deadline; 0: two minutes
	Memory   budget.Budget // memory for the searches of all experiments, in one master
	Roles    bool          // roles decide what users may do; else only owners and admins
	Limits   Limits        // for what users store
}

// Dedicated opens another pool to the same database, with one connection, for calls that
// must not wait until requests release their connections.
func (db *DB) Dedicated(ctx context.Context, within time.Duration) (*DB, error) {
	return Open(ctx, db.dsn, Options{MaxConns: 1, Within: within, Roles: db.roles})
}

// Beside opens another pool of conns connections to the same database, for calls that must not wait until
// requests release theirs. It shares with db what both know of the searches and of what users store.
func (db *DB) Beside(ctx context.Context, conns int32) (*DB, error) {
	other, err := Open(ctx, db.dsn, Options{MaxConns: conns, Within: db.within, Memory: db.memory, Roles: db.roles, Limits: db.limits})
	if err != nil {
		return nil, err
	}
	other.sums, other.stored = db.sums, db.stored
	return other, nil
}

// bounded gives a call a deadline if it has none.
func (db *DB) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, has := ctx.Deadline(); has || db.within == 0 {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, db.within)
}

// Open returns a pool. It does not wait for the server: a master also starts while its
// database does not answer, and answers 503.
func Open(ctx context.Context, dsn string, opts Options) (*DB, error) {
	cfg, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, fault.Wrap(fault.Invalid, err, "database: %q is not a PostgreSQL address: %v", Redact(dsn), err)
	}
	if opts.MaxConns > 0 {
		cfg.MaxConns = opts.MaxConns
	}
	cfg.MaxConnIdleTime = 5 * time.Minute
	p := cfg.ConnConfig.RuntimeParams
	p["application_name"] = "det-master"
	p["timezone"] = "UTC"
	setDefault(p, "statement_timeout", ms(statementTimeout))
	setDefault(p, "idle_in_transaction_session_timeout", ms(idleInTxTimeout))
	setDefault(p, "synchronous_commit", "on")
	cfg.AfterConnect = jsonAsSent
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, database.AsFault(err)
	}
	if opts.Within == 0 {
		opts.Within = callTimeout
	}
	return &DB{querier: pool, pool: pool, dsn: dsn, within: opts.Within, memory: opts.Memory, sums: &memorySums{}, roles: opts.Roles,
		limits: opts.Limits, stored: newStoredSums(), owners: newOwners(cfg.MaxConns)}, nil
}

// jsonAsSent makes a connection copy JSON into a json.RawMessage. pgx would let encoding/json parse it first, but PostgreSQL
// has checked it.
func jsonAsSent(_ context.Context, conn *pgx.Conn) error {
	decode := func(data []byte, v any) error {
		if raw, ok := v.(*json.RawMessage); ok {
			*raw = bytes.Clone(data)
			return nil
		}
		return json.Unmarshal(data, v)
	}
	types := conn.TypeMap()
	types.RegisterType(&pgtype.Type{Name: "json", OID: pgtype.JSONOID, Codec: &pgtype.JSONCodec{Marshal: json.Marshal, Unmarshal: decode}})
	types.RegisterType(&pgtype.Type{Name: "jsonb", OID: pgtype.JSONBOID, Codec: &pgtype.JSONBCodec{Marshal: json.Marshal, Unmarshal: decode}})
	return nil
}

func setDefault(m map[string]string, k, v string) {
	if _, ok := m[k]; !ok {
		m[k] = v
	}
}

func ms(d time.Duration) string { return fmt.Sprint(d.Milliseconds()) }

// Redact replaces the password in an address, so that messages can contain the address.
func Redact(dsn string) string {
	scheme, rest, ok := strings.Cut(dsn, "://")
	if !ok {
		return "…"
	}
	if user, host, ok := strings.Cut(rest, "@"); ok {
		name, _, _ := strings.Cut(user, ":")
		return scheme + "://" + name + ":…@" + host
	}
	return dsn
}

// Reach returns the host of the database in an address, or the folder of its socket, and whether connections
// check that the host has the database's certificate.
func Reach(dsn string) (host string, sure bool, err error) {
	cfg, err := pgconn.ParseConfig(dsn)
	if err != nil {
		return "", false, fault.Wrap(fault.Invalid, err, "database: %q is not a PostgreSQL address: %v", Redact(dsn), err)
	}
	checks := func(t *tls.Config) bool { return t != nil && (!t.InsecureSkipVerify || t.VerifyPeerCertificate != nil) }
	sure = checks(cfg.TLSConfig)
	for _, f := range cfg.Fallbacks {
		sure = sure && checks(f.TLSConfig)
	}
	return cfg.Host, sure, nil
}

// Close ends the pool.
func (db *DB) Close() { db.pool.Close() }

// Ping asks whether the database answers.
func (db *DB) Ping(ctx context.Context) error { return database.AsFault(db.pool.Ping(ctx)) }

// Conns returns how many connections are open, in use, and allowed.
func (db *DB) Conns() (total, used, allowed int32) {
	s := db.pool.Stat()
	return s.TotalConns(), s.AcquiredConns(), s.MaxConns()
}

// Tx runs fn in a transaction, and commits if fn returns nil. After a serialization failure
// or a deadlock it runs fn again, so fn must have no effects besides its SQL.
func (db *DB) Tx(ctx context.Context, fn func(tx *DB) error) error {
	return db.tx(ctx, pgx.TxOptions{}, fn)
}

// groupTx is Tx for a group commit. Each connection plans its statements once: left to itself, PostgreSQL plans them anew for
// each commit, because it expects more rows of an array whose length it does not know.
func (db *DB) groupTx(ctx context.Context, fn func(tx *DB) error) error {
	return db.tx(ctx, pgx.TxOptions{BeginQuery: "BEGIN; SET LOCAL plan_cache_mode = force_generic_plan"}, fn)
}

// Snapshot runs fn in one read-only snapshot of the database.
func (db *DB) Snapshot(ctx context.Context, fn func(tx *DB) error) error {
	return db.tx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, fn)
}

func (db *DB) tx(ctx context.Context, opts pgx.TxOptions, fn func(tx *DB) error) error {
	if db.pool == nil {
		panic("store: a transaction within a transaction")
	}
	ctx, cancel := db.bounded(ctx)
	defer cancel()
	take := db.owners.takeChange
	if opts.AccessMode == pgx.ReadOnly {
		take = db.owners.takeRead
	}
	release, err := take(ctx)
	if err != nil {
		return err
	}
	defer release()
	for range maxRetries {
		err = pgx.BeginTxFunc(ctx, db.pool, opts, func(tx pgx.Tx) error {
			return fn(&DB{querier: tx, dsn: db.dsn, memory: db.memory, sums: db.sums, roles: db.roles, limits: db.limits, stored: db.stored})
		})
		if !retriable(err) {
			break
		}
	}
	return database.AsFault(err)
}

func retriable(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && (pg.Code == "40001" || pg.Code == "40P01")
}

// exec runs one statement, and returns the number of rows that it changed.
func (db *DB) exec(ctx context.Context, sql string, args ...any) (int64, error) {
	ctx, cancel := db.bounded(ctx)
	defer cancel()
	release, err := db.owners.takeFor(ctx, sql)
	if err != nil {
		return 0, err
	}
	defer release()
	tag, err := db.Exec(ctx, sql, args...)
	return tag.RowsAffected(), database.AsFault(err)
}

// query begins a query in the part of the owner in ctx; release ends it.
func (db *DB) query(ctx context.Context, sql string, args ...any) (r pgx.Rows, release func(), err error) {
	free, err := db.owners.takeFor(ctx, sql)
	if err != nil {
		return nil, nil, err
	}
	if r, err = db.Query(ctx, sql, args...); err != nil {
		free()
		return nil, nil, database.AsFault(err)
	}
	return r, func() { r.Close(); free() }, nil
}

// rows collects a query's rows by the names of T's fields (tag db).
func rows[T any](ctx context.Context, db *DB, sql string, args ...any) ([]T, error) {
	ctx, cancel := db.bounded(ctx)
	defer cancel()
	r, release, err := db.query(ctx, sql, args...)
	if err != nil {
		return nil, err
	}
	defer release()
	list, err := pgx.CollectRows(limited(ctx, r), pgx.RowToStructByName[T])
	return list, database.AsFault(err)
}

// row reads exactly one row; what names the object in the error if there is no row.
func row[T any](ctx context.Context, db *DB, what string, sql string, args ...any) (T, error) {
	ctx, cancel := db.bounded(ctx)
	defer cancel()
	var zero T
	r, release, err := db.query(ctx, sql, args...)
	if err != nil {
		return zero, err
	}
	defer release()
	v, err := pgx.CollectExactlyOneRow(r, pgx.RowToStructByName[T])
	if errors.Is(err, pgx.ErrNoRows) {
		return v, fault.New(fault.NotFound, "%s not found", what)
	}
	return v, database.AsFault(err)
}

// scalar reads one value.
func scalar[T any](ctx context.Context, db *DB, sql string, args ...any) (T, error) {
	ctx, cancel := db.bounded(ctx)
	defer cancel()
	var v T
	release, err := db.owners.takeFor(ctx, sql)
	if err != nil {
		return v, err
	}
	defer release()
	err = db.QueryRow(ctx, sql, args...).Scan(&v)
	return v, database.AsFault(err)
}
