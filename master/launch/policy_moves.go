package launch

import (
	"context"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/expconf/difference"
	"github.com/detent-ml/detent/master/experiments"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/optional"
	"github.com/detent-ml/detent/master/workspaces"
)

// MayMove reads the policies of a workspace to which experiments move. An experiment that has not ended may come there only as it could have
// been submitted there: within the limits, and with what the policies set.
func MayMove(ctx context.Context, tx *database.DB, to workspaces.Workspace) (func(experiments.Moving) error, error) {
	rules, err := experimentPolicies.of(ctx, tx, to)
	if err != nil || len(rules) == 0 {
		return nil, err
	}
	guard, all := experimentPolicies.guard(rules), expconf.Raw{}
	for i := range rules {
		rules[i].Invariant = lasting(rules[i].Invariant)
	}
	for _, r := range slices.Backward(rules) {
		all = expconf.Merge(r.Invariant, all)
	}
	return func(e experiments.Moving) error {
		if err := guard.admits(e); err != nil {
			return err
		}
		return asSet(rules, all, e)
	}, nil
}

// admits returns why an experiment would have in the workspace what nobody may request there.
func (g Guard) admits(e experiments.Moving) error {
	if err := g.limits.secrets(e.Secrets); err != nil {
		return err
	}
	if err := g.limits.slots("slots_per_trial", &e.SlotsPerTrial); err != nil {
		return err
	}
	if err := g.admitsRuntime(e); err != nil {
		return err
	}
	if limit := g.limits.MaxSlots; limit != nil && e.MaxSlots == nil {
		return fault.New(fault.Invalid, "it has no resources.max_slots, which the %s limits to %d; set it first with det experiment set max-slots", limit.By, limit.Value)
	}
	return g.Allows(Change{Priority: &e.Priority, MaxSlots: e.MaxSlots, Weight: &e.Weight, Pool: &e.Pool})
}

// admitsRuntime compares the experiment's max_runtime, which cannot change, with the limit.
func (g Guard) admitsRuntime(e experiments.Moving) error {
	limit := g.limits.Runtime
	if limit == nil {
		return nil
	}
	cfg, err := expconf.ParseConfigJSON(e.Config)
	if err != nil {
		return err
	}
	if cfg.Resources.MaxRuntime == nil {
		return fault.New(fault.Invalid, "it has no resources.max_runtime, which the %s limits to %s; fork it into that workspace instead", limit.By, limit.Value)
	}
	return g.limits.runtime(cfg.Resources.MaxRuntime)
}

// asSet returns an error if policies, which set this all together, set something otherwise than an experiment has it. The message has no secrets, and no values of
// variables: the experiment may be somebody else's.
func asSet(rules []rule[expconf.Raw], all expconf.Raw, e experiments.Moving) error {
	cfg, err := expconf.ParseConfigJSON(e.Config)
	if err != nil {
		return err
	}
	if own := cfg.CheckpointStorage.Prefix; own != nil && cfg.CheckpointStorage.IsObjects() { // it ends with the experiment's id
		cfg.CheckpointStorage.Prefix = new(strings.TrimSuffix(strings.TrimSuffix(*own, strconv.Itoa(e.ID)), "/"))
	}
	others, err := cfg.Changes(all)
	if err != nil || len(others) == 0 {
		return err
	}
	by := rules[0].by
	for _, r := range rules {
		one, err := cfg.Changes(r.Invariant)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(one, func(d difference.Field) bool { return d.Path == others[0].Path }) {
			by = r.by
			break
		}
	}
	return fault.New(fault.Invalid, "the %s sets %s, and the experiment has another value, which cannot change any more; fork it into that workspace instead", by, others[0])
}

// lasting is what a policy sets for the whole life of an experiment. The other fields can change, and columns have them.
func lasting(r expconf.Raw) expconf.Raw {
	x := &r.Resources
	x.Priority, x.MaxSlots, x.Weight, x.ResourcePool = nil, nil, 0, ""
	if p := r.CheckpointStorage.Prefix; p != nil {
		r.CheckpointStorage.Prefix = new(strings.TrimPrefix(path.Clean("/"+optional.Value(p)), "/"))
	}
	return r
}
