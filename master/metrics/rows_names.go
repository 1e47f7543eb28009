package metrics

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/metrics/report"
)

// A Named is a metric that some experiment has.
type Named struct {
	Group string `db:"group_name"`
	Name  string `db:"name"`
	Type  string `db:"type"`
}

// newestTrials is SQL for the newest trials of experiments $1.
const newestTrials = `(SELECT id FROM trials WHERE experiment_id = ANY($1) ORDER BY id DESC LIMIT $2)`

// Names lists the metrics of the trials of experiments, by group and name: the first database.MaxFirstTexts. Groups
// have the names that programs use in reports, such as training and validation.
//
// It first reads the reports that are not yet in the summaries, and then the summaries, so that it misses no report
// that the summarizer adds meanwhile. Of many or large reports it reads only the oldest; the metrics of the others
// appear in the list when the summarizer has added them.
func Names(ctx context.Context, db *database.DB, experiments []int) ([]Named, error) {
	ctx, cancel := db.Bounded(ctx)
	defer cancel()
	found := database.FirstTexts[struct{}]{}
	add := func(raw []byte) {
		if _, known := found.Kept[string(raw)]; !known {
			found.Add(string(raw), struct{}{})
		}
	}
	var raw database.RawBytes
	err := db.Each(ctx, `SELECT m.group_name || '.' || k.name
		FROM (`+reported.within(afterCursor, []any{experiments})+`) m
		JOIN trials t ON t.id = m.trial_id AND t.experiment_id = ANY($1)
		CROSS JOIN LATERAL jsonb_object_keys(CASE jsonb_typeof(m.avg) WHEN 'object' THEN m.avg ELSE '{}' END) k(name)
		WHERE octet_length(k.name) <= $4 LIMIT $5`, []any{experiments, summarizeBatch, summarizeStored, report.MaxName, maxNamesRead}, []any{&raw}, func() error {
		add(raw)
		return nil
	})
	if err != nil {
		return nil, err
	}
	err = database.EachDocument(ctx, db, storedSummaries(newestTrials), []any{experiments, maxStreamTrials}, `
		SELECT DISTINCT CASE g.key WHEN 'avg_metrics' THEN 'training' WHEN 'validation_metrics' THEN 'validation' ELSE g.key END || '.' || k.name FROM trial_summaries s CROSS JOIN LATERAL jsonb_each(s.summary) g
		CROSS JOIN LATERAL jsonb_object_keys(CASE jsonb_typeof(g.value) WHEN 'object' THEN g.value ELSE '{}' END) k(name)
		WHERE s.trial_id = ANY(@ids) AND octet_length(k.name) <= @longest`, database.Args{"longest": report.MaxName}, func(raw []byte) error {
		add(raw)
		return nil
	})
	if err != nil {
		return nil, err
	}
	var list []Named
	for _, text := range found.Sorted() {
		group, name, _ := strings.Cut(text, ".") // no group has a dot
		list = append(list, Named{Group: group, Name: name})
	}
	return list, nil
}

// OfTrials lists the metrics of trials, by group and name: those of a query of the trials' ids. Groups have the names that summaries
// use (summary.GroupKey). both is the type of a metric that has two types.
func OfTrials(ctx context.Context, db *database.DB, trials string, args []any, both func(one, other string) string) ([]Named, error) {
	found := database.FirstTexts[Named]{}
	err := database.EachDocument(ctx, db, storedSummaries(trials), args, `
		SELECT jsonb_build_array(g.key, m.key, min(coalesce(m.value->>'type', '')), max(coalesce(m.value->>'type', ''))) FROM trial_summaries s
		CROSS JOIN LATERAL jsonb_each(s.summary) g
		CROSS JOIN LATERAL jsonb_each(CASE jsonb_typeof(g.value) WHEN 'object' THEN g.value ELSE '{}' END) m
		WHERE s.trial_id = ANY(@ids) AND octet_length(g.key) + octet_length(m.key) <= @longest
		GROUP BY g.key, m.key`, database.Args{"longest": report.MaxName}, func(raw []byte) error {
		var m [4]string // group, name, and the first and the last of its types
		if err := json.Unmarshal(raw, &m); err != nil {
			return err
		}
		kind := m[2]
		if m[3] != kind {
			kind = both(kind, m[3])
		}
		key := m[0] + "\x00" + m[1]
		if known, ok := found.Kept[key]; !ok {
			found.Add(key, Named{Group: m[0], Name: m[1], Type: kind})
		} else if known.Type != kind {
			known.Type = both(known.Type, kind)
			found.Kept[key] = known
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	var list []Named
	for _, key := range found.Sorted() {
		list = append(list, found.Kept[key])
	}
	return list, nil
}

// storedSummaries is SQL for trials that have a summary, and the size with which PostgreSQL stores it.
func storedSummaries(trials string) string {
	return `SELECT s.trial_id AS id, pg_column_size(s.summary) AS size FROM ` + trials + ` r JOIN trial_summaries s ON s.trial_id = r.id`
}

// ValidationNames lists the names of metrics in the first validations of an experiment's
// first trials; other trials run the same program.
func ValidationNames(ctx context.Context, db *database.DB, experiment int) ([]string, error) {
	return database.Scalars[string](ctx, db, `
		SELECT DISTINCT n.name FROM (SELECT id FROM trials WHERE experiment_id = $1 ORDER BY number LIMIT 20) t
		CROSS JOIN LATERAL (SELECT avg FROM metrics m WHERE m.trial_id = t.id AND m.group_name = 'validation' AND jsonb_typeof(m.avg) = 'object' LIMIT 20) m
		CROSS JOIN LATERAL (SELECT jsonb_object_keys(m.avg) AS name LIMIT 1000) n ORDER BY n.name LIMIT 1000`, experiment)
}
