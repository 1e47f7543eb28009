package expconf

import (
	"encoding/json"
	"errors"
)

// Config is what an experiment runs with: every field has its value. Its JSON
// is what tasks receive and what the API shows.
type Config struct {
	BindMounts               BindMounts        `json:"bind_mounts"`
	CheckpointPolicy         string            `json:"checkpoint_policy"`
	CheckpointStorage        CheckpointStorage `json:"checkpoint_storage"`
	Data                     map[string]any    `json:"data"`
	DataLayer                *DataLayer        `json:"data_layer,omitempty"`
	Debug                    bool              `json:"debug"`
	Description              *string           `json:"description"`
	Entrypoint               *Entrypoint       `json:"entrypoint"`
	Environment              Environment       `json:"environment"`
	Hyperparameters          Hyperparameters   `json:"hyperparameters"`
	Integrations             *Integrations     `json:"integrations,omitempty"`
	Internal                 *Internal         `json:"internal,omitempty"`
	Labels                   Labels            `json:"labels"`
	LogPolicies              LogPolicies       `json:"log_policies"`
	MaxRestarts              int               `json:"max_restarts"`
	MinCheckpointPeriod      Length            `json:"min_checkpoint_period"`
	MinValidationPeriod      Length            `json:"min_validation_period"`
	Name                     string            `json:"name"`
	Optimizations            Optimizations     `json:"optimizations"`
	PBS                      *PBS              `json:"pbs,omitempty"`
	PerformInitialValidation bool              `json:"perform_initial_validation"`
	PreemptionTimeout        *int              `json:"preemption_timeout"`
	Profiling                Profiling         `json:"profiling"`
	Project                  string            `json:"project"`
	RecordsPerEpoch          int               `json:"records_per_epoch"`
	Reproducibility          Reproducibility   `json:"reproducibility"`
	Resources                Resources         `json:"resources"`
	RetentionPolicy          *RetentionPolicy  `json:"retention_policy,omitempty"`
	SchedulingUnit           int               `json:"scheduling_unit"`
	Searcher                 Searcher          `json:"searcher"`
	Security                 *Security         `json:"security,omitempty"`
	Slurm                    *Slurm            `json:"slurm,omitempty"`
	TensorboardStorage       map[string]any    `json:"tensorboard_storage,omitempty"`
	Unmanaged                bool              `json:"unmanaged,omitempty"`
	Workspace                string            `json:"workspace"`

	pos *positions
}

// Reproducibility holds the seed of an experiment.
type Reproducibility struct {
	ExperimentSeed uint32 `json:"experiment_seed"`
}

// Profiling says whether system metrics are sampled. All but Enabled are of
// the past.
type Profiling struct {
	Enabled       bool `json:"enabled"`
	BeginOnBatch  int  `json:"begin_on_batch"`
	EndAfterBatch *int `json:"end_after_batch"`
	SyncTimings   bool `json:"sync_timings"`
}

// DefaultPreemptionTimeout is how many seconds a task has between being asked
// to stop and being killed, where nobody says otherwise.
const DefaultPreemptionTimeout = 3600

// PreemptionSeconds is the time that a task has to stop when it is asked to.
func (c Config) PreemptionSeconds() int { return first(DefaultPreemptionTimeout, c.PreemptionTimeout) }

// JSON is the configuration as tasks receive it.
func (c Config) JSON() ([]byte, error) { return json.Marshal(c) }

// UnmarshalJSON reads what JSON wrote.
func (c *Config) UnmarshalJSON(src []byte) error {
	parsed, err := ParseConfigJSON(src)
	if err != nil {
		return err
	}
	*c = parsed
	return nil
}

// ParseConfigJSON reads a completed configuration back, as it was stored. It
// does not validate: what was valid under an older release stays readable.
func ParseConfigJSON(src []byte) (Config, error) {
	raw, _, err := parse("", src, storedLimits())
	if err != nil {
		return Config{}, err
	}
	if raw.Name == nil || raw.Reproducibility == nil || raw.Reproducibility.ExperimentSeed == nil {
		return Config{}, errors.New("not a complete experiment configuration: name or experiment_seed is missing")
	}
	c, err := Complete(raw, ClusterDefaults{})
	c.pos = nil // the places in a stored document mean nothing to anybody
	return c, err
}
