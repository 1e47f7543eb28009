// Package chart draws curves in a terminal.
//
// A Chart is a value: series, size, and options. Draw returns lines of text. Curves are drawn
// with Braille characters, eight dots in a cell, or with ASCII characters on terminals without
// Braille. A series with few points, such as validations, has a mark on each point, which
// distinguishes it without colours.
package chart

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/detent-ml/detent/master/each"
)

// A Point is a value at a step.
type Point struct{ X, Y float64 }

// A Series is one curve. Its points are in the order of X.
type Series struct {
	Name   string
	Points []Point
	Marks  bool // mark every point, if there is space
	Note   string
}

// A Chart is what to draw.
type Chart struct {
	Title  string
	XLabel string
	Series []Series
	Width  int  // columns in total
	Height int  // lines of the curve's field, without title, axis and legend
	ASCII  bool // no Braille and no box drawing
	Log    bool // logarithmic y, if all values are above 0
	Paint  func(colour int, text string) string
}

// The colours of the series in their order, as ANSI codes.
var colours = [...]int{36, 33, 35, 32, 34, 31, 96, 93}

const (
	minWidth  = 24
	minHeight = 3
)

// Draw returns the lines of the chart without line breaks.
func (c Chart) Draw() []string {
	c.Width, c.Height = max(c.Width, minWidth), max(c.Height, minHeight)
	if c.Paint == nil {
		c.Paint = func(_ int, text string) string { return text }
	}
	out := c.head()
	box, ok := c.bounds()
	if !ok {
		return append(out, "  (no values to draw)")
	}
	ticks := niceTicks(box.y0, box.y1, max(2, c.Height/2), c.log())
	labels := c.labels(ticks)
	margin := 0
	for _, l := range labels {
		margin = max(margin, len(l))
	}
	columns := max(c.Width-margin-3, 8)
	field := newField(columns, c.Height, box, c.ASCII)
	for i, s := range c.Series {
		field.curve(c.points(s), i)
	}
	for i, s := range c.Series {
		if s.Marks && len(s.Points) <= columns {
			field.marks(c.points(s), i, c.mark(i))
		}
	}
	out = append(out, c.rows(field, ticks, labels, margin)...)
	out = append(out, c.axis(box, margin, columns)...)
	return append(out, c.legend()...)
}

func (c Chart) head() []string {
	if c.Title == "" {
		return nil
	}
	return []string{c.Title}
}

// log reports whether all values have a logarithm.
func (c Chart) log() bool {
	if !c.Log {
		return false
	}
	for _, s := range c.Series {
		for _, p := range s.Points {
			if finite(p) && p.Y <= 0 {
				return false
			}
		}
	}
	return true
}

// points is a series in the coordinates of the drawing.
func (c Chart) points(s Series) []Point {
	if !c.log() {
		return s.Points
	}
	return each.Of(s.Points, func(p Point) Point { return Point{p.X, math.Log10(p.Y)} })
}

func finite(p Point) bool {
	return !math.IsNaN(p.Y) && !math.IsInf(p.Y, 0) && !math.IsNaN(p.X) && !math.IsInf(p.X, 0)
}

// A box is the visible part of the plane.
type box struct{ x0, x1, y0, y1 float64 }

func (c Chart) bounds() (box, bool) {
	b := box{math.Inf(1), math.Inf(-1), math.Inf(1), math.Inf(-1)}
	for _, s := range c.Series {
		for _, p := range c.points(s) {
			if finite(p) {
				b.x0, b.x1 = min(b.x0, p.X), max(b.x1, p.X)
				b.y0, b.y1 = min(b.y0, p.Y), max(b.y1, p.Y)
			}
		}
	}
	if b.x0 > b.x1 {
		return b, false
	}
	if b.x0 == b.x1 {
		b.x1 = b.x0 + 1
	}
	if b.y1-b.y0 < 1e-12*max(math.Abs(b.y0), math.Abs(b.y1), 1e-300) {
		d := max(math.Abs(b.y0)*0.1, 1e-9)
		b.y0, b.y1 = b.y0-d, b.y1+d
	}
	return b, true
}

// rows joins labels, axis and field.
func (c Chart) rows(f *field, ticks []float64, labels []string, margin int) []string {
	bar, tick := "│", "┤"
	if c.ASCII {
		bar, tick = "|", "+"
	}
	at := map[int]string{}
	for i, t := range ticks {
		row := f.row(t)
		if _, taken := at[row]; !taken && row >= 0 && row < c.Height {
			at[row] = labels[i]
		}
	}
	out := make([]string, c.Height)
	for r := range out {
		label, edge := "", bar
		if l, ok := at[r]; ok {
			label, edge = l, tick
		}
		out[r] = strings.TrimRight(fmt.Sprintf(" %*s %s%s", margin, label, edge, f.text(r, c.Paint)), " ")
	}
	return out
}

// axis is the line below the field, and the labels of its steps.
func (c Chart) axis(b box, margin, columns int) []string {
	corner, line, tick := "└", "─", "┬"
	if c.ASCII {
		corner, line, tick = "+", "-", "+"
	}
	marks := slices.Repeat([]string{line}, columns)
	labels := []rune(strings.Repeat(" ", columns+12))
	free := -1
	for _, t := range wholeTicks(b.x0, b.x1, max(2, columns/12)) {
		at := int(math.Round((t - b.x0) / (b.x1 - b.x0) * float64(columns-1)))
		text := short(t)
		from := min(max(0, at-len(text)/2), columns-len(text))
		if at < 0 || at >= columns || from <= free {
			continue
		}
		marks[at] = tick
		copy(labels[from:], []rune(text))
		free = from + len(text)
	}
	indent := strings.Repeat(" ", margin+2)
	out := []string{indent + corner + strings.Join(marks, ""), strings.TrimRight(indent+" "+string(labels), " ")}
	if c.XLabel != "" {
		pad := max(0, (columns-len(c.XLabel))/2)
		out = append(out, indent+" "+strings.Repeat(" ", pad)+c.XLabel)
	}
	return out
}

// legend names the curves, on as few lines as possible.
func (c Chart) legend() []string {
	var out []string
	current, used := "", 0
	for i, s := range c.Series {
		sign := c.sign(i)
		text := s.Name
		if s.Note != "" {
			text += "  " + s.Note
		}
		size := 2 + len([]rune(text)) + 3
		if used > 0 && used+size > c.Width-1 {
			out = append(out, current)
			current, used = "", 0
		}
		current += " " + c.Paint(colours[i%len(colours)], sign) + " " + text + "  "
		used += size
	}
	if current != "" {
		out = append(out, current)
	}
	for i := range out {
		out[i] = strings.TrimRight(out[i], " ")
	}
	return out
}

// mark is the sign for the points of a series with marks.
func (c Chart) mark(i int) rune {
	before := 0
	for _, s := range c.Series[:i] {
		if s.Marks {
			before++
		}
	}
	if c.ASCII {
		return []rune("o@%&")[before%4]
	}
	return []rune("●○◆◇")[before%4]
}

func (c Chart) sign(i int) string {
	switch {
	case c.Series[i].Marks:
		return string(c.mark(i))
	case c.ASCII:
		return string(letterOf(i))
	}
	return "━"
}
