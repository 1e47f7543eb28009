package attempts

import (
	"context"

	"github.com/detent-ml/detent/master/logs"

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
// agent stops the runner; but an agent can be dead while its tasks run. A runner that preempts its program by a signal
// also learns here of the preemption.
func (d Deps) watch(ctx context.Context, c *rest.Call, id string, req *v1.WatchRequest) (*v1.WatchResponse, error) {
	wake, cancel := d.Bus.Subscribe(Topic(id))
	defer cancel()
	var s end
	_, err := rest.Await(ctx, wake, rest.MaxPoll, func(ctx context.Context) (bool, error) {
		var err error
		if s, err = readEnd(ctx, d.DB, id); err == nil && req.Preemption && s.Due {
			if err = decideSignal(ctx, d.DB, id); err == nil {
				s, err = readEnd(ctx, d.DB, id)
			}
		}
		return s.Over || s.Preempt && req.Preemption, err
	})
	return &v1.WatchResponse{Over: s.Over, Why: s.Why, Preempt: s.Preempt, Signal: s.Signal, Spared: s.Spared}, err
}

// matches stores a runner's matches of log policies at once, so that users see them.
func (d Deps) matches(ctx context.Context, c *rest.Call, _ member, req *v1.LogMatchesRequest) (*v1.None, error) {
	return &v1.None{}, d.Policies.Record(ctx, logs.WriterOf(c), req.Matches)
}

// exit stores how a member's program ended. The first report counts.
func (d Deps) exit(ctx context.Context, c *rest.Call, m member, req *v1.MemberExitRequest) (*v1.None, error) {
	return &v1.None{}, d.RecordExit(ctx, c.Who().TaskID, m.allocation, m.rank, *req)
}

// RecordExit stores how a member of an attempt ended, as its runner reported, or as read on its
// node.
func (d Deps) RecordExit(ctx context.Context, taskID, id string, rank int, req v1.MemberExitRequest) error {
	if req.Unfit {
		if err := markUnfit(ctx, d.DB, id, rank); err != nil {
			return err
		}
	}
	if req.Preempted != "" {
		if err := markPreempted(ctx, d.DB, id, rank, req.Preempted); err != nil {
			return err
		}
	}
	if err := d.Policies.Record(ctx, logs.Writer{TaskID: taskID, AllocationID: id, Rank: rank}, req.LogMatches); err != nil {
		return err
	}
	if err := MemberExit(ctx, d.DB, id, rank, req.ExitCode, req.Reason, req.Stopped, req.LogsDone); err != nil {
		return err
	}
	d.Reported()
	d.Bus.Publish(Topic(id), logs.Topic(taskID))
	return nil
}
