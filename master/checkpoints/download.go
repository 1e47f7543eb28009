package checkpoints

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/detent-ml/detent/master/checkpoints/keep"
	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/rest"
)

// download streams the files of a checkpoint from its storage, for clients that
// cannot reach the storage. It sends only files of the checkpoint, and none outside of its
// folder, even if symbolic links or dots in a path lead there.
func (d Deps) download(ctx context.Context, c *rest.Call, k Checkpoint) error {
	if k.State == string(keep.Deleted) {
		return fault.New(fault.NotFound, "checkpoint %s has been deleted, and its files were removed", k.UUID)
	}
	begun, err := d.beginDownload(c)
	if err != nil {
		return err
	}
	from, files, err := d.filesOf(begun.ctx, k)
	if err != nil {
		if why := rest.Refused(begun.ctx); why != nil {
			err = why
		}
		begun.end()
		return err
	}
	pack, kind, suffix := packTar, "application/gzip", ".tar.gz"
	if c.Accepts("application/gzip", "application/zip") == "application/zip" {
		pack, kind, suffix = packZip, "application/zip", ".zip"
	}
	c.Set("Content-Type", kind)
	c.Set("Content-Disposition", fmt.Sprintf("attachment; filename=%q", k.UUID+suffix))
	path := c.Path()
	r, w := io.Pipe()
	stop := context.AfterFunc(begun.ctx, func() { _ = w.CloseWithError(context.Cause(begun.ctx)) })
	go func() {
		defer begun.end()
		defer stop()
		defer from.Close()
		err := d.caught("a download of a checkpoint panicked", path, func() error { return pack(begun.ctx, w, from, files, begun.compressTurn) })
		if err != nil && !errors.Is(err, io.ErrClosedPipe) && begun.ctx.Err() == nil { // otherwise the client has disconnected
			d.Log.Warn("a download of a checkpoint was cut off", "checkpoint", k.UUID, "error", err)
		}
		_ = w.CloseWithError(err) // an error cuts the response off, so that clients notice an incomplete archive
	}()
	c.SendFrom(c.Paced(func() { // the turn is freed when reading the storage has returned
		_ = r.Close()
		begun.cancel()
	}, r), -1)
	return nil
}

// filesOf finds the files of a checkpoint, and their source.
func (d Deps) filesOf(ctx context.Context, k Checkpoint) (source, []string, error) {
	from, err := d.sourceOf(ctx, k)
	if err != nil {
		return nil, nil, err
	}
	files, err := from.files(ctx, k)
	if err != nil {
		return nil, nil, errors.Join(err, from.Close())
	}
	return from, files, nil
}

// storageOf is the storage of a checkpoint: as its task reported at its start, or else as in
// its experiment's configuration.
func storageOf(k Checkpoint) (json.RawMessage, error) {
	if len(k.Storage) > 0 {
		return k.Storage, nil
	}
	var config struct {
		Storage json.RawMessage `json:"checkpoint_storage"`
	}
	if len(k.Config) == 0 {
		return nil, fault.New(fault.NotFound, "the storage of checkpoint %s is unknown", k.UUID)
	}
	err := json.Unmarshal(k.Config, &config)
	return config.Storage, err
}

// source is the source of a checkpoint's files.
type source interface {
	// files checks every file before the first byte is sent, so that a missing file causes an
	// error instead of an incomplete archive.
	files(ctx context.Context, k Checkpoint) ([]string, error)
	// open opens a file. A name that ends in a slash is a folder without content.
	open(ctx context.Context, name string) (io.ReadCloser, fileInfo, error)
	Close() error
}

type fileInfo struct {
	size     int64
	modified time.Time
	folder   bool
}

// typedStorage is the storage of a checkpoint's files, and its type.
func typedStorage(k Checkpoint) (raw []byte, kind string, err error) {
	if raw, err = storageOf(k); err != nil {
		return nil, "", err
	}
	var named struct {
		Type string `json:"type"`
	}
	err = json.Unmarshal(raw, &named)
	return raw, named.Type, err
}

// sourceOf finds the source of a checkpoint's files.
func (d Deps) sourceOf(ctx context.Context, k Checkpoint) (source, error) {
	raw, kind, err := typedStorage(k)
	if err != nil {
		return nil, err
	}
	if (expconf.CheckpointStorage{Type: kind}).IsObjects() {
		return d.objectSource(ctx, k, kind)
	}
	return d.openFolder(raw, k, false)
}

func packTar(ctx context.Context, w io.Writer, from source, names []string, turn compressTurn) error {
	packed := &bytes.Buffer{}
	compress, err := gzip.NewWriterLevel(packed, gzip.BestSpeed)
	if err != nil {
		return err
	}
	z := &turned{ctx: ctx, turn: turn, compress: compress, packed: packed, to: w}
	t := tar.NewWriter(z)
	for _, name := range names {
		if err := addTar(ctx, t, from, name); err != nil {
			return err
		}
	}
	return errors.Join(t.Close(), z.Close())
}

func addTar(ctx context.Context, t *tar.Writer, from source, name string) error {
	f, info, err := from.open(ctx, name)
	if err != nil {
		return err
	}
	defer f.Close()
	h := &tar.Header{Name: strings.TrimSuffix(name, "/"), Mode: 0o644, ModTime: info.modified, Typeflag: tar.TypeReg, Size: info.size}
	if info.folder {
		h.Name, h.Mode, h.Typeflag, h.Size = h.Name+"/", 0o755, tar.TypeDir, 0
	}
	if err := t.WriteHeader(h); err != nil || info.folder {
		return err
	}
	n, err := io.Copy(t, io.LimitReader(f, info.size))
	if err == nil && n < info.size {
		err = fmt.Errorf("%s was truncated while the master read it", name)
	}
	return err
}

func packZip(ctx context.Context, w io.Writer, from source, names []string, turn compressTurn) error {
	z := zip.NewWriter(w)
	packed := &bytes.Buffer{}
	compress, err := flate.NewWriter(packed, flate.BestSpeed)
	if err != nil {
		return err
	}
	z.RegisterCompressor(zip.Deflate, func(to io.Writer) (io.WriteCloser, error) { // one file after the other
		packed.Reset()
		compress.Reset(packed)
		return &turned{ctx: ctx, turn: turn, compress: compress, packed: packed, to: to}, nil
	})
	for _, name := range names {
		if err := addZip(ctx, z, from, name); err != nil {
			return err
		}
	}
	return z.Close()
}

func addZip(ctx context.Context, z *zip.Writer, from source, name string) error {
	f, info, err := from.open(ctx, name)
	if err != nil {
		return err
	}
	defer f.Close()
	h := &zip.FileHeader{Name: strings.TrimSuffix(name, "/"), Method: zip.Deflate, Modified: info.modified}
	if info.folder {
		h.Name, h.Method = h.Name+"/", zip.Store
	}
	to, err := z.CreateHeader(h)
	if err != nil || info.folder {
		return err
	}
	_, err = io.Copy(to, f)
	return err
}
