package checkpoints

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/sleep"
)

// Large files arrive in parts, each with a request of its own, in any order. Where the store signs addresses, programs send the parts
// there, and the master sees none of them; else they send them to the master. Nobody reads the file before it is complete.

const (
	MaxUploadParts = 5000           // of a file: their addresses have a kilobyte each
	maxUploads     = 100            // of a run or a model at once
	uploadLife     = 12 * time.Hour // how long a signed address can be used for a part
	linkLife       = time.Hour      // and for a download
	uploadsLast    = 2 * 24 * time.Hour
	dropWithin     = 30 * time.Second  // the removal of the parts of one file: its storage may be away
	dropAllWithin  = 2 * time.Minute   // and of those of all, for whose end other chores wait
	holdLasts      = time.Minute       // for which others wait after the master that holds an upload has died
	holdWait       = 100 * time.Second // for another request: MLflow's client waits 120 seconds for an answer
)

// A PartedBucket is an object storage that the master can write in parts.
type PartedBucket interface {
	WritableBucket
	BeginParts(ctx context.Context, key string) (id string, err error)
	// SignParts returns addresses for parts 1 to n, and SignGet one for an object; none if the store needs credentials.
	SignParts(ctx context.Context, key, id string, n int, life time.Duration) ([]string, error)
	SignGet(ctx context.Context, key string, life time.Duration) (string, error)
	PutPart(ctx context.Context, key, id string, n int, from io.ReaderAt, size int64) error
	// MeasureParts returns how many bytes parts 1 to n have together, with the errors of FinishParts.
	MeasureParts(ctx context.Context, key, id string, n int, most int64) (size int64, err error)
	FinishParts(ctx context.Context, key, id string, n int, most int64) (size int64, err error)
	DropParts(ctx context.Context, key, id string) error
}

// partedTarget is a target that can be written in parts. An upload has the name that begin gives it.
type partedTarget interface {
	target
	begin(ctx context.Context, name string) (store string, err error)
	signParts(ctx context.Context, name, store string, n int) ([]string, error)
	putPart(ctx context.Context, name, store string, n int, from io.ReaderAt, size int64) error
	measure(ctx context.Context, name, store string, n int, most int64) (size int64, err error)
	finish(ctx context.Context, name, store string, n int, most int64) (size int64, err error)
	tidy(ctx context.Context, name, store string) error // removes what finish has left
	drop(ctx context.Context, name, store string) error
	link(ctx context.Context, name string) (string, error)
}

// BeginUpload begins a file of so many parts. Each part has a signed address, or else the master gets the parts.
func (d Deps) BeginUpload(ctx context.Context, id, name string, parts int) (upload string, addresses []string, err error) {
	if parts < 1 || parts > MaxUploadParts {
		return "", nil, fault.New(fault.Invalid, "num_parts: %d is not between 1 and %d; send larger parts (MLFLOW_MULTIPART_UPLOAD_CHUNK_SIZE)", parts, MaxUploadParts)
	}
	to, err := d.partsOf(ctx, id, true)
	if err != nil {
		return "", nil, err
	}
	defer to.Close()
	if err := d.admitLogged(ctx, id, name, 0); err != nil {
		return "", nil, err
	}
	store, err := to.begin(ctx, name)
	if err != nil {
		return "", nil, err
	}
	if addresses, err = to.signParts(ctx, name, store, parts); err == nil {
		upload, err = addUpload(ctx, d.DB, id, name, parts, store)
	}
	if err != nil {
		return "", nil, errors.Join(err, to.drop(context.WithoutCancel(ctx), name, store))
	}
	return upload, addresses, nil
}

// WritePart writes a part of a file.
func (d Deps) WritePart(ctx context.Context, id, name, upload string, n int, from io.ReaderAt, size int64) error {
	u, err := uploadOf(ctx, d.DB, id, name, upload)
	switch {
	case err != nil:
		return err
	case u.Finished:
		return fault.New(fault.Conflict, "file %s is complete already", name)
	case u.Size != nil:
		return fault.New(fault.Conflict, "file %s is being completed; to send other parts, begin another upload", name)
	case n < 1 || n > u.Parts:
		return fault.New(fault.Invalid, "part: %d is not between 1 and %d", n, u.Parts)
	}
	if err := d.admitLogged(ctx, id, name, size); err != nil {
		return err
	}
	to, err := d.partsOf(ctx, id, false)
	if err != nil {
		return err
	}
	defer to.Close()
	return to.putPart(ctx, name, u.Store, n, from, size)
}

// FinishUpload makes the file of its parts, and records it. A client that got no answer asks again: then the file may be there already, or another
// request still makes it, for which this one waits.
func (d Deps) FinishUpload(ctx context.Context, id, name, upload string) error {
	for end := time.Now().Add(holdWait); ; {
		u, err := uploadOf(ctx, d.DB, id, name, upload)
		if err != nil || u.Finished {
			return err
		}
		held, err := d.holding(ctx, upload, func(ctx context.Context) error { return d.finishHeld(ctx, id, name, upload) })
		if held || err != nil {
			return err
		}
		if sleep.For(ctx, time.Second) != nil || time.Now().After(end) {
			return fault.New(fault.Unavailable, "another request is completing file %s or removing its parts; try again", name)
		}
	}
}

// finishHeld is FinishUpload while no other request completes the file.
func (d Deps) finishHeld(ctx context.Context, id, name, upload string) error {
	u, err := uploadOf(ctx, d.DB, id, name, upload)
	if err != nil || u.Finished {
		return err
	}
	s, err := stateOfLogged(ctx, d.DB, id, name)
	if err == nil {
		err = s.check(id)
	}
	if err != nil {
		return err
	}
	to, err := d.partsOf(ctx, id, false)
	if err != nil {
		return err
	}
	defer to.Close()
	size, err := d.whole(ctx, to, u, maxLoggedBytes-s.Size)
	if err != nil {
		return err
	}
	if err = d.recordWritten(ctx, to, id, name, size); err != nil {
		switch fault.CodeOf(err) {
		case fault.Conflict, fault.Invalid, fault.TooLarge: // it cannot be recorded later
			err = errors.Join(err, d.removeUnrecorded(ctx, to, id, name))
		}
		return err
	}
	if err = to.tidy(ctx, name, u.Store); err != nil {
		return err
	}
	return finishUpload(ctx, d.DB, upload)
}

// whole makes the file of its parts, and returns its size. If the parts are gone, an earlier request has made the file but could not record it:
// then the file has the size that this request stored before.
func (d Deps) whole(ctx context.Context, to partedTarget, u upload, most int64) (int64, error) {
	size, err := to.measure(ctx, u.Name, u.Store, u.Parts, most)
	if err == nil {
		err = sizeUpload(ctx, d.DB, u.ID, size)
	}
	if err == nil {
		size, err = to.finish(ctx, u.Name, u.Store, u.Parts, most)
	}
	if err == nil || u.Size == nil || !fault.Is(err, fault.NotFound) && !fault.Is(err, fault.Invalid) {
		return size, err
	}
	body, info, missing := to.open(ctx, u.Name)
	if missing != nil {
		return 0, err
	}
	if info.folder || info.size != *u.Size {
		return 0, errors.Join(err, body.Close())
	}
	return info.size, body.Close()
}

// holding calls fn unless another request holds the upload: held is false then. It holds the upload until fn returns.
func (d Deps) holding(ctx context.Context, upload string, fn func(ctx context.Context) error) (held bool, err error) {
	holder := uuid.NewString()
	if held, err = holdUpload(ctx, d.DB, upload, holder); err != nil || !held {
		return false, err
	}
	working, cancel := context.WithCancel(ctx)
	var renewing sync.WaitGroup
	renewing.Go(func() {
		for range sleep.Every(working, holdLasts/4) {
			if ours, err := renewUpload(working, d.DB, upload, holder); err == nil && !ours {
				cancel() // the database was away, and another request holds it now
			}
		}
	})
	err = fn(working)
	cancel()
	renewing.Wait()
	return true, errors.Join(err, releaseUpload(context.WithoutCancel(ctx), d.DB, upload, holder))
}

// DropUpload removes the parts of a file that is not complete.
func (d Deps) DropUpload(ctx context.Context, id, name, upload string) error {
	_, err := uploadOf(ctx, d.DB, id, name, upload)
	if fault.Is(err, fault.NotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	held, err := d.holding(ctx, upload, func(ctx context.Context) error {
		u, err := uploadOf(ctx, d.DB, id, name, upload)
		if err != nil || u.Finished {
			return database.Missing(err, nil)
		}
		return d.dropParts(ctx, u)
	})
	if err == nil && !held {
		err = fault.New(fault.Conflict, "file %s is being completed, or another request removes its parts", name)
	}
	return err
}

func (d Deps) dropParts(ctx context.Context, u upload) error {
	if !u.Finished {
		to, err := d.partsOf(ctx, u.Checkpoint, false)
		if err == nil {
			err = to.drop(ctx, u.Name, u.Store)
			if err == nil && u.Size != nil { // the store may have made the file
				err = d.removeUnrecorded(ctx, to, u.Checkpoint, u.Name)
			}
			err = errors.Join(err, to.Close())
		}
		if err != nil && !fault.Is(err, fault.NotFound) { // what is not there needs no removal
			return err
		}
	}
	return removeUpload(ctx, d.DB, u.ID)
}

// DropUploads removes what programs have begun to send and have not completed within two days, or whose files are being removed. The uploads
// that it cannot remove are the last ones that it tries next time, so that the storage of one user does not keep the others' parts.
func (d Deps) DropUploads(ctx context.Context) (n int, err error) {
	ctx, cancel := context.WithTimeout(ctx, dropAllWithin)
	defer cancel()
	list, err := oldUploads(ctx, d.DB, uploadsLast)
	for _, u := range list {
		if ctx.Err() != nil {
			break
		}
		if failed := d.dropOld(ctx, u); failed != nil {
			err = errors.Join(err, fmt.Errorf("the parts of %s of checkpoint %s: %w", u.Name, u.Checkpoint, failed))
			continue
		}
		n++
	}
	return n, err
}

func (d Deps) dropOld(ctx context.Context, u upload) error {
	within, cancel := context.WithTimeout(ctx, dropWithin)
	defer cancel()
	_, err := d.holding(within, u.ID, func(ctx context.Context) error {
		now, err := uploadOf(ctx, d.DB, u.Checkpoint, u.Name, u.ID)
		if err != nil {
			return database.Missing(err, nil)
		}
		return d.dropParts(ctx, now)
	})
	if err != nil {
		err = errors.Join(err, tryUploadLater(context.WithoutCancel(ctx), d.DB, u.ID))
	}
	return err
}

// LinkLogged is the signed address of a file, and its size; "" if its store signs none.
func (d Deps) LinkLogged(ctx context.Context, id, name string) (address string, size int64, err error) {
	known, err := loggedSize(ctx, d.DB, id, name)
	if err == nil && known == nil {
		err = noArtifact(name)
	}
	if err != nil {
		return "", 0, err
	}
	to, err := d.partsOf(ctx, id, false)
	if fault.Is(err, fault.Unimplemented) {
		return "", *known, nil
	}
	if err != nil {
		return "", 0, err
	}
	defer to.Close()
	address, err = to.link(ctx, name)
	return address, *known, err
}

// partsOf opens the storage of logged files, and creates its folder if that is asked.
func (d Deps) partsOf(ctx context.Context, id string, create bool) (partedTarget, error) {
	k, err := loggedByID(ctx, d.DB, id)
	if err != nil {
		return nil, err
	}
	to, err := d.openTarget(ctx, k, create)
	if err != nil {
		return nil, err
	}
	if o, objects := to.(objectSource); objects {
		bucket, can := o.bucket.(PartedBucket)
		if !can {
			return nil, errors.Join(fault.New(fault.Unimplemented, "this master writes no files to the storage of the experiment"), to.Close())
		}
		return partedObjects{o, bucket, !d.Unsigned}, nil
	}
	return partedFolder{to.(folderSource)}, nil
}

// partedObjects is a checkpoint in a bucket.
type partedObjects struct {
	objectSource
	to    PartedBucket
	signs bool
}

func (o partedObjects) begin(ctx context.Context, name string) (string, error) {
	return o.to.BeginParts(ctx, o.prefix+name)
}

func (o partedObjects) signParts(ctx context.Context, name, store string, n int) ([]string, error) {
	if !o.signs {
		return nil, nil
	}
	return o.to.SignParts(ctx, o.prefix+name, store, n, uploadLife)
}

func (o partedObjects) putPart(ctx context.Context, name, store string, n int, from io.ReaderAt, size int64) error {
	return o.to.PutPart(ctx, o.prefix+name, store, n, from, size)
}

func (o partedObjects) measure(ctx context.Context, name, store string, n int, most int64) (int64, error) {
	return o.to.MeasureParts(ctx, o.prefix+name, store, n, most)
}

func (o partedObjects) tidy(context.Context, string, string) error { return nil } // the store has removed the parts

func (o partedObjects) finish(ctx context.Context, name, store string, n int, most int64) (int64, error) {
	return o.to.FinishParts(ctx, o.prefix+name, store, n, most)
}

func (o partedObjects) drop(ctx context.Context, name, store string) error {
	return o.to.DropParts(ctx, o.prefix+name, store)
}

func (o partedObjects) link(ctx context.Context, name string) (string, error) {
	if !o.signs {
		return "", nil
	}
	return o.to.SignGet(ctx, o.prefix+name, linkLife)
}

// partedFolder is a checkpoint in a folder. The parts of an upload are files of a folder beside the others.
type partedFolder struct{ folderSource }

func partName(store string, n int) string { return path.Join(store, fmt.Sprintf("%05d", n)) }

func (f partedFolder) begin(_ context.Context, name string) (string, error) {
	store := "detent-upload-" + uuid.NewString()
	if err := f.Mkdir(store, 0o755); err != nil {
		return "", unwritten(err, name)
	}
	return store, nil
}

func (f partedFolder) signParts(context.Context, string, string, int) ([]string, error) {
	return nil, nil
}

func (f partedFolder) link(context.Context, string) (string, error) { return "", nil }

func (f partedFolder) putPart(ctx context.Context, name, store string, n int, from io.ReaderAt, size int64) error {
	if _, err := f.Stat(store); errors.Is(err, fs.ErrNotExist) {
		return fault.Wrap(fault.Conflict, err, "the upload of file %s was removed", name)
	}
	return f.put(ctx, partName(store, n), from, size)
}

func (f partedFolder) measure(_ context.Context, _, store string, n int, most int64) (int64, error) {
	_, size, err := f.sizes(store, n, most)
	return size, err
}

// finish copies the parts into one file and moves it to its place. The parts, and what failed tries have left, stay until tidy or drop.
func (f partedFolder) finish(ctx context.Context, name, store string, n int, most int64) (int64, error) {
	sizes, size, err := f.sizes(store, n, most)
	if err != nil {
		return 0, err
	}
	beside := path.Join(store, "whole-"+uuid.NewString())
	file, err := f.OpenFile(beside, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return 0, unwritten(err, name)
	}
	for i := 0; i < n && err == nil; i++ {
		err = f.appendTo(ctx, file, partName(store, i+1), sizes[i])
	}
	if err = errors.Join(err, file.Close()); err == nil {
		err = f.moveTo(beside, name)
	}
	if err != nil {
		if fault.CodeOf(err) == fault.Internal {
			err = unwritten(err, name)
		}
		return 0, errors.Join(err, f.Remove(beside))
	}
	return size, nil
}

func (f partedFolder) tidy(ctx context.Context, name, store string) error {
	return f.drop(ctx, name, store)
}

// sizes are the sizes of the parts, and of all of them together. A task may have put anything in the place of a part.
func (f partedFolder) sizes(store string, n int, most int64) (each []int64, all int64, err error) {
	for i := range n {
		info, err := f.Stat(partName(store, i+1))
		if err != nil {
			return nil, 0, fault.Wrap(fault.Invalid, err, "part %d of %d has not arrived", i+1, n)
		}
		if !info.Mode().IsRegular() {
			return nil, 0, fault.New(fault.Invalid, "part %d of %d is not a regular file; send the part again", i+1, n)
		}
		each, all = append(each, info.Size()), all+info.Size()
	}
	if all > most {
		return nil, 0, fault.New(fault.TooLarge, "the parts have %d bytes together; %d are allowed", all, most)
	}
	return each, all, nil
}

// appendTo copies a part of this size, piece by piece, so that the time limit of the request ends the copy of a large part.
func (f partedFolder) appendTo(ctx context.Context, file *os.File, part string, size int64) error {
	const piece = 64 << 20
	from, info, err := f.open(ctx, part)
	if err != nil {
		return err
	}
	defer from.Close()
	if info.folder || info.size != size {
		return fault.New(fault.Conflict, "part %s changed while the master copied the parts; send the part again", path.Base(part))
	}
	for size > 0 {
		if err := ctx.Err(); err != nil {
			return fault.Wrap(fault.Unavailable, err, "the copy of the parts takes longer than a request may take; use smaller files, or try again when the storage is faster")
		}
		n, err := io.CopyN(file, from, min(size, piece))
		if size -= n; errors.Is(err, io.EOF) {
			return fault.Wrap(fault.Conflict, err, "part %s became shorter while the master copied the parts; send the part again", path.Base(part))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (f partedFolder) drop(_ context.Context, name, store string) error {
	if err := f.RemoveAll(store); err != nil {
		return unwritten(err, name)
	}
	return nil
}
