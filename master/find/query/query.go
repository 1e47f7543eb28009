package query

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/find"
	"github.com/detent-ml/detent/master/metrics/summary"
	"github.com/detent-ml/detent/master/optional"
)

// A Search is a query for experiments or for runs, and the order of its results. Metrics of an
// experiment are those of its best trial.
type Search struct {
	ProjectID int   // 0 for all
	IDs       []int // nil for all
	Filter    find.Filter
	Sort      []find.Sort // none: experiments newest first, runs oldest first
}

// Parse parses the filter, the query and the order of a request.
func Parse(table find.Table, project *int, filter, line, sort *string, now time.Time) (Search, error) {
	q := Search{ProjectID: optional.Value(project)}
	f := find.Filter{}
	var err error
	if given := optional.Value(filter); given != "" {
		if f, err = table.ParseJSON([]byte(given)); err != nil {
			return q, fault.New(fault.Invalid, "filter: %w", err)
		}
	}
	terms, err := table.Parse(optional.Value(line), now)
	if err != nil {
		return q, fault.New(fault.Invalid, "query: %w", err)
	}
	q.Filter = f.And(terms)
	if q.Sort, err = table.ParseSort(optional.Value(sort)); err != nil {
		return q, fault.New(fault.Invalid, "sort: %w", err)
	}
	return q, nil
}

// Table is a table of the search: how its columns become SQL.
type Table struct {
	Noun     string
	From     string // the FROM clause that conditions refer to
	ID       string
	Archived string
	State    string // the state for users
	Fields   map[string]string
	Order    string // of results without a sort
}

// Count counts the results of a search.
func Count(ctx context.Context, db *database.DB, of Table, in auth.Scope, q Search) (int, error) {
	b := New(of)
	where, err := b.Where(in, q)
	if err != nil {
		return 0, err
	}
	return database.Scalar[int](ctx, db, `SELECT count(*)`+of.From+b.Lateral()+where, b.Args)
}

// Page lists the ids of a page of the results of a search, and counts all results in the
// same query, so that each condition is evaluated once.
func Page(ctx context.Context, db *database.DB, of Table, in auth.Scope, q Search, offset, limit int) (ids []int, total int, err error) {
	b := New(of)
	where, err := b.Where(in, q)
	if err != nil {
		return nil, 0, err
	}
	values, order, err := b.order(q.Sort)
	if err != nil {
		return nil, 0, err
	}
	b.Args["limit"], b.Args["offset"] = limit, offset
	// MATERIALIZED, because the query counts all results. Otherwise PostgreSQL may choose a
	// plan for few rows, because of the limit, and scan indexes row by row.
	found, err := database.Rows[foundID](ctx, db, `WITH found AS MATERIALIZED (SELECT `+of.ID+` AS id`+values+of.From+b.Lateral()+where+`)
		SELECT id, (SELECT count(*) FROM found)::int AS total FROM found`+order+` LIMIT @limit OFFSET @offset`, b.Args)
	if err != nil {
		return nil, 0, err
	}
	if len(found) == 0 { // the page is beyond the last result, so no row has the total
		total, err = Count(ctx, db, of, in, q)
		return nil, total, err
	}
	return each.Of(found, func(f foundID) int { return f.ID }), found[0].Total, nil
}

// foundID is a result of a search, with the number of all results.
type foundID struct {
	ID    int `db:"id"`
	Total int `db:"total"`
}

// Builder writes the SQL of a search. Texts of users become arguments; the SQL text
// consists of this file's constants only.
type Builder struct {
	of                               Table
	Args                             database.Args
	documents                        []*document
	values                           map[string]*documentValue
	inDocuments, onTexts, onComputed int // conditions and sort keys
	patterns                         int // bytes of all texts that conditions look for
}

// New returns a Builder for a table.
func New(of Table) *Builder {
	return &Builder{of: of, Args: database.Args{}, values: map[string]*documentValue{}}
}

// bind adds an argument, and returns its placeholder in the statement.
func (b *Builder) bind(v any, kind string) string {
	name := fmt.Sprintf("q%d", len(b.Args))
	b.Args[name] = v
	return "@" + name + "::" + kind
}

// Where returns the condition of a search, in a scope.
func (b *Builder) Where(in auth.Scope, q Search) (string, error) {
	var list []string
	if !in.All {
		list = append(list, "p.workspace_id = ANY("+b.bind(in.Only(), "int[]")+")")
	}
	if q.ProjectID != 0 {
		list = append(list, "e.project_id = "+b.bind(q.ProjectID, "int"))
	}
	if q.IDs != nil {
		list = append(list, b.of.ID+" = ANY("+b.bind(q.IDs, "int[]")+")")
	}
	if !q.Filter.Archived {
		list = append(list, "NOT "+b.of.Archived)
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

func (b *Builder) node(n find.Node) (string, error) {
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

func (b *Builder) condition(c find.Condition) (string, error) {
	if err := b.count(c.Column); err != nil {
		return "", err
	}
	switch c.Column.Location {
	case find.Hyperparameters:
		return b.hyperparameter(c)
	case find.RunHyperparameters:
		return b.inside(b.Named("t.hparams", c.Column.Hyperparameter()), c)
	case find.RunMetadata:
		return b.inside(b.Named("t.metadata", c.Column.Metadata()), c)
	case find.Validations, find.Training, find.CustomMetric:
		return b.metric(c)
	}
	switch c.Column.Name {
	case "tags":
		return b.labels(c)
	case "user":
		return b.user(c)
	}
	f, ok := b.of.Fields[c.Column.Name]
	if !ok {
		return "", fault.New(fault.Invalid, "%s cannot be searched by %s", b.of.Noun, c.Column.Name)
	}
	if c.Column.Name == "state" && c.Value.Text == "ACTIVE" && (c.Op == find.Equal || c.Op == find.NotEqual) {
		not := ""
		if c.Op == find.NotEqual {
			not = "NOT "
		}
		return not + "(" + b.of.State + " IN ('QUEUED', 'PULLING', 'STARTING', 'RUNNING'))", nil
	}
	return b.compare(f, c)
}

// compare writes a comparison of an expression that is NULL if the field has no value.
func (b *Builder) compare(sql string, c find.Condition) (string, error) {
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
		pattern, err := b.pattern(c)
		return database.PrefixOf(sql) + " ILIKE " + pattern, err
	case find.NotContains:
		pattern, err := b.pattern(c)
		return database.PrefixOf(sql) + " NOT ILIKE " + pattern, err
	}
	op, err := comparison(c.Op)
	if err != nil {
		return "", err
	}
	return sql + op + b.value(c.Value), nil
}

// maxPatterns bounds all texts together that the conditions of a search look for.
const maxPatterns = 2000

// pattern binds the text that a condition looks for.
func (b *Builder) pattern(c find.Condition) (string, error) {
	if b.patterns += len(c.Value.Text); b.patterns > maxPatterns {
		return "", fault.New(fault.Invalid, "the filter looks for texts of more than %d bytes together; use fewer at once", maxPatterns)
	}
	return b.bind(database.LikePattern(c.Value.Text), "text"), database.CheckPattern(c.Column.Name, c.Value.Text)
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

func (b *Builder) value(v find.Value) string {
	switch v.Type {
	case find.Number:
		return b.bind(v.Number, "float8")
	case find.Date:
		return b.bind(v.Time, "timestamptz")
	}
	return b.bind(v.Text, "text")
}

// labels compares the labels of an experiment: it matches if one of them does.
func (b *Builder) labels(c find.Condition) (string, error) {
	switch c.Op {
	case find.IsEmpty:
		return "e.labels = '{}'", nil
	case find.NotEmpty:
		return "e.labels <> '{}'", nil
	case find.Equal:
		return HasLabels("ARRAY[" + b.bind(c.Value.Text, "text") + "]"), nil
	case find.NotEqual:
		return "NOT e.labels @> ARRAY[" + b.bind(c.Value.Text, "text") + "]", nil
	case find.Contains:
		pattern, err := b.pattern(c)
		return "EXISTS (SELECT FROM unnest(e.labels) l WHERE " + database.PrefixOf("l") + " ILIKE " + pattern + ")", err
	case find.NotContains:
		pattern, err := b.pattern(c)
		return "NOT EXISTS (SELECT FROM unnest(e.labels) l WHERE " + database.PrefixOf("l") + " ILIKE " + pattern + ")", err
	}
	return "", fault.New(fault.Invalid, "tags cannot be compared by %s", c.Op)
}

// user compares a user's username and display name, one of which must match, or the user's id.
func (b *Builder) user(c find.Condition) (string, error) {
	if c.Column.Type == find.Number {
		return b.compare("e.owner_id", c)
	}
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

// metricPath is the JSON path of a metric in a trial's summary.
func metricPath(c find.Column) []string {
	group, name, of := c.Metric()
	return []string{summary.GroupKey(group), name, of}
}

// order writes the sort keys as columns, and an ORDER BY over them that ends with the id.
// Rows without a value come last, and the values of searchers' metrics are grouped by the metrics' names.
func (b *Builder) order(sorts []find.Sort) (values, order string, err error) {
	if len(sorts) == 0 {
		return "", " ORDER BY " + b.of.Order, nil
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
		if s.Column.Name == "searcherMetricsVal" {
			values += fmt.Sprintf(", "+ByMetricName+" AS name%d", expr, i)
			list = append(list, fmt.Sprintf("name%d NULLS LAST", i))
		}
		values += fmt.Sprintf(", %s AS sort%d", expr, i)
		list = append(list, fmt.Sprintf("sort%d%s NULLS LAST", i, dir))
	}
	return values, " ORDER BY " + strings.Join(append(list, "id"), ", "), nil
}

func (b *Builder) sortBy(c find.Column) (string, error) {
	if err := b.count(c); err != nil {
		return "", err
	}
	switch c.Location {
	case find.Hyperparameters:
		return "(SELECT h.low FROM experiment_hparams h WHERE h.experiment_id = e.id AND h.name = " + b.bind(c.Hyperparameter(), "text") + ")", nil
	case find.RunHyperparameters:
		return b.Named("t.hparams", c.Hyperparameter()).uses("sort"), nil
	case find.RunMetadata:
		return b.Named("t.metadata", c.Metadata()).uses("sort"), nil
	case find.Validations, find.Training, find.CustomMetric:
		return b.summarized(c).uses("number"), nil
	}
	if c.Name == "tags" {
		return database.SortText("array_to_string(e.labels, ',')"), nil
	}
	f, ok := b.of.Fields[c.Name]
	if !ok {
		return "", fault.New(fault.Invalid, "%s cannot be sorted by %s", b.of.Noun, c.Name)
	}
	if longTexts[c.Name] {
		f = database.SortText(f)
	}
	return f, nil
}

// hyperparameter compares the values that a hyperparameter can have in an experiment: one of
// them must match, or, with "!=" and "does not contain", all.
func (b *Builder) hyperparameter(c find.Condition) (string, error) {
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
		pattern, err := b.pattern(c)
		if err != nil {
			return "", err
		}
		fits = "EXISTS (SELECT FROM unnest(h.texts) x WHERE " + database.PrefixOf("x") + " ILIKE " + pattern + ")"
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

// ByMetricName groups rows with a value by the name of its metric: values of different metrics do not compare. The
// SQL for the value is an argument.
const ByMetricName = "CASE WHEN %s IS NOT NULL THEN e.metric END"

// HasLabels is SQL for the experiments that have all these labels, of which there is at least one. The
// index has only the beginnings of labels, and only the experiments that have some.
func HasLabels(labels string) string {
	return "(e.labels <> '{}' AND label_keys(e.labels) @> label_keys(" + labels + ") AND e.labels @> " + labels + ")"
}
