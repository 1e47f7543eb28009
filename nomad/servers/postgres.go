package servers

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
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

// postgresState is stored in the folder between starts.
type postgresState struct {
	Port     int    `json:"port"`
	Database string `json:"database"`
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

// Kill kills the server like a crash. The next start recovers from its write-ahead log.
func (p *Postgres) Kill(ctx context.Context) error {
	if err := p.id.Kill(ctx); err != nil {
		return fmt.Errorf("cannot kill PostgreSQL in %s: %w", p.Dir, err)
	}
	return nil
}

// Start starts the server again on the same port, after Stop, Kill or a crash.
func (p *Postgres) Start(ctx context.Context) error {
	opts := p.opts
	opts.Port = p.Port
	again, err := StartPostgres(ctx, opts)
	if err != nil {
		return err
	}
	*p = *again
	return nil
}

// Restart stops the server and starts it on the same port.
func (p *Postgres) Restart(ctx context.Context) error {
	if err := p.Stop(ctx); err != nil {
		return err
	}
	return p.Start(ctx)
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
	if o.Database == "" {
		o.Database = "detent"
	}
	if o.MaxConnections == 0 {
		o.MaxConnections = 200
	}
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

func passwordFile(dir string) string { return filepath.Join(dir, "password") }
func dataDir(dir string) string      { return filepath.Join(dir, "data") }
func stateFile(dir string) string    { return filepath.Join(dir, "server.json") }

// prepareDir creates the server's folder for the server's account, and checks that the account can
// enter it.
func prepareDir(dir string, who account) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return errors.New("this system does not report the owner of a folder")
	}
	if !who.other() {
		if int(st.Uid) != os.Geteuid() {
			return fmt.Errorf("the folder belongs to user id %d, and this program runs as %d; use another folder, or that user", st.Uid, os.Geteuid())
		}
		return os.Chmod(dir, 0o700)
	}
	if err := os.Chown(dir, int(who.uid), int(who.gid)); err != nil {
		return err
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		return err
	}
	closed, err := reachable(dir, who)
	if err != nil {
		return err
	}
	if closed != "" {
		return fmt.Errorf("PostgreSQL does not run as root and would run as %q, who may not enter %s; choose a folder that others may enter, such as one below /var/lib", who.name, closed)
	}
	return nil
}

// initData creates the server's data the first time, and returns the superuser's password.
func initData(ctx context.Context, opts PostgresOptions, bins pgBinaries, who account) (password string, err error) {
	data := dataDir(opts.Dir)
	if _, err := os.Stat(filepath.Join(data, "PG_VERSION")); err == nil {
		text, err := os.ReadFile(passwordFile(opts.Dir))
		return strings.TrimSpace(string(text)), err
	}
	opts.Progress("creating PostgreSQL's data in " + data)
	// The port is open to all users of the machine, and a superuser of PostgreSQL can run programs:
	// therefore there is a password even on loopback.
	random := make([]byte, 16)
	if _, err := rand.Read(random); err != nil {
		return "", err
	}
	password = hex.EncodeToString(random)
	if err := writeFor(who, passwordFile(opts.Dir), password+"\n"); err != nil {
		return "", err
	}
	// Created under another name and renamed, so that an interrupted start leaves no incomplete data.
	fresh := data + ".new"
	if err := os.RemoveAll(fresh); err != nil {
		return "", err
	}
	args := []string{
		"--pgdata=" + fresh, "--username=" + postgresUser, "--pwfile=" + passwordFile(opts.Dir),
		"--auth=scram-sha-256", "--encoding=UTF8", "--no-instructions",
	}
	if opts.Ephemeral {
		args = append(args, "--no-sync")
	} else {
		args = append(args, "--data-checksums")
	}
	out, err := bins.run(ctx, who, opts.Dir, "initdb", append(args, "--locale=C.UTF-8")...)
	if err != nil && strings.Contains(out, "invalid locale name") {
		// Not every system has this locale. The locale C sorts text in the same way; only upper and
		// lower case beyond ASCII differ.
		out, err = bins.run(ctx, who, opts.Dir, "initdb", append(args, "--locale=C")...)
	}
	if err != nil {
		return "", fmt.Errorf("initdb: %w\n%s", err, out)
	}
	if err := os.RemoveAll(data); err != nil {
		return "", err
	}
	return password, os.Rename(fresh, data)
}

// writeFor writes a private file for an account.
func writeFor(who account, path, text string) error {
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return err
	}
	if !who.other() {
		return nil
	}
	return os.Chown(path, int(who.uid), int(who.gid))
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

func fileSize(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}

// fileContains searches a text in a file after an offset.
func fileContains(path string, after int64, text string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	if _, err := f.Seek(after, io.SeekStart); err != nil {
		return false
	}
	written, err := io.ReadAll(f)
	return err == nil && strings.Contains(string(written), text)
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
			[2]string{"full_page_writes", "off"}, [2]string{"wal_level", "minimal"}, [2]string{"max_wal_senders", "0"})
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

// postmasterFile reads the lines of the file with which a running postmaster claims its data: pid, data
// folder, start time, port, and so on.
func postmasterFile(dir string) (lines []string, err error) {
	text, err := os.ReadFile(filepath.Join(dataDir(dir), "postmaster.pid"))
	if err != nil {
		return nil, err
	}
	return strings.Split(string(text), "\n"), nil
}

// runningPostmaster finds the running server of a folder's data. The pid file alone is not enough:
// after a crash its pid may belong to another program.
func runningPostmaster(dir string) (proc.ID, bool) {
	lines, err := postmasterFile(dir)
	if err != nil {
		return proc.ID{}, false
	}
	pid, err := strconv.Atoi(strings.TrimSpace(lines[0]))
	if err != nil {
		return proc.ID{}, false
	}
	id, err := proc.Of(pid)
	if err != nil || !strings.Contains(proc.Command(pid), dataDir(dir)) {
		return proc.ID{}, false
	}
	return id, true
}

func postmasterPort(dir string) (int, error) {
	lines, err := postmasterFile(dir)
	if err != nil {
		return 0, err
	}
	const port = 3
	if len(lines) <= port {
		return 0, errors.New("the server's postmaster.pid contains no port")
	}
	return strconv.Atoi(strings.TrimSpace(lines[port]))
}

// dropStalePidFile removes a pid file whose pid belongs to another program. PostgreSQL itself respects
// any living process of its account with that pid, and would never start again.
func dropStalePidFile(dir string) error {
	if _, running := runningPostmaster(dir); running {
		return nil
	}
	err := os.Remove(filepath.Join(dataDir(dir), "postmaster.pid"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// dataMajor is the version that created the data ("15"), or "" without data.
func dataMajor(dir string) string {
	text, err := os.ReadFile(filepath.Join(dataDir(dir), "PG_VERSION"))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

// choosePort returns the requested port, or the stored one, with an error that names its user if it is
// in use; else any free port.
func choosePort(server string, asked, remembered int) (int, error) {
	port := asked
	if port == 0 {
		port = remembered
	}
	if port == 0 {
		return FreePort()
	}
	if !PortFree(port) {
		return 0, PortTaken(server, port)
	}
	return port, nil
}

func rememberedPort(dir string) int {
	state, err := readState(dir)
	if err != nil {
		return 0
	}
	return state.Port
}

func readState(dir string) (postgresState, error) {
	var state postgresState
	text, err := os.ReadFile(stateFile(dir))
	if err != nil {
		return state, err
	}
	if err := json.Unmarshal(text, &state); err != nil {
		return state, fmt.Errorf("%s: %w", stateFile(dir), err)
	}
	return state, nil
}

func writeState(dir string, state postgresState) error {
	text, err := json.Marshal(state)
	if err != nil {
		return err
	}
	// Renamed, so that a reader never sees an incomplete file.
	fresh := stateFile(dir) + ".new"
	if err := os.WriteFile(fresh, append(text, '\n'), 0o600); err != nil {
		return err
	}
	return os.Rename(fresh, stateFile(dir))
}
