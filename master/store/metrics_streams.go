package store

import (
	"context"
	"strings"

	"github.com/detent-ml/detent/master/database"
)

// The queries of the streams of metrics of experiments. Each reads a limited number of rows,
// regardless of the number of reports.
const (
	maxStreamTrials = 10_000  // of an experiment, the newest
	maxSteps        = 50_000  // at which a metric was reported
	longestName     = 1000    // bytes of a metric's name; no request can name a longer one
	maxNamesRead    = 100_000 // in reports that are not yet in the summaries
)

// newestTrials is SQL for the newest trials of experiments $1.
const newestTrials = `(SELECT id FROM trials WHERE experiment_id = ANY($1) ORDER BY id DESC LIMIT $2)`

// MetricNames lists the metrics of the trials of experiments, by group and name: the first maxNames. Groups have the
// names that programs use in reports, such as training and validation. It reads the reports that are not yet in the summaries
// before the summaries, so that it misses none that the summarizer adds meanwhile; of many and of large ones it reads the oldest,
// and the others' metrics are in the list when they are in the summaries.
func (db *DB) MetricNames(ctx context.Context, experiments []int) ([]NamedMetric, error) {
	ctx, cancel := db.Bounded(ctx)
	defer cancel()
	found := firstOf[struct{}]{}
	add := func(raw []byte) {
		if _, known := found.kept[string(raw)]; !known {
			found.add(string(raw), struct{}{})
		}
	}
	var raw database.RawBytes
	err := db.Each(ctx, `SELECT m.group_name || '.' || k.name
		FROM (`+nextRows(`xid, id, trial_id, group_name`, afterCursor, []any{experiments})+`) m
		JOIN trials t ON t.id = m.trial_id AND t.experiment_id = ANY($1)
		CROSS JOIN LATERAL jsonb_object_keys(CASE jsonb_typeof(m.avg) WHEN 'object' THEN m.avg ELSE '{}' END) k(name)
		WHERE octet_length(k.name) <= $4 LIMIT $5`, []any{experiments, summarizeBatch, summarizeStored, longestName, maxNamesRead}, []any{&raw}, func() error {
		add(raw)
		return nil
	})
	if err != nil {
		return nil, err
	}
	err = db.readDocuments(ctx, storedSummaries(newestTrials), []any{experiments, maxStreamTrials}, `
		SELECT DISTINCT CASE g.key WHEN 'avg_metrics' THEN 'training' WHEN 'validation_metrics' THEN 'validation' ELSE g.key END || '.' || k.name FROM trial_summaries s CROSS JOIN LATERAL jsonb_each(s.summary) g
		CROSS JOIN LATERAL jsonb_object_keys(CASE jsonb_typeof(g.value) WHEN 'object' THEN g.value ELSE '{}' END) k(name)
		WHERE s.trial_id = ANY(@ids) AND octet_length(k.name) <= @longest`, database.Args{"longest": longestName}, func(raw []byte) error {
		add(raw)
		return nil
	})
	if err != nil {
		return nil, err
	}
	var list []NamedMetric
	for _, text := range found.sorted() {
		group, name, _ := strings.Cut(text, ".") // no group has a dot
		list = append(list, NamedMetric{Group: group, Name: name})
	}
	return list, nil
}

// StepsOf lists the steps at which trials of an experiment have reported a metric.
func (db *DB) StepsOf(ctx context.Context, experiment int, group, name string) ([]int, error) {
	return database.Scalars[int](ctx, db.DB, `
		SELECT DISTINCT m.steps FROM (SELECT id FROM trials WHERE experiment_id = $1 ORDER BY id DESC LIMIT $4) t
		JOIN metrics m ON m.trial_id = t.id AND m.group_name = $2
		WHERE m.steps IS NOT NULL AND NOT m.archived AND jsonb_exists(m.avg, $3) ORDER BY 1 LIMIT $5`,
		experiment, group, name, maxStreamTrials, maxSteps)
}

// A TrialValue is the value of a metric that a trial reported.
type TrialValue struct {
	TrialID int     `db:"trial_id"`
	HParams []byte  `db:"hparams"`
	Steps   int     `db:"steps"`
	Value   float64 `db:"value"`
}

// ValuesNear calls fn with the trials of an experiment that have reported a metric at most margin away
// from a number of steps, each with the report nearest to it, page by page.
func (db *DB) ValuesNear(ctx context.Context, experiment int, group, name string, steps, margin int, fn func(page []TrialValue) error) error {
	after := 0
	return inPages(func(limit int) ([]TrialValue, bool, error) {
		return database.RowsUpTo[TrialValue](ctx, db.DB, metricsPageBytes, `
		SELECT t.id AS trial_id, (SELECT hparams FROM trials WHERE id = t.id) AS hparams, v.steps, v.value
		FROM (SELECT id FROM trials WHERE experiment_id = $1 ORDER BY id DESC LIMIT $6) t
		CROSS JOIN LATERAL (SELECT m.steps, `+database.FloatAt("m.avg->$3")+` AS value FROM metrics m
			WHERE m.trial_id = t.id AND m.group_name = $2 AND m.position BETWEEN $4::bigint - $5 AND $4::bigint + $5 AND m.steps IS NOT NULL AND NOT m.archived
				AND `+database.FloatAt("m.avg->$3")+` IS NOT NULL
			ORDER BY abs(m.position - $4), m.position DESC, m.run_id DESC LIMIT 1) v
		WHERE t.id > $7 ORDER BY t.id LIMIT $8`, experiment, group, name, steps, margin, maxStreamTrials, after, limit)
	}, func(page []TrialValue) error {
		after = page[len(page)-1].TrialID
		return fn(page)
	})
}

// BestTrials lists the trials of an experiment with the best values of a metric. With byLength,
// trials that have trained longer are better.
func (db *DB) BestTrials(ctx context.Context, experiment int, group, name string, byLength bool, limit int) ([]int, error) {
	longest := ""
	if byLength {
		longest = "s.total_batches DESC, "
	}
	path := func(summary string) []string { return []string{groupKey(group), name, summary} }
	return database.Scalars[int](ctx, db.DB, `
		SELECT t.id FROM trials t JOIN experiments e ON e.id = t.experiment_id JOIN trial_summaries s ON s.trial_id = t.id
		WHERE t.experiment_id = $1 AND s.summary #> $2::text[] IS NOT NULL
		ORDER BY `+longest+`CASE WHEN e.smaller_is_better THEN `+floatInSummary("$2::text[]")+` ELSE -`+floatInSummary("$3::text[]")+` END NULLS LAST, t.id
		LIMIT $4`, experiment, path("min"), path("max"), limit)
}

// Searches reads the names of the searchers and the searchers' metrics of experiments.
func (db *DB) Searches(ctx context.Context, experiments []int) (list []SearchOf, err error) {
	return database.Rows[SearchOf](ctx, db.DB, `SELECT id, coalesce(searcher, '') AS searcher, coalesce(metric, '') AS metric, `+isOver+` AS over
		FROM experiments e WHERE id = ANY($1) ORDER BY id`, experiments)
}

// SearchOf describes the search of an experiment, for the streams of metrics.
type SearchOf struct {
	ID       int    `db:"id"`
	Searcher string `db:"searcher"`
	Metric   string `db:"metric"`
	Over     bool   `db:"over"`
}

// floatInSummary is database.FloatAt for the value at a path of the summary of a trial, s.summary.
func floatInSummary(path string) string {
	return database.FloatOf("(s.summary #> "+path+")", "(s.summary #>> "+path+")")
}
