package control

import (
	"context"
	"errors"
	"testing"

	"github.com/detent-ml/detent/master/cluster"
	"github.com/detent-ml/detent/master/control/rows"
)

// A deadlyLeftover ends the master that reads it.
type deadlyLeftover struct {
	LeftoverReader
	read func() error
}

func (d *deadlyLeftover) LeftoverFiles(context.Context, string, string) ([]cluster.LeftoverFile, error) {
	return nil, d.read()
}

// TestTriesCountBeforeTheyBegin: a try to read leftovers counts although the master ends in it, and after the last one the
// next master reads nothing.
func TestTriesCountBeforeTheyBegin(t *testing.T) {
	b := newBench(t, "a")
	b.experiment("")
	b.settle()
	b.exec(`UPDATE members SET nomad_alloc_id = 'n', claimed_by = 'n', token_hash = 'x', nomad_status = 'failed', nomad_ended_at = now()`)
	id := b.text(`SELECT allocation_id FROM members`)
	if err := rows.QueueLeftoverReads(t.Context(), b.db, []string{id}); err != nil {
		t.Fatal(err)
	}
	tries := func() int { return b.int(`SELECT tries FROM work WHERE kind = 'read'`) }
	reads := 0
	b.term.views[0].leftovers = &deadlyLeftover{read: func() error {
		if reads++; tries() != reads {
			t.Errorf("%d tries are counted during the try %d", tries(), reads)
		}
		panic("the master ends")
	}}
	b.term.cfg.Leftovers = b.term.views[0].leftovers
	for range readTries {
		func() {
			defer func() { _ = recover() }()
			_ = b.term.read(t.Context(), rows.Work{Kind: rows.WorkReadLeftover, Subject: id, Tries: tries()})
		}()
	}
	if err := b.term.read(t.Context(), rows.Work{Kind: rows.WorkReadLeftover, Subject: id, Tries: tries()}); err != nil && !errors.Is(err, errTried) {
		t.Error(err)
	}
	if reads != readTries || b.int(`SELECT count(*) FROM work WHERE kind = 'read'`) != 0 || b.int(`SELECT count(*) FROM members WHERE leftover_read_at IS NULL`) != 0 {
		t.Errorf("%d masters have read, and the work is not done", reads)
	}
}
