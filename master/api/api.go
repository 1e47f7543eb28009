package api

import (
	"context"
	"io/fs"
	"log/slog"
	"net/netip"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/detent-ml/detent/master/budget"
	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/launch"
	"github.com/detent-ml/detent/master/pool"
	"github.com/detent-ml/detent/master/proxy"
	"github.com/detent-ml/detent/master/sched"
	"github.com/detent-ml/detent/master/store"
	"github.com/detent-ml/detent/master/task"
	v1 "github.com/detent-ml/detent/master/v1"
)

// Limits on bodies. fiber has one limit per app; ours are per route, checked
// before a body is read.
const (
	smallBody              = v1.SmallBody
	reportBody             = v1.ReportBody
	contextBody            = v1.FilesBody
	publicBody             = v1.PublicBody
	maxPacks               = 2    // contexts that are packed at once, of those that have arrived; one of each user
	maxLists               = 2    // contexts that are listed at once; one of each user
	maxReads               = 512  // contexts that are sent at once
	maxReadsPerUser        = 32   // of those, to one user and the user's tasks
	maxAnonymous           = 1024 // bodies of callers who are not signed in that are decoded at once
	maxAnonymousPerAddress = 64   // of those, of one address
	defaultMaxConnections  = 8192 // connections; each waiting request and each stream is one
	maxTests               = 16   // test events to webhooks at once
	maxPoll                = 60 * time.Second
)

// Identity verifies the workload identity that a runner shows, and says which
// Nomad allocation it is of. It is the cluster's side of the gate.
type Identity interface {
	// VerifyIdentity checks signature, audience and lifetime.
	VerifyIdentity(ctx context.Context, jwt string) (Workload, error)
}

// A Workload is what a verified identity says.
type Workload struct {
	Namespace    string
	JobID        string
	Group        string
	NomadAllocID string
	// FirstOfGroup is false when Nomad made this allocation to replace another:
	// the gate refuses it.
	FirstOfGroup bool
	NodeID       string
}

// Discovery says where the members of an attempt are.
type Discovery interface {
	// Members lists ranks with the address and ports registered for them.
	Members(ctx context.Context, allocationID string) (map[int]Endpoint, error)
}

// An Endpoint is a registered member.
type Endpoint struct {
	Address string
	Ports   map[string]int
}

// Config is what the API needs to know of its master.
type Config struct {
	ClusterName   string
	ClusterID     string
	MasterID      string
	Version       string // of Determined's interface: 0.38.1
	DetentVersion string
	PublicURL     string
	BlankLogin    func(remote, host string) bool // may somebody at that address, who calls that host, sign in with a blank password
	Tokens        TokenLimits
	Pools         pool.Set
	Namespaces    []string // of Nomad, that our jobs run in; none means default
	// Site is what the installation says of tasks. What is served to them, the API adds.
	Site task.Site
	// CheckpointStorage is what the cluster lays under configurations.
	CheckpointStorage expconf.CheckpointStorage
	// Inventory says what a node offers to a pool; nil when it is not of that pool.
	Inventory func(pool string, node store.NodeRow) *NodeSlots
	Idle      launch.IdleTimeouts
	// LaunchError: requests for more slots than a pool has are rejected.
	LaunchError bool

	RunnerDir  string // holds det-runner for /runner/<sha256>/<os>-<arch>
	DetPath    string // det, for /cli/<sha256>/<os>-<arch>; "" where tasks get none
	HarnessDir string // the Python package, served to tasks as a wheel or tree
	Pages      fs.FS  // what browsers are shown; without index.html there are no pages
	// Proxy passes users on to notebooks, TensorBoards and shells; nil where nobody is.
	Proxy *proxy.Proxy
	// Bucket opens the object storage of an experiment for reading; nil where the
	// master reads none.
	Bucket func(ctx context.Context, storage expconf.CheckpointStorage) (Bucket, error)
	// CheckStorage says what is wrong with a storage of which no credentials could
	// be given out; nil where none are.
	CheckStorage func(storage expconf.CheckpointStorage) error
	Receiving    Receiving
	// Hosts are the names under which this master is called, beside addresses and
	// those of the machine itself.
	Hosts []string
	// TrustedProxies may say on whose behalf they call.
	TrustedProxies []netip.Prefix
	// CheckpointRoots are the folders below which the master reads checkpoints.
	CheckpointRoots []string
	// Memory is what the searches of all experiments may take of a master's memory.
	Memory budget.Budget
	// MaxConnections is how many connections there can be at once; 0 for defaultMaxConnections.
	MaxConnections int
	// Connections says how many there are, and how many were refused; nil where nobody counts.
	Connections func() (open int, refused uint64)
	Redacted    func() any // the master's configuration without secrets
	Webhooks    Events
	// Loop says how many cycles this master's loop has made, how long the last one
	// took, and whether this master leads; nil where there is no loop.
	Loop func() (cycles uint64, last time.Duration, leads bool)
}

// NodeSlots is what a node offers to a pool.
type NodeSlots struct {
	Slots  []sched.Slot
	Usable bool   // new work may go there
	Why    string // why not, in words
}

// API serves /api/v1 and what stands beside it.
type API struct {
	cfg         Config
	db          *store.DB
	bus         *store.Bus
	identity    Identity
	discovery   Discovery
	log         *slog.Logger
	app         *fiber.App
	routes      []route
	auth        *authenticator
	receiver    *receiver
	meters      *meters
	logins      *logins
	notice      *notice
	forwarders  *forwarders
	hosts       hosts
	artifacts   artifacts
	openAnswers *openAnswers
	downloads   *downloads
	taskIO      *taskIO         // what tasks report goes through here
	driven      *drivenSearches // searches that programs outside drive
	gathers     *gathers
	tests       *turns // of webhooks
	stopping    context.Context

	experiments *launch.Experiments
	tasks       *launch.Tasks
}

// New builds the API. Its requests and streams end when ctx does.
func New(ctx context.Context, cfg Config, db *store.DB, bus *store.Bus, id Identity, disc Discovery, log *slog.Logger) *API {
	a := &API{cfg: cfg, db: db, bus: bus, identity: id, discovery: disc, log: log,
		auth: newAuthenticator(db), receiver: newReceiver(cfg.Receiving), meters: newMeters(),
		logins: newLogins(), notice: &notice{db: db}, forwarders: newForwarders(log), hosts: newHosts(cfg.Hosts), driven: newDrivenSearches(db, cfg.Memory.Bytes/drivenPart),
		gathers: newGathers(), tests: newTurns(maxTests), stopping: ctx}
	if cfg.MaxConnections == 0 {
		cfg.MaxConnections = defaultMaxConnections
	}
	a.app = fiber.New(fiber.Config{
		AppName:               "det-master",
		DisableStartupMessage: true,
		Immutable:             true, // values outlive their handler: streams and queues keep them
		StreamRequestBody:     true,
		// A form is a body like others: fasthttp would store its files before any route
		// is asked, past every limit.
		DisablePreParseMultipartForm: true,
		BodyLimit:                    contextBody,
		Concurrency:                  cfg.MaxConnections, // whoever opens one need not be signed in, and it has buffers
		ErrorHandler:                 a.writeError,
		ReadTimeout:                  2 * time.Minute,
		IdleTimeout:                  2 * time.Minute,
		ReadBufferSize:               16 << 10,
		UnescapePath:                 true,
		CaseSensitive:                true,
	})
	a.experiments, a.tasks = a.launchers()
	a.openAnswers, a.downloads = newOpenAnswers(db, bus), newDownloads()
	go a.openAnswers.run(ctx)
	a.register()
	a.mount()
	return a
}

// App is the server to listen with.
func (a *API) App() *fiber.App { return a.app }
