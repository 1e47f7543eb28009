//go:build linux

package attempt

import (
	"context"
	"io"
	"strconv"
	"time"

	"github.com/detent-ml/detent/plugins/runner/logs"
)

// finish delivers the remaining log lines and the exit report. What it cannot deliver soon is
// left to the allocation's last process.
func (r *run) finish(shipper *logs.Shipper) {
	r.save()
	shipper.Finish()
	bound := 30 * time.Second
	if n, err := strconv.Atoi(r.spec.Env["DET_LOG_WAIT_TIME"]); err == nil && n >= 0 {
		bound = time.Duration(n) * time.Second
	}
	if r.stop.asked() {
		bound = min(bound, 3*time.Second) // Nomad kills the task after its kill timeout
	}
	ctx, cancel := context.WithTimeout(context.Background(), bound)
	defer cancel()
	// The report says whether all lines were sent, so the lines are sent first, for a short
	// time.
	r.state.LogsDone = waitFor(shipper, min(2*time.Second, bound/2))
	err := reportExit(ctx, r.masters, &r.state, bound)
	if err != nil {
		r.sayLast("the exit report was not delivered; the allocation's last process will retry: %v", err)
	}
	if !r.state.LogsDone {
		select {
		case <-ctx.Done():
		case <-shipper.Done():
		}
		r.state.LogsDone = waitFor(shipper, 0)
	}
	if !r.state.LogsDone {
		r.sayLast("no master accepted the last log lines; they are in %s, and the allocation's last process sends them", r.backlog.Dir())
	}
	r.save()
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
