package server

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/detent-ml/detent/master/accounts"
	"github.com/detent-ml/detent/master/attempts"
	"github.com/detent-ml/detent/master/checkpoints"
	"github.com/detent-ml/detent/master/contexts"
	"github.com/detent-ml/detent/master/sleep"
	"github.com/detent-ml/detent/master/tasks"
)

// cleanupInterval is the time between two removals of unused rows.
const cleanupInterval = 10 * time.Minute

// cleanUp removes unused rows: code without an experiment, and expired tickets. Several masters
// may run it at the same time.
func (m *master) cleanUp(ctx context.Context) {
	for range sleep.Every(ctx, cleanupInterval) {
		if n, err := contexts.Drop(ctx, m.db); err != nil && ctx.Err() == nil {
			m.log.Warn("could not remove unused code", "error", err)
		} else if n > 0 {
			m.log.Info("unused code was removed", "contexts", n)
		}
		m.dropVariables(ctx)
		if _, err := accounts.DropLoginTries(ctx, m.db, accounts.LoginWindow); err != nil && ctx.Err() == nil {
			m.log.Warn("could not remove old counts of wrong passwords", "error", err)
		}
		if _, err := tasks.DropPasses(ctx, m.db); err != nil && ctx.Err() == nil {
			m.log.Warn("could not remove expired tickets and cookies of tasks", "error", err)
		}
	}
}

// dropUploads removes the parts of files that nobody has completed. It is a loop of its own: a storage that hangs delays nothing else.
func (m *master) dropUploads(ctx context.Context) {
	for range sleep.Every(ctx, cleanupInterval) {
		m.dropUploadsOnce(ctx)
	}
}

func (m *master) dropUploadsOnce(ctx context.Context) {
	roots, err := m.cfg.checkpointRoots()
	if err == nil {
		_, err = checkpoints.Deps{DB: m.db, Roots: roots, Bucket: m.bucket}.DropUploads(ctx)
	}
	if err != nil && ctx.Err() == nil {
		m.log.Warn("could not remove the parts of files that nobody has completed", "error", err)
	}
}

// dropVariables removes the registry credentials of attempts that have ended.
func (m *master) dropVariables(ctx context.Context) {
	if !slices.ContainsFunc(m.cfg.Pools, PoolConfig.docker) {
		return
	}
	unended := func(ctx context.Context, ids []string) (map[string]bool, error) {
		return attempts.Unended(ctx, m.db, ids)
	}
	n, err := m.nomad.DropVariables(ctx, unended)
	for _, r := range m.regions {
		more, regionErr := r.nomad.DropVariables(ctx, unended)
		n, err = n+more, errors.Join(err, regionErr)
	}
	if err != nil && ctx.Err() == nil {
		m.log.Warn("could not remove the credentials of ended attempts from Nomad's variables", "error", err)
	} else if n > 0 {
		m.log.Info("removed the credentials of ended attempts from Nomad's variables", "variables", n)
	}
}
