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

	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/memory"
)

// Groups of metrics that mean something to the platform.
const (
	Training   = "training"
	Validation = "validation"
)

// TopicMetrics wakes those who follow the rows of metrics.
const TopicMetrics = "metrics"

const (
	maxReports      = 1000             // in one group commit
	flushTimeout    = 15 * time.Second // for one group commit, below the patience of those who wait for it
	maxCachedTrials = 50_000           // whose facts are kept in memory
)

// A Report is what a trial says it measured.
type Report struct {
	TrialID int
	RunID   int
	Group   string
	Steps   *int      // nil: the group counts no steps, and its key is the time
	At      time.Time // the task's clock; zero: it sent none
	Metrics json.RawMessage
	Batches json.RawMessage // a list, or nothing
}

// firstTime is the first that no number of steps can be mistaken for.
var firstTime = time.Date(1970, 1, 2, 0, 0, 0, 0, time.UTC)

// check refuses what no row can hold, before it reaches a batch.
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
	if err := storableJSON(r.Metrics); err != nil {
		return bad("metrics: %w", err)
	}
	if err := storableJSON(r.Batches); err != nil {
		return bad("batchMetrics: %w", err)
	}
	return nil
}

// key is what makes a report unique.
type key struct {
	trial int
	group string
	ord   int64 // its steps, or its time in microseconds
	run   int
}

func (r *Report) key() key {
	k := key{r.TrialID, r.Group, r.At.UnixMicro(), r.RunID}
	if r.Steps != nil {
		k.ord = int64(*r.Steps)
	}
	return k
}

func compareKeys(a, b key) int {
	return cmp.Or(cmp.Compare(a.trial, b.trial), cmp.Compare(a.group, b.group), cmp.Compare(a.ord, b.ord), cmp.Compare(a.run, b.run))
}

// MetricWriter stores reports by group commit: one per master.
type MetricWriter struct {
	db    *DB
	bus   *Bus
	group *group[int, *Report]

	facts *memory.Memory[int, trialFacts]
}

// trialFacts is what a report needs to know of its trial and never changes.
type trialFacts struct {
	ID           int     `db:"id"`
	Number       int     `db:"number"`
	ExperimentID int     `db:"experiment_id"`
	Metric       *string `db:"metric"`
	TimeMetric   *string `db:"time_metric"`
}

// NewMetricWriter makes one. It needs no start, and Wait is its end.
func NewMetricWriter(db *DB, bus *Bus) *MetricWriter {
	w := &MetricWriter{db: db, bus: bus, facts: memory.New[int, trialFacts](0, maxCachedTrials)}
	w.group = newGroup(maxReports, trialOf, w.flush)
	return w
}

// trialOf is the owner of a report among those that wait.
func trialOf(r *Report) int { return r.TrialID }

// Report returns once the report is committed. A report that is there already
// with the same values is a success, new names are merged into it, and another
// value for a name is refused.
func (w *MetricWriter) Report(ctx context.Context, r Report) error {
	if err := r.check(); err != nil {
		return err
	}
	if r.Steps == nil && r.At.IsZero() {
		r.At = time.Now() // its key, for want of any other; nobody can tell a repetition then
	}
	r.At = r.At.Truncate(time.Microsecond) // what PostgreSQL keeps
	_, err := w.group.do(ctx, &r)
	return err
}

// Wait returns when nothing is being written.
func (w *MetricWriter) Wait() { w.group.wait() }

// flush commits a batch, and of one that fails all but what fails it.
func (w *MetricWriter) flush(batch []*queued[*Report]) {
	ctx, cancel := context.WithTimeout(context.Background(), flushTimeout)
	defer cancel()
	var stored, events bool
	commitHalving(batch, trialOf, func(batch []*queued[*Report]) error {
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

// commit stores a batch, and says whether a search got something to decide on.
// What is mostly there, new reports that no search waits for, is one statement.
// Validations are stored in one transaction with their events; so is what needs a
// second look, because its key is taken or its run is not the newest.
func (w *MetricWriter) commit(ctx context.Context, batch []*queued[*Report]) (events bool, err error) {
	facts, err := w.trialFacts(ctx, batch)
	if err != nil {
		return false, err
	}
	list := slices.Clone(batch)
	for _, q := range list {
		q.err = nil
	}
	// Everybody writes in the order of keys, so no two masters wait for each other
	// in a circle. The sort is stable: what one trial sent under one key keeps its order.
	slices.SortStableFunc(list, func(a, b *queued[*Report]) int { return compareKeys(a.item.key(), b.item.key()) })
	if len(facts) == 0 {
		if all, err := w.db.insertNew(ctx, list); all || err != nil {
			return false, err
		}
	}
	err = w.db.Tx(ctx, func(tx *DB) error {
		events, err = tx.commitCarefully(ctx, list, facts)
		return err
	})
	return events, err
}

// commitCarefully stores a sorted batch with everything that may have to be done.
func (db *DB) commitCarefully(ctx context.Context, list []*queued[*Report], facts map[int]trialFacts) (events bool, err error) {
	fresh, err := db.insertReports(ctx, list)
	if err != nil {
		return false, err
	}
	if slices.Contains(fresh, false) {
		if list, fresh, err = db.dropOutdated(ctx, list, fresh); err != nil {
			return false, err
		}
	}
	added, err := db.mergeReports(ctx, list, fresh)
	if err != nil {
		return false, err
	}
	found, err := validations(list, fresh, added, facts)
	if err != nil || len(found) == 0 {
		return false, err
	}
	return true, db.AppendEvents(ctx, found)
}

// dropOutdated refuses the reports of runs that are not their trial's newest, and
// returns the others.
func (db *DB) dropOutdated(ctx context.Context, list []*queued[*Report], fresh []bool) (good []*queued[*Report], kept []bool, err error) {
	runs, err := db.newestRuns(ctx, list)
	if err != nil {
		return nil, nil, err
	}
	for i, q := range list {
		if q.err = nil; !fresh[i] {
			q.err = q.item.current(runs)
		}
		if q.err == nil {
			good, kept = append(good, q), append(kept, fresh[i])
		}
	}
	return good, kept, nil
}

// unitOfLength is what a searcher's length is counted in, as the name of the
// metric that programs report it by.
const unitOfLength = `(SELECT jsonb_object_keys(l.length) FROM (SELECT coalesce(nullif(e.config->'searcher'->'max_length', 'null'),
	e.config->'searcher'->'length_per_round') AS length) l WHERE jsonb_typeof(l.length) = 'object' LIMIT 1)`

// trialFacts finds the facts of the trials whose validations are in a batch. Trials
// that do not exist are simply not in the answer.
func (w *MetricWriter) trialFacts(ctx context.Context, batch []*queued[*Report]) (map[int]trialFacts, error) {
	now, known := time.Now(), map[int]trialFacts{}
	var missing []int
	for _, q := range batch {
		if q.item.Group != Validation {
			continue
		}
		if f, ok, _ := w.facts.Get(q.item.TrialID, now); ok {
			known[f.ID] = f
		} else {
			missing = append(missing, q.item.TrialID)
		}
	}
	if len(missing) > 0 {
		found, err := rows[trialFacts](ctx, w.db, `
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
