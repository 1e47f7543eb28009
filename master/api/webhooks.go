package api

import (
	"context"

	"github.com/detent-ml/detent/master/webhook"
	"github.com/detent-ml/detent/master/workspaces"
)

// registerWebhooks gives the room of webhooks what it uses of workspaces, experiments, trials and logs.
func (a *API) registerWebhooks() {
	webhook.Routes(a.router, webhook.Deps{DB: a.db, Bus: a.bus, MayReport: a.experiments.MayReport, Sender: a.cfg.Webhooks, TriggersChanged: a.taskIO.logs.TriggersChanged,
		OwnerOf: func(ctx context.Context, id int) (int, error) {
			w, err := workspaces.Get(ctx, a.db, id)
			return w.OwnerID, err
		}})
}
