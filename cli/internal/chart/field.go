package chart

import "math"

// A cell of a field has two columns and four rows of dots in Braille, and one dot in ASCII.
const (
	brailleColumns = 2
	brailleRows    = 4
)

// field is the area of the curves.
type field struct {
	columns, rows int // cells
	dx, dy        int // dots per cell
	box           box
	ascii         bool
	dots          []byte // per cell: Braille's eight bits
	owner         []int  // per cell: which series drew there last, -1 for none
	glyph         []rune // per cell: a mark, 0 for none
}

func newField(columns, rows int, b box, ascii bool) *field {
	f := &field{
		columns: columns, rows: rows, dx: brailleColumns, dy: brailleRows, box: b, ascii: ascii,
		dots: make([]byte, columns*rows), owner: make([]int, columns*rows), glyph: make([]rune, columns*rows),
	}
	if ascii {
		f.dx, f.dy = 1, 1
	}
	for i := range f.owner {
		f.owner[i] = -1
	}
	return f
}

// place is the dot of a point.
func (f *field) place(p Point) (x, y int) {
	w, h := f.columns*f.dx-1, f.rows*f.dy-1
	x = int(math.Round((p.X - f.box.x0) / (f.box.x1 - f.box.x0) * float64(w)))
	y = int(math.Round((f.box.y1 - p.Y) / (f.box.y1 - f.box.y0) * float64(h)))
	return min(max(x, 0), w), min(max(y, 0), h)
}

// row is the line of cells for a value.
func (f *field) row(y float64) int {
	return int(math.Round((f.box.y1-y)/(f.box.y1-f.box.y0)*float64(f.rows*f.dy-1))) / f.dy
}

// bits are the Braille bits by row and column of the dot.
var bits = [brailleRows][brailleColumns]byte{{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}}

func (f *field) dot(x, y, series int) {
	cell := y/f.dy*f.columns + x/f.dx
	if f.ascii {
		f.dots[cell] = 1
	} else {
		f.dots[cell] |= bits[y%f.dy][x%f.dx]
	}
	f.owner[cell] = series
}

// curve joins the points by lines. A value that is not a number interrupts the curve.
func (f *field) curve(points []Point, series int) {
	px, py, joined := 0, 0, false
	for _, p := range points {
		if !finite(p) {
			joined = false
			continue
		}
		x, y := f.place(p)
		if joined {
			f.line(px, py, x, y, series)
		} else {
			f.dot(x, y, series)
		}
		px, py, joined = x, y, true
	}
}

// line draws a line between two dots along the longer axis.
func (f *field) line(x0, y0, x1, y1, series int) {
	steps := max(abs(x1-x0), abs(y1-y0))
	if steps == 0 {
		f.dot(x0, y0, series)
		return
	}
	for i := 0; i <= steps; i++ {
		x := x0 + int(math.Round(float64((x1-x0)*i)/float64(steps)))
		y := y0 + int(math.Round(float64((y1-y0)*i)/float64(steps)))
		f.dot(x, y, series)
	}
}

func abs(n int) int { return max(n, -n) }

// marks draws a sign on every point.
func (f *field) marks(points []Point, series int, sign rune) {
	for _, p := range points {
		if finite(p) {
			x, y := f.place(p)
			cell := y/f.dy*f.columns + x/f.dx
			f.glyph[cell], f.owner[cell] = sign, series
		}
	}
}

func letterOf(series int) rune { return []rune(".*#=:~+-")[series%8] }

// text is a line of cells, in the colours of their series.
func (f *field) text(row int, paint func(int, string) string) string {
	out, run, owner := "", "", -1
	flush := func() {
		if owner >= 0 {
			run = paint(colours[owner%len(colours)], run)
		}
		out, run = out+run, ""
	}
	for c := range f.columns {
		cell := row*f.columns + c
		if f.owner[cell] != owner {
			flush()
			owner = f.owner[cell]
		}
		switch {
		case f.glyph[cell] != 0:
			run += string(f.glyph[cell])
		case f.owner[cell] < 0:
			run += " "
		case f.ascii:
			run += string(letterOf(owner))
		default:
			run += string(rune(0x2800 + int(f.dots[cell])))
		}
	}
	flush()
	return out
}
