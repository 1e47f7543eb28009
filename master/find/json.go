package find

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// wireFilter is a filter as Determined's pages send it.
type wireFilter struct {
	FilterGroup  wireNode `json:"filterGroup"`
	ShowArchived bool     `json:"showArchived"`
}

type wireNode struct {
	Kind        string     `json:"kind"` // field or group
	ID          string     `json:"id,omitempty"`
	Conjunction string     `json:"conjunction,omitempty"`
	Children    []wireNode `json:"children,omitempty"`
	ColumnName  string     `json:"columnName,omitempty"`
	Location    Location   `json:"location,omitempty"`
	Operator    Operator   `json:"operator,omitempty"`
	Type        Type       `json:"type,omitempty"`
	Value       any        `json:"value,omitempty"`
}

// ParseJSON reads the filter that Determined's API has.
func (t Table) ParseJSON(src []byte) (Filter, error) {
	if len(src) > maxSource*16 {
		return Filter{}, fmt.Errorf("the filter has %d bytes; at most %d are allowed", len(src), maxSource*16)
	}
	var w wireFilter
	if err := json.NewDecoder(bytes.NewReader(src)).Decode(&w); err != nil {
		return Filter{}, fmt.Errorf("the filter is invalid: %w", err)
	}
	left := maxNodes + 1 // one more than a line may have: JSON has a group around everything
	root, err := w.FilterGroup.node(t, "filterGroup", 0, &left)
	return Filter{Root: root, Archived: w.ShowArchived}, err
}

// node converts a part of the tree; path is its position.
func (w wireNode) node(t Table, path string, depth int, left *int) (Node, error) {
	*left--
	switch {
	case *left < 0:
		return Node{}, fmt.Errorf("%s: the filter has more than %d conditions", path, maxNodes)
	case depth > maxWireDepth:
		return Node{}, fmt.Errorf("%s: is nested deeper than %d levels", path, maxWireDepth)
	case w.Kind == "field":
		n, err := w.condition(t)
		if err != nil {
			return Node{}, fmt.Errorf("%s: %w", path, err)
		}
		return n, nil
	case w.Kind != "group" && (w.Kind != "" || len(w.Children) > 0 || w.ColumnName != ""):
		return Node{}, fmt.Errorf("%s: kind: expected field or group, found %q", path, clip(w.Kind))
	case w.Conjunction != "and" && w.Conjunction != "or" && len(w.Children) > 0:
		return Node{}, fmt.Errorf("%s: conjunction: expected and or or, found %q", path, clip(w.Conjunction))
	}
	n := Node{Any: w.Conjunction == "or"}
	for i, child := range w.Children {
		c, err := child.node(t, fmt.Sprintf("%s.children[%d]", path, i), depth+1, left)
		if err != nil {
			return Node{}, err
		}
		n.Children = append(n.Children, c)
	}
	return n, nil
}

// condition reads a field. One without a value is one that somebody has not filled
// in yet, as in Determined: it holds for every row.
func (w wireNode) condition(t Table) (Node, error) {
	column, err := w.column(t)
	if err != nil {
		return Node{}, err
	}
	c := Condition{Column: column, Op: w.Operator}
	if !c.Op.unary() {
		if w.Value == nil && c.Op.known() {
			return Node{}, nil
		}
		if _, isNumber := w.Value.(float64); isNumber && column.IsField() && column.Name == "user" {
			c.Column.Type = Number // Determined's pages name users by their ids
		}
		if c.Value, err = w.value(c.Column); err != nil {
			return Node{}, err
		}
	}
	if wrong := c.check(); wrong != "" {
		return Node{}, fmt.Errorf("%s", wrong)
	}
	return Node{Condition: &c}, nil
}

// column finds the column that a field names. A location in the field must be the column's own:
// "validation.x" with the location of training metrics is no column.
func (w wireNode) column(t Table) (Column, error) {
	name := w.ColumnName
	for location, prefix := range map[Location]string{RunHyperparameters: hyperparameter, RunMetadata: metadata} {
		if w.Location == location && t == Runs && !strings.HasPrefix(name, prefix) { // Determined takes both
			name = prefix + name
		}
	}
	c, ok := t.ColumnOf(name)
	if !ok {
		return c, fmt.Errorf("columnName: there is no column %q", clip(w.ColumnName))
	}
	if w.Location != "" && w.Location != "LOCATION_TYPE_UNSPECIFIED" && w.Location != c.Location {
		if !slices.Contains(t.locations(), w.Location) {
			return c, fmt.Errorf("location: %q is not a location", clip(string(w.Location)))
		}
		return c, fmt.Errorf("location: column %s belongs to %s, not to %s", clip(w.ColumnName), c.Location, w.Location)
	}
	return c, nil
}

// value decodes a value with the column's type, or with the type in the filter if the column
// has none.
func (w wireNode) value(column Column) (Value, error) {
	kind := column.Type
	if kind == Any {
		kind = w.Type
	}
	text := fmt.Sprint(w.Value)
	switch v := w.Value.(type) {
	case float64:
		if kind == Number || kind == Any || kind == "" {
			return Value{Type: Number, Number: v}, nil
		}
		text = strings.TrimSuffix(fmt.Sprintf("%.17g", v), ".0")
	case string, bool:
	default:
		return Value{}, fmt.Errorf("value: expected text or a number for %s", column.Name)
	}
	switch kind {
	case Number:
		if f, ok := number(text); ok {
			return Value{Type: Number, Number: f}, nil
		}
		return Value{}, fmt.Errorf("value: %s is a number, found %q", column.Name, clip(text))
	case Date:
		if when, ok := moment(text, time.Time{}); ok && !strings.HasPrefix(text, "-") {
			return Value{Type: Date, Time: when}, nil
		}
		return Value{}, fmt.Errorf("value: %s is a date, found %q", column.Name, clip(text))
	}
	if column.IsField() && column.Name == "state" && (w.Operator == Equal || w.Operator == NotEqual) {
		text = strings.TrimPrefix(strings.ToUpper(text), "STATE_")
	}
	return Value{Type: Text, Text: text}, nil
}

// JSON formats the filter for Determined's API.
func (f Filter) JSON() ([]byte, error) {
	root := f.Root
	if root.Condition != nil {
		root = Node{Children: []Node{root}}
	}
	return json.Marshal(wireFilter{FilterGroup: root.wire(), ShowArchived: f.Archived})
}

func (n Node) wire() wireNode {
	if c := n.Condition; c != nil {
		w := wireNode{Kind: "field", ColumnName: c.Column.Name, Location: c.Column.Location, Operator: c.Op, Type: c.Column.Type}
		if c.Op.unary() {
			return w
		}
		w.Type = c.Value.Type
		switch c.Value.Type {
		case Number:
			w.Value = c.Value.Number
		case Date:
			w.Value = c.Value.Time.Format(time.RFC3339Nano)
		default:
			w.Value = c.Value.Text
		}
		return w
	}
	w := wireNode{Kind: "group", Conjunction: "and"}
	if n.Any {
		w.Conjunction = "or"
	}
	for _, child := range n.Children {
		w.Children = append(w.Children, child.wire())
	}
	return w
}
