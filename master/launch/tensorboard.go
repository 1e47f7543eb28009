package launch

import (
	"context"
	"slices"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/experiments"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/task"
	"github.com/detent-ml/detent/master/tasks"
	v1 "github.com/detent-ml/detent/master/v1"
)

// maxShown bounds the trials of one TensorBoard: it reads all of their files.
const maxShown = 100

// shows checks what a TensorBoard is asked to show: that all of it is there,
// that the submitter may see it, that its files can be read, and that it is not too
// much. Which pools may read them is checked when the pool is known.
func (l *Tasks) shows(ctx context.Context, by Submitter, asked tasks.Shows) (*tasks.Board, []expconf.ShownExperiment, error) {
	t := tasks.Board{ExperimentIDs: unique(asked.Experiments), TrialIDs: unique(asked.Trials)}
	switch {
	case len(t.ExperimentIDs)+len(t.TrialIDs) > 0:
	case asked.Filtered:
		return nil, nil, fault.New(fault.Invalid, "a TensorBoard needs experiments or trials: no experiment matches the filters")
	default:
		return nil, nil, fault.New(fault.Invalid, "a TensorBoard needs experiments or trials: set experimentIds or trialIds")
	}
	if n := max(len(t.ExperimentIDs), len(t.TrialIDs)); n > maxShown {
		return nil, nil, tooMuchShown(n)
	}
	for _, id := range t.ExperimentIDs {
		e, err := experiments.Get(ctx, l.DB, id)
		if err != nil {
			return nil, nil, err
		}
		if err := auth.May(by.Who, auth.View, e.Object()); err != nil {
			return nil, nil, err
		}
	}
	for _, id := range t.TrialIDs {
		trial, err := experiments.GetTrial(ctx, l.DB, id)
		if err != nil {
			return nil, nil, err
		}
		if err := auth.May(by.Who, auth.View, trial.Object()); err != nil {
			return nil, nil, err
		}
	}
	rows, err := tasks.ShownTrials(ctx, l.DB, t)
	if err != nil {
		return nil, nil, err
	}
	list, err := l.Cluster.canShow(rows)
	if err != nil {
		return nil, nil, err
	}
	return &t, list, l.mayReadWith(ctx, by, list)
}

// mayReadWith rejects experiments of other users whose configurations have credentials of their own: the TensorBoard's program receives
// them, and belongs to the submitter. Credentials of the cluster, and of a workspace where the submitter may create experiments, are those
// that the submitter's own tasks receive.
func (l *Tasks) mayReadWith(ctx context.Context, by Submitter, list []expconf.ShownExperiment) error {
	for _, e := range list {
		storage := e.Config.CheckpointStorage
		if e.OwnerID == by.Who.UserID || !storage.HasSecrets() || storage.SameSecrets(l.Cluster.Storage) {
			continue
		}
		if auth.May(by.Who, auth.Create, auth.Object{Kind: v1.KindExperiment, WorkspaceID: e.WorkspaceID}) == nil {
			_, settings, err := settingsOf(ctx, l.DB, e.WorkspaceID)
			if err != nil {
				return err
			}
			if own, err := l.Cluster.defaultStorage(settings); err == nil && storage.SameSecrets(own) {
				continue
			}
		}
		return fault.New(fault.Forbidden, "experiment %d belongs to another user, and its configuration has credentials for its checkpoint_storage, which a TensorBoard of yours would receive; "+
			"ask its owner to start the TensorBoard, or to use a storage without credentials", e.ID)
	}
	return nil
}

// canShow reads the experiments of trials, or says why a TensorBoard could not show them.
func (c *Cluster) canShow(rows []task.ShownTrial) ([]expconf.ShownExperiment, error) {
	list, trials, err := task.Shown(rows)
	if err != nil {
		return nil, err
	}
	if trials > maxShown {
		return nil, tooMuchShown(trials)
	}
	for _, e := range list {
		if kind := e.Config.CheckpointStorage.Type; !slices.Contains(c.Site.Capabilities.Storage, kind) {
			return nil, fault.New(fault.Invalid, "the event files of experiment %d are in storage of type %s, which this cluster cannot read", e.ID, kind)
		}
	}
	if _, _, err := expconf.TensorboardSources(c.Site.ClusterID, list); err != nil {
		return nil, fault.New(fault.Invalid, "%w", err)
	}
	return list, nil
}

func tooMuchShown(n int) error {
	return fault.New(fault.Invalid, "a TensorBoard shows at most %d trials, and %d were requested; name some of them in trialIds", maxShown, n)
}

// unique keeps the first of each number.
func unique(ids []int) []int {
	out, seen := []int{}, make(map[int]bool, len(ids))
	for _, id := range ids {
		if !seen[id] {
			seen[id] = true
			out = append(out, id)
		}
	}
	return out
}
