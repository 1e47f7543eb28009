package find

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/detent-ml/detent/master/spelling"
)

// Parse reads the line that users type. Times such as -7d are before now. The
// error is an *Error. An empty line asks for everything.
func (t Table) Parse(line string, now time.Time) (Filter, error) {
	if len(line) > maxSource {
		return Filter{}, &Error{Column: 1, Message: fmt.Sprintf("the filter has %d bytes; at most %d are allowed", len(line), maxSource)}
	}
	tokens, err := lex(line)
	if err != nil {
		return Filter{}, err
	}
	p := &parser{table: t, tokens: tokens, now: now}
	if p.peek().kind == end {
		return Filter{}, nil
	}
	root, err := p.either(0)
	if err != nil {
		return Filter{}, err
	}
	if rest := p.peek(); rest.kind != end {
		return Filter{}, p.unexpected(rest)
	}
	return Filter{Root: root, Archived: root.mentions("archived")}, nil
}

type parser struct {
	table  Table
	tokens []token
	at     int
	nodes  int
	now    time.Time
}

func (p *parser) peek() token { return p.tokens[p.at] }

// next returns and consumes a token; the end is never consumed.
func (p *parser) next() token {
	t := p.tokens[p.at]
	if t.kind != end {
		p.at++
	}
	return t
}

func (p *parser) take(keyword string) bool {
	if p.peek().is(keyword) {
		p.at++
		return true
	}
	return false
}

func (p *parser) takeSymbol(s string) bool {
	if t := p.peek(); t.kind == symbol && t.text == s {
		p.at++
		return true
	}
	return false
}

func (p *parser) unexpected(t token) *Error {
	e := &Error{Column: t.column, Message: "expected and, or, or the end, found " + t.describe()}
	if t.kind == symbol && t.text == ")" {
		e.Message = "the opening parenthesis is missing"
	}
	return e
}

// either parses nodes joined by or.
func (p *parser) either(depth int) (Node, *Error) {
	return p.joined("or", true, func() (Node, *Error) {
		return p.joined("and", false, func() (Node, *Error) { return p.one(depth) })
	})
}

// joined parses one or more nodes joined by a keyword.
func (p *parser) joined(keyword string, anyOf bool, read func() (Node, *Error)) (Node, *Error) {
	first, err := read()
	if err != nil || !p.peek().is(keyword) {
		return first, err
	}
	group := Node{Any: anyOf, Children: []Node{first}}
	for p.take(keyword) {
		child, err := read()
		if err != nil {
			return Node{}, err
		}
		group.Children = append(group.Children, child)
	}
	return group, p.count(group)
}

// count limits the size of the tree: not and in can make it larger than the line.
func (p *parser) count(n Node) *Error {
	if size(n) > maxNodes {
		return &Error{Column: p.peek().column, Message: fmt.Sprintf("the filter has more than %d conditions", maxNodes)}
	}
	return nil
}

func size(n Node) int {
	total := 1
	for _, c := range n.Children {
		total += size(c)
	}
	return total
}

// one parses a condition, a group in parentheses, or the negation of one.
func (p *parser) one(depth int) (Node, *Error) {
	t := p.peek()
	if depth > maxDepth {
		return Node{}, &Error{Column: t.column, Message: fmt.Sprintf("is nested deeper than %d levels", maxDepth)}
	}
	switch {
	case p.take("not"):
		n, err := p.one(depth + 1)
		if err != nil {
			return Node{}, err
		}
		n = n.negated()
		return n, p.count(n)
	case p.takeSymbol("("):
		n, err := p.either(depth + 1)
		if err != nil {
			return Node{}, err
		}
		if !p.takeSymbol(")") {
			found := p.peek()
			return Node{}, &Error{Column: found.column, Message: "expected ), found " + found.describe(),
				Hint: fmt.Sprintf("the parenthesis at column %d is not closed", t.column)}
		}
		return n, nil
	}
	return p.comparison()
}

// comparison parses a column, an operator and a value, or several values.
func (p *parser) comparison() (Node, *Error) {
	name := p.next()
	if name.kind != word {
		return Node{}, &Error{Column: name.column, Message: "expected the name of a column, found " + name.describe(), Hint: columnHint}
	}
	column, known := p.table.ColumnOf(name.text)
	if !known {
		return Node{}, &Error{Column: name.column, Message: fmt.Sprintf("there is no column %q", clip(name.text)), Hint: p.table.didYouMean(name.text)}
	}
	at := p.peek()
	if at.is("in") || at.is("not") && p.tokens[p.at+1].is("in") {
		return p.list(column)
	}
	op, err := p.operator()
	if err != nil {
		return Node{}, err
	}
	if op.unary() {
		return p.condition(Condition{Column: column, Op: op}, at)
	}
	return p.compare(column, op, p.next())
}

const columnHint = "such as name, state, label, user, hp.<name> or validation.<metric>"

func (t Table) didYouMean(name string) string {
	best, least := "", max(2, len(name)/3)+1
	for _, f := range t.Fields() {
		for _, w := range append([]string{f.Name}, f.Words...) {
			if d := spelling.Distance(strings.ToLower(name), strings.ToLower(w)); d < least {
				best, least = w, d
			}
		}
	}
	if best != "" && least < len(best) {
		return "did you mean " + best + "?"
	}
	return "a hyperparameter is hp." + clip(name) + ", a metric validation." + clip(name)
}

// operator parses an operator in any of its forms.
func (p *parser) operator() (Operator, *Error) {
	t := p.next()
	switch {
	case t.kind == symbol:
		spelled := map[string]Operator{"=": Equal, "==": Equal, "!=": NotEqual, "<>": NotEqual, "<": Less, "<=": LessEqual,
			">": Greater, ">=": GreaterEqual, "~": Contains, "!~": NotContains}
		if op, ok := spelled[t.text]; ok {
			return op, nil
		}
	case t.is("contains"):
		return Contains, nil
	case t.is("not") && p.take("contains"):
		return NotContains, nil
	case t.is("is"):
		if not := p.take("not"); p.take("empty") {
			if not {
				return NotEmpty, nil
			}
			return IsEmpty, nil
		}
		t = p.peek()
		return "", &Error{Column: t.column, Message: "expected empty or not empty, found " + t.describe()}
	}
	return "", &Error{Column: t.column, Message: "expected an operator, found " + t.describe(),
		Hint: "one of = != < <= > >= ~ (contains) !~, in (…), is empty, is not empty"}
}

// list parses "in (a, b)" and "not in (a, b)".
func (p *parser) list(column Column) (Node, *Error) {
	op := Equal
	if p.take("not") {
		op = NotEqual
	}
	p.next()
	if open := p.peek(); !p.takeSymbol("(") {
		return Node{}, &Error{Column: open.column, Message: "expected ( and a list of values, found " + open.describe()}
	}
	group := Node{Any: op == Equal}
	for {
		n, err := p.compare(column, op, p.next())
		if err != nil {
			return Node{}, err
		}
		group.Children = append(group.Children, n)
		if p.takeSymbol(",") {
			continue
		}
		if t := p.peek(); !p.takeSymbol(")") {
			return Node{}, &Error{Column: t.column, Message: "expected , or ), found " + t.describe()}
		}
		return group, p.count(group)
	}
}

// compare makes a node of a column, an operator and the token of a value.
func (p *parser) compare(column Column, op Operator, t token) (Node, *Error) {
	if t.kind != word && t.kind != quoted {
		return Node{}, &Error{Column: t.column, Message: "expected a value, found " + t.describe()}
	}
	if column.Type == Date {
		if day, err := time.Parse(time.DateOnly, t.text); err == nil {
			return p.ofDay(column, op, day, t)
		}
	}
	v, err := p.value(column, op, t)
	if err != nil {
		return Node{}, err
	}
	return p.condition(Condition{Column: column, Op: op, Value: v}, t)
}

// ofDay compares with a whole day: "after" the day means after its end.
func (p *parser) ofDay(column Column, op Operator, day time.Time, t token) (Node, *Error) {
	next := day.AddDate(0, 0, 1)
	against := func(op Operator, when time.Time) Condition {
		return Condition{Column: column, Op: op, Value: Value{Type: Date, Time: when}}
	}
	switch op {
	case Equal, NotEqual:
		from, to := against(GreaterEqual, day), against(Less, next)
		n := Node{Children: []Node{{Condition: &from}, {Condition: &to}}}
		if op == NotEqual {
			from, to = against(Less, day), against(GreaterEqual, next)
			n.Any = true
		}
		return n, nil
	case Greater:
		return p.condition(against(GreaterEqual, next), t)
	case LessEqual:
		return p.condition(against(Less, next), t)
	}
	return p.condition(against(op, day), t)
}

// condition validates a condition.
func (p *parser) condition(c Condition, at token) (Node, *Error) {
	p.nodes++
	if p.nodes > maxNodes {
		return Node{}, &Error{Column: at.column, Message: fmt.Sprintf("the filter has more than %d conditions", maxNodes)}
	}
	if wrong := c.check(); wrong != "" {
		return Node{}, &Error{Column: at.column, Message: wrong}
	}
	return Node{Condition: &c}, nil
}

// value converts a token to the type of the column.
func (p *parser) value(column Column, op Operator, t token) (Value, *Error) {
	wrong := func(what string) *Error {
		return &Error{Column: t.column, Message: fmt.Sprintf("%s is %s, found %s", column.Name, what, t.describe())}
	}
	switch column.Type {
	case Number:
		if f, ok := number(t.text); ok {
			return Value{Type: Number, Number: f}, nil
		}
		if span, ok := span(t.text); ok && column.Name == "duration" {
			return Value{Type: Number, Number: span.Seconds()}, nil
		}
		return Value{}, wrong("a number")
	case Date:
		if when, ok := moment(t.text, p.now); ok {
			return Value{Type: Date, Time: when}, nil
		}
		return Value{}, wrong(Date.article())
	case Any:
		if f, ok := number(t.text); ok && t.kind == word && op != Contains && op != NotContains {
			return Value{Type: Number, Number: f}, nil
		}
	}
	text, e := wordOf(column, op, t)
	if e != nil {
		return Value{}, e
	}
	return Value{Type: Text, Text: text}, nil
}

// wordOf returns a text in the form of the column, and rejects values that a column with few values
// never has.
func wordOf(column Column, op Operator, t token) (string, *Error) {
	if !column.IsField() || op != Equal && op != NotEqual {
		return t.text, nil
	}
	var allowed []string
	given := t.text
	switch column.Name {
	case "state":
		allowed, given = States(), strings.TrimPrefix(strings.ToUpper(t.text), "STATE_")
	case "archived", "parentArchived", "isExpMultitrial":
		allowed, given = []string{"true", "false"}, strings.ToLower(t.text)
	default:
		return given, nil
	}
	if slices.Contains(allowed, given) {
		return given, nil
	}
	return "", &Error{Column: t.column, Message: fmt.Sprintf("%s is never %q", column.Name, clip(t.text)),
		Hint: "expected one of " + strings.ToLower(strings.Join(allowed, ", "))}
}

func number(text string) (float64, bool) {
	f, err := strconv.ParseFloat(text, 64)
	return f, err == nil && !math.IsNaN(f) && !math.IsInf(f, 0)
}

// span parses 90s, 30m, 12h, 7d or 2w.
func span(text string) (time.Duration, bool) {
	if len(text) < 2 {
		return 0, false
	}
	units := map[byte]time.Duration{'s': time.Second, 'm': time.Minute, 'h': time.Hour, 'd': 24 * time.Hour, 'w': 7 * 24 * time.Hour}
	unit, ok := units[text[len(text)-1]]
	n, err := strconv.ParseFloat(text[:len(text)-1], 64)
	if !ok || err != nil || !(math.Abs(n)*float64(unit) < float64(math.MaxInt64)/2) {
		return 0, false
	}
	return time.Duration(n * float64(unit)), true
}

// moment parses 2026-11-30T12:00:00Z, the same without a zone (UTC) or without seconds,
// 2026-11-30, or a span before now.
func moment(text string, now time.Time) (time.Time, bool) {
	for _, form := range []string{time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02 15:04", time.DateOnly} {
		if when, err := time.Parse(form, text); err == nil {
			return when.UTC(), when.Year() > 0
		}
	}
	if strings.HasPrefix(text, "-") {
		if d, ok := span(text); ok {
			return now.Add(d).UTC(), true
		}
	}
	return time.Time{}, false
}
