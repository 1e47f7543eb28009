package attempts

import (
	"context"

	"github.com/detent-ml/detent/master/logs"
	"github.com/detent-ml/detent/master/rest"
	v1 "github.com/detent-ml/detent/master/v1"
)

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
