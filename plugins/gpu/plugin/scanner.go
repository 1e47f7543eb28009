package plugin

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/detent-ml/detent/plugins/gpu/gpus"
)

// errHung means that a scan of the GPUs does not end.
var errHung = errors.New("no answer")

// A scanner scans the GPUs, one scan at a time. A call of a driver may hang for ever, so each scan
// has its own goroutine, and callers wait for it for a limited time: a scan that hangs makes the
// GPUs unhealthy, but blocks neither Nomad nor the plugin.
type scanner struct {
	open func() (gpus.Source, error)

	mu     sync.Mutex
	source gpus.Source // nil until its first use, and while it cannot be opened
	look   *look       // in progress; nil for none
}

type look struct {
	since time.Time
	done  chan struct{}
	scan  gpus.Scan
	err   error
}

// scan waits for a scan of the GPUs, or for the one in progress, until patience has ended.
func (s *scanner) scan(patience time.Duration) (gpus.Scan, error) {
	l := s.begin()
	select {
	case <-l.done:
		return l.scan, l.err
	case <-time.After(patience - time.Since(l.since)):
		return gpus.Scan{}, fmt.Errorf("%w within %s", errHung, patience)
	}
}

func (s *scanner) begin() *look {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.look != nil {
		return s.look
	}
	l := &look{since: time.Now(), done: make(chan struct{})}
	s.look = l
	go func() {
		l.scan, l.err = s.examine()
		s.mu.Lock()
		s.look = nil
		s.mu.Unlock()
		close(l.done)
	}()
	return l
}

func (s *scanner) examine() (gpus.Scan, error) {
	source := s.current()
	if source == nil {
		opened, err := s.open()
		if err != nil {
			return gpus.Scan{}, err
		}
		s.mu.Lock()
		s.source, source = opened, opened
		s.mu.Unlock()
	}
	return source.Scan()
}

// current is the source; nil for none.
func (s *scanner) current() gpus.Source {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.source
}

// close closes the source, unless that hangs: then the end of the process releases it.
func (s *scanner) close(patience time.Duration) error {
	s.mu.Lock()
	source := s.source
	s.source = nil
	s.mu.Unlock()
	if source == nil {
		return nil
	}
	closed := make(chan error, 1)
	go func() { closed <- source.Close() }()
	select {
	case err := <-closed:
		return err
	case <-time.After(patience):
		return fmt.Errorf("%w within %s", errHung, patience)
	}
}

// A meter measures devices, and skips those whose measurement has not returned.
type meter struct {
	mu   sync.Mutex
	busy map[string]bool // by id
}

type measured struct {
	sample gpus.Sample
	err    error
}

func (m *meter) measure(source gpus.Source, id string, patience time.Duration) (gpus.Sample, error) {
	m.mu.Lock()
	busy := m.busy[id]
	if !busy {
		if m.busy == nil {
			m.busy = map[string]bool{}
		}
		m.busy[id] = true
	}
	m.mu.Unlock()
	if busy {
		return gpus.Sample{}, errHung
	}
	result := make(chan measured, 1)
	go func() {
		sample, err := source.Measure(id)
		m.mu.Lock()
		delete(m.busy, id)
		m.mu.Unlock()
		result <- measured{sample, err}
	}()
	select {
	case r := <-result:
		return r.sample, r.err
	case <-time.After(patience):
		return gpus.Sample{}, fmt.Errorf("%w within %s", errHung, patience)
	}
}
