package checkpoints

import (
	"context"
	"errors"
	"io"
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
	maxKeptUploads = 20_000         // with those whose rows stay because parts may come late
	uploadLife     = 12 * time.Hour // how long a signed address can be used for a part
	linkLife       = time.Hour      // and for a download
	lateBy         = time.Hour      // and how long a part that began then may take
	uploadsLast    = 2 * 24 * time.Hour
	dropWithin     = 30 * time.Second   // the removal of the parts of one file: its storage may be away
	dropAllWithin  = 2 * time.Minute    // and of those of all, for whose end other chores wait
	maxDropErrors  = 10                 // of which the log tells
	abandonedLast  = 7 * 24 * time.Hour // for which the parts of a deleted experiment are tried again
	holdLasts      = time.Minute        // for which others wait after the master that holds an upload has died
	holdWait       = 100 * time.Second  // for another request: MLflow's client waits 120 seconds for an answer
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
	// LateParts reports whether the store accepts parts also after FinishParts or DropParts.
	LateParts() bool
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
	late() bool // parts may come after finish or drop
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
	if upload, err = addUpload(ctx, d.DB, id, name, parts); err != nil {
		return "", nil, err
	}
	if addresses, err = d.beginParts(ctx, to, name, upload, parts); err != nil {
		return "", nil, errors.Join(err, removeUpload(context.WithoutCancel(ctx), d.DB, upload))
	}
	return upload, addresses, nil
}

// beginParts begins the parts of an upload in the store, and records the store's name of them.
func (d Deps) beginParts(ctx context.Context, to partedTarget, name, upload string, parts int) (addresses []string, err error) {
	store, err := to.begin(ctx, name)
	if err != nil {
		return nil, err
	}
	if err = startUpload(ctx, d.DB, upload, store, to.late()); err == nil {
		addresses, err = to.signParts(ctx, name, store, parts)
	}
	if err != nil {
		err = errors.Join(err, to.drop(context.WithoutCancel(ctx), name, store))
	}
	return addresses, err
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
	if err := countPart(ctx, d.DB, upload, size); err != nil {
		return err
	}
	return to.putPart(ctx, name, u.Store, n, from, size)
}

// FinishUpload makes the file of its parts, and records it. A client that got no answer asks again: then the file may be there already, or another
// request still makes it, for which this one waits. may is asked while no other request completes the file and nobody can register it.
func (d Deps) FinishUpload(ctx context.Context, id, name, upload string, may func(context.Context) error) error {
	for end := time.Now().Add(holdWait); ; {
		u, err := uploadOf(ctx, d.DB, id, name, upload)
		if err != nil || u.Finished {
			return err
		}
		held, err := d.holding(ctx, upload, func(ctx context.Context) error {
			if err := may(ctx); err != nil {
				return err
			}
			return d.finishHeld(ctx, id, name, upload)
		})
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
		case fault.Conflict, fault.Invalid, fault.TooLarge, fault.NotFound: // it cannot be recorded later
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
		err = sizeUpload(ctx, d.DB, u.ID, &size)
	}
	if err == nil {
		size, err = to.finish(ctx, u.Name, u.Store, u.Parts, most)
	}
	switch {
	case u.Size == nil && fault.Is(err, fault.Invalid): // no request has made the file
		return 0, errors.Join(err, sizeUpload(context.WithoutCancel(ctx), d.DB, u.ID, nil))
	case err == nil || u.Size == nil || !fault.Is(err, fault.NotFound) && !fault.Is(err, fault.Invalid):
		return size, err
	}
	body, info, missing := to.open(ctx, u.Name)
	if missing != nil {
		return 0, err
	}
	older := !info.modified.IsZero() && info.modified.Before(u.CreatedAt.Truncate(time.Second)) // stores tell the second
	if info.folder || info.size != *u.Size || older {
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
		left := holdLasts - holdLasts/4
		for range sleep.Every(working, holdLasts/4) {
			within, done := context.WithTimeout(working, holdLasts/8)
			ours, err := renewUpload(within, d.DB, upload, holder)
			done()
			if left -= holdLasts / 4; err == nil && ours {
				left = holdLasts - holdLasts/4
			} else if err == nil || left <= 0 {
				cancel() // the database was away: another request holds it now, or soon
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
		k, err := loggedByID(ctx, d.DB, id)
		if err != nil {
			return database.Missing(err, nil) // the checkpoint was removed: the chore removes the parts, too
		}
		return d.dropParts(ctx, k, u)
	})
	if err == nil && !held {
		err = fault.New(fault.Conflict, "file %s is being completed, or another request removes its parts", name)
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
	return d.partsAt(ctx, k, create)
}

// partsAt is partsOf for a checkpoint of which it is known where its files are.
func (d Deps) partsAt(ctx context.Context, k Checkpoint, create bool) (partedTarget, error) {
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

func (o partedObjects) late() bool { return o.to.LateParts() }

func (o partedObjects) drop(ctx context.Context, name, store string) error {
	return o.to.DropParts(ctx, o.prefix+name, store)
}

func (o partedObjects) link(ctx context.Context, name string) (string, error) {
	if !o.signs {
		return "", nil
	}
	return o.to.SignGet(ctx, o.prefix+name, linkLife)
}
