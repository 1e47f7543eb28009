// Package render has the tables that several commands print.
package render

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/detent-ml/detent/cli/internal/output"
	"github.com/detent-ml/detent/cli/internal/pack"
	"github.com/detent-ml/detent/cli/internal/table"
	"github.com/detent-ml/detent/master/v1"
)

// Checkpoints is a table of checkpoints with their files.
func Checkpoints(checkpoints []v1.Checkpoint) *table.Table {
	t := table.New("Trial ID", "# of Batches", "State", "Validation Metric", "UUID", "Resources", "Size")
	for _, k := range checkpoints {
		names := slices.Sorted(maps.Keys(k.Resources))
		t.Row(k.Training.TrialID, StepsCompleted(k), strings.TrimPrefix(string(k.State), "STATE_"), searcherMetric(k), k.UUID,
			strings.Join(names, "\n"), Size(k.Resources))
	}
	return t
}

// Size is the size of all files together.
func Size(resources map[string]int64) string {
	var sum int64
	for _, n := range resources {
		sum += n
	}
	return pack.Size(sum)
}

// StepsCompleted is the number of batches before the checkpoint; nil if its metadata does not
// contain the number.
func StepsCompleted(k v1.Checkpoint) any {
	var m struct {
		Steps *int64 `json:"steps_completed"`
	}
	if k.Metadata.Into(&m) != nil || m.Steps == nil {
		return nil
	}
	return *m.Steps
}

// searcherMetric is the searcher's metric at this checkpoint; nil without a validation.
func searcherMetric(k v1.Checkpoint) any {
	var conf struct {
		Searcher struct {
			Metric string `json:"metric"`
		} `json:"searcher"`
	}
	if k.Training.ValidationMetrics == nil || k.Training.ExperimentConfig.Into(&conf) != nil {
		return nil
	}
	var metrics map[string]json.RawMessage
	if k.Training.ValidationMetrics.AvgMetrics.Into(&metrics) != nil {
		return nil
	}
	var f float64
	raw, ok := metrics[conf.Searcher.Metric]
	if !ok {
		return nil
	}
	if json.Unmarshal(raw, &f) != nil {
		return strings.Trim(string(raw), `"`)
	}
	return f
}

// Checkpoint is a table of one checkpoint.
func Checkpoint(k *v1.Checkpoint) *table.Table {
	t := table.New("Experiment ID", "Trial ID", "Steps Completed", "Report Time", "Checkpoint UUID",
		"Validation Metrics", "Metadata")
	t.Row(k.Training.ExperimentID, k.Training.TrialID, StepsCompleted(*k), table.Time(k.ReportTime), k.UUID,
		Validation(*k), output.Indented(k.Metadata))
	return t
}

// Validation has the metrics of the validation at a checkpoint, as JSON.
func Validation(k v1.Checkpoint) string {
	if m := k.Training.ValidationMetrics; m != nil {
		if raw, err := v1.Marshal(m); err == nil {
			return output.Indented(raw)
		}
	}
	return "{}"
}

// Removals is a table of the removed files of a checkpoint.
func Removals(list []v1.CheckpointRemoval) *table.Table {
	t := table.New("Time", "Files", "Size", "Globs", "Reason", "Task ID", "Error")
	for _, r := range list {
		state := table.Time(r.Time)
		if r.Time == nil {
			state = "under way"
			if r.Ended {
				state = "failed"
			}
		}
		t.Row(state, r.Files, pack.Size(r.Bytes), strings.Join(r.Globs, "\n"), r.Reason, r.TaskID, r.Error)
	}
	return t
}
