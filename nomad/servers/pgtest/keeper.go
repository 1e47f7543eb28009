package pgtest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/detent-ml/detent/nomad/servers"
	"github.com/detent-ml/detent/nomad/servers/proc"
)

const (
	// idleTime is how long the server waits for the next test process.
	idleTime = 30 * time.Minute
	// keeperVariable makes a test binary the keeper of the server in the named folder.
	keeperVariable = "DETENT_PGTEST_KEEPER"
)

// init runs the keeper in a test binary that was started as one. The keeper needs the same locks as the
// tests, so it must be Go; as a copy of the running test binary it needs no separate build, and only
// init runs before the tests of every package.
func init() {
	dir := os.Getenv(keeperVariable)
	if dir == "" {
		return
	}
	if err := keep(context.Background(), dir, idleTime, 10*time.Second); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// sharedServer starts the server that all test processes of this user share, or finds it running, and
// marks it as used while this process lives.
func sharedServer(ctx context.Context) (dsn string, inUse *os.File, err error) {
	if dir := memoryDir(memory, os.Geteuid()); dir != "" && os.Getenv("DETENT_CACHE") == "" {
		if dsn, inUse, err = use(ctx, dir); err == nil {
			return dsn, inUse, nil
		}
		fmt.Fprintln(os.Stderr, "pgtest: using the disk:", err)
	}
	cache, err := servers.ServiceCacheDir()
	if err != nil {
		return "", nil, err
	}
	return use(ctx, filepath.Join(cache, "pgtest"))
}

// use takes a shared lock on the users' file, which it returns, before it looks for the server. The
// caller keeps the file open until the process ends; the kernel then releases the lock, so a process
// with the exclusive lock knows that no test process remains.
func use(ctx context.Context, dir string) (dsn string, inUse *os.File, err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", nil, err
	}
	users, err := os.OpenFile(usersFile(dir), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return "", nil, err
	}
	if err := lockShared(ctx, users); err != nil {
		users.Close()
		return "", nil, err
	}
	pg, err := servers.StartPostgres(ctx, servers.PostgresOptions{
		Dir: filepath.Join(dir, "server"), Database: "postgres", Ephemeral: true, MaxConnections: 400,
		Progress: func(message string) { fmt.Fprintln(os.Stderr, "pgtest:", message) },
	})
	if err != nil {
		users.Close()
		return "", nil, err
	}
	return pg.DSN, users, startKeeper(dir)
}

// lockShared waits for the lock: the keeper has it exclusively for a short time, and while it stops the
// server.
func lockShared(ctx context.Context, users *os.File) error {
	for {
		got, err := servers.TryLock(users, false)
		if got || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("cannot wait for the keeper of %s: %w", users.Name(), ctx.Err())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func usersFile(dir string) string { return filepath.Join(dir, "users.lock") }

// startKeeper starts a keeper. If a keeper already runs, the new one ends at once.
func startKeeper(dir string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	_, err = proc.Start(proc.Spec{
		Path: self, Dir: dir, Log: filepath.Join(dir, "keeper.log"),
		Env: append(os.Environ(), keeperVariable+"="+dir),
	})
	if err != nil && kept(dir) { // it may end before its process can be identified
		return nil
	}
	return err
}

// kept reports whether a keeper runs.
func kept(dir string) bool {
	own, err := os.OpenFile(filepath.Join(dir, "keeper.lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return false
	}
	defer own.Close()
	free, err := servers.TryLock(own, true)
	return !free && err == nil
}

// keep stops the server when no process has used it for a whole idle time.
func keep(ctx context.Context, dir string, idle, every time.Duration) error {
	own, err := os.OpenFile(filepath.Join(dir, "keeper.lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer own.Close()
	if first, err := servers.TryLock(own, true); !first || err != nil {
		return err
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	unused := time.Duration(0)
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
		ended, used, err := endIfIdle(ctx, dir, unused+every >= idle)
		if ended || err != nil {
			return err
		}
		unused += every
		if used {
			unused = 0
		}
	}
}

// endIfIdle stops the server if no process uses it and the time has passed. A test process that starts
// meanwhile waits for the lock, and then starts the server again.
func endIfIdle(ctx context.Context, dir string, due bool) (ended, used bool, err error) {
	users, err := os.OpenFile(usersFile(dir), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return false, false, err
	}
	defer users.Close()
	alone, err := servers.TryLock(users, true)
	if !alone || err != nil {
		return false, true, err
	}
	if !due {
		return false, false, nil
	}
	pg, err := servers.OpenPostgres(filepath.Join(dir, "server"))
	if err != nil {
		return false, false, err
	}
	if err := pg.Stop(ctx); err != nil || filepath.Dir(dir) != memory {
		return true, false, err
	}
	return true, false, os.RemoveAll(pg.Dir)
}
