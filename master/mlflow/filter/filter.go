// Package filter is pure: it parses the filters and orders of MLflow's searches, such as
//
//	metrics.loss < 0.1 AND params.`learning rate` = '0.01' AND tags.mlflow.user LIKE 'a%' AND status IN ('FINISHED')
//
// A filter is a list of comparisons that must all hold. Which things a search knows, and how they are compared in the database,
// its caller decides.
package filter

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/detent-ml/detent/master/fault"
)

// A Kind is what a comparison is about.
type Kind string

// The kinds.
const (
	Metric    Kind = "metric"
	Param     Kind = "parameter"
	Tag       Kind = "tag"
	Attribute Kind = "attribute"
	Dataset   Kind = "dataset"
)

// kinds are the words before the dot.
var kinds = map[string]Kind{
	"metric": Metric, "metrics": Metric, "parameter": Param, "parameters": Param, "param": Param, "params": Param, "tag": Tag, "tags": Tag,
	"attribute": Attribute, "attributes": Attribute, "attr": Attribute, "run": Attribute, "dataset": Dataset, "datasets": Dataset,
}

// The operators.
const (
	Is, IsNot, Like, LikeAnyCase, In, NotIn = "=", "!=", "LIKE", "ILIKE", "IN", "NOT IN"
	Absent, Present                         = "IS NULL", "IS NOT NULL"
)

// A Comparison compares the thing with a name with a value.
type Comparison struct {
	Kind   Kind
	Name   string
	Op     string
	Text   string   // the value, if it is text
	Number *float64 // the value, if it is a number
	List   []string // the values of In and NotIn
}

// An Order is one of the keys by which a search sorts.
type Order struct {
	Kind Kind
	Name string
	Desc bool
}

const (
	maxText        = 16 << 10 // bytes of a filter
	maxComparisons = 50
	maxList        = 1000 // values of one IN
)

// operators are the operators that a kind has.
var operators = map[Kind][]string{
	Metric: {"<", "<=", Is, IsNot, ">=", ">"}, Param: {Is, IsNot, Like, LikeAnyCase, Absent, Present}, Tag: {Is, IsNot, Like, LikeAnyCase, Absent, Present},
	Attribute: {"<", "<=", Is, IsNot, ">=", ">", Like, LikeAnyCase, In, NotIn}, Dataset: {Is, IsNot, Like, LikeAnyCase, In, NotIn},
}

// Parse parses a filter; an empty one has no comparisons.
func Parse(text string) (list []Comparison, err error) {
	if len(text) > maxText {
		return nil, fault.New(fault.Invalid, "filter: %d bytes are over the limit of %d", len(text), maxText)
	}
	if !utf8.ValidString(text) || strings.IndexByte(text, 0) >= 0 {
		return nil, fault.New(fault.Invalid, "filter: text with a NUL character or invalid UTF-8")
	}
	p := parser{text: text}
	for p.skip(); !p.done(); p.skip() {
		if len(list) > 0 && !p.word("AND") {
			return nil, p.wrong("AND between two comparisons")
		}
		c, err := p.comparison()
		if err != nil {
			return nil, err
		}
		if list = append(list, c); len(list) > maxComparisons {
			return nil, fault.New(fault.Invalid, "filter: more than %d comparisons", maxComparisons)
		}
	}
	return list, nil
}

// ParseOrder parses a key of an order, such as metrics.loss DESC.
func ParseOrder(text string) (o Order, err error) {
	if len(text) > maxText || !utf8.ValidString(text) || strings.IndexByte(text, 0) >= 0 {
		return o, fault.New(fault.Invalid, "order_by: the text is too long or no text")
	}
	p := parser{text: text, what: "order_by"}
	p.skip()
	if o.Kind, o.Name, err = p.thing(); err != nil {
		return o, err
	}
	if p.word("DESC") {
		o.Desc = true
	} else {
		p.word("ASC")
	}
	if p.skip(); !p.done() {
		return o, p.wrong("ASC or DESC, and nothing after it")
	}
	return o, nil
}

type parser struct {
	text string
	at   int
	what string // the parameter, for errors
}

func (p *parser) done() bool { return p.at >= len(p.text) }

func (p *parser) skip() {
	for !p.done() && strings.IndexByte(" \t\r\n", p.text[p.at]) >= 0 {
		p.at++
	}
}

// wrong is the error that something else was expected here.
func (p *parser) wrong(want string) error {
	what, rest := p.what, p.text[p.at:]
	if what == "" {
		what = "filter"
	}
	if rest == "" {
		return fault.New(fault.Invalid, "%s: expected %s at the end of %q", what, want, fault.Clip(p.text))
	}
	return fault.New(fault.Invalid, "%s: expected %s at character %d, found %q", what, want, utf8.RuneCountInString(p.text[:p.at])+1, fault.ClipTo(rest, 40))
}

// word reads a word in either case, if it comes next.
func (p *parser) word(w string) bool {
	p.skip()
	end := p.at + len(w)
	if end > len(p.text) || !strings.EqualFold(p.text[p.at:end], w) || end < len(p.text) && isName(p.text[end]) {
		return false
	}
	p.at = end
	return true
}

func isName(c byte) bool {
	return c >= utf8.RuneSelf || c == '_' || c == '.' || c == '-' || c == '/' || c == ':' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// thing reads what a comparison is about: a name alone is an attribute.
func (p *parser) thing() (Kind, string, error) {
	first, err := p.name()
	if err != nil {
		return "", "", err
	}
	head, rest, dotted := strings.Cut(first.text, ".")
	if first.quoted || !dotted {
		return p.attribute(first)
	}
	kind, known := kinds[head]
	if !known {
		return "", "", fault.New(fault.Invalid, "%s: %q is none of metrics, params, tags, attributes and datasets", p.parameter(), fault.Clip(head))
	}
	if rest == "" { // the name is quoted, because it has other characters
		n, err := p.name()
		if err != nil || !n.quoted {
			return "", "", p.wrong("a name after " + head + ".")
		}
		rest = n.text
	}
	return kind, rest, nil
}

// attribute is a name without a dot. Run name has a blank in some clients.
func (p *parser) attribute(n named) (Kind, string, error) {
	if strings.EqualFold(n.text, "run") && p.word("name") {
		return Attribute, "run_name", nil
	}
	return Attribute, n.text, nil
}

func (p *parser) parameter() string {
	if p.what == "" {
		return "filter"
	}
	return p.what
}

type named struct {
	text   string
	quoted bool
}

// name reads a name, which may be in backticks or quotes.
func (p *parser) name() (named, error) {
	p.skip()
	if p.done() {
		return named{}, p.wrong("a name")
	}
	if c := p.text[p.at]; c == '`' || c == '"' {
		text, ok := p.quoted()
		if !ok || text == "" {
			return named{}, p.wrong("a name within quotes")
		}
		return named{text, true}, nil
	}
	from := p.at
	for !p.done() && isName(p.text[p.at]) {
		p.at++
	}
	if p.at == from {
		return named{}, p.wrong("a name, such as metrics.loss")
	}
	return named{p.text[from:p.at], false}, nil
}

// quoted reads text within the quotes that come next; a quote within it is doubled.
func (p *parser) quoted() (string, bool) {
	mark := p.text[p.at]
	var out strings.Builder
	for i := p.at + 1; i < len(p.text); i++ {
		switch {
		case p.text[i] != mark:
			out.WriteByte(p.text[i])
		case i+1 < len(p.text) && p.text[i+1] == mark:
			out.WriteByte(mark)
			i++
		default:
			p.at = i + 1
			return out.String(), true
		}
	}
	return "", false
}

func (p *parser) comparison() (c Comparison, err error) {
	if c.Kind, c.Name, err = p.thing(); err != nil {
		return c, err
	}
	if c.Op, err = p.operator(); err != nil {
		return c, err
	}
	if !slices.Contains(operators[c.Kind], c.Op) {
		return c, fault.New(fault.Invalid, "filter: a %s cannot be compared with %s; its operators are %s", c.Kind, c.Op, strings.Join(operators[c.Kind], ", "))
	}
	switch c.Op {
	case Absent, Present:
	case In, NotIn:
		c.List, err = p.list()
	default:
		err = p.value(&c)
	}
	if err != nil {
		return c, err
	}
	if c.Kind == Metric && c.Number == nil {
		return c, fault.New(fault.Invalid, "filter: the metric %q is compared with a text; write a number without quotes", fault.Clip(c.Name))
	}
	if (c.Kind == Param || c.Kind == Tag || c.Kind == Dataset) && c.Number != nil {
		return c, fault.New(fault.Invalid, "filter: the %s %q is text; write the value in quotes", c.Kind, fault.Clip(c.Name))
	}
	return c, nil
}

func (p *parser) operator() (string, error) {
	p.skip()
	for _, op := range []string{"<=", ">=", "!=", "<>", "==", "<", ">", "="} {
		if strings.HasPrefix(p.text[p.at:], op) {
			p.at += len(op)
			switch op {
			case "<>":
				return IsNot, nil
			case "==":
				return Is, nil
			}
			return op, nil
		}
	}
	switch {
	case p.word("LIKE"):
		return Like, nil
	case p.word("ILIKE"):
		return LikeAnyCase, nil
	case p.word("IN"):
		return In, nil
	case p.word("NOT"):
		if p.word("IN") {
			return NotIn, nil
		}
	case p.word("IS"):
		not := p.word("NOT")
		if p.word("NULL") {
			return map[bool]string{true: Present, false: Absent}[not], nil
		}
	}
	return "", p.wrong("one of = != < <= > >= LIKE ILIKE IN IS NULL")
}

// value reads a number, or a text in quotes.
func (p *parser) value(c *Comparison) error {
	p.skip()
	if p.done() {
		return p.wrong("a value")
	}
	if mark := p.text[p.at]; mark == '\'' || mark == '"' {
		text, ok := p.quoted()
		if !ok {
			return p.wrong("a text with a quote at its end")
		}
		c.Text = text
		return nil
	}
	from := p.at
	for !p.done() && (isName(p.text[p.at]) || p.text[p.at] == '+') {
		p.at++
	}
	n, err := strconv.ParseFloat(p.text[from:p.at], 64)
	if err != nil {
		p.at = from
		return p.wrong("a number, or a text in quotes")
	}
	c.Number = &n
	return nil
}

// list reads texts in quotes, within parentheses.
func (p *parser) list() (list []string, err error) {
	if p.skip(); p.done() || p.text[p.at] != '(' {
		return nil, p.wrong("a list such as ('a', 'b')")
	}
	for p.at++; ; p.at++ {
		if p.skip(); len(list) > 0 && !p.done() && p.text[p.at] == ')' { // after a comma
			p.at++
			return list, nil
		}
		var c Comparison
		if err := p.value(&c); err != nil {
			return nil, err
		}
		if c.Number != nil {
			return nil, p.wrong("texts in quotes only")
		}
		if list = append(list, c.Text); len(list) > maxList {
			return nil, fault.New(fault.Invalid, "filter: a list with more than %d values", maxList)
		}
		p.skip()
		switch {
		case !p.done() && p.text[p.at] == ')':
			p.at++
			return list, nil
		case p.done() || p.text[p.at] != ',':
			return nil, p.wrong("a comma or a parenthesis")
		}
	}
}
