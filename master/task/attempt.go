package task

import (
	"encoding/json"
	"fmt"

	"github.com/detent-ml/detent/jobspecs"
	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/pool"
)

// The types of tasks that differ from others here. Trials are known by their ids.
const (
	Notebook    = "NOTEBOOK"
	Shell       = "SHELL"
	Tensorboard = "TENSORBOARD"
	Removal     = jobspecs.CheckpointGC // of an experiment's files
)

// A Row is what the database says of an attempt.
type Row struct {
	ID             string          `db:"id"` // <task>.<run>
	Run            int             `db:"run_id"`
	TaskID         string          `db:"task_id"`
	Type           string          `db:"type"`
	Name           string          `db:"task_name"`
	Pool           string          `db:"pool"`
	Slots          int             `db:"slots"` // of all members
	TaskConfig     json.RawMessage `db:"task_config"`
	ExperimentID   int             `db:"experiment_id"` // 0 where there is none
	ExperimentName string          `db:"experiment_name"`
	Config         json.RawMessage `db:"config"`   // the experiment's, complete
	TrialID        int             `db:"trial_id"` // 0 where there is none
	Owner          string          `db:"owner"`
	OwnerID        int             `db:"owner_id"`
	Account        string          `db:"account"`     // on nodes, uid:gid: the workspace's, else the owner's; "" when neither is linked to any
	WarmStart      *string         `db:"warm_start"`  // the checkpoint of another trial that it starts from
	WarmConfig     json.RawMessage `db:"warm_config"` // of the other experiment that the warm start is of
	WarmOwner      int             `db:"warm_owner"`
	Shows          []ShownTrial    `db:"-"` // of a TensorBoard
}

// IsTrial tells whether it is an attempt of a trial.
func (r *Row) IsTrial() bool { return r.TrialID != 0 }

// Removes tells whether the runner itself removes files of an experiment.
func (r *Row) Removes() bool { return r.Type == Removal }

// An Attempt is a row with its configurations parsed.
type Attempt struct {
	Row
	Experiment *expconf.Config            // of a trial, and of the experiment of which files are removed
	Command    *expconf.CommandConfig     // of all others
	Source     *expconf.CheckpointStorage // of the other experiment that the warm start is of
	Shown      []expconf.ShownExperiment  // of a TensorBoard
}

// Read parses what a row says. Nothing else parses it again.
func Read(row Row) (Attempt, error) {
	a := Attempt{Row: row}
	if row.IsTrial() || row.Removes() {
		cfg, err := expconf.ParseConfigJSON(row.Config)
		if err != nil {
			return a, fmt.Errorf("the configuration of experiment %d: %w", row.ExperimentID, err)
		}
		a.Experiment = &cfg
	} else {
		cfg, err := expconf.ParseCommandConfigJSON(row.TaskConfig)
		if err != nil {
			return a, fmt.Errorf("the configuration of task %s: %w", row.TaskID, err)
		}
		a.Command = &cfg
	}
	if row.WarmStart != nil && len(row.WarmConfig) > 0 {
		cfg, err := expconf.ParseConfigJSON(row.WarmConfig)
		if err != nil {
			return a, fmt.Errorf("the experiment of checkpoint %s: %w", *row.WarmStart, err)
		}
		a.Source = &cfg.CheckpointStorage
	}
	var err error
	a.Shown, _, err = Shown(row.Shows)
	return a, err
}

// Device is the kind of device that the attempt works on, by which its image and its
// variables are chosen.
func (a *Attempt) Device(of *pool.Pool) expconf.DeviceType { return of.DeviceType(a.Slots) }

// title is what its owner called it.
func (a *Attempt) title() string {
	if a.ExperimentID != 0 {
		return a.ExperimentName
	}
	return a.Name
}

func (a *Attempt) environment() expconf.Environment {
	if a.Experiment != nil {
		return a.Experiment.Environment
	}
	return a.Command.Environment
}

func (a *Attempt) bindMounts() expconf.BindMounts {
	if a.Experiment != nil {
		return a.Experiment.Environment.Mounts(a.Experiment.BindMounts)
	}
	return a.Command.Environment.Mounts(a.Command.BindMounts)
}

func (a *Attempt) devices() expconf.Devices {
	if a.Experiment != nil {
		return a.Experiment.Resources.Devices
	}
	return a.Command.Resources.Devices
}

func (a *Attempt) shmSize() *expconf.ByteSize {
	if a.Experiment != nil {
		return a.Experiment.Resources.ShmSize
	}
	return a.Command.Resources.ShmSize
}

// memory is what it asks for on each of its nodes; nil where it leaves that to its
// slots.
func (a *Attempt) memory() *expconf.ByteSize {
	switch {
	case a.IsTrial():
		return a.Experiment.Resources.Memory
	case a.Removes():
		return nil
	}
	return a.Command.Resources.Memory
}

// refused is what its configuration asks for and a pool does not have, whatever moved
// it there or changed the pool since it was submitted. What removes files is the
// operators' own.
func (a *Attempt) refused(can expconf.Capabilities) error {
	switch {
	case a.Removes():
		return nil
	case a.IsTrial():
		return a.Experiment.Refused(can)
	}
	if err := a.Command.Refused(can); err != nil {
		return err
	}
	return expconf.RefusedShown(a.Shown, can)
}
