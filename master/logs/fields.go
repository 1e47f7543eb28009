package logs

import (
	"context"
	"reflect"
	"strconv"
	"time"

	"github.com/detent-ml/detent/master/rest"
	"github.com/detent-ml/detent/master/sleep"
	v1 "github.com/detent-ml/detent/master/v1"
)

// fieldsPause is the minimum time between two looks of a stream, after the first ones.
const fieldsPause = 2 * time.Second

func wireNumber(n int64) string { return strconv.FormatInt(n, 10) }

// fields streams the values by which the lines of a log can be filtered, and with follow
// again at each change, until it has ended.
func (d Deps) fields(_ context.Context, c *rest.Call, l Log, req *v1.FollowRequest) error {
	follow := req.Follow
	leave, err := d.Limits.Streams.Join(c.Who().Username)
	if err != nil {
		return err
	}
	return c.Stream(func(ctx context.Context, out *rest.Records) error {
		defer leave()
		out.LimitStall(stalls)
		wake, cancel := d.Bus.Subscribe(Topic(l.TaskID))
		defer cancel()
		var last *Fields
		for looks := 1; ; looks++ {
			ended, err := Ended(ctx, d.DB, l.TaskID, l.Part)
			if err != nil {
				return err
			}
			f, err := ReadFields(ctx, d.DB, l.TaskID, l.Part)
			if err != nil {
				return err
			}
			if last == nil || !reflect.DeepEqual(*last, f) {
				err := out.Add(v1.LogFieldsResponse{AllocationIDs: f.AllocationIDs, AgentIDs: f.AgentIDs, ContainerIDs: f.ContainerIDs,
					RankIDs: f.RankIDs, Stdtypes: f.Stdtypes, Sources: f.Sources})
				if err != nil || out.Flush() != nil {
					return nil // the client has disconnected
				}
				last = &f
			}
			if !follow || ended {
				return nil
			}
			again, stop := rest.Ticks(ctx, wake, pollInterval)
			select {
			case <-again:
			case <-ctx.Done():
			}
			stop()
			if looks >= rest.FreeChecks { // the values hardly change, and a task may write thousands of lines in a second
				_ = sleep.For(ctx, fieldsPause) // its end is seen below
			}
			if ctx.Err() != nil || out.Gone() {
				return nil
			}
		}
	})
}
