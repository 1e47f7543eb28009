package task

import (
	"time"

	"github.com/detent-ml/detent/jobspecs"
	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/pool"
)

// A Site has the settings of an installation for all tasks. Package server makes it once, from
// the master's configuration.
type Site struct {
	ClusterID   string
	ClusterName string
	MasterID    string
	PublicURL   string // address of the master for users' browsers

	// How runners find masters.
	TaskURLs    []string
	ServiceName string
	Scheme      string // of the addresses of that service: http or https
	Authority   string // certificate authority that runners trust, PEM; "": those of their nodes

	// Fetch returns the address of a master that answers now, from which Nomad fetches the runner. If it is nil,
	// Nomad fetches from the first of TaskURLs.
	Fetch func() string

	Services string // the catalogue in which members are registered: jobspecs.ConsulServices or jobspecs.NomadServices

	Runner  Runner   // for the masters' own platform
	Runners []Runner // for other platforms
	Det     string   // path of det on the master; "": tasks get no det
	Harness string   // path of the Python package on the master; "": nodes have their own

	// Ingress describes the ingress that forwards users' requests to tasks; nil: only masters do.
	Ingress *Ingress

	StopAfter   time.Duration // a node that cannot reach Nomad's servers stops the task after this time
	PullTimeout time.Duration

	Capabilities expconf.Capabilities
	// Defaults of the cluster; those of pools are merged over them.
	Defaults expconf.TaskContainerDefaults
	SignIn   SignIn
	// Secrets are those that users may mount.
	Secrets Secrets
}

// An Ingress is the ingress of an installation.
type Ingress struct {
	jobspecs.Ingress
	// Host is the name of a task's host; "" for a task that cannot have one.
	Host func(task string) string
}

// DefaultsIn returns the defaults for the configurations of tasks in a pool.
func (s *Site) DefaultsIn(of *pool.Pool) expconf.TaskContainerDefaults {
	return of.Defaults.Over(s.Defaults)
}

// CapabilitiesIn returns what the configurations of tasks in a pool may use.
func (s *Site) CapabilitiesIn(of *pool.Pool) expconf.Capabilities { return of.Can(s.Capabilities) }
