package servers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/detent-ml/detent/nomad/servers/proc"
)

const (
	postgresUser      = "detent"
	postgresStartTime = 60 * time.Second // crash recovery may take a while
	postgresStopTime  = 30 * time.Second
	postgresPoll      = 20 * time.Millisecond
)

// PostgresOptions configures a PostgreSQL server.
type PostgresOptions struct {
	// Dir is the folder of the server: data, log, password, Unix socket. One server per folder.
	Dir string
	// Port on 127.0.0.1. 0 means the last port, or a free one the first time.
	Port int
	// Database is created if it is missing; the default is "detent".
	Database string
	// Ephemeral trades durability for speed: a crash of the machine may destroy the data. For tests
	// only. Without it, every setting that protects committed transactions stays on.
	Ephemeral bool
	// MaxConnections is 200 by default.
	MaxConnections int
	// Progress, if not nil, is called with messages about slow steps.
	Progress func(message string)
}

// Postgres is a PostgreSQL server that listens on 127.0.0.1 only and continues to run when this program
// ends.
type Postgres struct {
	Dir string
	// DSN connects to its database as the server's superuser.
	DSN  string
	Port int
	// Pid of the postmaster; it changes with every start.
	Pid int
	// Version of the server, as in "15.18".
	Version string

	opts PostgresOptions
	id   proc.ID
}

// StartPostgres starts the server of a folder, or finds it running. The first time it creates the data.
// It also works after kill -9, like PostgreSQL.
func StartPostgres(ctx context.Context, opts PostgresOptions) (*Postgres, error) {
	p, err := startPostgres(ctx, opts)
	if err != nil {
		return nil, fmt.Errorf("cannot start PostgreSQL in %s: %w", opts.Dir, err)
	}
	return p, nil
}

func startPostgres(ctx context.Context, opts PostgresOptions) (*Postgres, error) {
	opts, err := opts.withDefaults()
	if err != nil {
		return nil, err
	}
	who, err := postgresAccount()
	if err != nil {
		return nil, err
	}
	if err := prepareDir(opts.Dir, who); err != nil {
		return nil, err
	}
	unlock, err := Lock(ctx, filepath.Join(opts.Dir, "lock"), func() {
		opts.Progress("waiting for another process that is starting PostgreSQL")
	})
	if err != nil {
		return nil, err
	}
	defer unlock()

	bins, err := postgresBinaries(ctx, dataMajor(opts.Dir), who, opts.Progress)
	if err != nil {
		return nil, err
	}
	password, err := initData(ctx, opts, bins, who)
	if err != nil {
		return nil, err
	}
	p := &Postgres{Dir: opts.Dir, Version: bins.version, opts: opts}
	if id, ok := runningPostmaster(opts.Dir); ok {
		if p.Port, err = postmasterPort(opts.Dir); err != nil {
			return nil, err
		}
		if opts.Port != 0 && opts.Port != p.Port {
			return nil, fmt.Errorf("PostgreSQL already runs, on port %d and not %d; stop it first", p.Port, opts.Port)
		}
		p.id = id
	} else {
		if p.Port, err = choosePort("PostgreSQL", opts.Port, rememberedPort(opts.Dir)); err != nil {
			return nil, err
		}
		if err := p.launch(ctx, bins, who); err != nil {
			return nil, err
		}
	}
	p.Pid = p.id.Pid
	p.DSN = postgresDSN(password, p.Port, opts.Database)
	if err := p.awaitReady(ctx, postgresDSN(password, p.Port, "postgres")); err != nil {
		return nil, err
	}
	return p, writeState(opts.Dir, postgresState{Port: p.Port, Database: opts.Database})
}

// OpenPostgres returns the server of a folder without starting it.
func OpenPostgres(dir string) (*Postgres, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	state, err := readState(dir)
	if err != nil {
		return nil, fmt.Errorf("cannot read PostgreSQL's state in %s: %w", dir, err)
	}
	password, err := os.ReadFile(passwordFile(dir))
	if err != nil {
		return nil, fmt.Errorf("cannot read PostgreSQL's state in %s: %w", dir, err)
	}
	opts, err := PostgresOptions{Dir: dir, Port: state.Port, Database: state.Database}.withDefaults()
	if err != nil {
		return nil, err
	}
	p := &Postgres{Dir: dir, Port: state.Port, opts: opts, DSN: postgresDSN(strings.TrimSpace(string(password)), state.Port, state.Database)}
	if id, ok := runningPostmaster(dir); ok {
		p.id, p.Pid = id, id.Pid
	}
	return p, nil
}

// Running reports whether the postmaster runs.
func (p *Postgres) Running() bool { return p.id.Alive() }

// Ready reports whether the server answers.
func (p *Postgres) Ready(ctx context.Context) error {
	conn, err := pgx.Connect(ctx, p.DSN)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	return conn.Ping(ctx)
}

// Log is the server's log file.
func (p *Postgres) Log() string { return filepath.Join(p.Dir, "postgres.log") }

// Stop stops the server: it rolls back open transactions, and writes all committed ones.
func (p *Postgres) Stop(ctx context.Context) error {
	// SIGINT is PostgreSQL's fast shutdown; SIGTERM would wait until every client disconnects.
	if err := p.id.Stop(ctx, syscall.SIGINT, postgresStopTime); err != nil {
		return fmt.Errorf("cannot stop PostgreSQL in %s: %w", p.Dir, err)
	}
	return nil
}

func (o PostgresOptions) withDefaults() (PostgresOptions, error) {
	if o.Dir == "" {
		return o, errors.New("the folder is missing")
	}
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return o, err
	}
	o.Dir = dir
	o.Database, o.MaxConnections = cmp.Or(o.Database, "detent"), cmp.Or(o.MaxConnections, 200)
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	return o, nil
}

func postgresDSN(password string, port int, database string) string {
	u := url.URL{
		Scheme:   "postgres",
		User:     url.UserPassword(postgresUser, password),
		Host:     "127.0.0.1:" + strconv.Itoa(port),
		Path:     "/" + database,
		RawQuery: "sslmode=disable",
	}
	return u.String()
}

// launch starts the postmaster and waits until it has claimed the data.
func (p *Postgres) launch(ctx context.Context, bins pgBinaries, who account) error {
	deadline := time.Now().Add(postgresStartTime)
	for {
		if err := dropStalePidFile(p.Dir); err != nil {
			return err
		}
		before := fileSize(p.Log())
		process, err := proc.Start(proc.Spec{
			Path: filepath.Join(bins.dir, "postgres"), Args: p.serverArgs(),
			Env: serverEnv(p.Dir), Dir: p.Dir, Log: p.Log(), User: who.uid, Group: who.gid,
		})
		if err != nil {
			return err
		}
		p.id = process.ID
		err = p.awaitClaim(ctx, process, deadline)
		// Children of a killed postmaster exit within moments. Until then a new postmaster refuses the
		// data and ends, so it is started again.
		leftovers := fileContains(p.Log(), before, "pre-existing shared memory block")
		if err == nil || ctx.Err() != nil || !leftovers || time.Now().After(deadline) {
			return err
		}
	}
}

// awaitClaim waits until the postmaster has written its pid file. Before that, another program may
// answer on the port.
func (p *Postgres) awaitClaim(ctx context.Context, process *proc.Process, deadline time.Time) error {
	tick := time.NewTicker(postgresPoll)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			_ = p.id.Stop(context.WithoutCancel(ctx), syscall.SIGINT, postgresStopTime)
			return ctx.Err()
		case <-process.Exited():
			return fmt.Errorf("the server ended at once (%s)%s", process.ExitState(), proc.LogTail(p.Log(), 20))
		case <-tick.C:
		}
		if id, ok := runningPostmaster(p.Dir); ok && id == p.id {
			return nil
		}
		if time.Now().After(deadline) {
			_ = p.id.Kill(ctx)
			return fmt.Errorf("the server did not claim its data within %s%s", postgresStartTime, proc.LogTail(p.Log(), 20))
		}
	}
}

// serverArgs are the settings as arguments, so that they also apply to data of an older version of this
// program.
func (p *Postgres) serverArgs() []string {
	settings := [][2]string{
		{"listen_addresses", "127.0.0.1"},
		{"port", strconv.Itoa(p.Port)},
		{"max_connections", strconv.Itoa(p.opts.MaxConnections)},
		{"timezone", "UTC"},
		{"log_timezone", "UTC"},
		{"log_line_prefix", "%m [%p] %q%d "},
		{"jit", "off"}, // compiling a plan takes longer than any query of Detent
		{"shared_buffers", "128MB"},
		{"max_wal_size", "1GB"},
		{"unix_socket_directories", socketDir(p.Dir)},
	}
	if p.opts.Ephemeral {
		settings = append(settings, [2]string{"fsync", "off"}, [2]string{"synchronous_commit", "off"},
			[2]string{"full_page_writes", "off"}, [2]string{"wal_level", "minimal"}, [2]string{"max_wal_senders", "0"}, [2]string{"max_wal_size", "256MB"})
	}
	args := []string{"-D", dataDir(p.Dir)}
	for _, s := range settings {
		args = append(args, "-c", s[0]+"="+s[1])
	}
	return args
}

// socketDir is the server's own folder, or "" if the path would be longer than a socket's address (107
// bytes on Linux, 103 elsewhere, including the file's name). Connections use TCP anyway.
func socketDir(dir string) string {
	const longest = 103 - len("/.s.PGSQL.65535")
	if len(dir) > longest {
		return ""
	}
	return dir
}

// serverEnv is an environment without anything of the caller's, whose locale or PG* variables would
// otherwise change what the server does.
func serverEnv(dir string) []string {
	return []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + dir, "LC_ALL=C"}
}

// awaitReady waits until the server answers, and makes its database if that is missing.
func (p *Postgres) awaitReady(ctx context.Context, adminDSN string) error {
	var conn *pgx.Conn
	err := p.id.Await(ctx, postgresStartTime, p.Log(), func(ctx context.Context) (err error) {
		conn, err = pgx.Connect(ctx, adminDSN)
		return err
	})
	if err != nil {
		return fmt.Errorf("the server on port %d: %w", p.Port, err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	return createDatabase(ctx, conn, p.opts.Database)
}

func createDatabase(ctx context.Context, conn *pgx.Conn, name string) error {
	var there bool
	if err := conn.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)`, name).Scan(&there); err != nil {
		return err
	}
	if there {
		return nil
	}
	_, err := conn.Exec(ctx, "CREATE DATABASE "+pgx.Identifier{name}.Sanitize())
	return err
}

// choosePort returns the requested port, or the stored one, with an error that names its user if it is
// in use; else any free port.
func choosePort(server string, asked, remembered int) (int, error) {
	port := cmp.Or(asked, remembered)
	if port == 0 {
		return FreePort()
	}
	if !PortFree(port) {
		return 0, PortTaken(server, port)
	}
	return port, nil
}
