package logs

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/detent-ml/detent/master/attempts/leftover"
	"github.com/detent-ml/detent/plugins/runner/regular"
)

// A segment is a sequence of numbered lines: a file, or memory if the disk is full.
type segment struct {
	first int64 // number of its first line
	next  int64 // number after its last
	size  int64
	file  *os.File // nil: in memory
	path  string
	mem   []byte
	lost  int64 // number of lost lines that this segment's only line replaces
}

const segmentSuffix = leftover.LogSuffix

func segmentPath(dir string, first int64) string {
	return filepath.Join(dir, fmt.Sprintf("%016d%s", first, segmentSuffix))
}

func createSegment(dir string, first int64) (*segment, error) {
	path := segmentPath(dir, first)
	f, err := regular.Open(path, os.O_CREATE|os.O_RDWR|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	return &segment{first: first, next: first, file: f, path: path}, nil
}

// openSegment reads a segment of an earlier process. An incomplete last line is cut off.
func openSegment(path string) (*segment, error) {
	first, ok := leftover.FirstLine(filepath.Base(path))
	if !ok {
		return nil, fmt.Errorf("%s is no log segment: its name must be a number", path)
	}
	f, err := regular.Open(path, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	content, err := io.ReadAll(io.LimitReader(f, regular.Max)) // a segment is much shorter
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	s := &segment{first: first, next: first, file: f, path: path}
	for {
		end := bytes.IndexByte(content[s.size:], '\n')
		if end < 0 {
			break
		}
		l, err := leftover.ParseLine(content[s.size : s.size+int64(end)])
		if err != nil || l.Number != s.next {
			break
		}
		s.next++
		s.size += int64(end) + 1
	}
	if s.size < int64(len(content)) {
		_ = f.Truncate(s.size)
	}
	return s, nil
}

// write appends encoded lines. An error leaves the segment unchanged.
func (s *segment) write(encoded []byte, lines int64) error {
	if s.file == nil {
		s.mem = append(s.mem, encoded...)
	} else if _, err := s.file.WriteAt(encoded, s.size); err != nil {
		_ = s.file.Truncate(s.size)
		return err
	}
	s.size += int64(len(encoded))
	s.next += lines
	return nil
}

// readAt reads up to len(p) bytes at an offset of the segment.
func (s *segment) readAt(p []byte, offset int64) (int, error) {
	if offset >= s.size {
		return 0, nil
	}
	p = p[:min(int64(len(p)), s.size-offset)]
	if s.file == nil {
		return copy(p, s.mem[offset:]), nil
	}
	n, err := s.file.ReadAt(p, offset)
	if err == io.EOF {
		err = nil
	}
	return n, err
}

func (s *segment) sync() {
	if s.file != nil {
		_ = s.file.Sync() // the next write reports a full or failing disk
	}
}

// remove deletes the segment.
func (s *segment) remove() {
	if s.file != nil {
		_ = s.file.Close()
		_ = os.Remove(s.path)
	}
	s.mem = nil
}
