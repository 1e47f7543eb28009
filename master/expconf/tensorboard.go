package expconf

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/detent-ml/detent/master/document"
	"github.com/detent-ml/detent/master/optional"
)

// ShownExperiment is an experiment that a TensorBoard shows: all its trials, or some.
type ShownExperiment struct {
	ID      int
	Config  Config
	Trials  []int
	Growing bool // all trials are shown, including future ones

	OwnerID, WorkspaceID int
}

// A TensorboardSource is a folder of event files: its experiment and trial, the storage, and
// the path in the storage.
type TensorboardSource struct {
	Name    string            `json:"name"`
	Storage CheckpointStorage `json:"storage"`
	Path    string            `json:"path"`
}

// TensorboardSources returns where the event files of trials are in a TensorBoard's task, and
// which folders of its node the task must mount. A storage that is a folder of the node becomes
// the directory at which the folder is mounted, because experiments may have different storage.
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

// mounter collects the folders that a task must mount, each once.
type mounter struct {
	mounts BindMounts
	shared []string // host paths of shared_fs, in the order of their mounts
}

// storage returns the storage of an experiment as the task sees it.
func (m *mounter) storage(c Config) (CheckpointStorage, error) {
	s := c.CheckpointStorage
	switch s.Type {
	case SharedFS:
		at := m.shareAt(s.HostPath)
		return CheckpointStorage{Type: Directory, ContainerPath: new(path.Join(at, s.relativeStoragePath()))}, nil
	case Directory:
		return s, m.cover(optional.Value(s.ContainerPath), c.BindMounts)
	}
	return s, nil
}

// shareAt mounts a host path of shared_fs; the first one is mounted where training tasks mount
// it.
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
	m.mounts = append(m.mounts, BindMount{HostPath: host, ContainerPath: container, ReadOnly: new(true), Propagation: new("rprivate")})
}

// cover adds the mount through which an experiment sees a directory. Without such a mount, the
// directory is part of the experiment's image.
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
				return fmt.Errorf("its storage is %s on the nodes, and the storage of another experiment is %s; both would be mounted at %s: start one TensorBoard for each experiment",
					b.HostPath, have.HostPath, b.ContainerPath)
			}
			return nil
		}
		m.add(b.HostPath, b.ContainerPath)
		return nil
	}
	return nil
}

// RefusedShown returns an error if a TensorBoard would mount folders of its node that its pool
// does not allow: the pools of the shown experiments may allow other folders.
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
				return fmt.Errorf("the event files of experiment %d are in %s of its nodes: %s", e.ID, document.Clip(b.HostPath), why)
			}
		}
	}
	return nil
}

// closed returns why a folder may not be mounted; "" if it may.
func (can Capabilities) closed(b BindMount) string {
	l := can.Limits
	switch {
	case !can.BindMounts:
		return "its tasks cannot mount folders of their node"
	case l == nil || path.Clean(b.HostPath) == path.Clean(l.Operators.Storage):
		return ""
	case l.reserved(b.ContainerPath) != "":
		return fmt.Sprintf("a mount at %s would hide %s, which the task needs", document.Clip(b.ContainerPath), l.reserved(b.ContainerPath))
	case slices.ContainsFunc(l.Operators.BindMounts, func(o BindMount) bool { return path.Clean(o.HostPath) == path.Clean(b.HostPath) }):
		return ""
	}
	why, hint := l.closedHost(b.HostPath)
	if why == "" {
		return ""
	}
	return why + "; " + hint
}
