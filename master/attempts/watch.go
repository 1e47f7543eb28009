package attempts

import (
	"context"

	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/rest"
	v1 "github.com/detent-ml/detent/master/v1"
)

// MaxVisitors is more than the number of visitors that a gateway accepts.
const MaxVisitors = 2000

// visitors answers the runner of a task that users reach through an ingress, whose connections
// the master does not see.
func (d Deps) visitors(ctx context.Context, c *rest.Call, id string, req *v1.VisitorsRequest) (*v1.VisitorsResponse, error) {
	if len(req.Visitors) > MaxVisitors {
		return nil, fault.New(fault.Invalid, "visitors: %d are too many; at most %d are allowed", len(req.Visitors), MaxVisitors)
	}
	if d.Proxy == nil {
		return nil, fault.New(fault.Unavailable, "the task proxy is disabled on this master")
	}
	gone, err := d.Proxy.Gone(ctx, c.Who().TaskID, id, req.Visitors)
	return &v1.VisitorsResponse{Gone: gone}, err
}

// watch is the long poll with which a runner learns that its attempt must end. Usually Nomad's
// agent stops the runner; but an agent can be dead while its tasks run.
func (d Deps) watch(ctx context.Context, c *rest.Call, id string, _ *v1.None) (*v1.WatchResponse, error) {
	wake, cancel := d.Bus.Subscribe(Topic(id))
	defer cancel()
	var s end
	over, err := rest.Await(ctx, wake, rest.MaxPoll, func(ctx context.Context) (bool, error) {
		var err error
		s, err = readEnd(ctx, d.DB, id)
		return s.Over, err
	})
	return &v1.WatchResponse{Over: over, Why: s.Why}, err
}
