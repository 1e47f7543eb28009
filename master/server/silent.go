package server

import (
	"context"
	"time"

	"github.com/detent-ml/detent/master/experiments"
	"github.com/detent-ml/detent/master/sleep"
)

// How long the program of an unmanaged trial may send no report, and how often masters check.
// Programs report once a minute.
const (
	maxSilence   = 5 * time.Minute
	silenceCheck = time.Minute
)

// endSilentTrials ends unmanaged trials whose programs have stopped reporting. Several masters may run it
// at the same time. Programs cannot report while no master is reachable, so a master waits for
// the allowed time after its start and after each failure of the database.
func (m *master) endSilentTrials(ctx context.Context) {
	looked := time.Duration(0)
	for range sleep.Every(ctx, silenceCheck) {
		allowed := maxSilence
		if looked < maxSilence {
			// Trials of canceled experiments are also ended here.
			allowed = neverSilent
		}
		n, err := experiments.EndSilentTrials(ctx, m.db, allowed)
		looked += silenceCheck
		switch {
		case err != nil:
			looked = 0
			if ctx.Err() == nil {
				m.log.Warn("could not check for unmanaged trials whose programs have stopped reporting", "error", err)
			}
		case n > 0:
			m.log.Info("ended unmanaged trials whose programs have stopped reporting or whose experiments were canceled", "trials", n)
		}
	}
}

// neverSilent is longer than any program can be silent.
const neverSilent = 100 * 365 * 24 * time.Hour
