package metrics

import (
	"context"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/metrics/summary"
)

// The queries of the streams of metrics of experiments. Each reads a limited number of rows,
// regardless of the number of reports.
const (
	maxStreamTrials = 10_000  // of an experiment, the newest
	maxSteps        = 50_000  // at which a metric was reported
	maxNamesRead    = 100_000 // in reports that are not yet in the summaries
)

// Steps lists the steps at which trials of an experiment have reported a metric.
func Steps(ctx context.Context, db *database.DB, experiment int, group, name string) ([]int, error) {
	return database.Scalars[int](ctx, db, `
		SELECT DISTINCT m.steps FROM (SELECT id, past, origin_id, origin_run FROM trials WHERE experiment_id = $1 ORDER BY id DESC LIMIT $4) t
		JOIN metrics m ON m.trial_id = `+reportsOfT+` AND m.group_name = $2 AND m.run_id <= `+pastRunT+`
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
func ValuesNear(ctx context.Context, db *database.DB, experiment int, group, name string, steps, margin int, fn func(page []TrialValue) error) error {
	after := 0
	return inPages(func(limit int) ([]TrialValue, bool, error) {
		return database.RowsUpTo[TrialValue](ctx, db, pageBytes, `
		SELECT t.id AS trial_id, (SELECT hparams FROM trials WHERE id = t.id) AS hparams, v.steps, v.value
		FROM (SELECT id, past, origin_id, origin_run FROM trials WHERE experiment_id = $1 ORDER BY id DESC LIMIT $6) t
		CROSS JOIN LATERAL (SELECT m.steps, `+database.FloatAt("m.avg->$3")+` AS value FROM metrics m
			WHERE m.trial_id = `+reportsOfT+` AND m.group_name = $2 AND m.position BETWEEN $4::bigint - $5 AND $4::bigint + $5 AND m.steps IS NOT NULL AND m.run_id <= `+pastRunT+` AND NOT m.archived
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
func BestTrials(ctx context.Context, db *database.DB, experiment int, group, name string, byLength bool, limit int) ([]int, error) {
	longest := ""
	if byLength {
		longest = "s.total_batches DESC, "
	}
	path := func(of string) []string { return []string{summary.GroupKey(group), name, of} }
	return database.Scalars[int](ctx, db, `
		SELECT t.id FROM trials t JOIN experiments e ON e.id = t.experiment_id JOIN trial_summaries s ON s.trial_id = t.id
		WHERE t.experiment_id = $1 AND s.summary #> $2::text[] IS NOT NULL
		ORDER BY `+longest+`CASE WHEN e.smaller_is_better THEN `+floatInSummary("$2::text[]")+` ELSE -`+floatInSummary("$3::text[]")+` END NULLS LAST, t.id
		LIMIT $4`, experiment, path("min"), path("max"), limit)
}

// floatInSummary is database.FloatAt for the value at a path of the summary of a trial, s.summary.
func floatInSummary(path string) string {
	return database.FloatOf("(s.summary #> "+path+")", "(s.summary #>> "+path+")")
}
