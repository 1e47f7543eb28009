// Package summary is pure: it has the summary of a trial, folds reports into it, and keeps it within its bounds. The summarizer of package
// metrics stores summaries as JSON.
package summary

import (
	"cmp"
	"encoding/json"
	"math"
	"strconv"

	"github.com/detent-ml/detent/master/jsontext"
	"github.com/detent-ml/detent/master/metrics/report"
)

// Trial summarizes the reports of a trial.
type Trial struct {
	// Metrics by group and name. The groups training and validation have the names that
	// Determined's clients expect (GroupKey).
	Metrics      map[string]map[string]*Metric
	TotalBatches int
	Latest, Best *Validation
	BestMetric   *float64 // the searcher's metric at Best
	Incomplete   string   // why metrics or reports are missing; "" if none are

	names, bytes int // of Metrics, for their bounds
}

// Bounds of a summary, which the master and its clients read as a whole. At a bound, the summary keeps the metrics
// that it has, and gets no further ones.
const (
	MaxNames   = 2 * report.MaxNames // with the names of groups; a report of the group training and one of validation fit
	MaxBytes   = 4 << 20             // about as many as the summary has as JSON
	entryBytes = 100                 // of a metric without its name and numbers
)

// Full is why a summary at its bounds is incomplete.
const Full = "the trial has reported too many metrics: its summary has the first ones only (up to 20,000 names and 4 MB)"

// Validation names a validation of a trial.
type Validation struct{ Run, Steps int }

// before orders validations, so that the latest and the best one do not depend on the order in which reports are folded.
func (v Validation) before(o Validation) bool {
	return cmp.Or(cmp.Compare(v.Run, o.Run), cmp.Compare(v.Steps, o.Steps)) < 0
}

// Metric summarizes the values of one metric.
type Metric struct {
	Count         int64
	Sum, Min, Max float64 // if Type is number
	Last          any
	Batches       *int   // of Last, if Type is not number
	Type          string // number, string, boolean, array, object, null

	size int // of the values
}

const numeric = "number"

// GroupKey returns the name of a group in summaries: Determined's avg_metrics and
// validation_metrics for the groups training and validation.
func GroupKey(group string) string {
	switch group {
	case report.Training:
		return "avg_metrics"
	case report.Validation:
		return "validation_metrics"
	}
	return group
}

// GroupOf is the inverse of GroupKey.
func GroupOf(key string) string {
	switch key {
	case "avg_metrics":
		return report.Training
	case "validation_metrics":
		return report.Validation
	}
	return key
}

// A Report is what a report brings.
type Report struct {
	Run    int
	Group  string
	Steps  *int
	Values map[string]any
	Was    map[string]any // the values that some of these replace, which the summary has
	Newest bool           // if it replaces values: no report of the group has a later step
}

// Fold adds one report. metric is searcher.metric, and smaller its smaller_is_better. It reports whether the summary is as if it had never had the
// values that the report replaces; else it has to be made from the other reports again.
func (s *Trial) Fold(r Report, metric string, smaller bool) (exact bool) {
	if s.Metrics == nil {
		s.Metrics = map[string]map[string]*Metric{}
	}
	exact = true
	key := GroupKey(r.Group)
	if s.Metrics[key] == nil && s.room(key) {
		s.Metrics[key] = map[string]*Metric{}
		s.grow(1, len(key)+entryBytes)
	}
	if g := s.Metrics[key]; g != nil {
		for name, v := range r.Values {
			if was, replaces := r.Was[name]; replaces {
				exact = s.replace(g, name, was, v, r.Newest) && exact
			} else {
				s.add(g, name, v)
			}
			if m := g[name]; m != nil && m.Type != numeric {
				m.Batches = r.Steps
			}
		}
	}
	if r.Steps == nil {
		return exact
	}
	s.TotalBatches = max(s.TotalBatches, *r.Steps)
	if r.Group != report.Validation {
		return exact
	}
	at := Validation{r.Run, *r.Steps}
	if s.Latest == nil || s.Latest.before(at) {
		s.Latest = &at
	}
	_, replaces := r.Was[metric]
	if v, _ := Finite(r.Values[metric]); v != nil {
		if s.BestMetric == nil || smaller && *v < *s.BestMetric || !smaller && *v > *s.BestMetric || *v == *s.BestMetric && s.Best != nil && at.before(*s.Best) {
			s.Best, s.BestMetric, replaces = &at, v, false
		}
	}
	return exact && (!replaces || s.Best == nil || *s.Best != at) // the best validation has become worse
}

// room reports whether the summary may have a further name.
func (s *Trial) room(name string) bool {
	if s.Incomplete == "" && (len(name) > report.MaxName || s.names >= MaxNames || s.bytes+len(name)+entryBytes > MaxBytes) {
		s.Incomplete = Full
	}
	return s.Incomplete != Full
}

func (s *Trial) grow(names, bytes int) { s.names, s.bytes = s.names+names, s.bytes+bytes }

// add adds a value to its metric in a group.
func (s *Trial) add(g map[string]*Metric, name string, v any) {
	m := g[name]
	if m == nil {
		if !s.room(name) {
			return
		}
		m = &Metric{Min: math.NaN(), Max: math.NaN()}
		g[name] = m
		s.grow(1, len(name)+entryBytes)
	}
	m.add(v)
	s.resized(g, name, m)
}

// resized counts the size of a metric whose values have changed, and leaves it out if the summary has no room for them.
func (s *Trial) resized(g map[string]*Metric, name string, m *Metric) {
	before := m.size
	m.size = m.valuesSize()
	if s.grow(0, m.size-before); s.bytes > MaxBytes { // a number needs 300 digits where it needed one
		delete(g, name)
		s.grow(-1, -len(name)-entryBytes-m.size)
		s.Incomplete = Full
	}
}

// Sized computes the numbers of names and bytes of a summary from the database.
func (s *Trial) Sized() {
	for key, g := range s.Metrics {
		s.grow(1, len(key)+entryBytes)
		for name, m := range g {
			m.size = m.valuesSize()
			s.grow(1, len(name)+entryBytes+m.size)
		}
	}
}

// valuesSize is about the number of bytes that PostgreSQL writes for the values.
func (m *Metric) valuesSize() int {
	n := 0
	switch x := m.Last.(type) {
	case json.Number:
		n = jsontext.Digits([]byte(x))
	case string:
		n = len(x)
	case []any, map[string]any:
		text, _ := json.Marshal(x) // at most maxLast bytes
		n = report.Measure(text).Text
	}
	if m.Type == numeric {
		n += digits(m.Sum) + digits(m.Min) + digits(m.Max) + digits(m.Sum)
	}
	return n
}

// digits is about the number of digits of a number without exponent.
func digits(f float64) int {
	_, exponent := math.Frexp(f)
	return 20 + max(exponent, -exponent)*3/10
}

func (m *Metric) add(v any) {
	f, kind := kindOf(v)
	m.Count++
	m.Last = lastOf(v)
	m.Type = cmp.Or(m.Type, kind)
	if kind != m.Type {
		m.Type = "string" // the metric had values of several types
		return
	}
	if kind != numeric {
		return
	}
	m.Sum += f
	if math.IsNaN(m.Min) || f < m.Min {
		m.Min = f
	}
	if math.IsNaN(m.Max) || f > m.Max {
		m.Max = f
	}
}

// maxLast is the maximum size of a last value that is no number; lists of trials have the last value of each metric.
const maxLast = 4 << 10

// lastOf is a value as the last one of a summary: nil if it is long.
func lastOf(v any) any {
	switch x := v.(type) {
	case string:
		if len(x) > maxLast {
			return nil
		}
	case []any, map[string]any:
		if b, err := json.Marshal(x); err != nil || len(b) > maxLast {
			return nil
		}
	}
	return v
}

// kindOf returns the type of a value, and the value of a number. NaN and infinities are
// strings in JSON, and count as numbers.
func kindOf(v any) (float64, string) {
	switch x := v.(type) {
	case json.Number:
		f, _ := strconv.ParseFloat(x.String(), 64) // out of range is ±Inf
		return f, numeric
	case string:
		if f, ok := nonFinite[x]; ok {
			return f, numeric
		}
		return 0, "string"
	case bool:
		return 0, "boolean"
	case []any:
		return 0, "array"
	case nil:
		return 0, "null"
	}
	return 0, "object"
}

var nonFinite = map[string]float64{"NaN": math.NaN(), "Infinity": math.Inf(1), "-Infinity": math.Inf(-1)}

// wireSummary is the JSON form of a Metric, in the database and the API.
type wireSummary struct {
	Count int64  `json:"count"`
	Sum   any    `json:"sum,omitempty"`
	Min   any    `json:"min,omitempty"`
	Max   any    `json:"max,omitempty"`
	Mean  any    `json:"mean,omitempty"`
	Last  any    `json:"last"`
	Type  string `json:"type"`

	Batches *int `json:"batches,omitempty"`
}

// MarshalJSON writes sum, min, max and mean for numbers only.
func (m Metric) MarshalJSON() ([]byte, error) {
	w := wireSummary{Count: m.Count, Last: m.Last, Type: m.Type, Batches: m.Batches}
	if m.Type == numeric {
		w.Sum, w.Min, w.Max = jsontext.FiniteOrText(m.Sum), jsontext.FiniteOrText(m.Min), jsontext.FiniteOrText(m.Max)
		w.Mean = jsontext.FiniteOrText(m.Sum / float64(m.Count))
	}
	return json.Marshal(w)
}

// UnmarshalJSON reads what MarshalJSON writes.
func (m *Metric) UnmarshalJSON(src []byte) error {
	var w wireSummary
	if err := jsontext.Decode(src, &w); err != nil {
		return err
	}
	*m = Metric{Count: w.Count, Last: w.Last, Type: w.Type, Batches: w.Batches}
	m.Sum, _ = kindOf(w.Sum)
	m.Min, _ = kindOf(w.Min)
	m.Max, _ = kindOf(w.Max)
	return nil
}
