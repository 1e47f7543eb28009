package logs

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/detent-ml/detent/master/leftover"
	v1 "github.com/detent-ml/detent/master/v1"
)

// early is how many of its own lines a runner remembers before it has a spool.
const early = 200

// A Journal takes the runner's own words: they go to its stderr, which Nomad
// keeps, and as lines of source "runner" among the program's.
type Journal struct {
	echo io.Writer

	mu     sync.Mutex
	spool  *Spool
	before []Line
}

// NewJournal makes a Journal that repeats everything to echo.
func NewJournal(echo io.Writer) *Journal { return &Journal{echo: echo} }

// Attach sends what was said so far, and all that follows, to the spool too.
func (j *Journal) Attach(s *Spool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.spool = s
	s.Append(j.before...)
	j.before = nil
}

// Infof says what is going on.
func (j *Journal) Infof(format string, args ...any) { j.say(v1.LogLevelInfo, format, args...) }

// Warnf says what somebody may want to change.
func (j *Journal) Warnf(format string, args ...any) { j.say(v1.LogLevelWarning, format, args...) }

// Errorf says what went wrong.
func (j *Journal) Errorf(format string, args ...any) { j.say(v1.LogLevelError, format, args...) }

func (j *Journal) say(level v1.LogLevel, format string, args ...any) {
	j.mu.Lock()
	defer j.mu.Unlock()
	now := time.Now()
	for text := range strings.SplitSeq(strings.TrimRight(fmt.Sprintf(format, args...), "\n"), "\n") {
		name := strings.TrimPrefix(string(level), leftover.LevelPrefix)
		_, _ = fmt.Fprintf(j.echo, "det-runner: %s: %s\n", strings.ToLower(name), text)
		for first := true; first || len(text) > 0; first = false {
			piece := text[:min(len(text), maxText)]
			text = text[len(piece):]
			l := own(level, strings.ReplaceAll(piece, "\r", " "))
			l.Time = now
			switch {
			case j.spool != nil:
				j.spool.Append(l)
			case len(j.before) < early:
				j.before = append(j.before, l)
			}
		}
	}
}
