package launch

import (
	"context"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/experiments"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/lifecycle"
	"github.com/detent-ml/detent/master/optional"
	"github.com/detent-ml/detent/master/rest"
	v1 "github.com/detent-ml/detent/master/v1"
)

// put creates an unmanaged experiment, or returns the one that has the external id.
func (d Deps) put(ctx context.Context, c *rest.Call, req *v1.CreateExperimentRequest) (*v1.PutExperimentResponse, error) {
	external, err := experiments.ExternalID(c, "external")
	if err != nil {
		return nil, err
	}
	e, err := experiments.ByExternalID(ctx, d.DB, external)
	if fault.Is(err, fault.NotFound) {
		e, err = d.newUnmanaged(ctx, c, external, req)
	}
	if err != nil {
		return nil, err
	}
	if !auth.Sees(c.Who(), e.Object()) {
		_ = c.May(auth.Change, e.Object()) // the audit trail records the refusal, whose text has the experiment's number
		return nil, fault.New(fault.Conflict, "the external id %q belongs to an experiment of another workspace; use another external id", fault.Clip(external))
	}
	if err := experiments.On(d.DB).Allow(c, auth.Change, e); err != nil {
		return nil, err
	}
	if !inProject(e, req) {
		return nil, fault.New(fault.Conflict, "the experiment with the external id %q is in the project %q of the workspace %q, not in the requested one; "+
			"use another external id, or move the experiment", fault.Clip(external), e.ProjectName, e.WorkspaceName)
	}
	full, err := d.Full(ctx, e, c.Who())
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
func (d Deps) newUnmanaged(ctx context.Context, c *rest.Call, external string, req *v1.CreateExperimentRequest) (experiments.Experiment, error) {
	if err := c.May(auth.Create, auth.Object{Kind: v1.KindExperiment}); err != nil {
		return experiments.Experiment{}, err
	}
	if !optional.Value(req.Unmanaged) {
		return experiments.Experiment{}, fault.New(fault.Invalid, "unmanaged: must be true: only unmanaged experiments have an external id")
	}
	if optional.Value(req.ValidateOnly) {
		return experiments.Experiment{}, fault.New(fault.Invalid, "validateOnly: validate an unmanaged experiment with POST /api/v1/experiments")
	}
	by := SubmitterOf(c)
	by.External = &external
	made, err := d.Launcher.Create(ctx, by, req)
	if fault.Is(err, fault.Conflict) {
		if e, err := experiments.ByExternalID(ctx, d.DB, external); err == nil {
			return e, nil
		}
	}
	if err != nil {
		return experiments.Experiment{}, err
	}
	d.Bus.Publish(lifecycle.TopicIntent)
	return experiments.Get(ctx, d.DB, made.ID)
}
