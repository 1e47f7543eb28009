package api

import (
	"fmt"
	"path"

	"github.com/detent-ml/detent/master/expconf"
	v1 "github.com/detent-ml/detent/master/v1"
)

// collect is for a task that removes files: the runner does that itself, so there
// is no program and no Python. It sees the storage as the experiment's trials do.
func (b *specBuilder) collect() error {
	r := b.rows
	cfg, err := expconf.ParseConfigJSON(r.Config)
	if err != nil {
		return fmt.Errorf("the configuration of experiment %d: %w", r.ExperimentID, err)
	}
	b.own(cfg.Environment.EnvironmentVariables) // by which it may sign in to its storage
	b.common()
	b.mounts(cfg.BindMounts)
	b.storage(cfg.CheckpointStorage)
	for i := range b.spec.BindMounts { // where the storage is not mounted on the node, none is made
		b.spec.BindMounts[i].Create = false
	}
	c := &v1.Collect{Checkpoints: []v1.CollectCheckpoint{}}
	s := cfg.CheckpointStorage
	switch s.Type {
	case expconf.S3:
		c.Storage = v1.CollectStorage{Bucket: s.Bucket, Prefix: text(s.Prefix), Endpoint: text(s.EndpointURL), AccessKey: text(s.AccessKey), SecretKey: text(s.SecretKey)}
		if b.spec.Credentials != nil {
			c.Storage.Region = b.spec.Credentials.Region
		}
	default:
		folder, ok := s.PathInTask()
		if !ok {
			return fmt.Errorf("experiment %d has checkpoints in storage of type %q, of which nothing can be removed", r.ExperimentID, s.Type)
		}
		c.Storage.Folder = path.Clean(folder)
	}
	for _, k := range r.Collect.Removals {
		c.Checkpoints = append(c.Checkpoints, v1.CollectCheckpoint{UUID: k.UUID, Globs: append([]string{}, k.Globs...), Known: k.Known})
	}
	if r.Collect.Events {
		c.Events = fmt.Sprintf("%s/tensorboard/experiment/%d", b.base.ClusterID, r.ExperimentID)
	}
	b.spec.Collect = c
	delete(b.spec.Env, "DET_HARNESS_URL") // there is nothing to import it
	return b.files(nil, nil, nil, false)
}
