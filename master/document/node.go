package document

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/detent-ml/detent/master/each"
)

// Limits of a document. They are far above the longest useful experiment and reject files of
// another kind.
const (
	MaxSource = 512 << 10 // bytes
	maxNodes  = 100_000   // values, aliases counted at each use
	maxText   = 1 << 20   // bytes of keys and scalars, aliases counted at each use
	maxKeys   = 10_000    // keys in YAML, because the parser's time is quadratic in their number
	MaxPaths  = 16 << 20  // bytes of the paths of all values, such as hyperparameters.rate.minval: parser and decoder keep each
	maxDepth  = 64        // levels of nesting
	MaxStored = 1 << 20   // bytes of a complete configuration as JSON
)

// Limits of one document.
type Limits struct {
	source, nodes, text, depth int
	Lenient                    bool // unknown fields are warnings
}

// UserLimits are the limits of documents that users write.
func UserLimits() Limits {
	return Limits{source: MaxSource, nodes: maxNodes, text: maxText, depth: maxDepth}
}

// StoredLimits are the limits of a stored complete configuration: with its defaults it is
// larger and deeper than the user's document.
func StoredLimits() Limits {
	return Limits{source: 8 << 20, nodes: 8 * maxNodes, text: 8 << 20, depth: maxDepth + 8}
}

type Kind uint8

// The kinds.
const (
	NullKind Kind = iota
	BoolKind
	IntKind
	FloatKind
	StringKind
	ListKind
	MapKind
)

// Node is one value of a document with its position. YAML and JSON both become trees of nodes,
// so that all later code exists once.
type Node struct {
	Kind   Kind
	Line   int
	Column int

	Text   string // a string's value; for other scalars, the text of the document
	word   bool   // a string that was written without quotes and is a boolean in YAML 1.1
	b      bool
	I      int64
	F      float64
	Items  []*Node
	Fields []Field

	Size  int // values in this tree, this one included
	Bytes int // of their text and keys
	Depth int
}

// Field is one entry of a mapping, with the position of its key.
type Field struct {
	Key    string
	Line   int
	Column int
	Value  *Node
}

// storableText reports whether the database and environment variables can store a string:
// escapes can produce NUL and bytes that are not UTF-8.
func storableText(s string) bool { return utf8.ValidString(s) && !strings.ContainsRune(s, 0) }

// PathsMessage is the problem of a document with more than maxPaths.
func PathsMessage() string {
	return fmt.Sprintf("the names of the values, each with those of the mappings around it, have more than %d MB together", MaxPaths>>20)
}

const unstorableMessage = "contains a NUL character or bytes that are not UTF-8 text"

// Get is the value under key, or nil.
func (n *Node) Get(key string) *Node {
	for _, f := range n.Fields {
		if f.Key == key {
			return f.Value
		}
	}
	return nil
}

// Measure sets size and depth of a composite whose children are complete, and reports whether
// both are within the limits. Aliases share nodes, so a tree can be far larger than its source;
// no code may walk the tree before this check.
func (n *Node) Measure(l Limits) bool {
	n.Size, n.Depth, n.Bytes = 1, 1, len(n.Text)
	add := func(child *Node) {
		n.Size = min(n.Size+child.Size, l.nodes+1)
		n.Bytes = min(n.Bytes+child.Bytes, l.text+1)
		n.Depth = max(n.Depth, child.Depth+1)
	}
	for _, item := range n.Items {
		add(item)
	}
	for _, f := range n.Fields {
		add(f.Value)
		n.Bytes = min(n.Bytes+len(f.Key), l.text+1)
	}
	return n.Size <= l.nodes && n.Depth <= l.depth && n.Bytes <= l.text
}

// Plain scalars are resolved by the core schema of YAML 1.2, as in JSON: "0777" is not octal. The
// boolean words of YAML 1.1 are strings where a string is expected, and booleans elsewhere (oldWords).
var (
	intPattern   = regexp.MustCompile(`^[-+]?[0-9][0-9_]*$`)
	basePattern  = regexp.MustCompile(`^0(o[0-7]+|x[0-9a-fA-F]+)$`)
	floatPattern = regexp.MustCompile(`^[-+]?(\.[0-9]+|[0-9][0-9_]*(\.[0-9]*)?)([eE][-+]?[0-9]+)?$`)
)

// resolve sets the kind and value of n from its plain text.
func (n *Node) resolve() {
	text := n.Text
	switch text {
	case "", "~", "null", "Null", "NULL":
		n.Kind = NullKind
		return
	case "true", "True", "TRUE":
		n.Kind, n.b = BoolKind, true
		return
	case "false", "False", "FALSE":
		n.Kind, n.b = BoolKind, false
		return
	case ".nan", ".NaN", ".NAN":
		n.Kind, n.F = FloatKind, math.NaN()
		return
	case ".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF":
		n.Kind, n.F = FloatKind, math.Inf(1)
		return
	case "-.inf", "-.Inf", "-.INF":
		n.Kind, n.F = FloatKind, math.Inf(-1)
		return
	}
	digits := strings.ReplaceAll(text, "_", "")
	switch {
	case intPattern.MatchString(text):
		n.Kind = IntKind
		i, err := strconv.ParseInt(digits, 10, 64)
		if err != nil {
			n.Kind = FloatKind
			n.F, _ = strconv.ParseFloat(digits, 64)
			return
		}
		n.I = i
	case basePattern.MatchString(text):
		base, body := 8, text[2:]
		if text[1] == 'x' {
			base = 16
		}
		i, err := strconv.ParseInt(body, base, 64)
		if err != nil {
			n.Kind = StringKind
			return
		}
		n.Kind, n.I = IntKind, i
	case floatPattern.MatchString(text):
		n.Kind = FloatKind
		// Out of range gives ±Inf, which later checks reject.
		n.F, _ = strconv.ParseFloat(digits, 64)
	default:
		n.Kind, n.word = StringKind, oldWords[text] != 0
	}
}

// Finite reports whether JSON can represent the number n.
func (n *Node) Finite() bool {
	return n.Kind != FloatKind || (!math.IsNaN(n.F) && !math.IsInf(n.F, 0))
}

// Whole returns n as an integer; a float without a fraction (1e3) is accepted.
func (n *Node) Whole() (int64, bool) {
	switch n.Kind {
	case IntKind:
		return n.I, true
	case FloatKind:
		if n.F == math.Trunc(n.F) && math.Abs(n.F) < 1<<53 {
			return int64(n.F), true
		}
	}
	return 0, false
}

// Truth is n as a boolean. The boolean words of YAML 1.1 are accepted, because many existing
// configurations use them.
func (n *Node) Truth() (value, ok bool) {
	switch n.Kind {
	case BoolKind:
		return n.b, true
	case StringKind:
		switch strings.ToLower(n.Text) {
		case "yes", "on":
			return true, true
		case "no", "off":
			return false, true
		}
	}
	return false, false
}

// Describe names n in a message: `a string "four"`, "a list".
func (n *Node) Describe() string {
	switch n.Kind {
	case NullKind:
		return "null"
	case BoolKind:
		return fmt.Sprintf("the boolean %t", n.b)
	case IntKind:
		return "the integer " + Clip(n.Text)
	case FloatKind:
		return "the number " + Clip(n.Text)
	case StringKind:
		return "a string " + strconv.Quote(Clip(n.Text))
	case ListKind:
		return "a list"
	default:
		return "a mapping"
	}
}

// Clip shortens a user's text that a message quotes.
func Clip(text string) string { return ClipTo(text, 40) }

// ClipTo is Clip to another number of characters.
func ClipTo(text string, limit int) string {
	if utf8.RuneCountInString(text) <= limit {
		return text
	}
	runes := []rune(text)
	return string(runes[:limit]) + "…"
}

// Free returns n as plain Go values: nil, bool, int64, float64, string, []any and
// map[string]any. Whole numbers are int64 in every notation, so that encoding to JSON and back
// does not change a value.
func (n *Node) Free() any {
	switch n.Kind {
	case BoolKind:
		return n.b
	case IntKind, FloatKind:
		if i, ok := n.Whole(); ok {
			return i
		}
		return n.F
	case StringKind:
		if n.word {
			return oldWords[n.Text] > 0
		}
		return n.Text
	case ListKind:
		return each.Of(n.Items, (*Node).Free)
	case MapKind:
		return each.Map(n.Fields, func(f Field) (string, any) { return f.Key, f.Value.Free() })
	default:
		return nil
	}
}

// oldWords are the booleans of YAML 1.1 that YAML 1.2 reads as strings, as Determined's parser
// knows them: 1 is true, -1 is false.
var oldWords = map[string]int{
	"y": 1, "Y": 1, "yes": 1, "Yes": 1, "YES": 1, "on": 1, "On": 1, "ON": 1,
	"n": -1, "N": -1, "no": -1, "No": -1, "NO": -1, "off": -1, "Off": -1, "OFF": -1,
}

// Mapped returns a mapping or list with its values replaced. The tree itself stays, because aliases share its nodes.
func (n *Node) Mapped(fn func(name string, value *Node) *Node) *Node {
	out := *n
	out.Items, out.Fields = make([]*Node, len(n.Items)), make([]Field, len(n.Fields))
	for i, item := range n.Items {
		out.Items[i] = fn("", item)
	}
	for i, f := range n.Fields {
		f.Value = fn(f.Key, f.Value)
		out.Fields[i] = f
	}
	return &out
}

// jsonNumber matches the numbers that JSON writes as they are.
var jsonNumber = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?$`)

// Stored returns the tree as free does, but with the numbers as they are written, so that what is shown of stored JSON has the same ones.
func (n *Node) Stored() any {
	switch {
	case n.Kind == ListKind:
		return each.Of(n.Items, (*Node).Stored)
	case n.Kind == MapKind:
		return each.Map(n.Fields, func(f Field) (string, any) { return f.Key, f.Value.Stored() })
	case (n.Kind == IntKind || n.Kind == FloatKind) && jsonNumber.MatchString(n.Text):
		return json.Number(n.Text)
	}
	return n.Free()
}

// Name describes a value in the place of which a known word was expected.
func (n *Node) Name() string {
	if n.Kind == StringKind {
		return fmt.Sprintf("%q", Clip(n.Text))
	}
	return "that is " + n.Describe()
}
