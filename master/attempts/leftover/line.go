package leftover

import (
	"bytes"
	"errors"
	"strconv"
	"strings"
	"time"

	v1 "github.com/detent-ml/detent/master/v1"
)

// FirstLine is the number of the first line of a file of lines, by the file's name.
func FirstLine(name string) (n int64, ok bool) {
	number, ok := strings.CutSuffix(name, LogSuffix)
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseInt(number, 10, 64)
	return n, err == nil && n >= 0
}

// A Line is a line of output with its metadata.
type Line struct {
	Number int64
	Time   time.Time
	Stream string // stdout or stderr
	Rank   int    // of the process that printed it; -1 if the line has no rank
	Level  v1.LogLevel
	Source string // task, or runner for the runner's own lines
	Text   string
}

// Wire returns the line as the API accepts it: JSON has no broken UTF-8.
func (l Line) Wire() v1.LogLine {
	out := v1.LogLine{Timestamp: l.Time, Log: strings.ToValidUTF8(l.Text, "\uFFFD"), Stdtype: l.Stream, Level: l.Level, Source: l.Source}
	if l.Rank >= 0 {
		out.RankID = &l.Rank
	}
	return out
}

// LevelPrefix is the prefix of the names of levels in the API.
const LevelPrefix = "LOG_LEVEL_"

// AppendTo appends the line in the format of a segment, a file of numbered lines.
func (l Line) AppendTo(dst []byte) []byte {
	dst = strconv.AppendInt(dst, l.Number, 10)
	dst = append(dst, '\t')
	dst = strconv.AppendInt(dst, l.Time.UnixNano(), 10)
	dst = append(dst, '\t')
	dst = append(dst, l.Stream...)
	dst = append(dst, '\t')
	if l.Rank >= 0 {
		dst = strconv.AppendInt(dst, int64(l.Rank), 10)
	} else {
		dst = append(dst, '-')
	}
	dst = append(dst, '\t')
	if short := strings.TrimPrefix(string(l.Level), LevelPrefix); short != "" && l.Level != v1.LogLevelUnspecified {
		dst = append(dst, short...)
	} else {
		dst = append(dst, '-')
	}
	dst = append(dst, '\t')
	dst = append(dst, l.Source...)
	dst = append(dst, '\t')
	dst = append(dst, l.Text...)
	return append(dst, '\n')
}

var errTorn = errors.New("not a line of a log segment")

// ParseLine reads a line of a segment, without its newline.
func ParseLine(raw []byte) (Line, error) {
	fields := bytes.SplitN(raw, []byte{'\t'}, 7)
	if len(fields) != 7 {
		return Line{}, errTorn
	}
	number, err := strconv.ParseInt(string(fields[0]), 10, 64)
	if err != nil {
		return Line{}, errTorn
	}
	nanos, err := strconv.ParseInt(string(fields[1]), 10, 64)
	if err != nil {
		return Line{}, errTorn
	}
	l := Line{Number: number, Time: time.Unix(0, nanos), Stream: string(fields[2]), Rank: -1,
		Level: v1.LogLevelUnspecified, Source: string(fields[5]), Text: string(fields[6])}
	if f := string(fields[3]); f != "-" {
		if l.Rank, err = strconv.Atoi(f); err != nil {
			return Line{}, errTorn
		}
	}
	if f := string(fields[4]); f != "-" {
		l.Level = v1.LogLevel(LevelPrefix + f)
	}
	return l, nil
}
