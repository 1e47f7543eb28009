// Package table prints tables in the format of Determined's client, on which users and scripts
// rely: columns separated by bars, a rule under the headers, numbers right-aligned at their
// points, texts left-aligned, cells of several lines, empty cells for missing values.
package table

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"

	"golang.org/x/text/width"

	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/quote"
)

// A Table is headers and rows of cells. A cell is a string, a bool, an int, an
// int64, a float64, a pointer to one of these, or nil.
type Table struct {
	headers          []string
	rows             [][]any
	shrink, optional []string // headers, for Fit
}

// New makes a table.
func New(headers ...string) *Table { return &Table{headers: headers} }

// Row adds a row; missing cells are empty.
func (t *Table) Row(cells ...any) {
	row := make([]any, len(t.headers))
	for i := range row {
		if i < len(cells) {
			row[i] = plain(cells[i])
		}
	}
	t.rows = append(t.rows, row)
}

// Len is the number of rows.
func (t *Table) Len() int { return len(t.rows) }

// plain dereferences pointers, converts integers to one type, and writes times as all tables do.
func plain(cell any) any {
	switch v := cell.(type) {
	case int:
		return int64(v)
	case *int:
		if v != nil {
			return int64(*v)
		}
	case *int64:
		if v != nil {
			return *v
		}
	case *float64:
		if v != nil {
			return *v
		}
	case time.Time:
		return Time(&v)
	case *time.Time:
		return Time(v)
	case *string:
		if v != nil {
			return *v
		}
	case *bool:
		if v != nil {
			return *v
		}
	case nil, int64, float64, string, bool:
		return v
	default:
		return fmt.Sprint(v)
	}
	return nil
}

// CSV writes the table as comma-separated values with a header line.
func (t *Table) CSV(w io.Writer) error {
	var b strings.Builder
	writeRecord(&b, t.headers)
	for _, row := range t.rows {
		record := make([]string, len(row))
		for i, cell := range row {
			record[i] = full(cell)
			if _, text := cell.(string); text {
				record[i] = quote.Cell(record[i])
			}
		}
		writeRecord(&b, record)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// writeRecord ends a record with CR LF, as Determined's client and RFC 4180 do, and keeps line
// breaks within a cell unchanged, unlike encoding/csv.
func writeRecord(b *strings.Builder, record []string) {
	for i, field := range record {
		if i > 0 {
			b.WriteByte(',')
		}
		if strings.ContainsAny(field, ",\"\r\n") {
			field = `"` + strings.ReplaceAll(field, `"`, `""`) + `"`
		}
		b.WriteString(field)
	}
	b.WriteString("\r\n")
}

// full formats a cell without rounding.
func full(cell any) string {
	switch v := cell.(type) {
	case nil:
		return ""
	case bool:
		return boolText(v)
	case float64:
		return Float(v)
	case string:
		return v
	}
	return fmt.Sprint(cell)
}

// Float formats a number as Python does: the fewest digits that identify it.
func Float(f float64) string {
	switch {
	case math.IsNaN(f):
		return "nan"
	case math.IsInf(f, 0):
		return strings.ToLower(strings.TrimPrefix(fmt.Sprint(f), "+"))
	case f == math.Trunc(f) && math.Abs(f) < 1e16:
		return strconv.FormatFloat(f, 'f', 1, 64)
	case math.Abs(f) >= 1e-4 && math.Abs(f) < 1e16:
		return strconv.FormatFloat(f, 'f', -1, 64)
	}
	return strconv.FormatFloat(f, 'e', -1, 64)
}

func boolText(b bool) string {
	if b {
		return "True"
	}
	return "False"
}

// kind is the type of a column, from its cells.
type kind int

const (
	text kind = iota
	integer
	decimal
)

func (t *Table) kindOf(column int) kind {
	found := kind(-1)
	for _, row := range t.rows {
		switch row[column].(type) {
		case nil:
		case int64:
			found = max(found, integer)
		case float64:
			found = decimal
		default:
			return text
		}
	}
	return max(found, text)
}

// Write prints the table.
func (t *Table) Write(w io.Writer) error {
	columns := make([]column, len(t.headers))
	for i := range t.headers {
		columns[i] = t.layout(i)
	}
	var b strings.Builder
	head := make([][]string, len(columns))
	rule := make([]string, len(columns))
	for i, c := range columns {
		head[i] = c.header
		rule[i] = strings.Repeat("-", c.width+2)
	}
	writeRow(&b, columns, head)
	b.WriteString(strings.Join(rule, "+"))
	b.WriteByte('\n')
	for r := range t.rows {
		writeRow(&b, columns, each.Of(columns, func(c column) []string { return c.cells[r] }))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// A column is laid out: every cell is lines, padded to align numbers.
type column struct {
	right  bool
	width  int
	header []string
	cells  [][]string
}

func (t *Table) layout(i int) column {
	k := t.kindOf(i)
	c := column{right: k != text, header: strings.Split(clean(t.headers[i]), "\n")}
	values := each.Of(t.rows, func(row []any) string { return shown(row[i], k) })
	if k == decimal {
		alignPoints(values)
	}
	for _, h := range c.header {
		c.width = max(c.width, Width(h)+2) // two more than the header, as in tabulate
	}
	for _, v := range values {
		lines := strings.Split(v, "\n")
		for _, l := range lines {
			c.width = max(c.width, Width(l))
		}
		c.cells = append(c.cells, lines)
	}
	return c
}

func shown(cell any, k kind) string {
	switch v := cell.(type) {
	case nil:
		return ""
	case bool:
		return boolText(v)
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		if k == text {
			return Float(v)
		}
		return general(v)
	case string:
		return clean(v)
	}
	return fmt.Sprint(cell)
}

// general is C's %g: six significant digits, without trailing zeros.
func general(f float64) string {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return Float(f)
	}
	return strconv.FormatFloat(f, 'g', 6, 64)
}

// alignPoints aligns the decimal points of a column.
func alignPoints(values []string) {
	deepest := -1
	after := make([]int, len(values))
	for i, v := range values {
		after[i] = afterPoint(v)
		deepest = max(deepest, after[i])
	}
	for i := range values {
		if values[i] != "" {
			values[i] += strings.Repeat(" ", deepest-after[i])
		}
	}
}

func afterPoint(v string) int {
	if i := strings.IndexByte(v, '.'); i >= 0 {
		return len(v) - i - 1
	}
	if i := strings.IndexByte(v, 'e'); i >= 0 {
		return len(v) - i - 1
	}
	return -1
}

// writeRow prints a row with as many lines as its highest cell.
func writeRow(b *strings.Builder, columns []column, cells [][]string) {
	height := 1
	for _, lines := range cells {
		height = max(height, len(lines))
	}
	for l := range height {
		var row strings.Builder
		for i, c := range columns {
			if i > 0 {
				row.WriteByte('|')
			}
			value := ""
			if l < len(cells[i]) {
				value = cells[i][l]
			}
			pad := strings.Repeat(" ", c.width-Width(value))
			if c.right {
				value = pad + value
			} else {
				value += pad
			}
			row.WriteString(" " + value + " ")
		}
		b.WriteString(strings.TrimRight(row.String(), " "))
		b.WriteByte('\n')
	}
}

// clean removes terminal control sequences, because names come from other users.
func clean(s string) string {
	if strings.IndexFunc(s, unruly) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '\t':
			b.WriteString("    ")
		case unruly(r):
			fmt.Fprintf(&b, "\\x%02x", r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

func unruly(r rune) bool {
	return r != '\n' && (r < ' ' || r >= 0x7f && r < 0xa0)
}

// Width is the number of terminal columns of a text.
func Width(s string) int {
	n := 0
	for _, r := range s {
		switch {
		case r < 0x80:
			n++
		case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		default:
			switch width.LookupRune(r).Kind() {
			case width.EastAsianWide, width.EastAsianFullwidth:
				n += 2
			default:
				n++
			}
		}
	}
	return n
}
