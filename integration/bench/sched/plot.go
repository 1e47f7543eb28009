package main

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"time"
)

// A style is how the line of a policy looks.
type style struct{ color, dash string }

var styles = map[string]style{
	"FIFO":                             {"#9a9a9a", ""},
	"best fit":                         {"#d08a2e", ""},
	"priority":                         {"#2b6cb0", ""},
	"priority, preemption":             {"#63a4dd", ""},
	"fair_share":                       {"#2f855a", ""},
	"round_robin":                      {"#805ad5", ""},
	"Determined, priority":             {"#2b6cb0", "6 3"},
	"Determined, priority, preemption": {"#63a4dd", "6 3"},
	"Determined, fair_share":           {"#2f855a", "6 3"},
	"Kueue":                            {"#c05621", "2 2"},
	"Kueue, fair sharing":              {"#b83280", "2 2"},
}

// picture draws the slots in use over time, and how many jobs had started after which wait: first for
// the policies of sched, beside FIFO and best fit, then for the rules of others beside fair_share.
func picture(all []*policy, slots int) []byte {
	var b bytes.Buffer
	begin(&b, 960, 820)
	ours, others := []*policy{}, []*policy{}
	for _, p := range all {
		if !p.others {
			ours = append(ours, p)
		}
		if p.others || p.name == "fair_share" {
			others = append(others, p)
		}
	}
	row(&b, ours, slots, 50, 150)
	row(&b, others, slots, 460, 90)
	fmt.Fprintln(&b, "</svg>")
	return b.Bytes()
}

func row(b *bytes.Buffer, all []*policy, slots int, top, room float64) {
	until := all[0].run.Until * 3 / 2
	panel(b, 60, top, "slots in use, while jobs arrive and after", func(draw func(s style, points [][2]float64)) {
		for _, p := range all {
			draw(styles[p.name], inUse(p, until, slots))
		}
	})
	percents(b, 52, top)
	for i := range 4 {
		text(b, 60+float64(i)*125, top+318, "middle", span(until*time.Duration(i)/3))
	}
	panel(b, 540, top, "jobs that have started after a wait", func(draw func(s style, points [][2]float64)) {
		for _, p := range all {
			draw(styles[p.name], started(p))
		}
	})
	percents(b, 532, top)
	for i, name := range []string{"10 s", "100 s", "17 min", "2.8 h", "28 h", "12 days"} {
		text(b, 540+75*float64(i), top+318, "middle", name)
	}
	legend(b, all, 60, top+340, room)
}

func inUse(p *policy, until time.Duration, slots int) (points [][2]float64) {
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
	return points
}

func started(p *policy) (points [][2]float64) {
	const low, high = 1.0, 6.0 // 10 s to 10⁶ s
	waits := slices.Sorted(slices.Values(p.run.Waits))
	for k := range 401 {
		seconds := math.Pow(10, low+(high-low)*float64(k)/400)
		n, _ := slices.BinarySearch(waits, time.Duration(seconds*float64(time.Second)))
		points = append(points, [2]float64{float64(k) / 400, float64(n) / float64(len(waits))})
	}
	return points
}

func begin(b *bytes.Buffer, width, height int) {
	fmt.Fprintf(b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12" fill="#555">`+"\n", width, height)
}

func percents(b *bytes.Buffer, x, top float64) {
	for i := range 5 {
		text(b, x, top+300-75*float64(i), "end", fmt.Sprintf("%d %%", 25*i))
	}
}

// legend names the policies; a long name takes more room.
func legend(b *bytes.Buffer, all []*policy, x, y, room float64) {
	for _, p := range all {
		s := styles[p.name]
		fmt.Fprintf(b, `<path d="M%g %gh18" stroke="%s" stroke-width="3" stroke-dasharray="%s"/>`, x, y-4, s.color, s.dash)
		text(b, x+24, y, "start", p.name)
		x += max(room, 40+6*float64(len(p.name)))
	}
}

// panel draws axes, and lines of points from 0 to 1.
func panel(b *bytes.Buffer, x, top float64, title string, lines func(draw func(s style, points [][2]float64))) {
	const width, height = 375.0, 300.0
	text(b, x, top-18, "start", title)
	for i := range 5 {
		y := top + height*float64(i)/4
		fmt.Fprintf(b, `<path d="M%g %gh%g" stroke="#888" stroke-opacity=".3"/>`+"\n", x, y, width)
	}
	lines(func(s style, points [][2]float64) {
		fmt.Fprintf(b, `<path fill="none" stroke="%s" stroke-width="1.5" stroke-dasharray="%s" d="`, s.color, s.dash)
		for i, p := range points {
			fmt.Fprintf(b, "%c%.1f %.1f", "ML"[min(i, 1)], x+p[0]*width, top+height*(1-p[1]))
		}
		fmt.Fprintln(b, `"/>`)
	})
}

func text(b *bytes.Buffer, x, y float64, anchor, s string) {
	fmt.Fprintf(b, `<text x="%g" y="%g" text-anchor="%s">%s</text>`+"\n", x, y, anchor, s)
}
