package api

import (
	"context"

	"github.com/detent-ml/detent/master/nodes"
	"github.com/detent-ml/detent/master/rest"
	"github.com/detent-ml/detent/master/store"
	v1 "github.com/detent-ml/detent/master/v1"
)

// registerNomad registers the routes with which operators handle Nomad's state.
func (a *API) registerNomad() {
	rest.Serve(a.router, v1.TrustNomad, a.trustNomad)
	rest.Serve(a.router, v1.ListOrphans, a.orphans)
}

// trustNomad ends an alarm that only an operator can end: Nomad was restored from an older
// state, or lost many jobs at once.
func (a *API) trustNomad(ctx context.Context, _ *rest.Call, _ *v1.None) (*v1.None, error) {
	if err := nodes.Trust(ctx, a.db.DB); err != nil {
		return nil, err
	}
	a.bus.Publish(store.TopicIntent)
	return &v1.None{}, nil
}

// maxOrphans is the maximum number of listed orphans: there are rarely any.
const maxOrphans = 1000

func (a *API) orphans(ctx context.Context, _ *rest.Call, _ *v1.None) (*v1.GetOrphansResponse, error) {
	list, err := nodes.Orphans(ctx, a.db.DB, 0, maxOrphans)
	resp := &v1.GetOrphansResponse{}
	for _, o := range list {
		resp.Orphans = append(resp.Orphans, v1.Orphan{JobID: o.JobID, AllocationID: o.AllocationID, SubmittedAt: o.SubmittedAt,
			SeenAt: o.SeenAt, StopAt: o.SeenAt.Add(nodes.OrphanGrace)})
	}
	return resp, err
}
