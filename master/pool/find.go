package pool

import (
	"strings"

	"github.com/detent-ml/detent/master/fault"
)

// Find finds a pool by its name, or returns an error that lists the pools.
func (s Set) Find(name string) (*Pool, error) {
	if p := s.Named(name); p != nil {
		return p, nil
	}
	return nil, fault.New(fault.NotFound, "there is no resource pool %q; there are %s", fault.Clip(name), strings.Join(s.Names(), ", "))
}

// Scheduler is the type of a pool's scheduler in Determined's words; priority for a pool that
// is not there any more.
func (s Set) Scheduler(name string) string {
	if p := s.Named(name); p != nil && p.Scheduler.Type != "" {
		return string(p.Scheduler.Type)
	}
	return string(Priority)
}
