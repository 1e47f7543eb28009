package expconf

import "errors"

// Raw is one experiment document as it was written: what is nil was not said.
// Treat it as immutable; Merge and Complete share its parts.
type Raw struct {
	BindMounts               BindMounts            `json:"bind_mounts"`
	CheckpointPolicy         *string               `json:"checkpoint_policy"`
	CheckpointStorage        *RawCheckpointStorage `json:"checkpoint_storage"`
	Data                     map[string]any        `json:"data"`
	DataLayer                *DataLayer            `json:"data_layer"`
	Debug                    *bool                 `json:"debug"`
	Description              *string               `json:"description"`
	Entrypoint               *Entrypoint           `json:"entrypoint"`
	Environment              *RawEnvironment       `json:"environment"`
	Hyperparameters          Hyperparameters       `json:"hyperparameters"`
	Integrations             *RawIntegrations      `json:"integrations"`
	Internal                 *Internal             `json:"internal"`
	Labels                   Labels                `json:"labels"`
	LogPolicies              LogPolicies           `json:"log_policies"`
	MaxRestarts              *int                  `json:"max_restarts"`
	MinCheckpointPeriod      *Length               `json:"min_checkpoint_period"`
	MinValidationPeriod      *Length               `json:"min_validation_period"`
	Name                     *string               `json:"name"`
	Optimizations            *RawOptimizations     `json:"optimizations"`
	PBS                      *PBS                  `json:"pbs"`
	PerformInitialValidation *bool                 `json:"perform_initial_validation"`
	PreemptionTimeout        *int                  `json:"preemption_timeout"`
	Profiling                *RawProfiling         `json:"profiling"`
	Project                  *string               `json:"project"`
	RecordsPerEpoch          *int                  `json:"records_per_epoch"`
	Reproducibility          *RawReproducibility   `json:"reproducibility"`
	Resources                *RawResources         `json:"resources"`
	RetentionPolicy          *RetentionPolicy      `json:"retention_policy"`
	SchedulingUnit           *int                  `json:"scheduling_unit"`
	Searcher                 *RawSearcher          `json:"searcher"`
	Security                 *Security             `json:"security"`
	Slurm                    *Slurm                `json:"slurm"`
	TensorboardStorage       map[string]any        `json:"tensorboard_storage"`
	Unmanaged                *bool                 `json:"unmanaged"`
	Workspace                *string               `json:"workspace"`

	pos *positions
}

// RawReproducibility holds the seed from which all randomness of an experiment
// is derived.
type RawReproducibility struct {
	ExperimentSeed *uint32 `json:"experiment_seed"`
}

// RawProfiling is profiling as written.
type RawProfiling struct {
	Enabled       *bool `json:"enabled"`
	BeginOnBatch  *int  `json:"begin_on_batch"`
	EndAfterBatch *int  `json:"end_after_batch"`
	SyncTimings   *bool `json:"sync_timings"`
}

// Parse reads an experiment configuration in YAML or JSON. The name of the
// file is only used in messages. The error is an Errors with every problem;
// warnings tell of old forms that were understood.
func Parse(name string, src []byte) (Raw, Warnings, error) { return parse(name, src, userLimits()) }

func parse(name string, src []byte, l limits) (Raw, Warnings, error) {
	var raw Raw
	d, err := parseInto(name, src, l, &raw, func(at *positions) error {
		raw.pos = at
		c, err := Complete(raw, ClusterDefaults{Name: "unnamed"})
		if err != nil {
			return err
		}
		return c.Validate()
	})
	if err != nil {
		return Raw{}, nil, err
	}
	raw.pos = d.positions()
	return raw, sorted(d.warnings), nil
}

// parseInto decodes a whole document into the struct behind target. When that
// fails, what could be read is validated all the same, so that a typing error
// at the top does not hide a wrong value further down until the next attempt.
func parseInto(name string, src []byte, l limits, target any, validate func(*positions) error) (*decoder, error) {
	root, problems := parseDocument(name, src, l)
	if len(problems) > 0 {
		return nil, asError(problems)
	}
	d := newDecoder(name, target)
	d.into(root, "", target)
	if len(d.problems) == 0 {
		return d, nil
	}
	d.addInvalid(validate(d.positions()))
	return nil, asError(d.problems)
}

func (d *decoder) positions() *positions { return &positions{layers: []map[string]Position{d.at}} }

// addInvalid adds the problems of validation that are about values which stand
// in the document and were read. What seems to be missing may just have been
// misspelt, or come from a document below this one.
func (d *decoder) addInvalid(err error) {
	var invalid Errors
	if !errors.As(err, &invalid) {
		return
	}
	known := len(d.problems)
	for _, p := range invalid {
		doubtful := !d.positions().written(p.Path)
		for _, other := range d.problems[:known] {
			doubtful = doubtful || overlap(p.Path, other.Path)
		}
		if !doubtful {
			d.problems = append(d.problems, p)
		}
	}
}
