package server

import (
	"context"
	"time"
)

// How long the program of an unmanaged trial may be silent, and how often masters look.
// Programs report once a minute.
const (
	maxSilence   = 5 * time.Minute
	silenceCheck = time.Minute
)

// endSilentTrials ends unmanaged trials whose programs are silent. Any number of masters
// may do it. While no master could be reached programs could not report, so a master
// waits as long as it allows them, from its start and from each failure of the database.
func (m *master) endSilentTrials(ctx context.Context) {
	tick := time.NewTicker(silenceCheck)
	defer tick.Stop()
	for looked := time.Duration(0); ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		allowed := maxSilence
		if looked < maxSilence {
			// Those that somebody canceled are ended meanwhile.
			allowed = neverSilent
		}
		n, err := m.db.EndSilentTrials(ctx, allowed)
		looked += silenceCheck
		switch {
		case err != nil:
			looked = 0
			if ctx.Err() == nil {
				m.log.Warn("could not look for unmanaged trials without a sign of life", "error", err)
			}
		case n > 0:
			m.log.Info("unmanaged trials were ended: their programs are silent, or their experiments were canceled", "trials", n)
		}
	}
}

// neverSilent is longer than any program can have been silent.
const neverSilent = 100 * 365 * 24 * time.Hour
