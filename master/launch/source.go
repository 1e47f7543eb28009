package launch

import (
	"context"

	"github.com/google/uuid"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/checkpoints"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/experiments"
	"github.com/detent-ml/detent/master/fault"
)

// sourceOf finds the checkpoint that the trials of a submission start from; nil for none. The
// checkpoint must be complete, the caller must be allowed to see its experiment, and the task must be
// able to read it.
func sourceOf(ctx context.Context, db *database.DB, who auth.Who, cfg expconf.Config) (*string, error) {
	id, at := cfg.Searcher.SourceCheckpointUUID, "searcher.source_checkpoint_uuid"
	if trial := cfg.Searcher.SourceTrialID; trial != nil {
		at = "searcher.source_trial_id"
		newest, err := newestOf(ctx, db, who, *trial, cfg.Resume != nil)
		if err != nil {
			return nil, err
		}
		id = &newest
	}
	if id == nil {
		return nil, nil
	}
	parsed, err := uuid.Parse(*id)
	if err != nil {
		return nil, fault.New(fault.Invalid, "%s: %q is not the id of a checkpoint", at, fault.Clip(*id))
	}
	text := parsed.String()
	k, err := checkpoints.Get(ctx, db, text)
	switch {
	case fault.Is(err, fault.NotFound), err == nil && !auth.Can(who, auth.View, k.Object()):
		return nil, fault.New(fault.Invalid, "%s: no checkpoint found with UUID %s", at, text)
	case err != nil:
		return nil, err
	case k.State != "COMPLETED":
		return nil, fault.New(fault.Invalid, "%s: checkpoint %s is %s; experiments can start only from a complete checkpoint", at, text, k.State)
	}
	return &text, reaches(at, k, cfg.CheckpointStorage)
}

// newestOf finds the checkpoint of a trial from which another one starts: with folder, the folder that the runner kept, if there is one.
func newestOf(ctx context.Context, db *database.DB, who auth.Who, trial int, folder bool) (string, error) {
	t, err := experiments.GetTrial(ctx, db, trial)
	seen := auth.Sees(who, t.Object())
	if fault.Is(err, fault.NotFound) || err == nil && !seen {
		return "", fault.New(fault.Invalid, "searcher.source_trial_id: trial %d not found", trial)
	} else if err != nil {
		return "", err
	}
	var newest checkpoints.Newest
	if folder {
		if newest, err = checkpoints.KeptBy(ctx, db, trial); err != nil || newest.UUID != "" {
			return newest.UUID, err
		}
	}
	newest, err = checkpoints.NewestOf(ctx, db, trial)
	if err == nil && newest.UUID == "" {
		err = fault.New(fault.Invalid, "searcher.source_trial_id: no checkpoint found for trial %d", trial)
	}
	return newest.UUID, err
}

// reaches returns an error if a task of an experiment could not read a checkpoint of another one: in a
// shared file system a task sees only the host_path of its own experiment's checkpoint_storage, whole.
func reaches(at string, k checkpoints.Checkpoint, own expconf.CheckpointStorage) error {
	if len(k.Config) == 0 {
		return nil
	}
	cfg, err := expconf.ParseConfigJSON(k.Config)
	if err != nil {
		return err
	}
	from := cfg.CheckpointStorage
	if from.Type != expconf.SharedFS || own.Type == expconf.SharedFS && own.HostPath == from.HostPath {
		return nil
	}
	return fault.New(fault.Invalid, "%s: checkpoint %s is in the shared file system at %s, which this experiment does not mount; "+
		"give it a checkpoint_storage of type shared_fs with that host_path", at, k.UUID, from.HostPath)
}
