package expconf

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/detent-ml/detent/master/document"
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

func (l *Length) decode(d *decoder, n *document.Node, path string) {
	units := []string{string(Batches), string(Records), string(Epochs)}
	const forms = "a number of batches, records or epochs, such as {batches: 100}"
	if _, ok := n.Whole(); ok {
		d.into(n, path, &l.Units)
		return
	}
	if n.Kind != document.MapKind {
		d.expected(n, path, forms, numberHint(n))
		return
	}
	var named []string
	for _, f := range n.Fields {
		if !slices.Contains(units, f.Key) {
			d.problems = append(d.problems, document.Problem{
				File: d.file, Line: f.Line, Column: f.Column, Path: document.Join(path, f.Key),
				Message: "unknown unit of length", Hint: suggestOf(f.Key, units)})
			continue
		}
		if f.Value.Kind == document.NullKind {
			continue
		}
		named = append(named, f.Key)
		l.Unit = Unit(f.Key)
		d.into(f.Value, document.Join(path, f.Key), &l.Units)
	}
	switch {
	case len(named) > 1:
		d.problem(n, path, "has more than one unit: "+strings.Join(named, " and "), "use one")
	case len(named) == 0 && len(n.Fields) == 0:
		d.expected(n, path, forms, "")
	case len(named) == 0 && slices.Contains(units, n.Fields[0].Key):
		d.problem(n, path, "has a unit but no number", "")
	}
}
