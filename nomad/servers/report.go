package servers

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"
	"unicode"

	"golang.org/x/term"
)

const (
	drawEvery  = 200 * time.Millisecond // on a terminal, where one line is drawn again
	printEvery = 15 * time.Second       // elsewhere, where each line stays
	maxPrinted = 120                    // characters of a line of progress elsewhere: pip names a hundred packages in one
)

// Reporter shows the progress of long steps to a user. On a terminal a task is one line that is
// redrawn; elsewhere it is a line at its start, one now and then, and one at its end. A nil Reporter
// prints nothing.
type Reporter struct {
	mu    sync.Mutex
	w     io.Writer
	live  bool
	width int
}

// NewReporter reports to a writer, and detects whether it is a terminal.
func NewReporter(w io.Writer) *Reporter {
	r := &Reporter{w: w}
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		r.live, r.width = true, 80
		if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
			r.width = width
		}
	}
	return r
}

// Say prints a line that stays.
func (r *Reporter) Say(format string, args ...any) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.clear()
	fmt.Fprintln(r.w, printable(fmt.Sprintf(format, args...)))
}

// printable is a text without characters that control a terminal: what other programs say is part of messages.
func printable(text string) string {
	return strings.Map(func(c rune) rune {
		if unicode.IsControl(c) && c != '\n' && c != '\t' {
			return -1
		}
		return c
	}, text)
}

// Task begins one step, until Done or Fail. One task runs at a time.
func (r *Reporter) Task(what string) *Task {
	t := &Task{r: r, what: what, started: time.Now(), end: make(chan struct{}), ended: make(chan struct{})}
	if r == nil {
		close(t.ended)
		return t
	}
	if !r.live {
		r.Say("%s …", what)
	}
	go t.run()
	return t
}

// Task is one step that takes time.
type Task struct {
	r       *Reporter
	what    string
	started time.Time
	mu      sync.Mutex
	detail  string
	end     chan struct{}
	ended   chan struct{}
}

// Update sets the progress of the task.
func (t *Task) Update(detail string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.detail = detail
}

// Done ends the task; detail, if not empty, is its result.
func (t *Task) Done(detail string) { t.finish("done", detail) }

// Fail ends the task as failed. The caller reports the error.
func (t *Task) Fail() { t.finish("failed", "") }

func (t *Task) finish(how, detail string) {
	close(t.end)
	<-t.ended
	if t.r == nil {
		return
	}
	t.r.Say("%s: %s (%s)", t.what, cmp.Or(detail, how), elapsed(t.started))
}

// run shows the task from time to time, until it ends.
func (t *Task) run() {
	defer close(t.ended)
	every := printEvery
	if t.r.live {
		every = drawEvery
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-t.end:
			return
		case <-tick.C:
			t.show()
		}
	}
}

func (t *Task) show() {
	t.mu.Lock()
	what, detail := t.what, t.detail
	if !t.r.live { // the whole of it is above
		what, detail = clip(what, maxPrinted/2), clip(detail, maxPrinted/2)
	}
	line := what + ": " + elapsed(t.started)
	if detail != "" {
		line = what + ": " + detail + ", " + elapsed(t.started)
	}
	t.mu.Unlock()
	if !t.r.live {
		t.r.Say("%s", line)
		return
	}
	t.r.mu.Lock()
	defer t.r.mu.Unlock()
	t.r.clear()
	fmt.Fprint(t.r.w, clip(printable(line), t.r.width-1))
}

// clip shortens a text to at most limit characters.
func clip(text string, limit int) string {
	runes := []rune(text)
	if len(runes) <= limit {
		return text
	}
	return string(runes[:max(0, limit-2)]) + " …"
}

// clear removes the line that is redrawn.
func (r *Reporter) clear() {
	if r.live {
		fmt.Fprint(r.w, "\r\x1b[K")
	}
}

func elapsed(since time.Time) string { return readable(time.Since(since)) }

// readable formats a duration for users: 0.8s, 12s, 3m05s.
func readable(d time.Duration) string {
	switch {
	case d < 10*time.Second:
		return fmt.Sprintf("%.1fs", d.Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%.0fs", d.Seconds())
	default:
		d = d.Round(time.Second)
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	}
}
