package chart_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/cockroachdb/datadriven"

	"github.com/detent-ml/detent/cli/internal/chart"
)

// curve returns a loss that falls, with noise if wobble is not 0.
func curve(n int, every, wobble float64) []chart.Point {
	out := make([]chart.Point, n)
	for i := range out {
		x := every * float64(i+1)
		out[i] = chart.Point{X: x, Y: 2*math.Exp(-x/2500) + 0.1 + wobble*math.Sin(1.7*float64(i))}
	}
	return out
}

// The expected charts are in testdata; go test -rewrite draws them again.
func TestPictures(t *testing.T) {
	training := chart.Series{Name: "training loss", Points: curve(1000, 10, 0.05), Note: "0.14"}
	validation := chart.Series{Name: "validation_loss", Points: curve(10, 1000, 0), Marks: true, Note: "0.137"}
	broken := []chart.Point{{X: 0, Y: 1}, {X: 1, Y: math.NaN()}, {X: 2, Y: 3}, {X: 3, Y: math.Inf(1)}, {X: 4, Y: 2}}
	charts := map[string]chart.Chart{
		"two-curves": {Title: "loss", XLabel: "batches", Series: []chart.Series{training, validation}, Width: 80, Height: 14},
		"ascii":      {Title: "loss", XLabel: "batches", Series: []chart.Series{training, validation}, Width: 60, Height: 10, ASCII: true},
		"log":        {Title: "loss", XLabel: "batches", Series: []chart.Series{training}, Width: 60, Height: 8, Log: true},
		"narrow":     {Title: "loss", Series: []chart.Series{training, validation}, Width: 10, Height: 1},
		"one-point":  {Series: []chart.Series{{Name: "a", Points: []chart.Point{{X: 100, Y: 0.5}}, Marks: true}}, Width: 40, Height: 5},
		"flat":       {Series: []chart.Series{{Name: "a", Points: []chart.Point{{X: 1, Y: 3}, {X: 2, Y: 3}}}}, Width: 40, Height: 5},
		"gaps":       {Series: []chart.Series{{Name: "a", Points: broken}}, Width: 40, Height: 6},
		"empty":      {Title: "loss", Series: []chart.Series{{Name: "a"}}, Width: 40, Height: 6},
		"large":      {Series: []chart.Series{{Name: "a", Points: []chart.Point{{X: 0, Y: -2e7}, {X: 3e6, Y: 5e8}}}}, Width: 50, Height: 6},
		"colours": {Series: []chart.Series{training, validation}, Width: 40, Height: 4,
			Paint: func(code int, text string) string { return fmt.Sprintf("<%d:%s>", code, text) }},
	}
	datadriven.RunTest(t, "testdata/charts", func(t *testing.T, d *datadriven.TestData) string {
		c, ok := charts[d.CmdArgs[0].Key]
		if !ok {
			d.Fatalf(t, "no chart %s", d.CmdArgs[0].Key)
		}
		return strings.Join(c.Draw(), "\n") + "\n"
	})
}

// Whatever is drawn fits.
func TestEveryLineFits(t *testing.T) {
	for width := 24; width < 200; width += 7 {
		for _, ascii := range []bool{false, true} {
			c := chart.Chart{Title: "t", XLabel: "batches", Width: width, Height: 9, ASCII: ascii, Series: []chart.Series{
				{Name: "a", Points: curve(500, 10, 0.2)}, {Name: "b", Points: curve(7, 600, 0), Marks: true}}}
			for i, line := range c.Draw() {
				if n := utf8.RuneCountInString(line); n > width {
					t.Errorf("width %d: line %d has %d columns: %s", width, i, n, line)
				}
			}
		}
	}
}

func TestExtremesAreSeen(t *testing.T) {
	points := curve(10_000, 1, 0)
	points[5000].Y = 50 // one outlier among ten thousand
	c := chart.Chart{Width: 60, Height: 10, Series: []chart.Series{{Name: "a", Points: points}}}
	lines := c.Draw()
	if !strings.ContainsFunc(lines[0], func(r rune) bool { return r > 0x2800 && r < 0x2900 }) {
		t.Errorf("the outlier is not in the uppermost line:\n%s", strings.Join(lines, "\n"))
	}
}

func TestValue(t *testing.T) {
	for f, want := range map[float64]string{
		0: "0", 0.123456: "0.1235", 12.3456: "12.35", 0.00012: "1.20e-04", 12345678: "1.23e+07", math.NaN(): "NaN", -1: "-1",
	} {
		if got := chart.Value(f); got != want {
			t.Errorf("Value(%v) = %s, want %s", f, got, want)
		}
	}
}

func BenchmarkDraw(b *testing.B) {
	c := chart.Chart{Width: 120, Height: 14, Series: []chart.Series{{Name: "a", Points: curve(100_000, 1, 0.1)}}}
	for b.Loop() {
		c.Draw()
	}
}
