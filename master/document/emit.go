package document

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
)

// Emit formats a tree of nodes as YAML in block style. Parsing the result gives the same tree.
func Emit(root *Node) []byte {
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
func (e *emitter) composite(n *Node) bool { return len(n.Items) > 0 || len(n.Fields) > 0 }

func (e *emitter) block(n *Node, indent int) {
	for _, f := range n.Fields {
		e.indent(indent)
		e.text(f.Key)
		e.out.WriteByte(':')
		e.value(f.Value, indent+2)
	}
	for _, item := range n.Items {
		e.indent(indent)
		e.out.WriteByte('-')
		e.value(item, indent+2)
	}
}

func (e *emitter) value(n *Node, indent int) {
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

func (e *emitter) inline(n *Node) {
	switch n.Kind {
	case NullKind:
		e.out.WriteString("null")
	case ListKind:
		e.out.WriteString("[]")
	case MapKind:
		e.out.WriteString("{}")
	case StringKind:
		if n.word { // without quotes, because a value of any type is a boolean then
			e.out.WriteString(n.Text)
			return
		}
		e.text(n.Text)
	default:
		e.out.WriteString(n.Text)
	}
}

// text writes a string without quotes if no parser can read it as another type, and as a JSON
// string otherwise, which is also YAML.
func (e *emitter) text(s string) {
	as := Node{Text: s}
	as.resolve()
	if as.Kind == StringKind && plainText.MatchString(s) && !oldWord(s) {
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

// oldWord reports whether YAML 1.1 reads the string as a boolean.
func oldWord(s string) bool {
	switch strings.ToLower(s) {
	case "y", "n", "yes", "no", "on", "off":
		return true
	}
	return false
}
