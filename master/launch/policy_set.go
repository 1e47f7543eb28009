package launch

import (
	"context"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/pool"
	"github.com/detent-ml/detent/master/workspaces"
)

// CheckPolicy checks a policy before it is set, and returns its document. A policy under which
// nothing could run is rejected.
func (l *Experiments) CheckPolicy(ctx context.Context, ws workspaces.Workspace, workload, text string) (expconf.Document, error) {
	if len(text) > MaxConfig {
		return nil, fault.New(fault.TooLarge, "configPolicies: %d bytes are over the limit of %d", len(text), MaxConfig)
	}
	if workload == workspaces.WorkloadTasks {
		return taskPolicies.checked(ctx, l.DB, ws, text, l.Cluster.taskCould)
	}
	return experimentPolicies.checked(ctx, l.DB, ws, text, l.Cluster.experimentCould)
}

// checked returns the document of a new policy; could returns why nothing could run under rules.
func (p policies[R]) checked(ctx context.Context, db *database.DB, ws workspaces.Workspace, text string, could func([]rule[R]) error) (expconf.Document, error) {
	by := workspaces.PolicyNamed(ws.Name)
	policy, err := p.parse(by, []byte(text))
	if err == nil {
		err = p.check(policy)
	}
	if err != nil {
		return nil, wrongPolicy(err)
	}
	others, err := p.of(ctx, db, ws)
	if err != nil {
		return nil, err
	}
	if pool := p.sets(policy.Invariant).Pool; pool != nil && ws.ID != 0 {
		if err := workspaces.Open(ctx, db, *pool, ws); err != nil {
			return nil, err
		}
	}
	return policy.Document, could(withRule(others, rule[R]{by, policy}, ws))
}

func wrongPolicy(err error) error {
	return fault.New(fault.Invalid, "the policy cannot be set: %w", err)
}

// withRule returns the rules with a policy replaced by its new version. The policy of the cluster is
// checked alone, because it has precedence over those of workspaces.
func withRule[R expconf.Raw | expconf.RawCommand](others []rule[R], r rule[R], ws workspaces.Workspace) []rule[R] {
	if ws.ID == 0 {
		return []rule[R]{r}
	}
	var out []rule[R]
	for _, o := range others {
		if o.by == workspaces.PolicyNamed("") {
			out = append(out, o)
		}
	}
	return append(out, r)
}

// experimentCould returns why no experiment could run under the rules.
func (c *Cluster) experimentCould(rules []rule[expconf.Raw]) error {
	var raw expconf.Raw
	raw, _, err := laid(rules, raw, expconf.Merge, shownExperiment(expconf.ClusterDefaults{Name: "unnamed"}))
	if err != nil {
		return wrongPolicy(err)
	}
	cfg, err := expconf.Complete(raw, expconf.ClusterDefaults{Name: "unnamed"})
	if err != nil {
		return err
	}
	if !expconf.IsSet(&raw.Resources, "slots_per_trial") {
		cfg.Resources.SlotsPerTrial = 0 // the least that a user may ask for
	}
	return c.couldIn(cfg.Resources.ResourcePool, func(in *pool.Pool) error {
		if _, err := keepExperiment(rules, &cfg, in); err != nil {
			return err
		}
		return cfg.Refused(c.Site.CapabilitiesIn(in))
	})
}

// taskCould returns why no task could run under the rules.
func (c *Cluster) taskCould(rules []rule[expconf.RawCommand]) error {
	under := expconf.CommandDefaults{Description: "unnamed"}
	var raw expconf.RawCommand
	raw, _, err := laid(rules, raw, expconf.MergeCommand, shownCommand(func(r expconf.RawCommand) expconf.RawCommand { return r }, under))
	if err != nil {
		return wrongPolicy(err)
	}
	cfg, err := expconf.CompleteCommand(raw, under)
	if err != nil {
		return err
	}
	if !expconf.IsSet(&raw.Resources, "slots") {
		cfg.Resources.Slots = 0
	}
	return c.couldIn(cfg.Resources.ResourcePool, func(in *pool.Pool) error {
		if _, err := keepTask(rules, &cfg, in); err != nil {
			return err
		}
		return cfg.Refused(c.Site.CapabilitiesIn(in))
	})
}

// couldIn checks the named pool, or all pools. It returns the error of the first pool if no pool can
// run the configuration.
func (c *Cluster) couldIn(named string, could func(*pool.Pool) error) error {
	in := c.Pools
	if named != "" {
		p, err := c.Pools.Find(named)
		if err != nil {
			return wrongPolicy(fault.New(fault.Invalid, "invariant_config.resources.resource_pool: %w", err))
		}
		in = pool.Set{*p}
	}
	var first error
	for i := range in {
		err := could(&in[i])
		if err == nil {
			return nil
		}
		if first == nil {
			first = fault.New(fault.Invalid, "nothing could run under the policy: in pool %s: %w", in[i].Name, err)
		}
	}
	return first
}

// A Change is a change of a job that runs or waits; nil leaves a value unchanged.
type Change struct {
	Priority *int
	MaxSlots *int
	Weight   *float64
	Pool     *string
}

// A Guard decides which changes the policies of a workspace allow.
type Guard struct {
	limits Limits
	fixed  []fixed
}

// fixed are values that an invariant configuration sets.
type fixed struct {
	by string
	Change
}

// Guard reads the policies for experiments or for other tasks of a workspace.
func (l *Experiments) Guard(ctx context.Context, workspace int, workload string) (Guard, error) {
	ws, err := workspaces.Get(ctx, l.DB, workspace)
	if err != nil {
		return Guard{}, err
	}
	if workload == workspaces.WorkloadTasks {
		rules, err := taskPolicies.of(ctx, l.DB, ws)
		return taskPolicies.guard(rules), err
	}
	rules, err := experimentPolicies.of(ctx, l.DB, ws)
	return experimentPolicies.guard(rules), err
}

func (p policies[R]) guard(rules []rule[R]) Guard {
	g := Guard{limits: limitsOf(rules)}
	for _, r := range rules {
		g.fixed = append(g.fixed, fixed{r.by, p.sets(r.Invariant)})
	}
	return g
}

// Allows returns an error if a policy does not allow a change. Fields that an invariant configuration
// sets cannot change; of several configurations the cluster's applies, which is the first.
func (g Guard) Allows(c Change) error {
	priority, err := settled("priority", c.Priority, g.fixed, func(f Change) *int { return f.Priority })
	if err == nil && !priority {
		err = g.limits.priority(c.Priority)
	}
	if err != nil {
		return err
	}
	slots, err := settled("resources.max_slots", c.MaxSlots, g.fixed, func(f Change) *int { return f.MaxSlots })
	if err == nil && !slots {
		err = g.limits.slots("max_slots", c.MaxSlots)
	}
	if err == nil {
		_, err = settled("resources.weight", c.Weight, g.fixed, func(f Change) *float64 { return f.Weight })
	}
	if err == nil {
		_, err = settled("resources.resource_pool", c.Pool, g.fixed, func(f Change) *string { return f.Pool })
	}
	return err
}

// settled reports whether a policy sets a field, and returns an error if the change is another value.
func settled[T comparable](field string, want *T, policies []fixed, of func(Change) *T) (bool, error) {
	if want == nil {
		return false, nil
	}
	for _, f := range policies {
		if value := of(f.Change); value != nil {
			if *value != *want {
				return true, fault.New(fault.Invalid, "%s cannot be modified: the %s sets it to %v", field, f.by, *value)
			}
			return true, nil
		}
	}
	return false, nil
}
