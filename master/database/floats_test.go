package database

import (
	"math"
	"testing"
)

func TestFloatAt(t *testing.T) {
	w := newWorld(t)
	for text, want := range map[string]*float64{
		`1`: new(1.0), `-0.5`: new(-0.5), `1.7976931348623157e308`: new(math.MaxFloat64), `-1.7976931348623157e308`: new(-math.MaxFloat64),
		`5e-324`: new(5e-324), `1e-400`: new(0.0), `-1e-400`: new(0.0), `0`: new(0.0), `1e400`: nil, `-1e400`: nil, `1.8e308`: nil,
		`"1"`: nil, `null`: nil, `true`: nil, `[1]`: nil, `{}`: nil,
	} {
		var got *float64
		if err := w.db.QueryRow(t.Context(), `SELECT `+FloatAt("v")+` FROM (SELECT $1::text::jsonb AS v) x`, text).Scan(&got); err != nil {
			t.Errorf("%s: %v", text, err)
		} else if (got == nil) != (want == nil) || got != nil && *got != *want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
	if n := w.int(`SELECT count(*) FROM (SELECT NULL::jsonb AS v) x WHERE ` + FloatAt("v") + ` IS NULL`); n != 1 {
		t.Error("a value that is missing is a number")
	}
}
