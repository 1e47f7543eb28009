package query

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/find"
)

// Conditions and sort keys of a search may use values within JSON documents: hyperparameters and
// metadata of runs, and summaries of metrics. A document may have a megabyte, and PostgreSQL keeps what it
// computes for a row until it has finished the row. So the statement decompresses each document once for a
// row, reads each name once, and all conditions on the name compare what was read. No two names
// copy the same part of a document, because values that are objects are not copied.

// Limits of what a search compares.
const (
	MaxInDocuments = 40          // conditions and sort keys within documents
	MaxOnTexts     = 50          // conditions and sort keys on texts of any length
	MaxComputed    = 30          // conditions and sort keys on fields that PostgreSQL computes of other rows
	maxSearched    = 1000        // elements of a list that conditions compare: the first ones
	maxNested      = 8 << 10     // bytes of a list or an object, in a list or a summary, that is compared as text
	maxSortText    = 100         // characters of a text by which rows are sorted
	maxSortValue   = 2 * 1 << 10 // bytes of other values; a number may have thousands of digits
	maxSortList    = 200         // bytes of a list
	elementEnd     = `chr(1)`    // separates the elements of a list in a text in which conditions search
)

// longTexts are the columns whose values may have hundreds of kilobytes.
var longTexts = map[string]bool{"name": true, "description": true, "tags": true, "experimentName": true, "experimentDescription": true}

// computed are the fields that PostgreSQL computes of other rows, for each condition anew.
var computed = map[string]bool{"checkpointSize": true, "checkpointCount": true, "numTrials": true, "state": true}

// count counts a condition or a sort key against the limits.
func (b *Builder) count(c find.Column) error {
	switch {
	case !c.IsField():
		if b.inDocuments++; b.inDocuments > MaxInDocuments {
			return fault.New(fault.Invalid, "the filter and the order have more than %d conditions on hyperparameters, metadata and metrics; use fewer at once", MaxInDocuments)
		}
	case longTexts[c.Name]:
		if b.onTexts++; b.onTexts > MaxOnTexts {
			return fault.New(fault.Invalid, "the filter and the order have more than %d conditions on names, descriptions and tags; use fewer at once", MaxOnTexts)
		}
	case computed[c.Name]:
		if b.onComputed++; b.onComputed > MaxComputed {
			return fault.New(fault.Invalid, "the filter and the order have more than %d conditions on states and on numbers and sizes of checkpoints and trials; use fewer at once", MaxComputed)
		}
	}
	return nil
}

// A document is a JSON column from which a search reads values.
type document struct {
	column string
	values []*documentValue
}

// A documentValue is the value that a document has under a name. needs are the columns that the
// search uses of it, in the order of their first use.
type documentValue struct {
	Read  string // SQL for the value of d.doc
	is    string // SQL for whether d.doc has it; "" if the value is NULL otherwise
	list  bool   // a list has several values, of which one must match
	place int
	of    string // the alias of the document
	needs []string
}

// uses returns a column of the value.
func (v *documentValue) uses(what string) string {
	for _, have := range v.needs {
		if have == what {
			return v.column(what)
		}
	}
	v.needs = append(v.needs, what)
	return v.column(what)
}

func (v *documentValue) column(what string) string {
	return fmt.Sprintf("%s.%s%d", v.of, what, v.place)
}

// value returns the value of a document that add describes, and makes it if there is none yet.
func (b *Builder) inDocument(column, name string, add func(v *documentValue)) *documentValue {
	key := column + " " + name
	if v := b.values[key]; v != nil {
		return v
	}
	at := -1
	for i, d := range b.documents {
		if d.column == column {
			at = i
		}
	}
	if at < 0 {
		at, b.documents = len(b.documents), append(b.documents, &document{column: column})
	}
	d := b.documents[at]
	v := &documentValue{place: len(d.values), of: fmt.Sprintf("in%d", at)}
	add(v)
	d.values, b.values[key] = append(d.values, v), v
	return v
}

// Named is the value that a document has under a name, or, where the name has dots, inside
// of objects.
func (b *Builder) Named(column, name string) *documentValue {
	return b.inDocument(column, name, func(v *documentValue) {
		v.list = true
		paths := []string{jsonPath(name)}
		if parts := strings.Split(name, "."); len(parts) > 1 {
			paths = append(paths, jsonPath(parts...))
		}
		var read, is []string
		for _, path := range paths {
			read = append(read, "jsonb_path_query_first(d.doc, "+b.bind(path+` ? (@.type() != "null" && @.type() != "object")`, "jsonpath")+", '{}', true)")
			is = append(is, "jsonb_path_exists(d.doc, "+b.bind(path+` ? (@.type() != "null")`, "jsonpath")+", '{}', true)")
		}
		v.Read, v.is = "coalesce("+strings.Join(read, ", ")+")", "coalesce("+strings.Join(is, " OR ")+", false)"
	})
}

// jsonPath names a value inside of objects. Strict paths do not look into lists.
func jsonPath(names ...string) string {
	path := "strict $"
	for _, name := range names {
		quoted, err := json.Marshal(name)
		if err != nil { // it does not fail for texts
			return "strict $.\"\""
		}
		path += "." + string(quoted)
	}
	return path
}

// summarized is a metric in the summary of a trial.
func (b *Builder) summarized(c find.Column) *documentValue {
	return b.inDocument("s.summary", c.Name, func(v *documentValue) {
		v.Read = "d.doc #> " + b.bind(metricPath(c), "text[]")
	})
}

// ElementsOf is SQL for the first elements of a list, or for the value itself.
func ElementsOf(v string) string {
	return fmt.Sprintf("jsonb_path_query(%s, 'lax $[0 to %d]')", v, maxSearched-1)
}

// elementText is SQL for a JSON value as text. Numbers in nested lists become much longer as text, so it
// is NULL for long ones.
func elementText(v string) string {
	return fmt.Sprintf("CASE WHEN jsonb_typeof(%[1]s) IN ('array', 'object') AND pg_column_size(%[1]s) > %[2]d THEN NULL ELSE %[1]s #>> '{}' END", v, maxNested)
}

// columns are SQL for the columns of a value v: of its elements e, if it may be a list.
func (v *documentValue) columns() (ofValue, ofElements []string) {
	at := fmt.Sprintf("v%d.v", v.place)
	for _, what := range v.needs {
		var sql string
		switch what {
		case "there":
			if sql = v.is; sql == "" {
				sql = at + " IS NOT NULL"
			}
		case "number":
			sql = database.FloatAt(at)
		case "text":
			sql = elementText(at)
		case "sort":
			sql = fmt.Sprintf(`CASE WHEN jsonb_typeof(%[1]s) = 'string' THEN to_jsonb(left(%[1]s #>> '{}', %[2]d))
				WHEN pg_column_size(%[1]s) <= CASE jsonb_typeof(%[1]s) WHEN 'number' THEN %[3]d ELSE %[4]d END THEN %[1]s END`, at, maxSortText, maxSortValue, maxSortList)
		case "numbers":
			sql = "coalesce(array_remove(array_agg(" + database.FloatAt("e") + "), NULL), '{}')"
		case "texts":
			sql = "coalesce(array_remove(array_agg(" + elementText("e") + "), NULL), '{}')"
		case "lower":
			sql = "left(coalesce(string_agg(lower(" + database.PrefixOf(elementText("e")) + "), " + elementEnd + "), ''), 4 * " + strconv.Itoa(database.MaxPrefix) + ")"
		}
		sql += fmt.Sprintf(" AS %s%d", what, v.place)
		if what == "numbers" || what == "texts" || what == "lower" {
			ofElements = append(ofElements, sql)
		} else {
			ofValue = append(ofValue, sql)
		}
	}
	return ofValue, ofElements
}

// Lateral is SQL that joins what the search reads of its documents. OFFSET 0 keeps PostgreSQL from
// writing an expression of a subquery into each place that uses it. The documents themselves stay inside of the
// subquery, so that no join stores them.
func (b *Builder) Lateral() string {
	var out strings.Builder
	for i, d := range b.documents {
		var columns []string
		// Adding nothing to the document decompresses it.
		from := "(SELECT " + d.column + " || '{}' AS doc OFFSET 0) d"
		for _, v := range d.values {
			from += fmt.Sprintf(" CROSS JOIN LATERAL (SELECT %s AS v OFFSET 0) v%d", v.Read, v.place)
			ofValue, ofElements := v.columns()
			columns = append(columns, ofValue...)
			if len(ofElements) > 0 {
				from += fmt.Sprintf(" CROSS JOIN LATERAL (SELECT %s FROM %s x(e)) e%d", strings.Join(ofElements, ", "), ElementsOf(fmt.Sprintf("v%d.v", v.place)), v.place)
				for _, what := range v.needs {
					if what == "numbers" || what == "texts" || what == "lower" {
						columns = append(columns, fmt.Sprintf("e%[2]d.%[1]s%[2]d", what, v.place))
					}
				}
			}
		}
		fmt.Fprintf(&out, " CROSS JOIN LATERAL (SELECT %s FROM %s OFFSET 0) in%d", strings.Join(columns, ", "), from, i)
	}
	return out.String()
}

// inside compares a value in a JSON column of a run. Of a list, one element must match, or, with
// "!=" and "does not contain", all.
func (b *Builder) inside(v *documentValue, c find.Condition) (string, error) {
	there := v.uses("there")
	op, not := c.Op, ""
	switch c.Op {
	case find.IsEmpty:
		return "NOT " + there, nil
	case find.NotEmpty:
		return there, nil
	case find.NotEqual:
		op, not = find.Equal, there+" AND NOT "
	case find.NotContains:
		op, not = find.Contains, there+" AND NOT "
	}
	switch {
	case op == find.Contains:
		pattern, err := b.pattern(c)
		return "(" + not + v.uses("lower") + " LIKE lower(" + pattern + "))", err
	case op == find.Equal && c.Value.Type != find.Number:
		return "(" + not + b.value(c.Value) + " = ANY(" + v.uses("texts") + "))", nil
	}
	sign, err := comparison(turned[op])
	return "(" + not + b.value(c.Value) + sign + "ANY(" + v.uses("numbers") + "))", err
}

// turned are the operators with their sides exchanged: the element is on the right.
var turned = map[find.Operator]find.Operator{find.Equal: find.Equal, find.Less: find.Greater, find.LessEqual: find.GreaterEqual,
	find.Greater: find.Less, find.GreaterEqual: find.LessEqual}

// metric compares a metric in the summary of a run, or of an experiment's best trial.
func (b *Builder) metric(c find.Condition) (string, error) {
	v := b.summarized(c.Column)
	switch c.Op {
	case find.IsEmpty:
		return "NOT " + v.uses("there"), nil
	case find.NotEmpty:
		return v.uses("there"), nil
	}
	if c.Value.Type == find.Number {
		return b.compare(v.uses("number"), c)
	}
	return b.compare(v.uses("text"), c)
}
