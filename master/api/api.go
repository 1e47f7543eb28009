package api

import (
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"net/netip"
	"sync"
	"time"

	"github.com/detent-ml/detent/master/about/risks"
	"github.com/detent-ml/detent/master/accounts"
	"github.com/detent-ml/detent/master/accounts/scim"
	"github.com/detent-ml/detent/master/attempts"
	"github.com/detent-ml/detent/master/audit"
	"github.com/detent-ml/detent/master/checkpoints"
	"github.com/detent-ml/detent/master/contexts"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/diskuse"
	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/experiments"
	"github.com/detent-ml/detent/master/launch"
	"github.com/detent-ml/detent/master/logs"
	"github.com/detent-ml/detent/master/nodes"
	"github.com/detent-ml/detent/master/oidc"
	"github.com/detent-ml/detent/master/pool"
	"github.com/detent-ml/detent/master/proxy"
	"github.com/detent-ml/detent/master/rest"
	"github.com/detent-ml/detent/master/sched"
	"github.com/detent-ml/detent/master/search/budget"
	"github.com/detent-ml/detent/master/searches"
	"github.com/detent-ml/detent/master/spool"
	"github.com/detent-ml/detent/master/task"
	"github.com/detent-ml/detent/master/tasks"
	v1 "github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/master/webhook"
)

// Config has the settings and the parts of the master that the API uses.
type Config struct {
	ClusterName   string
	Logs          logs.Settings
	ClusterID     string
	MasterID      string
	Version       string // of Determined's interface: 0.38.1
	DetentVersion string
	PublicURL     string
	NomadUI       string                         // address of Nomad's UI for browsers; "": the pages have no links to Nomad
	RegionUIs     map[string]string              // the same for further regions of Nomad, by name
	BlankLogin    func(remote, host string) bool // whether a client at this address, which calls this host, may sign in with a blank password
	Tokens        accounts.TokenLimits
	SignIn        *oidc.Providers     // identity providers; nil: none
	JobSignIn     *accounts.JobSignIn // Nomad jobs that may sign in; nil: none
	SCIM          *scim.Secrets       // of SCIM clients; nil: no SCIM
	Pools         pool.Set
	Namespaces    []string // of Nomad, that our jobs run in; none means default
	// Site has the settings of the installation for all tasks. The API adds the URLs of the files that it serves to tasks.
	Site task.Site
	// CheckpointStorage is the cluster's default for configurations.
	CheckpointStorage expconf.CheckpointStorage
	// Inventory returns what a node offers to a pool; nil when the node is not in the pool.
	Inventory func(pool string, node nodes.Row) *sched.Node
	Idle      launch.IdleTimeouts
	// Measure asks a node for the measurements of its devices; nil: the API asks no node.
	Measure func(ctx context.Context, node string) ([]v1.DeviceMeasurement, error)
	// LaunchError: requests for more slots than a pool has are rejected.
	LaunchError bool

	RunnerDir  string       // holds det-runner for /runner/<sha256>/<os>-<arch>
	DetPath    string       // det, for /cli/<sha256>/<os>-<arch>; "" if tasks get no det
	Risks      []risks.Risk // the settings that weaken security, for administrators
	HarnessDir string       // the Python package, served to tasks as a wheel or tree
	Pages      fs.FS        // the pages in the browser; without index.html there are none
	// Proxy forwards users to notebooks, TensorBoards and shells; nil if the proxy is disabled.
	Proxy *proxy.Proxy
	// Bucket opens the object storage of an experiment for reading; nil if the
	// master reads no objects.
	Bucket func(ctx context.Context, storage expconf.CheckpointStorage) (checkpoints.Bucket, error)
	// CheckStorage returns why the master cannot issue credentials for a storage; nil if the
	// master issues none.
	CheckStorage func(storage expconf.CheckpointStorage) error
	Receiving    rest.Receiving
	// Hosts are host names that requests to this master may name, in addition to IP addresses and
	// the names of the machine itself.
	Hosts []string
	// TrustedProxies are the addresses whose X-Forwarded-For the master believes.
	TrustedProxies []netip.Prefix
	// CheckpointRoots are the folders below which the master reads checkpoints.
	CheckpointRoots []string
	// FilesThroughMaster: no program gets a signed address of an object storage.
	FilesThroughMaster bool
	Roles              accounts.Roles // roles decide what users may do; else only owners and admins
	Stored             diskuse.Limits // of what users store in the database
	// Memory limits the memory that the searches of all experiments use in a master.
	Memory budget.Budget
	// MaxConnections is how many connections there can be at once; 0 for rest.DefaultMaxConnections.
	MaxConnections int
	// Connections returns how many are open and how many were refused; nil if they are not counted.
	Connections func() (open int, refused uint64)
	Redacted    func() any // the master's configuration without secrets
	// ApplySettings applies settings that administrators changed since this master started; nil: settings cannot be changed.
	ApplySettings func(ctx context.Context)
	Webhooks      webhook.Sender
	// Loop returns how many cycles this master's loop has made, how long the last one
	// took, and whether this master leads; nil if there is no loop.
	Loop func() (cycles uint64, last time.Duration, leads bool)
	// Demand returns how many slots and nodes pools hold and lack; empty if this master does not lead. Nil if there is no loop.
	Demand func() []nodes.Demand
}

// API serves /api/v1 and the master's other paths.
type API struct {
	Attempts attempts.Deps // the room of attempts, with what it uses of others

	cfg        Config
	db         *database.DB
	bus        *database.Bus
	log        *slog.Logger
	router     *rest.Router
	auth       *accounts.Authenticator
	limits     *limits
	trail      *audit.Trail
	forwarders *accounts.Forwarders

	taskIO   *taskIO // receives the reports of tasks
	memory   *experiments.Memory
	users    *diskuse.Users
	configs  *experiments.ShownConfigs
	heard    *experiments.Heard
	driven   *searches.Driven
	stopping context.Context
	rechecks sync.WaitGroup // of users who are signed in

	nodes       nodes.Inventory
	checkpoints checkpoints.Deps
	experiments experiments.Deps
	launcher    *launch.Experiments
	launch      launch.Deps
	tasks       *launch.Tasks
	code        *contexts.Sender
}

// New builds the API. Its requests and streams end when ctx does.
func New(ctx context.Context, cfg Config, db *database.DB, bus *database.Bus, id attempts.Identity, disc attempts.Discovery, log *slog.Logger) *API {
	a := &API{cfg: cfg, db: db, bus: bus, log: log,
		auth: accounts.NewAuthenticator(db, cfg.Roles, bus, taskWho(db, cfg.Roles)), trail: audit.New(ctx, db, log, audit.Limits{}), limits: newLimits(cfg.Receiving),
		forwarders: accounts.NewForwarders(log), stopping: ctx}
	a.memory, a.users = experiments.NewMemory(cfg.Memory), diskuse.NewUsers(db, cfg.Stored)
	a.configs, a.heard, a.driven = experiments.NewShownConfigs(), experiments.NewHeard(db, bus), searches.NewDriven(db, cfg.Memory.Bytes/searches.DrivenPart)
	a.router = rest.New(ctx, a.restConfig())
	a.nodes = nodes.Inventory{DB: db, Pools: cfg.Pools, Offer: cfg.Inventory}
	a.code = contexts.NewSender(db)
	a.launcher, a.tasks = a.launchers()
	a.taskIO = newTaskIO(ctx, db, bus, &a.cfg, log)
	a.Attempts = a.attemptDeps(id, disc)
	a.experiments = a.experimentDeps()
	a.launch = launch.Deps{DB: db, Bus: bus, Launcher: a.launcher, Full: a.experiments.Full}
	a.checkpoints = a.checkpointDeps()
	a.registerRooms()
	a.router.Mount()
	return a
}

// restConfig is what the engine of the interface needs of this master.
func (a *API) restConfig() rest.Config {
	return rest.Config{Log: a.log, Version: a.cfg.DetentVersion, Compatible: a.cfg.Version, PublicURL: a.cfg.PublicURL, Pages: a.cfg.Pages, NonPages: nonPagePrefixes,
		Receiving: a.cfg.Receiving, Hosts: a.cfg.Hosts, AnyHost: a.anyHost, TrustedProxies: a.cfg.TrustedProxies, MaxConnections: a.cfg.MaxConnections,
		Identify: a.auth.ByToken, Access: checkAccess, Again: a.callersAgain, AccessChanges: func() (<-chan struct{}, func()) { return a.bus.Subscribe(accounts.TopicAccess) },
		Poller: poller, Work: inName, LimitReads: database.LimitReads,
		NewFiles:    func(room *spool.Reservation) (rest.Files, error) { return launch.NewCode(room) },
		FilesOnDisk: launch.MaxCodeOnDisk, Trail: a.trail}
}

// nonPagePrefixes are the prefixes of paths that are never pages.
var nonPagePrefixes = []string{"/api/", "/proxy/", "/runner/", "/harness/", "/checkpoints/", "/docs/", "/assets/", "/debug/", "/mlflow/", "/prom/"}

// anyHost reports whether a request may name any host: health checks, which browsers do not
// send and which may use another name, and what is for tasks.
func (a *API) anyHost(host, path string) bool {
	return path == "/health" || a.cfg.Proxy != nil && a.cfg.Proxy.TasksHost(host)
}

// poller names who waits with a long poll: a user, or a member of an attempt. Its runner is another, which its program
// must not keep away.
func poller(c *rest.Call) string {
	who := "user " + c.Who().Username
	if c.Who().IsTask() {
		who = fmt.Sprintf("member %d of %s", c.Who().Rank, c.Who().AllocationID)
	}
	if c.Line().Path == v1.WatchAllocation.Path {
		who = "runner of " + who
	}
	return who
}

// inName returns a context in which the caller's part of the connections to the database is used. A user's tasks have a part beside
// the user's own, so that neither waits for the other.
func inName(ctx context.Context, c *rest.Call) context.Context {
	who := c.Who()
	switch {
	case who.IsTask():
		return database.ForOwner(ctx, tasks.CallsOf(who.Username))
	case who.Username == "":
		return database.ForOwner(ctx, database.StrangerAt(c.Address()))
	}
	return database.ForOwner(ctx, c.Owner())
}

// Router serves the API.
func (a *API) Router() *rest.Router { return a.router }
