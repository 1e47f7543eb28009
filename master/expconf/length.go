package expconf

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/detent-ml/detent/master/spelling"
)

// Unit is the unit of a length of training.
type Unit string

// The units of a length. A number without a unit has the unit that the training code uses.
const (
	Batches  Unit = "batches"
	Records  Unit = "records"
	Epochs   Unit = "epochs"
	Unitless Unit = ""
)

// Length is an amount of training: {batches: 100} or 100.
type Length struct {
	Unit  Unit
	Units int64
}

// String formats the length for users: "5000 batches".
func (l Length) String() string {
	if l.Unit == Unitless {
		return fmt.Sprint(l.Units)
	}
	return fmt.Sprintf("%d %s", l.Units, l.Unit)
}

// MarshalJSON encodes the length in the form in which the user wrote it.
func (l Length) MarshalJSON() ([]byte, error) {
	if l.Unit == Unitless {
		return json.Marshal(l.Units)
	}
	return json.Marshal(map[Unit]int64{l.Unit: l.Units})
}

func (l Length) onto(any) any { return l }

func (l *Length) decode(d *decoder, n *node, path string) {
	units := []string{string(Batches), string(Records), string(Epochs)}
	const forms = "a number of batches, records or epochs, such as {batches: 100}"
	if _, ok := n.whole(); ok {
		d.into(n, path, &l.Units)
		return
	}
	if n.kind != mapKind {
		d.expected(n, path, forms, numberHint(n))
		return
	}
	var named []string
	for _, f := range n.fields {
		if !slices.Contains(units, f.key) {
			d.problems = append(d.problems, Problem{
				File: d.file, Line: f.line, Column: f.column, Path: join(path, f.key),
				Message: "unknown unit of length", Hint: suggestUnit(f.key, units)})
			continue
		}
		if f.value.kind == nullKind {
			continue
		}
		named = append(named, f.key)
		l.Unit = Unit(f.key)
		d.into(f.value, join(path, f.key), &l.Units)
	}
	switch {
	case len(named) > 1:
		d.problem(n, path, "has more than one unit: "+strings.Join(named, " and "), "use one")
	case len(named) == 0 && len(n.fields) == 0:
		d.expected(n, path, forms, "")
	case len(named) == 0 && slices.Contains(units, n.fields[0].key):
		d.problem(n, path, "has a unit but no number", "")
	}
}

func suggestUnit(name string, units []string) string {
	if near := spelling.Nearest(name, units); near != "" {
		return "did you mean " + near + "?"
	}
	return "one of batches, records, epochs"
}
