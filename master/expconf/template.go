package expconf

import (
	"encoding/json"
	"fmt"

	"github.com/detent-ml/detent/master/document"
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
	root, problems := document.Parse(name, src, document.UserLimits())
	if len(problems) > 0 {
		return Template{}, document.AsError(problems)
	}
	t := Template{Source: string(src)}
	switch {
	case root.Kind == document.NullKind:
		root = &document.Node{Kind: document.MapKind, Line: root.Line, Column: root.Column}
	case root.Kind != document.MapKind:
		return t, document.AsError([]document.Problem{{File: name, Line: root.Line, Column: root.Column, Message: "expected a mapping, found " + root.Describe()}})
	case json.Valid(src):
		t.Source = string(document.Emit(root))
		if root, problems = document.Parse(name, []byte(t.Source), document.StoredLimits()); len(problems) > 0 {
			return t, document.AsError(problems)
		}
	}
	if wrong := fewest(decodeAs[Raw](name, root), decodeAs[RawCommand](name, root)); len(wrong) > 0 {
		return t, document.AsError(wrong)
	}
	config, err := json.Marshal(root.Free())
	if err != nil {
		return t, fmt.Errorf("%s: %w", name, err)
	}
	t.Config = config
	return t, nil
}

// decodeAs lists the problems of a document as a configuration of type T.
func decodeAs[T any](name string, root *document.Node) []document.Problem {
	var target T
	d := newDecoder(name, &target)
	d.into(root, "", &target)
	return d.problems
}

// fewest returns the shorter list, or the first if they have the same length.
func fewest(a, b []document.Problem) []document.Problem {
	if len(b) < len(a) {
		return b
	}
	return a
}

// Redacted returns a template without its secrets, for users who may use but not change it. It
// removes comments, because these can contain secrets too. Variables stay: templates are for
// sharing them.
func (t Template) Redacted() (Template, error) {
	root, problems := document.ParseJSON("", t.Config, document.StoredLimits())
	if len(problems) > 0 {
		return Template{}, document.AsError(problems)
	}
	h := hider{own: true}
	shown := h.section(root, experimentSection(), commandSection())
	config, err := json.Marshal(shown.Stored())
	return Template{Source: string(document.Emit(shown)), Config: config}, err
}
