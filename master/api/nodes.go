package api

import (
	"context"

	"github.com/detent-ml/detent/master/about"
	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/nodes"
	"github.com/detent-ml/detent/master/rest"
	"github.com/detent-ml/detent/master/store"
	v1 "github.com/detent-ml/detent/master/v1"
)

// registerNodes gives the room of nodes what it uses of attempts, which are here.
func (a *API) registerNodes() {
	nodes.Routes(a.router, nodes.Deps{Inventory: a.nodes, ClusterName: a.cfg.ClusterName, PublicURL: a.cfg.PublicURL, Measure: a.cfg.Measure, MayScrape: about.MayScrape,
		Changed: func() { a.bus.Publish(store.TopicIntent) },
		Attempts: func(ctx context.Context, c *rest.Call, node string, req *v1.GetListRequest) (*v1.ListAttemptsResponse, error) {
			return a.listAttempts(ctx, req.Window, store.AttemptFilter{Node: node, In: auth.ScopeOf(c.Who(), v1.View, v1.KindTask)})
		}})
}
