package experiments

import (
	"context"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/rest"
	v1 "github.com/detent-ml/detent/master/v1"
)

// Chosen finds the experiments of a bulk call, and returns the ids that it did not find.
func (d Deps) Chosen(ctx context.Context, c *rest.Call, in auth.Scope, project int, req *v1.BulkRequest) (list []Head, missing []int, err error) {
	f := Filter{ProjectID: project, IDs: req.ExperimentIDs}
	if req.Filters != nil {
		x := req.Filters
		if err := CheckPatterns(x.Name, x.Description); err != nil {
			return nil, nil, err
		}
		f = Filter{ProjectID: project, Name: x.Name, Description: x.Description, Labels: x.Labels,
			Archived: x.Archived, UserIDs: x.UserIDs, NotIDs: x.ExcludedExperimentIDs}
		if f.States, err = experimentStates(x.States); err != nil {
			return nil, nil, err
		}
		list, err = rest.InTurn(ctx, c, func(ctx context.Context) ([]Head, error) {
			return ListHeads(ctx, d.DB, in, f, MaxBulk)
		})
		return list, nil, err
	}
	if len(req.ExperimentIDs) == 0 {
		return nil, nil, nil
	}
	if n := len(req.ExperimentIDs); n > MaxBulk {
		return nil, nil, fault.New(fault.Invalid, "experimentIds: %d experiments are over the limit of %d", n, MaxBulk)
	}
	if list, err = ListHeads(ctx, d.DB, in, f, MaxBulk); err != nil {
		return nil, nil, err
	}
	return list, rest.Missing(req.ExperimentIDs, each.Of(list, func(e Head) int { return e.ID })), nil
}
