//go:build linux

package attempt

import (
	"syscall"
	"testing"

	v1 "github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/plugins/runner/sandbox"
)

// TestAnExitThatTheKillDidNotReach: a program that exits as it promised when the kill after its grace is already sent was preempted, and not
// killed; one that promised nothing about its exit code was killed unless it exits with code 0 or by the signal.
func TestAnExitThatTheKillDidNotReach(t *testing.T) {
	for _, c := range []struct {
		exit    sandbox.Exit
		lenient bool
		want    string
	}{
		{sandbox.Exit{}, false, v1.PreemptedExited},
		{sandbox.Exit{Code: 143, Signal: 15}, false, v1.PreemptedExited},
		{sandbox.Exit{Code: 137, Signal: 9}, false, v1.PreemptedKilled},
		{sandbox.Exit{Code: 3}, false, v1.PreemptedKilled},
		{sandbox.Exit{}, true, v1.PreemptedExited},
		{sandbox.Exit{Code: 137, Signal: 9}, true, v1.PreemptedKilled},
		{sandbox.Exit{Code: 137}, true, v1.PreemptedKilled},
	} {
		s := &stopper{preemption: &preemption{signal: syscall.SIGTERM, lenient: c.lenient}}
		s.signalled.Store(true)
		s.overran.Store(true)
		if got := s.preemptedEnd(c.exit, false); got == nil || got.Preempted != c.want || got.Code != c.exit.Code {
			t.Errorf("%+v: %+v", c, got)
		}
	}
}
