package servertest

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"net/netip"
	"runtime/pprof"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/detent-ml/detent/jobspecs"
	"github.com/detent-ml/detent/master/accounts"
	"github.com/detent-ml/detent/master/api"
	"github.com/detent-ml/detent/master/artifacts"
	"github.com/detent-ml/detent/master/attempts"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/cluster"
	"github.com/detent-ml/detent/master/cluster/clustertest"
	"github.com/detent-ml/detent/master/control"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/experiments"
	"github.com/detent-ml/detent/master/lifecycle"
	"github.com/detent-ml/detent/master/logs"
	"github.com/detent-ml/detent/master/logs/masterlog"
	"github.com/detent-ml/detent/master/metrics"
	"github.com/detent-ml/detent/master/nodes"
	"github.com/detent-ml/detent/master/pool"
	"github.com/detent-ml/detent/master/proxy"
	"github.com/detent-ml/detent/master/sched"
	"github.com/detent-ml/detent/master/schema"
	"github.com/detent-ml/detent/master/task"
	"github.com/detent-ml/detent/master/tasks"
	v1 "github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/master/webhook/sender"
	"github.com/detent-ml/detent/nomad/servers/pgtest"
)

const (
	clusterID = "11111111-1111-1111-1111-111111111111"
	masterID  = "22222222-2222-2222-2222-222222222222"
	// SigningKey signs the requests to webhooks.
	SigningKey = "the key of tests"
	// AvoidAfter is the number of consecutive failures after which an experiment avoids a node.
	AvoidAfter = 3
)

// A Master is a running master with the node node-1, whose two slots are the pool default.
type Master struct {
	URL     string // of the Front
	Front   *Front
	Nomad   *clustertest.Nomad
	DB      *database.DB
	Storage string // the cluster's checkpoint storage, a folder

	t       testing.TB
	address string // of the API itself
	program Program
	open    func() int
	change  func(*api.Config)
}

// Start starts a master that runs until the test ends. Attempts run program; nil is Play.
func Start(t testing.TB, program Program) *Master {
	t.Helper()
	return start(t, program, false)
}

// StartWithRoles starts a master that uses roles; the user admin is its ClusterAdmin.
func StartWithRoles(t testing.TB, program Program) *Master {
	t.Helper()
	return start(t, program, true)
}

// StartWith starts a master whose configuration a test has changed.
func StartWith(t testing.TB, program Program, change func(*api.Config)) *Master {
	t.Helper()
	return startWith(t, program, false, change)
}

func start(t testing.TB, program Program, roles accounts.Roles) *Master {
	t.Helper()
	return startWith(t, program, roles, func(*api.Config) {})
}

func startWith(t testing.TB, program Program, roles accounts.Roles, change func(*api.Config)) *Master {
	t.Helper()
	m := &Master{t: t, Nomad: clustertest.New(), Storage: t.TempDir(), program: program, change: change}
	if program == nil {
		m.program = Play
	}
	dsn := pgtest.New(t, schema.Hash(), schema.Migrate)
	ctx, cancel := context.WithCancel(context.Background())
	db, err := database.Open(ctx, dsn, database.Options{MaxConns: 8})
	if err != nil {
		t.Fatal(err)
	}
	m.DB = db
	if roles {
		if _, err := accounts.BeginRoles(ctx, m.DB); err != nil {
			t.Fatal(err)
		}
	}
	var lc net.ListenConfig
	lis, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	m.address = "http://" + lis.Addr().String()
	m.Front = newFront(m.address)
	m.URL = m.Front.server.URL
	said := &lines{}
	kept := masterlog.New(m.DB, slog.NewTextHandler(said, nil))
	log := slog.New(kept)
	bus := database.NewBus(dsn, log)
	events := sender.New(sender.Config{BaseURL: m.URL, SigningKey: SigningKey, Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}, m.DB, bus, log)
	a, opener, loop := m.wire(ctx, roles, bus, events, log)
	m.open = a.Router().Connections
	var parts sync.WaitGroup
	served := make(chan struct{})
	go func() { defer close(served); _ = a.Router().Listen(lis) }()
	parts.Go(func() { kept.Run(ctx) })
	parts.Go(func() { bus.Run(ctx) })
	parts.Go(func() { opener.Run(ctx) })
	parts.Go(func() { metrics.NewSummarizer(m.DB, bus, log).Run(ctx) })
	parts.Go(func() {
		control.Lead(ctx, m.DB, masterID, m.URL, log, func(ctx context.Context, l *control.Leadership) {
			var sends sync.WaitGroup
			sends.Go(func() { events.Run(ctx, l.Term, l.Holds) })
			loop.Run(ctx, l)
			sends.Wait()
		})
	})
	parts.Go(func() { newNodes(m).run(ctx) })
	t.Cleanup(func() {
		cancel()
		m.Front.close()
		if err := a.Router().Shutdown(time.Minute); err != nil {
			var stacks strings.Builder
			_ = pprof.Lookup("goroutine").WriteTo(&stacks, 1)
			t.Errorf("the API does not stop: %v\n%s", err, &stacks)
		}
		_ = lis.Close() // a test without requests may end before the server listens
		<-served
		parts.Wait()
		a.Wait()
		m.DB.Close()
		if t.Failed() {
			t.Logf("the master's log:\n%s", said)
		}
	})
	m.Until("the master knows its node", func() bool {
		known, err := nodes.List(ctx, m.DB)
		return err == nil && len(known) > 0
	})
	return m
}

// wire builds the parts of the master as package server does.
func (m *Master) wire(ctx context.Context, roles accounts.Roles, bus *database.Bus, events *sender.Sender, log *slog.Logger) (*api.API, *proxy.Proxy, *control.Loop) {
	m.t.Helper()
	none := strings.Repeat("0", 64)
	site := task.Site{ClusterID: clusterID, ClusterName: "test", MasterID: masterID, PublicURL: m.URL, TaskURLs: []string{m.address},
		Services: jobspecs.NomadServices, Capabilities: expconf.Everything(), Defaults: expconf.TaskContainerDefaults{LogPolicies: expconf.DefaultLogPolicies()},
		Runner: task.Runner{SHA256: none, ArchiveSHA: none, RemoverSHA: none, Target: artifacts.Platform()}}
	pools := pool.Set{{Name: "default", NodePool: "default", Driver: pool.RawExec, Description: "this machine", Compute: true, Aux: true,
		Slots: pool.Slots{Kind: pool.CPUSlots, PerNode: 2}, Preemption: true, Priority: 42, MaxAux: 100}}
	view := m.Nomad.Cluster(clusterID)
	locate := func(context.Context, string) (string, int, error) { return "", 0, nil } // no program has a page
	opener, err := proxy.New(proxy.Origins{Master: m.URL, URL: "http://127.0.0.1:1"}, proxy.Rules{OpenPorts: true}, tasks.Directory{DB: m.DB, Roles: roles}, locate, log)
	if err != nil {
		m.t.Fatal(err)
	}
	loop := control.New(control.Config{Pools: pools, Timing: lifecycle.DefaultTiming(), Roles: roles, Task: site.Job, Logs: logs.NewStore(m.DB, bus, logs.Settings{Days: logs.Forever}), AvoidAfter: AvoidAfter, LaunchError: true},
		m.DB, bus, view, log)
	cfg := api.Config{Roles: roles, ClusterName: "test", Logs: logs.Settings{Days: logs.Forever}, ClusterID: clusterID, MasterID: masterID, Version: v1.Compatible, DetentVersion: v1.Version, PublicURL: m.URL,
		BlankLogin: func(string, string) bool { return true }, Pools: pools, Site: site, Inventory: inventory(pools), Proxy: opener, Loop: loop.Stats,
		CheckpointStorage: m.storage(), CheckpointRoots: []string{m.Storage}, Webhooks: events,
		Redacted: func() any { return map[string]any{"database": "********"} }}
	m.change(&cfg)
	return api.New(ctx, cfg, m.DB, bus, view, nowhere{}, log), opener, loop
}

func (m *Master) storage() expconf.CheckpointStorage {
	m.t.Helper()
	raw, _, err := expconf.Parse("cluster", []byte("checkpoint_storage: {type: shared_fs, host_path: "+m.Storage+"}"))
	if err != nil {
		m.t.Fatal(err)
	}
	return raw.CheckpointStorage
}

// inventory is what nodes offer to users who look at the cluster.
func inventory(pools pool.Set) func(string, nodes.Row) *sched.Node {
	return func(name string, row nodes.Row) *sched.Node {
		n, err := control.Offer(pools.Named(name), row, cluster.Use{})
		if err != nil {
			return nil
		}
		return n
	}
}

// nowhere is a catalogue without members.
type nowhere struct{}

func (nowhere) Members(context.Context, string) (map[int]attempts.Endpoint, error) { return nil, nil }

// Client returns a client that is signed in as a user with a blank password.
func (m *Master) Client(user string) *client.Client {
	m.t.Helper()
	c, err := client.New(client.Options{Master: m.address})
	if err == nil {
		_, err = c.Login(m.t.Context(), user, "")
	}
	if err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(c.Close)
	return c
}

// Address is the URL of the API itself, for tests of the API that need no Front.
func (m *Master) Address() string { return m.address }

// OpenConnections is how many connections of clients the API has now.
func (m *Master) OpenConnections() int { return m.open() }

// Context returns a context that ends with the test.
func (m *Master) Context() context.Context { return m.t.Context() }

// Until waits for a condition, with a deadline for slow machines.
func (m *Master) Until(what string, so func() bool) {
	m.t.Helper()
	for deadline := time.Now().Add(60 * time.Second); !so(); <-time.After(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			m.t.Fatalf("timed out waiting for: %s", what)
		}
	}
}

// Ended waits for the end of an experiment.
func (m *Master) Ended(id int) {
	m.t.Helper()
	m.Until("the end of an experiment", func() bool {
		e, err := experiments.Get(m.t.Context(), m.DB, id)
		if err != nil {
			m.t.Fatal(err)
		}
		return e.EndedAt != nil
	})
}

// Many goroutines write lines.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
