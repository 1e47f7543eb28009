//go:build linux

package attempt

import (
	"errors"
	"fmt"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	v1 "github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/plugins/runner/logs"
	"github.com/detent-ml/detent/plugins/runner/sandbox"
)

// errPreempted is the error of a step that was running when the attempt was preempted.
var errPreempted = errors.New("preempted before the program was started")

// A preemption is a signal that asks the program to exit, and how long the program may run after it.
type preemption struct {
	signal syscall.Signal
	grace  time.Duration
	why    string
	// lenient: every exit within the grace is one of a preempted program. The configuration names no signal, so the program
	// promises nothing about its exit code at one.
	lenient bool
}

func preemptionOf(p *v1.Preemption, why string) preemption {
	signal := unix.SignalNum(p.Signal)
	if signal == 0 { // of a newer master
		signal = syscall.SIGTERM
	}
	return preemption{signal: signal, grace: time.Duration(p.GraceSecs) * time.Second, why: why, lenient: p.AnyExit}
}

func (p preemption) name() string { return unix.SignalName(p.signal) }

// gaveWay reports whether an exit within the grace is one of a program that was preempted.
func (p preemption) gaveWay(exit sandbox.Exit) bool {
	return p.lenient || p.promised(exit)
}

// promised reports whether an exit is one that the program promises: with exit code 0, or by the signal. A shell whose child ends by a
// signal exits with 128 and its number.
func (p preemption) promised(exit sandbox.Exit) bool {
	return exit.Signal == 0 && exit.Code == 0 || exit.Signal == int(p.signal) || exit.Code == 128+int(p.signal)
}

// preempt preempts the program by a signal, if the configuration always wants it or the master has decided so. It returns whether
// this is decided.
func (r *run) preempt(out v1.WatchResponse) (decided bool) {
	p := r.spec.Preemption
	if p.UnlessAsked && !out.Signal {
		return out.Spared
	}
	r.stop.preempt(preemptionOf(p, out.Why))
	return true
}

// preempt preempts the attempt. Before its program was started, it ends without it.
func (s *stopper) preempt(p preemption) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.preemption != nil {
		return
	}
	s.preemption = &p
	close(s.preempted)
	if !s.begun {
		s.cancel(errPreempted)
	}
}

// begin marks the start of the program. It returns an error if the attempt must end without it.
func (s *stopper) begin() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.why != "":
		return errStopped
	case s.preemption != nil:
		return errPreempted
	}
	s.begun = true
	return nil
}

// early reports whether the attempt was preempted before its program was started.
func (s *stopper) early() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.preemption != nil && !s.begun
}

// signalProgram sends the signal of the preemption to the program's process group, and kills it after the grace. It returns
// at the program's end, or when the end of the attempt is ordered.
func (s *stopper) signalProgram(box *sandbox.Box, ended <-chan struct{}, journal *logs.Journal) {
	select {
	case <-ended:
		return // by itself, before the signal
	default:
	}
	p := s.preemption
	s.signalled.Store(true)
	journal.Infof("preempted (%s): sending %s to the program, which has %s to exit", p.why, p.name(), p.grace)
	box.Signal(p.signal, false)
	select {
	case <-ended:
	case <-s.first:
	case <-time.After(p.grace):
		journal.Warnf("the program did not exit within %s of %s: killing it", p.grace, p.name())
		s.overran.Store(true)
		box.Signal(syscall.SIGKILL, true)
		<-ended
	}
}

// preemptedEnd returns the end of a program that the signal preempted; nil for another end.
func (s *stopper) preemptedEnd(exit sandbox.Exit, killed bool) *ended {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.preemption
	switch {
	case !s.signalled.Load() || exit.Failed != "" || exit.Abandoned:
		return nil
	case s.overran.Load() && !p.promised(exit): // else it exited before the kill reached it
		return &ended{Code: exit.Code, Preempted: v1.PreemptedKilled, Reason: fmt.Sprintf("the program did not exit within %s of %s, which preempted it", p.grace, p.name())}
	case killed || !p.gaveWay(exit):
		return nil
	}
	return &ended{Code: exit.Code, Preempted: v1.PreemptedExited, Reason: fmt.Sprintf("it was preempted by %s, and exited with exit code %d", p.name(), exit.Code)}
}
