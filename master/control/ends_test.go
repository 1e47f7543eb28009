package control

import (
	"fmt"
	"testing"
)

// TestATrialStartsOnLoan: behind an experiment that waits for the whole node, a trial that ends in time starts, because of its limit, or because
// others of its experiment were so short. Another, which nobody knows how long it runs, waits. When the loan is over, the borrower is preempted.
func TestATrialStartsOnLoan(t *testing.T) {
	b := newBench(t, "n1")
	runs := b.start1("searcher: {name: single, metric: loss, max_length: {batches: 9}}")
	b.reports(runs, 0.1, 0.2, 0.3, 0.31, 0.32)
	large := b.experiment("resources: {slots_per_trial: 2}")
	long, unknown := b.experiment("resources: {max_runtime: 2h}"), b.experiment("")
	b.settle()
	b.want(large, "ACTIVE", "ACTIVE", "PENDING")
	b.want(unknown, "ACTIVE", "ACTIVE", "PENDING")
	b.want(long, "ACTIVE", "ACTIVE", "PENDING")
	short := b.experiment("resources: {max_runtime: 2m}\npreemption_timeout: 30")
	b.settle()
	b.want(short, "ACTIVE", "ACTIVE", "STARTING")
	id := b.newest(short)
	if got := b.int(`SELECT round(extract(epoch FROM lent_until - assigned_at))::int FROM allocations WHERE id = $1`, id); got < 208 || got > 211 {
		t.Errorf("its slots are lent for %d s, want 2m and the graces", got)
	}
	b.claim(id)
	b.exit(b.newest(runs), 0)
	b.settle()
	if got := b.text(`SELECT preempt_reason FROM allocations WHERE id = $1`, id); got != fmt.Sprintf("preempted for experiment %d: it started early on slots that experiment %d waits for", large, large) {
		t.Errorf("the borrower, which is in the way, is preempted: %q", got)
	}
}

// start1 starts an experiment on one slot.
func (b *bench) start1(config string) int {
	e := b.submit(config)
	b.start(e, 0)
	return e
}
