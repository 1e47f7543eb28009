//go:build linux

package attempt

import (
	"context"
	"io"
	"strconv"
	"time"

	"github.com/detent-ml/detent/master/attempts/leftover"
	"github.com/detent-ml/detent/plugins/runner/logs"
)

const (
	// linesFirst is how long the exit report waits for the last lines, because it says whether all were sent.
	linesFirst = 2 * time.Second
	// leastPatience is how long the runner waits for a master if DET_LOG_WAIT_TIME is 0.
	leastPatience = time.Second
	// hurry is how long the runner goes on when Nomad has stopped the task: Nomad kills it after the kill timeout.
	hurry = 3 * time.Second
)

// finish delivers the remaining log lines and the exit report. It waits for a master as long as a request of the
// program would have, or as DET_LOG_WAIT_TIME says. What it cannot deliver by then stays in the allocation's
// folder, where a master reads it.
func (r *run) finish(shipper *logs.Shipper) {
	r.over.Store(true)
	r.save()
	shipper.Finish()
	patience := r.patience()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	go r.endSoon(ctx, cancel)
	r.state.LogsDone = waitFor(shipper, min(linesFirst, patience/2))
	if err := reportExit(ctx, r.masters, &r.state, patience); err != nil {
		r.sayLast("the exit report was not delivered; a master will read it in %s: %v", r.p.shared(), err)
	}
	if !r.state.LogsDone {
		select {
		case <-ctx.Done():
		case <-shipper.Done():
		}
		r.state.LogsDone = waitFor(shipper, 0)
	}
	if !r.state.LogsDone {
		r.sayLast("no master accepted the last log lines; a master will read them in %s", r.backlog.Dir())
	}
	r.save()
}

// patience is how long finish waits for a master: at least as long as one that answers needs for the exit.
func (r *run) patience() time.Duration {
	if n, err := strconv.Atoi(r.spec.Env["DET_LOG_WAIT_TIME"]); err == nil && n >= 0 {
		const most = int(leftover.Hold / time.Second)
		return max(time.Duration(min(n, most))*time.Second, leastPatience)
	}
	return leftover.Hold
}

// endSoon cancels soon after Nomad has stopped the task.
func (r *run) endSoon(ctx context.Context, cancel func()) {
	select {
	case <-ctx.Done():
		return
	case <-r.stop.nomad:
	}
	select {
	case <-ctx.Done():
	case <-time.After(hurry):
		cancel()
	}
}

// sayLast writes to Nomad's log only: the backlog is complete.
func (r *run) sayLast(format string, args ...any) {
	last := logs.NewJournal(r.echo())
	last.Warnf(format, args...)
}

func (r *run) echo() io.Writer {
	if r.stderr == nil {
		return io.Discard
	}
	return r.stderr
}

// waitFor reports whether everything was sent within a time.
func waitFor(s *logs.Shipper, d time.Duration) bool {
	select {
	case <-s.Done():
		return s.Err() == nil
	case <-time.After(d):
	}
	select {
	case <-s.Done():
		return s.Err() == nil
	default:
		return false
	}
}
