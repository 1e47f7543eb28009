package protocol

import (
	"encoding/json"
	"strings"

	"github.com/detent-ml/detent/master/fault"
)

const (
	maxFilter   = 1000 // bytes
	maxCompares = 10
)

// A Compare is an attribute that must be equal to a value.
type Compare struct {
	Attr  string // in lower case, without the schema: username, emails.value
	Value string
	Bare  bool // a value without quotes: true, 5
}

// ParseFilter reads a filter: comparisons with eq that are joined with and.
func ParseFilter(text string) ([]Compare, error) {
	if len(text) > maxFilter {
		return nil, invalid(InvalidFilter, "filter: %d bytes are over the limit of %d", len(text), maxFilter)
	}
	var list []Compare
	for rest := text; ; {
		one, after, err := parseCompare(rest)
		if err != nil {
			return nil, err
		}
		if list = append(list, one); len(list) > maxCompares {
			return nil, invalid(InvalidFilter, "filter: more than %d comparisons", maxCompares)
		}
		after = strings.TrimLeft(after, " ")
		if after == "" {
			return list, nil
		}
		word, more, _ := strings.Cut(after, " ")
		if !strings.EqualFold(word, "and") {
			return nil, invalid(InvalidFilter, "filter: expected and, found %q; comparisons with eq that are joined with and are supported", fault.Clip(word))
		}
		rest = more
	}
}

// parseCompare reads one comparison from the beginning of a text.
func parseCompare(text string) (one Compare, rest string, err error) {
	text = strings.TrimLeft(text, " ")
	attr, rest, _ := strings.Cut(text, " ")
	path, err := ParsePath(attr)
	if err != nil || path.Where != nil || path.Foreign {
		return one, "", invalid(InvalidFilter, "filter: expected the name of an attribute, found %q", fault.Clip(attr))
	}
	op, rest, _ := strings.Cut(strings.TrimLeft(rest, " "), " ")
	if !strings.EqualFold(op, "eq") {
		return one, "", invalid(InvalidFilter, "filter: the comparison %q is not supported; use eq", fault.Clip(op))
	}
	one.Attr = path.name()
	one.Value, one.Bare, rest, err = parseValue(strings.TrimLeft(rest, " "))
	return one, rest, err
}

// parseValue reads a JSON text, number or truth value from the beginning of a text.
func parseValue(text string) (value string, bare bool, rest string, err error) {
	if !strings.HasPrefix(text, `"`) {
		end := strings.IndexAny(text, " ]")
		if end < 0 {
			end = len(text)
		}
		value, rest = text[:end], text[end:]
		if !json.Valid([]byte(value)) || strings.HasPrefix(value, "{") || strings.HasPrefix(value, "[") {
			return "", false, "", invalid(InvalidFilter, "filter: expected a value such as \"ada\", found %q", fault.Clip(value))
		}
		return value, true, rest, nil
	}
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			if json.Unmarshal([]byte(text[:i+1]), &value) != nil {
				return "", false, "", invalid(InvalidFilter, "filter: %q is no JSON text", fault.Clip(text[:i+1]))
			}
			if err := checkText("filter", value, maxFilter); err != nil {
				return "", false, "", Typed(InvalidFilter, err)
			}
			return value, false, text[i+1:], nil
		}
	}
	return "", false, "", invalid(InvalidFilter, "filter: the closing quote is missing")
}

// A Path names what an operation of a patch changes: active, name.givenName,
// emails[type eq "work"].value. Names are in lower case.
type Path struct {
	Attr  string
	Where *Compare // chooses elements of a list
	Sub   string
	// Foreign: the path names an attribute of a schema that the master does not keep.
	Foreign bool
}

// name is the attribute with its part.
func (p Path) name() string {
	if p.Sub == "" {
		return p.Attr
	}
	return p.Attr + "." + p.Sub
}

// ParsePath reads a path.
func ParsePath(text string) (Path, error) {
	bad := invalid(InvalidPath, "path: expected an attribute such as active, name.givenName or emails[type eq \"work\"].value, found %q", fault.Clip(text))
	if len(text) > maxFilter {
		return Path{}, invalid(InvalidPath, "path: %d bytes are over the limit of %d", len(text), maxFilter)
	}
	rest := text
	if lower := strings.ToLower(text); strings.HasPrefix(lower, "urn:") {
		core := ""
		for _, schema := range []string{UserSchema, GroupSchema} {
			if prefix := strings.ToLower(schema) + ":"; strings.HasPrefix(lower, prefix) {
				core = prefix
			}
		}
		if core == "" {
			return Path{Attr: lower, Foreign: true}, nil
		}
		rest = text[len(core):]
	}
	var p Path
	var ok bool
	if p.Attr, rest, ok = cutName(rest); !ok {
		return Path{}, bad
	}
	if strings.HasPrefix(rest, "[") {
		one, after, err := parseCompare(rest[1:])
		if err != nil {
			return Path{}, Typed(InvalidPath, err)
		}
		after = strings.TrimLeft(after, " ")
		if !strings.HasPrefix(after, "]") {
			return Path{}, bad
		}
		p.Where, rest = &one, after[1:]
	}
	if strings.HasPrefix(rest, ".") {
		if p.Sub, rest, ok = cutName(rest[1:]); !ok {
			return Path{}, bad
		}
	}
	if rest != "" {
		return Path{}, bad
	}
	return p, nil
}

// cutName reads the name of an attribute, in lower case, from the beginning of a text.
func cutName(text string) (name, rest string, ok bool) {
	end := 0
	for end < len(text) && (letter(text[end]) || end > 0 && (text[end] >= '0' && text[end] <= '9' || text[end] == '_' || text[end] == '-')) {
		end++
	}
	return strings.ToLower(text[:end]), text[end:], end > 0
}

func letter(b byte) bool { return b == '$' || b|0x20 >= 'a' && b|0x20 <= 'z' }
