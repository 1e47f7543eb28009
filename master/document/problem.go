package document

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/fault"
)

// Position is a position in a document; both numbers start at 1. Line 0 means that the position
// is unknown, because the value is a default.
type Position struct {
	File   string
	Line   int
	Column int
}

// Problem is one mistake in a document: its position, the field, the message, and a hint if
// there is one.
type Problem struct {
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`
	Column  int    `json:"column,omitempty"`
	Path    string `json:"path,omitempty"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
}

// String formats the problem on one line as compilers do, so that editors can jump to it:
// "const.yaml:12:3: resources.slots: unknown field; …".
func (p Problem) String() string {
	var b strings.Builder
	if p.File != "" {
		b.WriteString(p.File)
		b.WriteByte(':')
	}
	if p.Line > 0 {
		fmt.Fprintf(&b, "%d:%d:", p.Line, p.Column)
	}
	if b.Len() > 0 {
		b.WriteByte(' ')
	}
	if p.Path != "" {
		b.WriteString(ClipTo(p.Path, 200))
		b.WriteString(": ")
	}
	b.WriteString(p.Message)
	if p.Hint != "" {
		b.WriteString("; ")
		b.WriteString(p.Hint)
	}
	return b.String()
}

// Errors has every problem of a document, in the order of the document.
type Errors []Problem

// Error prints one problem per line.
func (e Errors) Error() string { return joinProblems(e) }

// Warnings are remarks about a document that is accepted.
type Warnings []Problem

// Strings prints each warning on one line.
func (w Warnings) Strings() []string {
	return each.Of(w, Problem.String)
}

func joinProblems(problems []Problem) string {
	return strings.Join(each.Of(problems, Problem.String), "\n")
}

// maxProblems limits the number of reported problems: a file of another kind would cause a
// problem in every line.
const MaxProblems = 100

// Sorted sorts problems by position, those without a position last, and cuts the list at
// maxProblems.
func Sorted(problems []Problem) []Problem {
	slices.SortStableFunc(problems, func(a, b Problem) int {
		if (a.Line == 0) != (b.Line == 0) {
			if a.Line == 0 {
				return 1
			}
			return -1
		}
		return cmp.Or(a.Line-b.Line, a.Column-b.Column, strings.Compare(a.Path, b.Path))
	})
	if len(problems) <= MaxProblems {
		return problems
	}
	more := len(problems) - MaxProblems
	return append(problems[:MaxProblems:MaxProblems], Problem{
		File: problems[0].File, Message: fmt.Sprintf("and %d more problems", more),
	})
}

// AsError returns an error, or nil if there are no problems.
func AsError(problems []Problem) error {
	if len(problems) == 0 {
		return nil
	}
	return Errors(Sorted(problems))
}

// Positions has the positions of the values of a document, by path. A merged document has one
// layer for each of its sources, the winning one first.
type Positions struct {
	Layers []map[string]Position
}

// Over returns the positions of a document that is laid over another one: a value has its position in the upper
// document or, if that lacks the value, in the lower one.
func (p *Positions) Over(under *Positions) *Positions {
	switch {
	case p == nil:
		return under
	case under == nil:
		return p
	}
	return &Positions{Layers: append(slices.Clone(p.Layers), under.Layers...)}
}

// Find returns the position of the value at path or, if no document has the value, of its
// nearest parent; otherwise only the file of the winning document.
func (p *Positions) Find(path string) Position {
	if p == nil {
		return Position{}
	}
	strongest := Position{}
	for _, layer := range p.Layers {
		if root, ok := layer[""]; ok {
			strongest.File = root.File
			break
		}
	}
	for path != "" {
		for _, layer := range p.Layers {
			if at, ok := layer[path]; ok {
				return at
			}
		}
		path = ParentPath(path)
	}
	return strongest
}

// Written reports whether a document has a value at exactly this path.
func (p *Positions) Written(path string) bool {
	return slices.ContainsFunc(p.Layers, func(layer map[string]Position) bool {
		_, ok := layer[path]
		return ok
	})
}

// Overlap reports whether one path equals or contains the other.
func Overlap(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	return strings.HasPrefix(b, a) && (len(a) == len(b) || a == "" || b[len(a)] == '.' || b[len(a)] == '[')
}

// ParentPath removes the last element: "a.b[2]" → "a.b" → "a" → "".
func ParentPath(path string) string {
	if i := strings.LastIndexAny(path, ".["); i >= 0 {
		return path[:i]
	}
	return ""
}

// Join appends a field name to a path.
func Join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// Index appends a list index to a path.
func Index(path string, i int) string { return fmt.Sprintf("%s[%d]", path, i) }

// Wrong returns the error with the problems of a configuration.
func Wrong(err error) error {
	var list Errors
	if !errors.As(err, &list) {
		return fault.New(fault.Invalid, "the configuration cannot be used: %w", err)
	}
	if len(list) == 1 {
		return fault.New(fault.Invalid, "the configuration has a problem: %s", list[0])
	}
	return fault.New(fault.Invalid, "the configuration has %d problems:\n%s", len(list), list.Error())
}
