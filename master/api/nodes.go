package api

import (
	"github.com/detent-ml/detent/master/about"
	"github.com/detent-ml/detent/master/nodes"
	"github.com/detent-ml/detent/master/store"
)

// registerNodes gives the room of nodes what it uses of attempts and callers.
func (a *API) registerNodes() {
	nodes.Routes(a.router, nodes.Deps{Inventory: a.nodes, ClusterName: a.cfg.ClusterName, PublicURL: a.cfg.PublicURL, Measure: a.cfg.Measure, MayScrape: about.MayScrape,
		Changed: func() { a.bus.Publish(store.TopicIntent) }, Attempts: a.Attempts.OnNode})
}
