package api

import (
	"context"
	"reflect"
	"strconv"
	"time"

	"github.com/detent-ml/detent/master/rest"
	"github.com/detent-ml/detent/master/sleep"
	"github.com/detent-ml/detent/master/store"
	v1 "github.com/detent-ml/detent/master/v1"
)

// fieldsPause is the minimum time between two looks of a stream, after the first ones.
const fieldsPause = 2 * time.Second

func wireNumber(n int64) string { return strconv.FormatInt(n, 10) }

func (a *API) trialLogFields(ctx context.Context, c *rest.Call, t store.Trial, req *v1.FollowRequest) error {
	return a.logFields(c, t.TaskID, nil, req.Follow)
}

func (a *API) taskLogFields(_ context.Context, c *rest.Call, k store.Task, req *v1.FollowRequest) error {
	return a.logFields(c, k.ID, &k.Part.N, req.Follow)
}

// logFields streams the values by which the lines of a task, or of a part of it, can be filtered, and with follow
// again at each change, until it has ended.
func (a *API) logFields(c *rest.Call, task string, part *int, follow bool) error {
	leave, err := a.webSockets.logs.Join(c.Who().Username)
	if err != nil {
		return err
	}
	return c.Stream(func(ctx context.Context, out *rest.Records) error {
		defer leave()
		out.LimitStall(logStalls)
		wake, cancel := a.bus.Subscribe(store.LogTopic(task))
		defer cancel()
		var last *store.LogFields
		for looks := 1; ; looks++ {
			ended, err := a.db.LogsEnded(ctx, task, part)
			if err != nil {
				return err
			}
			f, err := a.db.LogFields(ctx, task, part)
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
