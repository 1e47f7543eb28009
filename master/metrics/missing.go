package metrics

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/metrics/report"
	"github.com/detent-ml/detent/master/rest"
	"github.com/detent-ml/detent/master/spelling"
)

// maxNamed is the maximum number of metric names in a message.
const maxNamed = 20

// MissingMetric is the remark that no validation has the searcher's metric, with a suggestion.
func MissingMetric(metric string, names []string) string {
	if slices.Contains(names, metric) {
		return ""
	}
	if len(names) == 0 {
		return fmt.Sprintf("searcher.metric %q was never reported: there are no validation metrics", fault.Clip(metric))
	}
	slices.Sort(names)
	s := fmt.Sprintf("searcher.metric %q was never reported; the validation metrics are %s", fault.Clip(metric), strings.Join(names[:min(len(names), maxNamed)], ", "))
	if len(names) > maxNamed {
		s += fmt.Sprintf(" and %d more", len(names)-maxNamed)
	}
	if near := spelling.Nearest(metric, names); near != "" {
		s += fmt.Sprintf(". Did you mean %q?", near)
	}
	return s
}

// maxFirst is the maximum number of attempts whose first report is remembered.
const maxFirst = 20_000

// firstReports are the attempts whose first validation report was checked.
type firstReports struct {
	mu   sync.Mutex
	seen map[string]bool
}

// take reports whether a report is the first one of an attempt on this master.
func (f *firstReports) take(allocation string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.seen[allocation] {
		return false
	}
	if f.seen == nil || len(f.seen) >= maxFirst {
		f.seen = map[string]bool{}
	}
	f.seen[allocation] = true
	return true
}

// logMissingMetric writes to a trial's log that the first validation of an attempt lacks the
// searcher's metric. If that fails, the report counts nevertheless.
func (d Deps) logMissingMetric(ctx context.Context, c *rest.Call, r Report) {
	if r.Group != report.Validation || !c.Who().IsTask() || !d.first.take(c.Who().AllocationID) {
		return
	}
	var reported map[string]json.RawMessage
	metric, err := d.SearcherMetric(ctx, r.TrialID)
	if err == nil && metric != "" {
		err = json.Unmarshal(r.Metrics, &reported)
	}
	if err == nil && metric != "" {
		if s := MissingMetric(metric, slices.Collect(maps.Keys(reported))); s != "" {
			err = d.Warn(ctx, c, s)
		}
	}
	if err != nil {
		d.Log.Warn("could not check whether a validation has the searcher's metric", "trial_id", r.TrialID, "error", err)
	}
}
