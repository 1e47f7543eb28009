package launch

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/document"
	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/expconf/difference"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/pool"
	"github.com/detent-ml/detent/master/workspaces"
)

// A rule is a config policy, and what messages call it.
type rule[R expconf.Raw | expconf.RawCommand] struct {
	by string
	expconf.Policy[R]
}

// policies has what differs between the policies for experiments and those for other tasks.
type policies[R expconf.Raw | expconf.RawCommand] struct {
	workload string
	parse    func(name string, src []byte) (expconf.Policy[R], error)
	check    func(expconf.Policy[R]) error
	sets     func(R) Change // what an invariant configuration sets of a job
}

var experimentPolicies = policies[expconf.Raw]{workspaces.WorkloadExperiment, expconf.ParsePolicy, expconf.CheckPolicy, func(r expconf.Raw) Change {
	x := r.Resources
	return Change{x.Priority, x.MaxSlots, given(expconf.IsSet(&x, "weight"), x.Weight), given(x.ResourcePool != "", x.ResourcePool)}
}}

// taskPolicies are those for notebooks, shells, commands, TensorBoards and generic tasks.
var taskPolicies = policies[expconf.RawCommand]{workspaces.WorkloadTasks, expconf.ParseCommandPolicy, expconf.CheckCommandPolicy, func(r expconf.RawCommand) Change {
	x := r.Resources
	return Change{x.Priority, x.MaxSlots, given(expconf.IsSet(&x, "weight"), x.Weight), given(x.ResourcePool != "", x.ResourcePool)}
}}

func given[T any](said bool, value T) *T {
	if said {
		return &value
	}
	return nil
}

// of reads the policies of a workspace, the cluster's first.
func (p policies[R]) of(ctx context.Context, db *database.DB, ws workspaces.Workspace) ([]rule[R], error) {
	list, err := workspaces.Policies(ctx, db, ws.ID, p.workload)
	if err != nil {
		return nil, err
	}
	out := make([]rule[R], len(list))
	for i, stored := range list {
		if out[i].by = workspaces.PolicyNamed(""); stored.WorkspaceID != nil {
			out[i].by = workspaces.PolicyNamed(ws.Name)
		}
		if out[i].Policy, err = p.parse(out[i].by, []byte(stored.Source)); err != nil {
			return nil, fault.New(fault.Invalid, "the %s cannot be used any more; an administrator can set it again with det config-policies set: %w", out[i].by, err)
		}
	}
	return out, nil
}

// A Limit is a number that a policy sets, and the policy's name.
type Limit struct {
	Value int
	By    string
}

// Limits are the limits of all policies of a workspace together; of several limits the strictest
// applies.
type Limits struct {
	Priority *Limit // the lowest number, which is the most important priority
	MaxSlots *Limit
	Secrets  []SecretLimit
	Runtime  *RuntimeLimit
}

// A RuntimeLimit is the longest max_runtime that a policy allows, and the policy's name.
type RuntimeLimit struct {
	Value expconf.Duration
	By    string
}

// A SecretLimit has the names of the only secrets that a policy allows, and the policy's name.
type SecretLimit struct {
	Names []string
	By    string
}

func limitsOf[R expconf.Raw | expconf.RawCommand](rules []rule[R]) Limits {
	var l Limits
	for _, r := range rules {
		if p := r.Constraints.PriorityLimit; p != nil && (l.Priority == nil || *p > l.Priority.Value) {
			l.Priority = &Limit{*p, r.by}
		}
		if m := r.Constraints.Resources.MaxSlots; m != nil && (l.MaxSlots == nil || *m < l.MaxSlots.Value) {
			l.MaxSlots = &Limit{*m, r.by}
		}
		if m := r.Constraints.Resources.MaxRuntime; m != nil && (l.Runtime == nil || *m < l.Runtime.Value) {
			l.Runtime = &RuntimeLimit{*m, r.by}
		}
		if names := r.Constraints.Secrets; names != nil {
			l.Secrets = append(l.Secrets, SecretLimit{names, r.by})
		}
	}
	return l
}

func (l Limits) secrets(names []string) error {
	for _, limit := range l.Secrets {
		for _, name := range names {
			switch {
			case slices.Contains(limit.Names, name):
			case len(limit.Names) == 0:
				return fault.New(fault.Invalid, "environment.secrets: the %s allows no secrets, found %q", limit.By, name)
			default:
				return fault.New(fault.Invalid, "environment.secrets: the %s does not allow the secret %q; it allows %s", limit.By, name, fault.ClipTo(strings.Join(limit.Names, ", "), 300))
			}
		}
	}
	return nil
}

func (l Limits) priority(n *int) error {
	if n == nil || l.Priority == nil || *n >= l.Priority.Value {
		return nil
	}
	return fault.New(fault.Invalid, "requested priority [%d] exceeds limit set by admin [%d] in the %s: a lower number is more important", *n, l.Priority.Value, l.Priority.By)
}

func (l Limits) slots(field string, n *int) error {
	if n == nil || l.MaxSlots == nil || *n <= l.MaxSlots.Value {
		return nil
	}
	return fault.New(fault.Invalid, "requested resources.%s [%d] exceeds limit set by admin [%d] in the %s", field, *n, l.MaxSlots.Value, l.MaxSlots.By)
}

func (l Limits) runtime(d *expconf.Duration) error {
	if d == nil || l.Runtime == nil || *d <= l.Runtime.Value {
		return nil
	}
	return fault.New(fault.Invalid, "requested resources.max_runtime [%s] exceeds limit set by admin [%s] in the %s", *d, l.Runtime.Value, l.Runtime.By)
}

// A wanted has the values of a configuration that policies limit.
type wanted struct {
	slots     int
	slotField string
	maxSlots  **int
	capped    bool // max_slots has an effect, so it is set to the limit
	priority  **int
	runtime   **expconf.Duration
	secrets   expconf.Secrets
	// The priority that applies if the configuration has none, and whose it is.
	standard   int
	standardOf string
	in         *pool.Pool // whose max_runtime applies if neither the configuration nor a policy has one; nil: not asked
}

// Whose priority applies if a configuration has none.
const (
	ofPool       = "pool"
	ofExperiment = "experiment" // the one that continues
)

// keep applies the limits to a configuration. It rejects values of the user that are over a limit.
// Other values become the limit, and the remarks name them.
func (l Limits) keep(w wanted) (remarks []string, err error) {
	if err := l.slots(w.slotField, &w.slots); err != nil {
		return nil, err
	}
	if err := l.slots("max_slots", *w.maxSlots); err != nil {
		return nil, err
	}
	if err := l.priority(*w.priority); err != nil {
		return nil, err
	}
	if err := l.secrets(w.secrets.Names()); err != nil {
		return nil, err
	}
	if err := l.runtime(*w.runtime); err != nil {
		return nil, err
	}
	remarks = l.keepRuntime(w)
	if l.MaxSlots != nil && *w.maxSlots == nil && w.capped {
		*w.maxSlots = new(l.MaxSlots.Value)
		remarks = append(remarks, fmt.Sprintf("resources.max_slots: %d, the limit in the %s", l.MaxSlots.Value, l.MaxSlots.By))
	}
	if l.Priority != nil && *w.priority == nil && w.standard < l.Priority.Value {
		*w.priority = new(l.Priority.Value)
		remarks = append(remarks, fmt.Sprintf("resources.priority: %d, the limit in the %s; the %s's is %d", l.Priority.Value, l.Priority.By, w.standardOf, w.standard))
	}
	return remarks, nil
}

// keepRuntime sets the limit of the policies in a configuration that has no max_runtime, so that it goes along to another pool; a pool with a lower
// limit lowers it. Without a limit of the policies the limit of the pool stays the pool's.
func (l Limits) keepRuntime(w wanted) []string {
	of := expconf.Duration(0)
	if w.in != nil {
		of = expconf.Duration(w.in.MaxRuntime)
	}
	switch {
	case *w.runtime != nil:
	case l.Runtime != nil && of > 0 && of < l.Runtime.Value:
		*w.runtime = new(of)
		return []string{fmt.Sprintf("resources.max_runtime: %s, the max_runtime of pool %s", of, w.in.Name)}
	case l.Runtime != nil:
		*w.runtime = new(l.Runtime.Value)
		return []string{fmt.Sprintf("resources.max_runtime: %s, the limit in the %s", l.Runtime.Value, l.Runtime.By)}
	case of > 0:
		return []string{fmt.Sprintf("it may run for %s, the max_runtime of pool %s", of, w.in.Name)}
	}
	return nil
}

// maxTold limits the remarks about one policy.
const maxTold = 30

// laid merges the invariant configurations of policies over a configuration, the cluster's last, and
// returns remarks about the fields that they change.
func laid[R expconf.Raw | expconf.RawCommand](rules []rule[R], raw R, merge func(over, under R) R, complete func(R) ([]byte, error)) (R, []string, error) {
	if len(rules) == 0 {
		return raw, nil, nil
	}
	first, err := complete(raw)
	if err != nil {
		return raw, nil, document.Wrong(err)
	}
	before, by := first, map[string]string{}
	for _, r := range slices.Backward(rules) {
		raw = merge(r.Invariant, raw)
		after, err := complete(raw)
		if err != nil {
			return raw, nil, document.Wrong(err)
		}
		changed, err := difference.Of(before, after)
		if err != nil {
			return raw, nil, err
		}
		for _, d := range changed {
			by[d.Path] = r.by
		}
		before = after
	}
	changed, err := difference.Of(first, before)
	var remarks []string
	for _, d := range changed {
		if len(remarks) == maxTold {
			remarks = append(remarks, fmt.Sprintf("config policies set %d more fields", len(changed)-maxTold))
			break
		}
		remarks = append(remarks, fmt.Sprintf("%s, set by the %s", d, by[d.Path]))
	}
	return raw, remarks, err
}

// shownExperiment is a configuration as remarks may quote it.
func shownExperiment(under expconf.ClusterDefaults) func(expconf.Raw) ([]byte, error) {
	return func(raw expconf.Raw) ([]byte, error) {
		c, err := expconf.Complete(raw, under)
		if err != nil {
			return nil, err
		}
		return c.Shown(true)
	}
}

func shownCommand(shape func(expconf.RawCommand) expconf.RawCommand, under expconf.CommandDefaults) func(expconf.RawCommand) ([]byte, error) {
	return func(raw expconf.RawCommand) ([]byte, error) {
		c, err := expconf.CompleteCommand(shape(raw), under)
		if err != nil {
			return nil, err
		}
		return c.Shown(true)
	}
}

// keepExperiment applies the limits of policies to an experiment.
func keepExperiment(rules []rule[expconf.Raw], cfg *expconf.Config, in *pool.Pool) ([]string, error) {
	r := &cfg.Resources
	return limitsOf(rules).keep(wanted{slots: r.SlotsPerTrial, slotField: "slots_per_trial", maxSlots: &r.MaxSlots, capped: true, priority: &r.Priority, runtime: &r.MaxRuntime, in: in, secrets: cfg.Environment.Secrets, standard: in.Priority, standardOf: ofPool})
}

// keepTask applies the limits of policies to a task, whose number of slots is fixed.
func keepTask(rules []rule[expconf.RawCommand], cfg *expconf.CommandConfig, in *pool.Pool) ([]string, error) {
	r := &cfg.Resources
	return limitsOf(rules).keep(wanted{slots: r.Slots, slotField: "slots", maxSlots: &r.MaxSlots, priority: &r.Priority, runtime: &r.MaxRuntime, in: in, secrets: cfg.Environment.Secrets, standard: in.Priority, standardOf: ofPool})
}

// Allowed returns an error if the policies of a workspace do not allow a change to what runs or
// waits there.
func (l *Experiments) Allowed(ctx context.Context, workspace int, workload string, change Change) error {
	if change == (Change{}) {
		return nil
	}
	guard, err := l.Guard(ctx, workspace, workload)
	if err != nil {
		return err
	}
	return guard.Allows(change)
}
