package api

import (
	"context"

	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/rest"
	"github.com/detent-ml/detent/master/store"
	v1 "github.com/detent-ml/detent/master/v1"
)

// registerWatch registers the long poll with which a runner learns that its attempt must end.
// Usually Nomad's agent stops the runner; but an agent can be dead while its tasks run.
func (a *API) registerWatch() {
	rest.ServeOn(a.router, v1.WatchAllocation, onOwnAttempt(), a.watch)
	rest.ServeOn(a.router, v1.CheckVisitors, onOwnAttempt(), a.visitors)
}

// maxVisitors is more than the number of visitors that a gateway accepts.
const maxVisitors = 2000

// visitors answers the runner of a task that users reach through an ingress, whose connections
// the master does not see.
func (a *API) visitors(ctx context.Context, c *rest.Call, id string, req *v1.VisitorsRequest) (*v1.VisitorsResponse, error) {
	if len(req.Visitors) > maxVisitors {
		return nil, fault.New(fault.Invalid, "visitors: %d are too many; at most %d are allowed", len(req.Visitors), maxVisitors)
	}
	if a.cfg.Proxy == nil {
		return nil, fault.New(fault.Unavailable, "the task proxy is disabled on this master")
	}
	gone, err := a.cfg.Proxy.Gone(ctx, c.Who().TaskID, id, req.Visitors)
	return &v1.VisitorsResponse{Gone: gone}, err
}

func (a *API) watch(ctx context.Context, c *rest.Call, id string, _ *v1.None) (*v1.WatchResponse, error) {
	wake, cancel := a.bus.Subscribe(store.AllocationTopic(id))
	defer cancel()
	var s store.AttemptEnd
	over, err := rest.Await(ctx, wake, rest.MaxPoll, func(ctx context.Context) (bool, error) {
		var err error
		s, err = a.db.AttemptEnd(ctx, id)
		return s.Over, err
	})
	return &v1.WatchResponse{Over: over, Why: s.Why}, err
}
