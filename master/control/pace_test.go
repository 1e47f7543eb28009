package control

import (
	"context"
	"errors"
	"fmt"
	"slices"
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

// awayNomad does not answer, each time with other words.
type awayNomad struct {
	*fakeNomad
	calls *atomic.Int64
	done  chan struct{} // closed at the third call
}

func (n awayNomad) Observe(context.Context, cluster.Known) (cluster.Observation, error) {
	call := n.calls.Add(1)
	if call == 3 {
		close(n.done)
	}
	return cluster.Observation{}, fmt.Errorf("connection %d is reset", call)
}

// TestANomadThatDoesNotAnswerIsAskedOnceInASecond, although each error is news.
func TestANomadThatDoesNotAnswerIsAskedOnceInASecond(t *testing.T) {
	b := newBench(t, "n1")
	n := awayNomad{b.nomad, new(atomic.Int64), make(chan struct{})}
	began := time.Now()
	b.lead(n)
	<-n.done
	if took := time.Since(began); took < 2*afterError {
		t.Errorf("three calls in %v", took)
	}
}

// TestAnOldAnswerKeepsTheRequestForAll: what was asked for during a call is asked for in the next one.
func TestAnOldAnswerKeepsTheRequestForAll(t *testing.T) {
	b := newBench(t, "n1")
	b.settle()
	v := b.term.views[0]
	for name, test := range map[string]struct {
		now, asked cluster.Known
		fails      error
		full       bool
	}{
		"nothing":            {},
		"all, during it":     {now: cluster.Known{Full: true}, full: true},
		"all, before it":     {now: cluster.Known{Full: true}, asked: cluster.Known{Full: true}},
		"trust, during it":   {now: cluster.Known{Trust: true}, full: true},
		"trust, before it":   {now: cluster.Known{Trust: true}, asked: cluster.Known{Trust: true}},
		"it fails":           {fails: errors.New("no route to host"), full: true},
		"it failed with all": {now: cluster.Known{Full: true}, asked: cluster.Known{Full: true}, fails: errors.New("no route to host"), full: true},
	} {
		v.known.Full, v.known.Trust = test.now.Full, test.now.Trust
		err := v.recordAnswer(t.Context(), answer{o: cluster.Observation{Index: v.known.Index}, err: test.fails, asked: test.asked})
		if err != nil || v.known.Full != test.full {
			t.Errorf("%s: the next call asks for all: %v, want %v; %v", name, v.known.Full, test.full, err)
		}
	}
}

// TestNomadIsNotAskedBeforeTheFirstLoad, which says what the answer must have.
func TestNomadIsNotAskedBeforeTheFirstLoad(t *testing.T) {
	b := newBench(t, "n1")
	e := b.experiment("")
	b.settle()
	id := b.newest(e)
	b.claim(id)
	b.nomad.turn(id, func(f *cluster.TaskFact) { f.Status = "lost" })
	n := firstNomad{b.nomad, make(chan cluster.Known, 1)}
	b.lead(n)
	if known := <-n.known; !known.Full || !slices.Contains(known.Live, id) {
		t.Errorf("the first call of a term asks for %+v", known)
	}
}

// firstNomad tells what its first call of Observe was asked.
type firstNomad struct {
	*fakeNomad
	known chan cluster.Known
}

func (n firstNomad) Observe(ctx context.Context, known cluster.Known) (cluster.Observation, error) {
	select {
	case n.known <- known:
	default:
	}
	return n.fakeNomad.Observe(ctx, known)
}

// TestACallFollowsAnAnswerWithoutNews, although no cycle does.
func TestACallFollowsAnAnswerWithoutNews(t *testing.T) {
	v := &view{term: &term{async: true, woken: make(chan struct{}, 1)}, hasAnswered: true, loaded: true}
	v.watch.answers = make(chan answer, 1)
	v.watch.busy, v.watch.last = true, time.Now().Add(-maxIdle+20*time.Millisecond)
	v.watch.answers <- answer{}
	if v.receive(t.Context()) {
		t.Fatal("an answer without anything in it was news")
	}
	<-v.term.woken
	if !v.woken.Load() {
		t.Error("the loop was not told in which region a call is due")
	}
}
