package local

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"

	"github.com/detent-ml/detent/master/quote"
	"github.com/detent-ml/detent/nomad/servers"
)

// DefaultName is the name of the default cluster.
const DefaultName = "local"

// Options configures a cluster. Unset fields keep their last value, or the default.
type Options struct {
	// Name of the cluster, and its identity in Nomad; the default is that of its folder.
	Name string
	// StateDir is the folder of the cluster. By default one named after it below servers.StateDir.
	StateDir string
	// Ports that are fixed. The others are chosen once and then stored.
	Ports Ports
	// FreePorts chooses random ports instead of the well-known ones. For tests.
	FreePorts bool
	// DSN of a PostgreSQL to use instead of the cluster's own.
	DSN string
	// Ephemeral disables PostgreSQL's protection against a crash of the machine. For tests.
	Ephemeral bool
	// Vault also starts a Vault and an object store, SeaweedFS, for which Vault issues credentials.
	Vault bool
	// STSEndpoint is the STS from which Vault requests credentials, if not the object store. For tests.
	STSEndpoint string
	// NoConsul makes a new cluster without Consul: tasks' addresses are in Nomad's own services.
	NoConsul bool
	// ConsulACL enables Consul's access control, with the policies that the documentation describes.
	ConsulACL bool
	// Docker is a daemon for the nodes, so that pools can have the docker driver.
	Docker *Containers
	// Podman is a Podman service for the nodes, to which the cluster adds Nomad's driver, so that pools can
	// have the podman driver.
	Podman *Containers
	// Chroot is the part of this machine that tasks of the driver exec see, each folder at its own
	// path. Nomad links every file of it for each task; the default is all programs and libraries of
	// the system.
	Chroot []string
	// Slots is the number of CPU slots of each node; 0: the master computes it.
	Slots int
	// TLS enables TLS in Nomad, Consul, Vault and the master with these files; nil: no change.
	TLS *TLS
	// Interface is the network interface on whose address masters and tasks listen; the default is
	// loopback. For tests.
	Interface string
	// Apart makes the servers of Nomad and Consul listen for other agents on the address of Interface, so that
	// clients with a Network of their own reach them. For tests.
	Apart bool
	// ExtraNomad is additional configuration of the Nomad agent, in HCL.
	ExtraNomad string
	// GPUs of the nodes; none by default.
	GPUs GPUs
	// Programs are the servers to run, by name. One that is not here is found on PATH or built, as servers.Ensure does.
	Programs map[string]servers.Binary
	// Master configures the master; without a binary the cluster has no master.
	Master Master
}

// Ports are the ports for users and programs outside of the cluster. 0 means any.
type Ports struct {
	Master, Nomad, Consul, Postgres int
}

// Master configures the master.
type Master struct {
	// Binary is the path of det-master; "": no master is started.
	Binary string `json:"binary"`
	// Runner is the path of det-runner, which the master serves and the nodes have; det-remover is in the same
	// folder.
	Runner string `json:"runner,omitempty"`
	// FetchRunner makes tasks fetch det-runner from the master, although the nodes have it. For tests.
	FetchRunner bool `json:"fetch_runner,omitempty"`
	// Config is the content of its configuration file, in YAML.
	Config string `json:"config,omitempty"`
	// Python is the python3 of tasks on nodes without containers. The master's configuration wins.
	Python string `json:"python,omitempty"`
	// Env is additional environment; it wins over the cluster's own variables.
	Env map[string]string `json:"env,omitempty"`
	// Count is the number of masters; the default is 1. With more than one, Nomad chooses their ports.
	Count int `json:"count,omitempty"`
}

var namePattern = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?$`)

func (o Options) withDefaults() (Options, error) {
	o.Name = cmp.Or(o.Name, DefaultName)
	if !namePattern.MatchString(o.Name) {
		return o, fmt.Errorf("the cluster's name %q is invalid: use at most 40 lower-case letters, digits and dashes, without a dash at its ends", o.Name)
	}
	if o.StateDir == "" {
		base, err := servers.StateDir()
		if err != nil {
			return o, err
		}
		o.StateDir = filepath.Join(base, o.Name)
	}
	dir, err := filepath.Abs(o.StateDir)
	if err != nil {
		return o, err
	}
	o.StateDir = dir
	if o.Slots < 0 {
		return o, fmt.Errorf("the number of CPU slots is %d; it must be 0 or more", o.Slots)
	}
	if o.NoConsul && o.ConsulACL {
		return o, errors.New("a cluster without Consul has no access control of Consul; choose NoConsul or ConsulACL")
	}
	if o.Apart && o.Interface == "" {
		return o, errors.New("the option Apart needs an Interface that other network namespaces reach")
	}
	if o.Master.Count < 0 {
		return o, fmt.Errorf("the number of masters is %d; it must be 0 or more", o.Master.Count)
	}
	if o.Master.Count > 1 && o.Ports.Master != 0 {
		return o, errors.New("several masters on one machine cannot share a port; do not set the master's port")
	}
	return o, nil
}

// Flags are the flags of `det deploy local` that select a cluster, each with a space before it and quoted for a shell: none for the default one.
func Flags(name, dir string) (flags string) {
	if name != DefaultName {
		flags = " --cluster-name " + name
	}
	if usual, err := DefaultStateDir(name); dir != "" && (err != nil || dir != usual) {
		flags += " --state-dir " + quote.Word(dir)
	}
	return flags
}

// DefaultStateDir is the default folder of the cluster with this name.
func DefaultStateDir(name string) (string, error) {
	o, err := Options{Name: name}.withDefaults()
	return o.StateDir, err
}
