package fetch

import (
	"path/filepath"
	"strings"

	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/v1"
)

// sharedMount is the path in tasks of the storage of shared_fs.
const sharedMount = "/determined_shared_fs"

// storage is where a checkpoint may be on this machine.
type storage struct {
	folders []string
}

// storageOf returns the checkpoint storage of the checkpoint's experiment.
func storageOf(ck *v1.Checkpoint) (storage, error) {
	var conf struct {
		Storage struct {
			Type          string `json:"type"`
			HostPath      string `json:"host_path"`
			StoragePath   string `json:"storage_path"`
			ContainerPath string `json:"container_path"`
		} `json:"checkpoint_storage"`
	}
	if err := ck.Training.ExperimentConfig.Into(&conf); err != nil {
		return storage{}, fault.New(fault.Internal, "the configuration of the checkpoint's experiment cannot be read: %w", err)
	}
	s := conf.Storage
	switch s.Type {
	case "shared_fs":
		return storage{folders: []string{
			filepath.Join(below(s.HostPath, s.HostPath, s.StoragePath), ck.UUID),
			filepath.Join(below(sharedMount, s.HostPath, s.StoragePath), ck.UUID),
		}}, nil
	case "directory":
		return storage{folders: []string{filepath.Join(s.ContainerPath, ck.UUID)}}, nil
	case "":
		return storage{}, fault.New(fault.NotFound, "the master does not say where checkpoint %s is stored", ck.UUID)
	}
	return storage{}, fault.New(fault.NotFound, "cannot download checkpoints directly from storage %q; use --mode master", s.Type)
}

// below is the storage path relative to the host path. The storage path may be relative to the
// host path, or an absolute path below it.
func below(root, host, storagePath string) string {
	if filepath.IsAbs(storagePath) {
		rel, err := filepath.Rel(host, storagePath)
		if err != nil || strings.HasPrefix(rel, "..") {
			return storagePath
		}
		storagePath = rel
	}
	return filepath.Join(root, storagePath)
}
