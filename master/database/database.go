package database

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

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
}

// DB is the database: a pool, or within Tx one transaction. Its functions work on both.
type DB struct {
	on     querier
	pool   *pgxpool.Pool // nil within a transaction
	dsn    string
	within time.Duration // timeout of a call without a deadline; 0 within a transaction
	until  time.Time     // deadline of the transaction, for its statements too; zero in a pool
	owners *owners       // of connections; nil within a transaction
}

// Options tune the pool.
type Options struct {
	MaxConns int32
	Within   time.Duration // timeout of a call without a deadline; 0: two minutes
}

// Dedicated opens another pool to the same database, with one connection, for calls that
// must not wait until requests release their connections.
func (db *DB) Dedicated(ctx context.Context, within time.Duration) (*DB, error) {
	return Open(ctx, db.dsn, Options{MaxConns: 1, Within: within})
}

// Beside opens another pool of conns connections to the same database, for calls that must not wait until
// requests release theirs.
func (db *DB) Beside(ctx context.Context, conns int32) (*DB, error) {
	return Open(ctx, db.dsn, Options{MaxConns: conns, Within: db.within})
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
	setDefault(p, "jit", "off") // compiling a statement takes longer than any of ours: a search of 100,000 runs took 5 s instead of 0.6
	cfg.AfterConnect = jsonAsSent
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, AsFault(err)
	}
	opts.Within = cmp.Or(opts.Within, callTimeout)
	return &DB{on: pool, pool: pool, dsn: dsn, within: opts.Within, owners: newOwners(cfg.MaxConns)}, nil
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

// Redact removes the password from an address, so that messages can contain the address: of what comes before the last @ the username stays, and
// of the parameters those that say where the database is.
func Redact(dsn string) string {
	scheme, rest, ok := strings.Cut(dsn, "://")
	if !ok {
		return "…"
	}
	rest, query, asked := strings.Cut(rest, "?")
	if strings.Contains(query, "@") { // of the password, or of a parameter
		return scheme + "://…"
	}
	if at := strings.LastIndexByte(rest, '@'); at >= 0 {
		name, _, _ := strings.Cut(rest[:at], ":")
		rest = name + ":…@" + rest[at+1:]
	}
	if !asked {
		return scheme + "://" + rest
	}
	var shown []string
	for part := range strings.SplitSeq(query, "&") {
		if key, _, _ := strings.Cut(part, "="); slices.Contains([]string{"host", "port", "dbname", "sslmode"}, key) {
			shown = append(shown, part)
		}
	}
	return scheme + "://" + rest + "?" + strings.Join(append(shown, "…"), "&")
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
func (db *DB) Ping(ctx context.Context) error { return AsFault(db.pool.Ping(ctx)) }

// Now is the time of the database.
func (db *DB) Now(ctx context.Context) (time.Time, error) {
	return Scalar[time.Time](ctx, db, `SELECT now()`)
}

// Conns returns how many connections are open, in use, and allowed.
func (db *DB) Conns() (total, used, allowed int32) {
	s := db.pool.Stat()
	return s.TotalConns(), s.AcquiredConns(), s.MaxConns()
}

// Tx runs fn in a transaction, and commits if fn returns nil. After a serialization failure or a deadlock, and where
// the server ended the transaction because a stalled master said nothing in it for too long, it runs fn again, so fn
// must have no effects besides its SQL.
func (db *DB) Tx(ctx context.Context, fn func(tx *DB) error) error {
	return db.tx(ctx, pgx.TxOptions{}, fn)
}

// GroupTx is Tx for a group commit. Each connection plans its statements once: left to itself, PostgreSQL plans them anew for
// each commit, because it expects more rows of an array whose length it does not know.
func (db *DB) GroupTx(ctx context.Context, fn func(tx *DB) error) error {
	return db.tx(ctx, pgx.TxOptions{BeginQuery: "BEGIN; SET LOCAL plan_cache_mode = force_generic_plan"}, fn)
}

// Snapshot runs fn in one read-only snapshot of the
func (db *DB) Snapshot(ctx context.Context, fn func(tx *DB) error) error {
	return db.tx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, fn)
}

func (db *DB) tx(ctx context.Context, opts pgx.TxOptions, fn func(tx *DB) error) error {
	if db.pool == nil {
		panic("database: a transaction within a transaction")
	}
	ctx, cancel := db.Bounded(ctx)
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
	until, _ := ctx.Deadline()
	for range maxRetries {
		err = pgx.BeginTxFunc(ctx, db.pool, opts, func(tx pgx.Tx) error {
			return fn(&DB{on: tx, dsn: db.dsn, until: until})
		})
		if !retriable(err) {
			break
		}
	}
	return AsFault(err)
}

func retriable(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && (pg.Code == "40001" || pg.Code == "40P01" || pg.Code == "25P03")
}
