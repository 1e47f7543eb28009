package formula

import (
	"math"
	"slices"
	"strings"
	"testing"
)

func TestHolds(t *testing.T) {
	values := map[string]float64{"a": 1, "b": 2, "c": 3, "net.width": 64, "my-rate": 0.1, "zero": 0, "e1": 7}
	for text, want := range map[string]bool{
		"a < b":                       true,
		"a<b<c":                       true,
		"a < c < b":                   false,
		"a + b == c":                  true,
		"2*a + -b/2 - 1 == 0":         true,
		"a > b or c >= 3":             true,
		"a > b or a > c and c == 3":   false,
		"(a > b or a < c) and c == 3": true,
		"(a + b) * c == 9":            true,
		"net.width / 32 >= 2":         true,
		"`my-rate` < 1e-1 + 1E-9":     true,
		"e1 != 7":                     false,
		"zero / zero == zero / zero":  false,
		"zero / zero != 1":            false,
		"-(-a) == a":                  true,
		".5 < a":                      true,
		"a - b - c == -4":             true,
		"c / b / 2 == .75":            true,
		"1 < 2 and a == 1":            true,
		strings.Repeat("(", 30) + "a == 1" + strings.Repeat(")", 30): true,
	} {
		f, err := Parse(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		var given []float64
		for _, name := range f.Names() {
			v, known := values[name]
			if !known {
				t.Errorf("%s has the name %q", text, name)
			}
			given = append(given, v)
		}
		if got := f.Holds(given); got != want {
			t.Errorf("%s is %v", text, got)
		}
	}
}

func TestMistakes(t *testing.T) {
	for text, want := range map[string]string{
		"":                "at character 1: expected a number or the name of a hyperparameter, found the end",
		"a":               "at character 1: expected a comparison, such as a < b, found a number",
		"a <":             "at character 4: expected a number or the name of a hyperparameter, found the end",
		"a = b":           "at character 3: expected an operator, found =; compare with ==",
		"a < b c":         "at character 7: expected an operator, found c",
		"(a < b":          "at character 7: expected ), found the end",
		"a + (b < c) < 2": "at character 6: expected a number, found a comparison",
		"a and b < c":     "at character 1: expected a comparison, such as a < b, found a number",
		"1 < 2":           "at character 1: names no hyperparameter",
		"1e999 < a":       "at character 1: 1e999 is no number",
		"a < 1.2.3":       "at character 5: 1.2.3 is no number",
		"ä < 1":           "at character 1: expected a number or the name of a hyperparameter, found ä",
		"`ä` < 1 ö":       "at character 9: expected an operator, found ö",
		"a < `b":          "at character 5: a name in backquotes has no end",
		"a =< b":          "at character 3: expected an operator, found =; compare with ==",
		"a ! b":           "at character 3: expected an operator, found !; the operators are < <= > >= == != + - * / and or",
		"a < 1 && b < 1":  "at character 7: expected an operator, found &; write and",
		"a < 1 || b < 1":  "at character 7: expected an operator, found |; write or",
		"min(a, b) < 1":   "at character 4: expected an operator, found (; there are no functions",
		"a ^ 2 < b":       "at character 3: expected an operator, found ^; there are no powers",
		"a and and":       "at character 7: expected a number or the name of a hyperparameter, found and",
		strings.Repeat("(", 40) + "a < 1" + strings.Repeat(")", 40): "at character 33: is nested more than 32 levels",
		"a < " + strings.Repeat("-", 40) + "1":                      "at character 37: is nested more than 32 levels",
		strings.Repeat("a + ", 300) + "a < 1":                       "has 1205 bytes; at most 1000 are allowed",
	} {
		if _, err := Parse(text); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

// FuzzParse: no text makes the parser panic or recurse without end, and what it accepts can be
// evaluated and parsed again.
func FuzzParse(f *testing.F) {
	for _, text := range []string{"a < b", "(a + 1e-3) * b.c <= `x y` or not", "a<b<c and -d != .5", "((((", "1e+", "`", "a == 5e", "a.. < 1"} {
		f.Add(text, 1.5)
	}
	f.Fuzz(func(t *testing.T, text string, v float64) {
		x, err := Parse(text)
		if err != nil {
			return
		}
		again, err := Parse(x.String())
		if err != nil || !slices.Equal(again.Names(), x.Names()) {
			t.Fatalf("%q again: %v", text, err)
		}
		for _, value := range []float64{v, 0, math.NaN(), math.Inf(1)} {
			given := slices.Repeat([]float64{value}, len(x.Names()))
			if x.Holds(given) != again.Holds(given) {
				t.Fatalf("%q holds once only", text)
			}
		}
	})
}
