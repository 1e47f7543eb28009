package metrics

import (
	"context"
	"errors"
	"time"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/sleep"
)

// Searches by a metric among 100,000 runs must not open 100,000 summaries. When a run has ended, its newest values are listed in newest_values,
// whose index has the order of each metric. A summary that changes later is no longer listed until its turn comes again (a trigger of the table
// sees to that), and searches read it: as they read the summaries of runs that have not ended, and the reports that no summary has yet.

const (
	listedTogether = 500              // summaries of one transaction, at most
	listedFewer    = 8                // the next transaction after one that fails has so many times fewer summaries
	maxListed      = 500              // metrics of a trial
	maxListedBytes = 40 << 10         // of its summary, as PostgreSQL stores it
	listInterval   = 10 * time.Second // between two looks
)

// NewestValue is SQL for the newest value of a metric by MLflow's rule, given SQL for its values in the three groups that have names for
// MLflow's clients. If training and validation share a name, that of the searcher's metric is its validation, and any other that of
// training. A group whose newest value is not finite, which is no number in JSON, does not give way to another one.
func NewestValue(training, validation, system, isSearchers string) string {
	return `coalesce(CASE WHEN ` + training + ` IS NOT NULL AND ` + validation + ` IS NOT NULL AND ` + isSearchers + ` THEN ` + validation + ` END, ` + training + `, ` + validation + `, ` + system + `)`
}

// unlisted selects the first $1 summaries of trials that have ended and are not listed. A summary that is stale or that the summarizer is
// writing waits for its next turn.
const unlisted = ` FROM trial_summaries s JOIN trials t ON t.id = s.trial_id JOIN experiments e ON e.id = t.experiment_id
	WHERE s.listed = 'no' AND NOT s.stale AND t.ended_at IS NOT NULL ORDER BY s.trial_id LIMIT $1 FOR UPDATE OF s SKIP LOCKED`

// listSummaries lists the summaries that unlisted selects.
var listSummaries = `
	WITH s AS MATERIALIZED (SELECT s.trial_id, s.summary, coalesce(e.metric, '') AS metric` + unlisted + `),
	sized AS MATERIALIZED (SELECT s.*, CASE WHEN pg_column_size(s.summary) > $3 THEN true
		ELSE (SELECT count(*) FROM jsonb_each(s.summary) g CROSS JOIN LATERAL jsonb_object_keys(` + object("g.value") + `) k) > $2 END AS large FROM s),
	fresh AS (
		INSERT INTO newest_values (trial_id, metric, value)
		SELECT DISTINCT ON (s.trial_id, metric_key(n.name)) s.trial_id, metric_key(n.name), x.value
		FROM sized s CROSS JOIN LATERAL (
			SELECT k.key AS name, jsonb_object_agg(g.key, k.value -> 'last') FILTER (WHERE k.value ? 'last') AS last
			FROM jsonb_each(s.summary) g CROSS JOIN LATERAL jsonb_each(` + object("g.value") + `) k WHERE g.key IN ('avg_metrics', 'validation_metrics', 'system') GROUP BY k.key) n
		CROSS JOIN LATERAL (SELECT ` + NewestValue(`n.last -> 'avg_metrics'`, `n.last -> 'validation_metrics'`, `n.last -> 'system'`, `s.metric = n.name`) + ` AS value OFFSET 0) v
		CROSS JOIN LATERAL (SELECT ` + database.FloatAt(`v.value`) + ` AS value OFFSET 0) x
		WHERE NOT s.large AND x.value IS NOT NULL ORDER BY 1, 2, n.name)
	UPDATE trial_summaries u SET listed = CASE WHEN s.large THEN 'large' ELSE 'yes' END FROM sized s WHERE u.trial_id = s.trial_id`

// object is SQL for a JSON value, or an empty object in its place.
func object(value string) string {
	return `CASE jsonb_typeof(` + value + `) WHEN 'object' THEN ` + value + ` ELSE '{}' END`
}

// A Lister lists the newest values of summaries. Several masters may list at the same time.
type Lister struct {
	db   *database.DB
	most int // summaries of the next transaction
}

// NewLister returns a Lister that has not failed yet.
func NewLister(db *database.DB) *Lister { return &Lister{db: db, most: listedTogether} }

// List lists some summaries; more is true if further ones wait. A transaction of many metrics may be too long for the database. So after one
// that fails, the next one has fewer summaries, and one summary that fails alone stays unlisted: the others do not wait for it.
func (l *Lister) List(ctx context.Context) (more bool, err error) {
	n, err := l.try(ctx, listSummaries, l.most, maxListed, maxListedBytes)
	switch {
	case ctx.Err() != nil:
		return false, err
	case err == nil:
		more = n == int64(l.most)
		l.most = min(2*l.most, listedTogether)
		return more, nil
	case l.most == 1:
		_, failed := l.try(ctx, `UPDATE trial_summaries SET listed = 'large' WHERE trial_id = (SELECT s.trial_id`+unlisted+`)`, 1)
		return failed == nil, errors.Join(err, failed)
	}
	l.most = max(1, l.most/listedFewer)
	return true, err
}

func (l *Lister) try(ctx context.Context, sql string, args ...any) (n int64, err error) {
	within, cancel := context.WithTimeout(ctx, summarizeTimeout)
	defer cancel()
	err = l.db.Tx(within, func(tx *database.DB) error {
		n, err = tx.Affect(within, sql, args...)
		return err
	})
	return n, err
}

// list lists until ctx ends, at most a tenth of the time.
func (s *Summarizer) list(ctx context.Context) {
	l := NewLister(s.db)
	for ctx.Err() == nil {
		began := time.Now()
		more, err := l.List(ctx)
		pause := max(summarizeMinPause, summarizeRestFactor*time.Since(began))
		if err != nil || !more {
			pause = max(listInterval, pause)
		}
		if err != nil && ctx.Err() == nil {
			s.log.Warn("the newest values of metrics are not listed, so searches by a metric are slower", "next_summaries", l.most, "error", err)
		}
		_ = sleep.For(ctx, pause)
	}
}
