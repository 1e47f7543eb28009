package pool

import "time"

// SchedulerType is the policy by which a pool assigns its slots.
type SchedulerType string

// The policies. See package sched.
const (
	Priority   SchedulerType = "priority"
	FairShare  SchedulerType = "fair_share"
	RoundRobin SchedulerType = "round_robin"
)

// SchedulerTypes lists the policies.
func SchedulerTypes() []string {
	return []string{string(Priority), string(FairShare), string(RoundRobin)}
}

// Fitting is the rule that chooses among the nodes on which a task fits.
type Fitting string

// The rules for a task on one node. A task on several nodes always uses BestFit.
const (
	BestFit  Fitting = "best"  // on the fullest node
	WorstFit Fitting = "worst" // on the emptiest node
)

// Fittings lists the rules.
func Fittings() []string { return []string{string(BestFit), string(WorstFit)} }

// A Scheduler describes how a pool shares its slots.
type Scheduler struct {
	Type    SchedulerType // "": Priority
	Fitting Fitting       // "": BestFit

	EqualParts bool // a task on several nodes has the same number of slots on each
	// Rack is an attribute of nodes, such as ${meta.rack}: the scheduler prefers nodes with the same value of it for a
	// task on several nodes; "": none.
	Rack string

	// For FairShare:
	Workspaces map[string]float64 // weights, by name; 1 for others
	Users      map[string]float64 // the same for users
	HalfLife   time.Duration      // what shares held so long ago counts half; 0: only what they hold now counts
	MinRunTime time.Duration      // a task that has run for less time is not preempted for fairness
}

// WorkspaceWeight returns the weight of a workspace.
func (s *Scheduler) WorkspaceWeight(name string) float64 { return weightOf(s.Workspaces, name) }

// UserWeight returns the weight of a user within each workspace.
func (s *Scheduler) UserWeight(name string) float64 { return weightOf(s.Users, name) }

func weightOf(weights map[string]float64, name string) float64 {
	if w := weights[name]; w > 0 {
		return w
	}
	return 1
}

// Preempts reports whether the pool preempts running tasks for others.
func (p *Pool) Preempts() bool {
	return p.Preemption || p.Scheduler.Type == FairShare
}
