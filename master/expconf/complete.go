package expconf

import "errors"

// ClusterDefaults is what the master adds to an experiment that leaves it open.
type ClusterDefaults struct {
	// TaskContainer is the fragment made from the task_container_defaults of
	// the resource pool; see TaskContainerDefaults.Fragment.
	TaskContainer Raw
	// CheckpointStorage lies under what the experiment says about it: the
	// storage of the workspace over that of the cluster.
	CheckpointStorage CheckpointStorage
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
	raw.CheckpointStorage = merge(raw.CheckpointStorage, cluster.CheckpointStorage)
	c := Config(raw)
	switch {
	case Says(&raw, "name"):
	case raw.Description != nil:
		c.Name = *raw.Description
	case cluster.Name == "":
		return Config{}, errors.New("the experiment has no name and none was generated")
	default:
		c.Name = "Experiment (" + cluster.Name + ")"
	}
	if !Says(&raw.Reproducibility, "experiment_seed") {
		c.Reproducibility.ExperimentSeed = cluster.Seed & 0x7fffffff
	}
	fill(valueOf(&c))
	c.Environment.Nomad = c.Environment.Nomad.orNone()
	c.batchSystems()
	return c, nil
}

// batchSystems moves the old home of batch system arguments to the new one.
func (c *Config) batchSystems() {
	if args := c.Environment.Slurm; len(args) > 0 && c.Slurm == nil {
		c.Slurm = &Slurm{SbatchArgs: args}
	}
	if args := c.Environment.PBS; len(args) > 0 && c.PBS == nil {
		c.PBS = &PBS{PbsbatchArgs: args}
	}
	c.Environment.Slurm, c.Environment.PBS = nil, nil
}
