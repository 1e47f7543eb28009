package control

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/detent-ml/detent/master/checkpoints"
	policy "github.com/detent-ml/detent/master/checkpoints/keep"
	"github.com/detent-ml/detent/master/control/rows"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/experiments"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/lifecycle"
	"github.com/detent-ml/detent/master/task"
)

// Garbage collection (GC) tasks remove the files of experiments. The loop creates a GC task
// when an experiment has ended, its policy was changed, or it is deleted. To decide which
// files to remove, it reads all checkpoints of the experiment. That takes long, so it
// happens in parallel to the cycle, and the result counts only if the experiment has not
// changed since.

// gcTaskType is the type of the tasks that remove files.
const gcTaskType = task.Removal

// maxGCTries is how often a GC task runs until it succeeds. gcPause is the delay before the
// second run; each further delay is four times the one before.
const (
	maxGCTries = 3
	gcPause    = 2 * time.Second
)

// planTimeout limits one decision: an experiment may have a hundred thousand checkpoints.
const planTimeout = time.Minute

// retryGC reports whether a GC task runs again after this end: after every end but success
// and a kill, because the next run removes the files that are left.
func retryGC(t rows.LiveTask, run int, end lifecycle.Step) bool {
	return t.Type == gcTaskType && end.Outcome != lifecycle.Completed && end.Outcome != lifecycle.Killed && run < maxGCTries
}

// gc decides which files of an experiment to remove.
func (t *term) gc(ctx context.Context, w rows.Work) error {
	err := t.safely(w.Subject, func() error { return t.planGC(ctx, w) })
	if err == nil || errors.Is(err, database.ErrStale) { // if stale, the next load queues the decision again
		return t.storeResult(ctx, w.Subject, func(ctx context.Context, tx *database.DB) error { return rows.WorkDone(ctx, tx, w.Kind, w.Subject) }, nil)
	}
	return t.failed(ctx, w, err)
}

func (t *term) planGC(ctx context.Context, w rows.Work) error {
	id, err := strconv.Atoi(w.Subject)
	if err != nil {
		return err
	}
	s, err := checkpoints.FilesOfExperiment(ctx, t.db, id)
	switch {
	case fault.Is(err, fault.NotFound):
		return nil
	case err != nil:
		return err
	case s.State == string(lifecycle.Deleting):
		return t.plan(ctx, s, byDeletion)
	case s.Desired == string(lifecycle.WantDeleted):
		return nil
	}
	return t.plan(ctx, s, byPolicy)
}

// delete deletes a part of the rows of an experiment.
func (t *term) delete(ctx context.Context, w rows.Work) error {
	id, err := strconv.Atoi(w.Subject)
	if err != nil {
		return err
	}
	done, err := t.part(ctx, w, func(tx *database.DB) (bool, error) { return experiments.DeleteRows(ctx, tx, id) })
	if done {
		t.log.Info("experiment deleted", "term", t.lead.Term, "experiment_id", id)
		t.bus.Publish(lifecycle.TopicState)
	}
	return err
}

// plan decides which of an experiment's files to remove, and creates the GC task.
func (t *term) plan(ctx context.Context, s checkpoints.ExperimentFiles, plan func(checkpoints.ExperimentFiles, expconf.Config, error) checkpoints.NewGC) error {
	cfg, unread := expconf.ParseConfigJSON(s.Config)
	c := plan(s, cfg, unread)
	if len(c.Removals) > checkpoints.MaxRemovals {
		c.Removals, c.Events, c.Part = c.Removals[:checkpoints.MaxRemovals], false, true
	}
	if s.Busy { // one GC task at a time for each experiment
		return nil
	}
	c.TaskID = checkpoints.GCTaskID(s.ID)
	if c.Pool = s.Pool; unread == nil && c.Over == "" {
		c.Pool = task.RemovalPool(t.cfg.Pools, s.Pool, cfg.CheckpointStorage)
	}
	made := false
	err := t.db.Fenced(ctx, t.lead.Term, func(tx *database.DB) (err error) {
		made, err = checkpoints.CreateGC(ctx, tx, c)
		return err
	})
	if made && err == nil {
		t.log.Info("made a garbage collection task for files of an experiment", "term", t.lead.Term, "experiment_id", s.ID, "task_id", c.TaskID,
			"reason", c.Reason, "checkpoints", len(c.Removals))
		t.bus.Publish(lifecycle.TopicIntent, lifecycle.TopicState)
	}
	return err
}

// byPolicy selects the checkpoints that the experiment's policy does not keep.
func byPolicy(s checkpoints.ExperimentFiles, cfg expconf.Config, unread error) checkpoints.NewGC {
	c := checkpoints.NewGC{ExperimentID: s.ID, Reason: checkpoints.ByPolicy, Priority: s.Priority, Saw: s.State, Live: s.Live, Request: s.GCRequests}
	if unread != nil || !removable(cfg.CheckpointStorage) {
		return c // the master cannot remove these files, now or later
	}
	status := policy.Decide(s.Keep(policyOf(cfg)))
	for id := range status.Spared {
		// A version may stay for years. When somebody deletes it, its checkpoint goes with the next decision.
		c.Recheck = c.Recheck || s.Registered[id] == ""
	}
	elsewhere := s.Elsewhere(cfg.CheckpointStorage)
	for _, k := range status.Remove {
		if !elsewhere[k.UUID] {
			c.Removals = append(c.Removals, checkpoints.Removal{UUID: k.UUID, Globs: []string{checkpoints.AllFiles}})
		}
	}
	return c
}

func policyOf(cfg expconf.Config) policy.Policy {
	s := cfg.CheckpointStorage
	return policy.Policy{ExperimentBest: s.SaveExperimentBest, TrialBest: s.SaveTrialBest, TrialLatest: s.SaveTrialLatest,
		SmallerIsBetter: cfg.Searcher.SmallerIsBetter, Objectives: cfg.Searcher.Metrics}
}

// byDeletion selects all checkpoints of an experiment. If another experiment or the model
// registry needs one, the deletion fails. Checkpoints that tasks stored in another storage
// than the configuration names stay.
func byDeletion(s checkpoints.ExperimentFiles, cfg expconf.Config, unread error) checkpoints.NewGC {
	c := checkpoints.NewGC{ExperimentID: s.ID, Reason: checkpoints.ByDeletion, Priority: s.Priority, Saw: s.State, Request: s.DeleteRequests}
	if unread != nil {
		c.Over = fmt.Sprintf("its configuration, which names the storage of its files, cannot be read: %v", unread)
		return c
	}
	elsewhere := s.Elsewhere(cfg.CheckpointStorage)
	for _, k := range s.Checkpoints {
		if why := s.Registered[k.UUID]; why != "" { // also if its files stay: its row goes
			c.Removals, c.Over = nil, stillNeeded(k.UUID, why)
			return c
		}
	}
	for _, k := range s.Checkpoints {
		if k.State == string(policy.Deleted) || elsewhere[k.UUID] || s.Unmanaged && k.Logged == "" {
			continue
		}
		if why := s.Used[k.UUID]; why != "" {
			c.Removals, c.Over = nil, stillNeeded(k.UUID, why)
			return c
		}
		c.Removals = append(c.Removals, checkpoints.Removal{UUID: k.UUID, Globs: []string{checkpoints.AllFiles}})
	}
	c.Events = s.Started && !s.Unmanaged
	switch {
	case len(c.Removals) == 0 && !c.Events:
		c.Over = "success"
	case !removable(cfg.CheckpointStorage) && len(c.Removals) > 0:
		c.Removals, c.Events = nil, false
		c.Over = fmt.Sprintf("its checkpoints are in storage of type %q, from which this version cannot remove files", cfg.CheckpointStorage.Type)
	case !removable(cfg.CheckpointStorage):
		c.Events, c.Over = false, "success"
	}
	return c
}

func stillNeeded(checkpoint, why string) string {
	return fmt.Sprintf("its checkpoint %s is still needed: %s", checkpoint, why)
}

// removable reports whether files in a storage can be removed.
func removable(s expconf.CheckpointStorage) bool {
	return s.Type == expconf.SharedFS || s.Type == expconf.Directory || s.IsObjects()
}

// deletion returns how far the removal of a deleted experiment's files is, and why it failed.
func deletion(e *Experiment) (files lifecycle.Files, why string) {
	switch e.Files {
	case checkpoints.FilesRemoved:
		return lifecycle.FilesRemoved, ""
	case checkpoints.FilesStuck:
		return lifecycle.FilesStuck, e.FilesWhy
	}
	return lifecycle.FilesThere, ""
}
