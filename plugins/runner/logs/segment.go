package logs

import (
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
