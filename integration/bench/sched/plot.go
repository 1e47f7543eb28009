package main

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"time"
)

var colors = []string{"#9a9a9a", "#d08a2e", "#2b6cb0", "#63a4dd", "#2f855a", "#805ad5"}

// picture draws the slots in use over time, and how many jobs had started after which wait.
func picture(all []*policy, slots int) []byte {
	var b bytes.Buffer
	fmt.Fprint(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 960 400" font-family="sans-serif" font-size="12" fill="#555">`+"\n")
	until := all[0].run.Until * 3 / 2
	panel(&b, 60, "slots in use, while jobs arrive and after", func(draw func(color string, points [][2]float64)) {
		for i, p := range all {
			var points [][2]float64
			last := -1.0
			for _, u := range p.run.Used {
				x := float64(u.At) / float64(until)
				if x > 1 {
					break
				}
				if x-last < 1.0/400 {
					continue
				}
				last = x
				points = append(points, [2]float64{x, float64(u.Slots) / float64(slots)})
			}
			draw(colors[i], points)
		}
	})
	for i := range 5 {
		text(&b, 52, 350-75*float64(i), "end", fmt.Sprintf("%d %%", 25*i))
	}
	for i := range 4 {
		text(&b, 60+float64(i)*125, 368, "middle", span(until*time.Duration(i)/3))
	}
	const low, high = 1.0, 6.0 // 10 s to 10⁶ s
	panel(&b, 540, "jobs that have started after a wait", func(draw func(color string, points [][2]float64)) {
		for i, p := range all {
			waits := slices.Sorted(slices.Values(p.run.Waits))
			var points [][2]float64
			for k := range 401 {
				seconds := math.Pow(10, low+(high-low)*float64(k)/400)
				n, _ := slices.BinarySearch(waits, time.Duration(seconds*float64(time.Second)))
				points = append(points, [2]float64{float64(k) / 400, float64(n) / float64(len(waits))})
			}
			draw(colors[i], points)
		}
	})
	for i := range 5 {
		text(&b, 532, 350-75*float64(i), "end", fmt.Sprintf("%d %%", 25*i))
	}
	for i, name := range []string{"10 s", "100 s", "17 min", "2.8 h", "28 h", "12 days"} {
		text(&b, 540+75*float64(i), 368, "middle", name)
	}
	for i, p := range all {
		x := 60 + 150*float64(i)
		fmt.Fprintf(&b, `<rect x="%g" y="384" width="14" height="4" fill="%s"/>`, x, colors[i])
		text(&b, x+20, 390, "start", p.name)
	}
	fmt.Fprintln(&b, "</svg>")
	return b.Bytes()
}

// panel draws axes at x, and lines of points from 0 to 1.
func panel(b *bytes.Buffer, x float64, title string, lines func(draw func(color string, points [][2]float64))) {
	const width, height, top = 375.0, 300.0, 50.0
	text(b, x, top-18, "start", title)
	for i := range 5 {
		y := top + height*float64(i)/4
		fmt.Fprintf(b, `<path d="M%g %gh%g" stroke="#888" stroke-opacity=".3"/>`+"\n", x, y, width)
	}
	lines(func(color string, points [][2]float64) {
		fmt.Fprintf(b, `<path fill="none" stroke="%s" stroke-width="1.5" d="`, color)
		for i, p := range points {
			fmt.Fprintf(b, "%c%.1f %.1f", "ML"[min(i, 1)], x+p[0]*width, top+height*(1-p[1]))
		}
		fmt.Fprintln(b, `"/>`)
	})
}

func text(b *bytes.Buffer, x, y float64, anchor, s string) {
	fmt.Fprintf(b, `<text x="%g" y="%g" text-anchor="%s">%s</text>`+"\n", x, y, anchor, s)
}
