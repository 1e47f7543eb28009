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

// undecidedPause is the pause until the master is asked again whether a signal preempts the program.
const undecidedPause = time.Second

// watch asks the master whether this attempt must end, and orders its end, or is preempted by a signal. While no master
// answers, the attempt continues.
func (r *run) watch(ctx context.Context) {
	decided := r.spec.Preemption == nil // whether a signal preempts the program
	for {
		var out v1.WatchResponse
		asked, pause := time.Now(), minPoll
		path := v1.WatchAllocation.At(r.spec.AllocationID)
		if !decided {
			path += "?preemption=true"
		}
		err := r.masters.Call(ctx, masters.Request{Method: v1.WatchAllocation.Method, Path: path, Token: r.token}, &out,
			masters.Policy{Replay: true, Hold: forever, Patience: 2 * time.Minute})
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
			r.stop.order(why)
			return
		case out.Preempt && !decided:
			if decided = r.preempt(out); !decided {
				pause = undecidedPause
			}
		}
		if sleep.For(ctx, pause-time.Since(asked)) != nil {
			return
		}
	}
}
