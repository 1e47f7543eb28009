package mlflow

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/fault"
	v1 "github.com/detent-ml/detent/master/v1"
)

func TestApply(t *testing.T) {
	var m marks
	say := func(attempt int, ch change) string {
		changed, err := m.apply(ch, 7, attempt)
		return fmt.Sprint(changed, err != nil, m.Params, m.Earlier)
	}
	lr := func(value string) change { return change{params: map[string]string{"lr": value}} }
	for i, c := range []struct {
		attempt int
		ch      change
		want    string
	}{
		{1, lr("0.1"), "true false map[lr:0.1] map[]"},
		{1, lr("0.1"), "false false map[lr:0.1] map[]"},
		{1, lr("0.2"), "false true map[lr:0.1] map[]"},
		{2, lr("0.2"), "true false map[lr:0.2] map[1:map[lr:0.1]]"},
		{2, lr("0.3"), "true false map[lr:0.3] map[1:map[lr:0.1]]"}, // of the same attempt: the first value before it is kept
		{3, lr("0.1"), "true false map[lr:0.1] map[1:map[lr:0.1] 2:map[lr:0.3]]"},
	} {
		if got := say(c.attempt, c.ch); got != c.want {
			t.Errorf("%d: %s, want %s", i, got, c.want)
		}
	}
	if _, err := m.apply(change{drop: "none"}, 7, 1); !fault.Is(err, fault.NotFound) {
		t.Error(err)
	}
	data := change{inputs: []v1.MLflowInput{{Dataset: v1.MLflowDataset{Name: "a", Digest: "1"}}}}
	if changed, err := m.apply(data, 7, 1); !changed || err != nil {
		t.Error(changed, err)
	}
	if changed, err := m.apply(data, 7, 1); changed || err != nil || len(m.Inputs) != 1 {
		t.Error("the same data set again: ", changed, err)
	}
}

// TestBounded: what a run says of itself is bounded, and the parameters of earlier attempts go first.
func TestBounded(t *testing.T) {
	var m marks
	for i := range 90 {
		if _, err := m.apply(change{params: map[string]string{fmt.Sprint("p", i): strings.Repeat("x", 5000)}}, 1, 1); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 90 {
		if _, err := m.apply(change{params: map[string]string{fmt.Sprint("p", i): strings.Repeat("y", 5000)}}, 1, 2); err != nil {
			t.Fatal(err)
		}
	}
	if len(m.Earlier["1"]) > 20 {
		t.Errorf("%d earlier parameters", len(m.Earlier["1"]))
	}
	if _, err := m.apply(change{tags: map[string]string{"t": strings.Repeat("z", 100_000)}}, 1, 2); !fault.Is(err, fault.Invalid) {
		t.Error(err)
	}
	many := change{tags: map[string]string{}}
	for i := range maxNames + 1 {
		many.tags[fmt.Sprint(i)] = ""
	}
	if _, err := new(marks).apply(many, 1, 1); !fault.Is(err, fault.Invalid) {
		t.Error(err)
	}
}

func TestKeys(t *testing.T) {
	for key, good := range map[string]bool{"loss": true, "a/b": true, "Zeit (ms)": true, "größe": true, "": false, "/a": false, "a/": false, "a/../b": false, ".": false,
		"a/./b": false, "..": false, "a\x00": false, "\xff": false, strings.Repeat("a", 251): false} {
		if err := checkKey("metrics", key); (err == nil) != good || err != nil && !fault.Is(err, fault.Invalid) {
			t.Errorf("%q: %v", key, err)
		}
	}
	if _, err := newParams([]v1.MLflowTag{{Key: "a", Value: "1"}, {Key: "a", Value: "2"}}); !fault.Is(err, fault.Invalid) {
		t.Error("a parameter with two values: ", err)
	}
	cut, err := newParams([]v1.MLflowTag{{Key: "a", Value: strings.Repeat("ü", 7000)}})
	if err != nil || len([]rune(cut["a"])) != maxParam {
		t.Error(err)
	}
}

// TestAsHParams: a parameter that is a number becomes one, if the database can store and draw it.
func TestAsHParams(t *testing.T) {
	m := marks{Params: map[string]string{"a": "0.1", "b": "1e-3", "c": "1e999999", "d": "nan", "e": "007", "f": "True", "g": "x", "h": "", "i": "-5", "j": "0x10", "k": strings.Repeat("1", 40), "l": "inf"}}
	b, err := json.Marshal(m.asHParams())
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"a":0.1,"b":1e-3,"c":"1e999999","d":"nan","e":"007","f":true,"g":"x","h":"","i":-5,"j":"0x10","k":"` + strings.Repeat("1", 40) + `","l":"inf"}`; string(b) != want {
		t.Errorf("%s, want %s", b, want)
	}
}

func TestReadMarks(t *testing.T) {
	for text, want := range map[string]string{"": "map[]", "{}": "map[]", `{"mlflow": {"params": {"a": "1"}}}`: "map[a:1]", `{"mlflow": 5}`: "map[]", `{"mlflow": {"params": [1]}}`: "map[]"} {
		if m, err := readMarks([]byte(text)); err != nil || fmt.Sprint(m.Params) != want {
			t.Errorf("%s: %v %v", text, m.Params, err)
		}
	}
}
