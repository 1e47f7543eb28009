package store

import (
	"context"
	"encoding/json"
	"time"

	"github.com/detent-ml/detent/master/database"
)

// ProfilerGroups are the groups of the reports about the nodes of a trial.
func ProfilerGroups() []string { return []string{"cpu", "disk", "gpu", "memory", "network"} }

// A ProfilerSeries is a metric of a node, or of a part of a node (a GPU, a disk).
type ProfilerSeries struct {
	Agent string `db:"agent"`
	Part  string `db:"part"` // "": of the node itself
	Name  string `db:"name"`
}

// A sample of reports has at most sampleWindows × windowReports, in about equal distances: a training of a week
// on many nodes makes millions.
const (
	sampleWindows = 400
	windowReports = 50
	clocksAhead   = time.Hour // reports that are later than that are left for the end of a sample
)

// SampledMetrics calls fn with reports of a trial's group, page by page, and returns the position of the
// last report: with all reports if they are not more than a sample, else with a sample.
func (db *DB) SampledMetrics(ctx context.Context, trial int, group string, fn func([]MetricRow) error) (MetricKey, error) {
	type extent struct {
		Reports int   `db:"reports"`
		Last    int64 `db:"last"` // of those whose clock is right
		Newest  int64 `db:"newest"`
		Run     int   `db:"run"`
	}
	e, err := database.Row[extent](ctx, db.DB, "", `
		SELECT (SELECT count(*) FROM (SELECT FROM metrics WHERE trial_id = $1 AND group_name = $2 LIMIT $3) m) AS reports,
			coalesce((SELECT max(position) FROM metrics WHERE trial_id = $1 AND group_name = $2 AND position <= $4), 0) AS last,
			coalesce(newest.position, -1) AS newest, coalesce(newest.run_id, -1) AS run
		FROM (SELECT) one LEFT JOIN (SELECT position, run_id FROM metrics WHERE trial_id = $1 AND group_name = $2 ORDER BY position DESC, run_id DESC LIMIT 1) newest ON true`,
		trial, group, sampleWindows*windowReports+1, time.Now().Add(clocksAhead).UnixMicro())
	if err != nil || e.Reports <= sampleWindows*windowReports {
		if err == nil {
			return db.MetricsAfter(ctx, trial, group, FirstMetric(), fn)
		}
		return FirstMetric(), err
	}
	at := FirstMetric()
	var page []MetricRow
	bytes := 0
	for left := sampleWindows; left > 0; left-- {
		found, full, err := database.RowsUpTo[MetricRow](ctx, db.DB, metricsPageBytes, `SELECT `+metricRowColumns+` FROM metrics
			WHERE trial_id = $1 AND group_name = $2 AND (position, run_id) > ($3, $4) AND NOT archived
			ORDER BY position, run_id LIMIT $5`, trial, group, at.position, at.run, windowReports)
		if err != nil {
			return FirstMetric(), err
		}
		for _, m := range found {
			bytes += len(m.Metrics) + len(m.Batches)
		}
		page = append(page, found...)
		ended := !full && len(found) < windowReports
		if len(page)+windowReports > metricsPage || bytes > metricsPageBytes || left == 1 || ended {
			if err := fn(page); err != nil {
				return FirstMetric(), err
			}
			page, bytes = nil, 0
		}
		if ended {
			break
		}
		// The windows that are left divide the time that is left, so that a gap costs none of them.
		first, end := found[0], found[len(found)-1]
		at = MetricKey{end.Position, end.RunID}
		if next := first.Position + (e.Last-first.Position)/int64(left); next > at.position {
			at = MetricKey{next, -1}
		}
	}
	return MetricKey{e.Newest, e.Run}, nil
}

// maxNodeReport is the maximum number of bytes of a report about nodes. A longer one is a program's, about something else.
const maxNodeReport = 256 << 10

// Values returns the numbers of a report about nodes, by their series.
func (m MetricRow) Values() map[ProfilerSeries]float64 {
	found := map[ProfilerSeries]float64{}
	add := func(s ProfilerSeries, v float64) {
		if len(s.Agent) <= maxMetricName && len(s.Part) <= maxMetricName && len(s.Name) <= maxMetricName {
			found[s] = v
		}
	}
	var agents map[string]map[string]json.RawMessage
	if len(m.Metrics) > maxNodeReport || json.Unmarshal(m.Metrics, &agents) != nil {
		return found
	}
	for agent, values := range agents {
		for key, raw := range values {
			if v, ok := drawable(raw); ok {
				add(ProfilerSeries{Agent: agent, Name: key}, v)
				continue
			}
			var parts map[string]json.RawMessage
			if json.Unmarshal(raw, &parts) != nil {
				continue
			}
			for name, raw := range parts {
				if v, ok := drawable(raw); ok {
					add(ProfilerSeries{Agent: agent, Part: key, Name: name}, v)
				}
			}
		}
	}
	return found
}
