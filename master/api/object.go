package api

import (
	"context"
	"fmt"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/metrics"
	"github.com/detent-ml/detent/master/rest"
	"github.com/detent-ml/detent/master/store"
	v1 "github.com/detent-ml/detent/master/v1"
)

// ownerOrAdmin reports whether the caller is the owner of an object, a task of the owner, or an
// admin. Only these see the values of environment variables.
func ownerOrAdmin(who auth.Who, ownerID int) bool {
	return auth.Owns(who, auth.Object{OwnerID: ownerID})
}

// called names a thing as the errors of store do.
func called(kind auth.Kind, id int) string { return fmt.Sprintf("%s %d", kind, id) }

func ofExperiment(e store.ExperimentHead) auth.Object {
	return auth.Object{Kind: v1.KindExperiment, Name: called(v1.KindExperiment, e.ID), OwnerID: e.OwnerID, WorkspaceID: e.WorkspaceID}
}

// onExperiment loads an experiment with all fields that users see.
func (a *API) onExperiment() rest.Object[store.Experiment] {
	return rest.On("id", a.db.Experiment, func(e store.Experiment) auth.Object { return ofExperiment(e.ExperimentHead) })
}

// onExperimentHead loads only the fields of an experiment that auth needs.
func (a *API) onExperimentHead() rest.Object[store.ExperimentHead] {
	return rest.On("id", a.db.ExperimentHead, ofExperiment)
}

func ofTrial(t store.Trial) auth.Object {
	return auth.Object{Kind: v1.KindTrial, Name: called(v1.KindTrial, t.ID), OwnerID: t.OwnerID, WorkspaceID: t.WorkspaceID, TrialID: t.ID}
}

func ofRun(t store.Trial) auth.Object {
	o := ofTrial(t)
	o.Kind = v1.KindRun
	return o
}

func (a *API) onTrial() rest.Object[store.Trial] { return rest.On("id", a.db.Trial, ofTrial) }
func (a *API) onRun() rest.Object[store.Trial]   { return rest.On("run", a.db.Trial, ofRun) }

// visibleTrial is a trial that a query names and the caller may look at.
func (a *API) visibleTrial(ctx context.Context, c *rest.Call, id int) (store.Trial, error) {
	t, err := a.db.Trial(ctx, id)
	if err == nil {
		err = a.onTrial().Allow(c, auth.View, t)
	}
	return t, err
}

// reporters loads the trial of a path for reports. For an attempt it reads nothing from the
// database: auth compares the number with the trial in the attempt's token. Reports are the
// most frequent calls.
func (a *API) reporters(param string, of func(store.Trial) auth.Object) rest.Object[metrics.Trial] {
	return rest.Object[metrics.Trial]{
		Load: func(ctx context.Context, c *rest.Call) (metrics.Trial, error) {
			id, err := c.ID(param)
			if err != nil {
				return metrics.Trial{}, err
			}
			return a.reporter(ctx, c, id, of)
		},
		Of: func(r metrics.Trial) auth.Object { return r.Is },
		Refusal: func(c *rest.Call, verb auth.Verb, r metrics.Trial) error {
			if c.Who().IsTask() {
				return fault.New(fault.Forbidden, "attempt %s does not belong to %s %d", c.Who().AllocationID, r.Is.Kind, r.ID)
			}
			return auth.May(c.Who(), verb, r.Is) // c.May would record the refusal twice
		},
	}
}

// reporter is the trial with this number, for reports.
func (a *API) reporter(ctx context.Context, c *rest.Call, id int, of func(store.Trial) auth.Object) (metrics.Trial, error) {
	if c.Who().IsTask() {
		return metrics.Trial{ID: id, Is: of(store.Trial{ID: id})}, nil
	}
	t, err := a.db.Trial(ctx, id)
	return metrics.Trial{ID: id, Task: t.TaskID, Is: of(t)}, err
}

func (a *API) onReportingTrial() rest.Object[metrics.Trial] { return a.reporters("id", ofTrial) }
func (a *API) onReportingRun() rest.Object[metrics.Trial]   { return a.reporters("run", ofRun) }
