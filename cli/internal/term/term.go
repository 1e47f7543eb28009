// Package term is det's terminal, or a pipe: whether colours are allowed, how wide the terminal
// is, and how det asks for a password.
package term

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	xterm "golang.org/x/term"

	"github.com/detent-ml/detent/master/fault"
)

// IO has the streams of a command.
type IO struct {
	In  io.Reader
	Out io.Writer
	Err io.Writer

	InTTY, OutTTY, ErrTTY bool
	Width, Height         func() int // of the terminal; 80 and 24 without one

	secret func(ctx context.Context, prompt string) (string, error)
	lines  sync.Once
	reader *bufio.Reader

	outColour, errColour bool
	rawOut, rawErr       io.Writer // of a terminal, for what draws on it
}

// System is an IO for the standard streams of this process.
func System(getenv func(string) string) *IO {
	t := &IO{
		In: os.Stdin, Out: os.Stdout, Err: os.Stderr,
		InTTY:  xterm.IsTerminal(int(os.Stdin.Fd())),
		OutTTY: xterm.IsTerminal(int(os.Stdout.Fd())),
		ErrTTY: xterm.IsTerminal(int(os.Stderr.Fd())),
	}
	// Output to a file or a pipe is written unchanged.
	if t.OutTTY {
		t.rawOut, t.Out = t.Out, NewSafe(t.Out)
	}
	if t.ErrTTY {
		t.rawErr, t.Err = t.Err, NewSafe(t.Err)
	}
	plain := getenv("NO_COLOR") != "" || getenv("TERM") == "dumb"
	t.outColour = t.OutTTY && !plain
	t.errColour = t.ErrTTY && !plain
	t.Width = func() int { w, _ := size(); return w }
	t.Height = func() int { _, h := size(); return h }
	t.secret = t.readSecret
	return t
}

func size() (width, height int) {
	for _, f := range []*os.File{os.Stdout, os.Stderr, os.Stdin} {
		if w, h, err := xterm.GetSize(int(f.Fd())); err == nil && w > 0 && h > 0 {
			return w, h
		}
	}
	return 80, 24
}

// Canvas is Out for code that draws on a terminal by moving its cursor. Such code must pass
// texts of other users through Clean first.
func (t *IO) Canvas() io.Writer { return or(t.rawOut, t.Out) }

// ErrCanvas is the same for Err.
func (t *IO) ErrCanvas() io.Writer { return or(t.rawErr, t.Err) }

func or(raw, plain io.Writer) io.Writer {
	if raw != nil {
		return raw
	}
	return plain
}

// Buffers is an IO without a terminal, for tests.
func Buffers(in string) (t *IO, out, errs *bytes.Buffer) {
	out, errs = &bytes.Buffer{}, &bytes.Buffer{}
	t = &IO{
		In: strings.NewReader(in), Out: out, Err: errs,
		Width: func() int { return 80 }, Height: func() int { return 24 },
	}
	t.secret = t.readSecret
	return t, out, errs
}

// Secret asks for a password without showing it. Without a terminal it reads a line of the
// input, so that a script can pipe a password.
func (t *IO) Secret(ctx context.Context, prompt string) (string, error) { return t.secret(ctx, prompt) }

func (t *IO) readSecret(ctx context.Context, prompt string) (string, error) {
	if !t.InTTY {
		return t.line(ctx, prompt)
	}
	fmt.Fprint(t.Err, prompt)
	defer fmt.Fprintln(t.Err)
	stdin := int(os.Stdin.Fd())
	before, err := xterm.GetState(stdin)
	if err != nil {
		return "", fault.New(fault.Internal, "cannot read the terminal: %w", err)
	}
	text, err := await(ctx, func() (string, error) {
		text, err := xterm.ReadPassword(stdin)
		return string(text), err
	})
	if ctx.Err() != nil {
		if err := xterm.Restore(stdin, before); err != nil { // the terminal would not show typed characters
			return "", err
		}
		return "", context.Cause(ctx)
	}
	if err != nil {
		return "", fault.New(fault.Invalid, "no password was given")
	}
	return text, nil
}

// await reads in the background, because an interrupt must be able to end a question and a
// read from a terminal cannot be interrupted. The goroutine ends with the process.
func await(ctx context.Context, read func() (string, error)) (string, error) {
	type answer struct {
		text string
		err  error
	}
	answers := make(chan answer, 1)
	go func() {
		text, err := read()
		answers <- answer{text, err}
	}()
	select {
	case a := <-answers:
		return a.text, a.err
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

// Line asks for a line of text.
func (t *IO) Line(ctx context.Context, prompt string) (string, error) {
	fmt.Fprint(t.Err, prompt)
	return t.line(ctx, prompt)
}

// line reads the answer to a question.
func (t *IO) line(ctx context.Context, prompt string) (string, error) {
	t.lines.Do(func() { t.reader = bufio.NewReader(t.In) })
	text, err := await(ctx, func() (string, error) { return t.reader.ReadString('\n') })
	if ctx.Err() != nil {
		if t.InTTY {
			fmt.Fprintln(t.Err)
		}
		return "", context.Cause(ctx)
	}
	if err != nil && text == "" {
		return "", fault.New(fault.Invalid, "the input ended before there was an answer to: %s", strings.TrimRight(strings.TrimSpace(prompt), ":"))
	}
	return strings.TrimRight(text, "\r\n"), nil
}

// Confirm asks a question, and returns true only for yes.
func (t *IO) Confirm(ctx context.Context, question string) (bool, error) {
	for {
		answer, err := t.Line(ctx, question+" [y/n]: ")
		if err != nil {
			return false, err
		}
		switch strings.ToLower(strings.TrimSpace(answer)) {
		case "y", "yes":
			return true, nil
		case "n", "no":
			return false, nil
		}
		fmt.Fprintln(t.Err, "Please answer with y or n.")
	}
}

// Style colours text, or returns it unchanged if colours are off.
type Style struct{ on bool }

// OutStyle is for Out, ErrStyle for Err: one may be a terminal and the other a file.
func (t *IO) OutStyle() Style { return Style{t.outColour} }

// ErrStyle is the style for Err.
func (t *IO) ErrStyle() Style { return Style{t.errColour} }

func (s Style) paint(code, text string) string {
	if !s.on || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// Red is for errors.
func (s Style) Red(text string) string { return s.paint("31", text) }

// Green is for success.
func (s Style) Green(text string) string { return s.paint("32", text) }

// Yellow is for warnings.
func (s Style) Yellow(text string) string { return s.paint("33", text) }

// Bold is for headings.
func (s Style) Bold(text string) string { return s.paint("1", text) }

// Colour uses one of the sixteen colours by its code (31 to 36, 91 to 96).
func (s Style) Colour(code int, text string) string { return s.paint(fmt.Sprint(code), text) }

// Warn prints a warning; the command continues.
func (t *IO) Warn(format string, args ...any) {
	fmt.Fprintln(t.Err, t.ErrStyle().Yellow(fmt.Sprintf(format, args...)))
}
