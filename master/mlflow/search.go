package mlflow

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/metrics"
	"github.com/detent-ml/detent/master/metrics/summary"
	"github.com/detent-ml/detent/master/mlflow/filter"
)

// runSearch selects runs.
type runSearch struct {
	page
	projects []int
	archived *bool // nil: both
	filter   []filter.Comparison
	order    []filter.Order
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

// orderBy is SQL for an order: things without a value come last.
func (s *statement) orderBy(list []filter.Order, usual string) (string, error) {
	var keys []string
	for _, o := range list {
		column, _, err := s.column(s, o.Kind, o.Name)
		if err != nil {
			return "", err
		}
		if o.Desc {
			column += " DESC"
		}
		keys = append(keys, column+" NULLS LAST")
	}
	return strings.Join(append(keys, usual), ", "), nil
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
	i := slices.Index(s.metrics, name)
	if i < 0 {
		i, s.metrics = len(s.metrics), append(s.metrics, name)
	}
	return fmt.Sprintf("m%d.value", i)
}

// joins is SQL for the tables of the metrics that a statement names; "" if it names none. Each value is computed once for a row: without
// OFFSET 0, PostgreSQL would put the expression of a value into every place that uses it, and open the summary again for each.
func (s *statement) joins() string {
	if len(s.metrics) == 0 {
		return ""
	}
	var sql strings.Builder
	sql.WriteString(` LEFT JOIN trial_summaries s ON s.trial_id = t.id LEFT JOIN ` + metrics.WaitingValues + ` w ON w.trial_id = t.id`)
	for i, name := range s.metrics {
		name = s.arg(name) + "::text"
		last := func(group string) string {
			return "coalesce(w." + group + " -> " + name + ", s.summary -> '" + summary.GroupKey(group) + "' -> " + name + " -> 'last')"
		}
		// A group whose newest value is not finite, which is no number in JSON, does not give way to another one. The experiment is read
		// only for runs that have the name in both groups.
		fmt.Fprintf(&sql, ` CROSS JOIN LATERAL (SELECT `+database.FloatAt("x.value")+` AS value FROM (
				SELECT coalesce(CASE WHEN g.training IS NOT NULL AND g.validation IS NOT NULL AND (SELECT x.metric FROM experiments x WHERE x.id = t.experiment_id) = %[1]s
					THEN g.validation END, g.training, g.validation, %[2]s) AS value FROM (SELECT %[3]s AS training, %[4]s AS validation OFFSET 0) g OFFSET 0) x OFFSET 0) m%[5]d`,
			name, last(systemGroup), last("training"), last("validation"), i)
	}
	return sql.String()
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
	order, err := s.orderBy(q.order, "t.started_at DESC, t.id")
	if err != nil {
		return nil, false, err
	}
	// Only what is used is joined: the rows of 100,000 experiments are large, and their index has what a plain search needs.
	from, used := runTables, strings.Join(s.where, " AND ")+` ORDER BY `+order
	if strings.Contains(used, "u.username") {
		from += ` JOIN users u ON u.id = e.owner_id`
	}
	from += s.joins()
	ids, err := database.Scalars[int](ctx, db, `SELECT t.id`+from+` WHERE `+used+` LIMIT `+s.arg(q.limit+1)+` OFFSET `+s.arg(q.offset), s.args)
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
	order, err := s.orderBy(q.order, "p.created_at DESC, p.id DESC")
	if err != nil {
		return nil, false, err
	}
	limit := min(q.limit, maxInPage)
	ids, err := database.Scalars[int](ctx, db, `SELECT p.id FROM projects p JOIN workspaces w ON w.id = p.workspace_id WHERE `+strings.Join(s.where, " AND ")+
		` ORDER BY `+order+` LIMIT `+s.arg(limit+1)+` OFFSET `+s.arg(q.offset), s.args)
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
