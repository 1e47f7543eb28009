package api

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
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

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/store"
)

// downloadCheckpoint streams the files of a checkpoint from storage that the
// master sees as a folder, for clients that do not see it themselves. Only files
// that belong to the checkpoint go out, and none that a symbolic link or a path
// with dots would lead to outside of its folder.
func (a *API) downloadCheckpoint(ctx context.Context, c *call) error {
	k, err := a.ofCheckpoint(ctx, c, c.Params("uuid"), auth.View)
	if err != nil {
		return err
	}
	dir, err := openCheckpoint(k)
	if err != nil {
		return err
	}
	files, err := checkpointFiles(dir, k)
	if err != nil {
		return errors.Join(err, dir.Close())
	}
	pack, kind, suffix := packTar, "application/gzip", ".tar.gz"
	if c.Accepts("application/gzip", "application/zip") == "application/zip" {
		pack, kind, suffix = packZip, "application/zip", ".zip"
	}
	c.Set("Content-Type", kind)
	c.Set("Content-Disposition", fmt.Sprintf("attachment; filename=%q", k.UUID+suffix))
	r, w := io.Pipe()
	stop := context.AfterFunc(a.stopping, func() { _ = w.CloseWithError(a.stopping.Err()) })
	go func() {
		defer stop()
		defer dir.Close()
		err := pack(w, dir, files)
		if err != nil && !errors.Is(err, io.ErrClosedPipe) { // else the client has gone
			a.log.Warn("a download of a checkpoint broke off", "checkpoint", k.UUID, "error", err)
		}
		_ = w.CloseWithError(err) // an error cuts the answer off, so that nobody takes half of it for the whole
	}()
	c.Context().SetBodyStream(r, -1)
	return nil
}

// storagePlace is what of a storage's configuration says where its folder is.
type storagePlace struct {
	Type          string  `json:"type"`
	HostPath      string  `json:"host_path"`
	StoragePath   *string `json:"storage_path"`
	ContainerPath string  `json:"container_path"`
}

// folder is the storage's folder on this machine: a root, and the way from it.
func (p storagePlace) folder() (root, sub string, err error) {
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
		"the checkpoint lies in storage of type %q, which the master does not read: download it directly, with credentials of your own", p.Type)
}

// openCheckpoint opens the folder of a checkpoint, which nothing leads out of.
func openCheckpoint(k store.Checkpoint) (*os.Root, error) {
	var place storagePlace
	if len(k.Storage) > 0 {
		if err := json.Unmarshal(k.Storage, &place); err != nil {
			return nil, err
		}
	} else if len(k.Config) > 0 {
		var config struct {
			Storage storagePlace `json:"checkpoint_storage"`
		}
		if err := json.Unmarshal(k.Config, &config); err != nil {
			return nil, err
		}
		place = config.Storage
	}
	base, sub, err := place.folder()
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(base)
	if err != nil {
		return nil, fault.Wrap(fault.NotFound, err,
			"the master sees no folder %s: mount the checkpoint storage where masters run, or download where it is mounted", base)
	}
	defer root.Close()
	dir, err := root.OpenRoot(path.Join(sub, k.UUID))
	if err != nil {
		return nil, fault.Wrap(fault.NotFound, err, "checkpoint %s has no folder in %s", k.UUID, path.Join(base, sub))
	}
	return dir, nil
}

// checkpointFiles looks at every file before the first byte is sent, so that what
// is missing is an error and not half an archive.
func checkpointFiles(dir *os.Root, k store.Checkpoint) ([]string, error) {
	names := slices.Sorted(maps.Keys(k.Resources))
	for _, name := range names {
		info, err := dir.Stat(strings.TrimSuffix(name, "/"))
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

// open opens a file of a checkpoint. It never waits, whatever was put in the
// file's place in the meantime.
func openFile(dir *os.Root, name string) (*os.File, fs.FileInfo, error) {
	f, err := dir.OpenFile(strings.TrimSuffix(name, "/"), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		err = fmt.Errorf("%s is no longer a file", name)
	}
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return f, info, nil
}

func packTar(w io.Writer, dir *os.Root, names []string) error {
	z, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
	if err != nil {
		return err
	}
	t := tar.NewWriter(z)
	for _, name := range names {
		if err := addTar(t, dir, name); err != nil {
			return err
		}
	}
	return errors.Join(t.Close(), z.Close())
}

func addTar(t *tar.Writer, dir *os.Root, name string) error {
	f, info, err := openFile(dir, name)
	if err != nil {
		return err
	}
	defer f.Close()
	h := &tar.Header{Name: strings.TrimSuffix(name, "/"), Mode: 0o644, ModTime: info.ModTime(), Typeflag: tar.TypeReg, Size: info.Size()}
	if info.IsDir() {
		h.Name, h.Mode, h.Typeflag, h.Size = h.Name+"/", 0o755, tar.TypeDir, 0
	}
	if err := t.WriteHeader(h); err != nil || info.IsDir() {
		return err
	}
	n, err := io.Copy(t, io.LimitReader(f, info.Size()))
	if err == nil && n < info.Size() {
		err = fmt.Errorf("%s became shorter while it was read", name)
	}
	return err
}

func packZip(w io.Writer, dir *os.Root, names []string) error {
	z := zip.NewWriter(w)
	for _, name := range names {
		if err := addZip(z, dir, name); err != nil {
			return err
		}
	}
	return z.Close()
}

func addZip(z *zip.Writer, dir *os.Root, name string) error {
	f, info, err := openFile(dir, name)
	if err != nil {
		return err
	}
	defer f.Close()
	h := &zip.FileHeader{Name: strings.TrimSuffix(name, "/"), Method: zip.Deflate, Modified: info.ModTime()}
	if info.IsDir() {
		h.Name, h.Method = h.Name+"/", zip.Store
	}
	to, err := z.CreateHeader(h)
	if err != nil || info.IsDir() {
		return err
	}
	_, err = io.Copy(to, f)
	return err
}
