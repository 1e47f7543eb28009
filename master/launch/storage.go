package launch

import (
	"path"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/optional"
	"github.com/detent-ml/detent/master/workspaces"
)

// maxID is the largest id that an experiment can have.
const maxID = 1<<31 - 1

// uuidLength is the length of a UUID with its dashes.
const uuidLength = 36

// placeCheckpoints gives an experiment its own part of a bucket: <configured prefix>/<experiment id>. The
// store appends the id when it inserts the experiment; the check here uses the longest id. The submitted text
// does not change, so a fork gets its own part too. A fork of a stored configuration begins with the parent's
// prefix, from which placeCheckpoints removes the parent's id.
func (c *Cluster) placeCheckpoints(e *Experiment, cfg *expconf.Config) error {
	storage := &cfg.CheckpointStorage
	switch {
	case storage.Type == expconf.Azure && c.CheckStorage != nil:
		return inConfiguration(c.CheckStorage(*storage))
	case storage.Type != expconf.S3 && storage.Type != expconf.GCS:
		return nil
	}
	prefix := strings.TrimPrefix(path.Clean("/"+optional.Value(storage.Prefix)), "/")
	if e.parent != nil {
		if own := ownPrefix(e.parent.Config); own != "" && own == prefix {
			prefix = strings.TrimSuffix(strings.TrimSuffix(prefix, strconv.Itoa(e.parent.ID)), "/")
		}
	}
	storage.Prefix, e.PrefixByID = &prefix, true
	if c.CheckStorage == nil {
		return nil
	}
	whole := path.Join(prefix, strconv.Itoa(maxID))
	probe := *storage
	probe.Prefix = &whole
	return inConfiguration(c.CheckStorage(probe))
}

// besideOthers rejects a storage inside a folder that belongs to something else: the cluster's, with the TensorBoard files of all
// experiments, or that of a checkpoint, which has a UUID as its name. Otherwise the tasks of an experiment could add event files to
// somebody else's TensorBoard, and files to somebody else's checkpoint, with the rights that they have for their own part. The cluster's own storage and its policy may
// have UUIDs in their places; those of a workspace may not, because its administrators have no rights in others.
func (c *Cluster) besideOthers(s expconf.CheckpointStorage, rules []rule[expconf.Raw]) error {
	known := map[string]bool{}
	operators := []expconf.CheckpointStorage{c.Storage}
	for _, r := range rules {
		if r.by == workspaces.PolicyNamed("") {
			operators = append(operators, r.Invariant.CheckpointStorage)
		}
	}
	for _, o := range operators {
		for _, folder := range foldersOf(o) {
			known[folder] = true
		}
	}
	for _, folder := range foldersOf(s) {
		if strings.EqualFold(folder, c.Site.ClusterID) {
			return inConfiguration(fault.New(fault.Invalid, "checkpoint_storage: it is in the folder %s, which has the TensorBoard files of all experiments of this cluster; choose another place", folder))
		}
		if _, err := uuid.Parse(folder); err == nil && len(folder) == uuidLength && s.IsObjects() && !known[folder] {
			return inConfiguration(fault.New(fault.Invalid, "checkpoint_storage: it is in the folder %s, and a folder with a UUID as its name is that of a checkpoint; choose another place", fault.Clip(folder)))
		}
	}
	return nil
}

// foldersOf lists the names of the folders on the way to the files of a storage.
func foldersOf(s expconf.CheckpointStorage) []string {
	_, prefix := s.Place()
	return strings.FieldsFunc(strings.Join([]string{prefix, optional.Value(s.StoragePath), optional.Value(s.ContainerPath)}, "/"), func(r rune) bool { return r == '/' })
}

func inConfiguration(err error) error {
	if err != nil {
		return fault.New(fault.Invalid, "the configuration has a problem: %w", err)
	}
	return nil
}

// defaultStorage is the default checkpoint storage for experiments of a workspace: the workspace's
// settings merged over the cluster's.
func (c *Cluster) defaultStorage(ws workspaces.Settings) (expconf.CheckpointStorage, error) {
	if len(ws.CheckpointStorage) == 0 {
		return c.Storage, nil
	}
	own, err := expconf.ParseStorage(ws.CheckpointStorage)
	if err != nil {
		return own, err
	}
	return expconf.Merge(expconf.Raw{CheckpointStorage: own}, expconf.Raw{CheckpointStorage: c.Storage}).CheckpointStorage, nil
}

// ownPrefix is the prefix of an experiment's checkpoints in their bucket; "" if they are not in a bucket.
func ownPrefix(config []byte) string {
	cfg, err := expconf.ParseConfigJSON(config)
	if err != nil {
		return ""
	}
	return optional.Value(cfg.CheckpointStorage.Prefix)
}
