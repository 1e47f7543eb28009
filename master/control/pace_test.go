package control

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/cluster"
)

// busyNomad has an event after each answer, and nothing new in it.
type busyNomad struct {
	*fakeNomad
	calls *atomic.Int64
	done  chan struct{} // closed at the call pacedCalls
}

const pacedCalls = 25

func (n busyNomad) Observe(ctx context.Context, known cluster.Known) (cluster.Observation, error) {
	defer func() {
		select {
		case n.wake <- struct{}{}:
		default:
		}
	}()
	switch n.calls.Add(1) {
	case 1:
		return n.fakeNomad.Observe(ctx, known)
	case pacedCalls:
		close(n.done)
	}
	return cluster.Observation{Index: known.Index}, nil
}

// TestAnswersWithoutNewsHaveAPace: however many events come, Nomad is asked a limited number of times in a second, and
// the loop makes no cycle for each answer.
func TestAnswersWithoutNewsHaveAPace(t *testing.T) {
	b := newBench(t, "n1")
	n := busyNomad{b.nomad, new(atomic.Int64), make(chan struct{})}
	began := time.Now()
	b.lead(n)
	<-n.done
	if took := time.Since(began); took < (pacedCalls-2)*minObserveGap {
		t.Errorf("%d calls in %v", pacedCalls, took)
	}
}

func TestUntilObserving(t *testing.T) {
	v := &view{term: &term{async: true}}
	v.watch.last = time.Now().Add(-maxIdle + time.Second)
	if d := v.untilObserving(); d > time.Second {
		t.Errorf("a second is left, but the loop would wait %v", d)
	}
	v.watch.last = time.Now().Add(-2 * maxIdle)
	if d := v.untilObserving(); d != 0 {
		t.Errorf("a call is late, but the loop would wait %v", d)
	}
	if v.watch.busy = true; v.untilObserving() != maxIdle {
		t.Error("a call is in flight, and the loop would not wait for its answer")
	}
}
