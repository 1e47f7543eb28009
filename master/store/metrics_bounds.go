package store

import (
	"encoding/json"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/decimals"
	"github.com/detent-ml/detent/master/fault"
)

// Bounds of what programs report. Every master reads all reports for the summaries, so one report must
// not need much of a master's memory. No training needs as much: the metrics of each layer of a large
// model are some thousands of names.
const (
	maxReportNames = 10_000       // in a report, with what later reports of the same key add to it
	maxMetricName  = maxValueName // bytes
	maxReportText  = 8 << 20      // bytes of a report, with its batches, as PostgreSQL writes it
)

// bounded rejects a report that is too large.
func (r *Report) bounded() error {
	m := measure(r.Metrics)
	if err := m.bounded(); err != nil {
		return fault.New(fault.Invalid, "metrics: %w", err)
	}
	r.text = m.text + measure(r.Batches).text
	if r.text > maxReportText {
		return fault.New(fault.Invalid, "metrics and batchMetrics: the report of trial %d has %d bytes with its numbers written out; %d are allowed: "+
			"report less at once, and upload large values as files", r.TrialID, r.text, maxReportText)
	}
	return nil
}

// A measured document has what the bounds of reports need.
type measured struct {
	names   int    // of the document, without those of objects in it
	longest []byte // of the names, as JSON
	text    int    // bytes of the document as PostgreSQL writes it: without exponents and with a space after each comma
}

func (m measured) bounded() error {
	if m.names > maxReportNames {
		return fault.New(fault.Invalid, "a report has %d names of metrics; %d are allowed: report fewer names, and values that belong together as one list or object",
			m.names, maxReportNames)
	}
	if len(m.longest) <= maxMetricName {
		return nil
	}
	var name string
	if err := json.Unmarshal(m.longest, &name); err != nil {
		return fault.New(fault.Invalid, "%v", err)
	}
	if len(name) > maxMetricName {
		return fault.New(fault.Invalid, "the name of the metric %.40q… has %d bytes; %d are allowed: choose a shorter name", name, len(name), maxMetricName)
	}
	return nil
}

// measure measures a document that database.StorableJSON accepts.
func measure(raw []byte) (m measured) {
	depth, key := 0, false
	for i := 0; i < len(raw); {
		switch c := raw[i]; {
		case c == '"':
			n, _ := database.StorableString(raw[i+1:]) // was checked
			text := raw[i : i+1+n]
			if key && depth == 1 {
				if m.names++; len(text) > len(m.longest) {
					m.longest = text
				}
			}
			key, m.text, i = false, m.text+len(text), i+len(text)
			continue
		case c == '-' || c >= '0' && c <= '9':
			n := decimals.NumberEnd(raw[i:])
			m.text, i = m.text+decimals.Out(raw[i:i+n]), i+n
			continue
		case c == '{' || c == '[':
			depth++
			key = c == '{'
			m.text++
		case c == ',':
			key = true // also in lists, whose strings are deeper than names
			m.text += 2
		case c == ':':
			m.text += 2
		case c == ' ' || c == '\n' || c == '\r' || c == '\t':
		default:
			if m.text++; c == '}' || c == ']' {
				depth--
			}
		}
		i++
	}
	return m
}
