package model

import (
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/detent-ml/detent/master/v1"
)

func TestCard(t *testing.T) {
	experiment, trial := 12, 31
	v := v1.ModelVersion{Version: 2, Name: "best | of all", Comment: "after the fix\nof the labels", Notes: "## Data\n\nScanned by hand.\n", Labels: []string{"x", "vision"},
		Username: "ann", CreationTime: time.Date(2026, 11, 20, 4, 22, 1, 0, time.UTC), Metadata: v1.Struct(`{}`),
		Model: v1.Model{Name: "mnist: [x]", Labels: []string{"vision"}, Metadata: v1.Struct(`{"rows":{"a|b":150}}`)},
		Checkpoint: v1.Checkpoint{UUID: "c0ffee00-0000-0000-0000-000000000001", Metadata: v1.Struct(`{"steps_completed":10}`),
			Resources: map[string]int64{"model.bin": 2048, "code/": 0, "code/train.py": 10},
			Training: v1.CheckpointTrainingMetadata{ExperimentID: &experiment, TrialID: &trial, HParams: v1.Struct(`{"lr":0.1}`),
				ValidationMetrics: &v1.Metrics{AvgMetrics: v1.Struct(`{"loss":0.5}`)}}}}
	raw, err := card(v)
	if err != nil {
		t.Fatal(err)
	}
	text := string(raw)
	parts := strings.SplitN(text, "---\n", 3)
	var head front
	if len(parts) != 3 || parts[0] != "" || yaml.Unmarshal([]byte(parts[1]), &head) != nil {
		t.Fatalf("the card has no front matter:\n%s", text)
	}
	if head.Name != "mnist: [x]" || head.Version != 2 || strings.Join(head.Tags, " ") != "vision x" || *head.Trial != 31 || head.Metrics["loss"] != 0.5 {
		t.Errorf("%+v", head)
	}
	for _, want := range []string{"\n# mnist: [x], version 2\n", "\nafter the fix\nof the labels\n", "| experiment | 12 |\n", "| batches | 10 |\n", `| name of the version | best \| of all |`,
		"## Hyperparameters\n\n| | |\n|---|---|\n| lr | 0.1 |\n", `| rows | {"a\|b":150} |`, "| `checkpoint/model.bin` | 2.0KB |\n", "## Notes about this version\n\n## Data\n\nScanned by hand.\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("the card does not contain %q:\n%s", want, text)
		}
	}
	for _, not := range []string{"code/`", "Metadata of the version", "Notes about the model"} {
		if strings.Contains(text, not) {
			t.Errorf("the card contains %q:\n%s", not, text)
		}
	}
}
