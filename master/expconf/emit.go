package expconf

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
)

// emit formats a tree of nodes as YAML in block style. Parsing the result gives the same tree.
func emit(root *node) []byte {
	var e emitter
	if e.composite(root) {
		e.block(root, 0)
	} else {
		e.inline(root)
		e.out.WriteByte('\n')
	}
	return e.out.Bytes()
}

// plainText matches strings that certainly need no quotes.
var plainText = regexp.MustCompile(`^[A-Za-z_/][A-Za-z0-9_./+-]*( [A-Za-z0-9_./+-]+)*$`)

type emitter struct {
	out bytes.Buffer
}

// composite reports whether n needs lines of its own.
func (e *emitter) composite(n *node) bool { return len(n.items) > 0 || len(n.fields) > 0 }

func (e *emitter) block(n *node, indent int) {
	for _, f := range n.fields {
		e.indent(indent)
		e.text(f.key)
		e.out.WriteByte(':')
		e.value(f.value, indent+2)
	}
	for _, item := range n.items {
		e.indent(indent)
		e.out.WriteByte('-')
		e.value(item, indent+2)
	}
}

func (e *emitter) value(n *node, indent int) {
	if e.composite(n) {
		e.out.WriteByte('\n')
		e.block(n, indent)
		return
	}
	e.out.WriteByte(' ')
	e.inline(n)
	e.out.WriteByte('\n')
}

func (e *emitter) indent(n int) { e.out.WriteString(strings.Repeat(" ", n)) }

func (e *emitter) inline(n *node) {
	switch n.kind {
	case nullKind:
		e.out.WriteString("null")
	case listKind:
		e.out.WriteString("[]")
	case mapKind:
		e.out.WriteString("{}")
	case stringKind:
		if n.word { // without quotes, because a value of any type is a boolean then
			e.out.WriteString(n.text)
			return
		}
		e.text(n.text)
	default:
		e.out.WriteString(n.text)
	}
}

// text writes a string without quotes if no parser can read it as another type, and as a JSON
// string otherwise, which is also YAML.
func (e *emitter) text(s string) {
	as := node{text: s}
	as.resolve()
	if as.kind == stringKind && plainText.MatchString(s) && !oldWord(s) {
		e.out.WriteString(s)
		return
	}
	var quoted bytes.Buffer
	encoder := json.NewEncoder(&quoted)
	encoder.SetEscapeHTML(false)
	// A string always encodes.
	_ = encoder.Encode(s)
	e.out.WriteString(strings.TrimSuffix(quoted.String(), "\n"))
}

// oldWords are the booleans of YAML 1.1 that YAML 1.2 reads as strings, as Determined's parser
// knows them: 1 is true, -1 is false.
var oldWords = map[string]int{
	"y": 1, "Y": 1, "yes": 1, "Yes": 1, "YES": 1, "on": 1, "On": 1, "ON": 1,
	"n": -1, "N": -1, "no": -1, "No": -1, "NO": -1, "off": -1, "Off": -1, "OFF": -1,
}

// oldWord reports whether YAML 1.1 reads the string as a boolean.
func oldWord(s string) bool {
	switch strings.ToLower(s) {
	case "y", "n", "yes", "no", "on", "off":
		return true
	}
	return false
}
