// Package unpack extracts a tar.gz into a folder, and never outside of it.
//
// Users upload the archives. Absolute names, names and links that lead out of the folder,
// devices and sockets are rejected, and files are created through an os.Root, with which the
// kernel confines them to the folder even if a check fails. Sizes are limited, so that a small
// archive cannot fill a node's disk.
package unpack

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/klauspost/compress/gzip"
)

// Limits limit the size of the extracted files. Zero means the default.
type Limits struct {
	Bytes   int64 // default 16 GiB
	Entries int   // default 1,000,000
}

func (l Limits) withDefaults() Limits {
	if l.Bytes <= 0 {
		l.Bytes = 16 << 30
	}
	if l.Entries <= 0 {
		l.Entries = 1_000_000
	}
	return l
}

// TarGz extracts an archive into dir, which exists. Owners are not kept: the user of this
// process owns all files.
func TarGz(r io.Reader, dir string, limits Limits) error {
	limits = limits.withDefaults()
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	x := &extraction{root: root, buffer: make([]byte, 64<<10)}
	defer x.leave()
	zipped, err := gzip.NewReader(r)
	if err != nil {
		return fmt.Errorf("the archive is not gzip: %w", err)
	}
	archive := tar.NewReader(zipped)
	for n := 0; ; n++ {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("the archive is damaged: %w", err)
		}
		if n >= limits.Entries {
			return fmt.Errorf("the archive has more than %d entries", limits.Entries)
		}
		if h.Size > limits.Bytes {
			return fmt.Errorf("the unpacked archive would exceed the limit at %q", h.Name)
		}
		limits.Bytes -= h.Size
		if err := x.entry(h, archive); err != nil {
			return fmt.Errorf("cannot unpack %q: %w", h.Name, err)
		}
	}
}

var errOutside = errors.New("the entry would be outside of the folder")

// inside cleans a name and rejects names that lead out of the folder.
func inside(name string) (string, error) {
	if name == "" || strings.HasPrefix(name, "/") || strings.ContainsRune(name, 0) {
		return "", errOutside
	}
	clean := path.Clean(name)
	if clean == ".." || strings.HasPrefix(clean, "../") {
		return "", errOutside
	}
	return clean, nil
}

// linkInside rejects a link that leads out of the folder. ".." is allowed only at its
// beginning, where the parents are known to be folders: after a name, which may be a link, ".."
// may lead anywhere.
func linkInside(name, target string) error {
	if path.IsAbs(target) {
		return errOutside
	}
	named := false
	for part := range strings.SplitSeq(target, "/") {
		if part == ".." && named {
			return errOutside
		}
		named = named || (part != ".." && part != "." && part != "")
	}
	_, err := inside(path.Join(path.Dir(name), target))
	return err
}

// parents makes the folders of a path, none of which may be a link.
func parents(root *os.Root, dir string) error {
	if dir == "." {
		return nil
	}
	for i, c := range dir + "/" {
		if c != '/' {
			continue
		}
		if info, err := root.Lstat(dir[:i]); err == nil && info.Mode().Type() == fs.ModeSymlink {
			return fmt.Errorf("%q is a link, and nothing may be unpacked through a link", dir[:i])
		}
	}
	return root.MkdirAll(dir, 0o755)
}

// An extraction is the state of TarGz.
type extraction struct {
	root   *os.Root
	buffer []byte
	// The folder of the last file is kept open, because most files follow others of their folder. Every entry
	// that is no file leaves it: a link may replace one of its parents.
	inside *os.Root
	path   string
}

func (x *extraction) leave() {
	if x.inside != nil {
		_ = x.inside.Close()
		x.inside = nil
	}
}

// enter opens a folder, and creates it if it is missing.
func (x *extraction) enter(dir string) (err error) {
	if x.inside != nil && x.path == dir {
		return nil
	}
	x.leave()
	if err := parents(x.root, dir); err != nil {
		return err
	}
	x.path = dir
	x.inside, err = x.root.OpenRoot(dir)
	return err
}

func (x *extraction) entry(h *tar.Header, content io.Reader) error {
	root := x.root
	if h.Typeflag == tar.TypeXGlobalHeader {
		return nil
	}
	name, err := inside(h.Name)
	if err != nil {
		return err
	}
	mode := fs.FileMode(h.Mode).Perm()
	if h.Typeflag != tar.TypeReg {
		x.leave()
	}
	if h.Typeflag == tar.TypeDir {
		if err := parents(root, name); err != nil || name == "." {
			return err
		}
		return root.Chmod(name, mode|0o700) // or no files could be created in it
	}
	if name == "." {
		return errOutside
	}
	if h.Typeflag == tar.TypeReg {
		if err := x.enter(path.Dir(name)); err != nil {
			return err
		}
		return x.file(path.Base(name), mode, h, content)
	}
	if err := parents(root, path.Dir(name)); err != nil {
		return err
	}
	switch h.Typeflag {
	case tar.TypeSymlink:
		if err := linkInside(name, h.Linkname); err != nil {
			return fmt.Errorf("a link to %q: %w", h.Linkname, err)
		}
		_ = root.Remove(name) // a later entry replaces an earlier one
		return root.Symlink(h.Linkname, name)
	case tar.TypeLink:
		target, err := inside(h.Linkname)
		if err != nil {
			return fmt.Errorf("a link to %q: %w", h.Linkname, err)
		}
		if info, err := root.Lstat(target); err == nil && info.Mode().Type() == fs.ModeSymlink {
			return fmt.Errorf("%q is a link, which may lead elsewhere from another folder", h.Linkname)
		}
		_ = root.Remove(name)
		return root.Link(target, name)
	}
	return fmt.Errorf("the entry is neither a file, a folder nor a link (type %q)", h.Typeflag)
}

// file writes a file of the folder that is open.
func (x *extraction) file(name string, mode fs.FileMode, h *tar.Header, content io.Reader) error {
	f, err := x.create(name)
	if err != nil {
		return err
	}
	_, err = io.CopyBuffer(struct{ io.Writer }{f}, content, x.buffer)
	if err == nil {
		err = f.Chmod(mode | 0o400)
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return err
	}
	if !h.ModTime.IsZero() {
		_ = x.inside.Chtimes(name, h.ModTime, h.ModTime) // errors are ignored: some file systems have no times
	}
	return nil
}

// create creates a file. A later entry replaces an earlier one, and writes through no link.
func (x *extraction) create(name string) (*os.File, error) {
	const flags = os.O_CREATE | os.O_WRONLY | os.O_EXCL
	f, err := x.inside.OpenFile(name, flags, 0o600)
	if !errors.Is(err, fs.ErrExist) {
		return f, err
	}
	if info, statErr := x.inside.Lstat(name); statErr != nil || info.IsDir() {
		return nil, err
	}
	_ = x.inside.Remove(name)
	return x.inside.OpenFile(name, flags, 0o600)
}
