// Package pack packs folders and files of this machine as the code that det sends with an
// experiment or a command.
//
// Scan reads only names and sizes, so that a folder that is too large is reported with its
// largest parts before any content is read; Read then reads the contents. The order is by name,
// a folder before its contents, so the same folder is packed in the same way everywhere.
//
// A link to a file is packed as that file. A link to a folder is packed as an empty folder,
// with a warning: users often link data sets into a working directory, and do not want to
// upload them. Anything that is neither a file nor a folder is not sent.
package pack

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/detent-ml/detent/cli/internal/ignore"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/v1"
)

// Limit is the maximum number of bytes of files.
const Limit = 95 << 20

// An Entry is a file or a folder that will be sent.
type Entry struct {
	Path  string // as sent, with slashes
	Local string
	Dir   bool
	Size  int64
}

// A Listing is the result of Scan.
type Listing struct {
	Entries  []Entry
	Total    int64
	Warnings []string
}

// Scan lists a context, which may be a folder, a file or empty, and includes, which keep their
// own names at the top level.
func Scan(context string, includes []string) (*Listing, error) {
	l := &Listing{}
	if context != "" {
		if err := l.add(context, ""); err != nil {
			return nil, err
		}
	}
	for _, include := range includes {
		name, err := nameOf(include)
		if err != nil {
			return nil, err
		}
		if err := l.add(include, name); err != nil {
			return nil, err
		}
	}
	if err := l.clashes(); err != nil {
		return nil, err
	}
	if l.Total > Limit {
		return nil, l.tooLarge()
	}
	return l, nil
}

// nameOf is the last part of a path, also for "." and "..".
func nameOf(p string) (string, error) {
	abs, err := filepath.Abs(p)
	if err != nil {
		return "", err
	}
	name := filepath.Base(abs)
	if name == string(filepath.Separator) || filepath.VolumeName(abs)+string(filepath.Separator) == abs {
		return "", fault.New(fault.Invalid, "%s cannot be included: it has no file name", p)
	}
	return name, nil
}

// add lists a root. A folder without a prefix contributes only its contents.
func (l *Listing) add(root, prefix string) error {
	info, err := os.Stat(root)
	if errors.Is(err, fs.ErrNotExist) {
		return fault.New(fault.Invalid, "%s does not exist", root)
	}
	if err != nil {
		return fault.New(fault.Invalid, "cannot pack %s: %w", root, err)
	}
	if info.Mode().IsRegular() {
		name, err := nameOf(root)
		if err != nil {
			return err
		}
		l.file(Entry{Path: name, Local: root, Size: info.Size()})
		return nil
	}
	if !info.IsDir() {
		return fault.New(fault.Invalid, "%s is neither a file nor a folder", root)
	}
	patterns, err := patternsOf(root)
	if err != nil {
		return err
	}
	if prefix != "" {
		l.Entries = append(l.Entries, Entry{Path: prefix, Local: root, Dir: true})
	}
	return l.walk(root, "", prefix, patterns)
}

func patternsOf(root string) (ignore.Patterns, error) {
	text, err := os.ReadFile(filepath.Join(root, ignore.File))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return ignore.Patterns{}, fault.New(fault.Invalid, "cannot read .detignore: %w", err)
	}
	return ignore.Parse(append(ignore.Defaults(), string(text))...), nil
}

// walk lists the contents of the folder rel below root.
func (l *Listing) walk(root, rel, prefix string, patterns ignore.Patterns) error {
	items, err := os.ReadDir(filepath.Join(root, rel)) // in the order of names
	if err != nil {
		return fault.New(fault.Invalid, "cannot pack %s: %w", filepath.Join(root, rel), err)
	}
	for _, item := range items {
		name := path.Join(filepath.ToSlash(rel), item.Name())
		local := filepath.Join(root, rel, item.Name())
		if item.Name() == ignore.File {
			continue
		}
		info, err := os.Stat(local)
		if err != nil {
			if patterns.Ignored(name, false) {
				continue
			}
			if item.Type()&fs.ModeSymlink != 0 && errors.Is(err, fs.ErrNotExist) {
				l.warn("%s is a broken link and is not sent", local)
				continue
			}
			return unreadable(local, err)
		}
		if patterns.Ignored(name, info.IsDir()) {
			continue
		}
		entry := Entry{Path: path.Join(prefix, name), Local: local, Dir: info.IsDir(), Size: info.Size()}
		switch {
		case info.IsDir():
			l.Entries = append(l.Entries, entry)
			if item.Type()&fs.ModeSymlink != 0 {
				l.warn("%s is a link to a folder and is sent empty", local)
			} else if err := l.walk(root, filepath.Join(rel, item.Name()), prefix, patterns); err != nil {
				return err
			}
		case info.Mode().IsRegular():
			l.file(entry)
		default:
			l.warn("%s is neither a file nor a folder and is not sent", local)
		}
	}
	return nil
}

func (l *Listing) file(e Entry) {
	l.Entries = append(l.Entries, e)
	l.Total += e.Size
}

func (l *Listing) warn(format string, args ...any) {
	l.Warnings = append(l.Warnings, fmt.Sprintf(format, args...))
}

func unreadable(local string, err error) error {
	return fault.New(fault.Invalid, "cannot pack %s: %w; make it readable, or exclude it in %s", local, err, ignore.File)
}

// clashes finds two entries at the top level with the same name.
func (l *Listing) clashes() error {
	seen := map[string]string{}
	for _, e := range l.Entries {
		if strings.Contains(e.Path, "/") {
			continue
		}
		if other, ok := seen[e.Path]; ok {
			return fault.New(fault.Invalid, "both %s and %s would become %q; rename one of them", other, e.Local, e.Path)
		}
		seen[e.Path] = e.Local
	}
	return nil
}

// tooLarge is the error for a listing over the limit. It names the largest parts, so that the
// user knows what to exclude.
func (l *Listing) tooLarge() error {
	sizes := map[string]int64{}
	for _, e := range l.Entries {
		if e.Dir {
			continue
		}
		top, _, nested := strings.Cut(e.Path, "/")
		if nested {
			top += "/"
		}
		sizes[top] += e.Size
	}
	names := slices.SortedFunc(maps.Keys(sizes), func(a, b string) int {
		return cmp.Or(cmp.Compare(sizes[b], sizes[a]), strings.Compare(a, b))
	})
	var b strings.Builder
	fmt.Fprintf(&b, "the files to send have %s; at most %s may be sent. The largest:", Size(l.Total), Size(Limit))
	for _, name := range names[:min(5, len(names))] {
		fmt.Fprintf(&b, "\n  %10s  %s", Size(sizes[name]), name)
	}
	fmt.Fprintf(&b, "\nName what is not needed in %s, one pattern per line as in .gitignore.", ignore.File)
	return fault.New(fault.TooLarge, "%s", b.String())
}

// The types of tar entries.
const (
	typeFile = '0'
	typeDir  = '5'
)

// File modes as in stat: the permissions with the type of the file.
const (
	kindFile = 0o100000
	kindDir  = 0o040000
)

// Read reads the contents. It calls progress, which may be nil, after each file.
func (l *Listing) Read(progress func(files int, bytes int64)) ([]v1.File, error) {
	files := make([]v1.File, 0, len(l.Entries))
	var done int64
	for _, e := range l.Entries {
		f, err := e.read()
		if err != nil {
			return nil, err
		}
		files = append(files, f)
		if done += int64(len(f.Content)); done > Limit {
			return nil, l.tooLarge()
		}
		if progress != nil {
			progress(len(files), done)
		}
	}
	return files, nil
}

func (e Entry) read() (v1.File, error) {
	info, err := os.Stat(e.Local)
	if err != nil {
		return v1.File{}, unreadable(e.Local, err)
	}
	f := v1.File{Path: e.Path, Mtime: info.ModTime().Unix(), Type: typeDir, Mode: int(info.Mode().Perm()) | kindDir, Content: []byte{}}
	if e.Dir {
		return f, nil
	}
	f.Type, f.Mode = typeFile, int(info.Mode().Perm())|kindFile
	file, err := os.Open(e.Local)
	if err != nil {
		return v1.File{}, unreadable(e.Local, err)
	}
	defer file.Close()
	f.Content, err = io.ReadAll(io.LimitReader(file, Limit+1)) // the file may have grown since Scan
	if err != nil {
		return v1.File{}, unreadable(e.Local, err)
	}
	return f, nil
}

// Size formats a number of bytes for users, in powers of 1024 with one decimal.
func Size(n int64) string {
	f := float64(n)
	for _, unit := range []string{"", "K", "M", "G", "T", "P"} {
		if f < 1024 {
			return fmt.Sprintf("%3.1f%sB", f, unit)
		}
		f /= 1024
	}
	return fmt.Sprintf("%.1fEB", f)
}
