package input_test

import (
	"errors"
	"testing"

	"github.com/detent-ml/detent/cli/internal/input"
	"github.com/detent-ml/detent/master/fault"
)

func TestNamed(t *testing.T) {
	for text, want := range map[string]string{
		"the configuration has a problem: config:3:52: searcher.metric: is required":  "the configuration has a problem: a.yaml:3:52: searcher.metric: is required",
		"the configuration has 2 problems:\nconfig:1:2: x: y\nconfig: z: is required": "the configuration has 2 problems:\na.yaml:1:2: x: y\na.yaml: z: is required",
		"config: is required": "a.yaml: is required",
		"the configuration has a problem: template base:1:2: x: y": "the configuration has a problem: template base:1:2: x: y",
		"invalid config: a config:1 b":                             "invalid config: a config:1 b",
	} {
		before := fault.New(fault.Conflict, "%s", text)
		after := input.Named(before, "config", "a.yaml")
		if after.Error() != want || fault.CodeOf(after) != fault.Conflict || !errors.Is(after, before) {
			t.Errorf("%q:\n got %q\nwant %q", text, after, want)
		}
	}
	if input.Named(nil, "config", "x") != nil {
		t.Error("no error became one")
	}
}
