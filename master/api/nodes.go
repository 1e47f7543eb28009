package api

import (
	"github.com/detent-ml/detent/master/about"
	"github.com/detent-ml/detent/master/lifecycle"
	"github.com/detent-ml/detent/master/nodes"
)

// registerNodes gives the room of nodes what it uses of attempts and callers.
func (a *API) registerNodes() {
	nodes.Routes(a.router, nodes.Deps{Inventory: a.nodes, ClusterName: a.cfg.ClusterName, PublicURL: a.cfg.PublicURL, Measure: a.cfg.Measure, MayScrape: about.MayScrape,
		Changed: func() { a.bus.Publish(lifecycle.TopicIntent) }, Attempts: a.Attempts.OnNode})
}
