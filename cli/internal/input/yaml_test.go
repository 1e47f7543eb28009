package input_test

import (
	"testing"

	"github.com/detent-ml/detent/cli/internal/input"
	"github.com/detent-ml/detent/master/fault"
)

func TestYAML(t *testing.T) {
	for text, want := range map[string]string{
		"":                           `{}`,
		"a: 1\nb: [x, 2.5, true, ~]": `{"a":1,"b":["x",2.5,true,null]}`,
		`{"a": {"b": "\u0001é"}}`:    `{"a":{"b":"\u0001é"}}`,
		"a: \"\U000110bd\"":          "{\"a\":\"\U000110bd\"}",
	} {
		got, err := input.YAML("x", []byte(text))
		if err != nil || string(got) != want {
			t.Errorf("%q: %s, %v; want %s", text, got, err, want)
		}
	}
	for _, text := range []string{"- a", "just text", "a: [", "a: .nan", "a: 1\n b: 2"} {
		if got, err := input.YAML("x", []byte(text)); !fault.Is(err, fault.Invalid) {
			t.Errorf("%q: %s, %v; want a refusal", text, got, err)
		}
	}
}
