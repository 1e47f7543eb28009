package store

import (
	"cmp"
	"context"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/memory"
)

// Groups of metrics that Detent itself uses.
const (
	Training   = "training"
	Validation = "validation"
)

// TopicMetrics wakes the readers of new reports: feeds and the summarizer.
const TopicMetrics = "metrics"

const (
	maxReports      = 1000             // reports in one group commit
	maxReportBytes  = 16 << 20         // and their bytes, which are copied for PostgreSQL
	flushTimeout    = 15 * time.Second // for one group commit; shorter than the timeout of the tasks' requests
	maxCachedTrials = 50_000           // trials whose facts are cached
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

	text int // bytes of both, as check has measured them
}

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
	if err := database.StorableJSON(r.Metrics); err != nil {
		return bad("metrics: %w", err)
	}
	if err := database.StorableJSON(r.Batches); err != nil {
		return bad("batchMetrics: %w", err)
	}
	return r.bounded()
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

// MetricWriter stores reports by group commit. A master has one.
type MetricWriter struct {
	db    *DB
	bus   *database.Bus
	group *database.GroupCommit[int, *Report]

	facts   *memory.Memory[int, trialFacts]
	reached *memory.Memory[runOf, int64] // by the reports of earlier runs: their highest step; -1 for none
	stored  *memory.Memory[int, *metricRoom]
}

// trialFacts has the fields of a trial that its reports need and that never change.
type trialFacts struct {
	ID           int     `db:"id"`
	Number       int     `db:"number"`
	ExperimentID int     `db:"experiment_id"`
	Metric       *string `db:"metric"`
	TimeMetric   *string `db:"time_metric"`
}

// NewMetricWriter returns a MetricWriter. It starts no goroutine until the first report;
// Wait waits for the last one.
func NewMetricWriter(db *DB, bus *database.Bus) *MetricWriter {
	w := &MetricWriter{db: db, bus: bus, facts: memory.New[int, trialFacts](0, maxCachedTrials), reached: memory.New[runOf, int64](0, maxCachedTrials),
		stored: memory.New[int, *metricRoom](0, maxCachedTrials)}
	w.group = database.NewGroupCommit(maxReports, trialOf, w.flush)
	w.group.LimitBytes(maxReportBytes, (*Report).size)
	return w
}

// trialOf returns the owner of a report in the group commit.
func trialOf(r *Report) int { return r.TrialID }

// Report stores a report and returns when it is committed. If a report with its key exists,
// Report adds the names of new metrics to it, ignores equal values, and rejects different
// values.
func (w *MetricWriter) Report(ctx context.Context, r Report) error {
	if err := r.check(); err != nil {
		return err
	}
	if r.Steps == nil && r.At.IsZero() {
		r.At = time.Now() // the key of the report, so a repetition is not recognised
	}
	r.At = r.At.Truncate(time.Microsecond) // PostgreSQL's precision
	_, err := w.group.Do(ctx, &r)
	return err
}

// Wait returns when all reports are written.
func (w *MetricWriter) Wait() { w.group.Wait() }

// flush commits a batch. If the commit fails, it stores all reports but those that cause the
// failure.
func (w *MetricWriter) flush(batch []*database.Queued[*Report]) {
	ctx, cancel := context.WithTimeout(context.Background(), flushTimeout)
	defer cancel()
	var stored, events bool
	database.CommitHalving(batch, trialOf, func(batch []*database.Queued[*Report]) error {
		more, err := w.commit(ctx, batch)
		stored, events = stored || err == nil, events || more
		return err
	})
	if !stored {
		return
	}
	topics := []string{TopicMetrics}
	if events {
		topics = append(topics, TopicEvents)
	}
	w.bus.Publish(topics...)
}

// commit stores a batch; events is true if it added events to searches. Most batches have
// only new reports without events, and need one statement. Validations are stored in one
// transaction with their events; so are batches in which a report's key exists, its run is not
// the newest, or it replaces reports of earlier runs.
func (w *MetricWriter) commit(ctx context.Context, batch []*database.Queued[*Report]) (events bool, err error) {
	for _, q := range batch {
		q.Err, q.Again = nil, false
	}
	if batch, err = w.fitting(ctx, batch); err != nil || len(batch) == 0 {
		return false, err
	}
	facts, err := w.trialFacts(ctx, batch)
	if err != nil {
		return false, err
	}
	low, err := w.replacing(ctx, batch)
	if err != nil {
		return false, err
	}
	list := slices.Clone(batch)
	// All masters write in the order of keys, so that they cannot deadlock. The sort is
	// stable: reports of one trial with the same key keep their order.
	slices.SortStableFunc(list, func(a, b *database.Queued[*Report]) int { return compareKeys(a.Item.key(), b.Item.key()) })
	if len(facts) == 0 && len(low) == 0 {
		if all, err := w.db.insertNew(ctx, list); all || err != nil {
			return false, err
		}
	}
	err = w.db.Tx(ctx, func(tx *DB) error {
		if events, err = tx.commitCarefully(ctx, list, facts); err != nil {
			return err
		}
		return tx.archiveReplaced(ctx, low)
	})
	if err == nil {
		for k, groups := range low { // what still counts reaches no further
			w.reached.Put(k, int64(first(groups)), time.Now())
		}
	}
	return events, err
}

// commitCarefully stores a sorted batch in one transaction: it rejects reports of old runs,
// merges reports into existing ones, and adds the events of validations.
func (db *DB) commitCarefully(ctx context.Context, list []*database.Queued[*Report], facts map[int]trialFacts) (events bool, err error) {
	fresh, err := db.insertReports(ctx, list)
	if err != nil {
		return false, err
	}
	if slices.Contains(fresh, false) {
		if list, fresh, err = db.dropOutdated(ctx, list, fresh); err != nil {
			return false, err
		}
	}
	gains, err := db.mergeReports(ctx, list, fresh, facts)
	if err != nil {
		return false, err
	}
	found, err := validations(list, gains, facts)
	if err != nil || len(found) == 0 {
		return false, err
	}
	return true, db.AppendEvents(ctx, found)
}

// dropOutdated rejects the reports of runs that are not their trial's newest, and returns
// the others.
func (db *DB) dropOutdated(ctx context.Context, list []*database.Queued[*Report], fresh []bool) (good []*database.Queued[*Report], kept []bool, err error) {
	runs, err := db.newestRuns(ctx, list)
	if err != nil {
		return nil, nil, err
	}
	for i, q := range list {
		if q.Err = nil; !fresh[i] {
			q.Err = q.Item.current(runs)
		}
		if q.Err == nil {
			good, kept = append(good, q), append(kept, fresh[i])
		}
	}
	return good, kept, nil
}

// unitOfLength is SQL for the unit of a searcher's length; programs may report a metric
// with this name.
const unitOfLength = `(SELECT jsonb_object_keys(l.length) FROM (SELECT coalesce(nullif(e.config->'searcher'->'max_length', 'null'),
	e.config->'searcher'->'length_per_round') AS length) l WHERE jsonb_typeof(l.length) = 'object' LIMIT 1)`

// trialFacts returns the facts of the trials whose validations are in a batch. The result
// omits trials that do not exist.
func (w *MetricWriter) trialFacts(ctx context.Context, batch []*database.Queued[*Report]) (map[int]trialFacts, error) {
	now, known := time.Now(), map[int]trialFacts{}
	var missing []int
	for _, q := range batch {
		if q.Item.Group != Validation {
			continue
		}
		if f, ok, _ := w.facts.Get(q.Item.TrialID, now); ok {
			known[f.ID] = f
		} else {
			missing = append(missing, q.Item.TrialID)
		}
	}
	if len(missing) > 0 {
		found, err := database.Rows[trialFacts](ctx, w.db.DB, `
			SELECT t.id, t.number, t.experiment_id, e.config->'searcher'->>'metric' AS metric,
				coalesce(e.config->'searcher'->>'time_metric', `+unitOfLength+`) AS time_metric
			FROM trials t JOIN experiments e ON e.id = t.experiment_id WHERE t.id = ANY($1)`, missing)
		if err != nil {
			return nil, err
		}
		for _, f := range found {
			w.facts.Put(f.ID, f, now)
			known[f.ID] = f
		}
	}
	return known, nil
}
