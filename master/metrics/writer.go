package metrics

import (
	"context"
	"slices"
	"time"

	"github.com/detent-ml/detent/master/cache"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/metrics/report"
	"github.com/detent-ml/detent/master/optional"
	"github.com/detent-ml/detent/master/search"
)

// Topic wakes the readers of new reports: feeds and the summarizer.
const Topic = "metrics"

const (
	maxReports      = 1000             // reports in one group commit
	maxReportBytes  = 16 << 20         // and their bytes, which are copied for PostgreSQL
	flushTimeout    = 15 * time.Second // for one group commit; shorter than the timeout of the tasks' requests
	maxCachedTrials = 50_000           // trials whose facts are cached
)

// Writer stores reports by group commit. A master has one.
type Writer struct {
	db       *database.DB
	bus      *database.Bus
	limit    int64 // bytes of the reports of one trial; 0: no limit
	searches Searches
	group    *database.GroupCommit[int, *Report]

	facts   *cache.Cache[int, trialFacts]
	reached *cache.Cache[runOf, int64]    // by the reports of earlier runs: their highest step; -1 for none
	series  *cache.Cache[seriesOf, int64] // the step from which a run has replaced what earlier runs have reported of a metric
	stored  *cache.Cache[int, *metricRoom]
}

// Searches is what a Writer uses of the searches of experiments.
type Searches struct {
	// Add adds validations to the events of their searches, in the transaction that stores the reports.
	Add func(ctx context.Context, tx *database.DB, list []Validated) error
	// Topic wakes who reads these events.
	Topic string
}

// Validated is a validation of a trial, for the search of its experiment.
type Validated struct {
	ExperimentID int
	Trial        int // its number
	Validation   search.Validation
}

// trialFacts has the fields of a trial that its reports need and that never change.
type trialFacts struct {
	ID           int     `db:"id"`
	Number       int     `db:"number"`
	ExperimentID int     `db:"experiment_id"`
	Metric       *string `db:"metric"`
	TimeMetric   *string `db:"time_metric"`
	Objectives   []byte  `db:"objectives"` // searcher.metrics; nil: the search has one metric
}

// NewWriter returns a Writer. The reports of one trial may take limit bytes; 0 is no limit. NewWriter starts no goroutine until the first
// report; Wait waits for the last one.
func NewWriter(db *database.DB, bus *database.Bus, limit int64, searches Searches) *Writer {
	w := &Writer{db: db, bus: bus, limit: limit, searches: searches, facts: cache.New[int, trialFacts](0, maxCachedTrials), reached: cache.New[runOf, int64](0, maxCachedTrials),
		series: cache.New[seriesOf, int64](0, maxCachedTrials), stored: cache.New[int, *metricRoom](0, maxCachedTrials)}
	w.group = database.NewGroupCommit(maxReports, trialOf, w.flush)
	w.group.LimitBytes(maxReportBytes, (*Report).size)
	return w
}

// trialOf returns the owner of a report in the group commit.
func trialOf(r *Report) int { return r.TrialID }

// Report stores a report and returns when it is committed. If a report with its key exists,
// Report adds the names of new metrics to it, ignores equal values, and rejects different
// values.
func (w *Writer) Report(ctx context.Context, r Report) error {
	return w.ReportAll(ctx, []Report{r})[0]
}

// ReportAll is Report for several reports of one trial, which are stored together as far as possible. The result has the error of
// each.
func (w *Writer) ReportAll(ctx context.Context, list []Report) []error {
	errs := make([]error, len(list))
	var ready []*Report
	var places []int
	for i := range list {
		if errs[i] = w.prepare(ctx, &list[i]); errs[i] == nil {
			ready, places = append(ready, &list[i]), append(places, i)
		}
	}
	for i, err := range w.group.DoAll(ctx, ready) {
		errs[places[i]] = err
	}
	return errs
}

// prepare checks a report, and archives what it replaces.
func (w *Writer) prepare(ctx context.Context, r *Report) error {
	if err := r.check(); err != nil {
		return err
	}
	if r.Steps == nil && r.At.IsZero() {
		r.At = time.Now() // the key of the report, so a repetition is not recognised
	}
	r.At = r.At.Truncate(time.Microsecond) // PostgreSQL's precision
	return w.replace(ctx, r)
}

// SearcherMetric returns searcher.metric of a trial's experiment; "" if there is none, or no trial.
func (w *Writer) SearcherMetric(ctx context.Context, trial int) (string, error) {
	facts, err := w.factsOf(ctx, []int{trial})
	return optional.Value(facts[trial].Metric), err
}

// Wait returns when all reports are written.
func (w *Writer) Wait() { w.group.Wait() }

// flush commits a batch. If the commit fails, it stores all reports but those that cause the
// failure.
func (w *Writer) flush(batch []*database.Queued[*Report]) {
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
	topics := []string{Topic}
	if events {
		topics = append(topics, w.searches.Topic)
	}
	w.bus.Publish(topics...)
}

// commit stores a batch; events is true if it added events to searches. Most batches have
// only new reports without events, and need one statement. Validations are stored in one
// transaction with their events; so are batches in which a report's key exists, or its run is
// not the newest.
func (w *Writer) commit(ctx context.Context, batch []*database.Queued[*Report]) (events bool, err error) {
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
	list := slices.Clone(batch)
	// All masters write in the order of keys, so that they cannot deadlock. The sort is
	// stable: reports of one trial with the same key keep their order.
	slices.SortStableFunc(list, func(a, b *database.Queued[*Report]) int { return compareKeys(a.Item.key(), b.Item.key()) })
	if len(facts) == 0 {
		if all, err := insertNew(ctx, w.db, list); all || err != nil {
			return false, err
		}
	}
	err = w.db.Tx(ctx, func(tx *database.DB) error {
		events, err = w.commitCarefully(ctx, tx, list, facts)
		return err
	})
	return events, err
}

// commitCarefully stores a sorted batch in one transaction: it rejects reports of old runs,
// merges reports into existing ones, and adds the events of validations.
func (w *Writer) commitCarefully(ctx context.Context, tx *database.DB, list []*database.Queued[*Report], facts map[int]trialFacts) (events bool, err error) {
	fresh, err := insertReports(ctx, tx, list)
	if err != nil {
		return false, err
	}
	if slices.Contains(fresh, false) {
		if list, fresh, err = dropOutdated(ctx, tx, list, fresh); err != nil {
			return false, err
		}
	}
	gains, err := mergeReports(ctx, tx, list, fresh, facts)
	if err != nil {
		return false, err
	}
	found, err := validations(list, gains, facts)
	if err != nil || len(found) == 0 {
		return false, err
	}
	return true, w.searches.Add(ctx, tx, found)
}

// dropOutdated rejects the reports of runs that are not their trial's newest, and returns
// the others.
func dropOutdated(ctx context.Context, db *database.DB, list []*database.Queued[*Report], fresh []bool) (good []*database.Queued[*Report], kept []bool, err error) {
	runs, err := newestRuns(ctx, db, list)
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

// trialFacts returns the facts of the trials whose validations are in a batch. The result
// omits trials that do not exist. The commit is everybody's, so it reads no configuration:
// PostgreSQL would decompress a megabyte for each trial.
func (w *Writer) trialFacts(ctx context.Context, batch []*database.Queued[*Report]) (map[int]trialFacts, error) {
	var trials []int
	for _, q := range batch {
		if q.Item.Group == report.Validation {
			trials = append(trials, q.Item.TrialID)
		}
	}
	return w.factsOf(ctx, trials)
}

// factsOf returns the facts of trials that exist.
func (w *Writer) factsOf(ctx context.Context, trials []int) (map[int]trialFacts, error) {
	now, known := time.Now(), map[int]trialFacts{}
	var missing []int
	for _, trial := range trials {
		if f, ok, _ := w.facts.Get(trial, now); ok {
			known[f.ID] = f
		} else {
			missing = append(missing, trial)
		}
	}
	if len(missing) > 0 {
		found, err := database.Rows[trialFacts](ctx, w.db, `
			SELECT t.id, t.number, t.experiment_id, e.metric, e.time_metric, e.objectives
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
