package nodes

import (
	"context"

	"github.com/detent-ml/detent/master/rest"
	v1 "github.com/detent-ml/detent/master/v1"
)

// Deps is what the endpoints use of others.
type Deps struct {
	Inventory
	// ClusterName and PublicURL are the master's, which answers about pools name.
	ClusterName, PublicURL string
	// Changed wakes the loop after an operator has changed what it may use.
	Changed func()
	// Attempts lists the attempts that ran on a node, as far as the caller may see them.
	Attempts func(ctx context.Context, c *rest.Call, node string, req *v1.GetListRequest) (*v1.ListAttemptsResponse, error)
	// Measure asks a node for the measurements of its devices; nil: no node is asked.
	Measure func(ctx context.Context, node string) ([]v1.DeviceMeasurement, error)
	// MayScrape fails if a caller may not read what is for programs that watch the cluster.
	MayScrape func(ctx context.Context, c *rest.Call) error

	measured *measurements // Routes makes it
}

// Routes adds the endpoints of nodes, their slots, and pools. Those of the bindings of pools are with the other endpoints of workspaces.
func Routes(r *rest.Router, d Deps) {
	d.measured = newMeasurements()
	node, slot := d.onNode(), d.onSlot()
	rest.Serve(r, v1.ListAgents, d.listAgents)
	rest.ServeOn(r, v1.GetAgent, node, d.agent)
	rest.ServeOn(r, v1.EnableAgent, node, d.enableAgent)
	rest.ServeOn(r, v1.DisableAgent, node, d.disableAgent)
	rest.ServeOn(r, v1.ListSlots, node, d.listSlots)
	rest.ServeOn(r, v1.GetSlot, slot, d.slot)
	rest.ServeOn(r, v1.EnableSlot, slot, d.enableSlot)
	rest.ServeOn(r, v1.DisableSlot, slot, d.disableSlot)
	rest.ServeOn(r, v1.GetPoolSlot, slot, d.slot)
	rest.ServeOn(r, v1.EnablePoolSlot, slot, d.enableSlot)
	rest.ServeOn(r, v1.DisablePoolSlot, slot, d.disableSlot)
	rest.ServeOn(r, v1.MeasureNode, node, d.measureNode)
	rest.ServeOn(r, v1.ListNodeAttempts, node, d.attempts)
	rest.Serve(r, v1.ListPools, d.listPools)
	rest.Serve(r, v1.GetScrapeTargets, d.scrapeTargets)
	rest.Serve(r, v1.TrustNomad, d.trustNomad)
	rest.Serve(r, v1.ListOrphans, d.orphans)
}
