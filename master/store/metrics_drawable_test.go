package store

import (
	"math"
	"testing"
)

func TestDrawable(t *testing.T) {
	for raw, want := range map[string]float64{`1`: 1, `-0.5`: -0.5, `1e3`: 1000, `1e400`: math.Inf(1), `"Infinity"`: math.Inf(1), `"-Infinity"`: math.Inf(-1)} {
		if v, ok := drawable([]byte(raw)); !ok || v != want {
			t.Errorf("%s reads as %g, %t", raw, v, ok)
		}
	}
	if v, ok := drawable([]byte(`"NaN"`)); !ok || !math.IsNaN(v) {
		t.Errorf("NaN reads as %g, %t", v, ok)
	}
	for _, raw := range []string{``, `null`, `true`, `"1"`, `"nan"`, `[1]`, `{"a": 1}`} {
		if v, ok := drawable([]byte(raw)); ok {
			t.Errorf("%s cannot be drawn and reads as %g", raw, v)
		}
	}
}
