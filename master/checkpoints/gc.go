package checkpoints

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/checkpoints/keep"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/models"
	"github.com/detent-ml/detent/master/optional"
	"github.com/detent-ml/detent/master/rest"
	"github.com/detent-ml/detent/master/task"
	v1 "github.com/detent-ml/detent/master/v1"
)

// Bounds of one call that removes files.
const (
	maxGlobs = 100
	maxGlob  = 1024
	// maxGlobBytes is for the globs of all checkpoints of a request.
	maxGlobBytes = 1 << 20
)

func (d Deps) deleteAll(ctx context.Context, c *rest.Call, req *v1.DeleteCheckpointsRequest) (*v1.None, error) {
	return &v1.None{}, d.remove(ctx, c, req.CheckpointUUIDs, []string{AllFiles})
}

func (d Deps) removeFiles(ctx context.Context, c *rest.Call, req *v1.CheckpointsRemoveFilesRequest) (*v1.None, error) {
	return &v1.None{}, d.remove(ctx, c, req.CheckpointUUIDs, req.CheckpointGlobs)
}

// remove creates the tasks that remove files of checkpoints, one for each
// experiment. If one of them is rejected, it creates none.
func (d Deps) remove(ctx context.Context, c *rest.Call, ids, globs []string) error {
	if err := checkGlobs(globs, len(ids)); err != nil {
		return err
	}
	byExperiment, err := d.checkpointsToRemove(ctx, c, ids)
	if err != nil {
		return err
	}
	if len(globs) > 0 {
		if err := d.checkUnregistered(ctx, slices.Concat(slices.Collect(maps.Values(byExperiment))...)); err != nil {
			return err
		}
	}
	var list []NewGC
	for _, experiment := range slices.Sorted(maps.Keys(byExperiment)) {
		one, err := d.newRemoval(ctx, experiment, byExperiment[experiment], globs)
		if err != nil {
			return err
		}
		list = append(list, one)
	}
	return d.createGCs(ctx, list)
}

// checkUnregistered rejects checkpoints that are versions of models.
func (d Deps) checkUnregistered(ctx context.Context, ids []string) error {
	registered, err := models.Registered(ctx, d.DB, ids)
	if err != nil || len(registered) == 0 {
		return err
	}
	names := slices.Sorted(maps.Keys(registered))
	return fault.New(fault.Invalid, "this subset of checkpoints provided are in the model registry and cannot be deleted: %s. Delete their versions first; %s: %s",
		strings.Join(names[:min(len(names), 10)], ", "), names[0], registered[names[0]])
}

// createGCs creates garbage collections.
func (d Deps) createGCs(ctx context.Context, list []NewGC) error {
	err := d.DB.Tx(ctx, func(tx *database.DB) error {
		for _, one := range list {
			if _, err := CreateGC(ctx, tx, one); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		d.Changed()
	}
	return err
}

// checkGlobs rejects patterns that could match files outside a checkpoint.
func checkGlobs(globs []string, checkpoints int) error {
	size := 0
	for _, g := range globs {
		size += len(g) * checkpoints // each checkpoint has its own copy
	}
	if size > maxGlobBytes {
		return fault.New(fault.Invalid, "checkpointGlobs: for %d checkpoints they have %d bytes together, and %d are possible; use fewer at once", checkpoints, size, maxGlobBytes)
	}
	if len(globs) > maxGlobs {
		return fault.New(fault.Invalid, "checkpointGlobs: %d are over the limit of %d", len(globs), maxGlobs)
	}
	for _, g := range globs {
		switch {
		case g == "" || len(g) > maxGlob:
			return fault.New(fault.Invalid, "checkpointGlobs: %q is not a pattern of 1 to %d characters", fault.Clip(g), maxGlob)
		case strings.HasPrefix(g, "/") || slices.Contains(strings.Split(g, "/"), ".."):
			return fault.New(fault.Invalid, "checkpointGlobs: %q matches files outside the checkpoint; patterns are relative to its folder", fault.Clip(g))
		}
	}
	return nil
}

// namedCheckpoints parses the ids of checkpoints in a call. An id may occur twice.
func namedCheckpoints(field string, ids []string) ([]string, error) {
	if len(ids) > MaxRemovals {
		return nil, fault.New(fault.Invalid, "%s: %d are over the limit of %d", field, len(ids), MaxRemovals)
	}
	names := make([]string, len(ids))
	for i, name := range ids {
		id, err := uuid.Parse(name)
		if err != nil {
			return nil, fault.New(fault.Invalid, "%s: %q is not the UUID of a checkpoint", field, fault.Clip(name))
		}
		names[i] = id.String()
	}
	return names, nil
}

// checkpointsToRemove finds checkpoints, all of which the caller may change, by experiment.
func (d Deps) checkpointsToRemove(ctx context.Context, c *rest.Call, ids []string) (map[int][]string, error) {
	if len(ids) == 0 {
		return nil, fault.New(fault.Invalid, "checkpointUuids: expected the UUIDs of one or more checkpoints")
	}
	names, err := namedCheckpoints("checkpointUuids", ids)
	if err != nil {
		return nil, err
	}
	owners, err := Owners(ctx, d.DB, names)
	if err != nil {
		return nil, err
	}
	found := map[int][]string{}
	var missing []string
	for _, name := range slices.Compact(slices.Sorted(slices.Values(names))) {
		k, ok := owners[name]
		switch {
		case !ok:
			missing = append(missing, name)
			continue
		case k.ExperimentID == nil:
			return nil, fault.New(fault.Invalid, "checkpoint %s belongs to no experiment, so its storage is unknown: remove its files from the storage by hand", name)
		}
		if err := c.May(auth.Change, k.Object()); err != nil {
			return nil, err
		}
		found[*k.ExperimentID] = append(found[*k.ExperimentID], name)
	}
	if len(missing) > 0 {
		return nil, fault.New(fault.NotFound, "checkpoints not found: %s", strings.Join(missing[:min(len(missing), 10)], ", "))
	}
	return found, nil
}

// newRemoval returns the task for checkpoints of one experiment. It rejects checkpoints that
// are still needed, for every caller.
func (d Deps) newRemoval(ctx context.Context, experiment int, ids, globs []string) (NewGC, error) {
	s, cfg, err := d.filesToRemove(ctx, experiment, ids)
	if err != nil {
		return NewGC{}, err
	}
	one := d.newGC(s, cfg.CheckpointStorage)
	needed, elsewhere := s.Keep(keep.Policy{}).Needed(), s.Elsewhere(cfg.CheckpointStorage)
	for _, id := range ids {
		why, is := needed[id]
		switch {
		case is && len(globs) > 0:
			return one, fault.New(fault.Conflict, "checkpoint %s cannot be removed: %s", id, why)
		case elsewhere[id]:
			return one, fault.New(fault.Invalid, "checkpoint %s is not in the storage of experiment %d's configuration: remove its files from the storage by hand", id, experiment)
		}
		one.Removals = append(one.Removals, Removal{UUID: id, Globs: globs})
	}
	return one, nil
}

// filesToRemove reads the experiment whose files are to be removed, for example those of the named
// checkpoints.
func (d Deps) filesToRemove(ctx context.Context, experiment int, ids []string) (ExperimentFiles, expconf.Config, error) {
	s, err := FilesOfExperimentWith(ctx, d.DB, experiment, ids)
	if err != nil {
		return s, expconf.Config{}, err
	}
	cfg, err := expconf.ParseConfigJSON(s.Config)
	if err != nil {
		return s, cfg, err
	}
	switch {
	case s.Desired == "deleted":
		err = fault.New(fault.Invalid, "experiment %d is being deleted, with all its files", experiment)
	case s.Unmanaged && !s.logged(ids):
		err = fault.New(fault.Invalid, "experiment %d is unmanaged: remove its files from the storage by hand", experiment)
	case !slices.Contains(d.Storages, cfg.CheckpointStorage.Type):
		err = fault.New(fault.Invalid, "the checkpoints of experiment %d are in storage of type %s, which this cluster cannot reach", experiment, cfg.CheckpointStorage.Type)
	}
	return s, cfg, err
}

// logged reports whether checkpoints of an experiment are files that programs logged through the master, which has stored them itself.
func (s ExperimentFiles) logged(ids []string) bool {
	found := 0
	for _, k := range s.Checkpoints {
		if k.Logged != "" && slices.Contains(ids, k.UUID) {
			found++
		}
	}
	return found > 0 && found == len(ids)
}

// newGC returns a garbage collection that a user requested, without removals yet.
func (d Deps) newGC(s ExperimentFiles, storage expconf.CheckpointStorage) NewGC {
	return NewGC{TaskID: GCTaskID(s.ID), ExperimentID: s.ID, Reason: ByRequest,
		Pool: task.RemovalPool(d.Pools, s.Pool, storage), Priority: s.Priority, Live: s.Live}
}

// removeEvents removes the files that TensorBoards of an experiment read, and responds when
// they are removed, as clients of Determined expect. A running trial writes new ones.
func (d Deps) removeEvents(ctx context.Context, c *rest.Call, e Experiment, _ *v1.None) (*v1.Empty, error) {
	one, err := rest.InTurn(ctx, c, func(ctx context.Context) (NewGC, error) { // the configuration is not kept while this waits
		s, cfg, err := d.filesToRemove(ctx, e.ID, nil)
		if err != nil {
			return NewGC{}, err
		}
		return d.newGC(s, cfg.CheckpointStorage), nil
	})
	if err != nil {
		return nil, err
	}
	one.Events = true
	states, done := d.States()
	defer done()
	if err := d.createGCs(ctx, []NewGC{one}); err != nil {
		return nil, err
	}
	var status string
	ended, err := rest.Await(ctx, states, rest.MaxPoll, func(ctx context.Context) (bool, error) {
		status, err = endOf(ctx, d.DB, one.TaskID)
		return status != "", err
	})
	switch {
	case err != nil:
		return nil, err
	case !ended:
		return nil, fault.New(fault.Conflict, "the TensorBoard files of experiment %d are still being removed: see det task logs %s", e.ID, one.TaskID)
	case status != "success":
		return nil, fault.New(fault.Conflict, "the TensorBoard files of experiment %d could not be removed: %s: see det task logs %s", e.ID, status, one.TaskID)
	}
	return &v1.Empty{}, nil
}

// maxJudged is the maximum number of an experiment's checkpoints for a preview: a policy
// compares all of them with each other.
const maxJudged = 250_000

// judgedBytes is about what the database returns for one of them.
const judgedBytes = 400

// previewGC returns which checkpoints a policy would remove, a page at a time.
func (d Deps) previewGC(ctx context.Context, c *rest.Call, e Experiment, req *v1.PreviewGCRequest) (*v1.PreviewGCResponse, error) {
	if req.Offset < 0 {
		return nil, fault.New(fault.Invalid, "offset: expected a number of checkpoints, 0 or more, not %d", req.Offset)
	}
	n, err := CountStored(ctx, d.DB, e.ID)
	if err != nil {
		return nil, err
	}
	if n > maxJudged {
		return nil, fault.New(fault.Invalid, "experiment %d has %d checkpoints; the preview of a removal is limited to %d checkpoints", e.ID, n, maxJudged)
	}
	s, err := FilesOfExperiment(database.LimitReads(ctx, maxJudged*judgedBytes), d.DB, e.ID)
	if err != nil {
		return nil, err
	}
	policy, err := previewedPolicy(req, e, s)
	if err != nil {
		return nil, err
	}
	goes := keep.Decide(s.Keep(policy)).Remove
	ids := each.Of(goes, func(k keep.Checkpoint) string { return k.UUID })
	list, err := ByIDs(ctx, d.DB, ids[min(req.Offset, len(ids)):], 0)
	return &v1.PreviewGCResponse{Checkpoints: each.Of(list, previewed), MetricName: e.Metric, Total: len(goes)}, err
}

// previewedPolicy returns the policy of a request. Numbers that the request does not give are
// the experiment's own.
func previewedPolicy(req *v1.PreviewGCRequest, e Experiment, s ExperimentFiles) (keep.Policy, error) {
	policy := keep.Policy{SmallerIsBetter: e.SmallerIsBetter}
	cfg, err := expconf.ParseConfigJSON(s.Config)
	if err != nil {
		return policy, err
	}
	policy.Objectives = cfg.Searcher.Metrics
	for name, n := range map[string]struct{ to, given, now *int }{
		"save_experiment_best": {&policy.ExperimentBest, req.SaveExperimentBest, &cfg.CheckpointStorage.SaveExperimentBest},
		"save_trial_best":      {&policy.TrialBest, req.SaveTrialBest, &cfg.CheckpointStorage.SaveTrialBest},
		"save_trial_latest":    {&policy.TrialLatest, req.SaveTrialLatest, &cfg.CheckpointStorage.SaveTrialLatest},
	} {
		if *n.to = *cmp.Or(n.given, n.now); *n.to < 0 {
			return policy, fault.New(fault.Invalid, "%s: expected a number of checkpoints, 0 or more, found %d", name, *n.to)
		}
	}
	return policy, nil
}

func previewed(k Checkpoint) v1.PreviewGCCheckpoint {
	p := v1.PreviewGCCheckpoint{TrialID: optional.Value(k.TrialID), StepsCompleted: k.Steps, State: k.State, UUID: k.UUID,
		Resources: k.Resources, ReportTime: k.ReportedAt, ValidationMetrics: v1.Struct(`{}`)}
	if len(k.Validation) > 0 {
		p.ValidationMetrics = v1.Struct(k.Validation)
		p.Step = &v1.PreviewGCStep{Validation: p.ValidationMetrics}
	}
	return p
}

func (d Deps) listGCs(ctx context.Context, c *rest.Call, e Experiment, _ *v1.None) (*v1.GetGCsResponse, error) {
	list, err := GCs(ctx, d.DB, e.ID)
	if err != nil {
		return nil, err
	}
	freed, err := RemovedOf(ctx, d.DB, e.ID)
	if err != nil {
		return nil, err
	}
	gcs := each.Of(list, func(k GC) v1.GC {
		return v1.GC{TaskID: k.TaskID, Reason: k.Reason, StartTime: k.CreatedAt, EndTime: k.EndedAt,
			ExitStatus: k.ExitStatus, Checkpoints: k.Checkpoints, Done: k.Done, Files: k.Files, Bytes: k.Bytes, Error: k.Error}
	})
	return &v1.GetGCsResponse{GCs: gcs, Freed: v1.FreedTotal{Checkpoints: freed.Checkpoints, Files: freed.Files, Bytes: freed.Bytes}}, nil
}

// wireRemovals lists the removals of a checkpoint's files.
func wireRemovals(list []CheckpointRemoval) []v1.CheckpointRemoval {
	return each.Of(list, func(r CheckpointRemoval) v1.CheckpointRemoval {
		return v1.CheckpointRemoval{TaskID: r.TaskID, Checkpoint: r.Checkpoint, Reason: r.Reason, Globs: r.Globs, Time: r.At,
			Files: r.Files, Bytes: r.Bytes, Error: r.Error, Ended: r.Ended}
	})
}

// strays tells a sweep which folders belong to no checkpoint.
func (d Deps) strays(ctx context.Context, c *rest.Call, id string, req *v1.StraysRequest) (*v1.StraysResponse, error) {
	if len(req.UUIDs) > v1.MaxStrays {
		return nil, fault.New(fault.Invalid, "uuids: %d are over the limit of %d", len(req.UUIDs), v1.MaxStrays)
	}
	names, err := namedCheckpoints("uuids", req.UUIDs)
	if err != nil {
		return nil, err
	}
	list, err := Strays(ctx, d.DB, id, names)
	return &v1.StraysResponse{UUIDs: append([]string{}, list...)}, err
}

// removalReport stores the report of a task that removes files.
func (d Deps) removalReport(ctx context.Context, c *rest.Call, id string, req *v1.FreedRequest) (*v1.None, error) {
	f := RemovalReport{UUID: req.UUID, Files: req.Files, Bytes: req.Bytes, Error: req.Error}
	if req.Files < 0 || req.Bytes < 0 || req.Files > MaxBytes || req.Bytes > MaxBytes {
		return nil, fault.New(fault.Invalid, "files and bytes: expected numbers from 0 to %d", int64(MaxBytes))
	}
	if req.Left != nil {
		f.Left = req.Left.Resources
		if f.Left == nil {
			f.Left = map[string]int64{}
		}
	}
	if req.UUID != "" {
		parsed, err := uuid.Parse(req.UUID)
		if err != nil {
			return nil, fault.New(fault.Invalid, "uuid: %q is not a UUID", fault.Clip(req.UUID))
		}
		f.UUID = parsed.String()
	}
	return &v1.None{}, RecordRemoval(ctx, d.DB, id, f)
}
