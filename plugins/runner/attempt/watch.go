//go:build linux

package attempt

import (
	"context"
	"time"

	"github.com/detent-ml/detent/master/sleep"
	v1 "github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/plugins/runner/masters"
)

// watchPause is the pause after a refused watch: the master may be older than this endpoint, or
// may not know this attempt for a moment.
const watchPause = 30 * time.Second

// watch asks the master whether this attempt must end, and orders its end. While no master
// answers, the attempt continues.
func watch(ctx context.Context, list *masters.List, allocationID, token string, stop *stopper) {
	for {
		var out v1.WatchResponse
		asked := time.Now()
		err := list.Call(ctx, masters.Request{
			Method: v1.WatchAllocation.Method, Path: v1.WatchAllocation.At(allocationID), Token: token,
		}, &out, masters.Policy{Replay: true, Hold: forever, Patience: 2 * time.Minute})
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			if sleep.For(ctx, watchPause) != nil {
				return
			}
		case out.Over:
			why := "the master ended this attempt"
			if out.Why != "" {
				why += ": " + out.Why
			}
			stop.order(why)
			return
		case sleep.For(ctx, minPoll-time.Since(asked)) != nil:
			return
		}
	}
}
