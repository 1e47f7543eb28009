package expconf

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Position is a place in a document, both numbers counted from one. Line zero
// means that the place is unknown, because the value came from a default.
type Position struct {
	File   string
	Line   int
	Column int
}

// Problem is one thing that is wrong with a document: where, which field, what,
// and, where there is one, the remedy.
type Problem struct {
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`
	Column  int    `json:"column,omitempty"`
	Path    string `json:"path,omitempty"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
}

// String prints the problem on one line, the way compilers do, so that editors
// can jump to it: "const.yaml:12:3: resources.slots: unknown field; …".
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
		b.WriteString(clipTo(p.Path, 200))
		b.WriteString(": ")
	}
	b.WriteString(p.Message)
	if p.Hint != "" {
		b.WriteString("; ")
		b.WriteString(p.Hint)
	}
	return b.String()
}

// Errors is every problem of a document, in the order of the document.
type Errors []Problem

// Error prints one problem per line.
func (e Errors) Error() string { return joinProblems(e) }

// Warnings are remarks about a document that is accepted all the same.
type Warnings []Problem

// Strings prints each warning on one line.
func (w Warnings) Strings() []string {
	out := make([]string, len(w))
	for i, p := range w {
		out[i] = p.String()
	}
	return out
}

func joinProblems(problems []Problem) string {
	lines := make([]string, len(problems))
	for i, p := range problems {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// maxProblems bounds what one document can make us say about it; a file of the
// wrong kind would otherwise be answered with a complaint per line.
const maxProblems = 100

// sorted puts problems into document order, those without a place last, and
// cuts the list at maxProblems.
func sorted(problems []Problem) []Problem {
	slices.SortStableFunc(problems, func(a, b Problem) int {
		if (a.Line == 0) != (b.Line == 0) {
			if a.Line == 0 {
				return 1
			}
			return -1
		}
		return cmp.Or(a.Line-b.Line, a.Column-b.Column, strings.Compare(a.Path, b.Path))
	})
	if len(problems) <= maxProblems {
		return problems
	}
	more := len(problems) - maxProblems
	return append(problems[:maxProblems:maxProblems], Problem{
		File: problems[0].File, Message: fmt.Sprintf("and %d more problems", more),
	})
}

// asError is e as an error: nil when there is nothing to report.
func asError(problems []Problem) error {
	if len(problems) == 0 {
		return nil
	}
	return Errors(sorted(problems))
}

// positions remembers where the values of a document stand, by path. A merged
// document has the layers of all its sources, the strongest first.
type positions struct {
	layers []map[string]Position
}

func (p *positions) over(under *positions) *positions {
	switch {
	case p == nil:
		return under
	case under == nil:
		return p
	}
	return &positions{layers: append(slices.Clone(p.layers), under.layers...)}
}

// find is the place of the value at path or, where that was never written, of
// the nearest thing around it; failing that, the strongest document alone.
func (p *positions) find(path string) Position {
	if p == nil {
		return Position{}
	}
	strongest := Position{}
	for _, layer := range p.layers {
		if root, ok := layer[""]; ok {
			strongest.File = root.File
			break
		}
	}
	for path != "" {
		for _, layer := range p.layers {
			if at, ok := layer[path]; ok {
				return at
			}
		}
		path = parentPath(path)
	}
	return strongest
}

// written says whether a document has a value at exactly this path.
func (p *positions) written(path string) bool {
	for _, layer := range p.layers {
		if _, ok := layer[path]; ok {
			return true
		}
	}
	return false
}

// overlap says whether one path is the other, or leads to it.
func overlap(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	return strings.HasPrefix(b, a) && (len(a) == len(b) || a == "" || b[len(a)] == '.' || b[len(a)] == '[')
}

// parentPath cuts the last element off: "a.b[2]" → "a.b" → "a" → "".
func parentPath(path string) string {
	if i := strings.LastIndexAny(path, ".["); i >= 0 {
		return path[:i]
	}
	return ""
}

// join appends a field name to a path.
func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// index appends a list index to a path.
func index(path string, i int) string { return fmt.Sprintf("%s[%d]", path, i) }
