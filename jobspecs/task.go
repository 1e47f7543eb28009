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

// A Task is a placed attempt of a task, with everything that its Nomad job contains.
type Task struct {
	AllocationID string // <task>.<run>
	Run          int
	ClusterID    string // the cluster of the job; other clusters do not change it
	ClusterName  string
	Type         string // TRIAL, COMMAND, …
	ExperimentID int    // 0: none
	TrialID      int    // 0: none
	TaskID       string
	Title        string // the name that its owner gave it; any text
	Owner        string
	Links        []Link // pages about it, on the master
	Pool         pool.Pool
	Members      []Member // by rank
	Runner       Runner
	Masters      Masters
	Services     string   // the catalogue in which members are registered: ConsulServices or NomadServices
	Ports        []string // labels of the ports of each member, besides the runner's own
	Ingress      *Ingress // how an ingress reaches it; nil: not at all
	Overlay      Overlay
	Credentials  *Credentials      // how its program signs in to checkpoint storage; nil: without our credentials
	Secrets      []Secret          // that its owner mounts; with the role of Credentials
	Linked       bool              // its program runs as another account than its runner, if the pool runs no images
	Container    *Container        // its container, if the pool runs images
	Variables    map[string]string // secrets that only this job may read, in the Nomad variable VariablePath, not in the job
	DiskMB       int               // of the allocation's folder, including its logs
	LogFiles     int               // number of files that Nomad keeps for each of stdout and stderr
	LogFileMB    int               // size of each file
	StopAfter    time.Duration     // a node that cannot reach Nomad's servers stops the task after this time
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
	Address  string // of the node; nodes with the same address are on one machine
	SlotIDs  []int
	// DeviceIDs are Nomad's ids of its slots' devices; empty if the slots are cores.
	DeviceIDs []string
	Cores     int // exclusive whole cores; 0: request MHz instead
	MHz       int // a share of the node's cores
	MemoryMB  int
	// MemoryMaxMB is how much memory the task may use while the node has it free; 0: MemoryMB.
	MemoryMaxMB int
	// Runner is the runner for its node, if its platform differs from the task's; else nil.
	Runner *Runner
}

// A Runner is the source of det-runner: a URL, or a path on the node.
type Runner struct {
	URL    string
	SHA256 string
	// Archive means that the URL has a tar with det-runner. A tar keeps the execute bit, so
	// that no program of an image is needed to set it.
	Archive bool
	Path    string // on the node; if set, nothing is fetched
}

// Masters has the addresses of masters for a runner.
type Masters struct {
	URLs    []string // base addresses
	Service string   // service of healthy masters, whose addresses Nomad renders into a file; "": none
	Scheme  string   // of the addresses of that service: http or https
	CA      string   // certificate of a private authority, PEM; it is not secret
}

// An Overlay has the checked settings of an experiment's environment.nomad.
type Overlay struct {
	Constraints []pool.Comparison
	Affinities  []pool.Affinity
	Spreads     []pool.Spread
	Meta        map[string]string
	Volumes     []Volume
}

// A Volume mounts a volume of the pool's job at a path.
type Volume struct {
	Name     string
	Path     string
	ReadOnly bool
}

// Defaults of a Task.
const (
	defaultDiskMB    = 300
	defaultLogFiles  = 3
	defaultLogFileMB = 10
	defaultKill      = 30 * time.Second
	defaultStopAfter = 2 * time.Minute
)

// What each member of a job has at least.
const (
	MinimalMemoryMB = 64
	MinimalMHz      = 50
)

// CheckpointGC is the type of tasks that remove files of experiments.
const CheckpointGC = "CHECKPOINT_GC"

// RunnerPort is the label of the port on which the runner answers /health.
const RunnerPort = "runner"

// prefix starts the ids of all jobs of Detent, of any cluster.
const prefix = "det-"

// JobPrefix is what the ids of all jobs of Detent start with, of any cluster.
func JobPrefix() string { return prefix }

// JobID is the id of an attempt's job, and the name of its service: without dots, because
// Consul rejects them.
func JobID(allocationID string) string { return prefix + strings.ReplaceAll(allocationID, ".", "-") }

// GroupName is the name of the group of a rank.
func GroupName(rank int) string { return groupPrefix + strconv.Itoa(rank) }

const groupPrefix = "rank-"

// RankOf returns the rank of a group; ok is false if the group is not a member.
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

// maxServiceName is Consul's limit for the name of a service.
const maxServiceName = 63

// problems returns all errors in a task.
func (t *Task) problems() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if !allocationID.MatchString(t.AllocationID) {
		bad("allocation id %q: it must consist of lower case letters, digits, dots and dashes", t.AllocationID)
	}
	if n := len(JobID(t.AllocationID)); n > maxServiceName {
		bad("allocation id %q: the name of its service, %s, has %d characters; Consul accepts %d", t.AllocationID, JobID(t.AllocationID), n, maxServiceName)
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
	t.Credentials.problems(len(t.Secrets) > 0, bad)
	t.secretProblems(bad)
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

// driverProblems reports settings of the task that its pool's driver does not support.
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
		case driver == pool.Exec && pool.HiddenUnderExec(v.Path) != "":
			bad("volume %q at %q: %s is the task's own", v.Name, v.Path, pool.HiddenUnderExec(v.Path))
		}
	}
}
