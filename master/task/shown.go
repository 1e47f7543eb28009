package task

import (
	"encoding/json"

	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/fault"
)

// A ShownTrial is a trial that a TensorBoard shows, with the storage of its files. An
// experiment without trials has a row without a trial.
type ShownTrial struct {
	ExperimentID int             `db:"experiment_id"`
	TrialID      *int            `db:"trial_id"`
	Growing      bool            `db:"growing"` // the whole experiment is shown, and may have more trials later
	Config       json.RawMessage `db:"config"`  // of an experiment's first trial: its storage and the mounts that show it
	OwnerID      int             `db:"owner_id"`
	WorkspaceID  int             `db:"workspace_id"`
}

// Shown groups trials by experiment, and counts them; rows must be in the order of
// experiments. It parses each experiment's configuration once.
func Shown(rows []ShownTrial) (list []expconf.ShownExperiment, trials int, err error) {
	for _, r := range rows {
		if n := len(list); n == 0 || list[n-1].ID != r.ExperimentID {
			cfg, err := expconf.ParseConfigJSON(r.Config)
			if err != nil {
				return nil, 0, fault.New(fault.Internal, "the configuration of experiment %d: %w", r.ExperimentID, err)
			}
			list = append(list, expconf.ShownExperiment{ID: r.ExperimentID, Config: cfg, Growing: r.Growing, OwnerID: r.OwnerID, WorkspaceID: r.WorkspaceID})
		}
		if r.TrialID != nil {
			e := &list[len(list)-1]
			e.Trials = append(e.Trials, *r.TrialID)
			trials++
		}
	}
	return list, trials, nil
}
