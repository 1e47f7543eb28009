package checkpoints

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"

	"github.com/google/uuid"

	"github.com/detent-ml/detent/master/fault"
)

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

func (f partedFolder) putPart(_ context.Context, name, store string, n int, from io.ReaderAt, size int64) error {
	beside := path.Join(store, "part-"+uuid.NewString())
	err := f.write(beside, from, size)
	if err == nil {
		err = f.Rename(beside, partName(store, n)) // which makes no folder, so that nothing is left of a part that arrives after the removal
	}
	if errors.Is(err, fs.ErrNotExist) {
		return fault.Wrap(fault.Conflict, err, "the upload of file %s was removed", name)
	}
	if err != nil {
		return errors.Join(unwritten(err, name), f.Remove(beside))
	}
	return nil
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

func (f partedFolder) late() bool { return false }

// dropAtOnce is how many names of a folder are read at once.
const dropAtOnce = 1000

// drop removes the folder of an upload. A program may have put millions of files into it, and folders as deep as it likes: the removal stops when its time is over,
// and the next one continues.
func (f partedFolder) drop(ctx context.Context, name, store string) error {
	for {
		again, err := f.removeSome(ctx, store, store)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return unwritten(err, name)
		}
		if !again {
			return nil
		}
	}
}

// removeSome removes some entries of a folder, and the folder when it is empty; more: something is left. Folders within it are moved up into top when they are not empty.
func (f partedFolder) removeSome(ctx context.Context, top, folder string) (more bool, err error) {
	opened, err := f.Open(folder)
	if err != nil {
		return false, err
	}
	names, err := opened.Readdirnames(dropAtOnce)
	if err = errors.Join(ignoreEnd(err), opened.Close()); err != nil {
		return false, err
	}
	for _, n := range names {
		if err := ctx.Err(); err != nil {
			return true, fault.Wrap(fault.Unavailable, err, "the removal of the parts takes longer than it may; it goes on later")
		}
		entry := path.Join(folder, n)
		switch err := f.Remove(entry); {
		case err == nil || errors.Is(err, fs.ErrNotExist):
		case folder != top:
			if err := f.Rename(entry, path.Join(top, "moved-"+uuid.NewString())); err != nil {
				return true, err
			}
		default:
			if _, err := f.removeSome(ctx, top, entry); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return true, err
			}
		}
	}
	if len(names) > 0 {
		return true, nil
	}
	return false, f.Remove(folder)
}

func ignoreEnd(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}
