package front

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/detent-ml/detent/master/expconf/objectives"
)

func points(lists ...[]float64) (out []Point) {
	for _, v := range lists {
		out = append(out, Point{Values: v})
	}
	return out
}

// TestOrder: the front comes first, spread, and results that break bounds come last.
func TestOrder(t *testing.T) {
	for name, c := range map[string]struct {
		points []Point
		order  []int
		ranks  []int
	}{
		"one metric":    {points([]float64{3}, []float64{1}, []float64{2}, []float64{1}), []int{1, 3, 2, 0}, []int{2, 0, 1, 0}},
		"two fronts":    {points([]float64{2, 2}, []float64{0, 3}, []float64{3, 0}, []float64{1, 1}), []int{1, 2, 3, 0}, []int{1, 0, 0, 0}},
		"spread":        {points([]float64{0, 10}, []float64{0.1, 9.9}, []float64{5, 5}, []float64{10, 0}), []int{0, 3, 2, 1}, []int{0, 0, 0, 0}},
		"equal":         {points([]float64{1, 1}, []float64{1, 1}, []float64{2, 2}), []int{0, 1, 2}, []int{0, 0, 1}},
		"bounds":        {[]Point{{[]float64{0, 0}, 2}, {[]float64{9, 9}, 0}, {[]float64{0, 0}, 1}, Worst(), {[]float64{5, 5}, 1}}, []int{1, 2, 4, 0, 3}, []int{2, 0, 1, 3, 1}},
		"not finite":    {points([]float64{math.NaN(), 0}, []float64{9, 9}, []float64{math.Inf(-1), 0}), []int{1, 0, 2}, []int{1, 0, 1}},
		"three metrics": {points([]float64{0, 0, 1}, []float64{0, 1, 0}, []float64{1, 1, 1}, []float64{1, 0, 0}), []int{0, 1, 3, 2}, []int{0, 0, 1, 0}},
		"none":          {nil, nil, []int{}},
	} {
		if r := Sort(c.points); !slices.Equal(r.Order, c.order) || !slices.Equal(r.Ranks, c.ranks) {
			t.Errorf("%s: order %v, ranks %v; want %v and %v", name, r.Order, r.Ranks, c.order, c.ranks)
		}
	}
}

// checkRanking compares a ranking with what its definition says.
func checkRanking(t *testing.T, list []Point) {
	t.Helper()
	r := Sort(list)
	if sorted := slices.Sorted(slices.Values(r.Order)); len(sorted) != len(list) {
		t.Fatalf("%d of %d results are in the order", len(sorted), len(list))
	}
	for n, i := range r.Order {
		if n > 0 && r.Ranks[r.Order[n-1]] > r.Ranks[i] {
			t.Fatalf("rank %d comes before rank %d", r.Ranks[r.Order[n-1]], r.Ranks[i])
		}
		above := false // a result of the rank before dominates it
		for j := range list {
			if list[j].Dominates(list[i]) {
				if r.Ranks[j] >= r.Ranks[i] {
					t.Fatalf("%v of rank %d dominates %v of rank %d", list[j], r.Ranks[j], list[i], r.Ranks[i])
				}
				above = above || r.Ranks[j] == r.Ranks[i]-1
			}
		}
		if r.Ranks[i] > 0 && !above {
			t.Fatalf("%v has rank %d, and nothing of the rank before dominates it", list[i], r.Ranks[i])
		}
	}
}

func random(rng *rand.Rand, n, metrics int) (out []Point) {
	for range n {
		p := Point{}
		for range metrics {
			p.Values = append(p.Values, float64(rng.IntN(12)))
		}
		if rng.IntN(4) == 0 {
			p.Violation = float64(rng.IntN(3))
		}
		out = append(out, p)
	}
	return out
}

// TestRankingProperties: with few different values many results are equal or on one front.
func TestRankingProperties(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for round := range 200 {
		checkRanking(t, random(rng, rng.IntN(40), 1+round%objectives.MaxMetrics))
	}
}

// TestManyResults: of more results than are compared with each other, no later one dominates an earlier one of the first.
func TestManyResults(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	var list []Point
	for range maxExact + 500 {
		list = append(list, Point{Values: []float64{rng.Float64(), rng.Float64(), rng.Float64()}})
	}
	r := Sort(list)
	if len(r.Order) != len(list) {
		t.Fatalf("%d of %d results are in the order", len(r.Order), len(list))
	}
	for _, i := range r.Order[:100] {
		for _, j := range r.Order[100:] {
			if list[j].Dominates(list[i]) {
				t.Fatalf("%v comes behind %v, and dominates it", list[j], list[i])
			}
		}
	}
}

// TestSpreadIsNested: the first results of a front are spread whatever their number: their smallest distance falls from one to the next.
func TestSpreadIsNested(t *testing.T) {
	var list []Point
	var all []int
	for i := range 100 {
		x := float64(i*i) / 9801
		list, all = append(list, Point{Values: []float64{x, 1 - x}}), append(all, i)
	}
	order := Spread(list, all)
	before := math.Inf(1)
	for n := 1; n < len(order); n++ {
		nearest := math.Inf(1)
		for _, j := range order[:min(n, maxSpread)] {
			nearest = min(nearest, distance(list[order[n]].Values, list[j].Values))
		}
		if nearest > before+1e-12 {
			t.Fatalf("result %d is %v from those before it, and the one before was %v", n, nearest, before)
		}
		before = nearest
	}
	huge := points([]float64{-math.MaxFloat64, math.MaxFloat64}, []float64{0, 0}, []float64{math.MaxFloat64, -math.MaxFloat64})
	if got := Spread(huge, []int{0, 1, 2}); !slices.Equal(got, []int{0, 2, 1}) {
		t.Errorf("the largest numbers: %v", got)
	}
}

// TestArchive: the archive has the front of all that were added, up to its limit.
func TestArchive(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for round := range 100 {
		var a Archive[int]
		list := random(rng, 60, 1+round%objectives.MaxMetrics)
		for i, p := range list {
			a.Add(p, i)
		}
		want := map[string]bool{}
		for i, n := range Sort(list).Ranks {
			if n == 0 && list[i].Feasible() {
				want[fmt.Sprint(list[i].Values)] = true
			}
		}
		got := map[string]bool{}
		for _, i := range a.List() {
			got[fmt.Sprint(list[i].Values)] = true
		}
		if fmt.Sprint(got) != fmt.Sprint(want) || a.Len() != len(want) {
			t.Fatalf("the archive has %v, the front is %v", got, want)
		}
	}
	var a Archive[int]
	for i := range 2 * MaxPoints {
		a.Add(Point{Values: []float64{float64(i), -float64(i)}}, i)
	}
	if list := a.List(); a.Len() != MaxPoints || list[0] != 0 || list[1] < 2*MaxPoints-2 {
		t.Errorf("a full archive has %d results, and begins with %v", a.Len(), list[:2])
	}
}

// TestArchiveIsThinnedSeldom: a trial whose results are all on the front, each better in one metric and worse in the other, does not make the archive
// order its results again each time.
func TestArchiveIsThinnedSeldom(t *testing.T) {
	var a Archive[int]
	const results = 20_000
	thinned := 0
	for i := range results {
		before := len(a.points)
		if a.Add(Point{Values: []float64{-float64(i), float64(i)}}, i); len(a.points) <= before {
			thinned++
		}
		if len(a.points) >= 2*MaxPoints || len(a.of) != len(a.points) || a.Len() != min(i+1, MaxPoints) {
			t.Fatalf("after %d results: %d, %d, %d", i+1, len(a.points), len(a.of), a.Len())
		}
	}
	if thinned > results/MaxPoints {
		t.Errorf("%d results were ordered %d times", results, thinned)
	}
	if list := a.List(); len(list) != MaxPoints || list[0] != results-1 || list[1] != 0 {
		t.Errorf("%d results, and the first are %v", len(list), list[:2])
	}
}

// TestVolume: exact volumes, and those of random fronts by counting the cells of a grid.
func TestVolume(t *testing.T) {
	for name, c := range map[string]struct {
		values    [][]float64
		reference []float64
		want      float64
	}{
		"none":           {nil, []float64{1, 1}, 0},
		"one metric":     {[][]float64{{3}, {1}}, []float64{4}, 3},
		"a staircase":    {[][]float64{{0, 2}, {1, 1}, {2, 0}}, []float64{3, 3}, 6},
		"outside":        {[][]float64{{0, 3}, {5, -1}}, []float64{3, 3}, 0},
		"two cubes":      {[][]float64{{0, 0, 1}, {1, 1, 0}}, []float64{2, 2, 2}, 5},
		"equal heights":  {[][]float64{{0, 1, 0}, {1, 0, 0}}, []float64{2, 2, 2}, 6},
		"four metrics":   {[][]float64{{0, 0, 0, 1}, {1, 1, 1, 0}}, []float64{2, 2, 2, 2}, 9},
		"a worse result": {[][]float64{{0, 0}, {1, 1}, {0, 0}}, []float64{2, 2}, 4},
	} {
		if got, err := Volume(c.values, c.reference); err != nil || math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%s: %v, %v; want %v", name, got, err, c.want)
		}
	}
	rng := rand.New(rand.NewPCG(7, 8))
	const side = 6
	for round := range 60 {
		metrics := 1 + round%objectives.MaxMetrics
		var values [][]float64
		for range rng.IntN(12) {
			v := make([]float64, metrics)
			for m := range v {
				v[m] = float64(rng.IntN(side))
			}
			values = append(values, v)
		}
		reference := slices.Repeat([]float64{side}, metrics)
		got, err := Volume(values, reference)
		if want := cells(values, make([]float64, 0, metrics), metrics, side); err != nil || got != want {
			t.Fatalf("the volume of %v is %v, %v; want %v", values, got, err, want)
		}
	}
	for _, wrong := range []struct {
		values    [][]float64
		reference []float64
	}{{nil, nil}, {nil, make([]float64, 5)}, {[][]float64{{1}}, []float64{2, 2}}} {
		if _, err := Volume(wrong.values, wrong.reference); err == nil {
			t.Errorf("%v has a volume", wrong)
		}
	}
}

// cells counts the cells of a grid that a result dominates.
func cells(values [][]float64, at []float64, metrics, side int) (n float64) {
	if len(at) < metrics {
		for x := range side {
			n += cells(values, append(at, float64(x)), metrics, side)
		}
		return n
	}
	if slices.ContainsFunc(values, func(v []float64) bool { return slices.Equal(v, at) || dominates(v, at) }) {
		return 1
	}
	return 0
}

// FuzzSort: any numbers make an order that fulfils its definition.
func FuzzSort(f *testing.F) {
	f.Add(uint8(2), []byte{0, 0, 0, 0, 0, 0, 240, 63})
	f.Add(uint8(3), make([]byte, 200))
	f.Fuzz(func(t *testing.T, metrics uint8, data []byte) {
		n := 1 + int(metrics)%objectives.MaxMetrics
		var list []Point
		for ; len(data) >= 8*n && len(list) < 64; data = data[8*n:] {
			p := Point{}
			for m := range n {
				p.Values = append(p.Values, math.Float64frombits(binary.LittleEndian.Uint64(data[8*m:])))
			}
			p.Violation = float64(data[0] % 3)
			list = append(list, p)
		}
		checkRanking(t, list)
		var values [][]float64
		for _, p := range list {
			values = append(values, p.Values)
		}
		if _, err := Volume(values, slices.Repeat([]float64{1}, n)); err != nil {
			t.Fatal(err)
		}
	})
}

// BenchmarkSort ranks the trials of the largest search, all of them on one front.
func BenchmarkSort(b *testing.B) {
	for _, metrics := range []int{2, 4} {
		rng := rand.New(rand.NewPCG(1, 1))
		var list []Point
		for range 1000 {
			v, sum := make([]float64, metrics), 0.0
			for m := range v {
				v[m] = rng.Float64()
				sum += v[m]
			}
			v[0] = float64(metrics) - sum
			list = append(list, Point{Values: v})
		}
		b.Run(fmt.Sprint(metrics), func(b *testing.B) {
			for b.Loop() {
				Sort(list)
			}
		})
	}
}
