package jobspecs

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/detent-ml/detent/master/pool"
)

// A Task is one attempt of a task, placed: all that its Nomad job is made of.
type Task struct {
	AllocationID string // <task>.<run>
	Run          int
	ClusterID    string // whose job it is; no other cluster touches it
	ClusterName  string
	Type         string // TRIAL, COMMAND, …
	ExperimentID int    // 0 where there is none
	TrialID      int    // 0 where there is none
	TaskID       string
	Title        string // what its owner called it; any text
	Owner        string
	Links        []Link // pages about it, on the master
	Pool         pool.Pool
	Members      []Member // by rank
	Runner       Runner
	Masters      Masters
	Services     string   // where members are registered: ConsulServices or NomadServices
	Ports        []string // labels of ports that each member wants besides the runner's own
	Overlay      Overlay
	Credentials  *Credentials      // by which its program signs in to checkpoint storage; nil where it needs none of ours
	Container    *Container        // what it runs in; with the docker driver, and with no other
	Variables    map[string]string // what only the job may read: kept beside it in Nomad, at VariablePath, and never in it
	DiskMB       int               // of the allocation's folder; at least what its logs take
	LogFiles     int               // of each of stdout and stderr that Nomad keeps
	LogFileMB    int               // size of each
	StopAfter    time.Duration     // a node that lost its servers ends the task after this
	KillTimeout  time.Duration     // from SIGTERM to SIGKILL; a client's max_kill_timeout caps it
}

// Where services are registered.
const (
	ConsulServices = "consul"
	NomadServices  = "nomad"
)

// A Link is a page about a task.
type Link struct{ Label, URL string }

// A Member is one process group of a task, on one node.
type Member struct {
	NodeID   string
	NodeName string
	Address  string // of the node; nodes with the same address are one machine
	SlotIDs  []int
	// DeviceIDs are the devices that its slots are, by Nomad's ids; none where
	// slots are none.
	DeviceIDs []string
	Cores     int // whole cores that nobody else may use; 0 to ask for MHz
	MHz       int // a share of the node's cores
	MemoryMB  int
	// MemoryMaxMB is up to where memory may grow while the node has it; 0 for MemoryMB.
	MemoryMaxMB int
	// Runner is for its node, where that is of another platform than the task's.
	Runner *Runner
}

// A Runner is where det-runner comes from: fetched, or on the node already.
type Runner struct {
	URL    string
	SHA256 string
	// Archive says that a tar with det-runner in it is fetched: there it has kept
	// its execute bit, so that no program of an image is needed to give it one.
	Archive bool
	Path    string // on the node; with it nothing is fetched
}

// Masters is how a runner finds a master.
type Masters struct {
	URLs    []string // base addresses
	Service string   // of healthy masters, rendered by Nomad as they come and go; "" for none
	Scheme  string   // of the addresses of that service: http or https
	CA      string   // PEM of a private authority; public, as certificates are
}

// An Overlay is what an experiment's environment.nomad adds, after it was checked.
type Overlay struct {
	Constraints []Constraint
	Affinities  []Affinity
	Spreads     []Spread
	Meta        map[string]string
	Volumes     []Volume
}

// An Affinity is one of Nomad's.
type Affinity struct {
	Constraint
	Weight int
}

// A Spread is one of Nomad's.
type Spread struct {
	Attribute string
	Weight    int
	Targets   []SpreadTarget
}

// A SpreadTarget is the share of a value of the attribute.
type SpreadTarget struct {
	Value   string
	Percent int
}

// A Volume is one of those that the pool's job names, mounted at a path.
type Volume struct {
	Name     string
	Path     string
	ReadOnly bool
}

// A Constraint is one of Nomad's.
type Constraint struct{ Attribute, Operator, Value string }

// Defaults of a Task.
const (
	defaultDiskMB    = 300
	defaultLogFiles  = 3
	defaultLogFileMB = 10
	defaultKill      = 30 * time.Second
	defaultStopAfter = 2 * time.Minute
	minimalMemoryMB  = 64
	minimalMHz       = 50
)

// CheckpointGC is the type of tasks that remove files of experiments.
const CheckpointGC = "CHECKPOINT_GC"

// RunnerPort is the label of the port on which the runner answers /health.
const RunnerPort = "runner"

// prefix starts the ids of all jobs of Detent, of any cluster.
const prefix = "det-"

// JobPrefix is what the ids of all jobs of Detent start with, of any cluster.
func JobPrefix() string { return prefix }

// JobID is the id of an attempt's job, and the name of its service: without
// dots, because Consul refuses them.
func JobID(allocationID string) string { return prefix + strings.ReplaceAll(allocationID, ".", "-") }

// GroupName is the name of the group of a rank.
func GroupName(rank int) string { return groupPrefix + strconv.Itoa(rank) }

const groupPrefix = "rank-"

// RankOf is the rank of a group; ok is false where it is not a group of ours.
func RankOf(group string) (rank int, ok bool) {
	digits, found := strings.CutPrefix(group, groupPrefix)
	rank, err := strconv.Atoi(digits)
	return rank, found && err == nil && rank >= 0 && GroupName(rank) == group
}

var (
	allocationID = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$`)
	portLabel    = regexp.MustCompile(`^[a-z][a-z0-9_]{0,29}$`)
	sha256Hex    = regexp.MustCompile(`^[0-9a-f]{64}$`)
)

// maxServiceName is what Consul takes as the name of a service.
const maxServiceName = 63

// problems says what is wrong with a task, all of it.
func (t *Task) problems() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if !allocationID.MatchString(t.AllocationID) {
		bad("allocation id %q: it must consist of lower case letters, digits, dots and dashes", t.AllocationID)
	}
	if n := len(JobID(t.AllocationID)); n > maxServiceName {
		bad("allocation id %q: the name of its service, %s, has %d characters; Consul takes %d", t.AllocationID, JobID(t.AllocationID), n, maxServiceName)
	}
	if t.ClusterID == "" {
		bad("no cluster id")
	}
	if len(t.Members) == 0 {
		bad("no members")
	}
	for rank, m := range t.Members {
		if m.NodeID == "" {
			bad("member %d: no node", rank)
		}
	}
	for _, label := range t.Ports {
		if !portLabel.MatchString(label) || label == RunnerPort {
			bad("port %q: a label is lower case letters, digits and underscores, and %q is taken", label, RunnerPort)
		}
	}
	t.driverProblems(bad)
	t.Credentials.problems(bad)
	if c := t.Container; c != nil && c.Registry != nil && t.Credentials != nil && c.Registry.Provider == SecretsInVault &&
		t.Credentials.Role != "" && c.Registry.Role != "" && c.Registry.Role != t.Credentials.Role {
		bad("credentials: a task signs in to Vault with one role, and this one needs %s for its checkpoints and %s for its image", t.Credentials.Role, c.Registry.Role)
	}
	t.deviceProblems(bad)
	if t.Services != ConsulServices && t.Services != NomadServices {
		bad("services in %q: it must be %s or %s", t.Services, ConsulServices, NomadServices)
	}
	if t.Runner.Path == "" && (t.Runner.URL == "" || !sha256Hex.MatchString(t.Runner.SHA256)) {
		bad("det-runner: neither a path on the node nor an address with its SHA-256")
	}
	if len(t.Masters.URLs) == 0 && t.Masters.Service == "" {
		bad("no master that the task could reach")
	}
	return errors.Join(errs...)
}

// driverProblems says what the driver of the task's pool cannot do.
func (t *Task) driverProblems(bad func(format string, args ...any)) {
	driver, network := t.Pool.Driver, t.network()
	switch driver {
	case pool.RawExec, pool.Exec:
		if network != pool.HostNetwork && (driver == pool.RawExec || network != pool.BridgeNetwork && !strings.HasPrefix(network, pool.CNIPrefix)) {
			bad("network %q of pool %s: driver %s cannot have it", network, t.Pool.Name, driver)
		}
		if t.Container != nil {
			bad("driver %q of pool %s runs no images", driver, t.Pool.Name)
		}
	case pool.Docker, pool.Podman:
		if t.Container == nil {
			bad("driver %s of pool %s: no image", driver, t.Pool.Name)
			break
		}
		t.Container.problems(bad)
		for _, m := range t.Container.Mounts {
			if driver == pool.Podman && strings.Contains(m.Source+m.Target, ":") {
				bad("mount of %q at %q: driver podman cannot mount paths with a colon", m.Source, m.Target)
			}
		}
		if t.Runner.Path == "" && !t.Runner.Archive {
			bad("det-runner: a container needs it as an archive, or as a path on the node")
		}
	default:
		bad("driver %q of pool %s: it must be one of %s", driver, t.Pool.Name, strings.Join(pool.Drivers(), ", "))
	}
	volumes := t.base().TaskGroups[0].Volumes
	for _, v := range t.Overlay.Volumes {
		switch {
		case volumes[v.Name] == nil:
			bad("volume %q: the job of pool %s names none of this name", v.Name, t.Pool.Name)
		case !path.IsAbs(v.Path):
			bad("volume %q at %q: the path must be absolute", v.Name, v.Path)
		case t.Container != nil && ReservedTarget(v.Path) != "":
			bad("volume %q at %q: %s is the task's own", v.Name, v.Path, ReservedTarget(v.Path))
		}
	}
}
