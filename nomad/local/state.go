package local

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"

	"github.com/detent-ml/detent/nomad/servers"
	"github.com/detent-ml/detent/nomad/servers/proc"
)

// ErrNoCluster is returned for a folder without a cluster.
var ErrNoCluster = errors.New("no cluster")

// state is stored in the folder, so that a restart finds the same cluster on the same ports.
type state struct {
	Name      string             `json:"name"`
	Ports     map[string]int     `json:"ports"`
	Processes map[string]proc.ID `json:"processes"`
	Clients   []Client           `json:"clients,omitempty"`
	DSN       string             `json:"dsn,omitempty"` // of a PostgreSQL that is not ours
	Ephemeral bool               `json:"ephemeral,omitempty"`
	// Sockets of the container daemons; "": nodes run no containers.
	DockerSocket string        `json:"docker_socket,omitempty"`
	DockerLogins string        `json:"docker_logins,omitempty"`
	PodmanSocket string        `json:"podman_socket,omitempty"`
	NoConsul     bool          `json:"no_consul,omitempty"`
	ConsulACL    *consulTokens `json:"consul_acl,omitempty"`
	Token        string        `json:"token,omitempty"` // Nomad's management token
	Slots        int           `json:"slots,omitempty"`
	GPUs         GPUs          `json:"gpus"`
	Chroot       []string      `json:"chroot,omitempty"`
	// Vault is nil for a cluster without Vault and its object store.
	Vault       *vaultState `json:"vault,omitempty"`
	STSEndpoint string      `json:"sts_endpoint,omitempty"`
	Interface   string      `json:"interface,omitempty"`
	Address     string      `json:"address,omitempty"` // of that interface
	Apart       bool        `json:"apart,omitempty"`
	ExtraNomad  string      `json:"extra_nomad,omitempty"`
	TLS         *TLS        `json:"tls,omitempty"`
	// Programs are the servers that the last Up was given.
	Programs map[string]servers.Binary `json:"programs,omitempty"`
	Master   Master                    `json:"master"`
}

func statePath(dir string) string { return filepath.Join(dir, "state.json") }

func readState(dir string) (state, error) {
	s := state{Ports: map[string]int{}, Processes: map[string]proc.ID{}}
	text, err := os.ReadFile(statePath(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return s, fmt.Errorf("%w in %s", ErrNoCluster, dir)
	}
	if err != nil {
		return s, err
	}
	if err := json.Unmarshal(text, &s); err != nil {
		return s, fmt.Errorf("%s: %w", statePath(dir), err)
	}
	return s, nil
}

// refresh reads changes of other programs. Readers need no lock, because the state is replaced as a
// whole; if the file is missing, the last known state stays.
func (c *Cluster) refresh() {
	if s, err := readState(c.dir); err == nil {
		c.state = s
	}
}

// save replaces the state atomically. The file contains a token, so only its owner may read it.
func (c *Cluster) save() error {
	text, err := json.MarshalIndent(c.state, "", "  ")
	if err != nil {
		return err
	}
	return servers.ReplaceFile(statePath(c.dir), append(text, '\n'))
}

// Names of the stored ports. Ports for users have well-known numbers if these are free.
const (
	portMaster     = "master"
	portPostgres   = "postgres"
	portConsul     = "consul"
	portConsulRPC  = "consul-rpc"
	portConsulSerf = "consul-serf"
	portNomad      = "nomad"
	portNomadRPC   = "nomad-rpc"
	portNomadSerf  = "nomad-serf"
	portClient     = "client" // of the first node
	portVault      = "vault"
	portS3         = "s3"
	portPages      = "pages" // of the master's listener for pages of tasks
	portTasks      = "tasks" // the first port for tasks
)

func wellKnown() map[string]int {
	return map[string]int{portMaster: 8080, portPages: 8081, portConsul: 8500, portNomad: 4646}
}

// choosePorts sets the ports: a requested one, else the stored one, else a well-known or free one. A
// requested port that is in use is an error here; a stored one causes an error when its server starts,
// unless that server uses it.
func (c *Cluster) choosePorts(opts Options) error {
	asked := map[string]int{
		portMaster: opts.Ports.Master, portPostgres: opts.Ports.Postgres,
		portConsul: opts.Ports.Consul, portNomad: opts.Ports.Nomad,
	}
	for name, port := range asked {
		if was := c.state.Ports[name]; port != 0 && port != was {
			if was != 0 && c.partRuns(name) {
				return fmt.Errorf("%s runs on port %d; stop the cluster before you choose port %d", name, was, port)
			}
			if !servers.PortFree(port) {
				err := servers.PortTaken(name, port)
				if name == portMaster {
					err = fmt.Errorf("%w (--master-port)", err)
				}
				return err
			}
			c.state.Ports[name] = port
		}
	}
	taken := slices.Collect(maps.Values(c.state.Ports))
	for name, port := range wellKnown() {
		if c.state.Ports[name] == 0 && !opts.FreePorts && !slices.Contains(taken, port) && servers.PortFree(port) {
			c.state.Ports[name] = port
		}
	}
	if err := c.giveFreePorts(portMaster, portPages, portPostgres, portConsul, portConsulRPC, portConsulSerf, portNomad, portNomadRPC, portNomadSerf, portClient); err != nil {
		return err
	}
	if c.state.Ports[portTasks] == 0 {
		c.state.Ports[portTasks] = taskWindow(opts.FreePorts, func(first int) bool {
			return servers.ReserveFor(fmt.Sprint("ports of tasks from ", first), c.dir)
		})
	}
	return nil
}

// taskWindow is the first port of a window without listeners that no other cluster has reserved, or of
// the window with the fewest listeners. Tests try the windows in random order, because clusters of other
// users on this machine do not see these reservations.
func taskWindow(anyOrder bool, reserve func(first int) bool) int {
	windows := make([]int, portWindows)
	for i := range windows {
		windows[i] = firstTaskPort + i*portsPerCluster
	}
	if anyOrder {
		rand.Shuffle(len(windows), func(i, k int) { windows[i], windows[k] = windows[k], windows[i] })
	}
	best, fewest := 0, portsPerCluster+1
	for _, first := range windows {
		taken := listeners(first, fewest)
		if taken == 0 && reserve(first) {
			return first
		}
		if taken < fewest {
			best, fewest = first, taken
		}
	}
	return best
}

// listeners counts the used ports of a window, up to a limit.
func listeners(first, upTo int) (taken int) {
	for port := first; port < first+portsPerCluster && taken < max(upTo, 1); port++ {
		if !servers.PortFree(port) {
			taken++
		}
	}
	return taken
}

// giveFreePorts chooses ports that have not been chosen yet.
func (c *Cluster) giveFreePorts(names ...string) error {
	used := map[int]bool{}
	for _, port := range c.state.Ports {
		used[port] = true
	}
	for _, name := range names {
		if c.state.Ports[name] != 0 {
			continue
		}
		port, err := freePort(used)
		if err != nil {
			return err
		}
		c.state.Ports[name], used[port] = port, true
	}
	return nil
}

// freePort is an unused port that this cluster has not given to another part.
func freePort(used map[int]bool) (int, error) {
	for {
		port, err := servers.FreePort()
		if err != nil || !used[port] {
			return port, err
		}
	}
}

// partRuns reports whether the part of a port runs.
func (c *Cluster) partRuns(port string) bool {
	if port == portMaster {
		return c.state.Processes[partClient].Alive()
	}
	if port == portPostgres {
		pg, err := servers.OpenPostgres(c.path(partPostgres))
		return err == nil && pg.Running()
	}
	return c.state.Processes[port].Alive()
}
