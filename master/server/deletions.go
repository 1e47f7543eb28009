package server

import (
	"context"
	"time"

	"github.com/detent-ml/detent/master/experiments"
	"github.com/detent-ml/detent/master/sleep"
)

// deletionStep is the time between two steps of the deletion of workspaces and projects.
const deletionStep = 2 * time.Second

// carryOutDeletions deletes the contents of workspaces and projects that users have deleted,
// and then the workspaces and projects.
func (m *master) carryOutDeletions(ctx context.Context) {
	for range sleep.Every(ctx, deletionStep) {
		if err := experiments.CarryOutDeletions(ctx, m.db); err != nil && ctx.Err() == nil {
			m.log.Warn("could not continue the deletion of workspaces and projects", "error", err)
		}
	}
}
