package launch

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/document"
	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/experiments"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/lifecycle"
	"github.com/detent-ml/detent/master/optional"
	"github.com/detent-ml/detent/master/pool"
	"github.com/detent-ml/detent/master/rest"
	"github.com/detent-ml/detent/master/search"
	v1 "github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/master/workspaces"
)

// Continued is the result of a request to continue an experiment.
type Continued struct {
	N        int // number of the request; the experiment runs when the loop has carried it out
	Warnings []v1.LaunchWarning
	Remarks  []string
}

// Continue requests that an ended experiment continues. A single trial continues from its
// newest checkpoint, also with a changed configuration; a search continues with its trials
// that failed or were canceled. An experiment runs with the rights of its owner: others (byOwner is
// false) may not change what it runs, not even by a policy.
func (l *Experiments) Continue(ctx context.Context, e experiments.Experiment, override string, byOwner bool) (*Continued, error) {
	if err := cmp.Or(l.refusedImported(ctx, e), refusedContinue(e)); err != nil {
		return nil, err
	}
	change, changed, err := l.continuation(ctx, e, override, byOwner)
	if err != nil {
		return nil, err
	}
	if err := refusedBudget(e, change); err != nil {
		return nil, err
	}
	if err := l.Users.Admit(ctx, e.OwnerID, 0); err != nil {
		return nil, err
	}
	n, err := experiments.Continue(ctx, l.DB, l.Memory, e.ID, change)
	return &Continued{N: n, Warnings: changed.Warnings, Remarks: changed.Remarks}, err
}

// refusedContinue returns why an experiment cannot continue. experiments.Continue checks the state again
// in its transaction.
func refusedContinue(e experiments.Experiment) error {
	switch {
	case e.Unmanaged:
		return fault.New(fault.Invalid, "experiment %d is unmanaged; the master cannot continue it", e.ID)
	case e.Desired == "deleted":
		return fault.New(fault.Invalid, "experiment %d is being deleted", e.ID)
	case !lifecycle.State(e.State).Terminal():
		return fault.New(fault.Invalid, "experiment in non terminal state '%s', try again later", e.State)
	case e.Archived:
		return fault.New(fault.Invalid, "experiment %d is archived; unarchive it first", e.ID)
	case !search.CanContinue(optional.Value(e.Searcher)):
		return fault.New(fault.Invalid, "experiment %d cannot be continued: its searcher is '%s', and only the searchers single, random and grid can be continued; "+
			"a new search can learn from it: `det experiment continue %d --new-search`", e.ID, optional.Value(e.Searcher), e.ID)
	}
	return nil
}

// refusedBudget returns why an experiment cannot continue with its budget: it is spent, and each trial would stop at its first report.
func refusedBudget(e experiments.Experiment, change experiments.Continuation) error {
	outlook, err := experiments.OutlookOf(e)
	if err != nil || outlook.Budget == nil {
		return err
	}
	config := e.Config
	if change.Changed != nil {
		config = change.Changed.Config
	}
	cfg, err := expconf.ParseConfigJSON(config)
	if err != nil {
		return err
	}
	spent, b := outlook.Budget, cfg.Searcher.Budget
	switch {
	case b == nil, spent.Unit == "slot_hours" && b.SlotHours > spent.Spent, spent.Unit == "hours" && b.Hours > spent.Spent:
		return nil
	case spent.Unit == "slot_hours" && b.SlotHours == 0, spent.Unit == "hours" && b.Hours == 0: // it was in another unit
		return nil
	case change.Single:
		return fault.New(fault.Invalid, "experiment %d has spent its budget of %s; set a larger one: searcher.budget", e.ID, *b)
	}
	return fault.New(fault.Invalid, "experiment %d has spent its budget of %s; fork it with a larger searcher.budget, and learn_from: [%[1]d]", e.ID, *b)
}

// refusedImported returns why an imported search cannot continue: only Determined could read the state of its searcher.
func (l *Experiments) refusedImported(ctx context.Context, e experiments.Experiment) error {
	if optional.Value(e.Searcher) == expconf.Single {
		return nil
	}
	imported, err := experiments.Imported(ctx, l.DB, e.ID)
	if err == nil && imported {
		err = fault.New(fault.Invalid, "experiment %d is a search of another cluster, which only that cluster could continue: "+
			"`det experiment continue %d --new-search` makes a new search that learns from what this one has tried", e.ID, e.ID)
	}
	return err
}

// continuation merges the changes into the experiment's configuration, and applies the policies of
// its workspace.
func (l *Experiments) continuation(ctx context.Context, e experiments.Experiment, override string, byOwner bool) (experiments.Continuation, *Experiment, error) {
	change := experiments.Continuation{Single: optional.Value(e.Searcher) == expconf.Single}
	if o := strings.TrimSpace(override); o == "" || o == "{}" || o == "null" {
		override = ""
	} else if !change.Single {
		return change, nil, fault.New(fault.Invalid, "override config is provided and experiment is not single searcher, got '%s' instead", optional.Value(e.Searcher))
	}
	changed, err := l.overridden(ctx, e, override, byOwner)
	if err != nil {
		return change, nil, err
	}
	body := search.Continuation{}
	if changed.Config != nil {
		change.Saw, change.Changed = e.Config, &changed.New
		if change.Single {
			if body, err = search.NewContinuation(changed.Config); err != nil {
				return change, nil, err
			}
		}
	}
	if change.Event, err = json.Marshal(body); err != nil {
		return change, nil, err
	}
	change.Memory = changed.Memory
	if change.Changed == nil {
		change.Memory, err = memoryStored(e)
	}
	return change, changed, err
}

// memoryStored returns the memory of a stored experiment's search.
func memoryStored(e experiments.Experiment) (int64, error) {
	cfg, err := expconf.ParseConfigJSON(e.Config)
	if err != nil {
		return 0, err
	}
	s, err := search.New(cfg, 0)
	if err != nil {
		return 0, err
	}
	return memoryOf(s, cfg)
}

// overridden returns the experiment with the changes merged into its configuration, and with the
// policies applied; without a configuration if neither changes anything.
func (l *Experiments) overridden(ctx context.Context, e experiments.Experiment, override string, byOwner bool) (*Experiment, error) {
	over, warnings, err := checkedOverride(override)
	if err != nil {
		return nil, err
	}
	rules, err := experimentPolicies.of(ctx, l.DB, workspaces.Workspace{ID: e.WorkspaceID, Name: e.WorkspaceName})
	if err != nil {
		return nil, err
	}
	out := &Experiment{}
	if override == "" && len(rules) == 0 {
		return out, workspaces.Open(ctx, l.DB, e.Pool, workspaces.Workspace{ID: e.WorkspaceID, Name: e.WorkspaceName})
	}
	for i := range rules {
		rules[i].Invariant = rules[i].Invariant.ForContinuation()
	}
	under, _, err := expconf.Parse("", e.Config)
	if err != nil {
		return nil, err
	}
	if (under.Workspace == "") != (under.Project == "") { // an imported one: Determined accepts this beside the id of a project
		under.Workspace, under.Project = e.WorkspaceName, e.ProjectName
	}
	before, err := expconf.Complete(under, expconf.ClusterDefaults{})
	if err != nil {
		return nil, err
	}
	raw, told, err := laid(rules, expconf.Merge(over, under), expconf.Merge, shownExperiment(expconf.ClusterDefaults{}))
	if err != nil {
		return nil, err
	}
	cfg, err := expconf.Complete(raw, expconf.ClusterDefaults{})
	if err != nil {
		return nil, document.Wrong(err)
	}
	if override != "" {
		if err := checkFixed(before, &cfg); err != nil {
			return nil, err
		}
	}
	if same, err := runsAlike(before, cfg); err != nil || !byOwner && !same {
		if err != nil {
			return nil, err
		}
		return nil, fault.New(fault.Forbidden, "experiment %d runs with the rights of %s, and it would continue with another program, environment, input or storage: only %s may continue it; fork it instead", e.ID, e.Owner, e.Owner)
	}
	of, err := l.Cluster.poolFor(cfg.Resources.ResourcePool, cfg.Resources.SlotsPerTrial, workspaces.Settings{})
	if err != nil {
		return nil, err
	}
	if err := workspaces.Open(ctx, l.DB, of.Name, workspaces.Workspace{ID: e.WorkspaceID, Name: e.WorkspaceName}); err != nil {
		return nil, err
	}
	kept, err := keepContinued(rules, over, &cfg, of)
	if err != nil {
		return nil, err
	}
	if err := l.Cluster.Site.Secrets.Check(cfg.Environment.Secrets, e.WorkspaceName, e.Owner); err != nil {
		return nil, err
	}
	if same, err := alike(before, cfg); err != nil || override == "" && same {
		return out, err
	}
	if err := l.Cluster.accept(out, &cfg, of, warnings); err != nil {
		return nil, err
	}
	if err := out.fill(cfg, of); err != nil {
		return nil, err
	}
	err = l.warn(ctx, out)
	out.Remarks = slices.Concat(told, kept, out.Remarks)
	return out, err
}

// keepContinued applies the limits of policies to a continued experiment. It rejects values over a
// limit that the request or a policy sets; a value that the experiment had before becomes the limit.
func keepContinued(rules []rule[expconf.Raw], over expconf.Raw, cfg *expconf.Config, of *pool.Pool) ([]string, error) {
	limits, r := limitsOf(rules), &cfg.Resources
	asked := func(field string) bool {
		said := expconf.IsSet(&over.Resources, field)
		for _, rule := range rules {
			said = said || expconf.IsSet(&rule.Invariant.Resources, field)
		}
		return said
	}
	standard, standardOf := of.Priority, ofPool
	if r.Priority != nil && !asked("priority") && limits.priority(r.Priority) != nil {
		standard, standardOf, r.Priority = *r.Priority, ofExperiment, nil
	}
	if r.MaxSlots != nil && !asked("max_slots") && limits.slots("max_slots", r.MaxSlots) != nil {
		r.MaxSlots = nil
	}
	if r.MaxRuntime != nil && !asked("max_runtime") && limits.runtime(r.MaxRuntime) != nil {
		r.MaxRuntime = nil
	}
	return limits.keep(wanted{slots: r.SlotsPerTrial, slotField: "slots_per_trial", maxSlots: &r.MaxSlots, capped: true, priority: &r.Priority, runtime: &r.MaxRuntime, in: of, secrets: cfg.Environment.Secrets, standard: standard, standardOf: standardOf})
}

// alike reports whether two configurations are the same.
func alike(a, b expconf.Config) (bool, error) {
	before, err := a.JSON()
	if err != nil {
		return false, err
	}
	after, err := b.JSON()
	return bytes.Equal(before, after), err
}

// checkedOverride parses the changes of a request.
func checkedOverride(override string) (expconf.Raw, document.Warnings, error) {
	if override == "" {
		return expconf.Raw{}, nil, nil
	}
	if len(override) > MaxConfig {
		return expconf.Raw{}, nil, fault.New(fault.TooLarge, "overrideConfig: %d bytes are over the limit of %d", len(override), MaxConfig)
	}
	over, warnings, err := parseOverride(override)
	if err != nil {
		return over, nil, document.Wrong(err)
	}
	for _, what := range []string{"project", "workspace"} {
		if expconf.IsSet(&over, what) {
			return over, nil, fault.New(fault.Invalid, "'%s' in override config cannot be specified, use `det experiment move` first if you want to change the %s", what, what)
		}
	}
	return over, warnings, nil
}

// parseOverride parses the changes. A change of a single trial's length need not repeat the
// searcher's name.
func parseOverride(text string) (expconf.Raw, document.Warnings, error) {
	raw, warnings, err := expconf.Parse("override config", []byte(text))
	if err == nil {
		return raw, warnings, nil
	}
	if named, e := expconf.ApplyOverrides("override config", []byte(text), []string{"searcher.name=" + expconf.Single}); e == nil {
		if raw, warnings, e := expconf.Parse("override config", named); e == nil {
			return raw, warnings, nil
		}
	}
	return raw, warnings, err
}

// checkFixed rejects changes of fields that are fixed when an experiment is created. It keeps the seed: a
// seed in the request has no effect.
func checkFixed(before expconf.Config, cfg *expconf.Config) error {
	if name := cfg.Searcher.Name; name != expconf.Single {
		return fault.New(fault.Invalid, "override config must have single searcher type got '%s' instead", name)
	}
	if !same(before.Searcher.SourceCheckpointUUID, cfg.Searcher.SourceCheckpointUUID) || !same(before.Searcher.SourceTrialID, cfg.Searcher.SourceTrialID) {
		return fault.New(fault.Invalid, "override config: a continued trial starts from its own checkpoints; to start from another trial's checkpoint, submit a new experiment")
	}
	if !before.CheckpointStorage.SameFiles(cfg.CheckpointStorage) {
		return fault.New(fault.Invalid, "override config: checkpoint_storage cannot be changed, because the trial resumes from checkpoints in its storage; fork the experiment instead")
	}
	cfg.Reproducibility = before.Reproducibility
	return nil
}

func same[T comparable](a, b *T) bool { return a == b || a != nil && b != nil && *a == *b }

// runsAlike reports whether two configurations run the same program, in the same environment, on the same input, with the same
// places for what it stores. What says only when, where and how long it runs, and how it is called, may differ.
func runsAlike(a, b expconf.Config) (bool, error) {
	if !a.CheckpointStorage.SameFiles(b.CheckpointStorage) {
		return false, nil
	}
	b.CheckpointStorage, b.CheckpointPolicy, b.RetentionPolicy = a.CheckpointStorage, a.CheckpointPolicy, a.RetentionPolicy
	b.Name, b.Description, b.Labels, b.Workspace, b.Project = a.Name, a.Description, a.Labels, a.Workspace, a.Project
	b.Searcher, b.Reproducibility, b.MaxRestarts, b.PreemptionTimeout, b.LogPolicies = a.Searcher, a.Reproducibility, a.MaxRestarts, a.PreemptionTimeout, a.LogPolicies
	b.Preemption = a.Preemption
	b.MinValidationPeriod, b.MinCheckpointPeriod, b.Profiling, b.Debug = a.MinValidationPeriod, a.MinCheckpointPeriod, a.Profiling, a.Debug
	of := a.Resources
	b.Resources.MaxRuntime = of.MaxRuntime
	b.Resources.Priority, b.Resources.Weight, b.Resources.MaxSlots, b.Resources.ResourcePool, b.Resources.SlotsPerTrial = of.Priority, of.Weight, of.MaxSlots, of.ResourcePool, of.SlotsPerTrial
	return alike(a, b)
}

// continueTimeout is how long a call waits until an experiment continues. The leader continues
// it at once; without a leader the request is stored.
const continueTimeout = 5 * time.Second

func (d Deps) continueExperiment(ctx context.Context, c *rest.Call, req *v1.ContinueExperimentRequest) (*v1.ContinueExperimentResponse, error) {
	e, err := experiments.Get(ctx, d.DB, req.ID)
	if err != nil {
		return nil, err
	}
	if err := c.May(auth.Change, e.Object()); err != nil {
		return nil, err
	}
	byOwner := auth.Owns(c.Who(), e.Object())
	if optional.Value(req.OverrideConfig) != "" && !byOwner {
		return nil, fault.New(fault.Forbidden, "experiment %d runs with the rights of %s, so only %s and ClusterAdmins may continue it with another configuration; fork it instead", e.ID, e.Owner, e.Owner)
	}
	made, err := d.Launcher.Continue(ctx, e, optional.Value(req.OverrideConfig), byOwner)
	if err != nil {
		return nil, err
	}
	states, done := d.Bus.Subscribe(lifecycle.TopicState)
	defer done()
	d.Bus.Publish(lifecycle.TopicIntent)
	_, err = rest.Await(ctx, states, continueTimeout, func(ctx context.Context) (bool, error) { return experiments.HasContinued(ctx, d.DB, e.ID, made.N) })
	if err != nil {
		return nil, err
	}
	if e, err = experiments.Get(ctx, d.DB, e.ID); err != nil {
		return nil, err
	}
	resp := &v1.ContinueExperimentResponse{Warnings: made.Warnings, Remarks: made.Remarks}
	resp.Experiment, err = d.Full(ctx, e, c.Who())
	return resp, err
}
