package summary

import (
	"encoding/json"
	"math"
	"strconv"

	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/jsontext"
)

// Values decodes the metrics of a row. Long lists and objects become empty ones: a summary keeps only their type,
// and decoded they would need thirty times as much memory.
func Values(raw json.RawMessage) (map[string]any, error) {
	values := map[string]any{}
	p := jsontext.NewParser(raw)
	err := p.Members(func(name []byte) error {
		text, err := p.Value()
		if err == nil && len(values) <= MaxNames { // no summary has so many
			values[string(name)], err = short(text)
		}
		return err
	})
	return values, err
}

// short decodes a value.
func short(text json.RawMessage) (v any, err error) {
	switch c := text[0]; {
	case c == '-' || c >= '0' && c <= '9':
		return json.Number(text), nil
	case c == '[' && len(text) > 2*maxLast:
		return []any(nil), nil
	case c == '{' && len(text) > 2*maxLast:
		return map[string]any(nil), nil
	}
	return v, jsontext.Decode(text, &v)
}

// FiniteIn is Finite for a metric that is not decoded; nil: the report lacks the metric.
func FiniteIn(text json.RawMessage) (*float64, string, error) {
	if len(text) == 0 {
		return nil, "", nil
	}
	v, err := short(text)
	f, unfit := Finite(v)
	return f, fault.Clip(unfit), err
}

// Finite returns a metric as a finite number, or its text if it is not one.
func Finite(v any) (*float64, string) {
	switch x := v.(type) {
	case nil:
		return nil, ""
	case json.Number:
		f, err := strconv.ParseFloat(x.String(), 64)
		if err == nil && !math.IsInf(f, 0) {
			return &f, ""
		}
		return nil, x.String()
	case string:
		return nil, x
	}
	return nil, brief(v)
}

// brief returns the beginning of a value as text, for a message.
func brief(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return "?"
	}
	if len(b) > 60 {
		return string(b[:60]) + "…"
	}
	return string(b)
}
