// Package fetch copies the files of a checkpoint to this machine: directly from the storage if
// this machine can read it, or else through the master.
//
// No incomplete checkpoint remains: files are written to a temporary folder next to the target,
// which is renamed at the end. The operating system rejects names in an archive that lead out
// of this folder (os.Root), and links are not created.
package fetch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/uuid"

	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/v1"
)

// Mode is how to fetch the files.
type Mode string

// The modes, as in Determined's client.
const (
	Auto   Mode = "auto"
	Direct Mode = "direct"
	Master Mode = "master"
)

// Options selects a checkpoint and a target.
type Options struct {
	Client     *client.Client
	Checkpoint *v1.Checkpoint
	Dir        string // empty: checkpoints/<uuid>
	Mode       Mode
	Progress   func(bytes int64) // may be nil
}

// metadataFile is written at upload; for a checkpoint without one, fetch creates it.
const metadataFile = "metadata.json"

// Checkpoint fetches a checkpoint and returns its folder. It does not change a folder that
// already contains a checkpoint.
func Checkpoint(ctx context.Context, o Options) (string, error) {
	ck := o.Checkpoint
	if uuid.Validate(ck.UUID) != nil || len(ck.UUID) != 36 { // it is the name of a folder here, and the master chose it
		return "", fault.New(fault.Internal, "the master gave %q as the id of a checkpoint, which is none", fault.Clip(ck.UUID))
	}
	if ck.State != v1.CheckpointStateCompleted && ck.State != v1.CheckpointStatePartiallyDeleted {
		return "", fault.New(fault.Invalid, "checkpoint %s cannot be downloaded: it is %s, and only COMPLETED and PARTIALLY_DELETED ones can",
			ck.UUID, strings.TrimPrefix(string(ck.State), "STATE_"))
	}
	dir := cmp.Or(o.Dir, filepath.Join("checkpoints", ck.UUID))
	if _, err := os.Stat(filepath.Join(dir, metadataFile)); err == nil {
		return dir, nil
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o777); err != nil {
		return "", localTrouble(err)
	}
	partial, err := os.MkdirTemp(filepath.Dir(dir), "."+filepath.Base(dir)+".partial-")
	if err != nil {
		return "", localTrouble(err)
	}
	defer os.RemoveAll(partial) // after success it does not exist
	if err := o.into(ctx, partial); err != nil {
		return "", err
	}
	if err := writeMetadata(partial, ck.Metadata); err != nil {
		return "", err
	}
	return dir, settle(partial, dir)
}

func localTrouble(err error) error {
	return fault.New(fault.Invalid, "cannot store the checkpoint: %w", err)
}

func (o Options) into(ctx context.Context, dir string) error {
	source, err := storageOf(o.Checkpoint)
	if err == nil && o.Mode != Master {
		err = o.direct(ctx, source, dir)
		if err == nil || o.Mode == Direct || !fault.Is(err, fault.NotFound) {
			return err
		}
	}
	if o.Mode == Direct {
		return err
	}
	return o.throughMaster(ctx, dir)
}

// direct copies from the first folder that exists.
func (o Options) direct(ctx context.Context, source storage, dir string) error {
	for _, folder := range source.folders {
		info, err := os.Stat(folder)
		if err != nil || !info.IsDir() {
			continue
		}
		return o.copyTree(ctx, folder, dir)
	}
	return fault.New(fault.NotFound, "checkpoint %s is not in %s on this machine; use --mode master to download it through the master",
		o.Checkpoint.UUID, strings.Join(source.folders, " or "))
}

func (o Options) copyTree(ctx context.Context, from, to string) error {
	src, err := os.OpenRoot(from)
	if err != nil {
		return fault.New(fault.Invalid, "cannot read the checkpoint: %w", err)
	}
	defer src.Close()
	dst, err := os.OpenRoot(to)
	if err != nil {
		return localTrouble(err)
	}
	defer dst.Close()
	return fs.WalkDir(src.FS(), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return fault.New(fault.Invalid, "cannot read the checkpoint: %w", err)
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		switch {
		case d.IsDir():
			return dst.MkdirAll(path, 0o777)
		case d.Type().IsRegular():
			f, err := src.Open(path)
			if err != nil {
				return fault.New(fault.Invalid, "cannot read the checkpoint: %w", err)
			}
			defer f.Close()
			return o.writeFile(dst, path, f)
		}
		return nil
	})
}

func (o Options) writeFile(dst *os.Root, path string, r io.Reader) error {
	f, err := dst.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return localTrouble(err)
	}
	m := &meter{r: r, tell: o.Progress}
	_, err = io.Copy(f, m)
	cerr := f.Close()
	if m.err != nil {
		return brokenSource(m.err)
	}
	if err := errors.Join(err, cerr); err != nil {
		return localTrouble(fmt.Errorf("%s: %w", path, err))
	}
	return nil
}

// brokenSource is an error of reading the source, not of writing the target.
func brokenSource(err error) error {
	return fault.New(fault.Unavailable, "reading the checkpoint failed before its end: %w; nothing was stored", err)
}

// meter counts the bytes that are read, and keeps the error that ended the reading.
type meter struct {
	r    io.Reader
	tell func(int64)
	err  error
}

func (m *meter) Read(p []byte) (int, error) {
	n, err := m.r.Read(p)
	if m.tell != nil && n > 0 {
		m.tell(int64(n))
	}
	if err != nil && err != io.EOF {
		m.err = err
	}
	return n, err
}

func writeMetadata(dir string, metadata v1.Struct) error {
	path := filepath.Join(dir, metadataFile)
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	text, err := v1.Marshal(metadata)
	if err == nil {
		err = os.WriteFile(path, indent(text), 0o666)
	}
	if err != nil {
		return localTrouble(err)
	}
	return nil
}

// settle renames the complete folder. If the target is a folder without a checkpoint, the files
// are moved into it.
func settle(partial, dir string) error {
	if err := os.Chmod(partial, 0o755); err != nil {
		return localTrouble(err)
	}
	if err := os.Rename(partial, dir); err == nil {
		return nil
	}
	items, err := os.ReadDir(partial)
	if err == nil {
		err = os.MkdirAll(dir, 0o777)
	}
	if err != nil {
		return localTrouble(err)
	}
	for _, item := range items {
		target := filepath.Join(dir, item.Name())
		if _, err := os.Lstat(target); err == nil {
			return fault.New(fault.Conflict, "%s already exists; choose another folder with -o", target)
		}
	}
	for _, item := range items {
		if err := os.Rename(filepath.Join(partial, item.Name()), filepath.Join(dir, item.Name())); err != nil {
			return localTrouble(err)
		}
	}
	return nil
}
