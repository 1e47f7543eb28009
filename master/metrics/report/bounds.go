package report

import (
	"encoding/json"

	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/jsontext"
)

// Bounds of what programs report. Every master reads all reports for the summaries, so one report must
// not need much of a master's memory. No training needs as much: the metrics of each layer of a large
// model are some thousands of names.
const (
	MaxNames = 10_000  // in a report, with what later reports of the same key add to it
	MaxName  = 1000    // bytes of a name, also in a request; a filter cannot have longer ones
	MaxText  = 8 << 20 // bytes of a report, with its batches, as PostgreSQL writes it
)

// Measured is the size of a document, as the bounds of reports need it.
type Measured struct {
	Names   int    // of the document, without those of objects in it
	Longest []byte // of the names, as JSON
	Text    int    // bytes of the document as PostgreSQL writes it: without exponents and with a space after each comma
}

// Bounded fails if a document has more names than a report may have, or a longer one.
func (m Measured) Bounded() error {
	if m.Names > MaxNames {
		return fault.New(fault.Invalid, "a report has %d names of metrics; %d are allowed: report fewer names, and values that belong together as one list or object",
			m.Names, MaxNames)
	}
	if len(m.Longest) <= MaxName {
		return nil
	}
	var name string
	if err := json.Unmarshal(m.Longest, &name); err != nil {
		return fault.New(fault.Invalid, "%v", err)
	}
	if len(name) > MaxName {
		return fault.New(fault.Invalid, "the name of the metric %.40q… has %d bytes; %d are allowed: choose a shorter name", name, len(name), MaxName)
	}
	return nil
}

// Measure measures a document that jsontext.Storable accepts.
func Measure(raw []byte) (m Measured) {
	depth, key := 0, false
	for t, rest := jsontext.Token(raw); t != nil; t, rest = jsontext.Token(rest) {
		switch c := t[0]; {
		case c == '"':
			if key && depth == 1 {
				if m.Names++; len(t) > len(m.Longest) {
					m.Longest = t
				}
			}
			key, m.Text = false, m.Text+len(t)
		case jsontext.IsNumber(t):
			m.Text += jsontext.Digits(t)
		case c == '{' || c == '[':
			depth++
			key = c == '{'
			m.Text++
		case c == ',':
			key = true // also in lists, whose strings are deeper than names
			m.Text += 2
		case c == ':':
			m.Text += 2
		case c == '}' || c == ']':
			depth--
			m.Text++
		default:
			m.Text += len(t)
		}
	}
	return m
}
