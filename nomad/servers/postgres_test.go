package servers

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"
)

// postgresDir makes a folder that PostgreSQL's account can enter. For root, that account cannot enter
// the folder of t.TempDir.
func postgresDir(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("it starts PostgreSQL")
	}
	cache, err := ServiceCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	base := filepath.Join(cache, "test")
	if err := os.MkdirAll(base, 0o755); err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp(base, "postgres-")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return filepath.Join(dir, "pg")
}

func startFor(t *testing.T, opts PostgresOptions) *Postgres {
	t.Helper()
	pg, err := StartPostgres(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := pg.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return pg
}

func ask[T any](t *testing.T, dsn, sql string) T {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	var v T
	if err := conn.QueryRow(t.Context(), sql).Scan(&v); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return v
}

func TestPostgresKeepsWhatWasCommitted(t *testing.T) {
	dir := postgresDir(t)
	pg := startFor(t, PostgresOptions{Dir: dir})
	if n := ask[int](t, pg.DSN, `WITH made AS (SELECT 1) SELECT * FROM made`); n != 1 {
		t.Fatal("PostgreSQL does not answer")
	}
	conn, err := pgx.Connect(t.Context(), pg.DSN)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Exec(t.Context(), `CREATE TABLE t (v text); INSERT INTO t VALUES ('kept')`); err != nil {
		t.Fatal(err)
	}
	dsn := pg.DSN

	for name, end := range map[string]func() error{
		"restart": func() error { return pg.Restart(t.Context()) },
		"kill -9": func() error {
			// A client is connected, whose backend continues for a moment after the postmaster ended.
			client, err := pgx.Connect(t.Context(), pg.DSN)
			if err != nil {
				return err
			}
			defer client.Close(context.Background())
			if err := pg.Kill(t.Context()); err != nil {
				return err
			}
			if pg.Running() {
				return fmt.Errorf("the server runs after kill -9")
			}
			return pg.Start(t.Context())
		},
		"stop and another handle": func() error {
			if err := pg.Stop(t.Context()); err != nil {
				return err
			}
			other, err := OpenPostgres(dir)
			if err != nil {
				return err
			}
			if other.Running() {
				return fmt.Errorf("a stopped server is reported as running")
			}
			*pg = *other
			return pg.Start(t.Context())
		},
	} {
		t.Run(name, func(t *testing.T) {
			if err := end(); err != nil {
				t.Fatal(err)
			}
			if pg.DSN != dsn {
				t.Errorf("PostgreSQL's address changed from %s to %s", dsn, pg.DSN)
			}
			if v := ask[string](t, pg.DSN, `SELECT v FROM t`); v != "kept" {
				t.Errorf("the table has %q", v)
			}
		})
	}
	for _, setting := range []string{"fsync", "synchronous_commit", "full_page_writes", "data_checksums"} {
		if v := ask[string](t, pg.DSN, "SHOW "+setting); v != "on" {
			t.Errorf("%s is %s in a server that must keep its data", setting, v)
		}
	}
	if v := ask[string](t, pg.DSN, "SHOW listen_addresses"); v != "127.0.0.1" {
		t.Errorf("PostgreSQL listens on %s", v)
	}
}

func TestPostgresStartedTwiceIsOne(t *testing.T) {
	opts := PostgresOptions{Dir: postgresDir(t), Ephemeral: true}
	var wg sync.WaitGroup
	pids := make([]int, 3)
	for i := range pids {
		wg.Go(func() {
			pg, err := StartPostgres(t.Context(), opts)
			if err != nil {
				t.Error(err)
				return
			}
			pids[i] = pg.Pid
		})
	}
	wg.Wait()
	pg := startFor(t, opts)
	for _, pid := range pids {
		if pid != pg.Pid {
			t.Errorf("pids %v and %d, expected one server", pids, pg.Pid)
		}
	}
	if v := ask[string](t, pg.DSN, "SHOW fsync"); v != "off" {
		t.Errorf("fsync is %s in an ephemeral server", v)
	}
	opts.Port = pg.Port + 1
	if _, err := StartPostgres(t.Context(), opts); err == nil || !strings.Contains(err.Error(), "already runs, on port "+strconv.Itoa(pg.Port)) {
		t.Errorf("error %v, expected the port of the running server", err)
	}
}

// After a crash, the pid in a pid file can belong to another program.
func TestPostgresStartsOverAStalePidFile(t *testing.T) {
	pg := startFor(t, PostgresOptions{Dir: postgresDir(t), Ephemeral: true})
	if err := pg.Kill(t.Context()); err != nil {
		t.Fatal(err)
	}
	who, err := postgresAccount()
	if err != nil {
		t.Fatal(err)
	}
	// A program of the same account: PostgreSQL itself would take it for a server of this data.
	other := exec.Command("sleep", "600")
	if who.other() {
		other.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: who.uid, Gid: who.gid}}
	}
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Process.Kill(); _ = other.Wait() }()
	file := filepath.Join(dataDir(pg.Dir), "postmaster.pid")
	lines, err := postmasterFile(pg.Dir)
	if err != nil {
		t.Fatal(err)
	}
	lines[0] = strconv.Itoa(other.Process.Pid)
	if err := os.WriteFile(file, []byte(strings.Join(lines, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := pg.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := ask[int](t, pg.DSN, `SELECT 1`); n != 1 {
		t.Error("PostgreSQL does not answer")
	}
}

func TestPostgresOnATakenPort(t *testing.T) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	port := l.Addr().(*net.TCPAddr).Port
	_, err = StartPostgres(t.Context(), PostgresOptions{Dir: postgresDir(t), Port: port, Ephemeral: true})
	want := fmt.Sprintf("port %d on 127.0.0.1 is in use by", port)
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, expected %q", err, want)
	}
}

func TestPostgresWhereItsAccountMayNotGo(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root runs it under another account")
	}
	closed := filepath.Join(t.TempDir(), "closed")
	if err := os.Mkdir(closed, 0o700); err != nil {
		t.Fatal(err)
	}
	_, err := StartPostgres(t.Context(), PostgresOptions{Dir: filepath.Join(closed, "pg")})
	if err == nil || !strings.Contains(err.Error(), "may not enter") || !strings.Contains(err.Error(), "choose a folder") {
		t.Errorf("error %v, expected the folder and what to do", err)
	}
}

func TestPostgresWhoseVersionIsGone(t *testing.T) {
	who, err := postgresAccount()
	if err != nil {
		t.Fatal(err)
	}
	_, err = postgresBinaries(t.Context(), "9", who, func(string) {})
	if err == nil || !strings.Contains(err.Error(), "written by PostgreSQL 9") {
		t.Errorf("error %v, expected the version that is missing", err)
	}
}

// The downloaded binaries must run on this machine under any account.
func TestPostgresOutOfThePackage(t *testing.T) {
	dir := postgresDir(t)
	t.Setenv("DETENT_CACHE", filepath.Dir(dir))
	who, err := postgresAccount()
	if err != nil {
		t.Fatal(err)
	}
	bins, err := fetchPostgres(t.Context(), who, func(message string) { t.Log(message) })
	if err != nil {
		t.Fatal(err)
	}
	opts, err := PostgresOptions{Dir: dir, Ephemeral: true}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	if err := prepareDir(dir, who); err != nil {
		t.Fatal(err)
	}
	if _, err := initData(t.Context(), opts, bins, who); err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadDir(filepath.Join(filepath.Dir(dir), "servers"))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range left {
		if strings.HasSuffix(e.Name(), ".new") {
			t.Errorf("left by the fetch: %s", e.Name())
		}
	}
	// The data has the format of that version, so the start must choose these binaries.
	pg := startFor(t, opts)
	if v := ask[string](t, pg.DSN, "SHOW server_version"); v != bins.version {
		t.Errorf("version %s, expected %s", v, bins.version)
	}
}
