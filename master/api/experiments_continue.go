package api

import (
	"context"
	"time"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/experiments"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/lifecycle"
	"github.com/detent-ml/detent/master/optional"
	"github.com/detent-ml/detent/master/rest"
	v1 "github.com/detent-ml/detent/master/v1"
)

// continueTimeout is how long a call waits until an experiment continues. The leader continues
// it at once; without a leader the request is stored.
const continueTimeout = 5 * time.Second

func (a *API) continueExperiment(ctx context.Context, c *rest.Call, req *v1.ContinueExperimentRequest) (*v1.ContinueExperimentResponse, error) {
	e, err := experiments.Get(ctx, a.db, req.ID)
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
	made, err := a.experiments.Continue(ctx, e, optional.Value(req.OverrideConfig), byOwner)
	if err != nil {
		return nil, err
	}
	states, done := a.bus.Subscribe(lifecycle.TopicState)
	defer done()
	a.bus.Publish(lifecycle.TopicIntent)
	_, err = rest.Await(ctx, states, continueTimeout, func(ctx context.Context) (bool, error) { return experiments.HasContinued(ctx, a.db, e.ID, made.N) })
	if err != nil {
		return nil, err
	}
	if e, err = experiments.Get(ctx, a.db, e.ID); err != nil {
		return nil, err
	}
	resp := &v1.ContinueExperimentResponse{Warnings: made.Warnings, Remarks: made.Remarks}
	resp.Experiment, err = a.fullExperiment(ctx, e, c.Who())
	return resp, err
}
