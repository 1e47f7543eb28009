package logs

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/detent-ml/detent/master/attempts/leftover"
	v1 "github.com/detent-ml/detent/master/v1"
)

// early is the number of its own lines that a runner keeps before it has a backlog.
const early = 200

// A Journal writes the runner's own messages: to its stderr, which Nomad stores, and as lines
// of source "runner" in the task's log.
type Journal struct {
	echo io.Writer

	mu      sync.Mutex
	backlog *Backlog
	before  []Line
}

// NewJournal makes a Journal that copies everything to echo.
func NewJournal(echo io.Writer) *Journal { return &Journal{echo: echo} }

// Attach also appends all messages, including earlier ones, to the backlog.
func (j *Journal) Attach(s *Backlog) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.backlog = s
	s.Append(j.before...)
	j.before = nil
}

// Infof reports progress.
func (j *Journal) Infof(format string, args ...any) { j.say(v1.LogLevelInfo, format, args...) }

// Warnf reports a problem that a user or operator may want to solve.
func (j *Journal) Warnf(format string, args ...any) { j.say(v1.LogLevelWarning, format, args...) }

// Errorf reports an error.
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
			case j.backlog != nil:
				j.backlog.Append(l)
			case len(j.before) < early:
				j.before = append(j.before, l)
			}
		}
	}
}
