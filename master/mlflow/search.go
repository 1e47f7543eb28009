package mlflow

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/metrics"
	"github.com/detent-ml/detent/master/metrics/summary"
	"github.com/detent-ml/detent/master/mlflow/filter"
	v1 "github.com/detent-ml/detent/master/v1"
)

// runSearch selects runs.
type runSearch struct {
	page
	projects []int
	archived *bool // nil: both
	filter   []filter.Comparison
	order    []filter.Order
	// Of a search of models: the data sets whose metrics count, and those of each key of the order; none: all.
	datasets []v1.MLflowModelDataset
	ordersOn [][]v1.MLflowModelDataset
}

// experimentSearch selects experiments.
type experimentSearch struct {
	page
	archived *bool
	filter   []filter.Comparison
	order    []filter.Order
}

// A statement is SQL that grows, with the values that it names.
type statement struct {
	where   []string
	args    database.Args
	metrics []string // names, of which metricColumn gives the values
	// column is SQL for what a comparison or an order is about; number is whether it is a number.
	column func(s *statement, kind filter.Kind, name string) (sql string, number bool, err error)
}

// arg adds a value, and returns its name in SQL.
func (s *statement) arg(v any) string {
	name := fmt.Sprintf("v%d", len(s.args))
	s.args[name] = v
	return "@" + name
}

// compare adds a comparison.
func (s *statement) compare(c filter.Comparison) error {
	if c.Kind == filter.Dataset {
		return s.compareDataset(c)
	}
	column, number, err := s.column(s, c.Kind, c.Name)
	if err != nil {
		return err
	}
	isText := c.Number == nil
	if number == isText && c.Op != filter.Absent && c.Op != filter.Present {
		return fault.New(fault.Invalid, "filter: %s %q is compared with a %s", c.Kind, fault.Clip(c.Name), map[bool]string{true: "text; write a number without quotes", false: "number; write the value in quotes"}[isText])
	}
	sql, err := s.operation(column, c)
	s.where = append(s.where, sql)
	return err
}

// operation is SQL for a comparison of a column with a value.
func (s *statement) operation(column string, c filter.Comparison) (string, error) {
	switch c.Op {
	case filter.Absent, filter.Present:
		return column + " " + c.Op, nil
	case filter.In, filter.NotIn:
		sql := column + " = ANY(" + s.arg(c.List) + "::text[])"
		if c.Op == filter.NotIn {
			sql = "NOT " + sql
		}
		return sql, nil
	case filter.Like, filter.LikeAnyCase:
		if len(c.Text) > maxPattern || strings.Count(c.Text, "%") > maxWildcards {
			return "", fault.New(fault.Invalid, "filter: the pattern %q has more than %d bytes or %d percent signs", fault.ClipTo(c.Text, 60), maxPattern, maxWildcards)
		}
		return column + " " + c.Op + " " + s.arg(likePattern(c.Text)) + "::text", nil
	}
	op := map[string]string{"!=": "<>"}[c.Op]
	if op == "" {
		op = c.Op
	}
	if c.Number != nil {
		return column + " " + op + " " + s.arg(*c.Number) + "::float8", nil
	}
	if c.Op != filter.Is && c.Op != filter.IsNot {
		return "", fault.New(fault.Invalid, "filter: the text %q cannot be compared with %s", fault.Clip(c.Text), c.Op)
	}
	return column + " " + op + " " + s.arg(c.Text) + "::text", nil
}

// Bounds of a pattern: PostgreSQL compares it in time that grows with each percent sign.
const (
	maxPattern   = 500
	maxWildcards = 6
)

// likePattern is a pattern of MLflow's LIKE for PostgreSQL: a backslash is itself.
func likePattern(text string) string { return strings.ReplaceAll(text, `\`, `\\`) }

// compareDataset adds a comparison that one of the data sets of a run must fulfil.
func (s *statement) compareDataset(c filter.Comparison) error {
	column := map[string]string{"name": "d #>> '{dataset,name}'", "digest": "d #>> '{dataset,digest}'",
		"context": `(SELECT x ->> 'value' FROM jsonb_array_elements(d -> 'tags') x WHERE x ->> 'key' = 'mlflow.data.context' LIMIT 1)`}[c.Name]
	if column == "" {
		return fault.New(fault.Invalid, "filter: a data set has no %q; it has name, digest and context", fault.Clip(c.Name))
	}
	sql, err := s.operation("("+column+")", c)
	s.where = append(s.where, `EXISTS (SELECT FROM jsonb_array_elements(CASE jsonb_typeof(t.metadata #> '{mlflow,inputs}') WHEN 'array' THEN t.metadata #> '{mlflow,inputs}' ELSE '[]' END) d WHERE `+sql+`)`)
	return err
}

// A key is what a list is sorted by.
type sortKey struct {
	column, order string // SQL; the order is that of the column
}

// keys are those of an order, and of the usual order after it: things without a value come last.
func (s *statement) keys(list []filter.Order, usual ...sortKey) (keys []sortKey, err error) {
	for _, o := range list {
		column, _, err := s.column(s, o.Kind, o.Name)
		if err != nil {
			return nil, err
		}
		order := " NULLS LAST"
		if o.Desc {
			order = " DESC NULLS LAST"
		}
		keys = append(keys, sortKey{column, order})
	}
	return append(keys, usual...), nil
}

// sorted is SQL for the order of some keys.
func sorted(keys []sortKey) string {
	return strings.Join(each.Of(keys, func(k sortKey) string { return k.column + k.order }), ", ")
}

// runAttributes are the attributes of runs, with whether they are numbers.
var runAttributes = map[string]struct {
	sql    string
	number bool
}{
	"run_id": {"t.id::text", false}, "run_name": {runName, false}, "Run Name": {runName, false}, "Run name": {runName, false}, "run name": {runName, false},
	"status": {"(" + statusSQL + ")", false}, "user_id": {"u.username", false}, "experiment_id": {"e.project_id::text", false},
	"artifact_uri": {"format('mlflow-artifacts:/%s/%s/artifacts', e.project_id, t.id)", false},
	"start_time":   {millisSQL("t.started_at"), true}, "created": {millisSQL("t.started_at"), true}, "Created": {millisSQL("t.started_at"), true},
	"end_time": {millisSQL("t.ended_at"), true},
}

// statusSQL is Run.status in SQL, as far as the states of rows tell it.
const statusSQL = `CASE t.state WHEN 'COMPLETED' THEN 'FINISHED' WHEN 'ERROR' THEN 'FAILED' WHEN 'CANCELED' THEN 'KILLED' WHEN 'PAUSED' THEN 'SCHEDULED'
	ELSE CASE WHEN e.unmanaged OR EXISTS (SELECT FROM allocations a WHERE a.task_id = t.task_id AND a.state = 'RUNNING') THEN 'RUNNING' ELSE 'SCHEDULED' END END`

func millisSQL(column string) string {
	return "floor(extract(epoch FROM " + column + ") * 1000)::float8"
}

// runColumn is SQL for what a search of runs compares or sorts by.
func runColumn(s *statement, kind filter.Kind, name string) (string, bool, error) {
	switch kind {
	case filter.Metric:
		return s.metricColumn(name), true, nil
	case filter.Param:
		return "coalesce(t.metadata -> 'mlflow' -> 'params' ->> " + s.arg(name) + "::text, t.hparams #>> " + s.arg(strings.Split(name, ".")) + "::text[])", false, nil
	case filter.Tag:
		if name == tagName {
			return "(" + runName + ")", false, nil
		}
		return "(t.metadata -> 'mlflow' -> 'tags' ->> " + s.arg(name) + "::text)", false, nil
	}
	a, known := runAttributes[name]
	if !known {
		return "", false, fault.New(fault.Invalid, "a run has no attribute %q; it has run_id, run_name, status, user_id, start_time, end_time and artifact_uri", fault.Clip(name))
	}
	return a.sql, a.number, nil
}

// metricColumn is SQL for the newest value of a metric, with the rule of latest. It is a column of a table in joins.
func (s *statement) metricColumn(name string) string {
	return fmt.Sprintf("m%d.value", s.metric(name))
}

// metric is the place of a metric among those that a statement names.
func (s *statement) metric(name string) int {
	i := slices.Index(s.metrics, name)
	if i < 0 {
		i, s.metrics = len(s.metrics), append(s.metrics, name)
	}
	return i
}

// with is SQL for the tables before a statement; "" if it names no metrics: waiting has the values that are in no summary yet, and unlisted
// the runs whose newest values metrics.Lister has not listed as they are now.
func (s *statement) with() string {
	if len(s.metrics) == 0 {
		return ""
	}
	return `WITH waiting AS MATERIALIZED (SELECT * FROM ` + metrics.WaitingValues + ` w),
		unlisted AS MATERIALIZED (SELECT trial_id FROM trial_summaries WHERE listed <> 'yes' UNION SELECT trial_id FROM waiting) `
}

// joins is SQL for the tables of the metrics that a statement names; "" if it names none. Of the metric at a place, the rows have the
// listed value already (v.value); -1: of none. None of these joins loses the order of the rows before it.
func (s *statement) joins(has int) string {
	if len(s.metrics) == 0 {
		return ""
	}
	var sql strings.Builder
	sql.WriteString(` CROSS JOIN LATERAL (SELECT t.id IN (SELECT trial_id FROM unlisted) AS unlisted OFFSET 0) l`)
	for i, name := range s.metrics {
		if i == has {
			fmt.Fprintf(&sql, ` CROSS JOIN LATERAL (SELECT v.value) m%d`, i)
			continue
		}
		name = s.arg(name) + "::text"
		fmt.Fprintf(&sql, ` LEFT JOIN newest_values v%[1]d ON v%[1]d.trial_id = t.id AND v%[1]d.metric = metric_key(%[2]s)
			CROSS JOIN LATERAL (SELECT CASE WHEN l.unlisted THEN %[3]s ELSE v%[1]d.value END AS value OFFSET 0) m%[1]d`, i, name, readValue(name))
	}
	return sql.String()
}

// readValue is SQL for the newest value of a metric of a run that is not listed: from its summary, and from what is not yet in it. Each
// value is computed once: without OFFSET 0, PostgreSQL would put its expression into every place that uses it, and open the summary again for
// each. The experiment is read only for runs that have the name in both groups.
func readValue(name string) string {
	last := func(group string) string {
		return "coalesce(w." + group + " -> " + name + ", s.summary -> '" + summary.GroupKey(group) + "' -> " + name + " -> 'last')"
	}
	newest := metrics.NewestValue("g.training", "g.validation", "g.system", "(SELECT x.metric FROM experiments x WHERE x.id = t.experiment_id) = "+name)
	return `(SELECT ` + database.FloatAt("x.value") + ` FROM (SELECT ` + newest + ` AS value FROM (
			SELECT ` + last("training") + ` AS training, ` + last("validation") + ` AS validation, ` + last(systemGroup) + ` AS system
			FROM (SELECT) one LEFT JOIN trial_summaries s ON s.trial_id = t.id LEFT JOIN waiting w ON w.trial_id = t.id OFFSET 0) g OFFSET 0) x)`
}

// summaryBytes is SQL for the length of a summary as text: exact if it is short, and else estimated as by the summarizer.
const summaryBytes = `coalesce(CASE WHEN pg_column_size(s.summary) > 8192 THEN 20 * pg_column_size(s.summary) ELSE octet_length(s.summary::text) END, 0)`

// searchRuns lists a page of the runs that a search finds; more is true if it finds further ones.
func searchRuns(ctx context.Context, db *database.DB, in auth.Scope, q runSearch) (list []Run, more bool, err error) {
	s := &statement{args: database.Args{}, column: runColumn}
	s.where = append(s.where, "p.deleting_at IS NULL")
	if len(q.projects) > 0 {
		s.where = append(s.where, "e.project_id = ANY("+s.arg(q.projects)+"::int[])")
	}
	if !in.All {
		s.where = append(s.where, "p.workspace_id = ANY("+s.arg(in.Only())+"::int[])")
	}
	if q.archived != nil {
		s.where = append(s.where, map[bool]string{true: runArchived, false: "NOT t.archived AND NOT e.archived"}[*q.archived])
	}
	for _, c := range q.filter {
		if err := s.compare(c); err != nil {
			return nil, false, err
		}
	}
	keys, err := s.keys(q.order, sortKey{"t.started_at", " DESC"}, sortKey{"t.id", ""})
	if err != nil {
		return nil, false, err
	}
	ids, err := s.idsOfRuns(ctx, db, keys, q)
	if err != nil {
		return nil, false, database.BadData(err)
	}
	more = len(ids) > q.limit
	ids = ids[:min(len(ids), q.limit)]
	found := len(ids)
	if ids, err = database.FirstThatFit(ctx, db, ids, `
		SELECT p.place, octet_length(t.hparams::text) + coalesce(octet_length(t.metadata::text), 0) + `+summaryBytes+` AS size
		FROM unnest($1::int[]) WITH ORDINALITY AS p(id, place) JOIN trials t ON t.id = p.id LEFT JOIN trial_summaries s ON s.trial_id = t.id`); err != nil {
		return nil, false, err
	}
	list, err = database.Rows[Run](ctx, db, runSelect+runFrom+` JOIN unnest($1::int[]) WITH ORDINALITY AS o(id, place) ON o.id = t.id ORDER BY o.place`, ids)
	return list, more || len(ids) < found, err
}

// idsOfRuns finds the runs of a page, and one more if there is one.
func (s *statement) idsOfRuns(ctx context.Context, db *database.DB, keys []sortKey, q runSearch) ([]int, error) {
	where := strings.Join(s.where, " AND ")
	// Only what is used is joined: the rows of 100,000 experiments are large, and their index has what a plain search needs.
	further := runPlaces
	if strings.Contains(where+sorted(keys), "u.username") {
		further += runOwners
	}
	if len(q.order) > 0 && q.order[0].Kind == filter.Metric {
		ids, err := database.Scalars[int](ctx, db, s.byMetric(where, further, keys, q), s.args)
		if err != nil || len(ids) > q.limit {
			return ids, err
		}
	}
	return database.Scalars[int](ctx, db, s.with()+`SELECT t.id FROM trials t`+further+s.joins(-1)+` WHERE `+where+
		` ORDER BY `+sorted(keys)+` LIMIT `+s.arg(q.limit+1)+` OFFSET `+s.arg(q.offset), s.args)
}

// byMetric is SQL for a page of the runs that have the metric by which a search sorts first, and one more if there is one. If the result is
// shorter, the page also has runs without the metric. Listed values have an index in their order, so PostgreSQL reads as many as the page
// needs; the others are few, because most runs have ended.
func (s *statement) byMetric(where, further string, keys []sortKey, q runSearch) string {
	keys = slices.Clone(keys)
	keys[0].order = strings.TrimSuffix(keys[0].order, " NULLS LAST") // there are none, and the index has no such order backwards
	var columns, order []string
	for i, k := range keys {
		columns = append(columns, fmt.Sprintf("%s AS k%d", k.column, i))
		order = append(order, fmt.Sprintf("k%d%s", i, k.order))
	}
	first := s.metric(q.order[0].Name)
	one := func(from, joins, only string) string {
		return `(SELECT ` + strings.Join(columns, ", ") + ` FROM ` + from + further + joins + ` WHERE ` + only + ` AND ` + where + ` ORDER BY ` + sorted(keys) + ` LIMIT ` + s.arg(q.offset+q.limit+1) + `)`
	}
	return s.with() + fmt.Sprintf(`SELECT k%d FROM (`, len(keys)-1) +
		one(`newest_values v JOIN trials t ON t.id = v.trial_id`, s.joins(first), `v.metric = metric_key(`+s.arg(q.order[0].Name)+`::text) AND NOT l.unlisted`) + ` UNION ALL ` +
		one(`unlisted o JOIN trials t ON t.id = o.trial_id`, s.joins(-1), fmt.Sprintf(`m%d.value IS NOT NULL`, first)) +
		`) f ORDER BY ` + strings.Join(order, ", ") + ` LIMIT ` + s.arg(q.limit+1) + ` OFFSET ` + s.arg(q.offset)
}

// experimentColumn is SQL for what a search of experiments compares or sorts by.
func experimentColumn(s *statement, kind filter.Kind, name string) (string, bool, error) {
	switch {
	case kind == filter.Tag:
		return "(p.mlflow_tags ->> " + s.arg(name) + "::text)", false, nil
	case kind != filter.Attribute:
	case name == "name":
		return "CASE WHEN w.name = " + s.arg(Home) + " OR p.id = 1 THEN p.name ELSE w.name || '/' || p.name END", false, nil
	case name == "experiment_id":
		return "p.id::text", false, nil
	case name == "creation_time", name == "last_update_time":
		return millisSQL("p.created_at"), true, nil
	}
	return "", false, fault.New(fault.Invalid, "an experiment has no %s %q; it has name, experiment_id, creation_time, last_update_time and tags", kind, fault.Clip(name))
}

// searchExperiments lists a page of the experiments that a search finds; more is true if it finds further ones.
func searchExperiments(ctx context.Context, db *database.DB, in auth.Scope, q experimentSearch) (list []Experiment, more bool, err error) {
	s := &statement{args: database.Args{}, column: experimentColumn, where: []string{"p.deleting_at IS NULL"}}
	if !in.All {
		s.where = append(s.where, "p.workspace_id = ANY("+s.arg(in.Only())+"::int[])")
	}
	if q.archived != nil {
		s.where = append(s.where, "(p.archived OR w.archived) = "+s.arg(*q.archived)+"::boolean")
	}
	for _, c := range q.filter {
		if c.Kind == filter.Dataset {
			return nil, false, fault.New(fault.Invalid, "filter: an experiment has no data sets")
		}
		if err := s.compare(c); err != nil {
			return nil, false, err
		}
	}
	keys, err := s.keys(q.order, sortKey{"p.created_at", " DESC"}, sortKey{"p.id", " DESC"})
	if err != nil {
		return nil, false, err
	}
	limit := min(q.limit, maxInPage)
	ids, err := database.Scalars[int](ctx, db, `SELECT p.id FROM projects p JOIN workspaces w ON w.id = p.workspace_id WHERE `+strings.Join(s.where, " AND ")+
		` ORDER BY `+sorted(keys)+` LIMIT `+s.arg(limit+1)+` OFFSET `+s.arg(q.offset), s.args)
	if err != nil {
		return nil, false, database.BadData(err)
	}
	found := len(ids)
	if ids, err = database.FirstThatFit(ctx, db, ids[:min(found, limit)], `SELECT o.place, octet_length(p.mlflow_tags::text) + octet_length(p.notes::text) + octet_length(p.description) AS size
		FROM unnest($1::int[]) WITH ORDINALITY AS o(id, place) JOIN projects p ON p.id = o.id`); err != nil {
		return nil, false, err
	}
	list, err = experimentsByID(ctx, db, ids)
	return list, len(ids) < found, err
}
