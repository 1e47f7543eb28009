package logs

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/detent-ml/detent/master/attempts/leftover"
	v1 "github.com/detent-ml/detent/master/v1"
)

// Limits limit the size of a Backlog. Zero means the default.
type Limits struct {
	Disk    int64 // bytes of segments, default 1 GiB
	Memory  int64 // bytes while the disk is full, default 8 MiB
	Segment int64 // bytes of one segment, default 8 MiB
}

func (l Limits) withDefaults() Limits {
	l.Disk = cmp.Or(max(l.Disk, 0), 1<<30)
	l.Memory = cmp.Or(max(l.Memory, 0), 8<<20)
	l.Segment = cmp.Or(max(l.Segment, 0), 8<<20)
	l.Segment = min(l.Segment, max(l.Disk/4, 1))
	return l
}

// A Backlog stores the lines that no master has accepted yet. One goroutine may read while others
// append.
type Backlog struct {
	dir    string
	limits Limits

	mu       sync.Mutex
	segments []*segment // in order; new lines are appended to the last
	cursor   cursor
	changed  chan struct{} // closed by the next Append
	full     bool          // new lines are stored in memory
	scratch  []byte
	reading  []byte
}

// maxRecord is larger than any line in a segment.
const maxRecord = 64 << 10

// A cursor is the position of the reader.
type cursor struct {
	seg    *segment
	offset int64
	number int64
}

// NewBacklog makes the backlog of a log in a folder, which it creates if necessary.
func NewBacklog(dir string, limits Limits) *Backlog {
	s := &Backlog{dir: dir, limits: limits.withDefaults(), changed: make(chan struct{})}
	s.roll(0)
	return s
}

// Dir is the folder of the backlog.
func (s *Backlog) Dir() string { return s.dir }

// Append numbers and stores lines. It never fails: lines that cannot be stored are counted, and
// a notice replaces them.
func (s *Backlog) Append(lines ...Line) {
	if len(lines) == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(lines) > 0 {
		active := s.active()
		if active.size >= s.limits.Segment || (active.file == nil && active.size >= s.limits.Memory/8) {
			active.sync()
			s.roll(active.next)
			active = s.active()
		}
		// As many lines as fit into the segment, and at least one.
		s.scratch = s.scratch[:0]
		n := 0
		for n < len(lines) && (n == 0 || active.size+int64(len(s.scratch)) < s.limits.Segment) {
			lines[n].Number = active.next + int64(n)
			s.scratch = lines[n].AppendTo(s.scratch)
			n++
		}
		if err := active.write(s.scratch, int64(n)); err != nil {
			s.toMemory(err)
			continue
		}
		s.full = s.full && active.file == nil
		lines = lines[n:]
	}
	s.bound()
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *Backlog) active() *segment { return s.segments[len(s.segments)-1] }

// roll begins a new segment, on disk if possible.
func (s *Backlog) roll(first int64) {
	err := os.MkdirAll(s.dir, 0o700)
	if err == nil {
		var seg *segment
		if seg, err = createSegment(s.dir, first); err == nil {
			s.segments = append(s.segments, seg)
			return
		}
	}
	s.toMemory(err)
}

// toMemory begins a segment in memory; its first line says why.
func (s *Backlog) toMemory(why error) {
	var first int64
	seg := &segment{}
	if n := len(s.segments); n > 0 {
		active := s.active()
		first = active.next
		seg.first, seg.next = first, first
		if active.first == active.next {
			s.replace(active, seg)
			s.segments = s.segments[:n-1]
			active.remove()
		}
	}
	s.segments = append(s.segments, seg)
	if s.full {
		return
	}
	s.full = true
	tell := own(v1.LogLevelWarning, fmt.Sprintf(
		"cannot write log lines to disk (%v); up to %d MiB of them are kept in memory until a master accepts them", why, s.limits.Memory>>20))
	tell.Number = first
	_ = seg.write(tell.AppendTo(nil), 1) // writes to memory return no errors
}

// bound drops the oldest lines if there are too many.
func (s *Backlog) bound() {
	var disk, mem int64
	for _, seg := range s.segments {
		if seg.file != nil {
			disk += seg.size
		} else if seg.lost == 0 {
			mem += seg.size
		}
	}
	for i := 0; i < len(s.segments)-1 && (disk > s.limits.Disk || mem > s.limits.Memory); i++ {
		seg := s.segments[i]
		switch {
		case seg.lost > 0:
		case seg.file != nil && disk > s.limits.Disk:
			disk -= seg.size
			s.drop(i, "because no master accepted them before the disk space for logs was used up")
		case seg.file == nil && mem > s.limits.Memory:
			mem -= seg.size
			s.drop(i, "because the disk is full")
		}
	}
	s.mergeNotices()
}

// drop replaces a segment by a notice.
func (s *Backlog) drop(i int, why string) {
	seg := s.segments[i]
	if seg.next == seg.first {
		return
	}
	n := notice(seg.first, seg.next, why)
	s.replace(seg, n)
	s.segments[i] = n
	seg.remove()
}

// mergeNotices merges adjacent notices.
func (s *Backlog) mergeNotices() {
	for i := 0; i+1 < len(s.segments)-1; {
		a, b := s.segments[i], s.segments[i+1]
		if a.lost == 0 || b.lost == 0 || s.cursor.seg == a && s.cursor.offset > 0 {
			i++
			continue
		}
		n := notice(a.first, b.next, "because no master accepted them in time")
		s.replace(a, n)
		s.replace(b, n)
		s.segments = slices.Replace(s.segments, i, i+2, n)
	}
}

// replace replaces segments, and keeps the reader's position.
func (s *Backlog) replace(old, by *segment) {
	if s.cursor.seg == old {
		s.cursor = cursor{seg: by, number: by.first}
	}
}

// notice replaces the lines [from, to): one line, with the last of their numbers.
func notice(from, to int64, why string) *segment {
	l := own(v1.LogLevelWarning, fmt.Sprintf("%d lines of output are missing here: they were lost %s", to-from, why))
	l.Number = to - 1
	return &segment{first: from, next: to, lost: to - from, mem: l.AppendTo(nil), size: int64(len(l.AppendTo(nil)))}
}

// own makes a line of the runner.
func own(level v1.LogLevel, text string) Line {
	return Line{Time: time.Now(), Stream: "stderr", Rank: -1, Level: level, Source: "runner", Text: text}
}

// Next is the number that the next line will get.
func (s *Backlog) Next() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.active().next
}

// Changed is closed by the next Append.
func (s *Backlog) Changed() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changed
}

// Read returns lines from a number on, within the limits, at least one if there is one. Numbers
// of lost lines are skipped.
func (s *Backlog) Read(from int64, most int, maxBytes int) ([]Line, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seek(from)
	var out []Line
	if len(s.reading) < maxBytes+maxRecord {
		s.reading = make([]byte, maxBytes+maxRecord)
	}
	buf := s.reading
	for len(out) == 0 {
		c := &s.cursor
		n, err := c.seg.readAt(buf, c.offset)
		if err != nil {
			return nil, fmt.Errorf("cannot read the backlog of the log: %w", err)
		}
		rest, used := buf[:n], 0
		for len(out) < most && used < maxBytes {
			end := bytes.IndexByte(rest, '\n')
			if end < 0 {
				break
			}
			l, err := leftover.ParseLine(rest[:end])
			if err != nil {
				return nil, fmt.Errorf("cannot read %s: %w", c.seg.path, err)
			}
			rest = rest[end+1:]
			used += end + 1
			c.number = l.Number + 1
			if l.Number >= from {
				out = append(out, l)
			}
		}
		c.offset += int64(used)
		if used > 0 {
			continue
		}
		if c.offset < c.seg.size {
			return nil, fmt.Errorf("cannot read %s: no line within %d bytes", c.seg.path, len(buf))
		}
		i := slices.Index(s.segments, c.seg)
		if i+1 >= len(s.segments) {
			return nil, nil
		}
		s.cursor = cursor{seg: s.segments[i+1], number: s.segments[i+1].first}
	}
	return out, nil
}

// seek moves the cursor, if it is elsewhere.
func (s *Backlog) seek(from int64) {
	if s.cursor.seg != nil && s.cursor.number == from && slices.Contains(s.segments, s.cursor.seg) {
		return
	}
	i := 0
	for i+1 < len(s.segments) && s.segments[i].next <= from {
		i++
	}
	s.cursor = cursor{seg: s.segments[i], number: s.segments[i].first}
}

// Taken deletes the segments that end before a number. The last segment stays, so that the
// numbers continue.
func (s *Backlog) Taken(next int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.segments) > 1 && s.segments[0].next <= next {
		if s.cursor.seg == s.segments[0] {
			s.cursor = cursor{}
		}
		s.segments[0].remove()
		s.segments = s.segments[1:]
	}
}

// Close writes everything to disk.
func (s *Backlog) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, seg := range s.segments {
		seg.sync()
		if seg.file != nil {
			_ = seg.file.Close()
		}
	}
}
