package expconf

import "errors"

// ClusterDefaults has the values that the master uses for fields that an experiment leaves
// unset.
type ClusterDefaults struct {
	// TaskContainer is the fragment made from the task_container_defaults of
	// the resource pool; see TaskContainerDefaults.Fragment.
	TaskContainer Raw
	// CheckpointStorage is merged under the experiment's own section: the storage of the
	// workspace, merged over that of the cluster.
	CheckpointStorage CheckpointStorage
	// Seed becomes experiment_seed. Only 31 bits are used, because libraries of training code
	// accept no larger seed.
	Seed uint32
	// Name is the generated part of "Experiment (<name>)".
	Name string
}

// Complete sets every field that raw leaves unset. Complete does not validate values: Validate
// does, so that the user sees all problems together. Complete fails only if a name is required
// and none was generated.
func Complete(raw Raw, cluster ClusterDefaults) (Config, error) {
	raw = Merge(raw, cluster.TaskContainer)
	raw.CheckpointStorage = merge(raw.CheckpointStorage, cluster.CheckpointStorage)
	c := Config(raw)
	switch {
	case IsSet(&raw, "name"):
	case raw.Description != nil:
		c.Name = *raw.Description
	case cluster.Name == "":
		return Config{}, errors.New("the experiment has no name and none was generated")
	default:
		c.Name = "Experiment (" + cluster.Name + ")"
	}
	if !IsSet(&raw.Reproducibility, "experiment_seed") {
		c.Reproducibility.ExperimentSeed = cluster.Seed & 0x7fffffff
	}
	c.Searcher.lead()
	fill(valueOf(&c))
	c.Environment.Nomad = c.Environment.Nomad.orNone()
	c.batchSystems()
	c.Searcher.complete(c.Hyperparameters)
	return c, nil
}

// complete sets the fields of a searcher whose defaults depend on others. A search that is too
// large for the sampler tpe draws at random, unless the document names the sampler.
func (s *Searcher) complete(space Hyperparameters) {
	if s.Revision == 0 {
		s.Revision = SearchRevision
	}
	s.completeBudget(space)
	if s.Sampler != "" {
		return
	}
	s.Sampler = Uniform
	learns := s.Name == AsyncHalving || s.Name == AdaptiveASHA || s.Name == Random && (space.Prior() || len(s.LearnFrom) > 0)
	if s.Revision > 1 && learns && s.MaxTrials <= MaxModelled && float64(s.MaxTrials)*space.varied() <= maxModelledValues {
		s.Sampler = TPE
	}
}

// batchSystems moves arguments of batch systems from their old sections to the current ones.
func (c *Config) batchSystems() {
	if args := c.Environment.Slurm; len(args) > 0 && c.Slurm == nil {
		c.Slurm = &Slurm{SbatchArgs: args}
	}
	if args := c.Environment.PBS; len(args) > 0 && c.PBS == nil {
		c.PBS = &PBS{PbsbatchArgs: args}
	}
	c.Environment.Slurm, c.Environment.PBS = nil, nil
}
