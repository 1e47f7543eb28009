package launch

import (
	"bufio"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"hash"
	"path"
	"slices"
	"strings"

	"github.com/detent-ml/detent/master/contexts"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/spool"
	v1 "github.com/detent-ml/detent/master/v1"
)

// Limits on submitted code, beside those in package contexts.
const (
	maxCode = 96 << 20 // bytes of all files together
	maxPath = 1024     // bytes of one path

	fileRegular   = 48 // tar's type bytes, which the API uses
	fileDirectory = 53
)

// Code has the submitted files of a request on disk: their contents one after the other, and a
// list of the files in the order of arrival. It is a v1.FileSink.
type Code struct {
	content *spool.File
	index   *spool.File
	count   int

	records *json.Encoder
	out     *bufio.Writer
	names   int
	begin   int64 // of the file that arrives
	sum     hash.Hash
}

// A submittedFile is a line of the list.
type submittedFile struct {
	Path   string
	Type   int
	Mode   int
	Mtime  int64
	Offset int64
	Size   int64
	Sum    []byte
}

// MaxCodeOnDisk returns the maximum size on disk of the code in a body of this many bytes. The list
// of files is larger than the names in it, but has a limit too.
func MaxCodeOnDisk(body int64) int64 {
	return body + min(body*6, contexts.MaxNames+contexts.MaxFiles*200)
}

// NewCode creates the files for code that is about to arrive.
func NewCode(room *spool.Reservation) (*Code, error) {
	c := &Code{sum: sha256.New()}
	var err error
	if c.content, err = room.Create(); err != nil {
		return nil, err
	}
	if c.index, err = room.Create(); err != nil {
		c.Close()
		return nil, err
	}
	c.out = bufio.NewWriter(c.index)
	c.records = json.NewEncoder(c.out)
	return c, nil
}

// none reports whether the request has no files.
func (c *Code) none() bool { return c == nil || c.count == 0 }

// size is the number of bytes of all files.
func (c *Code) size() int64 {
	if c.none() {
		return 0
	}
	return c.content.Size()
}

// Arrived ends the list after the last file.
func (c *Code) Arrived() error { return c.out.Flush() }

// Close removes the code from the disk.
func (c *Code) Close() {
	if c == nil {
		return
	}
	for _, f := range []*spool.File{c.content, c.index} {
		if f != nil {
			_ = f.Close() // the file has no name, so closing removes it
		}
	}
}

// Content receives a part of the current file.
func (c *Code) Content(part []byte) error {
	if c.content.Size()+int64(len(part)) > maxCode {
		return fault.New(fault.TooLarge, "the context is over the limit of %d MB: leave data out with .detignore", maxCode>>20)
	}
	_, _ = c.sum.Write(part) // a hash never fails
	_, err := c.content.Write(part)
	return err
}

// File completes the current file.
func (c *Code) File(f v1.File) error {
	if c.count++; c.count > contexts.MaxFiles {
		return fault.New(fault.TooLarge, "the context has more than %d files: leave data out with .detignore", contexts.MaxFiles)
	}
	if c.names += len(f.Path); c.names > contexts.MaxNames {
		return fault.New(fault.TooLarge, "the names of the context's files have more than %d MB: leave data out with .detignore", contexts.MaxNames>>20)
	}
	line := submittedFile{Path: f.Path, Type: f.Type, Mode: f.Mode, Mtime: f.Mtime, Offset: c.begin, Size: c.content.Size() - c.begin, Sum: c.sum.Sum(nil)}
	c.begin = c.content.Size()
	c.sum.Reset()
	return c.records.Encode(line)
}

// list reads the list of files.
func (c *Code) list() ([]submittedFile, error) {
	files := make([]submittedFile, 0, c.count)
	dec := json.NewDecoder(c.index.Section(0, c.index.Size()))
	for range c.count {
		var f submittedFile
		if err := dec.Decode(&f); err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	return files, nil
}

// checkCode rejects files whose paths would be outside of the task's folder, and sorts the
// files so that a folder comes before its content.
func checkCode(files []submittedFile) error {
	kinds := make(map[string]int, len(files))
	for i := range files {
		f := &files[i]
		clean, err := codePath(f.Path)
		if err != nil {
			return err
		}
		f.Path = clean
		if f.Type != fileRegular && f.Type != fileDirectory {
			return fault.New(fault.Invalid, "the context: %s is of type %d; only files (48) and folders (53) can be sent", fault.Clip(clean), f.Type)
		}
		if f.Type == fileDirectory && f.Size > 0 {
			return fault.New(fault.Invalid, "the context: %s is a folder and must not have content", fault.Clip(clean))
		}
		if _, twice := kinds[clean]; twice {
			return fault.New(fault.Invalid, "the context: %s is in it twice", fault.Clip(clean))
		}
		kinds[clean] = f.Type
	}
	for p := range kinds {
		for up := path.Dir(p); up != "."; up = path.Dir(up) {
			if kind, there := kinds[up]; there && kind != fileDirectory {
				return fault.New(fault.Invalid, "the context: %s is a file, and %s would be inside it", fault.Clip(up), fault.Clip(p))
			}
		}
	}
	slices.SortFunc(files, func(a, b submittedFile) int { return cmp.Compare(a.Path, b.Path) })
	return nil
}

// codePath returns a cleaned path, or an error that says why the path is invalid.
func codePath(p string) (string, error) {
	refuse := func(why string) (string, error) {
		return "", fault.New(fault.Invalid, "the context: the path %q %s; paths are relative to the folder that is submitted", fault.Clip(p), why)
	}
	trimmed := strings.TrimSuffix(strings.TrimPrefix(p, "./"), "/")
	switch {
	case trimmed == "" || trimmed == ".":
		return refuse("is empty")
	case len(p) > maxPath:
		return refuse(fmt.Sprintf("is %d bytes long; the limit is %d", len(p), maxPath))
	case strings.HasPrefix(trimmed, "/"):
		return refuse("is absolute")
	case strings.Count(trimmed, "/") >= contexts.MaxDepth:
		return refuse(fmt.Sprintf("has %d folders and files on it; the limit is %d", strings.Count(trimmed, "/")+1, contexts.MaxDepth))
	case slices.Contains(strings.Split(trimmed, "/"), ".."):
		return refuse("leads out of it with ..")
	case strings.ContainsFunc(trimmed, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return refuse("has control characters in it")
	case path.Clean(trimmed) != trimmed:
		return refuse("is not in its simplest form")
	}
	return trimmed, nil
}
