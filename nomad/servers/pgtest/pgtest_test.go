package pgtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/detent-ml/detent/nomad/servers"
)

func query[T any](t *testing.T, dsn, sql string) T {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	var v T
	if err := conn.QueryRow(t.Context(), sql).Scan(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

func exec(ctx context.Context, dsn, sql string) error {
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, sql)
	return err
}

func TestEachTestHasItsOwnCopyOfOneSchema(t *testing.T) {
	schema := fmt.Sprintf("%s-%d", t.Name(), time.Now().UnixNano())
	var mu sync.Mutex
	ran := 0
	migrate := func(ctx context.Context, dsn string) error {
		mu.Lock()
		ran++
		mu.Unlock()
		return exec(ctx, dsn, `CREATE TABLE t (v int); INSERT INTO t VALUES (1)`)
	}
	t.Run("group", func(t *testing.T) {
		for i := range 8 {
			t.Run(fmt.Sprint(i), func(t *testing.T) {
				t.Parallel()
				dsn := New(t, schema, migrate)
				if err := exec(t.Context(), dsn, `INSERT INTO t VALUES (2)`); err != nil {
					t.Fatal(err)
				}
				if n := query[int](t, dsn, `SELECT count(*) FROM t`); n != 2 {
					t.Errorf("%d rows, expected the schema's one and this test's one", n)
				}
			})
		}
	})
	if ran != 1 {
		t.Errorf("the schema was migrated %d times, expected once", ran)
	}
}

func TestFailedMigrationLeavesNothing(t *testing.T) {
	s, err := shared()
	if err != nil {
		t.Fatal(err)
	}
	schema := fmt.Sprintf("%s-%d", t.Name(), time.Now().UnixNano())
	_, err = s.template(t.Context(), schema, func(ctx context.Context, dsn string) error {
		return exec(ctx, dsn, `CREATE TABLE half (v int); SELECT 1/0`)
	})
	if err == nil || !strings.Contains(err.Error(), "division by zero") {
		t.Fatalf("error %v, expected the error of the migration", err)
	}
	dsn := New(t, schema, func(ctx context.Context, dsn string) error { return exec(ctx, dsn, `CREATE TABLE whole (v int)`) })
	if n := query[int](t, dsn, `SELECT count(*) FROM pg_tables WHERE schemaname = 'public'`); n != 1 {
		t.Errorf("%d tables, expected the second migration's one", n)
	}
}

func TestSweepDropsOldDatabasesOnly(t *testing.T) {
	s, err := shared()
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	old := fmt.Sprintf("test_%d_%d_sweep", now.Add(-2*keepFailed).Unix(), os.Getpid())
	young := fmt.Sprintf("test_%d_%d_sweep", now.Unix(), os.Getpid())
	for _, name := range []string{old, young} {
		if err := s.clone(t.Context(), "template1", name); err != nil {
			t.Fatal(err)
		}
		defer s.drop(context.Background(), name)
	}
	if err := s.sweep(t.Context(), now); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{old: false, young: true} {
		if got, err := s.exists(t.Context(), name); err != nil || got != want {
			t.Errorf("%s exists: %v %v, expected %v", name, got, err, want)
		}
	}
}

func TestDSNOfAnotherDatabase(t *testing.T) {
	for raw, want := range map[string]string{
		"postgres://u:p@h:1/postgres?sslmode=disable": "postgres://u:p@h:1/x?sslmode=disable",
		"postgres://u:p@h:1/postgres":                 "postgres://u:p@h:1/x",
		"postgres://u@h":                              "postgres://u@h/x",
		"host=h user=u":                               "host=h user=u dbname=x",
	} {
		if got := (&server{raw: raw}).dsn("x"); got != want {
			t.Errorf("%s: %s, expected %s", raw, got, want)
		}
	}
}

// The keeper must not end a server in use, and must end one that is not: both with servers of their own, on the disk and in
// memory. In memory it also removes the data.
func TestKeeperEndsAnIdleServer(t *testing.T) {
	cache, err := servers.ServiceCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, parent string
		stays        bool
	}{{"disk", cache, true}, {"memory", memory, false}} {
		t.Run(test.name, func(t *testing.T) {
			if memoryDir(test.parent, os.Geteuid()) == "" && test.parent == memory {
				t.Skip("this machine has too little memory for databases")
			}
			dir := filepath.Join(test.parent, fmt.Sprintf("pgtest-keeper-%d", os.Getpid()))
			t.Cleanup(func() { os.RemoveAll(dir) })
			pg, err := servers.StartPostgres(t.Context(), servers.PostgresOptions{Dir: filepath.Join(dir, "server"), Ephemeral: true})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = pg.Stop(context.Background()) })
			users, err := os.OpenFile(usersFile(dir), os.O_CREATE|os.O_RDWR, 0o600)
			if err != nil {
				t.Fatal(err)
			}
			defer users.Close()
			if got, err := servers.TryLock(users, false); !got || err != nil {
				t.Fatalf("the users' lock: %v %v", got, err)
			}
			if ended, used, err := endIfIdle(t.Context(), dir, true); ended || !used || err != nil {
				t.Fatalf("with a user: ended %v, used %v, %v; expected a server in use", ended, used, err)
			}
			if !pg.Running() {
				t.Fatal("the keeper stopped a server in use")
			}
			users.Close()
			if err := keep(t.Context(), dir, 30*time.Millisecond, 10*time.Millisecond); err != nil {
				t.Fatal(err)
			}
			if pg.Running() {
				t.Error("the server still runs without users")
			}
			if _, err := os.Stat(pg.Dir); (err == nil) != test.stays {
				t.Errorf("the data: %v", err)
			}
		})
	}
}

func TestMemoryDir(t *testing.T) {
	parent, uid := t.TempDir(), os.Geteuid()
	own := filepath.Join(parent, fmt.Sprintf("detent-pgtest-%d", uid))
	if got := memoryDir(filepath.Join(parent, "nowhere"), uid); got != "" {
		t.Errorf("without the parent: %s", got)
	}
	server := filepath.Join(t.TempDir(), "server")
	if err := errors.Join(os.Mkdir(server, 0o700), os.Symlink(filepath.Dir(server), own)); err != nil {
		t.Fatal(err)
	}
	if got := memoryDir(parent, uid); got != "" {
		t.Errorf("a link of somebody: %s", got)
	}
	for mode, want := range map[os.FileMode]string{0o777: "", 0o775: "", 0o755: own, 0o700: own} {
		if err := errors.Join(os.RemoveAll(own), os.MkdirAll(filepath.Join(own, "server"), 0o755), os.Chmod(own, mode)); err != nil {
			t.Fatal(err)
		}
		if got := memoryDir(parent, uid); got != want {
			t.Errorf("%o: %q, want %q", mode, got, want)
		}
	}
	theirs := filepath.Join(parent, fmt.Sprintf("detent-pgtest-%d", uid+1))
	if err := os.MkdirAll(filepath.Join(theirs, "server"), 0o755); err != nil {
		t.Fatal(err)
	}
	if got := memoryDir(parent, uid+1); got != "" {
		t.Errorf("the folder of another user: %s", got)
	}
}

func BenchmarkNew(b *testing.B) {
	schema := fmt.Sprintf("%s-%d", b.Name(), time.Now().UnixNano())
	migrate := func(ctx context.Context, dsn string) error { return exec(ctx, dsn, `CREATE TABLE t (v int)`) }
	for b.Loop() {
		New(b, schema, migrate)
	}
}
