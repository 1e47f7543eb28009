package find

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/fault"
)

// An Operator compares a column with a value.
type Operator string

// The operators, in the form of the API.
const (
	Equal        Operator = "="
	NotEqual     Operator = "!="
	Less         Operator = "<"
	LessEqual    Operator = "<="
	Greater      Operator = ">"
	GreaterEqual Operator = ">="
	Contains     Operator = "contains"
	NotContains  Operator = "notContains"
	IsEmpty      Operator = "isEmpty"
	NotEmpty     Operator = "notEmpty"
)

// opposites are pairs of operators of which exactly one holds for a present value.
var opposites = [][2]Operator{{Equal, NotEqual}, {Less, GreaterEqual}, {LessEqual, Greater}, {Contains, NotContains}, {IsEmpty, NotEmpty}}

func (o Operator) opposite() Operator {
	for _, p := range opposites {
		switch o {
		case p[0]:
			return p[1]
		case p[1]:
			return p[0]
		}
	}
	panic("find: operator " + string(o) + " has no opposite")
}

func (o Operator) known() bool {
	return slices.ContainsFunc(opposites, func(p [2]Operator) bool { return o == p[0] || o == p[1] })
}

// unary reports whether the operator has no value.
func (o Operator) unary() bool { return o == IsEmpty || o == NotEmpty }

func (o Operator) orders() bool {
	return o == Less || o == LessEqual || o == Greater || o == GreaterEqual
}

// A Value is the value that a column is compared with: the field that Type selects; none for
// unary operators.
type Value struct {
	Type   Type
	Text   string
	Number float64
	Time   time.Time
}

// A Condition is one comparison.
type Condition struct {
	Column Column
	Op     Operator
	Value  Value
}

// A Node is a condition, or a group of nodes of which all, or any, must hold. An empty group
// holds.
type Node struct {
	Condition *Condition
	Any       bool
	Children  []Node
}

// A Filter selects experiments or runs. It omits archived experiments and archived runs unless
// Archived is set.
type Filter struct {
	Root     Node
	Archived bool
}

// Limits of a filter. Filters of users are far below; the limits bound the work that a program
// can cause.
const (
	maxSource = 64 << 10 // bytes
	maxNodes  = 500
	maxDepth  = 32
	maxText   = 1000 // bytes of a name, or of a value that is not compared as a whole
	// Each level of a line becomes up to three levels of the tree: or, and, not.
	maxWireDepth = 4 * maxDepth
)

// check returns what is wrong with a condition, or "".
func (c Condition) check() string {
	what := c.Column.Name
	switch {
	case !c.Op.known():
		return fmt.Sprintf("%q is not an operator", clip(string(c.Op)))
	case len(what) > maxText || len(c.Value.Text) > maxText && c.Op != Equal && c.Op != NotEqual:
		return fmt.Sprintf("is longer than %d bytes", maxText)
	case strings.ContainsRune(what, 0) || strings.ContainsRune(c.Value.Text, 0):
		return "contains a NUL character"
	case c.Op.unary():
		return ""
	}
	kind := c.Column.Type
	if kind == Any {
		kind = c.Value.Type
	}
	switch {
	case kind == Date && c.Column.Type != Date:
		return fmt.Sprintf("%s is not a date; compare it with a number or a text", what)
	case kind != c.Value.Type:
		return fmt.Sprintf("compare %s with %s; found %s", what, kind.article(), c.Value.describe())
	case kind == Text && c.Op.orders():
		return fmt.Sprintf("%s cannot be compared with a text by %s", what, c.Op)
	case kind != Text && (c.Op == Contains || c.Op == NotContains):
		return fmt.Sprintf("contains is for texts; compare %s with %s", what, kind.article())
	}
	return ""
}

func (t Type) article() string {
	switch t {
	case Number:
		return "a number"
	case Date:
		return "a date, such as 2026-11-30 or -7d"
	}
	return "a text"
}

func (v Value) describe() string {
	switch v.Type {
	case Number:
		return fmt.Sprintf("the number %g", v.Number)
	case Date:
		return "the date " + v.Time.Format(time.RFC3339)
	}
	return fmt.Sprintf("%q", clip(v.Text))
}

// negated returns a node that holds where n does not. A missing value is neither less nor
// greater than anything, so for a column that may be missing, the negation also accepts a
// missing value. A hyperparameter with a range has several values, so a condition and its
// negation can both hold.
func (n Node) negated() Node {
	if n.Condition == nil {
		return Node{Any: !n.Any, Children: each.Of(n.Children, Node.negated)}
	}
	c := *n.Condition
	c.Op = c.Op.opposite()
	opposite := Node{Condition: &c}
	if c.Op.unary() || c.Column.always() {
		return opposite
	}
	return Node{Any: true, Children: []Node{opposite, {Condition: &Condition{Column: c.Column, Op: IsEmpty}}}}
}

// always reports whether every row has a value there.
func (c Column) always() bool {
	return c.IsField() && slices.Contains([]string{"id", "name", "startTime", "duration", "numTrials", "state",
		"resourcePool", "checkpointSize", "checkpointCount", "user", "projectId", "project", "workspace", "archived", "tags",
		"experimentId", "experimentName", "parentArchived", "localId"}, c.Name)
}

// mentions reports whether a column of that name occurs in a node.
func (n Node) mentions(name string) bool {
	if n.Condition != nil {
		return n.Condition.Column.IsField() && n.Condition.Column.Name == name
	}
	return slices.ContainsFunc(n.Children, func(c Node) bool { return c.mentions(name) })
}

// Columns lists the columns of a filter, each once, in their order.
func (f Filter) Columns() []Column {
	var out []Column
	var walk func(Node)
	walk = func(n Node) {
		if n.Condition != nil && !slices.Contains(out, n.Condition.Column) {
			out = append(out, n.Condition.Column)
		}
		for _, child := range n.Children {
			walk(child)
		}
	}
	walk(f.Root)
	return out
}

// And returns a filter that requires both filters.
func (f Filter) And(other Filter) Filter {
	both := Filter{Archived: f.Archived || other.Archived}
	for _, root := range []Node{f.Root, other.Root} {
		if root.Condition != nil || len(root.Children) > 0 {
			both.Root.Children = append(both.Root.Children, root)
		}
	}
	return both
}

func clip(s string) string { return fault.ClipTo(s, 60) }
