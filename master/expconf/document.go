package expconf

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"strings"
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

// Shown returns the stored document of a task for readers: without what signs in somewhere,
// and, unless the reader owns the task, without the values of environment variables.
func Shown(stored string, own bool) ([]byte, error) {
	var doc map[string]any
	from := json.NewDecoder(strings.NewReader(stored))
	from.UseNumber() // so that numbers stay as they were submitted
	if err := from.Decode(&doc); err != nil {
		return nil, fmt.Errorf("a stored configuration: %w", err)
	}
	hideNamed(doc, secretNames(sectionOf(reflect.TypeFor[RawCommand]())))
	if e, ok := doc["environment"].(map[string]any); ok && !own {
		e["environment_variables"] = hideVariables(e["environment_variables"])
		if e["environment_variables"] == nil {
			delete(e, "environment_variables")
		}
	}
	return Document(doc).JSON()
}

// hideVariables hides the values of environment variables in all forms that a document can
// have: a list of NAME=value, or such lists by the kind of device.
func hideVariables(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name, value := range v {
			if _, text := value.(string); text {
				v[name] = hidden
				continue
			}
			v[name] = hideVariables(value)
		}
	case []any:
		for i := range v {
			v[i] = hideVariables(v[i])
		}
	case string:
		if name, _, valued := strings.Cut(v, "="); valued {
			return name + "=" + hidden
		}
	}
	return v
}
