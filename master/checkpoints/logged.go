package checkpoints

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/rest"
)

// Files that programs log through the master (package mlflow) are in the storage of their experiment, in a checkpoint of its own kind:
// one has the files that a run logs, another those of a model. The master writes these files, so it removes them also for experiments
// whose programs run elsewhere.

// Limits of what programs log through the master.
const (
	MaxLoggedFile  = 2<<30 - 1 // bytes of one file: the share of one user in rest's spool
	maxLoggedFiles = 10_000    // of a run or a model
	maxLoggedBytes = 1 << 40   // of all of them
	maxLoggedNames = 1 << 20   // bytes of their names
	maxLoggedName  = 800       // bytes of a name: a key of S3 has 1024 with its prefix
	maxLoggedPart  = 255       // bytes of a name between slashes: the limit of file systems
)

// A WritableBucket is an object storage that the master can write.
type WritableBucket interface {
	Bucket
	// Put writes one object.
	Put(ctx context.Context, key string, from io.ReaderAt, size int64) error
	// Remove removes one object; a missing one is no error.
	Remove(ctx context.Context, key string) error
}

// target is a source whose files the master writes.
type target interface {
	source
	put(ctx context.Context, name string, from io.ReaderAt, size int64) error
	remove(ctx context.Context, name string) error
}

// CheckLoggedName rejects names of files that are no plain paths within a folder.
func CheckLoggedName(name string) error {
	bad := func(why string) error { return fault.New(fault.Invalid, "Invalid path %q: %s", fault.Clip(name), why) }
	switch {
	case name == "":
		return bad("it is empty")
	case len(name) > maxLoggedName:
		return fault.New(fault.Invalid, "Invalid path %q: it has %d bytes; %d are allowed", fault.Clip(name), len(name), maxLoggedName)
	case !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl):
		return bad("it has control characters, or is no UTF-8")
	case strings.Contains(name, `\`):
		return bad("it has a backslash")
	case path.Clean("/"+name) != "/"+name:
		return bad("it is no plain path within a folder: it has an empty part, a dot or two dots between slashes, or a slash at its end")
	}
	for part := range strings.SplitSeq(name, "/") {
		if len(part) > maxLoggedPart {
			return fault.New(fault.Invalid, "Invalid path %q: a part has %d bytes; %d are allowed", fault.Clip(name), len(part), maxLoggedPart)
		}
	}
	return nil
}

// openTarget opens the storage of logged files for reading and writing, and creates its folder if that is asked.
func (d Deps) openTarget(ctx context.Context, k Checkpoint, create bool) (target, error) {
	raw, kind, err := typedStorage(k)
	if err != nil {
		return nil, err
	}
	if (expconf.CheckpointStorage{Type: kind}).IsObjects() {
		from, err := d.objectSource(ctx, k, kind)
		if err != nil {
			return nil, err
		}
		return from.(objectSource), nil
	}
	from, err := d.openFolder(raw, k, create)
	if err != nil {
		return nil, err
	}
	return from.(folderSource), nil
}

// WriteLogged writes a file, and records it. A file of the same name is replaced.
func (d Deps) WriteLogged(ctx context.Context, id, name string, from io.ReaderAt, size int64) error {
	k, err := loggedByID(ctx, d.DB, id)
	if err == nil {
		err = d.admitLogged(ctx, id, name, size)
	}
	if err != nil {
		return err
	}
	to, err := d.openTarget(ctx, k, true)
	if err != nil {
		return err
	}
	defer to.Close()
	if err := to.put(ctx, name, from, size); err != nil {
		return err
	}
	return d.record(ctx, to, id, name, size)
}

// record records a file that was written, or removes it if it cannot be recorded.
func (d Deps) record(ctx context.Context, to target, id, name string, size int64) error {
	err := d.recordWritten(ctx, to, id, name, size)
	if err != nil {
		err = errors.Join(err, d.removeUnrecorded(ctx, to, id, name))
	}
	return err
}

func (d Deps) recordWritten(ctx context.Context, to target, id, name string, size int64) error {
	return recordLogged(ctx, d.DB, id, name, size, func(ctx context.Context) (int64, error) {
		body, info, err := to.open(ctx, name)
		if errors.Is(err, fs.ErrNotExist) {
			err = fault.Wrap(fault.Conflict, err, "file %s was removed while it was written; try again", name)
		}
		if err != nil {
			return 0, err
		}
		return info.size, body.Close()
	})
}

// removeUnrecorded removes a file that is not recorded: nobody would find it.
func (d Deps) removeUnrecorded(ctx context.Context, to target, id, name string) error {
	ctx = context.WithoutCancel(ctx)
	if known, why := loggedSize(ctx, d.DB, id, name); database.Missing(why, nil) == nil && known == nil {
		return to.remove(ctx, name)
	}
	return nil
}

// RemoveLogged removes a file, or all files of a folder; "": all. It returns how many files it has removed.
func (d Deps) RemoveLogged(ctx context.Context, id, name string) (int, error) {
	if err := d.checkUnregistered(ctx, []string{id}); err != nil {
		return 0, err
	}
	k, err := loggedByID(ctx, d.DB, id)
	if err != nil {
		return 0, err
	}
	names, err := LoggedBelow(ctx, d.DB, id, name)
	if err != nil || len(names) == 0 {
		return 0, err
	}
	to, err := d.openTarget(ctx, k, true)
	if err != nil {
		return 0, err
	}
	defer to.Close()
	const together = 100 // names that one statement forgets
	gone := 0
	for gone < len(names) {
		part := names[gone:min(len(names), gone+together)]
		for i, n := range part {
			if err = to.remove(ctx, n); err != nil {
				part = part[:i]
				break
			}
		}
		err = errors.Join(err, forgetLogged(context.WithoutCancel(ctx), d.DB, id, part))
		gone += len(part)
		if err != nil {
			return gone, err
		}
	}
	return gone, nil
}

// SendLogged sends a file. Browsers store it and do not show it: a program has chosen its content, and the master's address would run
// its scripts in the name of who opens it.
func (d Deps) SendLogged(c *rest.Call, id, name string) error {
	ctx, cancel := c.Within()
	k, err := loggedByID(ctx, d.DB, id)
	var size *int64
	if err == nil {
		size, err = loggedSize(ctx, d.DB, id, name)
	}
	cancel()
	if err == nil && size == nil {
		err = noArtifact(name)
	}
	if err != nil {
		return err
	}
	begun, err := d.beginDownload(c)
	if err != nil {
		return err
	}
	from, err := d.sourceOf(begun.ctx, k)
	if err != nil {
		begun.end()
		return err
	}
	body, info, err := from.open(begun.ctx, name)
	if err != nil {
		_ = from.Close()
		begun.end()
		if errors.Is(err, fs.ErrNotExist) {
			err = fault.Wrap(fault.NotFound, err, "file %s of checkpoint %s is no longer in its storage", name, id)
		}
		return err
	}
	c.Set("Content-Type", "application/octet-stream")
	c.Set("Content-Disposition", "attachment")
	c.Set("X-Content-Type-Options", "nosniff")
	c.SendFrom(c.Paced(func() {
		_ = body.Close()
		_ = from.Close()
		begun.end()
	}, body), int(info.size))
	return nil
}

func noArtifact(name string) error {
	return fault.New(fault.NotFound, "No such artifact: '%s'", fault.Clip(name))
}

// put writes a file beside its place and moves it there, so that nobody reads a part of it.
func (f folderSource) put(_ context.Context, name string, from io.ReaderAt, size int64) error {
	beside := "detent-upload-" + uuid.NewString()
	err := f.write(beside, from, size)
	if err == nil {
		err = f.moveTo(beside, name)
		if errors.Is(err, fs.ErrNotExist) { // a removal has just removed the empty folder
			err = f.moveTo(beside, name)
		}
	}
	if err != nil {
		if gone := f.Remove(beside); !errors.Is(gone, fs.ErrNotExist) {
			err = errors.Join(unwritten(err, name), gone)
		} else {
			err = unwritten(err, name)
		}
		return err
	}
	return nil
}

// write writes a new file.
func (f folderSource) write(name string, from io.ReaderAt, size int64) error {
	file, err := f.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, io.NewSectionReader(from, 0, size))
	return errors.Join(err, file.Close())
}

func (f folderSource) moveTo(beside, name string) error {
	if dir := path.Dir(name); dir != "." {
		if err := f.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	return f.Rename(beside, name)
}

// unwritten is the error for a file that cannot be written.
func unwritten(err error, name string) error {
	for _, clash := range []error{syscall.ENOTDIR, syscall.EISDIR, syscall.EEXIST, syscall.ENOTEMPTY, syscall.ENAMETOOLONG} {
		if errors.Is(err, clash) {
			return fault.Wrap(fault.Invalid, err, "file %s cannot be written: %v", name, fault.Root(err))
		}
	}
	return fault.Wrap(fault.Unavailable, err, "file %s cannot be written to the folder of the checkpoint storage: %v; tell the operators", name, fault.Root(err))
}

// remove removes a file, and the folders that are empty then.
func (f folderSource) remove(_ context.Context, name string) error {
	if err := f.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fault.Wrap(fault.Unavailable, err, "file %s cannot be removed from the folder of the checkpoint storage: %v", name, fault.Root(err))
	}
	for dir := path.Dir(name); dir != "." && f.Remove(dir) == nil; dir = path.Dir(dir) {
	}
	return nil
}

func (o objectSource) put(ctx context.Context, name string, from io.ReaderAt, size int64) error {
	to, can := o.bucket.(WritableBucket)
	if !can {
		return fault.New(fault.Unimplemented, "this master writes no files to the storage of the experiment")
	}
	return to.Put(ctx, o.prefix+name, from, size)
}

func (o objectSource) remove(ctx context.Context, name string) error {
	to, can := o.bucket.(WritableBucket)
	if !can {
		return fault.New(fault.Unimplemented, "this master removes no files from the storage of the experiment")
	}
	return to.Remove(ctx, o.prefix+name)
}
