package database

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/fault"
)

// requests are named by their owner, which is their first letter.
func ownerOf(item string) string { return item[:1] }

func waitingGroup(most int, items ...string) *GroupCommit[string, string] {
	g := NewGroupCommit(most, ownerOf, nil)
	for _, item := range items {
		g.push(ownerOf(item), &Queued[string]{Item: item})
	}
	return g
}

func names(batch []*Queued[string]) string {
	var list []string
	for _, q := range batch {
		list = append(list, q.Item)
	}
	return strings.Join(list, " ")
}

func TestOwnersTakeTurns(t *testing.T) {
	g := waitingGroup(4, "a1", "a2", "a3", "a4", "a5", "a6", "b1", "c1", "c2")
	for _, want := range []string{"a1 b1 c1 a2", "c2 a3 a4 a5", "a6", ""} {
		batch := g.take()
		if got := names(batch); got != want {
			t.Errorf("%q, want %q", got, want)
		}
		if done := g.settle(batch); len(done) != len(batch) {
			t.Errorf("%d of %d are done", len(done), len(batch))
		}
	}
	if g.count != 0 || len(g.waiting) != 0 {
		t.Errorf("%d wait, of %d owners", g.count, len(g.waiting))
	}
}

// A batch ends with the item that fills its bytes.
func TestBatchesHaveFewBytes(t *testing.T) {
	g := waitingGroup(4, "a1", "b1", "a22222", "b2", "c1", "a3")
	g.size, g.bytes = func(item string) int { return len(item) }, 5
	for _, want := range []string{"a1 b1 c1", "a22222", "b2 a3", ""} {
		batch := g.take()
		if got := names(batch); got != want {
			t.Errorf("%q, want %q", got, want)
		}
		g.settle(batch)
	}
}

// A batch may leave items to the next one, in front of the later items of their owner.
func TestItemsThatABatchLeaves(t *testing.T) {
	g := waitingGroup(3, "a1", "a2", "a3", "a4", "b1")
	batch := g.take()
	batch[2].Again = true
	if done := g.settle(batch); names(done) != "a1 b1" {
		t.Errorf("%q are done", names(done))
	}
	if got := names(g.take()); got != "a2 a3 a4" {
		t.Errorf("then %q", got)
	}
}

// If an item of an owner made a batch fail, the owner's items get batches of their own, alternating
// with those of other owners, until enough of them were stored.
func TestWhoBreaksABatchGoesAlone(t *testing.T) {
	g := waitingGroup(3, "a1", "b1", "c1", "a2", "b2", "a3")
	batch := g.take()
	batch[0].Err, batch[0].broke = errors.New("bad"), true
	g.settle(batch)
	for _, want := range []string{"a2 a3", "b2"} {
		batch := g.take()
		if got := names(batch); got != want {
			t.Errorf("%q, want %q", got, want)
		}
		g.settle(batch)
	}
	for range trustedAfter {
		g.push("a", &Queued[string]{Item: "a"})
	}
	g.push("b", &Queued[string]{Item: "b"})
	for range 2 * trustedAfter / isolatedBatch {
		g.settle(g.take())
	}
	g.push("a", &Queued[string]{Item: "a4"})
	g.push("b", &Queued[string]{Item: "b3"})
	if got := names(g.take()); got != "a4 b3" || len(g.suspects) != 0 {
		t.Errorf("later: %q; suspects: %v", got, g.suspects)
	}
}

// Items that were not tried keep their order, before the owner's later items.
func TestWhatWasNotTriedKeepsItsPlace(t *testing.T) {
	g := waitingGroup(4, "a1", "a2", "a3", "b1", "a4")
	batch := g.take() // a1 b1 a2 a3
	for _, q := range batch {
		switch q.Item {
		case "a1":
			q.Err, q.broke = errors.New("bad"), true
		case "a2", "a3":
			q.Again = true
		}
	}
	if done := names(g.settle(batch)); done != "a1 b1" {
		t.Errorf("done: %q", done)
	}
	if got := names(g.take()); got != "a2 a3 a4" || g.count != 0 {
		t.Errorf("next: %q, %d more", got, g.count)
	}
}

// One bad item among n costs the others about log n additional commits, and so do all the bad
// items of one owner.
func TestApart(t *testing.T) {
	for _, bad := range []int{1, 50} {
		var batch []*Queued[string]
		for i := range 1000 {
			item := string(rune('b'+i%20)) + "good"
			if i%20 == 7 && i/20 < bad {
				item = "a bad one"
			}
			batch = append(batch, &Queued[string]{Item: item})
		}
		commits := 0
		CommitHalving(batch, ownerOf, func(batch []*Queued[string]) error {
			commits++
			if slices.ContainsFunc(batch, func(q *Queued[string]) bool { return q.Item == "a bad one" }) {
				return errors.New("refused")
			}
			return nil
		})
		if commits > 2*11 {
			t.Errorf("%d bad: %d commits", bad, commits)
		}
		failed, again := 0, 0
		for _, q := range batch {
			if isBad := q.Item == "a bad one"; !isBad && (q.Err != nil || q.Again) {
				t.Fatalf("%d bad: a good request: %+v", bad, q)
			}
			if q.Err != nil && q.broke {
				failed++
			}
			if q.Again {
				again++
			}
		}
		if failed != 1 || again != bad-1 {
			t.Errorf("%d bad: %d failed, %d are to be tried again", bad, failed, again)
		}
	}
	for _, away := range []error{fault.New(fault.Unavailable, "away"), fmt.Errorf("term 7: %w", ErrNotLeader)} {
		commits := 0
		batch := []*Queued[string]{{Item: "a"}, {Item: "b"}}
		CommitHalving(batch, ownerOf, func([]*Queued[string]) error {
			commits++
			return away
		})
		if commits != 1 || batch[0].Err == nil || batch[1].Err == nil || batch[0].broke {
			t.Errorf("%v: %d commits, %v", away, commits, batch[0].Err)
		}
	}
}
