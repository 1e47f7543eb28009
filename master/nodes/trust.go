package nodes

import (
	"context"

	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/rest"
	v1 "github.com/detent-ml/detent/master/v1"
)

// trustNomad ends an alarm that only an operator can end: Nomad was restored from an older
// state, or lost many jobs at once.
func (d Deps) trustNomad(ctx context.Context, _ *rest.Call, _ *v1.None) (*v1.None, error) {
	return rest.Done[v1.None](Trust(ctx, d.DB), d.Changed)
}

// MaxOrphans is the maximum number of listed orphans: there are rarely any.
const MaxOrphans = 1000

func (d Deps) orphans(ctx context.Context, _ *rest.Call, _ *v1.None) (*v1.GetOrphansResponse, error) {
	list, err := Orphans(ctx, d.DB, 0, MaxOrphans)
	return &v1.GetOrphansResponse{Orphans: each.Of(list, func(o Orphan) v1.Orphan {
		return v1.Orphan{JobID: o.JobID, AllocationID: o.AllocationID, SubmittedAt: o.SubmittedAt, SeenAt: o.SeenAt, StopAt: o.SeenAt.Add(OrphanGrace)}
	})}, err
}
