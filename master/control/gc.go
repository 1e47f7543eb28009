package control

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/fault"
	policy "github.com/detent-ml/detent/master/keep"
	"github.com/detent-ml/detent/master/lifecycle"
	"github.com/detent-ml/detent/master/store"
	"github.com/detent-ml/detent/master/task"
)

// Files of experiments are removed by garbage collection tasks (GC). The loop makes
// them where an experiment has ended, its policy was changed, or it is deleted. It
// takes all checkpoints of an experiment to decide, so that is work beside the
// cycle, and written only if the experiment is still as it was.

// gcTaskType is the type of the tasks that remove files.
const gcTaskType = task.Removal

// maxGCTries is how often a GC task is tried, and gcPause how long after
// the first time; each pause is four times the one before.
const (
	maxGCTries = 3
	gcPause    = 2 * time.Second
)

// planTimeout is how long it may take to decide: an experiment may have a hundred
// thousand checkpoints.
const planTimeout = time.Minute

// retryGC says whether a GC task that ended like that is tried again. It
// goes on with what is left, so every end but success is a reason to.
func retryGC(t store.LiveTask, run int, end lifecycle.Step) bool {
	return t.Type == gcTaskType && end.Outcome != lifecycle.Completed && end.Outcome != lifecycle.Killed && run < maxGCTries
}

// gcItems decides what files of experiments are to be removed.
func (t *term) gcItems(_ context.Context, list []store.Work) ([]item, error) {
	pieces := make([]item, len(list))
	for i, w := range list {
		pieces[i] = item{w.Subject, func(ctx context.Context) error {
			err := t.safely(w.Subject, func() error { return t.planGC(ctx, w) })
			ctx = context.WithoutCancel(ctx)
			if err == nil || errors.Is(err, store.ErrStale) { // what is still to go is found anew
				return t.storeResult(ctx, func(tx *store.DB) error { return tx.WorkDone(ctx, w.Kind, w.Subject) }, nil)
			}
			return t.storeResult(ctx, func(tx *store.DB) error {
				return tx.WorkFailed(ctx, w.Kind, w.Subject, err.Error(), retryDelay(w.Tries))
			}, err)
		}}
	}
	return pieces, nil
}

func (t *term) planGC(ctx context.Context, w store.Work) error {
	id, err := strconv.Atoi(w.Subject)
	if err != nil {
		return err
	}
	s, err := t.db.ExperimentFiles(ctx, id)
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

// eraseItems deletes rows of experiments, a part at a time: after each part it is the
// others' turn.
func (t *term) eraseItems(_ context.Context, list []store.Work) ([]item, error) {
	pieces := make([]item, len(list))
	for i, w := range list {
		pieces[i] = item{w.Subject, func(ctx context.Context) error {
			id, err := strconv.Atoi(w.Subject)
			if err != nil {
				return err
			}
			done := false
			err = t.db.Fenced(ctx, t.lead.Term, func(tx *store.DB) (err error) {
				if done, err = tx.Erase(ctx, id); err != nil {
					return err
				}
				if done {
					return tx.WorkDone(ctx, w.Kind, w.Subject)
				}
				return tx.WorkContinues(ctx, w.Kind, w.Subject)
			})
			if err != nil {
				ctx := context.WithoutCancel(ctx)
				return t.storeResult(ctx, func(tx *store.DB) error {
					return tx.WorkFailed(ctx, w.Kind, w.Subject, err.Error(), retryDelay(w.Tries))
				}, err)
			}
			if done {
				t.log.Info("experiment deleted", "term", t.lead.Term, "experiment_id", id)
				t.bus.Publish(store.TopicState)
			}
			return nil
		}}
	}
	return pieces, nil
}

// plan decides what is to be removed of an experiment's files, and writes it down.
func (t *term) plan(ctx context.Context, s store.ExperimentFiles, plan func(store.ExperimentFiles, expconf.Config, error) store.NewGC) error {
	cfg, unread := expconf.ParseConfigJSON(s.Config)
	c := plan(s, cfg, unread)
	if len(c.Removals) > store.MaxRemovals {
		c.Removals, c.Events, c.Part = c.Removals[:store.MaxRemovals], false, true
	}
	if s.Busy { // one after the other; and rows outlive every task that works on their files
		return nil
	}
	c.TaskID = store.GCTaskID(s.ID)
	if c.Pool = s.Pool; unread == nil && c.Over == "" {
		c.Pool = task.RemovalPool(t.cfg.Pools, s.Pool, cfg.CheckpointStorage)
	}
	made := false
	err := t.db.Fenced(ctx, t.lead.Term, func(tx *store.DB) (err error) {
		made, err = tx.CreateGC(ctx, c)
		return err
	})
	if made && err == nil {
		t.log.Info("made a garbage collection task for files of an experiment", "term", t.lead.Term, "experiment_id", s.ID, "task_id", c.TaskID,
			"reason", c.Reason, "checkpoints", len(c.Removals))
		t.bus.Publish(store.TopicIntent, store.TopicState)
	}
	return err
}

// byPolicy removes what an experiment's policy has no use for.
func byPolicy(s store.ExperimentFiles, cfg expconf.Config, unread error) store.NewGC {
	c := store.NewGC{ExperimentID: s.ID, Reason: store.ByPolicy, Priority: s.Priority, Saw: s.State, Live: s.Live, Request: s.GCRequests}
	if unread != nil || !removable(cfg.CheckpointStorage) {
		return c // there is nothing that could be done, and nothing to wait for
	}
	status := policy.Decide(s.Keep(policyOf(cfg)))
	c.Recheck = len(status.Spared) > 0
	elsewhere := s.Elsewhere(cfg.CheckpointStorage)
	for _, k := range status.Remove {
		if !elsewhere[k.UUID] {
			c.Removals = append(c.Removals, store.Removal{UUID: k.UUID, Globs: []string{store.AllFiles}})
		}
	}
	return c
}

func policyOf(cfg expconf.Config) policy.Policy {
	s := cfg.CheckpointStorage
	return policy.Policy{ExperimentBest: s.SaveExperimentBest, TrialBest: s.SaveTrialBest, TrialLatest: s.SaveTrialLatest,
		SmallerIsBetter: cfg.Searcher.SmallerIsBetter}
}

// byDeletion removes all files of an experiment. What others need holds it up;
// what its tasks have put elsewhere than their configuration says is theirs.
func byDeletion(s store.ExperimentFiles, cfg expconf.Config, unread error) store.NewGC {
	c := store.NewGC{ExperimentID: s.ID, Reason: store.ByDeletion, Priority: s.Priority, Saw: s.State, Request: s.DeleteRequests}
	if unread != nil {
		c.Over = fmt.Sprintf("its configuration, which says where its files are, cannot be read: %v", unread)
		return c
	}
	elsewhere := s.Elsewhere(cfg.CheckpointStorage)
	for _, k := range s.Checkpoints {
		if k.State == string(policy.Deleted) || elsewhere[k.UUID] || s.Unmanaged {
			continue
		}
		if why := s.Used[k.UUID]; why != "" {
			c.Removals, c.Over = nil, fmt.Sprintf("its checkpoint %s is still needed: %s", k.UUID, why)
			return c
		}
		c.Removals = append(c.Removals, store.Removal{UUID: k.UUID, Globs: []string{store.AllFiles}})
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

// removable says whether files in a storage can be removed.
func removable(s expconf.CheckpointStorage) bool {
	switch s.Type {
	case expconf.SharedFS, expconf.Directory, expconf.S3:
		return true
	}
	return false
}

// deletion is what the rows say of an experiment that is deleted.
func deletion(e *Experiment) (files lifecycle.Files, why string) {
	switch e.Files {
	case store.FilesRemoved:
		return lifecycle.FilesGone, ""
	case store.FilesStuck:
		return lifecycle.FilesStuck, e.FilesWhy
	}
	return lifecycle.FilesThere, ""
}
