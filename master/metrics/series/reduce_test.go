package series

import (
	"math"
	"math/rand/v2"
	"reflect"
	"testing"
)

// reducedAtOnce is what a reducer keeps, computed with the whole series in memory.
func reducedAtOnce(points []Point, limit int) []Point {
	if limit <= 0 || len(points) <= limit {
		return points
	}
	buckets := max(1, limit/(2*len(points[0].Values)))
	first := points[0].Steps
	width := max(1, (points[len(points)-1].Steps-first+buckets)/buckets)
	var kept []Point
	for begin := 0; begin < len(points); {
		end := begin
		for end < len(points) && (points[end].Steps-first)/width == (points[begin].Steps-first)/width {
			end++
		}
		keep := make([]bool, end-begin)
		for m := range points[0].Values {
			low, high := -1, -1
			for i, p := range points[begin:end] {
				v := p.Values[m]
				if p.Lacks(m) || math.IsNaN(v) && low >= 0 {
					continue
				}
				if low < 0 || !(v >= points[begin+low].Values[m]) {
					low = i
				}
				if high < 0 || !(v <= points[begin+high].Values[m]) {
					high = i
				}
			}
			if low >= 0 {
				keep[low], keep[high] = true, true
			}
		}
		for i, is := range keep {
			if is {
				kept = append(kept, points[begin+i])
			}
		}
		begin = end
	}
	return kept[:min(len(kept), limit)]
}

func TestReducerIsTheSameAsAtOnce(t *testing.T) {
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 1))
		points := make([]Point, 1+r.IntN(300))
		metrics := 1 + r.IntN(4)
		for i, step := 0, r.IntN(50); i < len(points); i++ {
			values := make([]float64, metrics)
			for m := range values {
				switch r.IntN(8) {
				case 0:
					values[m] = Lacking
				case 1:
					values[m] = math.NaN()
				case 2:
					values[m] = math.Inf(r.IntN(2)*2 - 1)
				default:
					values[m] = float64(r.IntN(9))
				}
			}
			points[i] = Point{Steps: step, Values: values}
			step += r.IntN(4) // several runs can have a report of the same step
			if r.IntN(40) == 0 {
				step += r.IntN(1000)
			}
		}
		limit := r.IntN(120)
		got, want := Downsample(points, limit), reducedAtOnce(points, limit)
		same := len(got) == len(want)
		for i := 0; same && i < len(got); i++ {
			same = got[i].Steps == want[i].Steps && reflect.DeepEqual(bitsOf(got[i].Values), bitsOf(want[i].Values))
		}
		if !same {
			t.Fatalf("seed %d: %d points of %d with limit %d:\n%v\nwant %d:\n%v", seed, len(got), len(points), limit, got, len(want), want)
		}
	}
}

func bitsOf(values []float64) (bits []uint64) {
	for _, v := range values {
		bits = append(bits, math.Float64bits(v))
	}
	return bits
}

// A series of any length needs the memory of the points that are kept.
func TestReducerMemory(t *testing.T) {
	n := testing.AllocsPerRun(1, func() {
		r := Reducer{Limit: 2000, Last: 1_000_000}
		p := Point{Values: []float64{0}}
		for i := range 1_000_000 {
			p.Steps, p.Values[0] = i, float64(i%1000)
			r.Add(p)
		}
		if got := len(r.Points()); got < 1000 || got > 2000 {
			t.Errorf("%d points", got)
		}
	})
	if n > 20_000 {
		t.Errorf("%.0f allocations for a million points", n)
	}
}
