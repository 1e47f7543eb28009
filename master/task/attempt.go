package task

import (
	"encoding/json"
	"fmt"

	"github.com/detent-ml/detent/jobspecs"
	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/pool"
	"github.com/detent-ml/detent/master/trial"
	v1 "github.com/detent-ml/detent/master/v1"
)

// The types of tasks that this package treats differently. A trial is recognised by its trial id.
const (
	Notebook    = "NOTEBOOK"
	Shell       = "SHELL"
	Tensorboard = "TENSORBOARD"
	Generic     = "GENERIC"
	Command     = "COMMAND"
	Removal     = jobspecs.CheckpointGC // of an experiment's files
)

// A Row has the columns of an attempt that describe its job and its program.
type Row struct {
	ID             string          `db:"id"` // <task>.<run>
	Run            int             `db:"run_id"`
	TaskID         string          `db:"task_id"`
	Part           int             `db:"part"` // of the task
	Type           string          `db:"type"`
	Name           string          `db:"task_name"`
	Pool           string          `db:"pool"`
	Slots          int             `db:"slots"` // of all members together
	TaskConfig     json.RawMessage `db:"task_config"`
	ExperimentID   int             `db:"experiment_id"` // 0: none
	ExperimentName string          `db:"experiment_name"`
	ProjectID      int             `db:"project_id"` // of the experiment; 0: none
	Config         json.RawMessage `db:"config"`     // complete configuration of the experiment
	TrialID        int             `db:"trial_id"`   // 0: none
	Owner          string          `db:"owner"`
	OwnerID        int             `db:"owner_id"`
	Account        string          `db:"account"`       // account on nodes, uid:gid: the owner's, with the parts that the workspace sets; "" if neither is linked to one
	AccountUser    string          `db:"account_user"`  // its name; "" if the link has none
	AccountGroup   string          `db:"account_group"` // the name of its group; "" if the link has none
	WarmStart      *string         `db:"warm_start"`    // the checkpoint of another trial from which it starts; nil: none
	WarmConfig     json.RawMessage `db:"warm_config"`   // configuration of the experiment of that checkpoint
	WarmOwner      int             `db:"warm_owner"`
	Unstarted      int             `db:"unstarted"` // attempts of its task in a row before it that did not start
	Shows          []ShownTrial    `db:"-"`         // if it is a TensorBoard
}

// Kind is the kind of object that users start with such an attempt.
func (r *Row) Kind() v1.Kind {
	switch r.Type {
	case Notebook:
		return v1.KindNotebook
	case Shell:
		return v1.KindShell
	case Tensorboard:
		return v1.KindTensorboard
	case Generic:
		return v1.KindTask
	case Command:
		return v1.KindCommand
	}
	return v1.KindExperiment
}

// PartID is the name of the part of its task, which is the task of its programs.
func (r *Row) PartID() string { return trial.PartID(r.TaskID, r.Part) }

// IsTrial reports whether it is an attempt of a trial.
func (r *Row) IsTrial() bool { return r.TrialID != 0 }

// Removes reports whether it is an attempt of a task that removes checkpoint files.
func (r *Row) Removes() bool { return r.Type == Removal }

// An Attempt is a row with its configurations parsed.
type Attempt struct {
	Row
	Experiment *expconf.Config            // if it is a trial, or removes files of an experiment
	Command    *expconf.CommandConfig     // of all other tasks
	Source     *expconf.CheckpointStorage // storage of the checkpoint WarmStart
	Shown      []expconf.ShownExperiment  // if it is a TensorBoard
}

// Read parses the configurations of a row. No other function parses them again.
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

// Device returns the kind of device that the attempt uses, which decides about its image and
// its environment variables.
func (a *Attempt) Device(of *pool.Pool) expconf.DeviceType { return of.DeviceType(a.Slots) }

// title returns the name that its owner gave it.
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

// asked returns the processors and the memory that its configuration requests on each node; nil for what follows from
// its slots.
func (a *Attempt) asked() (cpus *float64, memory *expconf.ByteSize) {
	switch {
	case a.IsTrial():
		return a.Experiment.Resources.CPUs, a.Experiment.Resources.Memory
	case a.Removes():
		return nil, nil
	}
	return a.Command.Resources.CPUs, a.Command.Resources.Memory
}

// refused returns an error if its configuration requests something that the pool does not
// allow, because the task was moved or the pool was changed since the submission. Tasks that
// remove files are not checked.
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
