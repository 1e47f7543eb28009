package database

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/detent-ml/detent/master/fault"
)

// Sorts maps the names of sort orders to SQL. Other names are rejected, so that no text of
// a client becomes SQL.
type Sorts map[string]string

// NullsLast ends the SQL of an order in which rows without a value come last in both directions.
const NullsLast = " NULLS LAST"

// Order writes an ORDER BY that ends with a unique column, so that pages neither
// repeat nor miss rows of equal value.
func (s Sorts) Order(by string, desc bool, unique string) (string, error) {
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
	expr, last := strings.CutSuffix(expr, NullsLast)
	if last {
		dir = strings.Replace(dir, "FIRST", "LAST", 1)
	}
	return " ORDER BY " + expr + dir + ", " + tie, nil
}

// Unlimited turns the limit 0 into SQL's "no limit".
func Unlimited(n int) *int {
	if n <= 0 {
		return nil
	}
	return &n
}

// LIKE compares the whole pattern at each place of a text if the two are made for it: a pattern of 24,000 bytes on one text of 256 KB took
// a processor of PostgreSQL for twenty seconds. So the pattern has a limit, and only the beginning of a long text is searched.
const (
	MaxPattern = 300  // bytes of a text that is searched for
	MaxPrefix  = 2000 // characters of a text
)

// PrefixOf is the part of a text, an expression in SQL, that is searched.
func PrefixOf(sql string) string { return fmt.Sprintf("left(%s, %d)", sql, MaxPrefix) }

// SortText is the part of a text, an expression in SQL, by which rows are sorted. With whole texts of hundreds of kilobytes, a sort of some
// thousand rows writes gigabytes.
func SortText(sql string) string { return fmt.Sprintf("left(%s, 200)", sql) }

// CheckPattern returns an error if a text that a filter searches for is too long. field is its name.
func CheckPattern(field, text string) error {
	if len(text) > MaxPattern {
		return fault.New(fault.Invalid, "%s: at most %d bytes can be searched for, found %d", field, MaxPattern, len(text))
	}
	return nil
}

// Containing adds a condition: the text, an expression in SQL, contains what is asked for; none if nothing is asked for. Nothing contains a
// text that CheckPattern rejects.
func (c *Conditions) Containing(sql, field, text string) {
	c.When(len(text) > MaxPattern, "false", field, text)
	c.When(text != "" && len(text) <= MaxPattern, PrefixOf(sql)+" ILIKE @"+field, field, LikePattern(text))
}

// LikePattern returns a LIKE pattern that matches values that contain the text.
func LikePattern(text string) string {
	return "%" + strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(text) + "%"
}

// Conditions collects the conditions of a WHERE and their arguments.
type Conditions struct {
	List []string
	Args Args
}

// When adds a condition if its value is given; the condition names the value as @name.
func (c *Conditions) When(given bool, sql, name string, value any) {
	if c.Args == nil {
		c.Args = Args{}
	}
	if given {
		c.List = append(c.List, sql)
		c.Args[name] = value
	}
}

// Where writes the WHERE; "" if there are no conditions.
func (c *Conditions) Where() string {
	if len(c.List) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(c.List, " AND ")
}

// Limits of one page of a list. A client requests the rest by further pages.
const (
	MaxPage      = 5000
	MaxPageBytes = 4 << 20
)

// A Listed is something that clients list page by page.
type Listed struct {
	Table string // with its alias
	Joins string // of what its filters and its orders use
	Key   string // a unique column
	Is    string // its type
	Size  string // SQL for the bytes of a row's texts, which are of any length
	Rows  string // SELECT of whole rows, without WHERE
	Sorts Sorts
}

// Count counts the rows for which the conditions are true.
func (l *Listed) Count(ctx context.Context, db *DB, c Conditions) (int, error) {
	return Scalar[int](ctx, db, `SELECT count(*) FROM `+l.Table+l.Joins+c.Where(), c.Args)
}

// PageOf lists a page of the rows for which the conditions are true. It returns fewer than limit if
// their total size exceeds that of a page, but at least one.
func PageOf[Row any, Key int | string](ctx context.Context, db *DB, l *Listed, c Conditions, sort string, desc bool, offset, limit int) ([]Row, error) {
	if limit <= 0 {
		return nil, nil
	}
	order, err := l.Sorts.Order(sort, desc, l.Key)
	if err != nil {
		return nil, err
	}
	c.Args["offset"], c.Args["limit"] = offset, min(limit, MaxPage)
	keys, err := Scalars[Key](ctx, db, `SELECT `+l.Key+` FROM `+l.Table+l.Joins+c.Where()+order+` LIMIT @limit OFFSET @offset`, c.Args)
	if err == nil {
		keys, err = FirstThatFit(ctx, db, keys, `SELECT chosen.place, `+l.Size+` AS size
			FROM unnest($1::`+l.Is+`[]) WITH ORDINALITY AS chosen(key, place) JOIN `+l.Table+` ON `+l.Key+` = chosen.key`)
	}
	if err != nil || len(keys) == 0 {
		return nil, err
	}
	return Rows[Row](ctx, db, l.Rows+` WHERE `+l.Key+` = ANY($1::`+l.Is+`[]) ORDER BY array_position($1::`+l.Is+`[], `+l.Key+`)`, keys)
}

// FirstThatFit returns the first ids whose sizes, by a query of place and size, fit into a page; at least one.
func FirstThatFit[ID int | string](ctx context.Context, db *DB, ids []ID, sizes string) ([]ID, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	n, err := Scalar[int](ctx, db, `SELECT count(*) FILTER (WHERE bytes <= $2) FROM (SELECT sum(size) OVER (ORDER BY place) AS bytes FROM (`+sizes+`) AS sized) AS summed`,
		ids, MaxPageBytes)
	return ids[:min(max(n, 1), len(ids))], err
}

// MostUsed is SQL for the labels l of these tables, the most used first, as many as fit into @bytes.
func MostUsed(from string) string {
	return `SELECT l FROM (SELECT l, used, sum(octet_length(l) + 8) OVER (ORDER BY used DESC, l) AS bytes
		FROM (SELECT l, count(*) AS used FROM ` + from + ` GROUP BY l) AS counted) AS listed WHERE bytes <= @bytes ORDER BY used DESC, l`
}
