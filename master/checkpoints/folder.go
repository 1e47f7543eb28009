package checkpoints

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"

	"github.com/google/uuid"

	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/fault"
)

// storageFolder has the fields of a storage that locate its folder.
type storageFolder struct {
	Type          string  `json:"type"`
	HostPath      string  `json:"host_path"`
	StoragePath   *string `json:"storage_path"`
	ContainerPath string  `json:"container_path"`
}

// folder is the storage's folder on this machine: a root, and the path below it.
func (p storageFolder) folder() (root, sub string, err error) {
	switch p.Type {
	case expconf.Directory:
		return p.ContainerPath, ".", nil
	case expconf.SharedFS:
		if p.StoragePath == nil || *p.StoragePath == "" {
			return p.HostPath, ".", nil
		}
		sub := path.Clean(*p.StoragePath)
		if path.IsAbs(sub) {
			rest, inside := strings.CutPrefix(sub+"/", path.Clean(p.HostPath)+"/")
			if !inside {
				return "", "", fault.New(fault.Invalid, "storage_path %s is not below host_path %s", sub, p.HostPath)
			}
			sub = path.Clean("./" + rest)
		}
		return p.HostPath, sub, nil
	}
	return "", "", fault.New(fault.Unimplemented,
		"the checkpoint is in storage of type %q, which the master cannot read or write; use it directly, with your own credentials", p.Type)
}

// folderSource is a storage that is a folder of the master's machine.
type folderSource struct{ *os.Root }

// openFolder opens the folder of a checkpoint, and creates it if that is asked; links cannot lead out of it. The storage is
// named by a user or by a task, so the master reads only below the folders that its operators
// have listed.
func (d Deps) openFolder(storage json.RawMessage, k Checkpoint, create bool) (source, error) {
	var place storageFolder
	if err := json.Unmarshal(storage, &place); err != nil {
		return nil, err
	}
	base, sub, err := place.folder()
	if err != nil {
		return nil, err
	}
	at := path.Join(base, sub)
	top, within, ok := d.checkpointRoot(at)
	if !ok {
		return nil, fault.New(fault.Forbidden, "checkpoint %s is in %s, which is not below a folder of checkpoint_roots in the master's configuration; "+
			"ask the operators to add the folder, or download the checkpoint on a machine that mounts it", k.UUID, at)
	}
	if !validUUID(k.UUID) {
		return nil, fault.New(fault.NotFound, "checkpoint %s has no folder", fault.Clip(k.UUID))
	}
	root, err := os.OpenRoot(top)
	if err != nil {
		return nil, fault.Wrap(fault.NotFound, err,
			"the master's machine has no folder %s: mount the checkpoint storage there, or download on a machine that mounts it", top)
	}
	defer root.Close()
	name := path.Join(within, k.UUID)
	if create {
		if err := root.MkdirAll(name, 0o755); err != nil {
			return nil, fault.Wrap(fault.Unavailable, err, "the master cannot create folder %s in %s: %v; let it write there", k.UUID, at, fault.Root(err))
		}
	}
	info, err := root.Lstat(name)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is not a folder", name) // a link could lead elsewhere
	}
	if err != nil {
		return nil, fault.Wrap(fault.NotFound, err, "checkpoint %s has no folder in %s", k.UUID, at)
	}
	dir, err := root.OpenRoot(name)
	if err != nil {
		return nil, fault.Wrap(fault.NotFound, err, "checkpoint %s has no folder in %s", k.UUID, at)
	}
	return folderSource{dir}, nil
}

// checkpointRoot finds the configured folder that contains a folder, and the path from there.
func (d Deps) checkpointRoot(folder string) (top, within string, ok bool) {
	folder = path.Clean(folder)
	for _, root := range d.Roots {
		root = path.Clean(root)
		if folder == root {
			return root, ".", true
		}
		if rest, inside := strings.CutPrefix(folder, strings.TrimSuffix(root, "/")+"/"); inside {
			return root, rest, true
		}
	}
	return "", "", false
}

func validUUID(s string) bool {
	u, err := uuid.Parse(s)
	return err == nil && u.String() == s
}

func (f folderSource) files(_ context.Context, k Checkpoint) ([]string, error) {
	names := slices.Sorted(maps.Keys(k.Resources))
	for _, name := range names {
		info, err := f.Stat(strings.TrimSuffix(name, "/"))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil, fault.Wrap(fault.NotFound, err, "file %s of checkpoint %s is no longer in its storage", name, k.UUID)
		case err != nil:
			return nil, fault.Wrap(fault.Forbidden, err, "file %s of checkpoint %s cannot be read from its folder", name, k.UUID)
		case !info.Mode().IsRegular() && !info.IsDir():
			return nil, fault.New(fault.Forbidden, "%s of checkpoint %s is neither a file nor a folder", name, k.UUID)
		}
	}
	return names, nil
}

// open never blocks, even if a pipe has replaced the file.
func (f folderSource) open(_ context.Context, name string) (io.ReadCloser, fileInfo, error) {
	file, err := f.OpenFile(strings.TrimSuffix(name, "/"), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, fileInfo{}, err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		err = fmt.Errorf("%s is no longer a file", name)
	}
	if err != nil {
		return nil, fileInfo{}, errors.Join(err, file.Close())
	}
	return file, fileInfo{size: info.Size(), modified: info.ModTime(), folder: info.IsDir()}, nil
}
