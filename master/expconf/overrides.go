package expconf

import (
	"fmt"
	"strings"
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
	root, problems := parseDocument(name, src, userLimits())
	if len(problems) > 0 {
		return nil, asError(problems)
	}
	if root.kind != mapKind {
		return nil, Errors{{File: name, Line: root.line, Column: root.column,
			Message: "expected a mapping, found " + root.describe()}}
	}
	for _, o := range overrides {
		if p, ok := unreadable("", []byte(o)); !ok {
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
	return emit(root), nil
}

// overrideValue reads the right side of an override.
func overrideValue(path, text string) (*node, error) {
	text = strings.TrimSpace(text)
	var value *node
	switch {
	case strings.HasPrefix(text, "[") || strings.HasPrefix(text, "{") ||
		strings.HasPrefix(text, `"`) || strings.HasPrefix(text, "'"):
		parsed, err := parseValue(text)
		if err != nil {
			return nil, err
		}
		value = parsed
	case strings.Contains(text, ","):
		value = &node{kind: listKind}
		for _, part := range strings.Split(text, ",") {
			item, err := parseValue(strings.TrimSpace(part))
			if err != nil {
				return nil, err
			}
			value.items = append(value.items, item)
		}
		value.measure(userLimits())
	default:
		parsed, err := parseValue(text)
		if err != nil {
			return nil, err
		}
		value = parsed
	}
	if path == "bind_mounts" && value.kind != listKind {
		value = &node{kind: listKind, items: []*node{value}}
		value.measure(userLimits())
	}
	return value, nil
}

// parseValue parses one YAML value. Text that is not valid YAML, such as "a: b: c" or "@x", is
// a string, because users do not expect to quote twice in a shell.
func parseValue(text string) (*node, error) {
	if text == "" {
		return &node{kind: nullKind, size: 1, depth: 1}, nil
	}
	root, problems := parseDocument("", []byte("value: "+text+"\n"), userLimits())
	if len(problems) > 0 || len(root.fields) != 1 || root.fields[0].key != "value" {
		if strings.ContainsAny(text[:1], "[{") {
			return nil, fmt.Errorf("%q is not valid YAML", clip(text))
		}
		return &node{kind: stringKind, text: text, size: 1, depth: 1}, nil
	}
	value := root.fields[0].value
	if value.kind == nullKind && strings.HasPrefix(text, "#") {
		return &node{kind: stringKind, text: text, size: 1, depth: 1}, nil
	}
	return value, nil
}

// set returns n with value at the path names; at is the path from the root to n. Aliases may
// share nodes, so changed nodes are copied.
func set(n *node, names []string, at string, value *node) (*node, error) {
	if len(names) == 0 {
		return value, nil
	}
	if names[0] == "" {
		return nil, fmt.Errorf("the path has an empty part")
	}
	out := &node{kind: mapKind, line: n.line, column: n.column}
	switch n.kind {
	case mapKind:
		out.fields = append(out.fields, n.fields...)
	case nullKind:
	default:
		return nil, fmt.Errorf("%s is %s and has nothing below it", at, n.describe())
	}
	at = join(at, names[0])
	for i, f := range out.fields {
		if f.key != names[0] {
			continue
		}
		changed, err := set(f.value, names[1:], at, value)
		if err != nil {
			return nil, err
		}
		out.fields[i].value = changed
		out.measure(userLimits())
		return out, nil
	}
	added, err := set(&node{kind: nullKind, size: 1, depth: 1}, names[1:], at, value)
	if err != nil {
		return nil, err
	}
	out.fields = append(out.fields, field{key: names[0], value: added})
	if !out.measure(userLimits()) {
		return nil, fmt.Errorf("the document is nested too deep or too large")
	}
	return out, nil
}
