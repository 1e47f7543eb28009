package branches

import (
	"context"
	"encoding/json"
	"time"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/document"
	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/experiments"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/launch"
	"github.com/detent-ml/detent/master/lifecycle"
	"github.com/detent-ml/detent/master/metrics"
	"github.com/detent-ml/detent/master/optional"
	"github.com/detent-ml/detent/master/rest"
	"github.com/detent-ml/detent/master/search"
	"github.com/detent-ml/detent/master/search/onward"
	"github.com/detent-ml/detent/master/sleep"
	v1 "github.com/detent-ml/detent/master/v1"
)

// maxSet is how many changes a request may have.
const maxSet = 200

// branch creates an experiment that goes on from an event of a search.
func (d Deps) branch(ctx context.Context, c *rest.Call, e experiments.Experiment, req *v1.BranchExperimentRequest) (*v1.BranchExperimentResponse, error) {
	if err := c.May(auth.Create, auth.Object{Kind: v1.KindExperiment}); err != nil {
		return nil, err
	}
	at, err := ParseAt(req.At)
	if err != nil {
		return nil, err
	}
	if err := d.refused(ctx, e); err != nil {
		return nil, err
	}
	config, err := changed(c.Who(), e, req.Set)
	if err != nil {
		return nil, err
	}
	made, err := d.Launcher.CheckBranch(ctx, launch.SubmitterOf(c), &v1.CreateExperimentRequest{ParentID: &e.ID, Config: &config, ProjectID: req.ProjectID, Activate: req.Activate})
	if err != nil {
		return nil, err
	}
	if err := reachable(e, made.Complete); err != nil {
		return nil, err
	}
	s, err := d.begin(ctx, c.Owner(), e, at, made)
	if err != nil {
		return nil, err
	}
	if err := d.summarized(ctx, e.ID); err != nil {
		return nil, err
	}
	s.paused = !made.Active
	made.Search, made.Learned, made.Also = nil, nil, s.share
	if made.ID, err = experiments.Create(ctx, d.DB, d.Launcher.Memory, made.New); err != nil {
		return nil, err
	}
	d.Bus.Publish(lifecycle.TopicIntent)
	created, err := experiments.Get(ctx, d.DB, made.ID)
	if err != nil {
		return nil, err
	}
	resp := &v1.BranchExperimentResponse{Event: s.event, Shared: s.ended, Resumed: s.resumed, Restarted: s.restarted, Warnings: made.Warnings, Remarks: made.Remarks}
	resp.Experiment, err = d.Full(ctx, created, c.Who())
	return resp, err
}

// refused returns why an experiment cannot be branched at all.
func (d Deps) refused(ctx context.Context, e experiments.Experiment) error {
	switch {
	case e.Unmanaged:
		return fault.New(fault.Invalid, "experiment %d is unmanaged: its programs decide about its trials, and it has no search to branch", e.ID)
	case e.Desired == string(lifecycle.WantDeleted):
		return fault.New(fault.Invalid, "experiment %d is being deleted", e.ID)
	}
	if why := onward.CanBranch(optional.Value(e.Searcher)); why != "" {
		return fault.New(fault.Invalid, "experiment %d cannot be branched: %s", e.ID, why)
	}
	imported, err := experiments.Imported(ctx, d.DB, e.ID)
	if err == nil && imported {
		err = fault.New(fault.Invalid, "experiment %d was imported from another cluster, and the events of its search were not: "+
			"`det experiment continue %d --new-search` makes a new search that learns from what this one has tried", e.ID, e.ID)
	}
	return err
}

// changed returns the configuration of an experiment with changes. Who may not see all of it may not make others run with it.
func changed(who auth.Who, e experiments.Experiment, set []string) (string, error) {
	if len(set) > maxSet {
		return "", fault.New(fault.Invalid, "set: a branch may change %d fields at most, found %d", maxSet, len(set))
	}
	own := auth.Owns(who, e.Object())
	config := e.Config
	if !own {
		shown, secrecy, err := expconf.ShownConfig(e.Config, false)
		if err != nil {
			return "", fault.New(fault.Invalid, "this release cannot read the configuration of experiment %d: %w", e.ID, err)
		}
		if secrecy != expconf.NothingHidden {
			return "", fault.New(fault.Forbidden, "the configuration of experiment %d has credentials or variables that only %s may see, so only %s may branch it", e.ID, e.Owner, e.Owner)
		}
		config = shown
	}
	text, err := expconf.ApplyOverrides("set", config, set)
	if err != nil {
		return "", document.Wrong(err)
	}
	return string(text), nil
}

// reachable returns an error if the trials of a branch could not read the checkpoints of the common past: in a shared file system
// a task sees only the host_path of its own configuration.
func reachable(e experiments.Experiment, own expconf.Config) error {
	cfg, err := expconf.ParseConfigJSON(e.Config)
	if err != nil {
		return err
	}
	from, to := cfg.CheckpointStorage, own.CheckpointStorage
	if from.Type == expconf.SharedFS && (to.Type != expconf.SharedFS || to.HostPath != from.HostPath) {
		return fault.New(fault.Invalid, "checkpoint_storage: the checkpoints of the common past are in the shared file system at %s, which the branch would not mount; keep its host_path", from.HostPath)
	}
	return nil
}

// begin computes the search up to the event, and begins the branch with the new settings.
func (d Deps) begin(ctx context.Context, owner string, e experiments.Experiment, at At, made *launch.Experiment) (*sharing, error) {
	own, err := branchEvent(ctx, d.DB, e.ID)
	if err != nil {
		return nil, err
	}
	done, err := d.Reader.begin(ctx, owner)
	if err != nil {
		return nil, err
	}
	defer done()
	p, err := d.Reader.upTo(ctx, e.ID, at)
	if err != nil {
		return nil, err
	}
	if p.event <= own {
		return nil, fault.New(fault.Invalid, "at: event %d is before experiment %d itself began, with its event %d: branch the experiment from which it branched, which has the same event", p.event, e.ID, own+1)
	}
	alters, err := onward.Changes(p.config, made.Config, p.search.Len())
	if err != nil {
		return nil, fault.New(fault.Invalid, "%w", err)
	}
	body := search.Branching{Experiment: e.ID, Event: p.event}
	if alters {
		part, err := search.NewContinuation(made.Config)
		if err != nil {
			return nil, err
		}
		body.Config = part.Config
	}
	s := &sharing{origin: e.ID, event: p.event, search: p.search, now: at.end}
	if s.body, err = json.Marshal(body); err != nil {
		return nil, err
	}
	first, err := search.NewContinuation(p.first)
	if err != nil {
		return nil, err
	}
	s.began = first.Config
	if err := p.search.Apply(search.Event{Seq: p.event + 1, Kind: search.Branched, Body: s.body}); err != nil {
		return nil, fault.New(fault.Invalid, "%w", err)
	}
	if status, _ := p.search.Status(); status != lifecycle.Searching {
		return nil, fault.New(fault.Invalid, "at event %d the search of experiment %d has ended, and with these settings it has nothing more to do: "+
			"branch at an earlier event, or set more (searcher.max_trials, a longer searcher.max_length)", p.event, e.ID)
	}
	made.Memory = max(made.Memory, p.search.Memory())
	return s, nil
}

// summarized waits until the summaries that a branch copies have what the trials reported last: what they lacked would be missing in the branch for ever.
func (d Deps) summarized(ctx context.Context, experiment int) error {
	for range summaryTries {
		behind, err := metrics.Behind(ctx, d.DB, experiment)
		if err != nil || !behind {
			return err
		}
		if err := sleep.For(ctx, summaryPause); err != nil {
			return err
		}
	}
	return fault.New(fault.Unavailable, "the summaries of the trials of experiment %d lack what these reported last, and the masters add it in a moment; try again", experiment)
}

const (
	summaryTries = 200
	summaryPause = 50 * time.Millisecond
)

// branchEvent returns the event at which an experiment itself branched from another one; 0 if it did not.
func branchEvent(ctx context.Context, db *database.DB, experiment int) (int64, error) {
	return database.Scalar[int64](ctx, db, `SELECT coalesce(branch_event, 0) FROM experiments WHERE id = $1`, experiment)
}
