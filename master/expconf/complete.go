package expconf

import "errors"

// ClusterDefaults is what the master adds to an experiment that leaves it open.
type ClusterDefaults struct {
	// TaskContainer is the fragment made from the task_container_defaults of
	// the resource pool; see TaskContainerDefaults.Fragment.
	TaskContainer Raw
	// CheckpointStorage lies under what the experiment says about it: the
	// storage of the workspace over that of the cluster.
	CheckpointStorage *RawCheckpointStorage
	// Seed becomes experiment_seed. Only 31 bits are used: training code
	// hands seeds to libraries that take no more.
	Seed uint32
	// Name is the generated part of "Experiment (<name>)".
	Name string
}

// Complete fills in everything that raw leaves open. It does not judge what is
// there: that is Validate's part, so that all problems appear together. It
// fails only when a name is needed and none was generated.
func Complete(raw Raw, cluster ClusterDefaults) (Config, error) {
	raw = Merge(raw, cluster.TaskContainer)
	raw = Merge(raw, Raw{CheckpointStorage: cluster.CheckpointStorage})
	name := first("", raw.Name, raw.Description)
	if raw.Name == nil && raw.Description == nil {
		if cluster.Name == "" {
			return Config{}, errors.New("the experiment has no name and none was generated")
		}
		name = "Experiment (" + cluster.Name + ")"
	}
	c := Config{
		BindMounts:               raw.BindMounts.complete(),
		CheckpointPolicy:         first("best", raw.CheckpointPolicy),
		CheckpointStorage:        raw.CheckpointStorage.complete(),
		Data:                     filledMap(raw.Data),
		DataLayer:                raw.DataLayer,
		Debug:                    first(false, raw.Debug),
		Description:              raw.Description,
		Entrypoint:               raw.Entrypoint,
		Environment:              raw.Environment.complete(),
		Hyperparameters:          raw.Hyperparameters,
		Integrations:             raw.Integrations.complete(),
		Internal:                 raw.Internal,
		Labels:                   Labels(filled(raw.Labels)),
		LogPolicies:              LogPolicies(filled(raw.LogPolicies)),
		MaxRestarts:              first(5, raw.MaxRestarts),
		MinCheckpointPeriod:      first(Length{Unit: Batches}, raw.MinCheckpointPeriod),
		MinValidationPeriod:      first(Length{Unit: Batches}, raw.MinValidationPeriod),
		Name:                     name,
		Optimizations:            raw.Optimizations.complete(),
		PBS:                      raw.PBS,
		PerformInitialValidation: first(false, raw.PerformInitialValidation),
		PreemptionTimeout:        raw.PreemptionTimeout,
		Profiling:                raw.Profiling.complete(),
		Project:                  first("", raw.Project),
		RecordsPerEpoch:          first(0, raw.RecordsPerEpoch),
		Reproducibility:          raw.Reproducibility.complete(cluster.Seed),
		Resources:                raw.Resources.complete(),
		RetentionPolicy:          raw.RetentionPolicy,
		SchedulingUnit:           first(100, raw.SchedulingUnit),
		Searcher:                 raw.Searcher.complete(),
		Security:                 raw.Security,
		Slurm:                    raw.Slurm,
		TensorboardStorage:       raw.TensorboardStorage,
		Unmanaged:                first(false, raw.Unmanaged),
		Workspace:                first("", raw.Workspace),
		pos:                      raw.pos,
	}
	if c.Hyperparameters == nil {
		c.Hyperparameters = Hyperparameters{}
	}
	c.batchSystems(raw.Environment)
	return c, nil
}

// batchSystems moves the old home of batch system arguments to the new one.
func (c *Config) batchSystems(env *RawEnvironment) {
	if env == nil {
		return
	}
	if len(env.Slurm) > 0 && c.Slurm == nil {
		c.Slurm = &Slurm{SbatchArgs: env.Slurm}
	}
	if len(env.PBS) > 0 && c.PBS == nil {
		c.PBS = &PBS{PbsbatchArgs: env.PBS}
	}
}

func (r *RawReproducibility) complete(seed uint32) Reproducibility {
	if r == nil {
		r = &RawReproducibility{}
	}
	return Reproducibility{ExperimentSeed: first(seed&0x7fffffff, r.ExperimentSeed)}
}

func (p *RawProfiling) complete() Profiling {
	if p == nil {
		p = &RawProfiling{}
	}
	return Profiling{
		Enabled:       first(false, p.Enabled),
		BeginOnBatch:  first(0, p.BeginOnBatch),
		EndAfterBatch: p.EndAfterBatch,
		SyncTimings:   first(true, p.SyncTimings),
	}
}
