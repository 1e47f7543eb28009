package filter

import (
	"fmt"
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/fault"
)

// shown is a comparison as text.
func shown(c Comparison) string {
	value := fmt.Sprintf("%q", c.Text)
	switch {
	case c.Number != nil:
		value = fmt.Sprint(*c.Number)
	case c.List != nil:
		value = fmt.Sprintf("%q", c.List)
	case c.Op == Absent || c.Op == Present:
		value = ""
	}
	return strings.TrimSpace(fmt.Sprintf("%s %q %s %s", c.Kind, c.Name, c.Op, value))
}

func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"":                                        "",
		"  ":                                      "",
		"metrics.loss < 0.1":                      `metric "loss" < 0.1`,
		"metric.loss>=-1e-3":                      `metric "loss" >= -0.001`,
		"params.lr = '0.01' and tags.a != \"b\"":  `parameter "lr" = "0.01"; tag "a" != "b"`,
		"params.`learning rate` = '1'":            `parameter "learning rate" = "1"`,
		"tags.\"mlflow.user\" LIKE '%a_'":         `tag "mlflow.user" LIKE "%a_"`,
		"tags.mlflow.user ilike 'A'":              `tag "mlflow.user" ILIKE "A"`,
		"status = 'FINISHED'":                     `attribute "status" = "FINISHED"`,
		"attributes.start_time > 1664067852747":   `attribute "start_time" > 1.664067852747e+12`,
		"run_id IN ('a', 'b')":                    `attribute "run_id" IN ["a" "b"]`,
		"run_id NOT IN ('a',)":                    `attribute "run_id" NOT IN ["a"]`,
		"tags.x IS NULL AND params.y IS NOT NULL": `tag "x" IS NULL; parameter "y" IS NOT NULL`,
		"params.x = 'it''s'":                      `parameter "x" = "it's"`,
		"datasets.name = 'd'":                     `dataset "name" = "d"`,
		"Run name = 'x'":                          `attribute "run_name" = "x"`,
		"metrics.a/b <> 1":                        `metric "a/b" != 1`,
		"params.and = 'AND'":                      `parameter "and" = "AND"`,
	} {
		list, err := Parse(text)
		var got []string
		for _, c := range list {
			got = append(got, shown(c))
		}
		if err != nil || strings.Join(got, "; ") != want {
			t.Errorf("%s: %s %v, want %s", text, strings.Join(got, "; "), err, want)
		}
	}
}

func TestWrong(t *testing.T) {
	for text, want := range map[string]string{
		"metrics.loss":                   "expected one of",
		"metrics.loss <":                 "expected a value at the end",
		"metrics.loss < 'a'":             "write a number without quotes",
		"params.lr = 0.1":                "write the value in quotes",
		"params.lr < '1'":                "cannot be compared with <",
		"params.lr = '0.1":               "a quote at its end",
		"metrics.a = 1 OR metrics.b = 2": `expected AND between two comparisons at character 15, found "OR`,
		"metrics.a = 1 metrics.b = 2":    "expected AND",
		"nothing.a = 1":                  "none of metrics",
		"run_id IN ()":                   "expected",
		"run_id IN ('a'":                 "a comma or a parenthesis",
		"= 1":                            "expected a name",
		"params. = 'a'":                  "a name after params.",
		"metrics.a IN ('1')":             "cannot be compared with IN",
		"metrics.a = 1 AND":              "expected a name",
		"metrics.a\x00 = 1":              "NUL",
		"metrics.a = nan_":               "expected a number",
		strings.Repeat("a", maxText+1):   "over the limit",
		strings.Repeat("metrics.a = 1 AND ", maxComparisons+1) + "metrics.a = 1": "more than",
	} {
		list, err := Parse(text)
		if !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: %v %v, want %s", text, list, err, want)
		}
	}
}

func TestParseOrder(t *testing.T) {
	for text, want := range map[string]Order{
		"metrics.loss":             {Metric, "loss", false},
		"metrics.`a b` DESC":       {Metric, "a b", true},
		"start_time asc":           {Attribute, "start_time", false},
		"attributes.run_name desc": {Attribute, "run_name", true},
	} {
		if got, err := ParseOrder(text); err != nil || got != want {
			t.Errorf("%s: %v %v", text, got, err)
		}
	}
	for _, text := range []string{"", "metrics.loss UP", "metrics.loss DESC, a", "a b c"} {
		if got, err := ParseOrder(text); !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: %v %v", text, got, err)
		}
	}
}

// What a filter parses to has the same meaning when it is written and parsed again.
func FuzzParse(f *testing.F) {
	for _, text := range []string{"metrics.a < 1", "params.`a b` = 'x'", "tags.a IS NULL", "run_id IN ('a', 'b')", "status != \"x\" AND a = 1"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		list, err := Parse(text)
		if err != nil {
			if !fault.Is(err, fault.Invalid) {
				t.Fatal(err)
			}
			return
		}
		for _, c := range list {
			if c.Name == "" || c.Kind == "" {
				t.Fatalf("%q: %+v", text, c)
			}
		}
		if _, err := ParseOrder(text); err != nil && !fault.Is(err, fault.Invalid) {
			t.Fatal(err)
		}
	})
}
