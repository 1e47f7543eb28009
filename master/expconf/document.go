package expconf

import (
	"encoding/json"
	"maps"

	"github.com/detent-ml/detent/master/document"
)

// A Document is a configuration as JSON with exactly what it says: without defaults, and in
// its own forms.
type Document map[string]any

// ParseDocument reads a mapping in YAML or JSON. It checks the form only, and no fields.
func ParseDocument(name string, src []byte) (Document, error) {
	root, problems := document.Parse(name, src, document.UserLimits())
	switch {
	case len(problems) > 0:
		return nil, document.AsError(problems)
	case root.Kind == document.NullKind:
		return Document{}, nil
	case root.Kind != document.MapKind:
		return nil, document.AsError([]document.Problem{{File: name, Line: root.Line, Column: root.Column, Message: "expected a mapping, found " + root.Describe()}})
	case !root.Finite():
		return nil, document.AsError([]document.Problem{{File: name, Line: root.Line, Column: root.Column, Message: "a number in the document is not finite"}})
	}
	return root.Free().(map[string]any), nil
}

// Over lays the document over another one: mappings key by key, everything else as a whole.
// Neither document is changed.
func (d Document) Over(under Document) Document {
	return over(map[string]any(d), map[string]any(under)).(map[string]any)
}

func over(top, bottom any) any {
	a, ok := top.(map[string]any)
	b, both := bottom.(map[string]any)
	if !ok || !both {
		return top
	}
	out := make(map[string]any, len(a)+len(b))
	maps.Copy(out, b)
	for k, v := range a {
		if below, ok := b[k]; ok {
			v = over(v, below)
		}
		out[k] = v
	}
	return out
}

// JSON returns the document as JSON.
func (d Document) JSON() ([]byte, error) { return json.Marshal(map[string]any(d)) }
