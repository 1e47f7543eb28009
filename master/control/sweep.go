package control

import (
	"context"
	"errors"
	"path"
	"strconv"
	"time"

	"github.com/detent-ml/detent/master/checkpoints"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/lifecycle"
	"github.com/detent-ml/detent/master/pool"
	"github.com/detent-ml/detent/master/sleep"
	"github.com/detent-ml/detent/master/task"
)

// A sweep removes files that a program uploaded and never reported, because its node ended in
// between. The leader looks every hour for experiments that have ended two days before, and
// creates a task for those of which an attempt did not complete. Each is decided once after each
// of its ends, whatever becomes of the task.

// Sweeps says which storages are swept.
type Sweeps string

// The storages.
const (
	SweepNone Sweeps = "off"
	SweepOwn  Sweeps = "own" // those in which each experiment has a part of its own: the prefix of a bucket
	SweepAll  Sweeps = "all" // also folders and containers that experiments share
)

// Limits of sweeps.
const (
	sweepPause = time.Hour
	maxSweeps  = 16 // that have not ended, or began in the last hour
	sweepBatch = 64 // experiments that one query reads: each has up to thousands of attempts
	sweepReads = 16 // queries of one pass
)

// sweepFiles creates sweeps, until ctx ends.
func (t *term) sweepFiles(ctx context.Context) {
	if t.cfg.Sweeps != SweepOwn && t.cfg.Sweeps != SweepAll {
		return
	}
	for {
		if err := t.createSweeps(ctx); err != nil && ctx.Err() == nil && !fault.Is(err, fault.Unavailable) {
			t.log.Warn("could not look for files that nobody reported", "term", t.lead.Term, "error", err)
		}
		if sleep.For(ctx, sweepPause) != nil {
			return
		}
	}
}

// createSweeps is one pass.
func (t *term) createSweeps(ctx context.Context) error {
	if err := t.db.Fenced(ctx, t.lead.Term, func(tx *database.DB) error { return checkpoints.EndOldSweeps(ctx, tx) }); err != nil {
		return err
	}
	now, err := checkpoints.RecentSweeps(ctx, t.db)
	if err != nil {
		return err
	}
	for range sweepReads {
		list, err := checkpoints.UnsweptExperiments(ctx, t.db, sweepBatch)
		if err != nil || len(list) == 0 {
			return err
		}
		for _, u := range list {
			if now >= maxSweeps {
				return nil
			}
			made, err := t.createSweep(ctx, u)
			if err != nil {
				return err
			}
			if made {
				now++
			}
		}
	}
	return nil
}

// createSweep stores the decision about one experiment.
func (t *term) createSweep(ctx context.Context, u checkpoints.Unswept) (made bool, err error) {
	cfg, unread := expconf.ParseConfigJSON(u.Config)
	c := sweepOf(u, t.cfg.Sweeps, t.cfg.Pools, cfg, unread)
	err = t.db.Fenced(ctx, t.lead.Term, func(tx *database.DB) (err error) {
		made, err = checkpoints.CreateGC(ctx, tx, c)
		return err
	})
	switch {
	case errors.Is(err, database.ErrStale) || fault.Is(err, fault.NotFound): // it goes on, or is deleted
		return false, nil
	case err == nil && made:
		t.log.Info("made a task that sweeps the storage of an experiment", "term", t.lead.Term, "experiment_id", u.ID, "task_id", c.TaskID)
		t.bus.Publish(lifecycle.TopicIntent, lifecycle.TopicState)
	}
	return made, err
}

// sweepOf decides about an experiment that has ended. Without Sweep there is nothing to sweep.
func sweepOf(u checkpoints.Unswept, which Sweeps, pools pool.Set, cfg expconf.Config, unread error) checkpoints.NewGC {
	c := checkpoints.NewGC{TaskID: checkpoints.GCTaskID(u.ID), ExperimentID: u.ID, Reason: checkpoints.BySweep, Priority: u.Priority, Saw: u.State}
	if unread != nil || !u.Unclean || u.Since == nil || !removable(cfg.CheckpointStorage) {
		return c
	}
	c.Pool = task.RemovalPool(pools, u.Pool, cfg.CheckpointStorage)
	if pools.Named(c.Pool) == nil || !sweepable(cfg.CheckpointStorage, u.ID, which) {
		return c
	}
	c.Sweep = &task.Sweep{Since: *u.Since, Until: u.Until}
	return c
}

// sweepable reports whether the storage of an experiment is swept. A part of a bucket is the
// experiment's own if it ends with the experiment's id, which the master has added.
func sweepable(s expconf.CheckpointStorage, experiment int, which Sweeps) bool {
	if s.Type == expconf.S3 || s.Type == expconf.GCS {
		_, prefix := s.Place()
		return path.Base(prefix) == strconv.Itoa(experiment)
	}
	return which == SweepAll
}
