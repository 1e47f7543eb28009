package store

import (
	"context"
	"fmt"
	"strings"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/find"
	"github.com/detent-ml/detent/master/metrics/summary"
)

// A Search is a query for experiments or for runs, and the order of its results. Metrics of an
// experiment are those of its best trial.
type Search struct {
	ProjectID int   // 0 for all
	IDs       []int // nil for all
	Filter    find.Filter
	Sort      []find.Sort // none: experiments newest first, runs oldest first
}

// searched is a table of the search: how its columns become SQL.
type searched struct {
	noun     string
	from     string // the FROM clause that conditions refer to
	id       string
	archived string
	state    string // the state for users
	fields   map[string]string
	order    string // of results without a sort
}

// countFound counts the results of a search.
func (db *DB) countFound(ctx context.Context, of searched, in auth.Scope, q Search) (int, error) {
	b := newSearch(of)
	where, err := b.where(in, q)
	if err != nil {
		return 0, err
	}
	return database.Scalar[int](ctx, db.DB, `SELECT count(*)`+of.from+b.lateral()+where, b.args)
}

// findPage lists the ids of a page of the results of a search, and counts all results in the
// same query, so that each condition is evaluated once.
func (db *DB) findPage(ctx context.Context, of searched, in auth.Scope, q Search, offset, limit int) (ids []int, total int, err error) {
	b := newSearch(of)
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
	found, err := database.Rows[foundID](ctx, db.DB, `WITH found AS MATERIALIZED (SELECT `+of.id+` AS id`+values+of.from+b.lateral()+where+`)
		SELECT id, (SELECT count(*) FROM found)::int AS total FROM found`+order+` LIMIT @limit OFFSET @offset`, b.args)
	if err != nil {
		return nil, 0, err
	}
	if len(found) == 0 { // the page is beyond the last result, so no row has the total
		total, err = db.countFound(ctx, of, in, q)
		return nil, total, err
	}
	ids = make([]int, len(found))
	for i, f := range found {
		ids[i] = f.ID
	}
	return ids, found[0].Total, nil
}

// foundID is a result of a search, with the number of all results.
type foundID struct {
	ID    int `db:"id"`
	Total int `db:"total"`
}

// searchBuilder writes the SQL of a search. Texts of users become arguments; the SQL text
// consists of this file's constants only.
type searchBuilder struct {
	of                   searched
	args                 database.Args
	documents            []*document
	values               map[string]*documentValue
	inDocuments, onTexts int // conditions and sort keys
	patterns             int // bytes of all texts that conditions look for
}

func newSearch(of searched) *searchBuilder {
	return &searchBuilder{of: of, args: database.Args{}, values: map[string]*documentValue{}}
}

// bind adds an argument, and returns its placeholder in the statement.
func (b *searchBuilder) bind(v any, kind string) string {
	name := fmt.Sprintf("q%d", len(b.args))
	b.args[name] = v
	return "@" + name + "::" + kind
}

func (b *searchBuilder) where(in auth.Scope, q Search) (string, error) {
	var list []string
	if !in.All {
		list = append(list, "p.workspace_id = ANY("+b.bind(in.Only(), "int[]")+")")
	}
	if q.ProjectID != 0 {
		list = append(list, "e.project_id = "+b.bind(q.ProjectID, "int"))
	}
	if q.IDs != nil {
		list = append(list, b.of.id+" = ANY("+b.bind(q.IDs, "int[]")+")")
	}
	if !q.Filter.Archived {
		list = append(list, "NOT "+b.of.archived)
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
	if err := b.count(c.Column); err != nil {
		return "", err
	}
	switch c.Column.Location {
	case find.Hyperparameters:
		return b.hyperparameter(c)
	case find.RunHyperparameters:
		return b.inside(b.named("t.hparams", c.Column.Hyperparameter()), c)
	case find.RunMetadata:
		return b.inside(b.named("t.metadata", c.Column.Metadata()), c)
	case find.Validations, find.Training, find.CustomMetric:
		return b.metric(c)
	}
	switch c.Column.Name {
	case "tags":
		return b.labels(c)
	case "user":
		return b.user(c)
	}
	f, ok := b.of.fields[c.Column.Name]
	if !ok {
		return "", fault.New(fault.Invalid, "%s cannot be searched by %s", b.of.noun, c.Column.Name)
	}
	if c.Column.Name == "state" && c.Value.Text == "ACTIVE" && (c.Op == find.Equal || c.Op == find.NotEqual) {
		not := ""
		if c.Op == find.NotEqual {
			not = "NOT "
		}
		return not + "(" + b.of.state + " IN ('QUEUED', 'PULLING', 'STARTING', 'RUNNING'))", nil
	}
	return b.compare(f, c)
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
func (b *searchBuilder) pattern(c find.Condition) (string, error) {
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
		return hasLabels("ARRAY[" + b.bind(c.Value.Text, "text") + "]"), nil
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
func (b *searchBuilder) user(c find.Condition) (string, error) {
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
func (b *searchBuilder) order(sorts []find.Sort) (values, order string, err error) {
	if len(sorts) == 0 {
		return "", " ORDER BY " + b.of.order, nil
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
			values += fmt.Sprintf(", "+byMetricName+" AS name%d", expr, i)
			list = append(list, fmt.Sprintf("name%d NULLS LAST", i))
		}
		values += fmt.Sprintf(", %s AS sort%d", expr, i)
		list = append(list, fmt.Sprintf("sort%d%s NULLS LAST", i, dir))
	}
	return values, " ORDER BY " + strings.Join(append(list, "id"), ", "), nil
}

func (b *searchBuilder) sortBy(c find.Column) (string, error) {
	if err := b.count(c); err != nil {
		return "", err
	}
	switch c.Location {
	case find.Hyperparameters:
		return "(SELECT h.low FROM experiment_hparams h WHERE h.experiment_id = e.id AND h.name = " + b.bind(c.Hyperparameter(), "text") + ")", nil
	case find.RunHyperparameters:
		return b.named("t.hparams", c.Hyperparameter()).uses("sort"), nil
	case find.RunMetadata:
		return b.named("t.metadata", c.Metadata()).uses("sort"), nil
	case find.Validations, find.Training, find.CustomMetric:
		return b.summarized(c).uses("number"), nil
	}
	if c.Name == "tags" {
		return "e.labels", nil
	}
	f, ok := b.of.fields[c.Name]
	if !ok {
		return "", fault.New(fault.Invalid, "%s cannot be sorted by %s", b.of.noun, c.Name)
	}
	return f, nil
}
