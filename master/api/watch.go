package api

import (
	"context"

	"github.com/detent-ml/detent/master/store"
	v1 "github.com/detent-ml/detent/master/v1"
)

// registerWatch registers the long poll with which a runner learns that its attempt must end.
// Usually Nomad's agent stops the runner; but an agent can be dead while its tasks run.
func (a *API) registerWatch() {
	serveOn(a, v1.WatchAllocation, onOwnAttempt(), a.watch)
}

func (a *API) watch(ctx context.Context, c *call, id string, _ *v1.None) (*v1.WatchResponse, error) {
	wake, cancel := a.bus.Subscribe(store.AllocationTopic(id))
	defer cancel()
	var s store.AttemptEnd
	over, err := await(ctx, wake, maxPoll, func(ctx context.Context) (bool, error) {
		var err error
		s, err = a.db.AttemptEnd(ctx, id)
		return s.Over, err
	})
	return &v1.WatchResponse{Over: over, Why: s.Why}, err
}
