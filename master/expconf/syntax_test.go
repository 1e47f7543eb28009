package expconf_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/detent-ml/detent/master/document"

	"github.com/detent-ml/detent/master/expconf"
)

// TestPlacesOfSyntaxErrors: line and column are those of the mistake, also where the library names the line before.
func TestPlacesOfSyntaxErrors(t *testing.T) {
	for text, want := range map[string]string{
		// A quote that is not closed: the place where it is opened.
		"name: a\nentrypoint: \"python3 x.py\nmax_restarts: 1\n": "2:13",
		"name: a\nentrypoint: 'python3 x.py\nmax_restarts: 1\n":  "2:13",
		"name: a\nlabels:\n  - \"a\n  - b\n":                     "3:5",
		// Tabs.
		"name: a\n\tmax_restarts: 1\n":                      "2:1",
		"name: a\nsearcher:\n\tname: single\n":              "3:1",
		"name: a\nsearcher:\n  name: single\n\tmetric: x\n": "4:1",
		// A line that is indented too little.
		"name: a\nsearcher:\n  name: single\n metric: x\n":         "4:2",
		"name: a\r\nsearcher:\r\n  name: single\r\n metric: x\r\n": "4:2",
		"name: a\nlabels:\n  - a\n - b\n":                          "4:2",
		// A line that is indented too deep.
		"name: a\n  max_restarts: 1\n":                        "2:3",
		"name: a\r\n  max_restarts: 1\r\n":                    "2:3",
		"name: a\nsearcher:\n  name: single\n    metric: x\n": "4:5",
		"name: a b\n  c\n  max_restarts: 1\n":                 "3:3",
		"name: a\n\n# why\n\n   max_restarts: 1\n":            "5:4",
		"name: é\ndescription: y\n  labels: [a]\n":            "3:3",
		// Other mistakes.
		"name: a\nlabels: [a, b\nmax_restarts: 1\n":          "3:1",
		"name: a\nhyperparameters: {a: 1\nmax_restarts: 1\n": "3:1",
		"name: a\nmax_restarts 1\nlabels: [a]\n":             "2:1",
		"name: a\n: b\n":                                     "2:1",
		"name: a\nentrypoint: a: b\n":                        "2:13",
		"name: a\nlabels: [a]]\n":                            "2:12",
		"name: a\nentrypoint: 'x' y\n":                       "2:17",
		"name: a\nentrypoint: @x\n":                          "2:13",
	} {
		_, _, err := expconf.Parse("f", []byte(text))
		var problems document.Errors
		_ = errors.As(err, &problems)
		if len(problems) == 0 || fmt.Sprintf("%d:%d", problems[0].Line, problems[0].Column) != want {
			t.Errorf("%q: %v; want it at %s", text, err, want)
		}
	}
}
