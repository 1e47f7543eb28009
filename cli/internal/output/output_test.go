package output_test

import (
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"pgregory.net/rapid"

	"github.com/detent-ml/detent/cli/internal/output"
)

func TestJSON(t *testing.T) {
	var b strings.Builder
	if err := output.JSON(&b, []byte(`{"b":1.50,"a":["<x>",{}],"c":9007199254740993}`)); err != nil {
		t.Fatal(err)
	}
	want := "{\n  \"a\": [\n    \"<x>\",\n    {}\n  ],\n  \"b\": 1.50,\n  \"c\": 9007199254740993\n}\n"
	if b.String() != want {
		t.Errorf("%s\nwant\n%s", b.String(), want)
	}
}

func TestYAML(t *testing.T) {
	in := `{
	  "name": "iris", "empty": {}, "none": [], "nothing": null, "yes": true,
	  "list": [1, "two", [3, 4], {"a": 1, "b": [{"c": 2}]}, {}],
	  "nested": {"deep": {"er": 0.5}},
	  "small": 1e-05, "large": 1E+20, "number": "1e5", "octal": "017", "time": "12:30", "date": "2026-11-20",
	  "version": "0.38.1", "uuid": "11111111-1111-1111-1111-111111111111", "bool": "off", "tilde": "~",
	  "colon": "a: b", "hash": "a #b", "dash": "- x", "quote": "it's", "lines": "a\nb", "tab": "a\tb", "space": " x ",
	  "path": "/a/b:c", "star": "*.py", "unicode": "größe", "blank": "", "command": "python3 train.py --x=1", "percent": "%x",
	  "on": 1, "5": "x"
	}`
	var b strings.Builder
	if err := output.YAML(&b, []byte(in)); err != nil {
		t.Fatal(err)
	}
	const want = `'5': x
blank: ''
bool: 'off'
colon: 'a: b'
command: python3 train.py --x=1
dash: '- x'
date: '2026-11-20'
empty: {}
hash: 'a #b'
large: 1.0e+20
lines: "a\nb"
list:
- 1
- two
- - 3
  - 4
- a: 1
  b:
  - c: 2
- {}
name: iris
nested:
  deep:
    er: 0.5
none: []
nothing: null
number: '1e5'
octal: '017'
'on': 1
path: /a/b:c
percent: '%x'
quote: it's
small: 1.0e-05
space: ' x '
star: '*.py'
tab: "a\tb"
tilde: '~'
time: '12:30'
unicode: größe
uuid: 11111111-1111-1111-1111-111111111111
version: 0.38.1
'yes': true
`
	if b.String() != want {
		t.Errorf("%s\nwant\n%s", b.String(), want)
	}
}

// The YAML contains the same as the JSON, whatever JSON a master sends.
func TestYAMLSaysWhatJSONSays(t *testing.T) {
	scalar := rapid.OneOf(
		rapid.Just[any](nil), rapid.Map(rapid.Bool(), func(b bool) any { return b }),
		rapid.Map(rapid.IntRange(-1e6, 1e6), func(i int) any { return float64(i) }),
		rapid.Map(rapid.Float64Range(-1e30, 1e30), func(f float64) any { return f }),
		rapid.Map(rapid.String(), func(s string) any { return s }),
		rapid.Map(rapid.StringMatching(`[-0-9a-z:.#'"\[\]{}~_ +!&*|>%@,?/\\=<\n]{0,12}`), func(s string) any { return s }),
		rapid.Map(rapid.SampledFrom([]string{"yes", "NO", "null", "~", "1_000", "0x1F", "0o7", "1.", ".5", "+.inf", "1:30", "2026-1-2", "---", "=", "<<", "- a", "a:", "é"}), func(s string) any { return s }),
	)
	var value *rapid.Generator[any]
	build := func(depth int) *rapid.Generator[any] {
		if depth == 0 {
			return scalar
		}
		inner := value
		return rapid.OneOf(scalar,
			rapid.Map(rapid.SliceOfN(inner, 0, 3), func(l []any) any { return append([]any{}, l...) }),
			rapid.Map(rapid.MapOfN(rapid.StringMatching(`[a-zA-Z0-9 :#-]{0,6}`), inner, 0, 3), func(m map[string]any) any { return m }))
	}
	for depth := range 4 {
		value = build(depth)
	}
	rapid.Check(t, func(t *rapid.T) {
		in := value.Draw(t, "value")
		raw, err := json.Marshal(in)
		if err != nil {
			t.Skip("not JSON")
		}
		var b strings.Builder
		if err := output.YAML(&b, raw); err != nil {
			t.Fatal(err)
		}
		var got, want any
		if err := yaml.Unmarshal([]byte(b.String()), &got); err != nil {
			t.Fatalf("%s\nis not YAML: %v", b.String(), err)
		}
		if err := json.Unmarshal(raw, &want); err != nil {
			t.Fatal(err)
		}
		if !same(got, want) {
			t.Fatalf("%s\nbecame\n%s\nwhich is %#v", raw, b.String(), got)
		}
	})
}

// same compares with the precision that a parser of floats may lose.
func same(a, b any) bool {
	x, xok := float(a)
	y, yok := float(b)
	if xok && yok {
		return x == y || math.Abs(x-y) <= 1e-12*math.Abs(y)
	}
	switch a := a.(type) {
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for i := range a {
			if !same(a[i], b[i]) {
				return false
			}
		}
		return true
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for k := range a {
			if !same(a[k], b[k]) {
				return false
			}
		}
		return true
	}
	return reflect.DeepEqual(a, b)
}

func float(v any) (float64, bool) {
	switch v := v.(type) {
	case float64:
		return v, true
	case int64:
		return float64(v), true
	case uint64:
		return float64(v), true
	}
	return 0, false
}

func TestIndented(t *testing.T) {
	if got := output.Indented(nil); got != "null" {
		t.Errorf("%q", got)
	}
	if got := output.Indented([]byte(`{"b":1,"a":{}}`)); got != "{\n    \"b\": 1,\n    \"a\": {}\n}" {
		t.Errorf("%q", got)
	}
}
