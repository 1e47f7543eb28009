// Package metrics is the room of metrics: what programs report about their trials, a summary for each trial, and the curves that pages
// and clients draw.
//
// A report is a row of the table metrics. Reports are the most frequent calls, so the Writer stores those of many trials in one commit. It
// compares a report whose key exists with the stored one, adds validations to the searches of experiments in the same transaction, and
// archives the reports that those of a newer run replace; the claim of a run that restarts from a checkpoint archives what is beyond the
// checkpoint. No answer has archived reports.
//
// The Summarizer reads the rows in the order in which they became visible. It adds each row once to the summary of its trial, and, behind
// a cursor of its own, compares it with the thresholds of webhooks.
//
// Many programs report the metrics of a step one by one, so most of their reports are merged into a row that the Summarizer may have read
// already. What a merge brings to a row is a part: a row of metric_parts at the position of its transaction. The first merge of a row also
// stores what the row had before, at the position where the row was, unless the summary has it. The Summarizer reads the rows without merges and the
// parts. So each value has one position, which never changes, and it does not matter whether a merge commits before or after the Summarizer
// looks at the row. A part is removed when the summary has it.
//
// A summary whose values were archived or replaced is stale: the Summarizer rebuilds it from the rows as they were at the position of the cursor (the
// rows without later parts), and from what was brought after it. Until then the old summary stays and gets what is reported. Lists of trials and
// searches read the summaries and what is not yet in them. Curves are read from the rows, and reduced to the points that a screen shows.
// The Feed sends new rows to the live pages; the streams for charts look for what is new every period.
//
// The files, in the order in which one reads them:
//
//	report/              pure: the groups of metrics, the bounds of reports, and the numbers in reports
//	summary/             pure: the summary of a trial, and how a report is folded into it
//	series/              pure: the points of curves, and how long curves are reduced
//	metrics.go           what a report is, and which reports are rejected at once
//	routes.go            the endpoints, and what they use of other rooms
//	receive.go           accept a report
//	missing.go           the remark that the searcher's metric was never reported
//	writer.go            the group commit of reports
//	rows_write.go        new reports, and the validations among them
//	rows_merge.go        reports whose key exists
//	rows_archive.go      reports that no longer count after a restart
//	rows_stored.go       how much the reports of one trial may take
//	summarizer.go        the loops that update summaries and compare thresholds, and how far they have come
//	rows_pending.go      the rows and parts that are not yet in the summaries
//	rows_fold.go         summaries that get further rows
//	rows_rebuild.go      stale summaries, which are rebuilt
//	thresholds.go        which reports exceed the thresholds of webhooks
//	rows_listed.go       the newest values of runs that have ended, for searches
//	rows_summaries.go    summaries with the rows that they lack
//	rows_read.go         reports, page by page
//	reports.go           the streams of all reports of trials
//	rows_series.go       the points of curves
//	curves.go            the curves of several trials
//	rows_names.go        which metrics trials have
//	rows_streams.go      what the streams for charts read
//	streams.go           the streams for charts, which follow experiments until they have ended
//	rows_profiler.go     samples of what nodes report about themselves
//	profiler.go          the streams of what nodes report
//	feed.go              new reports for the live pages
//
// The rows are functions over database.DB, because others read and archive reports in their own transactions. This room is below those
// that have experiments, trials, logs and tasks: it imports none of them. Deps and Searches have what it asks of them, and its statements
// name the columns of trials and experiments that they join.
package metrics

import (
	"cmp"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/jsontext"
	"github.com/detent-ml/detent/master/metrics/report"
)

// A Report has the metrics that a trial reports at one step.
type Report struct {
	TrialID int
	RunID   int
	Group   string
	Steps   *int      // nil: the group has no steps, and the time is its key
	At      time.Time // by the task's clock; zero: the task sent no time
	Metrics json.RawMessage
	Batches json.RawMessage // metrics of single batches: a JSON list, or nil
	// Newer: a value that was reported before under the report's key gives way to this one, without an error. What a search was
	// told of the old value stays.
	Newer bool
	// Beside: the report replaces no reports of earlier runs.
	Beside bool
	// Series: of earlier runs, the report replaces only those of its own group that have one of these names; nil: all from its step on.
	Series []string

	text int // bytes of both, as check has measured them
}

// ErrOther is the cause of a report's error if a metric was reported before, with the same key and another value.
var ErrOther = errors.New("another value was reported before")

// firstTime is the earliest time of a report: keys are times in microseconds or steps, and
// no number of steps reaches this time.
var firstTime = time.Date(1970, 1, 2, 0, 0, 0, 0, time.UTC)

// check rejects values that no row can hold, before the report joins a batch.
func (r *Report) check() error {
	bad := func(format string, args ...any) error { return fault.New(fault.Invalid, format, args...) }
	switch {
	case r.RunID < 0 || r.RunID > math.MaxInt32:
		return bad("metrics.trialRunId: %d is negative or over %d", r.RunID, math.MaxInt32)
	case r.TrialID < 0 || r.TrialID > math.MaxInt32:
		return fault.New(fault.NotFound, "trial %d not found", r.TrialID)
	case r.Group == "":
		return bad("group: a report needs the name of its group, such as training or validation")
	case len(r.Group) > 255:
		return bad("group: the name has %d bytes; 255 are allowed", len(r.Group))
	case strings.ContainsRune(r.Group, '.'):
		return bad("group: %q must not hold a dot, which separates group and name", r.Group)
	case r.Steps != nil && (*r.Steps < 0 || *r.Steps > math.MaxInt32):
		return bad("metrics.stepsCompleted: %d is negative or over %d", *r.Steps, math.MaxInt32)
	case r.Steps == nil && !r.At.IsZero() && r.At.Before(firstTime):
		return bad("metrics.reportTime: %s is too long ago to be told from a number of steps", r.At)
	}
	if len(r.Metrics) == 0 {
		r.Metrics = json.RawMessage("{}")
	}
	if !utf8.ValidString(r.Group) || strings.IndexByte(r.Group, 0) >= 0 {
		return bad("group: text with a NUL character or invalid UTF-8 cannot be stored")
	}
	if err := jsontext.Storable(r.Metrics); err != nil {
		return bad("metrics: %w", err)
	}
	if err := jsontext.Storable(r.Batches); err != nil {
		return bad("batchMetrics: %w", err)
	}
	return r.bounded()
}

// bounded rejects a report that is too large.
func (r *Report) bounded() error {
	m := report.Measure(r.Metrics)
	if err := m.Bounded(); err != nil {
		return fault.New(fault.Invalid, "metrics: %w", err)
	}
	r.text = m.Text + report.Measure(r.Batches).Text
	if r.text > report.MaxText {
		return fault.New(fault.Invalid, "metrics and batchMetrics: the report of trial %d has %d bytes with its numbers written out; %d are allowed: "+
			"report less at once, and upload large values as files", r.TrialID, r.text, report.MaxText)
	}
	return nil
}

// key identifies a report.
type key struct {
	trial    int
	group    string
	position int64 // its steps, or its time in microseconds
	run      int
}

// size is the number of bytes that a report has.
func (r *Report) size() int { return len(r.Metrics) + len(r.Batches) }

func (r *Report) key() key {
	k := key{r.TrialID, r.Group, r.At.UnixMicro(), r.RunID}
	if r.Steps != nil {
		k.position = int64(*r.Steps)
	}
	return k
}

func compareKeys(a, b key) int {
	return cmp.Or(cmp.Compare(a.trial, b.trial), cmp.Compare(a.group, b.group), cmp.Compare(a.position, b.position), cmp.Compare(a.run, b.run))
}
