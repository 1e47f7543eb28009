package task

import (
	"time"

	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/pool"
)

// A Site is what an installation says of all its tasks. package server makes it once,
// from the master's configuration.
type Site struct {
	ClusterID   string
	ClusterName string
	MasterID    string
	PublicURL   string // where users' browsers find the master

	// How runners find masters.
	TaskURLs    []string
	ServiceName string
	Scheme      string // of the addresses of that service: http or https
	Authority   string // that runners are to trust, PEM; "" for those of their nodes

	Services string // where members are registered: jobspecs.ConsulServices or jobspecs.NomadServices

	Runner  Runner   // for the masters' own platform
	Runners []Runner // for others
	Det     string   // path on the master of det; "" where tasks get none
	Harness string   // path on the master of the Python package; "" where nodes bring their own

	StopAfter   time.Duration // a node that lost its servers ends the task after this
	PullTimeout time.Duration

	Capabilities expconf.Capabilities
	// Defaults lie under those of pools.
	Defaults expconf.TaskContainerDefaults
	SignIn   SignIn
}

// DefaultsIn is what lies under the configurations of tasks in a pool.
func (s *Site) DefaultsIn(of *pool.Pool) expconf.TaskContainerDefaults {
	return of.Defaults.Over(s.Defaults)
}

// CapabilitiesIn is what can be done in a pool.
func (s *Site) CapabilitiesIn(of *pool.Pool) expconf.Capabilities { return of.Can(s.Capabilities) }
