package summary

import (
	"reflect"
	"strings"
	"testing"
)

// Long texts are not the last value of a summary: lists of trials have one for each metric.
func TestLastValues(t *testing.T) {
	for name, v := range map[string]any{"a text": strings.Repeat("x", maxLast), "a list": []any{1.0, 2.0}, "a number": 3.0, "nothing": nil} {
		m := &Metric{}
		if m.add(v); !reflect.DeepEqual(m.Last, v) {
			t.Errorf("the last value is %v in place of %s", m.Last, name)
		}
	}
	long := strings.Repeat("x", maxLast+1)
	for name, v := range map[string]any{"a text": long, "a list": []any{long}, "a map": map[string]any{"a": long}} {
		m := &Metric{}
		if m.add(v); m.Last != nil || m.Count != 1 || m.Type == "" {
			t.Errorf("%s of %d bytes is kept: %.80v", name, len(long), m)
		}
	}
}
