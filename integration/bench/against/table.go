package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A table is the figures of one run, in their order.
type table []figure

type figure struct {
	part, what string
	value      float64
	unit       string
	ratio      float64 // to the yardstick of the same run; 0: there is none
}

// tableOf reads what the benchmarks print: tables in Markdown, whose first head names the part.
func tableOf(text string) (t table) {
	part := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "|") {
			part = ""
			continue
		}
		cells := strings.Split(strings.Trim(line, "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		switch {
		case len(cells) < 5 || strings.HasPrefix(cells[0], "---"):
		case part == "":
			part = cells[0]
		default:
			f := figure{part: part, what: cells[0]}
			var ok bool
			if f.value, f.unit, ok = amount(cells[1]); ok {
				f.ratio, _, _ = amount(cells[4])
				t = append(t, f)
			}
		}
	}
	return t
}

// amount reads a value such as "8,735 ms".
func amount(cell string) (v float64, unit string, ok bool) {
	number, unit, _ := strings.Cut(cell, " ")
	v, err := strconv.ParseFloat(strings.ReplaceAll(number, ",", ""), 64)
	return v, unit, err == nil
}

// middle is the median of the values that of selects of a row; ok is false if a run has none.
func middle(runs []table, part, what string, of func(figure) float64) (v float64, ok bool) {
	var all []float64
	for _, t := range runs {
		for _, f := range t {
			if f.part == part && f.what == what && of(f) != 0 {
				all = append(all, of(f))
			}
		}
	}
	if len(all) == 0 || len(all) < len(runs) {
		return 0, false
	}
	slices.Sort(all)
	return all[len(all)/2], true
}

// write prints the rows that all runs of both sides have.
func write(w io.Writer, commit string, before, now []table) {
	if len(now) == 0 {
		return
	}
	rows := [][]string{{"", commit, "today", "today to " + commit, "their ratios to the yardstick"}, nil}
	for _, f := range now[0] {
		value := func(f figure) float64 { return f.value }
		old, known := middle(before, f.part, f.what, value)
		today, all := middle(now, f.part, f.what, value)
		if !known || !all {
			continue
		}
		row := []string{f.part + ": " + f.what, text(old) + " " + f.unit, text(today) + " " + f.unit, fmt.Sprintf("%.2f ×", today/old), ""}
		ratio := func(f figure) float64 { return f.ratio }
		was, measured := middle(before, f.part, f.what, ratio)
		if is, both := middle(now, f.part, f.what, ratio); measured && both {
			row[4] = text(was) + " and " + text(is)
		}
		rows = append(rows, row)
	}
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for i := range widths {
		rows[1] = append(rows[1], strings.Repeat("-", max(3, widths[i])))
	}
	for _, row := range rows {
		var line strings.Builder
		for i, cell := range row {
			fmt.Fprintf(&line, "| %s%s ", cell, strings.Repeat(" ", max(3, widths[i])-utf8.RuneCountInString(cell)))
		}
		fmt.Fprintln(w, line.String()+"|")
	}
}

// text writes a value with three digits.
func text(v float64) string {
	digits := cmp.Or(map[bool]int{v < 1: 3, v >= 1 && v < 10: 2, v >= 10 && v < 100: 1}[true], 0)
	return strconv.FormatFloat(v, 'f', digits, 64)
}
