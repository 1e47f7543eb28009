package expconf

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Limits of a document. They are far above the longest useful experiment and reject files of
// another kind.
const (
	maxSource = 512 << 10 // bytes
	maxNodes  = 100_000   // values, aliases counted at each use
	maxText   = 1 << 20   // bytes of keys and scalars, aliases counted at each use
	maxKeys   = 10_000    // keys in YAML, because the parser's time is quadratic in their number
	maxPaths  = 16 << 20  // bytes of the paths of all values, such as hyperparameters.rate.minval: parser and decoder keep each
	maxDepth  = 64        // levels of nesting
	maxStored = 1 << 20   // bytes of a complete configuration as JSON
)

// limits of one document.
type limits struct {
	source, nodes, text, depth int
	lenient                    bool // unknown fields are warnings
}

// userLimits are the limits of documents that users write.
func userLimits() limits {
	return limits{source: maxSource, nodes: maxNodes, text: maxText, depth: maxDepth}
}

// storedLimits are the limits of a stored complete configuration: with its defaults it is
// larger and deeper than the user's document.
func storedLimits() limits {
	return limits{source: 8 << 20, nodes: 8 * maxNodes, text: 8 << 20, depth: maxDepth + 8}
}

type kind uint8

const (
	nullKind kind = iota
	boolKind
	intKind
	floatKind
	stringKind
	listKind
	mapKind
)

// node is one value of a document with its position. YAML and JSON both become trees of nodes,
// so that all later code exists once.
type node struct {
	kind   kind
	line   int
	column int

	text   string // a string's value; for other scalars, the text of the document
	word   bool   // a string that was written without quotes and is a boolean in YAML 1.1
	b      bool
	i      int64
	f      float64
	items  []*node
	fields []field

	size  int // values in this tree, this one included
	bytes int // of their text and keys
	depth int
}

// field is one entry of a mapping, with the position of its key.
type field struct {
	key    string
	line   int
	column int
	value  *node
}

// storableText reports whether the database and environment variables can store a string:
// escapes can produce NUL and bytes that are not UTF-8.
func storableText(s string) bool { return utf8.ValidString(s) && !strings.ContainsRune(s, 0) }

// pathsMessage is the problem of a document with more than maxPaths.
func pathsMessage() string {
	return fmt.Sprintf("the names of the values, each with those of the mappings around it, have more than %d MB together", maxPaths>>20)
}

const unstorableMessage = "contains a NUL character or bytes that are not UTF-8 text"

// get is the value under key, or nil.
func (n *node) get(key string) *node {
	for _, f := range n.fields {
		if f.key == key {
			return f.value
		}
	}
	return nil
}

// measure sets size and depth of a composite whose children are complete, and reports whether
// both are within the limits. Aliases share nodes, so a tree can be far larger than its source;
// no code may walk the tree before this check.
func (n *node) measure(l limits) bool {
	n.size, n.depth, n.bytes = 1, 1, len(n.text)
	add := func(child *node) {
		n.size = min(n.size+child.size, l.nodes+1)
		n.bytes = min(n.bytes+child.bytes, l.text+1)
		n.depth = max(n.depth, child.depth+1)
	}
	for _, item := range n.items {
		add(item)
	}
	for _, f := range n.fields {
		add(f.value)
		n.bytes = min(n.bytes+len(f.key), l.text+1)
	}
	return n.size <= l.nodes && n.depth <= l.depth && n.bytes <= l.text
}

// Plain scalars are resolved by the core schema of YAML 1.2, as in JSON: "0777" is not octal. The
// boolean words of YAML 1.1 are strings where a string is expected, and booleans elsewhere (oldWords).
var (
	intPattern   = regexp.MustCompile(`^[-+]?[0-9][0-9_]*$`)
	basePattern  = regexp.MustCompile(`^0(o[0-7]+|x[0-9a-fA-F]+)$`)
	floatPattern = regexp.MustCompile(`^[-+]?(\.[0-9]+|[0-9][0-9_]*(\.[0-9]*)?)([eE][-+]?[0-9]+)?$`)
)

// resolve sets the kind and value of n from its plain text.
func (n *node) resolve() {
	text := n.text
	switch text {
	case "", "~", "null", "Null", "NULL":
		n.kind = nullKind
		return
	case "true", "True", "TRUE":
		n.kind, n.b = boolKind, true
		return
	case "false", "False", "FALSE":
		n.kind, n.b = boolKind, false
		return
	case ".nan", ".NaN", ".NAN":
		n.kind, n.f = floatKind, math.NaN()
		return
	case ".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF":
		n.kind, n.f = floatKind, math.Inf(1)
		return
	case "-.inf", "-.Inf", "-.INF":
		n.kind, n.f = floatKind, math.Inf(-1)
		return
	}
	digits := strings.ReplaceAll(text, "_", "")
	switch {
	case intPattern.MatchString(text):
		n.kind = intKind
		i, err := strconv.ParseInt(digits, 10, 64)
		if err != nil {
			n.kind = floatKind
			n.f, _ = strconv.ParseFloat(digits, 64)
			return
		}
		n.i = i
	case basePattern.MatchString(text):
		base, body := 8, text[2:]
		if text[1] == 'x' {
			base = 16
		}
		i, err := strconv.ParseInt(body, base, 64)
		if err != nil {
			n.kind = stringKind
			return
		}
		n.kind, n.i = intKind, i
	case floatPattern.MatchString(text):
		n.kind = floatKind
		// Out of range gives ±Inf, which later checks reject.
		n.f, _ = strconv.ParseFloat(digits, 64)
	default:
		n.kind, n.word = stringKind, oldWords[text] != 0
	}
}

// finite reports whether JSON can represent the number n.
func (n *node) finite() bool {
	return n.kind != floatKind || (!math.IsNaN(n.f) && !math.IsInf(n.f, 0))
}

// whole returns n as an integer; a float without a fraction (1e3) is accepted.
func (n *node) whole() (int64, bool) {
	switch n.kind {
	case intKind:
		return n.i, true
	case floatKind:
		if n.f == math.Trunc(n.f) && math.Abs(n.f) < 1<<53 {
			return int64(n.f), true
		}
	}
	return 0, false
}

// describe names n in a message: `a string "four"`, "a list".
func (n *node) describe() string {
	switch n.kind {
	case nullKind:
		return "null"
	case boolKind:
		return fmt.Sprintf("the boolean %t", n.b)
	case intKind:
		return "the integer " + clip(n.text)
	case floatKind:
		return "the number " + clip(n.text)
	case stringKind:
		return "a string " + strconv.Quote(clip(n.text))
	case listKind:
		return "a list"
	default:
		return "a mapping"
	}
}

// clip shortens a user's text that a message quotes.
func clip(text string) string { return clipTo(text, 40) }

func clipTo(text string, limit int) string {
	if utf8.RuneCountInString(text) <= limit {
		return text
	}
	runes := []rune(text)
	return string(runes[:limit]) + "…"
}

// free returns n as plain Go values: nil, bool, int64, float64, string, []any and
// map[string]any. Whole numbers are int64 in every notation, so that encoding to JSON and back
// does not change a value.
func (n *node) free() any {
	switch n.kind {
	case boolKind:
		return n.b
	case intKind, floatKind:
		if i, ok := n.whole(); ok {
			return i
		}
		return n.f
	case stringKind:
		if n.word {
			return oldWords[n.text] > 0
		}
		return n.text
	case listKind:
		out := make([]any, len(n.items))
		for i, item := range n.items {
			out[i] = item.free()
		}
		return out
	case mapKind:
		out := make(map[string]any, len(n.fields))
		for _, f := range n.fields {
			out[f.key] = f.value.free()
		}
		return out
	default:
		return nil
	}
}
