package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/detent-ml/detent/master/accounts"
	"github.com/detent-ml/detent/master/api"
	"github.com/detent-ml/detent/master/cluster"
	"github.com/detent-ml/detent/master/control"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/discovery"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/logs"
	"github.com/detent-ml/detent/master/logs/masterlog"
	"github.com/detent-ml/detent/master/metrics"
	"github.com/detent-ml/detent/master/nodes"
	"github.com/detent-ml/detent/master/pool"
	"github.com/detent-ml/detent/master/schema"
	"github.com/detent-ml/detent/master/secrets"
	"github.com/detent-ml/detent/master/sleep"
	"github.com/detent-ml/detent/master/task"
	v1 "github.com/detent-ml/detent/master/v1"
)

// How long a starting master waits for its database, and a stopping master for requests in
// progress.
const (
	databaseRetry = 500 * time.Millisecond
	databaseWait  = 2 * time.Minute
	drain         = 5 * time.Second
)

// Run serves until ctx ends. It sends the address to ready, which may be nil.
func Run(ctx context.Context, cfg Config, ready chan<- string) error {
	limitMemory(os.Getenv)
	shape, log := cfg.newLog(os.Stderr)
	for _, key := range cfg.withoutEffect() {
		log.Warn("a key of the configuration: " + key)
	}
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", cfg.Listen)
	if err != nil {
		return fmt.Errorf("cannot listen on %s: %w; does another master, or another program, use this address?", cfg.Listen, err)
	}
	// The runner is read while the database connects, so the start takes only the longer of the
	// two times.
	read := sync.OnceValues(func() (taskFiles, error) { return readTaskFiles(cfg) })
	go func() { _, _ = read() }() // run calls read again and gets the same result
	db, err := database.Open(ctx, cfg.Database, database.Options{MaxConns: int32(cfg.DatabaseConns)})
	if err != nil {
		return err
	}
	defer db.Close()
	if err := migrate(ctx, cfg.Database, log); err != nil {
		return err
	}
	id, err := schema.ClusterID(ctx, db)
	if err != nil {
		return err
	}
	kept := masterlog.New(db, log.Handler())
	log = slog.New(kept)
	if err := beginRoles(ctx, db, cfg.roles(), log); err != nil {
		return err
	}
	if shape.since, err = db.Now(ctx); err != nil {
		return err
	}
	m := &master{cfg: cfg, log: log, shape: shape, db: db, clusterID: id, masterID: uuid.NewString(), bus: database.NewBus(cfg.Database, log)}
	m.conns = newConnections(&m.cfg, log)
	return m.run(ctx, ln, kept, read, ready)
}

// roles says whether roles decide what users may do.
func (c *Config) roles() accounts.Roles { return c.Security.Authz.Type == authzRoles }

// beginRoles notes whether roles are in use. When they begin, the admins of basic mode become
// ClusterAdmins, because nobody else could give a role.
func beginRoles(ctx context.Context, db *database.DB, roles accounts.Roles, log *slog.Logger) error {
	if !roles {
		return accounts.EndRoles(ctx, db)
	}
	made, err := accounts.BeginRoles(ctx, db)
	if len(made) > 0 {
		log.Info("roles are in use now (security.authz.type: rbac); the admins became ClusterAdmins", "users", strings.Join(made, ", "))
	}
	return err
}

// migrate waits for a database that does not answer yet: a master and its database are often
// started at the same time.
func migrate(ctx context.Context, dsn string, log *slog.Logger) error {
	until := time.Now().Add(databaseWait)
	for {
		err := schema.Migrate(ctx, dsn)
		if err == nil || ctx.Err() != nil || !fault.Is(err, fault.Unavailable) || time.Now().After(until) {
			return err
		}
		log.Warn("waiting for the database", "error", errors.Unwrap(err))
		if sleep.For(ctx, databaseRetry) != nil {
			return ctx.Err()
		}
	}
}

// master is a running master: the parts that Run wires together.
type master struct {
	cfg       Config
	log       *slog.Logger
	shape     *logShape
	db        *database.DB
	bus       *database.Bus
	clusterID string
	masterID  string
	nomad     *cluster.Cluster
	regions   []region       // further regions of Nomad
	vault     *secrets.Vault // nil: Vault is not configured
	files     taskFiles
	pools     pool.Set
	site      task.Site
	fetch     *fetchAddress
	conns     *connections
	unguarded <-chan error // receives why this master may not go on with its Nomad or Consul
}

// reach connects to the servers on which the master depends, and sets the first password.
func (m *master) reach(ctx context.Context, read func() (taskFiles, error)) (err error) {
	if m.files, err = read(); err != nil {
		return err
	}
	if m.site, err = m.readSite(); err != nil {
		return err
	}
	m.fetch = m.cfg.newFetchAddress(m.files.authority)
	m.site.Fetch = m.fetch.now
	if m.pools, err = m.readPools(ctx); err != nil {
		return err
	}
	for i := range m.pools {
		m.pools[i].Platforms = m.files.platforms()
	}
	if m.nomad, err = m.connect(); err != nil {
		return err
	}
	if err := m.connectRegions(); err != nil {
		return err
	}
	if m.vault, err = m.newVault(); err != nil {
		return err
	}
	m.checkSpool()
	if m.unguarded, err = m.guard(ctx); err != nil {
		return err
	}
	return m.initialPassword(ctx)
}

// readPools makes the pools from the configuration and from the jobs that they name.
func (m *master) readPools(ctx context.Context) (pool.Set, error) {
	nomad, err := m.connect()
	if err != nil {
		return nil, err
	}
	jobs, err := m.cfg.poolJobs(ctx, nomad, nodes.PoolJobs{DB: m.db}, m.log.Warn)
	if err != nil {
		return nil, err
	}
	return m.cfg.pools(jobs)
}

// run starts the parts and stops them in the order of their dependencies: first the HTTP
// server, last the log.
func (m *master) run(ctx context.Context, ln net.Listener, kept *masterlog.Handler, read func() (taskFiles, error), ready chan<- string) error {
	if err := m.reach(ctx, read); err != nil {
		return err
	}
	catalogue, err := m.catalogue()
	if err != nil {
		return err
	}
	served, err := m.apiConfig()
	if err != nil {
		return err
	}
	served.Connections, served.MaxConnections = m.conns.count, m.conns.max
	found := discovery.New(catalogue)
	origin, err := m.listenForTasks(ctx)
	if err != nil {
		return err
	}
	if served.Proxy, err = m.newProxy(origin, found); err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx) // the parts end also if this function returns an error
	back, stopBack := context.WithCancel(context.WithoutCancel(ctx))
	var parts sync.WaitGroup
	defer parts.Wait()
	defer stopBack()
	defer stop()
	m.background(back, kept, &parts)
	parts.Go(func() { served.Proxy.Run(ctx) })
	parts.Go(func() { m.serveTasks(ctx, origin, served.Proxy.Tasks()) })
	var a *api.API
	loop, closeLoop, err := m.newLoop(ctx, func(ctx context.Context, from control.Member, exit v1.MemberExitRequest) error {
		return a.Attempts.RecordExit(ctx, from.TaskID, from.AllocationID, from.Rank, exit) // the control loop starts later
	})
	if err != nil {
		return err
	}
	defer closeLoop()
	served.Loop, served.Demand = loop.Stats, loop.Demand
	sends, err := m.newSends()
	if err != nil {
		return err
	}
	served.Webhooks = sends.events
	a = api.New(ctx, served, m.db, m.bus, identity{m.nomad, m.regions}, members{found}, m.log)
	leads := make(chan struct{})
	go func() {
		defer close(leads)
		control.Lead(ctx, m.db, m.masterID, m.cfg.PublicURL, m.log, leading(loop, sends))
	}()
	listens := make(chan error, 1)
	go func() { listens <- a.Router().Listen(m.cfg.TLS.secure(m.conns.limit(ln))) }()
	m.log.Info("serving", "address", ln.Addr().String(), "cluster_id", m.clusterID, "master_id", m.masterID, "version", v1.Version)
	if ready != nil {
		ready <- ln.Addr().String()
	}
	select {
	case err = <-listens:
		return err
	case err = <-m.unguarded:
		return err
	case <-ctx.Done():
	}
	m.log.Info("stopping")
	<-leads // give up leadership before all other parts stop
	if err := a.Router().Shutdown(drain); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		m.log.Warn("requests were aborted because the master stops", "error", err)
	}
	a.Wait() // all reports of tasks are stored
	return nil
}

// newLoop makes the control loop, with its own connections to the database.
func (m *master) newLoop(ctx context.Context, exit func(context.Context, control.Member, v1.MemberExitRequest) error) (*control.Loop, func(), error) {
	own, err := m.db.Beside(ctx, loopConns)
	if err != nil {
		return nil, nil, err
	}
	cfg := m.loopConfig()
	cfg.Exit, cfg.Logs = exit, logs.NewStore(own, m.bus, m.cfg.logSettings())
	return control.New(cfg, own, m.bus, m.nomad, m.log), own.Close, nil
}

// loopConns is the number of the control loop's own connections to the database. The requests of users cannot use
// them up, so a leader keeps its cycles whatever they ask. The work of lanes that may take long uses seven at most, so
// a cycle, and what is short, has others.
const loopConns = 12

// choresWait is how long a master waits before its chores begin: each opens a connection to the
// database, and together they would delay the first answers.
const choresWait = time.Second

// background starts what runs until the last request has been answered.
func (m *master) background(ctx context.Context, kept *masterlog.Handler, parts *sync.WaitGroup) {
	parts.Go(func() { kept.Run(ctx) })
	parts.Go(func() { m.bus.Run(ctx) })
	parts.Go(func() { m.nomad.Run(ctx) })
	for _, r := range m.regions {
		parts.Go(func() { r.nomad.Run(ctx) })
	}
	parts.Go(func() { m.followSettings(ctx) })
	parts.Go(func() { m.fetch.run(ctx) })
	parts.Go(func() { metrics.NewSummarizer(m.db, m.bus, m.log).Run(ctx) })
	for _, chore := range m.chores() {
		parts.Go(func() {
			if sleep.For(ctx, choresWait) == nil {
				chore(ctx)
			}
		})
	}
	if m.vault != nil {
		parts.Go(func() { m.vault.Run(ctx) })
	}
}

// chores run until their context ends, on every master.
func (m *master) chores() []func(ctx context.Context) {
	return []func(context.Context){logs.NewPartitions(m.db, m.log).Run, m.keepAudit, m.cleanUp, m.dropUploads, m.endSilentTrials, m.carryOutDeletions}
}

// blankLogin reports whether a user may sign in with a blank password from an address, under a
// host name of the master. A loopback address under a foreign host name is a sign of a page of
// another site whose DNS name points here.
func (m *master) blankLogin(remote, host string) bool {
	switch m.cfg.BlankPasswords {
	case "always":
		return true
	case "never":
		return false
	}
	return loopback(remote) && (loopback(host) || host == "localhost" || strings.HasSuffix(host, ".localhost"))
}

func loopback(address string) bool {
	ip := net.ParseIP(strings.Trim(address, "[]"))
	return ip != nil && ip.IsLoopback()
}
