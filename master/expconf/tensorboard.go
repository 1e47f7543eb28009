package expconf

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// ShownExperiment is an experiment that a TensorBoard shows: with all its
// trials, or some.
type ShownExperiment struct {
	ID      int
	Config  Config
	Trials  []int
	Growing bool // all are shown, those that are yet to begin as well
}

// A TensorboardSource is a folder of event files: whose they are, in which
// storage they lie, and at which path there.
type TensorboardSource struct {
	Name    string            `json:"name"`
	Storage CheckpointStorage `json:"storage"`
	Path    string            `json:"path"`
}

// TensorboardSources says where the event files of trials lie as a TensorBoard's
// task sees them, and which folders of its node it has to see for that. Storage
// that is a folder of the node is given as the directory at which that is
// mounted: experiments may differ in their storage.
func TensorboardSources(clusterID string, shown []ShownExperiment) ([]TensorboardSource, BindMounts, error) {
	m := mounter{}
	sources := []TensorboardSource{}
	for _, e := range shown {
		storage, err := m.storage(e.Config)
		if err != nil {
			return nil, nil, fmt.Errorf("experiment %d: %w", e.ID, err)
		}
		at := fmt.Sprintf("%s/tensorboard/experiment/%d", clusterID, e.ID)
		if e.Growing {
			sources = append(sources, TensorboardSource{Name: fmt.Sprintf("exp_%d", e.ID), Storage: storage, Path: at})
			continue
		}
		for _, trial := range e.Trials {
			sources = append(sources, TensorboardSource{Name: fmt.Sprintf("exp_%d/trial_%d", e.ID, trial), Storage: storage,
				Path: fmt.Sprintf("%s/trial/%d", at, trial)})
		}
	}
	return sources, m.mounts, nil
}

// mounter gathers the folders that a task has to see, each once.
type mounter struct {
	mounts BindMounts
	shared []string // host paths of shared_fs, in the order of their mounts
}

// storage is the storage of an experiment as the task sees it.
func (m *mounter) storage(c Config) (CheckpointStorage, error) {
	s := c.CheckpointStorage
	switch s.Type {
	case SharedFS:
		at := m.shareAt(s.HostPath)
		in := path.Join(at, s.relativeStoragePath())
		return CheckpointStorage{Type: Directory, ContainerPath: &in}, nil
	case Directory:
		return s, m.cover(first("", s.ContainerPath), c.BindMounts)
	}
	return s, nil
}

// shareAt mounts a host path of shared_fs, the first where training finds it.
func (m *mounter) shareAt(host string) string {
	n := slices.Index(m.shared, host)
	fresh := n < 0
	if fresh {
		n = len(m.shared)
		m.shared = append(m.shared, host)
	}
	at := SharedFSMount
	if n > 0 {
		at = fmt.Sprintf("%s_%d", SharedFSMount, n+1)
	}
	if fresh {
		m.add(host, at)
	}
	return at
}

func (m *mounter) add(host, container string) {
	readOnly, propagation := true, "rprivate"
	m.mounts = append(m.mounts, BindMount{HostPath: host, ContainerPath: container, ReadOnly: &readOnly, Propagation: &propagation})
}

// cover takes over the mount through which an experiment sees a directory. An
// experiment without one has it by its image.
func (m *mounter) cover(dir string, mounts BindMounts) error {
	for _, b := range mounts {
		if b.ContainerPath != dir && !strings.HasPrefix(dir, strings.TrimSuffix(b.ContainerPath, "/")+"/") {
			continue
		}
		for _, have := range m.mounts {
			if have.ContainerPath != b.ContainerPath {
				continue
			}
			if have.HostPath != b.HostPath {
				return fmt.Errorf("its storage is %s on the nodes, and that of another experiment is %s; both would be mounted at %s: start one TensorBoard for each",
					b.HostPath, have.HostPath, b.ContainerPath)
			}
			return nil
		}
		m.add(b.HostPath, b.ContainerPath)
		return nil
	}
	return nil
}

// RefusedShown is an error where a TensorBoard would see folders of its node that are
// not open in its pool: the experiments that it shows were held to their own pools.
func RefusedShown(shown []ShownExperiment, can Capabilities) error {
	for _, e := range shown {
		if kind := e.Config.CheckpointStorage.Type; !slices.Contains(can.Storage, kind) {
			return fmt.Errorf("the event files of experiment %d are in storage of type %s, which its tasks cannot read", e.ID, kind)
		}
		m := mounter{}
		if _, err := m.storage(e.Config); err != nil {
			return fmt.Errorf("experiment %d: %w", e.ID, err)
		}
		for _, b := range m.mounts {
			if why := can.closed(b); why != "" {
				return fmt.Errorf("the event files of experiment %d are in %s of its nodes: %s", e.ID, clip(b.HostPath), why)
			}
		}
	}
	return nil
}

// closed says why a folder may not be mounted; "" where it may.
func (can Capabilities) closed(b BindMount) string {
	l := can.Limits
	switch {
	case !can.BindMounts:
		return "its tasks cannot mount folders of their node"
	case l == nil || path.Clean(b.HostPath) == path.Clean(l.Operators.Storage):
		return ""
	case l.reserved(b.ContainerPath) != "":
		return fmt.Sprintf("%s would take %s from the task, which needs it", clip(b.ContainerPath), l.reserved(b.ContainerPath))
	case openPath(l.HostPaths, b.HostPath), slices.ContainsFunc(l.Operators.BindMounts, func(o BindMount) bool { return path.Clean(o.HostPath) == path.Clean(b.HostPath) }):
		return ""
	}
	return openOnes(l.HostPaths, "allowed_host_paths")
}
