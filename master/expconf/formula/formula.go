// Package formula is the language of constraints between hyperparameters, such as
// "lr_min < lr_max" or "layers * width <= 4096 or dropout > 0.1". It is pure.
//
// A formula compares numbers (< <= > >= == !=, also in chains as a < b < c), calculates with
// + - * /, and combines comparisons with `and` and `or`. A name is that of a hyperparameter, with
// dots between groups; a name with other characters than letters, digits, _ and dots stands in
// backquotes. There are no functions, no variables and no loops: a formula is checked in a time
// that its length limits.
package formula

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Limits of a formula.
const (
	MaxLength = 1000 // bytes
	maxDepth  = 32   // parentheses and signs within each other
)

// A Formula is true or false for given numbers.
type Formula struct {
	text  string
	names []string
	root  *node
}

// String returns the text of the formula.
func (f *Formula) String() string { return f.text }

// Names lists the hyperparameters of the formula in the order in which they first occur.
func (f *Formula) Names() []string { return f.names }

// Holds reports whether the formula is true for these values of its names. A comparison with a
// result that is no number, as of 0/0, is false.
func (f *Formula) Holds(values []float64) bool { return f.root.holds(values) }

// A node is a part of a formula: a comparison, `and` or `or` (isTrue), or a number.
type node struct {
	op    string // of two parts; "-1" is a sign, "name" and "number" have no parts
	parts []*node
	name  int // index in names
	value float64
	at    int // byte in the text
}

func (n *node) isTruth() bool {
	switch n.op {
	case "and", "or", "<", "<=", ">", ">=", "==", "!=":
		return true
	}
	return false
}

func (n *node) holds(values []float64) bool {
	switch n.op {
	case "and":
		return n.parts[0].holds(values) && n.parts[1].holds(values)
	case "or":
		return n.parts[0].holds(values) || n.parts[1].holds(values)
	}
	a, b := n.parts[0].number(values), n.parts[1].number(values)
	switch n.op {
	case "<":
		return a < b
	case "<=":
		return a <= b
	case ">":
		return a > b
	case ">=":
		return a >= b
	case "==":
		return a == b
	}
	return a != b && !math.IsNaN(a) && !math.IsNaN(b)
}

func (n *node) number(values []float64) float64 {
	switch n.op {
	case "name":
		return values[n.name]
	case "number":
		return n.value
	case "-1":
		return -n.parts[0].number(values)
	}
	a, b := n.parts[0].number(values), n.parts[1].number(values)
	switch n.op {
	case "+":
		return a + b
	case "-":
		return a - b
	case "*":
		return a * b
	}
	return a / b
}

// Parse reads a formula. The error names the character at which it cannot be read.
func Parse(text string) (f *Formula, err error) {
	if len(text) > MaxLength {
		return nil, fmt.Errorf("has %d bytes; at most %d are allowed", len(text), MaxLength)
	}
	p := &parser{text: text, f: &Formula{text: text}}
	defer func() {
		if r := recover(); r != nil {
			wrong, ours := r.(mistake)
			if !ours {
				panic(r)
			}
			f, err = nil, wrong
		}
	}()
	p.next()
	p.f.root = p.or()
	if p.token != "" {
		p.fail(p.at, "expected an operator, found "+p.token+instead[p.token])
	}
	p.want(p.f.root, true)
	if len(p.f.names) == 0 {
		p.fail(0, "names no hyperparameter")
	}
	return p.f, nil
}

// instead says what to write in place of the operators of other languages.
var instead = map[string]string{"=": "; compare with ==", "&": "; write and", "|": "; write or", "!": "; the operators are < <= > >= == != + - * / and or",
	"%": "; there is no remainder", "^": "; there are no powers", "(": "; there are no functions"}

// A mistake is why a text is no formula.
type mistake string

func (m mistake) Error() string { return string(m) }

type parser struct {
	text  string
	f     *Formula
	end   int    // of the token
	at    int    // its first byte
	token string // "" at the end of the text
	depth int
}

func (p *parser) fail(at int, why string) {
	panic(mistake(fmt.Sprintf("at character %d: %s", utf8.RuneCountInString(p.text[:at])+1, why)))
}

func isLetter(c byte) bool { return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }
func isDigit(c byte) bool  { return c >= '0' && c <= '9' }

// next reads the next token.
func (p *parser) next() {
	for p.end < len(p.text) && strings.IndexByte(" \t\r\n", p.text[p.end]) >= 0 {
		p.end++
	}
	p.at = p.end
	if p.at == len(p.text) {
		p.token = ""
		return
	}
	take := func(while func(c byte) bool) {
		for p.end < len(p.text) && while(p.text[p.end]) {
			p.end++
		}
	}
	switch c := p.text[p.at]; {
	case isLetter(c):
		take(func(c byte) bool { return isLetter(c) || isDigit(c) || c == '.' })
	case isDigit(c) || c == '.':
		take(func(c byte) bool {
			before := p.text[p.end-min(p.end-p.at, 1)]
			return isDigit(c) || c == '.' || c == 'e' || c == 'E' || (c == '-' || c == '+') && (before == 'e' || before == 'E')
		})
	case c == '`':
		closing := strings.IndexByte(p.text[p.at+1:], '`')
		if closing < 1 {
			p.fail(p.at, "a name in backquotes has no end")
		}
		p.end = p.at + closing + 2
	case strings.IndexByte("<>=!", c) >= 0:
		p.end++
		take(func(c byte) bool { return c == '=' && p.end == p.at+1 })
	default:
		_, size := utf8.DecodeRuneInString(p.text[p.at:])
		p.end += size
	}
	p.token = p.text[p.at:p.end]
}

// want checks whether a part is a truth or a number.
func (p *parser) want(n *node, truth bool) {
	switch {
	case truth && !n.isTruth():
		p.fail(n.at, "expected a comparison, such as a < b, found a number")
	case !truth && n.isTruth():
		p.fail(n.at, "expected a number, found a comparison")
	}
}

func (p *parser) join(op string, at int, truths bool, parts ...*node) *node {
	for _, n := range parts {
		p.want(n, truths)
	}
	return &node{op: op, parts: parts, at: at}
}

// chain reads parts between operators of one precedence.
func (p *parser) chain(part func() *node, truths bool, ops ...string) *node {
	n := part()
	for slices.Contains(ops, p.token) {
		op := p.token
		p.next()
		n = p.join(op, n.at, truths, n, part())
	}
	return n
}

func (p *parser) or() *node  { return p.chain(p.and, true, "or") }
func (p *parser) and() *node { return p.chain(p.comparison, true, "and") }
func (p *parser) sum() *node { return p.chain(p.product, false, "+", "-") }

func (p *parser) product() *node { return p.chain(p.factor, false, "*", "/") }

// comparison reads a number, or a chain of comparisons, of which each must hold.
func (p *parser) comparison() *node {
	left := p.sum()
	var all *node
	for {
		switch op := p.token; op {
		case "<", "<=", ">", ">=", "==", "!=":
			p.next()
			right := p.sum()
			n := p.join(op, left.at, false, left, right)
			if left = right; all != nil {
				n = p.join("and", all.at, true, all, n)
			}
			all = n
		default:
			if all != nil {
				return all
			}
			return left
		}
	}
}

// factor reads a number, a name, a sign with its number, or what stands in parentheses.
func (p *parser) factor() *node {
	if p.depth++; p.depth > maxDepth {
		p.fail(p.at, fmt.Sprintf("is nested more than %d levels", maxDepth))
	}
	defer func() { p.depth-- }()
	token, at := p.token, p.at
	switch {
	case token == "-":
		p.next()
		return p.join("-1", at, false, p.factor())
	case token == "(":
		p.next()
		n := p.or()
		if p.token != ")" {
			p.fail(p.at, "expected ), found "+p.found()+instead[p.token])
		}
		p.next()
		return n
	case token == "" || token == "and" || token == "or":
		p.fail(at, "expected a number or the name of a hyperparameter, found "+p.found())
	case isDigit(token[0]) || token[0] == '.':
		v, err := strconv.ParseFloat(token, 64)
		if err != nil || math.IsInf(v, 0) {
			p.fail(at, token+" is no number")
		}
		p.next()
		return &node{op: "number", value: v, at: at}
	case isLetter(token[0]) || token[0] == '`':
		name := strings.Trim(token, "`")
		p.next()
		i := slices.Index(p.f.names, name)
		if i < 0 {
			i = len(p.f.names)
			p.f.names = append(p.f.names, name)
		}
		return &node{op: "name", name: i, at: at}
	}
	p.fail(at, "expected a number or the name of a hyperparameter, found "+token)
	return nil
}

func (p *parser) found() string {
	if p.token == "" {
		return "the end"
	}
	return p.token
}
