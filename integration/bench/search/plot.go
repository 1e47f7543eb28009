package main

import (
	"fmt"
	"math"
	"strings"
)

// plot draws mean regret against budget, on a logarithmic scale, a panel for each
// table and a band for each interval.
func plot(o options, all []series) string {
	const w, h, left, top, gap = 300.0, 230.0, 52.0, 34.0, 26.0
	colors := []string{"#8a8a8a", "#1f77b4", "#17a2b8", "#9467bd", "#2ca02c", "#d62728", "#e8710a", "#7a5230", "#000000", "#666600"}
	tables, methods := names(all, func(s series) string { return s.Table }), names(all, func(s series) string { return s.Method })
	rows := (len(methods) + 2) / 3
	var b strings.Builder
	width, height := left+(w+gap)*float64(len(tables)), top+h+46+18*float64(rows)
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" font-family="sans-serif" font-size="11"><rect width="100%%" height="100%%" fill="white"/>`+"\n", width, height)
	const lowest, highest = -3.0, -0.2 // powers of ten
	y := func(v float64) float64 {
		return top + h*(highest-math.Log10(max(v, math.Pow(10, lowest))))/(highest-lowest)
	}
	for p, table := range tables {
		x0 := left + (w+gap)*float64(p)
		x := func(i int) float64 { return x0 + w*float64(i+1)/checked }
		fmt.Fprintf(&b, `<text x="%.1f" y="20" font-weight="bold">%s</text><rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="none" stroke="#999"/>`+"\n", x0, table, x0, top, w, h)
		for _, v := range []float64{0.001, 0.003, 0.01, 0.03, 0.1, 0.3} {
			fmt.Fprintf(&b, `<line x1="%.1f" x2="%.1f" y1="%.1f" y2="%.1f" stroke="#e4e4e4"/>`, x0, x0+w, y(v), y(v))
			if p == 0 {
				fmt.Fprintf(&b, `<text x="%.1f" y="%.1f" text-anchor="end">%g</text>`, x0-4, y(v)+4, v)
			}
		}
		for k := range 4 {
			fmt.Fprintf(&b, `<text x="%.1f" y="%.1f" text-anchor="middle">%.0f</text>`+"\n", x0+w*float64(k+1)/4, top+h+14, float64(o.budget)*float64(k+1)/4)
		}
		fmt.Fprintf(&b, `<text x="%.1f" y="%.1f" text-anchor="middle">budget, in whole trainings</text>`+"\n", x0+w/2, top+h+29)
		for m, method := range methods {
			var line, upper, lower []string
			for i := range checked {
				mean, lo, hi := interval(pooled(all, table, method, i))
				line = append(line, fmt.Sprintf("%.1f,%.1f", x(i), min(max(y(mean), top), top+h)))
				upper = append(upper, fmt.Sprintf("%.1f,%.1f", x(i), min(max(y(hi), top), top+h)))
				lower = append([]string{fmt.Sprintf("%.1f,%.1f", x(i), min(max(y(lo), top), top+h))}, lower...)
			}
			c := colors[m%len(colors)]
			fmt.Fprintf(&b, `<polygon points="%s" fill="%s" fill-opacity="0.08"/>`+"\n", strings.Join(append(upper, lower...), " "), c)
			fmt.Fprintf(&b, `<polyline points="%s" fill="none" stroke="%s" stroke-width="1.6"/>`+"\n", strings.Join(line, " "), c)
		}
	}
	for m, method := range methods {
		lx, ly := left+float64(m%3)*(width-left)/3, top+h+50+18*float64(m/3)
		fmt.Fprintf(&b, `<line x1="%.1f" x2="%.1f" y1="%.1f" y2="%.1f" stroke="%s" stroke-width="3"/><text x="%.1f" y="%.1f">%s</text>`+"\n",
			lx, lx+18, ly, ly, colors[m%len(colors)], lx+24, ly+4, method)
	}
	b.WriteString("</svg>\n")
	return b.String()
}
