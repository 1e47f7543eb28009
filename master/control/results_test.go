package control

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
)

// marks returns results that each mark one attempt in the table marks.
func (b *bench) marks(subjects ...string) []*result {
	b.exec(`CREATE TABLE marks (subject text PRIMARY KEY, n int NOT NULL DEFAULT 0)`)
	var list []*result
	for _, s := range subjects {
		b.exec(`INSERT INTO marks (subject) VALUES ($1)`, s)
		list = append(list, &result{s, func(ctx context.Context, tx *database.DB) error {
			return tx.Exec(ctx, `UPDATE marks SET n = n + 1 WHERE subject = $1`, s)
		}})
	}
	return list
}

// TestALockedRowKeepsNoOtherResult: while somebody has locked the row of one result, those that are stored in the same commit are stored.
func TestALockedRowKeepsNoOtherResult(t *testing.T) {
	b := newBench(t, "n1")
	list := b.marks("1.1", "2.1", "3.1", "4.1", "5.1", "6.1", "7.1", "8.1")
	queued := b.term.results.Together(list...)
	err := b.db.Tx(t.Context(), func(tx *database.DB) error {
		if err := tx.Exec(t.Context(), `UPDATE marks SET n = n WHERE subject = '3.1'`); err != nil {
			return err
		}
		for b.term.results.FlushNext() {
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, q := range queued {
		if locked := list[i].subject == "3.1"; locked != (q.Err != nil) {
			t.Errorf("the result of %s: %v", list[i].subject, q.Err)
		}
	}
	if n := b.int(`SELECT sum(n) FROM marks`); n != 7 {
		t.Errorf("%d results are stored, want 7", n)
	}
}

// TestResultsThatCannotBeStored: an error and a panic fail their own results, and a new term stores none.
func TestResultsThatCannotBeStored(t *testing.T) {
	b := newBench(t, "n1")
	list := b.marks("1.1", "2.1", "3.1", "4.1")
	list[0].write = func(context.Context, *database.DB) error { return errors.New("not like that") }
	list[2].write = func(context.Context, *database.DB) error { panic("oh") }
	queued := b.term.results.Together(list...)
	for b.term.results.FlushNext() {
	}
	if got := fmt.Sprint(queued[0].Err, queued[1].Err, queued[2].Err, queued[3].Err); got != "not like that <nil> panic: oh <nil>" {
		t.Error(got)
	}
	if n := b.int(`SELECT sum(n) FROM marks`); n != 2 {
		t.Errorf("%d results are stored, want 2", n)
	}
	b.exec(`UPDATE leader SET term = term + 1`)
	if err := b.term.storeResult(t.Context(), "2.1", list[1].write, nil); !errors.Is(err, database.ErrNotLeader) || !fault.Is(err, fault.Conflict) {
		t.Errorf("after the term: %v", err)
	}
	if n := b.int(`SELECT sum(n) FROM marks`); n != 2 {
		t.Errorf("%d results are stored after the term, want 2", n)
	}
}
