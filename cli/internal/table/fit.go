package table

import (
	"slices"
	"strings"
)

// leastWidth is the width below which Fit does not shorten texts.
const leastWidth = 12

// Shrink names the columns whose texts Fit may shorten.
func (t *Table) Shrink(headers ...string) { t.shrink = headers }

// Optional names the columns that Fit may remove, the least important first.
func (t *Table) Optional(headers ...string) { t.optional = headers }

// Fit makes a table fit a terminal, if it can: it shortens texts, the longest first, and if that does not suffice, it removes
// columns. It returns the removed ones.
func (t *Table) Fit(width int) (removed []string) {
	over := t.width() - width
	for _, name := range t.optional {
		if over-t.spare() <= 0 {
			break
		}
		i := slices.Index(t.headers, name)
		if i < 0 {
			continue
		}
		t.remove(i)
		removed = append(removed, name)
		over = t.width() - width
	}
	for over > 0 {
		longest, second := -1, leastWidth
		for _, name := range t.shrink {
			i := slices.Index(t.headers, name)
			if i < 0 {
				continue
			}
			if longest < 0 || t.texts(i) > t.texts(longest) {
				longest = i
			}
		}
		if longest < 0 {
			break
		}
		at := t.texts(longest)
		for _, name := range t.shrink {
			if i := slices.Index(t.headers, name); i >= 0 && i != longest {
				second = max(second, t.texts(i))
			}
		}
		least := max(leastWidth, Width(t.headers[longest])+2)
		to := max(least, min(second, at-1), at-over)
		if to >= at {
			break
		}
		t.shorten(longest, to)
		over = t.width() - width
	}
	return removed
}

// width is the width of the widest line.
func (t *Table) width() int {
	sum := max(0, len(t.headers)-1)
	for i := range t.headers {
		sum += t.layout(i).width + 2
	}
	return sum
}

// texts is the width of a column.
func (t *Table) texts(i int) int { return t.layout(i).width }

// spare is how much shortening can save.
func (t *Table) spare() int {
	sum := 0
	for _, name := range t.shrink {
		if i := slices.Index(t.headers, name); i >= 0 {
			sum += max(0, t.texts(i)-max(leastWidth, Width(name)+2))
		}
	}
	return sum
}

func (t *Table) remove(i int) {
	t.headers = slices.Delete(slices.Clone(t.headers), i, i+1)
	for r := range t.rows {
		t.rows[r] = slices.Delete(t.rows[r], i, i+1)
	}
}

// shorten cuts the texts of a column.
func (t *Table) shorten(i, width int) {
	for _, row := range t.rows {
		s, ok := row[i].(string)
		if !ok {
			continue
		}
		lines := strings.Split(clean(s), "\n")
		for l, line := range lines {
			lines[l] = Cut(line, width)
		}
		row[i] = strings.Join(lines, "\n")
	}
}

// Cut shortens a text to a number of terminal columns, with an ellipsis.
func Cut(s string, width int) string {
	if Width(s) <= width {
		return s
	}
	var b strings.Builder
	used := 1 // of the ellipsis
	for _, r := range s {
		w := Width(string(r))
		if used+w > width {
			break
		}
		used += w
		b.WriteRune(r)
	}
	return b.String() + "…"
}
