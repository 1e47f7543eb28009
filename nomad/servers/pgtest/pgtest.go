// Package pgtest gives every test its own PostgreSQL database.
//
// All test processes of a user share one server. One database for each schema is migrated once and then
// copied for each test, which takes milliseconds:
//
//	dsn := pgtest.New(t, schema.Hash(), schema.Migrate)
//
// The first test starts the server, without protection against a crash of the machine: in /dev/shm if
// enough memory is free, else in the cache. The server continues to run when the process ends, because
// the next package's tests need it a second later; a keeper process (keeper.go) stops it when no test
// process has used it for half an hour, and removes it from memory. A database is dropped when its test
// passes. When the test fails, the database is kept and its address printed: in memory until the keeper
// removes it, on the disk (which DETENT_CACHE chooses) for a day.
//
// DETENT_TEST_POSTGRES is the DSN of another server to use, with a user who may create databases.
package pgtest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"regexp"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Migrate migrates an empty database. It must close its connections before it returns.
type Migrate func(ctx context.Context, dsn string) error

// databaseTime limits each step of the creation of a database, in case the server hangs.
const databaseTime = 10 * time.Minute

// The process has one connection to one server for all its tests; tests have no other way to share it.
var (
	shared  = sync.OnceValues(connect)
	counter atomic.Int64
)

// New returns the DSN of a new database whose schema migrate made. schema identifies the schema,
// usually by a hash of the migrations: for each name, migrate runs once, and later databases are
// copies.
func New(t testing.TB, schema string, migrate Migrate) string {
	t.Helper()
	s, err := shared()
	if err != nil {
		t.Fatalf("cannot start a PostgreSQL for tests: %v", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), databaseTime)
	defer cancel()
	template := "template1"
	if migrate != nil {
		if template, err = s.template(ctx, schema, migrate); err != nil {
			t.Fatalf("cannot migrate the database that tests copy: %v", err)
		}
	}
	name := databaseName(t.Name())
	if err := s.clone(ctx, template, name); err != nil {
		t.Fatalf("cannot create a database for the test: %v", err)
	}
	dsn := s.dsn(name)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the test's database is kept: %s", dsn)
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), databaseTime)
		defer cancel()
		if err := s.drop(ctx, name); err != nil {
			t.Logf("cannot drop the test's database: %v", err)
		}
	})
	return dsn
}

// Empty returns the DSN of a new empty database.
func Empty(t testing.TB) string {
	t.Helper()
	return New(t, "", nil)
}

// server creates and drops databases through one small pool of connections.
type server struct {
	pool *pgxpool.Pool
	raw  string
	// inUse holds the lock that prevents the keeper from stopping the shared server.
	inUse *os.File
}

// garbage is the percentage by which the memory of a test process grows before it collects garbage: a test's requests and rows live for
// moments, and at Go's 100 % a seventh of the processor time of such tests is the collector's.
const garbage = 400

func connect() (*server, error) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(garbage)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute) // the first time it may download PostgreSQL
	defer cancel()
	dsn, inUse := os.Getenv("DETENT_TEST_POSTGRES"), (*os.File)(nil)
	if dsn == "" {
		var err error
		if dsn, inUse, err = sharedServer(ctx); err != nil {
			return nil, err
		}
	}
	cfg, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, fmt.Errorf("cannot parse the DSN of the test server: %w", err)
	}
	cfg.MaxConns = 4
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, err
	}
	s := &server{pool: pool, raw: dsn, inUse: inUse}
	return s, s.sweep(ctx, time.Now())
}

// dsn is the address of another database on the same server.
func (s *server) dsn(database string) string {
	for _, sep := range []string{"?", ""} {
		rest, query, found := s.raw, "", true
		if sep != "" {
			rest, query, found = strings.Cut(s.raw, sep)
		}
		if scheme, path, ok := strings.Cut(rest, "://"); found && ok {
			host, _, _ := strings.Cut(path, "/")
			if query != "" {
				query = "?" + query
			}
			return scheme + "://" + host + "/" + database + query
		}
	}
	return s.raw + " dbname=" + database // keywords and values; the last one wins
}

// template returns the name of the database with the schema, and creates it if it is missing. Only one
// process creates it, and renames it when it is complete.
func (s *server) template(ctx context.Context, schema string, migrate Migrate) (string, error) {
	hash := sha256.Sum256([]byte(schema))
	name := "schema_" + hex.EncodeToString(hash[:6])
	there, err := s.exists(ctx, name)
	if there || err != nil {
		return name, err
	}
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return "", err
	}
	defer conn.Release()
	if _, err := conn.Exec(ctx, `SELECT pg_advisory_lock(hashtext($1))`, name); err != nil {
		return "", err
	}
	defer func() {
		_, _ = conn.Exec(context.WithoutCancel(ctx), `SELECT pg_advisory_unlock(hashtext($1))`, name)
	}()
	if there, err := s.exists(ctx, name); there || err != nil {
		return name, err
	}
	fresh := name + "_new"
	if err := s.drop(ctx, fresh); err != nil {
		return "", err
	}
	if _, err := conn.Exec(ctx, "CREATE DATABASE "+quote(fresh)); err != nil {
		return "", err
	}
	if err := migrate(ctx, s.dsn(fresh)); err != nil {
		return "", err
	}
	// A closed connection exists on the server for a moment longer, and would block the rename.
	if _, err := conn.Exec(ctx, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1 AND backend_type = 'client backend'`, fresh); err != nil {
		return "", err
	}
	if _, err := conn.Exec(ctx, fmt.Sprintf("COMMENT ON DATABASE %s IS '%d'", quote(fresh), time.Now().Unix())); err != nil {
		return "", err
	}
	_, err = conn.Exec(ctx, "ALTER DATABASE "+quote(fresh)+" RENAME TO "+quote(name))
	return name, err
}

func (s *server) exists(ctx context.Context, name string) (there bool, err error) {
	err = s.pool.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)`, name).Scan(&there)
	return there, err
}

// clone copies files, which takes half the time of what PostgreSQL does by default since version 15, the first that knows another way.
func (s *server) clone(ctx context.Context, template, name string) error {
	var version int
	if err := s.pool.QueryRow(ctx, "SELECT current_setting('server_version_num')::int").Scan(&version); err != nil {
		return err
	}
	strategy := ""
	if version >= 150_000 {
		strategy = " STRATEGY file_copy"
	}
	_, err := s.pool.Exec(ctx, "CREATE DATABASE "+quote(name)+" TEMPLATE "+quote(template)+strategy)
	return err
}

// drop waits until the connections that the test has closed are gone: if PostgreSQL finds one, it sleeps for 100 ms.
func (s *server) drop(ctx context.Context, name string) error {
	for open, tries := 1, 0; open > 0 && tries < 1000; tries++ {
		if err := s.pool.QueryRow(ctx, `SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = $1 AND backend_type = 'client backend'`, name).Scan(&open); err != nil {
			return err
		}
	}
	_, err := s.pool.Exec(ctx, "DROP DATABASE IF EXISTS "+quote(name)+" WITH (FORCE)")
	return err
}

const (
	keepFailed  = 24 * time.Hour
	keepSchemas = 7 * 24 * time.Hour
)

var testDatabase = regexp.MustCompile(`^test_(\d+)_`)

// sweep drops databases of earlier runs: those of failed tests and killed test processes after a day;
// schemas that were not created again for a week.
func (s *server) sweep(ctx context.Context, now time.Time) error {
	rows, err := s.pool.Query(ctx, `SELECT datname, coalesce(shobj_description(oid, 'pg_database'), '') FROM pg_database`)
	if err != nil {
		return err
	}
	type found struct{ Name, Comment string }
	all, err := pgx.CollectRows(rows, pgx.RowToStructByPos[found])
	if err != nil {
		return err
	}
	for _, db := range all {
		age, keep := time.Duration(0), keepFailed
		if m := testDatabase.FindStringSubmatch(db.Name); m != nil {
			age = sinceUnix(now, m[1])
		} else if strings.HasPrefix(db.Name, "schema_") {
			age, keep = sinceUnix(now, db.Comment), keepSchemas
		}
		if age <= keep {
			continue
		}
		if err := s.drop(ctx, db.Name); err != nil {
			return err
		}
	}
	return nil
}

// sinceUnix is the time since a moment in seconds; 0 if there is none.
func sinceUnix(now time.Time, seconds string) time.Duration {
	var at int64
	if _, err := fmt.Sscan(seconds, &at); err != nil {
		return 0
	}
	return now.Sub(time.Unix(at, 0))
}

var unfit = regexp.MustCompile(`[^a-z0-9]+`)

// databaseName contains the program and the time, within the 63 bytes that PostgreSQL allows.
func databaseName(test string) string {
	name := fmt.Sprintf("test_%d_%d_%d_%s", time.Now().Unix(), os.Getpid(), counter.Add(1),
		strings.Trim(unfit.ReplaceAllString(strings.ToLower(test), "_"), "_"))
	const maxName = 63
	return name[:min(len(name), maxName)]
}

func quote(name string) string { return pgx.Identifier{name}.Sanitize() }
