//go:build linux

package attempt

import (
	"context"
	"errors"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/detent-ml/detent/plugins/runner/logs"
	"github.com/detent-ml/detent/plugins/runner/sandbox"
)

// errStopped is the error of a step that was waiting when Nomad stopped the task.
var errStopped = errors.New("stopped before the program was started")

// defaultGrace is the time between SIGTERM and SIGKILL if the master sends none.
const defaultGrace = 10 * time.Second

// A stopper ends the running program when the attempt must end. Nomad sends signals; the master
// answers a long poll, even if the node's agent is dead.
type stopper struct {
	ctx    context.Context // ends at the first order to stop
	cancel context.CancelCauseFunc
	first  chan struct{} // closed by the first order
	nomad  chan struct{} // closed by Nomad's first signal
	second chan struct{} // closed by Nomad's second signal

	preempted chan struct{} // closed by preempt
	signalled atomic.Bool   // the program got the signal of its preemption
	overran   atomic.Bool   // the program ran after the grace of its preemption

	mu         sync.Mutex
	why        string
	ordered    time.Time // when the end was ordered
	signals    int
	preemption *preemption // nil: not preempted by a signal; final once it is set
	begun      bool        // the program was started
}

// newStopper handles signals until release is called.
func newStopper(signals <-chan os.Signal) (s *stopper, release func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	s = &stopper{ctx: ctx, cancel: cancel, first: make(chan struct{}), nomad: make(chan struct{}), second: make(chan struct{}), preempted: make(chan struct{})}
	quit := make(chan struct{})
	go func() {
		for {
			select {
			case <-quit:
				return
			case <-signals:
				s.received()
			}
		}
	}()
	return s, func() { close(quit); cancel(nil) }
}

// received handles a signal from Nomad.
func (s *stopper) received() {
	s.mu.Lock()
	s.signals++
	n := s.signals
	s.mu.Unlock()
	s.order("Nomad ended the task")
	switch n {
	case 1:
		close(s.nomad)
	case 2:
		close(s.second)
	}
}

// order orders the end. The first reason counts.
func (s *stopper) order(why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.why == "" {
		s.why, s.ordered = why, time.Now()
		close(s.first)
		s.cancel(errStopped)
	}
}

// asked reports whether the end was ordered.
func (s *stopper) asked() bool { return s.reason() != "" }

// reason is why the end was ordered; "" if it was not.
func (s *stopper) reason() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.why
}

// since is when the end was ordered.
func (s *stopper) since() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ordered
}

// byNomad reports whether Nomad ordered the end, among others.
func (s *stopper) byNomad() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.signals > 0
}

// run runs a program and ends it after an order: SIGTERM to its process group, and after the
// grace, or at a second signal, SIGKILL to all its processes. killed reports the SIGKILL.
func (s *stopper) run(box *sandbox.Box, c sandbox.Command, grace time.Duration, journal *logs.Journal) (exit sandbox.Exit, killed bool, err error) {
	box.Start(c)
	ended, watched := make(chan struct{}), make(chan struct{})
	var hard atomic.Bool
	go func() {
		defer close(watched)
		select {
		case <-ended:
			return
		case <-s.first:
		case <-s.preempted:
			s.signalProgram(box, ended, journal)
		}
		if !s.asked() {
			return
		}
		journal.Infof("%s: sending SIGTERM to the program, which has %s to exit", s.reason(), grace)
		box.Signal(syscall.SIGTERM, false)
		select {
		case <-ended:
			return
		case <-time.After(grace):
			journal.Warnf("the program did not exit within %s: killing it", grace)
		case <-s.second:
			journal.Warnf("received a second request to stop: killing the program")
		}
		hard.Store(true)
		box.Signal(syscall.SIGKILL, true)
	}()
	exit, err = box.Wait()
	close(ended)
	<-watched
	return exit, hard.Load(), err
}
