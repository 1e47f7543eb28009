package experiments

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/search"
)

// A pastRow is a trial of an earlier experiment, with the searcher's metric after lengths of training; NaN if the training diverged.
type pastRow struct {
	HParams []byte   `db:"hparams"`
	First   *float64 `db:"first"`
	Second  *float64 `db:"second"`
	Third   *float64 `db:"third"`
	Whole   *float64 `db:"whole"`
}

// Limits of what a submission reads of earlier experiments, together.
const (
	maxPastEvents = 300_000
	maxPastBytes  = 8 << 20 // of hyperparameters
)

// pastLimits are those of one of several earlier experiments, which share what a submission reads.
type pastLimits struct{ trials, of int }

// listPast lists the trials of an experiment that say most: the longest trained, with results of the most lengths.
func listPast(ctx context.Context, db *database.DB, e Experiment, cfg expconf.Config, most pastLimits) ([]pastRow, error) {
	halves := cfg.Searcher.Name == expconf.AsyncHalving || cfg.Searcher.Name == expconf.AdaptiveASHA
	sql, args := pastEnds, database.Args{"experiment": e.ID, "most": most.trials, "halves": halves}
	imported, err := Imported(ctx, db, e.ID)
	if err != nil {
		return nil, err
	}
	units, measure := cfg.Searcher.FullLength()
	steps, full := lengthOf(cfg)
	// Trials of an imported search that was canceled may have trained for a part of a length in batches, whatever its searcher.
	parts := imported && units > 0 && measure == string(expconf.Batches)
	if (halves || cfg.Searcher.Name == expconf.PBT || parts) && !e.Unmanaged {
		events := pastEvents
		if imported { // only Determined could read the state of the search, so there are no events: what its trials reported is read instead
			events, args["metric"], args["measure"] = pastReports, cfg.Searcher.Metric, measure
		}
		sql = strings.NewReplacer("STEPS", steps, "EVENTS", events).Replace(pastLengths)
		first := math.MaxInt32 // copies in a population begin with the training of their originals
		if cfg.Searcher.Name == expconf.PBT {
			first = cfg.Searcher.PopulationSize
		}
		var from []string
		for _, part := range search.LengthsFrom() { // PostgreSQL does not divide: a length that a program reports may be too small for that
			from = append(from, strconv.FormatFloat(part*full*(1-1e-9), 'g', -1, 64))
		}
		args["events"], args["first"], args["from"] = maxPastEvents/most.of, first, fmt.Sprintf("{%s}", strings.Join(from, ","))
	}
	list, _, err := database.RowsUpTo[pastRow](ctx, db, maxPastBytes/most.of, sql, args)
	return list, err
}

// Imported reports whether an experiment was imported from a cluster of Determined. If it is a search, it has no events here.
func Imported(ctx context.Context, db *database.DB, id int) (bool, error) {
	return database.Scalar[bool](ctx, db, `SELECT EXISTS (SELECT FROM import_numbers WHERE kind = 'experiment' AND new = $1)
		AND NOT EXISTS (SELECT FROM search_events WHERE experiment_id = $1)`, id)
}

const pastEvents = `
		SELECT trial, seq, body FROM search_events
		WHERE experiment_id = @experiment AND kind = 'validated' AND trial < @first ORDER BY seq LIMIT @events`

// pastReports has the form of pastEvents: what a program reported that is no finite number is a training that diverged.
var pastReports = `
		SELECT t.number AS trial, m.position AS seq, jsonb_build_object('metric', ` + database.FloatAt("m.avg->@metric") + `, 'time', ` + database.FloatAt("m.avg->@measure") + `, 'steps', m.steps,
			'unfit', CASE WHEN m.avg->>@metric IN ('NaN', 'Infinity', '-Infinity') THEN m.avg->>@metric END) AS body
		FROM trials t JOIN metrics m ON m.trial_id = t.id AND m.group_name = 'validation' AND NOT m.archived
		WHERE t.experiment_id = @experiment AND t.number < @first ORDER BY t.number, m.position LIMIT @events`

// pastLengths reads the results of trials that a search stopped at different lengths: the first validation of each length.
const pastLengths = `
	WITH events AS MATERIALIZED (EVENTS
	), steps AS MATERIALIZED ( -- hyperparameters may be long, so those of a trial are read once, and not for each of its events
		SELECT number, (STEPS)::float8 AS length FROM trials WHERE experiment_id = @experiment AND number IN (SELECT trial FROM events)
	), firsts AS (
		SELECT v.trial, width_bucket(coalesce(nullif((v.body->>'length')::float8, 0), (v.body->>'time')::float8, (v.body->>'steps')::float8 * t.length),
			@from::float8[]) AS length, min(v.seq) AS seq
		FROM events v JOIN steps t ON t.number = v.trial
		WHERE v.body->>'metric' IS NOT NULL OR v.body->>'unfit' IS NOT NULL GROUP BY 1, 2
	), results AS (
		SELECT f.trial, f.length, coalesce((v.body->>'metric')::float8, 'NaN') AS metric
		FROM firsts f JOIN events v ON v.trial = f.trial AND v.seq = f.seq WHERE f.length > 0
	), chosen AS (
		SELECT trial, max(length) AS longest, count(*) AS lengths,
			max(metric) FILTER (WHERE length = 1) AS first, max(metric) FILTER (WHERE length = 2) AS second,
			max(metric) FILTER (WHERE length = 3) AS third, max(metric) FILTER (WHERE length = 4) AS whole
		FROM results GROUP BY trial ORDER BY max(length) DESC, count(*) DESC, trial LIMIT @most
	)
	SELECT t.hparams, c.first, c.second, c.third, c.whole FROM chosen c JOIN trials t ON t.experiment_id = @experiment AND t.number = c.trial
	ORDER BY c.longest DESC, c.lengths DESC, c.trial`

// pastEnds reads the best results of trials that have trained to their end. Those of a search that stops poor trials (halves) did
// so if they trained about as long as the longest.
const pastEnds = `
	SELECT t.hparams, NULL::float8 AS first, NULL::float8 AS second, NULL::float8 AS third, s.searcher_value AS whole
	FROM trials t JOIN trial_summaries s ON s.trial_id = t.id
	WHERE t.experiment_id = @experiment AND t.state = 'COMPLETED' AND s.searcher_value IS NOT NULL
		AND (NOT @halves OR s.total_batches >= 0.98 * (SELECT max(o.total_batches) FROM trial_summaries o JOIN trials x ON x.id = o.trial_id
			WHERE x.experiment_id = @experiment))
	ORDER BY t.number LIMIT @most`
