package server

import (
	"context"
	"time"
)

// tidyEvery is the time between two looks at what nobody refers to any more.
const tidyEvery = 10 * time.Minute

// keepHouse removes what is left over: code that no experiment has any more.
// Any number of masters may do it.
func (m *master) keepHouse(ctx context.Context) {
	tick := time.NewTicker(tidyEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if n, err := m.db.DropContexts(ctx); err != nil && ctx.Err() == nil {
			m.log.Warn("unused code could not be removed", "error", err)
		} else if n > 0 {
			m.log.Info("unused code was removed", "contexts", n)
		}
	}
}
