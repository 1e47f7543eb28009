package release

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path"
	"slices"
	"strings"
	"time"
)

// An entry is a file of an archive: a file on disk, or text.
type entry struct {
	name string // in the archive
	path string // on disk; "" for text
	text string
	mode int64
}

// pack writes entries in the order of their names, with one time and without an owner.
func pack(file string, entries []entry, at time.Time, level int) (err error) {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	z, err := gzip.NewWriterLevel(f, level)
	if err != nil {
		return err
	}
	if err := writeTar(z, entries, at); err != nil {
		return err
	}
	return z.Close()
}

// writeTar writes entries and their parent folders.
func writeTar(out io.Writer, entries []entry, at time.Time) error {
	slices.SortFunc(entries, func(a, b entry) int { return strings.Compare(a.name, b.name) })
	w := tar.NewWriter(out)
	made := map[string]bool{".": true}
	for _, e := range entries {
		if err := writeFolders(w, path.Dir(e.name), made, at); err != nil {
			return err
		}
		if err := e.write(w, at); err != nil {
			return err
		}
	}
	return w.Close()
}

func writeFolders(w *tar.Writer, dir string, made map[string]bool, at time.Time) error {
	if made[dir] {
		return nil
	}
	if err := writeFolders(w, path.Dir(dir), made, at); err != nil {
		return err
	}
	made[dir] = true
	mode := int64(0o755)
	if dir == "tmp" {
		mode = 0o1777
	}
	return w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: dir + "/", Mode: mode, ModTime: at, Format: tar.FormatPAX})
}

func (e entry) write(w *tar.Writer, at time.Time) error {
	h := &tar.Header{Typeflag: tar.TypeReg, Name: e.name, Mode: e.mode, ModTime: at, Size: int64(len(e.text)), Format: tar.FormatPAX}
	if e.path == "" {
		if err := w.WriteHeader(h); err != nil {
			return err
		}
		_, err := io.WriteString(w, e.text)
		return err
	}
	f, err := os.Open(e.path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	h.Size = info.Size()
	if err := w.WriteHeader(h); err != nil {
		return err
	}
	_, err = io.Copy(w, f)
	return err
}
