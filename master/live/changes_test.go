package live

import (
	"context"
	"fmt"
	"strings"
	"testing"
)

// seen returns the result of a read in which the experiments have these states.
func seen(queue string, shown map[int]string) *stateView {
	s := &stateView{experiments: map[int]ListedExperiment{}, queue: queue}
	for id, state := range shown {
		s.experiments[id] = ListedExperiment{ID: id, Shown: state}
		s.top = max(s.top, id)
	}
	return s
}

// described describes a change as text.
func described(c StateChange) string {
	out := ""
	for _, e := range c.Experiments {
		out += fmt.Sprintf("%d %s; ", e.ID, e.Shown)
	}
	gone := []int{}
	for _, e := range c.Gone {
		gone = append(gone, e.ID)
	}
	return out + fmt.Sprintf("gone %v, queue %t", gone, c.Queue)
}

func TestStateFeedTellsDifferences(t *testing.T) {
	f := NewStateFeed(context.Background(), nil, nil, nil)
	f.busy, f.epoch = true, "e" // the test calls compare in place of the feed
	ch, now, _, missed, cancel := f.Watch(nil)
	defer cancel()
	if now != (StatePosition{"e", 0}) || !missed {
		t.Fatalf("the first reader is at %+v, and missed is %t", now, missed)
	}
	running := "RUNNING"
	for i, read := range []struct {
		saw  *stateView
		want string // "": the feed sends no change
	}{
		{seen("a", map[int]string{1: running, 2: "PAUSED"}), "1 RUNNING; 2 PAUSED; gone [], queue true"}, // the first change has everything
		{seen("a", map[int]string{1: running, 2: "PAUSED"}), ""},
		{seen("b", map[int]string{1: running, 2: "PAUSED"}), "gone [], queue true"},
		{seen("b", map[int]string{1: "COMPLETED", 2: "PAUSED", 3: "ERROR"}), "1 COMPLETED; 3 ERROR; gone [], queue false"},
		{seen("b", map[int]string{2: "PAUSED"}), ""}, // experiments that have ended are not read again
		{seen("b", map[int]string{}), "gone [2], queue false"},
	} {
		f.compare(read.saw)
		got := ""
		select {
		case c := <-ch:
			got = described(c)
		default:
		}
		if got != read.want {
			t.Errorf("read %d sent %q, want %q", i, got, read.want)
		}
	}
	moved := seen("b", map[int]string{4: running})
	f.compare(moved)
	<-ch
	moved = seen("b", map[int]string{4: running})
	mark := moved.experiments[4]
	mark.WorkspaceID = 9
	moved.experiments[4] = mark
	f.compare(moved)
	if c := <-ch; described(c) != "4 RUNNING; gone [4], queue false" || c.Gone[0].WorkspaceID != 0 || c.Experiments[0].WorkspaceID != 9 {
		t.Errorf("after a move to another workspace the feed sent %+v", c)
	}
	if f.maxID != 4 {
		t.Errorf("the highest id is %d, want 4", f.maxID)
	}
}

func TestStateFeedKnowsWhatAReaderMissed(t *testing.T) {
	f := NewStateFeed(context.Background(), nil, nil, nil)
	f.busy, f.epoch = true, "e"
	const changes = stateHistory + 10
	for i := range changes {
		f.compare(seen(fmt.Sprint(i), nil))
	}
	for _, c := range []struct {
		at     *StatePosition
		missed bool
		since  int
	}{
		{&StatePosition{"e", changes}, false, 0},
		{&StatePosition{"e", changes - 3}, false, 3},
		{&StatePosition{"e", changes - stateHistory}, false, stateHistory},
		{&StatePosition{"e", changes - stateHistory - 1}, true, 0},
		{&StatePosition{"e", changes + 1}, true, 0},
		{&StatePosition{"another", changes - 3}, true, 0},
		{nil, true, 0},
	} {
		_, _, since, missed, cancel := f.Watch(c.at)
		cancel()
		if missed != c.missed || len(since) != c.since {
			t.Errorf("after %+v: %d changes, missed %t", c.at, len(since), missed)
		}
		if len(since) > 0 && since[0].Seq != c.at.Seq+1 {
			t.Errorf("after %+v the first is %d", c.at, since[0].Seq)
		}
	}
}

// TestStateFeedDropsSlowReaders tests that a reader that does not read does not delay others.
func TestStateFeedDropsSlowReaders(t *testing.T) {
	f := NewStateFeed(context.Background(), nil, nil, nil)
	f.busy, f.epoch = true, "e"
	ch, _, _, _, cancel := f.Watch(nil)
	for i := range stateBuffer + 1 {
		f.compare(seen(fmt.Sprint(i), nil))
	}
	for range stateBuffer {
		if _, ok := <-ch; !ok {
			t.Fatal("the channel was closed before the reader got the changes in its buffer")
		}
	}
	if _, ok := <-ch; ok || f.watched() {
		t.Error("the feed still has the slow reader")
	}
	cancel() // has no effect: the feed has dropped the reader
}

// What the feed keeps is limited in bytes, also when very many experiments change.
func TestStateFeedIsBounded(t *testing.T) {
	f := NewStateFeed(context.Background(), nil, nil, nil)
	f.busy, f.epoch = true, "e"
	many := func(n int, name string) *stateView {
		s := seen("", nil)
		for id := range n {
			s.experiments[id] = ListedExperiment{ID: id, Shown: "RUNNING", Name: name}
		}
		return s
	}
	long := strings.Repeat("x", 4000)
	f.compare(many(1000, long))
	if c := f.history[0]; !c.Many || c.Experiments != nil || c.Seq != 1 {
		t.Errorf("the change has %d experiments, many %t", len(c.Experiments), c.Many)
	}
	f.compare(many(0, ""))
	if c := f.history[1]; !c.Many || c.Gone != nil {
		t.Errorf("the change has %d deleted experiments, many %t", len(c.Gone), c.Many)
	}
	for i := range 2 * stateHistory {
		f.compare(many(100, long+fmt.Sprint(i)))
	}
	kept := 0
	for _, c := range f.history {
		if len(c.Experiments) != 100 {
			t.Fatalf("a change has %d experiments", len(c.Experiments))
		}
		for _, e := range c.Experiments {
			kept += len(e.Name)
		}
	}
	if kept > historyBytes || f.kept > historyBytes || len(f.history) < 10 {
		t.Errorf("%d changes of %d bytes, counted %d", len(f.history), kept, f.kept)
	}
	if _, _, since, missed, cancel := f.Watch(&StatePosition{"e", f.seq - 10}); missed || len(since) != 10 {
		t.Errorf("%d changes, missed %t", len(since), missed)
	} else {
		cancel()
	}
}

// TestLongNamesOfExperiments: the feed of states does not keep long names of experiments.
func TestLongNamesOfExperiments(t *testing.T) {
	w := newWorld(t)
	id := w.Experiment(`{"name": "random"}`)
	w.Exec(`UPDATE experiments SET name = repeat('実', 80000) WHERE id = $1`, id)
	want := strings.Repeat("実", 1000)
	view, err := readState(t.Context(), w.DB, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	if got := view.experiments[id].Name; got != want {
		t.Errorf("the feed keeps a name of %d bytes", len(got))
	}
}
