package expconf

import (
	"strings"
	"testing"
)

// TestLongPathsOfHyperparameters: the name of a hyperparameter with those of its groups is limited, because an index has it.
func TestLongPathsOfHyperparameters(t *testing.T) {
	complete := func(levels int) error {
		group := strings.Repeat("g", 250)
		text := "name: x\nentrypoint: x\nsearcher: {name: single, metric: loss}\ncheckpoint_storage: {type: shared_fs, host_path: /c}\nhyperparameters: " + strings.Repeat("{"+group+": ", levels) + "{lr: 1}" + strings.Repeat("}", levels) + "\n"
		raw, _, err := Parse("x", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		cfg, err := Complete(raw, ClusterDefaults{Seed: 1, Name: "x"})
		if err != nil {
			return err
		}
		return cfg.Validate()
	}
	if err := complete(3); err != nil {
		t.Error(err)
	}
	if err := complete(14); err == nil || !strings.Contains(err.Error(), "more than 1000 bytes") {
		t.Errorf("%.300v", err)
	}
}
