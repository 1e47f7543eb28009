package expconf

import (
	"encoding/json"
	"fmt"
)

// A Template is a configuration that is merged under those of experiments, or of notebooks,
// shells, commands and TensorBoards. Its kind is known only when it is used.
type Template struct {
	Source string // YAML
	Config []byte // Source as JSON
}

// ParseTemplate parses the document of a template in YAML or JSON. YAML is stored unchanged,
// with its comments. JSON is converted to YAML, so that messages refer to positions that users
// see. The document must be valid for an experiment or for another kind of task; if it is valid
// for neither, the error has the problems of the kind with fewer problems.
func ParseTemplate(name string, src []byte) (Template, error) {
	root, problems := parseDocument(name, src, userLimits())
	if len(problems) > 0 {
		return Template{}, asError(problems)
	}
	t := Template{Source: string(src)}
	switch {
	case root.kind == nullKind:
		root = &node{kind: mapKind, line: root.line, column: root.column}
	case root.kind != mapKind:
		return t, asError([]Problem{{File: name, Line: root.line, Column: root.column, Message: "expected a mapping, found " + root.describe()}})
	case json.Valid(src):
		t.Source = string(emit(root))
		if root, problems = parseDocument(name, []byte(t.Source), storedLimits()); len(problems) > 0 {
			return t, asError(problems)
		}
	}
	if wrong := fewest(decodeAs[Raw](name, root), decodeAs[RawCommand](name, root)); len(wrong) > 0 {
		return t, asError(wrong)
	}
	config, err := json.Marshal(root.free())
	if err != nil {
		return t, fmt.Errorf("%s: %w", name, err)
	}
	t.Config = config
	return t, nil
}

// decodeAs lists the problems of a document as a configuration of type T.
func decodeAs[T any](name string, root *node) []Problem {
	var target T
	d := newDecoder(name, &target)
	d.into(root, "", &target)
	return d.problems
}

// fewest returns the shorter list, or the first if they have the same length.
func fewest(a, b []Problem) []Problem {
	if len(b) < len(a) {
		return b
	}
	return a
}

// Redacted returns a template without its secrets, for users who may use but not change it. It
// removes comments, because these can contain secrets too. Variables stay: templates are for
// sharing them.
func (t Template) Redacted() (Template, error) {
	root, problems := parseJSON("", t.Config, storedLimits())
	if len(problems) > 0 {
		return Template{}, asError(problems)
	}
	h := hider{own: true}
	shown := h.section(root, experimentSection(), commandSection())
	config, err := json.Marshal(shown.stored())
	return Template{Source: string(emit(shown)), Config: config}, err
}
