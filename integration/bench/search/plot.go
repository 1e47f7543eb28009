package main

import (
	"fmt"
	"math"
	"strings"
)

// Sizes of the plot.
const (
	panelW, panelH  = 300.0, 230.0
	left, top       = 52.0, 34.0
	gapX, gapY      = 26.0, 74.0
	panelsInRow     = 3
	lowest, highest = -3.0, -0.2 // powers of ten
)

// color is the color of a method, by its position.
func color(method int) string {
	list := [...]string{"#8a8a8a", "#1f77b4", "#17a2b8", "#9467bd", "#2ca02c", "#d62728", "#e8710a", "#7a5230", "#000000", "#666600", "#b8860b"}
	return list[method%len(list)]
}

// plot draws mean regret against budget, on a logarithmic scale, a panel for each
// table and a band for each interval.
func plot(o options, all []series) string {
	tables, methods := names(all, func(s series) string { return s.Table }), names(all, func(s series) string { return s.Method })
	rows, legend := (len(tables)+panelsInRow-1)/panelsInRow, (len(methods)+2)/3
	width, under := left+(panelW+gapX)*float64(min(len(tables), panelsInRow)), (panelH+gapY)*float64(rows)
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" font-family="sans-serif" font-size="11"><rect width="100%%" height="100%%" fill="white"/>`+"\n",
		width, under+10+18*float64(legend))
	for p, table := range tables {
		panel(&b, o, all, table, left+(panelW+gapX)*float64(p%panelsInRow), top+(panelH+gapY)*float64(p/panelsInRow), p%panelsInRow == 0)
	}
	for m, method := range methods {
		x, y := left+float64(m%3)*(width-left)/3, under+6+18*float64(m/3)
		fmt.Fprintf(&b, `<line x1="%.1f" x2="%.1f" y1="%.1f" y2="%.1f" stroke="%s" stroke-width="3"/><text x="%.1f" y="%.1f">%s</text>`+"\n",
			x, x+18, y, y, color(m), x+24, y+4, method)
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// panel draws one table, with its upper left corner at x0, y0.
func panel(b *strings.Builder, o options, all []series, table string, x0, y0 float64, first bool) {
	x := func(i int) float64 { return x0 + panelW*float64(i+1)/checked }
	y := func(v float64) float64 {
		at := y0 + panelH*(highest-math.Log10(max(v, math.Pow(10, lowest))))/(highest-lowest)
		return min(max(at, y0), y0+panelH)
	}
	fmt.Fprintf(b, `<text x="%.1f" y="%.1f" font-weight="bold">%s</text><rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="none" stroke="#999"/>`+"\n",
		x0, y0-14, table, x0, y0, panelW, panelH)
	for _, v := range []float64{0.001, 0.003, 0.01, 0.03, 0.1, 0.3} {
		fmt.Fprintf(b, `<line x1="%.1f" x2="%.1f" y1="%.1f" y2="%.1f" stroke="#e4e4e4"/>`, x0, x0+panelW, y(v), y(v))
		if first {
			fmt.Fprintf(b, `<text x="%.1f" y="%.1f" text-anchor="end">%g</text>`, x0-4, y(v)+4, v)
		}
	}
	for k := range 4 {
		fmt.Fprintf(b, `<text x="%.1f" y="%.1f" text-anchor="middle">%.0f</text>`+"\n", x0+panelW*float64(k+1)/4, y0+panelH+14, float64(o.budget)*float64(k+1)/4)
	}
	fmt.Fprintf(b, `<text x="%.1f" y="%.1f" text-anchor="middle">budget, in whole trainings</text>`+"\n", x0+panelW/2, y0+panelH+29)
	for m, method := range names(all, func(s series) string { return s.Method }) {
		var line, upper, lower []string
		for i := range checked {
			runs := pooled(all, table, method, i)
			if runs == nil { // a method that did not run here
				break
			}
			mean, lo, hi := interval(runs)
			line = append(line, fmt.Sprintf("%.1f,%.1f", x(i), y(mean)))
			upper = append(upper, fmt.Sprintf("%.1f,%.1f", x(i), y(hi)))
			lower = append([]string{fmt.Sprintf("%.1f,%.1f", x(i), y(lo))}, lower...)
		}
		c := color(m)
		fmt.Fprintf(b, `<polygon points="%s" fill="%s" fill-opacity="0.08"/>`+"\n", strings.Join(append(upper, lower...), " "), c)
		fmt.Fprintf(b, `<polyline points="%s" fill="none" stroke="%s" stroke-width="1.6"/>`+"\n", strings.Join(line, " "), c)
	}
}
