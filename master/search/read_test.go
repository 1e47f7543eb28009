package search

import (
	"encoding/json"
	"reflect"
	"testing"
)

// FuzzReadValidation tests that the fast decoder and encoding/json return the same.
func FuzzReadValidation(f *testing.F) {
	for _, s := range []string{`{"metric":0.25,"steps":9,"run":1}`, `{"run": 1, "steps": 9, "metric": null}`, `{"metric":-1e-3,"time":4,"steps":0,"run":2,"length":7}`,
		`{"metric":null,"unfit":"NaN","steps":1,"run":1}`, `{}`, `{"metric":1,"metric":2}`, `{"a\\u0062":1}`, `{"metric":Inf}`, `{"metric":0x1p-2}`,
		`{"metric":1_000}`, `{"metric":01}`, `{"metric":1.}`, `{"steps":-0}`, `{"steps":1.0}`, `[]`, `{"metric":1}x`, `{"steps":}`, `{"Metric":3}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		v, ok := flat(body)
		if !ok {
			return
		}
		var want Validation
		if err := json.Unmarshal(body, &want); err != nil {
			t.Fatalf("%s was read as %+v, and the error of encoding/json is %v", body, v, err)
		}
		if !reflect.DeepEqual(v, want) {
			t.Fatalf("%s was read as %+v, and is %+v", body, v, want)
		}
	})
}

// TestWhatIsStoredIsReadDirectly tests that the fast decoder accepts what PostgreSQL returns.
func TestWhatIsStoredIsReadDirectly(t *testing.T) {
	m := 0.125
	for _, v := range []Validation{{Metric: &m, Steps: 3, Run: 1}, {Steps: 3, Run: 1}, {Metric: &m, Time: &m, Steps: 3, Run: 1}, {Metric: &m, Length: 4}} {
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := flat(b); !ok || !reflect.DeepEqual(got, v) {
			t.Errorf("%s is read as %+v, %t", b, got, ok)
		}
	}
}
