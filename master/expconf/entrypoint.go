package expconf

import (
	"encoding/json"
	"regexp"
	"strings"

	"github.com/detent-ml/detent/master/document"
)

// Entrypoint is what a trial runs: a shell command line, or a program and its arguments. A
// command line of the form module:Class names a trial class instead.
type Entrypoint struct {
	Line string
	Args []string // not nil when the entrypoint was written as a list
}

// IsList reports whether the entrypoint runs without a shell.
func (e Entrypoint) IsList() bool { return e.Args != nil }

// Empty reports whether the entrypoint names no program.
func (e Entrypoint) Empty() bool {
	if e.IsList() {
		return len(e.Args) == 0 || strings.TrimSpace(e.Args[0]) == ""
	}
	return strings.TrimSpace(e.Line) == ""
}

var trialClassPattern = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.]*:[A-Za-z_][A-Za-z0-9_]*$`)

// TrialClass splits the form module:Class of code written for the Trial classes: a launcher
// imports the module and runs the class.
func (e Entrypoint) TrialClass() (module, class string, ok bool) {
	if e.IsList() {
		return "", "", false
	}
	line := strings.TrimSpace(e.Line)
	if !trialClassPattern.MatchString(line) {
		return "", "", false
	}
	module, class, _ = strings.Cut(line, ":")
	return module, class, true
}

// MarshalJSON encodes a string or a list, whichever the user wrote.
func (e Entrypoint) MarshalJSON() ([]byte, error) {
	if e.IsList() {
		return json.Marshal(e.Args)
	}
	return json.Marshal(e.Line)
}

func (e Entrypoint) onto(any) any { return e }

func (e *Entrypoint) decode(d *decoder, n *document.Node, path string) {
	switch n.Kind {
	case document.StringKind:
		e.Line = n.Text
	case document.ListKind:
		e.Args = []string{}
		d.into(n, path, &e.Args)
	default:
		d.expected(n, path, "a command line or a list of words", "")
	}
}
