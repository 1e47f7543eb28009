package api

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/lifecycle"
	"github.com/detent-ml/detent/master/search"
	"github.com/detent-ml/detent/master/store"
	v1 "github.com/detent-ml/detent/master/v1"
)

// continueWithin is how long a call waits until an experiment has gone on. A
// master that leads does it at once; without one the wish is kept.
const continueWithin = 5 * time.Second

// continueExperiment lets an experiment go on after its end: one of a single trial
// from that trial's newest checkpoint, also with another configuration, and a
// search with those of its trials that failed or were canceled.
func (a *API) continueExperiment(ctx context.Context, c *call, req *v1.ContinueExperimentRequest) (*v1.ContinueExperimentResponse, error) {
	e, err := a.db.Experiment(ctx, req.ID)
	if err != nil {
		return nil, err
	}
	if err := c.may(auth.Change, auth.Object{Kind: "experiment", OwnerID: e.OwnerID}); err != nil {
		return nil, err
	}
	if err := refusedContinue(e); err != nil {
		return nil, err
	}
	s, err := a.continuation(ctx, e, text(req.OverrideConfig))
	if err != nil {
		return nil, err
	}
	n, err := a.db.ContinueExperiment(ctx, e.ID, s.change)
	if err != nil {
		return nil, err
	}
	states, done := a.bus.Subscribe(store.TopicState)
	defer done()
	a.bus.Publish(store.TopicIntent)
	_, err = await(ctx, states, continueWithin, func(ctx context.Context) (bool, error) { return a.db.HasContinued(ctx, e.ID, n) })
	if err != nil {
		return nil, err
	}
	if e, err = a.db.Experiment(ctx, e.ID); err != nil {
		return nil, err
	}
	resp := &v1.ContinueExperimentResponse{Warnings: s.warnings, Remarks: s.remarks}
	resp.Experiment, err = a.fullExperiment(ctx, e, c.who)
	return resp, err
}

// refusedContinue says why an experiment cannot go on as it is; the state is
// looked at again when it is done.
func refusedContinue(e store.Experiment) error {
	switch {
	case e.Unmanaged:
		return fault.New(fault.Invalid, "experiment %d runs elsewhere; it cannot be continued from here", e.ID)
	case e.Desired == "deleted":
		return fault.New(fault.Invalid, "experiment %d is being deleted", e.ID)
	case !lifecycle.State(e.State).Terminal():
		return fault.New(fault.Invalid, "experiment in non terminal state '%s', try again later", e.State)
	case e.Archived:
		return fault.New(fault.Invalid, "experiment %d is archived; unarchive it first", e.ID)
	case !search.CanContinue(text(e.Searcher)):
		return fault.New(fault.Invalid, "experiment %d cannot be continued: its searcher is '%s', and only those of the searchers single, random and grid can be",
			e.ID, text(e.Searcher))
	}
	return nil
}

// continuing is a continuation that was checked and not yet stored.
type continuing struct {
	change   store.Continuation
	warnings []v1.LaunchWarning
	remarks  []string
}

// continuation lays the changes over the configuration that the experiment has.
func (a *API) continuation(ctx context.Context, e store.Experiment, override string) (*continuing, error) {
	out := &continuing{change: store.Continuation{Single: text(e.Searcher) == expconf.Single}}
	body := search.Continuation{}
	if o := strings.TrimSpace(override); o != "" && o != "{}" && o != "null" {
		if !out.change.Single {
			return nil, fault.New(fault.Invalid, "override config is provided and experiment is not single searcher, got '%s' instead", text(e.Searcher))
		}
		s, err := a.overridden(ctx, e, override)
		if err != nil {
			return nil, err
		}
		out.change.Saw = e.Config
		out.change.Changed, out.warnings, out.remarks = &s.NewExperiment, s.warnings, s.remarks
		if body, err = search.NewContinuation(s.Config); err != nil {
			return nil, err
		}
	}
	event, err := json.Marshal(body)
	out.change.Event = event
	return out, err
}

// overridden is the experiment with the changes laid over its configuration.
func (a *API) overridden(ctx context.Context, e store.Experiment, override string) (*submission, error) {
	if len(override) > longestConfig {
		return nil, fault.New(fault.TooLarge, "overrideConfig: %d bytes are over the limit of %d", len(override), longestConfig)
	}
	over, warnings, err := parseOverride(override)
	if err != nil {
		return nil, wrongConfig(err)
	}
	for what, given := range map[string]bool{"project": over.Project != nil, "workspace": over.Workspace != nil} {
		if given {
			return nil, fault.New(fault.Invalid, "'%s' in override config cannot be specified, use `det experiment move` first if you want to change the %s", what, what)
		}
	}
	under, _, err := expconf.Parse("", e.Config)
	if err != nil {
		return nil, err
	}
	before, err := expconf.ParseConfigJSON(e.Config)
	if err != nil {
		return nil, err
	}
	cfg, err := expconf.Complete(expconf.Merge(over, under), expconf.ClusterDefaults{})
	if err != nil {
		return nil, wrongConfig(err)
	}
	if err := keeps(before, &cfg); err != nil {
		return nil, err
	}
	pool, err := a.poolFor(cfg.Resources.ResourcePool, cfg.Resources.SlotsPerTrial, store.WorkspaceSettings{})
	if err != nil {
		return nil, err
	}
	s := &submission{}
	if err := a.accept(s, &cfg, pool, warnings); err != nil {
		return nil, err
	}
	if err := s.fill(cfg, pool); err != nil {
		return nil, err
	}
	return s, a.warnOfSlots(ctx, s)
}

// parseOverride reads changes. Whoever changes how long a single trial trains need
// not say that it is single.
func parseOverride(text string) (expconf.Raw, expconf.Warnings, error) {
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

// keeps holds on to what cannot change while an experiment lives, and refuses what
// would have to.
func keeps(before expconf.Config, cfg *expconf.Config) error {
	if name := cfg.Searcher.Name; name != expconf.Single {
		return fault.New(fault.Invalid, "override config must have single searcher type got '%s' instead", name)
	}
	if !same(before.Searcher.SourceCheckpointUUID, cfg.Searcher.SourceCheckpointUUID) || !same(before.Searcher.SourceTrialID, cfg.Searcher.SourceTrialID) {
		return fault.New(fault.Invalid, "override config: a trial that goes on starts from its own checkpoints; submit a new experiment to start from those of another")
	}
	if !before.CheckpointStorage.SameFiles(cfg.CheckpointStorage) {
		return fault.New(fault.Invalid, "override config: checkpoint_storage cannot be another place: the checkpoints to go on from are where they are; fork the experiment instead")
	}
	cfg.Reproducibility = before.Reproducibility
	return nil
}

func same[T comparable](a, b *T) bool { return a == b || a != nil && b != nil && *a == *b }
