package store

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/find"
)

// A Search is a query for experiments, and the order of its results. Metrics are those of
// an experiment's best trial.
type Search struct {
	ProjectID int // 0 for all
	Filter    find.Filter
	Sort      []find.Sort // the newest first, when there is none
}

// searchFrom is the FROM clause that conditions refer to. PostgreSQL omits a join that no
// condition uses, because its key is unique.
const searchFrom = ` FROM experiments e LEFT JOIN trial_summaries s ON s.trial_id = e.best_trial_id
	LEFT JOIN users u ON u.id = e.owner_id LEFT JOIN projects p ON p.id = e.project_id LEFT JOIN workspaces w ON w.id = p.workspace_id`

// CountSearched counts the results of a search.
func (db *DB) CountSearched(ctx context.Context, in auth.Scope, q Search) (int, error) {
	b := newSearch()
	where, err := b.where(in, q)
	if err != nil {
		return 0, err
	}
	return scalar[int](ctx, db, `SELECT count(*)`+searchFrom+where, b.args)
}

// SearchExperiments lists a page of the results of a search, and counts all results in the
// same query, so that each condition is evaluated once.
func (db *DB) SearchExperiments(ctx context.Context, in auth.Scope, q Search, offset, limit int) (list []Experiment, total int, err error) {
	b := newSearch()
	where, err := b.where(in, q)
	if err != nil {
		return nil, 0, err
	}
	values, order, err := b.order(q.Sort)
	if err != nil {
		return nil, 0, err
	}
	b.args["limit"], b.args["offset"] = limit, offset
	// MATERIALIZED, because the query counts all results. Otherwise PostgreSQL may choose a
	// plan for few rows, because of the limit, and scan indexes row by row.
	found, err := rows[foundID](ctx, db, `WITH found AS MATERIALIZED (SELECT e.id`+values+searchFrom+where+`)
		SELECT id, (SELECT count(*) FROM found)::int AS total FROM found`+order+` LIMIT @limit OFFSET @offset`, b.args)
	if err != nil {
		return nil, 0, err
	}
	if len(found) == 0 { // the page is beyond the last result, so no row has the total
		total, err = db.CountSearched(ctx, in, q)
		return nil, total, err
	}
	ids := make([]int, len(found))
	for i, f := range found {
		ids[i] = f.ID
	}
	list, err = db.experimentsInOrder(ctx, ids)
	return list, found[0].Total, err
}

// foundID is a result of a search, with the number of all results.
type foundID struct {
	ID    int `db:"id"`
	Total int `db:"total"`
}

// searchBuilder writes the SQL of a search. Texts of users become arguments; the SQL text
// consists of this file's constants only.
type searchBuilder struct{ args pgx.NamedArgs }

func newSearch() *searchBuilder { return &searchBuilder{args: pgx.NamedArgs{}} }

// bind adds an argument, and returns its placeholder in the statement.
func (b *searchBuilder) bind(v any, kind string) string {
	name := fmt.Sprintf("q%d", len(b.args))
	b.args[name] = v
	return "@" + name + "::" + kind
}

func (b *searchBuilder) where(in auth.Scope, q Search) (string, error) {
	var list []string
	if !in.All {
		list = append(list, "p.workspace_id = ANY("+b.bind(workspaces(in), "int[]")+")")
	}
	if q.ProjectID != 0 {
		list = append(list, "e.project_id = "+b.bind(q.ProjectID, "int"))
	}
	if !q.Filter.Archived {
		list = append(list, "NOT e.archived")
	}
	// Join the outermost conditions by AND, so that PostgreSQL can use indexes for each.
	parts := []find.Node{q.Filter.Root}
	if root := q.Filter.Root; root.Condition == nil && !root.Any {
		parts = root.Children
	}
	for _, part := range parts {
		sql, err := b.node(part)
		if err != nil {
			return "", err
		}
		list = append(list, sql)
	}
	if len(list) == 0 {
		return "", nil
	}
	return " WHERE " + strings.Join(list, " AND "), nil
}

func (b *searchBuilder) node(n find.Node) (string, error) {
	if n.Condition != nil {
		return b.condition(*n.Condition)
	}
	if len(n.Children) == 0 {
		return "true", nil
	}
	parts := make([]string, len(n.Children))
	for i, child := range n.Children {
		var err error
		if parts[i], err = b.node(child); err != nil {
			return "", err
		}
	}
	word := " AND "
	if n.Any {
		word = " OR "
	}
	return "(" + strings.Join(parts, word) + ")", nil
}

func (b *searchBuilder) condition(c find.Condition) (string, error) {
	switch c.Column.Location {
	case find.Hyperparameters:
		return b.hyperparameter(c)
	case find.Validations, find.Training, find.CustomMetric:
		return b.metric(c)
	}
	switch c.Column.Name {
	case "tags":
		return b.labels(c)
	case "user":
		return b.user(c)
	}
	f, ok := searchFields[c.Column.Name]
	if !ok {
		return "", fault.New(fault.Invalid, "experiments cannot be searched by %s", c.Column.Name)
	}
	if c.Column.Name == "state" && c.Value.Text == "ACTIVE" && (c.Op == find.Equal || c.Op == find.NotEqual) {
		not := ""
		if c.Op == find.NotEqual {
			not = "NOT "
		}
		return not + "(" + shownState + " IN ('QUEUED', 'PULLING', 'STARTING', 'RUNNING'))", nil
	}
	return b.compare(f, c)
}

// searchFields maps the fields of an experiment to SQL expressions, which are NULL if a
// field has no value.
var searchFields = map[string]string{
	"id": "e.id", "name": "e.name", "description": "e.description", "forkedFrom": "e.parent_id", "startTime": "e.started_at",
	"endTime": "e.ended_at", "duration": "extract(epoch FROM coalesce(e.ended_at, now()) - e.started_at)::float8",
	"numTrials": trialCount, "state": "(" + shownState + ")", "searcherType": "e.searcher", "resourcePool": "e.pool",
	"progress":        "round(100 * CASE WHEN e.state = 'COMPLETED' THEN 1 ELSE coalesce(e.progress, 0) END)",
	"checkpointSize":  "(SELECT checkpoint_bytes FROM (" + checkpointSums + ") c)",
	"checkpointCount": "(SELECT checkpoints FROM (" + checkpointSums + ") c)",
	"user":            "u.username", "searcherMetric": "e.metric", "searcherMetricsVal": "e.best_metric",
	"externalExperimentId": "e.external_id", "projectId": "e.project_id", "project": "p.name", "workspace": "w.name",
	"archived": "e.archived::text", "template": "nullif(e.template, '')",
}

// compare writes a comparison of an expression that is NULL if the field has no value.
func (b *searchBuilder) compare(sql string, c find.Condition) (string, error) {
	empty := sql + " IS NULL"
	if c.Column.Type == find.Text {
		empty = "coalesce(" + sql + ", '') = ''"
	}
	switch c.Op {
	case find.IsEmpty:
		return "(" + empty + ")", nil
	case find.NotEmpty:
		return "NOT (" + empty + ")", nil
	case find.Contains:
		return sql + " ILIKE " + b.bind(likePattern(c.Value.Text), "text"), nil
	case find.NotContains:
		return sql + " NOT ILIKE " + b.bind(likePattern(c.Value.Text), "text"), nil
	}
	op, err := comparison(c.Op)
	if err != nil {
		return "", err
	}
	return sql + op + b.value(c.Value), nil
}

// comparison is an operator in SQL.
func comparison(op find.Operator) (string, error) {
	switch op {
	case find.Equal:
		return " = ", nil
	case find.NotEqual:
		return " <> ", nil
	case find.Less:
		return " < ", nil
	case find.LessEqual:
		return " <= ", nil
	case find.Greater:
		return " > ", nil
	case find.GreaterEqual:
		return " >= ", nil
	}
	return "", fault.New(fault.Invalid, "operator %q cannot be used with this field", op)
}

func (b *searchBuilder) value(v find.Value) string {
	switch v.Type {
	case find.Number:
		return b.bind(v.Number, "float8")
	case find.Date:
		return b.bind(v.Time, "timestamptz")
	}
	return b.bind(v.Text, "text")
}

// labels compares the labels of an experiment: it matches if one of them does.
func (b *searchBuilder) labels(c find.Condition) (string, error) {
	switch c.Op {
	case find.IsEmpty:
		return "e.labels = '{}'", nil
	case find.NotEmpty:
		return "e.labels <> '{}'", nil
	case find.Equal:
		return "e.labels @> ARRAY[" + b.bind(c.Value.Text, "text") + "]", nil
	case find.NotEqual:
		return "NOT e.labels @> ARRAY[" + b.bind(c.Value.Text, "text") + "]", nil
	case find.Contains:
		return "EXISTS (SELECT FROM unnest(e.labels) l WHERE l ILIKE " + b.bind(likePattern(c.Value.Text), "text") + ")", nil
	case find.NotContains:
		return "NOT EXISTS (SELECT FROM unnest(e.labels) l WHERE l ILIKE " + b.bind(likePattern(c.Value.Text), "text") + ")", nil
	}
	return "", fault.New(fault.Invalid, "tags cannot be compared by %s", c.Op)
}

// user compares a user's username and display name: one of the two must match.
func (b *searchBuilder) user(c find.Condition) (string, error) {
	name, err := b.compare("u.username", c)
	if err != nil {
		return "", err
	}
	shown, err := b.compare("coalesce(nullif(u.display_name, ''), u.username)", c)
	if c.Op == find.NotEqual || c.Op == find.NotContains {
		return "(" + name + " AND " + shown + ")", err
	}
	return "(" + name + " OR " + shown + ")", err
}

// hyperparameter compares the values that a hyperparameter can have in an experiment: one of
// them must match, or, with "!=" and "does not contain", all.
func (b *searchBuilder) hyperparameter(c find.Condition) (string, error) {
	name := b.bind(c.Column.Hyperparameter(), "text")
	exists := func(condition string) string {
		return "e.id IN (SELECT h.experiment_id FROM experiment_hparams h WHERE h.name = " + name + condition + ")"
	}
	var fits string
	switch c.Op {
	case find.NotEmpty:
		return exists(""), nil
	case find.IsEmpty:
		return "NOT " + exists(""), nil
	case find.Contains, find.NotContains:
		fits = "EXISTS (SELECT FROM unnest(h.texts) x WHERE x ILIKE " + b.bind(likePattern(c.Value.Text), "text") + ")"
	case find.Equal, find.NotEqual:
		v := b.value(c.Value)
		fits = v + " = ANY(h.texts)"
		if c.Value.Type == find.Number {
			fits = "CASE WHEN h.numbers IS NULL THEN " + v + " BETWEEN h.low AND h.high ELSE " + v + " = ANY(h.numbers) END"
		}
	default:
		op, err := comparison(c.Op)
		if err != nil {
			return "", err
		}
		bound := "h.low"
		if c.Op == find.Greater || c.Op == find.GreaterEqual {
			bound = "h.high"
		}
		return exists(" AND " + bound + op + b.value(c.Value)), nil
	}
	if c.Op == find.NotEqual || c.Op == find.NotContains {
		return exists(" AND NOT (" + fits + ")"), nil
	}
	return exists(" AND " + fits), nil
}

// metricPath is the JSON path of a metric in a trial's summary.
func metricPath(c find.Column) []string {
	group, name, summary := c.Metric()
	return []string{groupKey(group), name, summary}
}

// metric compares a metric in the summary of the experiment's best trial.
func (b *searchBuilder) metric(c find.Condition) (string, error) {
	at := "(s.summary #> " + b.bind(metricPath(c.Column), "text[]") + ")"
	switch {
	case c.Op == find.IsEmpty:
		return at + " IS NULL", nil
	case c.Op == find.NotEmpty:
		return at + " IS NOT NULL", nil
	case c.Value.Type == find.Number:
		return b.compare(floatAt(at), c)
	}
	return b.compare("("+at+" #>> '{}')", c)
}

// order writes the sort keys as columns, and an ORDER BY over them that ends with the id.
// Experiments without a value come last.
func (b *searchBuilder) order(sorts []find.Sort) (values, order string, err error) {
	if len(sorts) == 0 {
		return "", " ORDER BY id DESC", nil
	}
	var list []string
	for i, s := range sorts {
		dir := ""
		if s.Desc {
			dir = " DESC"
		}
		expr, err := b.sortBy(s.Column)
		if err != nil {
			return "", "", err
		}
		values += fmt.Sprintf(", %s AS sort%d", expr, i)
		list = append(list, fmt.Sprintf("sort%d%s NULLS LAST", i, dir))
	}
	return values, " ORDER BY " + strings.Join(append(list, "id"), ", "), nil
}

func (b *searchBuilder) sortBy(c find.Column) (string, error) {
	switch c.Location {
	case find.Hyperparameters:
		return "(SELECT h.low FROM experiment_hparams h WHERE h.experiment_id = e.id AND h.name = " + b.bind(c.Hyperparameter(), "text") + ")", nil
	case find.Validations, find.Training, find.CustomMetric:
		return floatAt("(s.summary #> " + b.bind(metricPath(c), "text[]") + ")"), nil
	}
	if c.Name == "tags" {
		return "e.labels", nil
	}
	f, ok := searchFields[c.Name]
	if !ok {
		return "", fault.New(fault.Invalid, "experiments cannot be sorted by %s", c.Name)
	}
	return f, nil
}

// A NamedMetric is a metric that some experiment has.
type NamedMetric struct {
	Group string `db:"grp"`
	Name  string `db:"name"`
	Type  string `db:"type"`
}

// maxNames is the maximum number of metrics or hyperparameters that these lists return.
const maxNames = 1000

// MetricsUsed lists the metrics of the best trials of a project's experiments (0: of all
// projects), by group and name. Groups have the names that summaries use (groupKey).
func (db *DB) MetricsUsed(ctx context.Context, in auth.Scope, project int) ([]NamedMetric, error) {
	return rows[NamedMetric](ctx, db, `
		SELECT g.key AS grp, m.key AS name, min(coalesce(m.value->>'type', '')) AS type
		FROM experiments e JOIN trial_summaries s ON s.trial_id = e.best_trial_id
		CROSS JOIN LATERAL jsonb_each(s.summary) g
		CROSS JOIN LATERAL jsonb_each(CASE jsonb_typeof(g.value) WHEN 'object' THEN g.value ELSE '{}' END) m
		WHERE ($1 = 0 OR e.project_id = $1) AND ($3::int[] IS NULL OR e.project_id IN (SELECT id FROM projects WHERE workspace_id = ANY($3)))
		GROUP BY g.key, m.key ORDER BY g.key, m.key LIMIT $2`, project, maxNames, workspaces(in))
}

// NamedHParam is a hyperparameter that some experiment has.
type NamedHParam struct {
	Name    string `db:"name"`
	Numbers bool   `db:"numbers"` // its values are numbers in each of these experiments
}

// HParamsUsed lists the hyperparameters of a project's experiments (0: of all projects).
func (db *DB) HParamsUsed(ctx context.Context, in auth.Scope, project int) ([]NamedHParam, error) {
	return rows[NamedHParam](ctx, db, `
		SELECT h.name, bool_and(h.texts = '{}' AND h.low IS NOT NULL) AS numbers
		FROM experiment_hparams h JOIN experiments e ON e.id = h.experiment_id
		WHERE ($1 = 0 OR e.project_id = $1) AND ($3::int[] IS NULL OR e.project_id IN (SELECT id FROM projects WHERE workspace_id = ANY($3)))
		GROUP BY h.name ORDER BY h.name LIMIT $2`, project, maxNames, workspaces(in))
}

// A MetricRange is between which values a summary (last, max, mean or min) of a metric is.
// Without a name it is the searcher's metric.
type MetricRange struct {
	Group   string  `db:"grp"`
	Name    string  `db:"name"`
	Summary string  `db:"summary"`
	Min     float64 `db:"min"`
	Max     float64 `db:"max"`
}

// MetricRanges lists the ranges of the numeric metrics of the best trials of a project's
// experiments, or of all (0): first the searcher's, then by group and name.
func (db *DB) MetricRanges(ctx context.Context, in auth.Scope, project int) ([]MetricRange, error) {
	return rows[MetricRange](ctx, db, `
		WITH found AS (SELECT e.best_metric, s.summary FROM experiments e LEFT JOIN trial_summaries s ON s.trial_id = e.best_trial_id
			WHERE ($1 = 0 OR e.project_id = $1) AND ($3::int[] IS NULL OR e.project_id IN (SELECT id FROM projects WHERE workspace_id = ANY($3)))),
		metrics AS (SELECT g.key AS grp, m.key AS name, m.value FROM found
			CROSS JOIN LATERAL jsonb_each(coalesce(found.summary, '{}')) g
			CROSS JOIN LATERAL jsonb_each(CASE jsonb_typeof(g.value) WHEN 'object' THEN g.value ELSE '{}' END) m
			WHERE m.value ->> 'type' = 'number'),
		sums AS (SELECT grp, name, w.summary, `+floatAt("value -> w.summary")+` AS v FROM metrics CROSS JOIN unnest(ARRAY['last', 'max', 'mean', 'min']) w(summary))
		(SELECT '' AS grp, '' AS name, '' AS summary, min(best_metric) AS min, max(best_metric) AS max FROM found
			WHERE best_metric BETWEEN '-1e308' AND '1e308' HAVING count(*) > 0)
		UNION ALL (SELECT grp, name, summary, min(v), max(v) FROM sums WHERE v BETWEEN '-1e308' AND '1e308'
			GROUP BY grp, name, summary ORDER BY grp, name, summary LIMIT $2)`, project, maxNames, workspaces(in))
}
