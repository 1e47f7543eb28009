//go:build linux

package attempt

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/logs/policy"
	"github.com/detent-ml/detent/master/sleep"
	v1 "github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/plugins/runner/logs"
	"github.com/detent-ml/detent/plugins/runner/masters"
)

// maxMatch is the maximum length of a reported line.
const maxMatch = 2000

// A policyWatch finds the lines of a program's output that match the log policies of its trial.
// Only the first match of each policy counts. It is stored at once, so that the exit report
// contains it even if another process sends the report, and reported at once, so that users see
// it while the program runs.
type policyWatch struct {
	run      *run
	patterns []v1.LogPattern
	matcher  *policy.Matcher
	unseen   atomic.Int32 // policies without a match yet
	changed  chan struct{}

	mu   sync.Mutex
	seen []bool
}

// newPolicyWatch makes a watch of the task's patterns. It ignores a pattern that this release
// cannot compile.
func newPolicyWatch(r *run) *policyWatch {
	l := &policyWatch{run: r, changed: make(chan struct{}, 1)}
	var texts []string
	for _, p := range r.spec.LogPatterns {
		if _, err := policy.New([]string{p.Pattern}); err != nil {
			r.journal.Warnf("a log policy is ignored: %v", err)
			continue
		}
		l.patterns, texts = append(l.patterns, p), append(texts, p.Pattern)
	}
	l.matcher, _ = policy.New(texts) // each of them compiles
	l.seen = make([]bool, len(texts))
	l.unseen.Store(int32(len(texts)))
	return l
}

// look checks a line.
func (l *policyWatch) look(line logs.Line) {
	if l.unseen.Load() == 0 {
		return
	}
	for _, n := range l.matcher.Match(line.Text) {
		if l.first(n) {
			match := v1.LogMatch{Policy: l.patterns[n].Policy, Line: fault.ClipTo(line.Wire().Log, maxMatch)}
			l.run.note(func(s *state) { s.Matches = append(s.Matches, match) })
			sleep.Wake(l.changed) // unless the reporter has not read the last match yet
		}
	}
}

func (l *policyWatch) first(n int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.seen[n] {
		return false
	}
	l.seen[n] = true
	l.unseen.Add(-1)
	return true
}

// tell reports matches until ctx ends. A report that fails is part of the exit report, so
// errors are ignored.
func (l *policyWatch) tell(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-l.changed:
		}
		l.run.noting.Lock()
		matches := slices.Clone(l.run.state.Matches)
		l.run.noting.Unlock()
		_ = l.run.masters.Call(ctx, masters.Request{
			Method:  http.MethodPost,
			Path:    v1.ReportLogMatches.At(l.run.spec.AllocationID, l.run.spec.Rank),
			Token:   l.run.token,
			Message: v1.LogMatchesRequest{Matches: matches},
		}, nil, masters.Policy{Replay: true, Hold: forever, Patience: reportPatience})
	}
}
