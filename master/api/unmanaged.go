package api

import (
	"context"
	"encoding/json"
	"net/url"
	"strings"
	"time"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/experiments"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/lifecycle"
	"github.com/detent-ml/detent/master/optional"
	"github.com/detent-ml/detent/master/rest"
	v1 "github.com/detent-ml/detent/master/v1"
)

// maxExternalID is the maximum length of external ids in bytes.
const maxExternalID = 512

func (a *API) registerUnmanaged() {
	rest.Serve(a.router, v1.PutExperiment, a.putExperiment)
	rest.Serve(a.router, v1.CreateTrial, a.createTrial)
	rest.Serve(a.router, v1.PutTrial, a.putTrial)
	rest.ServeOn(a.router, v1.GetTrialByExternalID, a.onTrialByExternalID(), a.trial)
	rest.ServeOn(a.router, v1.StartTrial, experiments.OnTrial(a.db), a.startTrial)
	rest.ServeOn(a.router, v1.PatchTrial, experiments.OnTrial(a.db), a.patchTrial)
}

// onTrialByExternalID loads the trial that the path names.
func (a *API) onTrialByExternalID() rest.Object[experiments.Trial] {
	return rest.Object[experiments.Trial]{Of: experiments.Trial.Object, Large: true, Load: func(ctx context.Context, c *rest.Call) (t experiments.Trial, err error) {
		experiment, err := externalID(c, "experiment")
		if err != nil {
			return t, err
		}
		external, err := externalID(c, "trial")
		if err != nil {
			return t, err
		}
		t, err = experiments.TrialByExternalID(ctx, a.db, experiment, external)
		if err == nil && !auth.Sees(c.Who(), t.Object()) {
			_ = c.May(auth.View, t.Object()) // the audit trail records the refusal, whose text has the trial's number
			return experiments.Trial{}, experiments.NoExternalTrial(external)
		}
		return t, err
	}}
}

// externalID parses an external id in the path.
func externalID(c *rest.Call, param string) (string, error) {
	id, err := url.PathUnescape(c.Param(param))
	if err != nil {
		return "", fault.New(fault.Invalid, "the external id in the path is not written as in a URL: %v", err)
	}
	return id, checkExternal("the external id in the path", id)
}

func checkExternal(where, id string) error {
	switch {
	case id == "":
		return fault.New(fault.Invalid, "%s is empty", where)
	case len(id) > maxExternalID:
		return fault.New(fault.Invalid, "%s: %d bytes are over the limit of %d", where, len(id), maxExternalID)
	}
	return nil
}

// putExperiment creates an unmanaged experiment, or returns the one that has the external id.
func (a *API) putExperiment(ctx context.Context, c *rest.Call, req *v1.CreateExperimentRequest) (*v1.PutExperimentResponse, error) {
	external, err := externalID(c, "external")
	if err != nil {
		return nil, err
	}
	e, err := experiments.ByExternalID(ctx, a.db, external)
	if fault.Is(err, fault.NotFound) {
		e, err = a.newUnmanaged(ctx, c, external, req)
	}
	if err != nil {
		return nil, err
	}
	if !auth.Sees(c.Who(), e.Object()) {
		_ = c.May(auth.Change, e.Object()) // the audit trail records the refusal, whose text has the experiment's number
		return nil, fault.New(fault.Conflict, "the external id %q belongs to an experiment of another workspace; use another external id", fault.Clip(external))
	}
	if err := experiments.On(a.db).Allow(c, auth.Change, e); err != nil {
		return nil, err
	}
	if !inProject(e, req) {
		return nil, fault.New(fault.Conflict, "the experiment with the external id %q is in the project %q of the workspace %q, not in the requested one; "+
			"use another external id, or move the experiment", fault.Clip(external), e.ProjectName, e.WorkspaceName)
	}
	full, err := a.fullExperiment(ctx, e, c.Who())
	return &v1.PutExperimentResponse{Experiment: full, Config: full.Config}, err
}

// inProject reports whether an experiment is in the project that a request names, if it names one.
func inProject(e experiments.Experiment, req *v1.CreateExperimentRequest) bool {
	if id := optional.Value(req.ProjectID); id > 0 {
		return e.ProjectID == id
	}
	raw, _, err := expconf.Parse("config", []byte(optional.Value(req.Config)))
	if err != nil || raw.Workspace == "" || raw.Project == "" {
		return true // the configuration of an experiment that exists is not used
	}
	return raw.Workspace == e.WorkspaceName && raw.Project == e.ProjectName
}

// newUnmanaged creates an experiment with an external id. If another request has created it
// meanwhile, it returns that experiment.
func (a *API) newUnmanaged(ctx context.Context, c *rest.Call, external string, req *v1.CreateExperimentRequest) (experiments.Experiment, error) {
	if err := c.May(auth.Create, auth.Object{Kind: v1.KindExperiment}); err != nil {
		return experiments.Experiment{}, err
	}
	if !optional.Value(req.Unmanaged) {
		return experiments.Experiment{}, fault.New(fault.Invalid, "unmanaged: must be true: only unmanaged experiments have an external id")
	}
	if optional.Value(req.ValidateOnly) {
		return experiments.Experiment{}, fault.New(fault.Invalid, "validateOnly: validate an unmanaged experiment with POST /api/v1/experiments")
	}
	made, err := a.experiments.CreateExternal(ctx, a.submitter(c), external, req)
	if fault.Is(err, fault.Conflict) {
		if e, err := experiments.ByExternalID(ctx, a.db, external); err == nil {
			return e, nil
		}
	}
	if err != nil {
		return experiments.Experiment{}, err
	}
	a.bus.Publish(lifecycle.TopicIntent)
	return experiments.Get(ctx, a.db, made.ID)
}

func (a *API) createTrial(ctx context.Context, c *rest.Call, req *v1.CreateTrialRequest) (*v1.CreateTrialResponse, error) {
	t, err := a.newTrial(ctx, c, req, nil)
	return &v1.CreateTrialResponse{Trial: t}, err
}

func (a *API) putTrial(ctx context.Context, c *rest.Call, req *v1.PutTrialRequest) (*v1.PutTrialResponse, error) {
	if req.CreateTrialRequest == nil {
		return nil, fault.New(fault.Invalid, "createTrialRequest: is required")
	}
	if err := checkExternal("externalTrialId", req.ExternalTrialID); err != nil {
		return nil, err
	}
	t, err := a.newTrial(ctx, c, req.CreateTrialRequest, &req.ExternalTrialID)
	return &v1.PutTrialResponse{Trial: t}, err
}

func (a *API) newTrial(ctx context.Context, c *rest.Call, req *v1.CreateTrialRequest, external *string) (v1.Trial, error) {
	e, err := experiments.GetHead(ctx, a.db, req.ExperimentID)
	if err != nil {
		return v1.Trial{}, err
	}
	if err := experiments.OnHead(a.db).Allow(c, auth.Change, e); err != nil {
		return v1.Trial{}, err
	}
	if !optional.Value(req.Unmanaged) {
		return v1.Trial{}, fault.New(fault.Invalid, "unmanaged: must be true: searches create all other trials")
	}
	hparams := json.RawMessage(req.HParams)
	if len(hparams) == 0 || string(hparams) == "null" {
		hparams = json.RawMessage("{}")
	}
	id, err := experiments.CreateUnmanagedTrial(ctx, a.db, experiments.NewUnmanagedTrial{ExperimentID: e.ID, ExternalID: external, HParams: hparams, Admit: a.users.Admit})
	if err != nil {
		return v1.Trial{}, err
	}
	a.bus.Publish(lifecycle.TopicIntent)
	return a.shownTrial(ctx, id)
}

// shownTrial is a trial in the form of the API.
func (a *API) shownTrial(ctx context.Context, id int) (v1.Trial, error) {
	t, err := experiments.GetTrial(ctx, a.db, id)
	if err != nil {
		return v1.Trial{}, err
	}
	list, err := a.wireTrials(ctx, []experiments.Trial{t})
	if err != nil {
		return v1.Trial{}, err
	}
	return list[0], nil
}

func (a *API) startTrial(ctx context.Context, _ *rest.Call, t experiments.Trial, req *v1.StartTrialRequest) (*v1.StartTrialResponse, error) {
	if err := sameTrial(req.TrialID, t.ID); err != nil {
		return nil, err
	}
	s, err := experiments.StartUnmanagedTrial(ctx, a.db, t.ID, optional.Value(req.Resume))
	if err != nil {
		return nil, err
	}
	a.bus.Publish(lifecycle.TopicIntent)
	return &v1.StartTrialResponse{TrialRunID: s.RunID, StepsCompleted: s.Steps, LatestCheckpoint: s.Checkpoint}, nil
}

func sameTrial(body, path int) error {
	if body != 0 && body != path {
		return fault.New(fault.Invalid, "trialId: the path has %d, the body %d", path, body)
	}
	return nil
}

// patchTrial accepts a sign of life, and the state that the trial's program reports.
func (a *API) patchTrial(ctx context.Context, _ *rest.Call, t experiments.Trial, req *v1.PatchTrialRequest) (*v1.PatchTrialResponse, error) {
	if err := sameTrial(req.TrialID, t.ID); err != nil {
		return nil, err
	}
	state := strings.TrimPrefix(string(optional.Value(req.State)), "STATE_")
	switch state {
	case "", "ACTIVE", "COMPLETED", "CANCELED", "ERROR":
	case "RUNNING":
		state = "ACTIVE"
	default:
		return nil, fault.New(fault.Invalid, "state: %q is not one of STATE_RUNNING, STATE_COMPLETED, STATE_CANCELED, STATE_ERROR", fault.Clip(string(*req.State)))
	}
	if err := experiments.ReportUnmanagedTrial(ctx, a.db, t.ID, state); err != nil {
		return nil, err
	}
	shown, err := a.shownTrial(ctx, t.ID)
	if err != nil {
		return nil, err
	}
	if shown.SearcherMetricValue != nil {
		err = experiments.NoteUnmanagedBest(ctx, a.db, t.ID, *shown.SearcherMetricValue)
	}
	a.bus.Publish(lifecycle.TopicIntent)
	return &v1.PatchTrialResponse{Trial: shown}, err
}

// unmanagedCheckpoint finds the task and the run in whose name a user's session reports a checkpoint, which only programs
// of unmanaged trials may do.
func (a *API) unmanagedCheckpoint(ctx context.Context, c *rest.Call, k *v1.Checkpoint) (task string, run int, err error) {
	t, run, err := experiments.UnmanagedRunOf(ctx, a.db, k.TaskID)
	if fault.Is(err, fault.NotFound) {
		return "", 0, fault.New(fault.Forbidden, "only the attempt that made a checkpoint may report it")
	}
	if err != nil {
		return "", 0, err
	}
	if err := experiments.OnTrial(a.db).Allow(c, auth.Report, t); err != nil {
		return "", 0, err
	}
	if err := a.admitOutside(ctx, c, t.OwnerID, len(k.Metadata)); err != nil {
		return "", 0, err
	}
	return t.TaskID, run, a.heard(ctx, c, t.TaskID)
}

// heardEvery is how often at most a master stores that the program of an unmanaged trial reports. It is far below the time after which
// a trial is closed for silence.
const heardEvery = 30 * time.Second

const maxHeard = 20_000 // tasks of which a master remembers that

// heard stores that the program of a task has reported something. A program that reports metrics or lines of its log runs, also if its
// heartbeats do not arrive. Only the trial's own row is changed, and rarely, so that reports do not wait for each other.
func (a *API) heard(ctx context.Context, c *rest.Call, task string) error {
	if c.Who().IsTask() || !a.heardOf.Take(task, time.Now()) {
		return nil
	}
	reopened, err := experiments.HearUnmanagedTrial(ctx, a.db, task)
	if reopened {
		a.bus.Publish(lifecycle.TopicIntent)
	}
	return err
}

// smallChange is a change of an object's text that always fits: the number of objects is bounded where they are created.
const smallChange = 4096

// admitChange fails if the owner of an object stores as much as one user may, and a change gives the object a longer text.
func (a *API) admitChange(ctx context.Context, c *rest.Call, owner, bytes int) error {
	if c.Who().IsTask() || bytes <= smallChange {
		return nil
	}
	return a.users.Admit(ctx, owner, int64(bytes))
}

// admitOutside fails if the owner of a trial that runs outside of the cluster stores as much as one user may. Inside, slots bound how many
// trials report; outside, nothing else does.
func (a *API) admitOutside(ctx context.Context, c *rest.Call, owner, bytes int) error {
	if c.Who().IsTask() {
		return nil
	}
	return a.users.Admit(ctx, owner, int64(bytes))
}
