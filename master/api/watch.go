package api

import (
	"context"

	"github.com/detent-ml/detent/master/store"
	v1 "github.com/detent-ml/detent/master/v1"
)

// registerWatch lists what keeps a runner from going on when nobody wants it any
// more. Nomad's agent tells it to end, as a rule; but an agent can be dead while
// its tasks live.
func (a *API) registerWatch() {
	serve(a, v1.WatchAllocation, a.watch)
}

func (a *API) watch(ctx context.Context, c *call, _ *v1.None) (*v1.WatchResponse, error) {
	id, err := c.ownAllocation()
	if err != nil {
		return nil, err
	}
	wake, cancel := a.bus.Subscribe(store.AllocationTopic(id))
	defer cancel()
	var s store.End
	over, err := await(ctx, wake, longestPoll, func(ctx context.Context) (bool, error) {
		s, err = a.db.End(ctx, id)
		return s.Over, err
	})
	return &v1.WatchResponse{Over: over, Why: s.Why}, err
}
