package expconf

import (
	"encoding/json"
	"maps"
)

// A Document is a configuration as JSON with exactly what it says: without defaults, and in
// its own forms.
type Document map[string]any

// ParseDocument reads a mapping in YAML or JSON. It checks the form only, and no fields.
func ParseDocument(name string, src []byte) (Document, error) {
	root, problems := parseDocument(name, src, userLimits())
	switch {
	case len(problems) > 0:
		return nil, asError(problems)
	case root.kind == nullKind:
		return Document{}, nil
	case root.kind != mapKind:
		return nil, asError([]Problem{{File: name, Line: root.line, Column: root.column, Message: "expected a mapping, found " + root.describe()}})
	case !root.finite():
		return nil, asError([]Problem{{File: name, Line: root.line, Column: root.column, Message: "a number in the document is not finite"}})
	}
	return root.free().(map[string]any), nil
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
