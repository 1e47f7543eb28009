package metrics

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/detent-ml/detent/master/cache"
	"github.com/detent-ml/detent/master/database"
	v1 "github.com/detent-ml/detent/master/v1"
)

// For tests, which are in another package because they use rowtest, which imports this one.
const (
	ArchiveChunk  = archiveChunk
	FeedBytes     = feedBytes
	MaxHits       = maxHits
	MaxNamesKnown = maxNamesKnown
	MaxPage       = maxPage
	PageBytes     = pageBytes
	RebuildRows   = rebuildRows
	SampleWindows = sampleWindows
	WindowReports = windowReports
)

type TrialFacts = trialFacts

var InsertReports = insertReports

// AdoptAtMost is Adopt with other limits.
func AdoptAtMost(ctx context.Context, db *database.DB, trial, steps int, rows, bytes int64) error {
	return adopt(ctx, db, adopting{trial: trial, steps: steps, left: rows, bytes: bytes})
}

func (r *Report) Check() error { return r.check() }

func (w *Writer) Group() *database.GroupCommit[int, *Report] { return w.group }

func (w *Writer) Flush(batch []*database.Queued[*Report]) { w.flush(batch) }

// RememberFacts limits the number of trials whose facts are cached.
func (w *Writer) RememberFacts(most int) { w.facts = cache.New[int, trialFacts](0, most) }

func (w *Writer) TrialFacts(ctx context.Context, batch []*database.Queued[*Report]) (map[int]TrialFacts, error) {
	return w.trialFacts(ctx, batch)
}

// Position is the report's place in its group, for a test that compares it.
func (p GroupPosition) Position() int64 { return p.position }

func (d Deps) NewNames(ctx context.Context, experiments []int, seen map[v1.MetricIdentifier]bool) (any, error) {
	return d.newNames(ctx, experiments, seen)
}

// Fold adds the next rows to the summaries, or leaves them to the rebuild loop.
func Fold(ctx context.Context, db *database.DB) (more bool, err error) {
	done, err := summarize(ctx, db, summarizeBatch)
	return done.more, err
}

// RebuildWithin sets how long PostgreSQL may read the rows of a step of a rebuild, and returns what it was.
func RebuildWithin(timeout string) (before string) {
	before, rebuildStatement = rebuildStatement, timeout
	return before
}

// SmallSteps makes steps of rebuilds that read so many rows, and transactions that fold rows into small summaries only, until undo is called.
func SmallSteps(rows int) (undo func()) {
	folded, limits := summariesFolded, rebuildLimits
	summariesFolded, rebuildLimits.rows = 0, rows
	return func() { summariesFolded, rebuildLimits = folded, limits }
}

// FoldSome is Fold for at most so many rows.
func FoldSome(ctx context.Context, db *database.DB, most int) error {
	_, err := summarize(ctx, db, most)
	return err
}

// ReportIn stores a report in a transaction.
func (w *Writer) ReportIn(ctx context.Context, tx *database.DB, r Report) error {
	if err := w.prepare(ctx, &r); err != nil {
		return err
	}
	q := &database.Queued[*Report]{Item: &r}
	facts, err := w.trialFacts(ctx, []*database.Queued[*Report]{q})
	if err == nil {
		_, err = w.commitCarefully(ctx, tx, []*database.Queued[*Report]{q}, facts)
	}
	return errors.Join(err, q.Err)
}

// RebuildDue does a step of the rebuild of each stale summary whose turn has come.
func RebuildDue(ctx context.Context, db *database.DB) (more bool, err error) {
	done, err := rebuildStale(false)(ctx, db, 0)
	return done.more, err
}

// CompareThresholds does the steps of the loop that compares reports with thresholds, without its pauses, until no further reports wait. It
// returns how many reports each transaction was allowed to read.
func CompareThresholds(ctx context.Context, db *database.DB, log *slog.Logger) (allowed []int) {
	t, p := newThresholds(log), pace{most: summarizeBatch}
	for range 100 {
		allowed = append(allowed, p.most)
		done, err := t.step(ctx, db, p.most)
		if p.after(done, err, time.Now()); err == nil && !done.more {
			break
		}
	}
	return allowed
}

// Paced tells a pace of a failure with its reports and then of visits of a cursor that another master has, and returns how many reports it allows.
func Paced(visits int) int {
	p := pace{most: summarizeBatch}
	p.after(summarized{read: 1}, context.DeadlineExceeded, time.Now())
	for range visits {
		p.after(summarized{busy: true}, nil, time.Now())
	}
	return p.most
}

// Logged tells a pace of failures, one after each of these pauses, and returns for which of them it wants an entry in the log.
func Logged(err error, pauses ...time.Duration) (logged []bool) {
	p, now := pace{most: summarizeBatch}, time.Now()
	for _, d := range pauses {
		now = now.Add(d)
		logged = append(logged, p.after(summarized{}, err, now))
	}
	return logged
}
