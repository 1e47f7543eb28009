package logs

import (
	"bytes"
	"regexp"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/detent-ml/detent/master/attempts/leftover"
	v1 "github.com/detent-ml/detent/master/v1"
)

// maxText is the maximum length of a line; longer lines are split.
const maxText = 8191

// A Line is one line of output with its properties.
type Line = leftover.Line

// How libraries mark a line: the launcher with the worker's rank, Python's logging with a
// level. Either may be missing; the rank comes first.
var (
	rankMark  = regexp.MustCompile(`^ ?\[rank=([0-9]{1,9})\] ?`)
	levelMark = regexp.MustCompile(`^ ?(TRACE|DEBUG|INFO|WARNING|ERROR|CRITICAL): ?`)
)

// marks removes the prefixes of a line.
func marks(text []byte) (rest []byte, rank int, level v1.LogLevel) {
	rank, level = -1, v1.LogLevelUnspecified
	if m := rankMark.FindSubmatch(text); m != nil {
		rank, _ = strconv.Atoi(string(m[1])) // no error: nine digits fit
		text = text[len(m[0]):]
	}
	if m := levelMark.FindSubmatch(text); m != nil {
		level = v1.LogLevel(leftover.LevelPrefix + string(m[1]))
		text = text[len(m[0]):]
	}
	return text, rank, level
}

// A Splitter splits one stream into lines. A carriage return ends a line like a newline, so
// that updates of progress bars arrive; both together are one end, and an empty line before a
// lone carriage return is dropped.
type Splitter struct {
	stream string
	rest   []byte // the begin of an incomplete line
	after  bool   // the last byte was a carriage return
	piece  bool   // rest continues a line whose beginning was already returned
	rank   int    // of that line
	level  v1.LogLevel
}

// NewSplitter makes a Splitter for stdout or stderr.
func NewSplitter(stream string) *Splitter { return &Splitter{stream: stream} }

// Feed splits more output, and returns the completed lines.
func (s *Splitter) Feed(chunk []byte, now time.Time) []Line {
	var out []Line
	for len(chunk) > 0 {
		end := bytes.IndexAny(chunk, "\r\n")
		if s.after && chunk[0] == '\n' {
			s.after = false
			chunk = chunk[1:]
			continue
		}
		s.after = false
		if end < 0 {
			s.rest = append(s.rest, chunk...)
			return s.cut(out, now)
		}
		s.rest = append(s.rest, chunk[:end]...)
		out = s.cut(out, now)
		s.after = chunk[end] == '\r'
		if len(s.rest) > 0 || (!s.after && !s.piece) {
			out = append(out, s.line(s.rest, now))
		}
		s.rest, s.piece = s.rest[:0], false
		chunk = chunk[end+1:]
	}
	return out
}

// Rest returns the last line, if the stream ended without a line break.
func (s *Splitter) Rest(now time.Time) []Line {
	if len(s.rest) == 0 {
		return nil
	}
	l := s.line(s.rest, now)
	s.rest = nil
	return []Line{l}
}

// cut splits whole pieces off a line that is too long, between characters.
func (s *Splitter) cut(out []Line, now time.Time) []Line {
	for len(s.rest) > maxText {
		n := maxText
		for n > maxText-utf8.UTFMax && !utf8.RuneStart(s.rest[n]) {
			n--
		}
		out = append(out, s.line(s.rest[:n], now))
		s.rest = append(s.rest[:0], s.rest[n:]...)
		s.piece = true
	}
	return out
}

func (s *Splitter) line(text []byte, now time.Time) Line {
	if !s.piece {
		text, s.rank, s.level = marks(text)
	}
	return Line{Time: now, Stream: s.stream, Rank: s.rank, Level: s.level, Source: "task", Text: string(text)}
}
