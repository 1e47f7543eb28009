package bench

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"
)

// A figure is one line of the table.
type figure struct {
	part, what string
	value      float64
	unit       string
	target     string // what it should reach; "" for nothing
	// The yardstick: what it is, and its value in the same run; "" for none.
	against   string
	yardstick float64
	// What Determined 0.38.1 reached, measured earlier on a machine of this kind.
	determined string
}

// figures collects what the benchmarks find.
type figures struct {
	mu   sync.Mutex
	list []figure
}

// add adds a figure, in place of an earlier one of the same name: a benchmark may run twice.
func (f *figures) add(x figure) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range f.list {
		if f.list[i].part == x.part && f.list[i].what == x.what {
			f.list[i] = x
			return
		}
	}
	f.list = append(f.list, x)
}

// write prints the table, as Markdown that is also good to read as it is.
func (f *figures) write(w io.Writer) {
	f.mu.Lock()
	defer f.mu.Unlock()
	part := ""
	var rows [][]string
	flush := func() {
		if len(rows) > 0 {
			writeTable(w, part, rows)
		}
		rows = nil
	}
	for _, x := range f.list {
		if x.part != part {
			flush()
			part = x.part
		}
		row := []string{x.what, amount(x.value, x.unit), x.target, "", "", x.determined}
		if x.against != "" {
			row[3] = x.against + ": " + amount(x.yardstick, x.unit)
			row[4] = ratio(x.value, x.yardstick)
		}
		rows = append(rows, row)
	}
	flush()
}

func writeTable(w io.Writer, part string, rows [][]string) {
	head := []string{part, "Detent", "target", "yardstick, same run", "ratio", "Determined 0.38.1, earlier"}
	rows = append([][]string{head, nil}, rows...)
	widths := make([]int, len(head))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	rows[1] = make([]string, len(head))
	for i := range head {
		rows[1][i] = strings.Repeat("-", widths[i])
	}
	fmt.Fprintln(w)
	for _, row := range rows {
		var line strings.Builder
		for i, cell := range row {
			fmt.Fprintf(&line, "| %s%s ", cell, strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)))
		}
		fmt.Fprintln(w, line.String()+"|")
	}
}

// amount writes a value with three digits that mean something.
func amount(v float64, unit string) string {
	digits := 0
	if v != 0 {
		digits = max(0, 2-int(math.Floor(math.Log10(math.Abs(v)))))
	}
	s := fmt.Sprintf("%.*f", digits, v)
	for i := len(s) - 3; digits == 0 && i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	if unit == "" {
		return s
	}
	return s + " " + unit
}

func ratio(v, yardstick float64) string {
	if yardstick == 0 {
		return ""
	}
	return amount(v/yardstick, "×")
}

// percentile of durations; 0 of none.
func percentile(all []time.Duration, p int) time.Duration {
	if len(all) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(all))
	return sorted[min(len(sorted)-1, len(sorted)*p/100)]
}

// median of numbers; 0 of none.
func median(all []float64) float64 {
	if len(all) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(all))
	if n := len(sorted); n%2 == 0 {
		return (sorted[n/2-1] + sorted[n/2]) / 2
	}
	return sorted[len(sorted)/2]
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func TestAmounts(t *testing.T) {
	for v, want := range map[float64]string{0: "0 ms", 0.0123: "0.0123 ms", 1.234: "1.23 ms", 45.67: "45.7 ms", 678.9: "679 ms",
		1234: "1,234 ms", 12345: "12,345 ms", 1234567: "1,234,567 ms"} {
		if got := amount(v, "ms"); got != want {
			t.Errorf("%g is written %q, not %q", v, got, want)
		}
	}
}

func TestTheTableKeepsItsColumns(t *testing.T) {
	var f figures
	f.add(figure{part: "speed", what: "first", value: 10, unit: "/s"})
	f.add(figure{part: "speed", what: "second", value: 3, unit: "/s"})
	f.add(figure{part: "speed", what: "first", value: 20, unit: "/s", against: "bare", yardstick: 40})
	f.add(figure{part: "size", what: "é", value: 1, unit: "MB", target: "2"})
	var b strings.Builder
	f.write(&b)
	want := `
| speed  | Detent  | target | yardstick, same run | ratio   | Determined 0.38.1, earlier |
| ------ | ------- | ------ | ------------------- | ------- | -------------------------- |
| first  | 20.0 /s |        | bare: 40.0 /s       | 0.500 × |                            |
| second | 3.00 /s |        |                     |         |                            |

| size | Detent  | target | yardstick, same run | ratio | Determined 0.38.1, earlier |
| ---- | ------- | ------ | ------------------- | ----- | -------------------------- |
| é    | 1.00 MB | 2      |                     |       |                            |
`
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}

func TestMiddles(t *testing.T) {
	if m := median([]float64{3, 1, 2}); m != 2 {
		t.Errorf("the median of 1 to 3 is %g", m)
	}
	if m := median([]float64{4, 1, 2, 3}); m != 2.5 {
		t.Errorf("the median of 1 to 4 is %g", m)
	}
	var all []time.Duration
	for i := range 200 {
		all = append(all, time.Duration(200-i))
	}
	if p := percentile(all, 99); p != 199 {
		t.Errorf("the 99th percentile of 1 to 200 is %d", p)
	}
}
