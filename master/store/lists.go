package store

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
)

// sorts maps the names of sort orders to SQL. Other names are rejected, so that no text of
// a client becomes SQL.
type sorts map[string]string

// ofMetrics are the orders by the value of a metric: rows without a value come last in both directions.
var ofMetrics = []string{"metric", "best", "latest"}

// byMetricName groups rows with a value by the name of its metric: values of different metrics do not compare. The
// SQL for the value is an argument.
const byMetricName = "CASE WHEN %s IS NOT NULL THEN e.metric END"

// order writes an ORDER BY that ends with a unique column, so that pages neither
// repeat nor miss rows of equal value.
func (s sorts) order(by string, desc bool, unique string) (string, error) {
	expr, ok := s[by]
	if !ok {
		return "", fault.New(fault.Invalid, "cannot sort by %q; it is one of %s", by,
			strings.Join(slices.DeleteFunc(slices.Sorted(maps.Keys(s)), func(k string) bool { return k == "" }), ", "))
	}
	dir := " ASC NULLS FIRST"
	if desc {
		dir = " DESC NULLS LAST"
	}
	if expr == unique {
		// A unique column has no NULLs. Without NULLS LAST, its index can be used.
		if desc {
			return " ORDER BY " + unique + " DESC", nil
		}
		return " ORDER BY " + unique, nil
	}
	tie := unique
	if desc {
		tie += " DESC"
	}
	if slices.Contains(ofMetrics, by) {
		dir = strings.Replace(dir, "FIRST", "LAST", 1)
	}
	if by == "metric" {
		return " ORDER BY " + fmt.Sprintf(byMetricName, expr) + ", " + expr + dir + ", " + tie, nil
	}
	return " ORDER BY " + expr + dir + ", " + tie, nil
}

// unlimited turns the limit 0 into SQL's "no limit".
func unlimited(n int) *int {
	if n <= 0 {
		return nil
	}
	return &n
}

// jsonOrNull returns the argument for a JSON column: text, or NULL for nil. pgx would encode
// a slice of bytes as base64.
func jsonOrNull(b []byte) *string {
	if len(b) == 0 {
		return nil
	}
	s := string(b)
	return &s
}

// LIKE compares the whole pattern at each place of a text if the two are made for it: a pattern of 24,000 bytes on one text of 256 KB took
// a processor of PostgreSQL for twenty seconds. So the pattern has a limit, and only the beginning of a long text is searched.
const (
	maxPattern = 300  // bytes of a text that is searched for
	maxPrefix  = 2000 // characters of a text
)

// prefixOf is the part of a text, an expression in SQL, that is searched.
func prefixOf(sql string) string { return fmt.Sprintf("left(%s, %d)", sql, maxPrefix) }

// sortText is the part of a text, an expression in SQL, by which rows are sorted. With whole texts of hundreds of kilobytes, a sort of some
// thousand rows writes gigabytes.
func sortText(sql string) string { return fmt.Sprintf("left(%s, 200)", sql) }

// CheckPattern returns an error if a text that a filter searches for is too long. field is its name.
func CheckPattern(field, text string) error {
	if len(text) > maxPattern {
		return fault.New(fault.Invalid, "%s: at most %d bytes can be searched for, found %d", field, maxPattern, len(text))
	}
	return nil
}

// CheckPatterns is CheckPattern for a name and a description.
func CheckPatterns(name, description string) error {
	return cmp.Or(CheckPattern("name", name), CheckPattern("description", description))
}

// containing adds a condition: the text, an expression in SQL, contains what is asked for; none if nothing is asked for. Nothing contains a
// text that CheckPattern rejects.
func (c *conditions) containing(sql, field, text string) {
	c.when(len(text) > maxPattern, "false", field, text)
	c.when(text != "" && len(text) <= maxPattern, prefixOf(sql)+" ILIKE @"+field, field, likePattern(text))
}

// likePattern returns a LIKE pattern that matches values that contain the text.
func likePattern(text string) string {
	return "%" + strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(text) + "%"
}

// conditions collects the conditions of a WHERE and their arguments.
type conditions struct {
	list []string
	args database.Args
}

func (c *conditions) when(given bool, sql, name string, value any) {
	if c.args == nil {
		c.args = database.Args{}
	}
	if given {
		c.list = append(c.list, sql)
		c.args[name] = value
	}
}

// in limits a list to a scope; workspace is the column with a row's workspace.
func (c *conditions) in(s auth.Scope, workspace string) {
	c.when(!s.All, workspace+" = ANY(@scope::int[])", "scope", workspaces(s))
}

// inProject is in for rows that have a project but no workspace.
func (c *conditions) inProject(s auth.Scope, project string) {
	c.when(!s.All, project+" IN (SELECT id FROM projects WHERE workspace_id = ANY(@scope::int[]))", "scope", workspaces(s))
}

// workspaces returns the workspaces of a scope as an argument: NULL for all.
func workspaces(s auth.Scope) []int {
	if s.All {
		return nil
	}
	return append([]int{}, s.Workspaces...)
}

func (c *conditions) where() string {
	if len(c.list) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(c.list, " AND ")
}

// keyed returns the rows of a list by their keys.
func keyed[Row any, Key comparable](list []Row, key func(Row) Key) map[Key]Row {
	out := make(map[Key]Row, len(list))
	for _, row := range list {
		out[key(row)] = row
	}
	return out
}

// A listed is something that clients list page by page.
type listed struct {
	table string // with its alias
	joins string // of what its filters and its orders use
	key   string // a unique column
	is    string // its type
	size  string // SQL for the bytes of a row's texts, which are of any length
	rows  string // SELECT of whole rows, without WHERE
	sorts sorts
}

// count counts the rows for which the conditions are true.
func (l *listed) count(ctx context.Context, db *DB, c conditions) (int, error) {
	return database.Scalar[int](ctx, db.DB, `SELECT count(*) FROM `+l.table+l.joins+c.where(), c.args)
}

// pageOf lists a page of the rows for which the conditions are true. It returns fewer than limit if
// their total size exceeds that of a page, but at least one.
func pageOf[Row any, Key int | string](ctx context.Context, db *DB, l *listed, c conditions, sort string, desc bool, offset, limit int) ([]Row, error) {
	if limit <= 0 {
		return nil, nil
	}
	order, err := l.sorts.order(sort, desc, l.key)
	if err != nil {
		return nil, err
	}
	c.args["offset"], c.args["limit"] = offset, min(limit, maxPage)
	keys, err := database.Scalars[Key](ctx, db.DB, `SELECT `+l.key+` FROM `+l.table+l.joins+c.where()+order+` LIMIT @limit OFFSET @offset`, c.args)
	if err == nil {
		keys, err = firstThatFit(ctx, db, keys, `SELECT chosen.place, `+l.size+` AS size
			FROM unnest($1::`+l.is+`[]) WITH ORDINALITY AS chosen(key, place) JOIN `+l.table+` ON `+l.key+` = chosen.key`)
	}
	if err != nil || len(keys) == 0 {
		return nil, err
	}
	return database.Rows[Row](ctx, db.DB, l.rows+` WHERE `+l.key+` = ANY($1::`+l.is+`[]) ORDER BY array_position($1::`+l.is+`[], `+l.key+`)`, keys)
}

// firstThatFit returns the first ids whose sizes, by a query of place and size, fit into a page; at least one.
func firstThatFit[ID int | string](ctx context.Context, db *DB, ids []ID, sizes string) ([]ID, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	n, err := database.Scalar[int](ctx, db.DB, `SELECT count(*) FILTER (WHERE bytes <= $2) FROM (SELECT sum(size) OVER (ORDER BY place) AS bytes FROM (`+sizes+`) AS sized) AS summed`,
		ids, maxPageBytes)
	return ids[:min(max(n, 1), len(ids))], err
}
