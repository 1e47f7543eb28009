package api

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/logs"
	"github.com/detent-ml/detent/master/optional"
	"github.com/detent-ml/detent/master/rest"
	"github.com/detent-ml/detent/master/spelling"
	"github.com/detent-ml/detent/master/store"
	v1 "github.com/detent-ml/detent/master/v1"
)

// maxMetric is the maximum number of bytes of a metric's name, or of its group's, in a request.
const maxMetric = 1000

// maxNamed is the maximum number of metric names in a message.
const maxNamed = 20

// missingMetric is the remark that no validation has the searcher's metric, with a suggestion.
func missingMetric(metric string, names []string) string {
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

// remarks are remarks about an experiment for users that are not errors.
func (a *API) remarks(ctx context.Context, e store.Experiment) ([]string, error) {
	if e.Unmanaged || e.BestMetric != nil || optional.Value(e.Metric) == "" {
		return nil, nil
	}
	names, err := a.db.ValidationNames(ctx, e.ID)
	if err != nil || len(names) == 0 && e.State != "COMPLETED" {
		return nil, err
	}
	if s := missingMetric(*e.Metric, names); s != "" {
		return []string{s}, nil
	}
	return nil, nil
}

// knownAttempts is the maximum number of attempts whose first report is remembered.
const knownAttempts = 20_000

// firstReports are the attempts whose first validation report was checked.
type firstReports struct {
	mu   sync.Mutex
	seen map[string]bool
}

// first reports whether a report is the first one of an attempt on this master.
func (f *firstReports) first(allocation string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.seen[allocation] {
		return false
	}
	if f.seen == nil || len(f.seen) >= knownAttempts {
		f.seen = map[string]bool{}
	}
	f.seen[allocation] = true
	return true
}

// logMissingMetric writes to a trial's log that the first validation of an attempt lacks the
// searcher's metric. If that fails, the report counts nevertheless.
func (a *API) logMissingMetric(ctx context.Context, c *rest.Call, r store.Report) {
	if r.Group != store.Validation || !c.Who().IsTask() || !a.taskIO.firstReports.first(c.Who().AllocationID) {
		return
	}
	var reported map[string]json.RawMessage
	metric, err := a.db.SearcherMetric(ctx, r.TrialID)
	if err == nil && metric != "" {
		err = json.Unmarshal(r.Metrics, &reported)
	}
	if err == nil && metric != "" {
		if s := missingMetric(metric, slices.Collect(maps.Keys(reported))); s != "" {
			_, err = a.taskIO.logs.Append(ctx, logs.Batch{TaskID: c.Who().TaskID, Origin: logs.Origin{AllocationID: c.Who().AllocationID},
				Lines: []logs.Line{{At: time.Now(), Level: v1.LogLevelWarning.Number(), Stdtype: "stderr", Source: "master", Rank: -1, Text: s}}})
		}
	}
	if err != nil {
		a.log.Warn("could not check whether a validation has the searcher's metric", "trial_id", r.TrialID, "error", err)
	}
}
