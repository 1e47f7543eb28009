package control

import (
	"context"
	"time"

	"github.com/detent-ml/detent/master/sleep"
)

// How often the leader counts what was used lately of pools whose fair share has a half-life, and how long a new leader waits for the first count: until
// then it divides as without a memory.
const (
	countUseEvery = 30 * time.Second
	firstUse      = 10 * time.Second
)

// countUse counts what was used lately.
func (t *term) countUse(ctx context.Context) {
	if t.used == nil {
		return
	}
	if err := t.used.Count(ctx, t.db); err != nil && ctx.Err() == nil {
		t.log.Warn("could not count what was used lately; retrying", "term", t.lead.Term, "error", err)
	}
}

// keepCountingUse counts again and again.
func (t *term) keepCountingUse(ctx context.Context) {
	for t.used != nil && sleep.For(ctx, countUseEvery) == nil {
		t.countUse(ctx)
	}
}
