package expconf

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/detent-ml/detent/master/document"
)

// Config is the complete configuration of an experiment: every field has its value. Tasks
// receive its JSON, and the API shows it.
type Config struct {
	written
	BindMounts               BindMounts        `json:"bind_mounts" default:"[]"`
	CheckpointPolicy         string            `json:"checkpoint_policy" default:"best" check:"one of best all none"`
	CheckpointStorage        CheckpointStorage `json:"checkpoint_storage"`
	Data                     map[string]any    `json:"data" default:"{}" secret:"secrets"`
	DataLayer                *DataLayer        `json:"data_layer,omitempty"`
	Debug                    bool              `json:"debug"`
	Description              *string           `json:"description"`
	Entrypoint               *Entrypoint       `json:"entrypoint"`
	Environment              Environment       `json:"environment"`
	Hyperparameters          Hyperparameters   `json:"hyperparameters" default:"{}"`
	Integrations             *Integrations     `json:"integrations,omitempty"`
	Internal                 *Internal         `json:"internal,omitempty"`
	Labels                   Labels            `json:"labels" default:"[]"`
	LogPolicies              LogPolicies       `json:"log_policies" default:"[]"`
	MaxRestarts              int               `json:"max_restarts" default:"5" check:"0..maxRestarts"`
	MinCheckpointPeriod      Length            `json:"min_checkpoint_period" default:"{batches: 0}" check:"0..maxUnits"`
	MinValidationPeriod      Length            `json:"min_validation_period" default:"{batches: 0}" check:"0..maxUnits"`
	Name                     string            `json:"name"`
	Optimizations            Optimizations     `json:"optimizations"`
	PBS                      *PBS              `json:"pbs,omitempty"`
	PerformInitialValidation bool              `json:"perform_initial_validation"`
	Preemption               *Preemption       `json:"preemption,omitempty"` // nil: nothing but defaults
	PreemptionTimeout        *int              `json:"preemption_timeout" check:"1..maxPreempt"`
	Profiling                Profiling         `json:"profiling"`
	Project                  string            `json:"project" check:"text 1000"`
	RecordsPerEpoch          int               `json:"records_per_epoch" check:"at least 0"`
	Reproducibility          Reproducibility   `json:"reproducibility"`
	Resources                Resources         `json:"resources"`
	Resume                   *Resume           `json:"resume,omitempty"` // nil: programs keep what they need themselves
	RetentionPolicy          *RetentionPolicy  `json:"retention_policy,omitempty"`
	SchedulingUnit           int               `json:"scheduling_unit" default:"100" check:"at least 1"`
	Searcher                 Searcher          `json:"searcher"`
	Security                 *Security         `json:"security,omitempty"`
	Slurm                    *Slurm            `json:"slurm,omitempty"`
	TensorboardStorage       map[string]any    `json:"tensorboard_storage,omitempty" secret:"storage"`
	Unmanaged                bool              `json:"unmanaged,omitempty"`
	Workspace                string            `json:"workspace" check:"text 1000"`

	pos *document.Positions
}

// Reproducibility holds the seed from which all randomness of an experiment is
// derived.
type Reproducibility struct {
	written
	ExperimentSeed uint32 `json:"experiment_seed"`
}

// Profiling enables the sampling of system metrics. All fields except Enabled are obsolete.
type Profiling struct {
	written
	Enabled       bool `json:"enabled"`
	BeginOnBatch  int  `json:"begin_on_batch" check:"at least 0"`
	EndAfterBatch *int `json:"end_after_batch"`
	SyncTimings   bool `json:"sync_timings" default:"true"`
}

func (p Profiling) check(k *checker, at string) {
	if end := p.EndAfterBatch; end != nil && *end < p.BeginOnBatch {
		k.fail(at+".end_after_batch", fmt.Sprintf("%d is less than begin_on_batch %d", *end, p.BeginOnBatch), "")
	}
}

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

// ParseConfigJSON parses a stored complete configuration. It does not validate: what was accepted once
// stays readable.
func ParseConfigJSON(src []byte) (Config, error) {
	raw, _, err := parse("", src, document.StoredLimits())
	if err != nil {
		return Config{}, err
	}
	if !IsSet(&raw, "name") || !IsSet(&raw.Reproducibility, "experiment_seed") {
		return Config{}, errors.New("not a complete experiment configuration: name or experiment_seed is missing")
	}
	if raw.Searcher.Revision == 0 {
		raw.Searcher.Revision = 1
	}
	c, err := Complete(raw, ClusterDefaults{})
	c.pos = nil // no user has seen this document, so its line numbers help nobody
	return c, err
}
