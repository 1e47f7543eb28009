package nodes

import (
	"context"
	"sync"
	"time"
)

// Counts remembers for a while how many slots pools have, so that not each submission reads the inventories of all nodes. Nodes come and go,
// so a caller says which count it needs nothing newer than: a request that fits is accepted by a remembered count, and none is
// rejected by one.
type Counts struct {
	Of  Inventory
	For time.Duration // how long a count is remembered

	mu    sync.Mutex
	known map[string]counted // by the name of a pool
}

type counted struct {
	slots PoolSlots
	at    time.Time
}

// PoolSlots counts the slots of a pool, or returns what was counted lately if that is enough.
func (c *Counts) PoolSlots(ctx context.Context, pool string, enough func(PoolSlots) bool) (PoolSlots, error) {
	if n, known := c.lately(pool); known && enough(n) {
		return n, nil
	}
	n, err := c.Of.PoolSlots(ctx, pool)
	if err == nil {
		c.remember(pool, n)
	}
	return n, err
}

func (c *Counts) lately(pool string) (PoolSlots, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	last, known := c.known[pool]
	return last.slots, known && time.Since(last.at) < c.For
}

func (c *Counts) remember(pool string, n PoolSlots) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil {
		c.known = map[string]counted{}
	}
	c.known[pool] = counted{n, time.Now()}
}
