package api

import (
	"context"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/experiments"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/rest"
	"github.com/detent-ml/detent/master/webhook"
	"github.com/detent-ml/detent/master/workspaces"
)

// registerWebhooks gives the room of webhooks what it uses of workspaces, experiments, trials and logs, which are here.
func (a *API) registerWebhooks() {
	webhook.Routes(a.router, webhook.Deps{DB: a.db, Bus: a.bus, MayReport: a.mayReportFor, Sender: a.cfg.Webhooks, TriggersChanged: a.taskIO.logs.TriggersChanged,
		OwnerOf: func(ctx context.Context, id int) (int, error) {
			w, err := workspaces.Get(ctx, a.db, id)
			return w.OwnerID, err
		}})
}

// mayReportFor fails if a caller may not report for an experiment, or for one of its trials.
func (a *API) mayReportFor(ctx context.Context, c *rest.Call, experiment int, trial *int) error {
	if trial == nil {
		e, err := experiments.GetHead(ctx, a.db, experiment)
		if err != nil {
			return err
		}
		return c.May(auth.Report, e.Object())
	}
	r, err := experiments.GetTrial(ctx, a.db, *trial)
	if err == nil {
		err = c.May(auth.Report, r.Object())
	}
	if err == nil && r.ExperimentID != experiment {
		err = fault.New(fault.Invalid, "trialId: trial %d belongs to experiment %d, and not to %d", r.ID, r.ExperimentID, experiment)
	}
	return err
}
