package server

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/detent-ml/detent/master/pool"
)

// SchedulerConfig says how a pool shares its slots. Determined's master.yaml has the first
// four keys too.
type SchedulerConfig struct {
	// Policy: priority, fair_share or round_robin ([scheduling](../scheduling.md)).
	Type string `yaml:"type"`
	// Node for a task that fits on several: best for the fullest, worst for the emptiest.
	Fitting string `yaml:"fitting_policy"`
	// Each trial on several nodes has equally many slots on each of them. Without it, only trials
	// do that set `resources.equal_parts`.
	EqualParts bool `yaml:"equal_parts"`
	// Attribute of nodes that names their rack or fabric, such as `${meta.rack}`. A task on several
	// nodes gets nodes of one rack if one has room, else of few racks ([racks](../scheduling.md#racks)).
	Rack string `yaml:"rack"`
	// The same as the pool's `preemption`.
	Preemption bool `yaml:"preemption"`
	// The same as the pool's `default_priority`.
	Priority int `yaml:"default_priority"`
	// Weights of workspaces by name, for `type: fair_share`, such as `{research: 3}`. Others
	// have the weight 1.
	Workspaces map[string]float64 `yaml:"workspace_weights"`
	// Weights of users by name within each workspace, for `type: fair_share`. Others have the
	// weight 1.
	Users map[string]float64 `yaml:"user_weights"`
	// Time that an attempt runs before it can be preempted for `type: fair_share`, by default `10m`.
	MinRunTime Duration `yaml:"min_run_time"`
	// For `type: fair_share`: what workspaces and users held lately counts, half as much after this time, such as `7d`
	// ([a memory](../scheduling.md#a-memory)). From `10m` to `90d`; without it only what they hold now counts.
	HalfLife Duration `yaml:"half_life"`
}

const (
	minRunTime = Duration(10 * time.Minute)
	// What a weight may be, as for a job's `resources.weight`.
	maxWeight  = 1e6
	maxWeights = 10_000
	// What a half-life may be: the leader counts what was held every half minute, and a new leader counts what was held in the last 16 half-lives.
	minHalfLife = 10 * time.Minute
	maxHalfLife = 90 * 24 * time.Hour
)

// checkScheduler finds what is wrong with the scheduler of a pool.
func (p *PoolConfig) checkScheduler(k *checker, at string) {
	s, key := p.Scheduler, at+".scheduler"
	k.oneOf(key+".type", s.Type, pool.SchedulerTypes()...)
	k.oneOf(key+".fitting_policy", s.Fitting, pool.Fittings()...)
	if s.Rack != "" && (!strings.HasPrefix(s.Rack, "${") || !strings.HasSuffix(s.Rack, "}")) {
		k.fail(key+".rack", "write an attribute in braces, such as ${meta.rack}, found %q", s.Rack)
	}
	if s.Priority != 0 && s.Priority != p.Priority {
		k.fail(key+".default_priority", "is %d, and default_priority of the pool is %d; remove one of them", s.Priority, p.Priority)
	}
	switch policy := pool.SchedulerType(s.Type); {
	case p.Preemption && policy == pool.FairShare:
		k.fail(at+".preemption", "is for type priority; type fair_share always preempts, after min_run_time")
	case p.Preemption && policy == pool.RoundRobin:
		k.fail(at+".preemption", "is for type priority; type round_robin never preempts")
	}
	for _, w := range []struct {
		key     string
		weights map[string]float64
	}{{"workspace_weights", s.Workspaces}, {"user_weights", s.Users}} {
		if len(w.weights) > maxWeights {
			k.fail(key+"."+w.key, "expected at most %d names, found %d", maxWeights, len(w.weights))
			continue
		}
		if len(w.weights) > 0 && s.Type != string(pool.FairShare) {
			k.fail(key+"."+w.key, "is for type fair_share; this pool has type %s", s.Type)
		}
		for _, name := range slices.Sorted(maps.Keys(w.weights)) {
			if weight := w.weights[name]; !(weight > 0 && weight <= maxWeight) {
				k.fail(fmt.Sprintf("%s.%s.%s", key, w.key, name), "expected a number above 0, up to %g, found %g", maxWeight, weight)
			}
		}
	}
	if s.MinRunTime != 0 && s.Type != string(pool.FairShare) {
		k.fail(key+".min_run_time", "is for type fair_share; this pool has type %s", s.Type)
	}
	switch life := time.Duration(s.HalfLife); {
	case life == 0:
	case s.Type != string(pool.FairShare):
		k.fail(key+".half_life", "is for type fair_share; this pool has type %s", s.Type)
	case life < minHalfLife || life > maxHalfLife:
		k.fail(key+".half_life", "expected 10m to 90d, found %s", life)
	}
}

// made is the scheduler as the other parts of the master work with it.
func (s SchedulerConfig) made() pool.Scheduler {
	return pool.Scheduler{Type: pool.SchedulerType(s.Type), Fitting: pool.Fitting(s.Fitting), EqualParts: s.EqualParts, Rack: s.Rack,
		Workspaces: s.Workspaces, Users: s.Users, MinRunTime: time.Duration(s.MinRunTime), HalfLife: time.Duration(s.HalfLife)}
}

// shownScheduler is the scheduler of a pool with Determined's keys, and ours beside them.
func (p *PoolConfig) shownScheduler() map[string]any {
	shown := ownKeys(reflect.ValueOf(p.Scheduler))
	shown["default_priority"] = cmp.Or(p.Scheduler.Priority, p.Priority)
	shown["preemption"] = p.Preemption || p.Scheduler.Type == string(pool.FairShare)
	shown["allow_heterogeneous_fits"] = !p.Scheduler.EqualParts
	if p.Scheduler.MinRunTime == 0 {
		delete(shown, "min_run_time")
	}
	if p.Scheduler.HalfLife == 0 {
		delete(shown, "half_life")
	}
	return shown
}
