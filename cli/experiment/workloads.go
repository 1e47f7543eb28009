package experiment

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/detent-ml/detent/cli/internal/table"
	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/v1"
)

// A step has the reports and checkpoints of a trial at one number of batches, which are on one
// line.
type step struct {
	batches              int
	state                string
	reported             *time.Time
	training, validation map[string]any
	checkpointState      string
	checkpointed         *time.Time
	validationState      string
	validated            *time.Time
}

// steps joins workloads, in the order of batches.
func steps(workloads []v1.WorkloadContainer) []step {
	byBatches := map[int]*step{}
	at := func(batches int, when *time.Time) *step {
		s := byBatches[batches]
		if s == nil {
			s = &step{batches: batches}
			byBatches[batches] = s
		}
		if s.reported == nil || when != nil && when.After(*s.reported) {
			s.reported = when
		}
		return s
	}
	for _, w := range workloads {
		if m := w.Training; m != nil {
			at(m.TotalBatches, m.EndTime).training = values(m.Metrics.AvgMetrics)
		}
		if k := w.Checkpoint; k != nil {
			s := at(k.TotalBatches, k.EndTime)
			s.checkpointState, s.checkpointed = bare(k.State), k.EndTime
			s.state = s.checkpointState
		}
		if m := w.Validation; m != nil {
			s := at(m.TotalBatches, m.EndTime)
			s.validation, s.validated, s.validationState = values(m.Metrics.AvgMetrics), m.EndTime, "COMPLETED"
			s.state = cmp.Or(s.state, s.validationState)
		}
	}
	return each.Of(slices.Sorted(maps.Keys(byBatches)), func(batches int) step { return *byBatches[batches] })
}

// values decodes metrics for cells: numbers as numbers, everything else as text.
func values(s v1.Struct) map[string]any {
	var raw map[string]json.RawMessage
	if s.Into(&raw) != nil {
		return nil
	}
	out := make(map[string]any, len(raw))
	for name, text := range raw {
		var f float64
		if json.Unmarshal(text, &f) == nil {
			out[name] = f
			continue
		}
		var t string
		if json.Unmarshal(text, &t) == nil {
			out[name] = t
			continue
		}
		out[name] = string(text)
	}
	return out
}

// workloadTable has a row for each trial and step.
func workloadTable(all []described, metrics bool) *table.Table {
	type line struct {
		trial int
		step
	}
	var lines []line
	training, validation := map[string]any{}, map[string]any{} // the names of the columns
	for _, d := range all {
		for _, t := range d.trials {
			for _, s := range steps(d.workloads[t.ID]) {
				lines = append(lines, line{t.ID, s})
				if metrics {
					maps.Copy(training, s.training)
					maps.Copy(validation, s.validation)
				}
			}
		}
	}
	tNames, vNames := slices.Sorted(maps.Keys(training)), slices.Sorted(maps.Keys(validation))
	headers := []string{"Trial ID", "# of Batches", "State", "Report Time"}
	for _, n := range tNames {
		headers = append(headers, "Training Metric: "+n)
	}
	headers = append(headers, "Checkpoint State", "Checkpoint Report Time", "Validation State", "Validation Report Time")
	for _, n := range vNames {
		headers = append(headers, "Validation Metric: "+n)
	}
	t := table.New(headers...)
	for _, l := range lines {
		row := []any{l.trial, l.batches, l.state, table.Time(l.reported)}
		for _, n := range tNames {
			row = append(row, l.training[n])
		}
		row = append(row, l.checkpointState, table.Time(l.checkpointed), l.validationState, table.Time(l.validated))
		for _, n := range vNames {
			row = append(row, l.validation[n])
		}
		t.Row(row...)
	}
	return t
}
