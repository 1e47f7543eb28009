package expconf

import (
	"fmt"
	"strings"

	"github.com/detent-ml/detent/master/document"
)

// ApplyOverrides changes a YAML document by command-line arguments of the form path=value, in
// their order, and returns it as YAML. The path has dots; missing mappings on the path are
// created. The value is parsed as YAML, so 4 is a number, true a boolean and [a, b] a list; a
// value with commas and without brackets is a list too. Comments are lost; without overrides
// the document is returned unchanged.
func ApplyOverrides(name string, src []byte, overrides []string) ([]byte, error) {
	if len(overrides) == 0 {
		return src, nil
	}
	root, problems := document.Parse(name, src, document.UserLimits())
	if len(problems) > 0 {
		return nil, document.AsError(problems)
	}
	if root.Kind != document.MapKind {
		return nil, document.Errors{{File: name, Line: root.Line, Column: root.Column,
			Message: "expected a mapping, found " + root.Describe()}}
	}
	for _, o := range overrides {
		if p, ok := document.Unreadable("", []byte(o)); !ok {
			return nil, fmt.Errorf("--config %q: %s", o, p.Message)
		}
		path, text, ok := strings.Cut(o, "=")
		path = strings.TrimSpace(path)
		if !ok || path == "" {
			return nil, fmt.Errorf("--config %s: expected path=value, such as resources.slots_per_trial=2", o)
		}
		value, err := overrideValue(path, text)
		if err != nil {
			return nil, fmt.Errorf("--config %s: %w", o, err)
		}
		if root, err = set(root, strings.Split(path, "."), "", value); err != nil {
			return nil, fmt.Errorf("--config %s: %w", o, err)
		}
	}
	return document.Emit(root), nil
}

// overrideValue reads the right side of an override.
func overrideValue(path, text string) (*document.Node, error) {
	text = strings.TrimSpace(text)
	var value *document.Node
	switch {
	case strings.HasPrefix(text, "[") || strings.HasPrefix(text, "{") ||
		strings.HasPrefix(text, `"`) || strings.HasPrefix(text, "'"):
		parsed, err := parseValue(text)
		if err != nil {
			return nil, err
		}
		value = parsed
	case strings.Contains(text, ","):
		value = &document.Node{Kind: document.ListKind}
		for _, part := range strings.Split(text, ",") {
			item, err := parseValue(strings.TrimSpace(part))
			if err != nil {
				return nil, err
			}
			value.Items = append(value.Items, item)
		}
		value.Measure(document.UserLimits())
	default:
		parsed, err := parseValue(text)
		if err != nil {
			return nil, err
		}
		value = parsed
	}
	if path == "bind_mounts" && value.Kind != document.ListKind {
		value = &document.Node{Kind: document.ListKind, Items: []*document.Node{value}}
		value.Measure(document.UserLimits())
	}
	return value, nil
}

// parseValue parses one YAML value. Text that is not valid YAML, such as "a: b: c" or "@x", is
// a string, because users do not expect to quote twice in a shell.
func parseValue(text string) (*document.Node, error) {
	if text == "" {
		return &document.Node{Kind: document.NullKind, Size: 1, Depth: 1}, nil
	}
	root, problems := document.Parse("", []byte("value: "+text+"\n"), document.UserLimits())
	if len(problems) > 0 || len(root.Fields) != 1 || root.Fields[0].Key != "value" {
		if strings.ContainsAny(text[:1], "[{") {
			return nil, fmt.Errorf("%q is not valid YAML", document.Clip(text))
		}
		return &document.Node{Kind: document.StringKind, Text: text, Size: 1, Depth: 1}, nil
	}
	value := root.Fields[0].Value
	if value.Kind == document.NullKind && strings.HasPrefix(text, "#") {
		return &document.Node{Kind: document.StringKind, Text: text, Size: 1, Depth: 1}, nil
	}
	return value, nil
}

// set returns n with value at the path names; at is the path from the root to n. Aliases may
// share nodes, so changed nodes are copied.
func set(n *document.Node, names []string, at string, value *document.Node) (*document.Node, error) {
	if len(names) == 0 {
		return value, nil
	}
	if names[0] == "" {
		return nil, fmt.Errorf("the path has an empty part")
	}
	out := &document.Node{Kind: document.MapKind, Line: n.Line, Column: n.Column}
	switch n.Kind {
	case document.MapKind:
		out.Fields = append(out.Fields, n.Fields...)
	case document.NullKind:
	default:
		return nil, fmt.Errorf("%s is %s and has nothing below it", at, n.Describe())
	}
	at = document.Join(at, names[0])
	for i, f := range out.Fields {
		if f.Key != names[0] {
			continue
		}
		changed, err := set(f.Value, names[1:], at, value)
		if err != nil {
			return nil, err
		}
		out.Fields[i].Value = changed
		out.Measure(document.UserLimits())
		return out, nil
	}
	added, err := set(&document.Node{Kind: document.NullKind, Size: 1, Depth: 1}, names[1:], at, value)
	if err != nil {
		return nil, err
	}
	out.Fields = append(out.Fields, document.Field{Key: names[0], Value: added})
	if !out.Measure(document.UserLimits()) {
		return nil, fmt.Errorf("the document is nested too deep or too large")
	}
	return out, nil
}
