package checkpoints

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/detent-ml/detent/master/checkpoints/keep"
	"github.com/detent-ml/detent/master/fault"
)

// A Probed is what was read of a checkpoint's files.
type Probed struct {
	Files int
	Bytes int64
	Whole bool // every byte was read; false: of large files only the beginning
}

// probeWhole is the size up to which Probe reads all of a checkpoint, and probeStart is what it reads of each file of a larger one.
const (
	probeWhole = 256 << 20
	probeStart = 64 << 10
)

// Probe reads the files of a checkpoint where they are, and compares their sizes with those that were reported. Whoever moves a cluster learns so
// whether its storages can be read from here.
func (d Deps) Probe(ctx context.Context, uuid string) (p Probed, err error) {
	k, err := Get(ctx, d.DB, uuid)
	if err != nil {
		return p, err
	}
	if k.State == string(keep.Deleted) {
		return p, fault.New(fault.NotFound, "checkpoint %s has been deleted, and its files were removed", k.UUID)
	}
	from, names, err := d.filesOf(ctx, k)
	if err != nil {
		return p, err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	p.Whole = k.Size <= probeWhole
	for _, name := range names {
		n, err := probeFile(ctx, from, name, k.Resources[name], p.Whole)
		if err != nil {
			return p, err
		}
		p.Files++
		p.Bytes += n
	}
	return p, nil
}

// probeFile reads a file, and returns how many bytes it has read.
func probeFile(ctx context.Context, from source, name string, size int64, whole bool) (int64, error) {
	f, info, err := from.open(ctx, name)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	if info.folder {
		return 0, nil
	}
	if info.size != size {
		return 0, fault.New(fault.Conflict, "file %s has %d bytes in its storage, and %d were reported", name, info.size, size)
	}
	wanted := size
	if !whole {
		wanted = min(size, probeStart)
	}
	n, err := io.Copy(io.Discard, io.LimitReader(f, wanted))
	if err == nil && n < wanted {
		err = fmt.Errorf("file %s ended after %d of %d bytes", name, n, size)
	}
	return n, err
}
