package task

import (
	"fmt"
	"path"

	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/optional"
	"github.com/detent-ml/detent/master/pool"
	v1 "github.com/detent-ml/detent/master/v1"
)

// removal is for a task that removes files. Its program is det-remover, so there is
// no entrypoint and no Python. It sees the storage as the experiment's trials do.
func (b *specBuilder) removal(cfg expconf.Config) error {
	b.own(cfg.Environment.EnvironmentVariables) // they may have the credentials of the storage
	b.common()
	b.mounts(cfg.Environment.Mounts(cfg.BindMounts))
	b.storage(cfg.CheckpointStorage)
	for i := range b.spec.BindMounts { // if the storage is not mounted on the node, no folder is created
		b.spec.BindMounts[i].Create = false
	}
	c := &v1.Collect{Programs: b.site.removers(), Checkpoints: []v1.CollectCheckpoint{}}
	for _, k := range b.m.Remaining.Checkpoints {
		c.Checkpoints = append(c.Checkpoints, v1.CollectCheckpoint{UUID: k.UUID, Globs: append([]string{}, k.Globs...), Known: k.Known})
	}
	s := cfg.CheckpointStorage
	if s.IsObjects() {
		c.Storage = v1.CollectStorage{Kind: s.Type, Endpoint: optional.Value(s.EndpointURL), AccessKey: optional.Value(s.AccessKey), SecretKey: optional.Value(s.SecretKey),
			AccountURL: optional.Value(s.AccountURL), Credential: optional.Value(s.Credential), ConnectionString: optional.Value(s.ConnectionString)}
		c.Storage.Bucket, c.Storage.Prefix = s.Place()
		if b.spec.Credentials != nil {
			c.Storage.Region = b.spec.Credentials.Region
		}
	} else {
		folder, ok := s.PathInTask()
		if !ok {
			return fmt.Errorf("experiment %d has checkpoints in storage of type %q, from which files cannot be removed", b.a.ExperimentID, s.Type)
		}
		c.Storage.Folder = path.Clean(folder)
	}
	if b.m.Remaining.Events {
		c.Events = fmt.Sprintf("%s/tensorboard/experiment/%d", b.site.ClusterID, b.a.ExperimentID)
	}
	if w := b.m.Remaining.Sweep; w != nil {
		c.Sweep = &v1.CollectSweep{Since: w.Since, Until: w.Until}
	}
	b.spec.Collect = c
	delete(b.spec.Env, "DET_HARNESS_URL") // no Python program runs
	return b.files(nil, nil, nil, false)
}

// RemovalPool returns the pool in which the files of an experiment are removed: the pool for tasks
// without slots. If the storage is a folder of nodes and the tasks of that pool cannot mount it, it
// is the pool of the trials, because only that pool certainly has the folder.
func RemovalPool(pools pool.Set, own string, storage expconf.CheckpointStorage) string {
	aux := pools.Default(0)
	if aux != nil && (pools.Named(own) == nil || storage.IsObjects() && !aux.HasImages() || aux.Driver == pool.RawExec) {
		return aux.Name
	}
	return own
}
