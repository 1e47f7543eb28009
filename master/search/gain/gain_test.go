package gain

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestTheProbabilityOfARecord: it is known for every sequence that is drawn alike, and the sum over all sizes is one.
func TestTheProbabilityOfARecord(t *testing.T) {
	for _, test := range []struct{ results, more int }{{8, 8}, {20, 20}, {100, 20}, {1000, 20}} {
		list := make([]float64, test.results)
		for i := range list {
			list[i] = float64(i + 1)
		}
		e, ok := Of(list, test.more, 0, false)
		part := math.Round(float64(test.results*test.results) / float64(test.results+test.more))
		if want := 1 - part/float64(test.results); !ok || math.Abs(e.Better-want) > 1e-12 || e.Enough != e.Better {
			t.Errorf("%d results and %d more: %+v %t, want %v", test.results, test.more, e, ok, want)
		}
	}
}

// TestItHoldsForDrawsThatAreAlike: of many sequences from three distributions, as many become better by as much as the estimates say together.
func TestItHoldsForDrawsThatAreAlike(t *testing.T) {
	const runs = 4000
	for name, draw := range map[string]func(*rand.Rand) float64{
		"uniform":     func(r *rand.Rand) float64 { return 1 + r.Float64() },
		"normal":      func(r *rand.Rand) float64 { return 10 + r.NormFloat64() },
		"exponential": func(r *rand.Rand) float64 { return 1 - r.ExpFloat64() },
	} {
		for _, test := range []struct {
			results, more int
			least         float64
		}{{20, 20, 0}, {60, 20, 0.02}, {200, 20, 0.01}} {
			random := rand.New(rand.NewPCG(7, 1))
			said, were := 0.0, 0.0
			for range runs {
				list := make([]float64, test.results+test.more)
				for i := range list {
					list[i] = draw(random)
				}
				before := list[:test.results]
				e, ok := Of(before, test.more, test.least, false)
				if !ok {
					t.Fatal("no estimate")
				}
				said += e.Enough / runs
				best := slices.Min(before)
				if gained := best - slices.Min(list); gained > 0 && gained >= test.least*math.Abs(best) {
					were += 1.0 / runs
				}
			}
			// The distances between results grow a little less than those between records: it says rather too much than too little.
			if math.Abs(said-were) > 0.05 {
				t.Errorf("%s, %+v: it said %.3f, and %.3f were", name, test, said, were)
			}
		}
	}
}

// TestALearningSamplerIsJudgedByItsNewerHalf, and a gain of any size is possible.
func TestALearningSamplerIsJudgedByItsNewerHalf(t *testing.T) {
	list := make([]float64, 40)
	for i := range list {
		list[i] = 100 - float64(i)
	}
	older := append(slices.Repeat([]float64{math.Inf(1)}, 40), list...)
	half, ok := Of(older, 20, 0.01, true)
	alone, _ := Of(list, 20, 0.01, false)
	if !ok || half.Better != alone.Better || half.Enough < alone.Enough {
		t.Errorf("%+v, and of the newer half alone %+v", half, alone)
	}
	large, _ := Of(older, 20, 10, true)
	if want := learnedPart * half.Better; math.Abs(large.Enough-want) > 1e-12 {
		t.Errorf("a large gain has %v, want %v", large.Enough, want)
	}
}

// TestFewResultsSayNothing, however many trials have the same one.
func TestFewResultsSayNothing(t *testing.T) {
	same := slices.Repeat([]float64{1}, 500)
	if _, ok := Of(same, 20, 0, false); ok {
		t.Error("500 equal results made an estimate")
	}
	few := []float64{1, 2, 3, 4, 5, 6, 7}
	if _, ok := Of(few, 20, 0, false); ok {
		t.Error("seven results made an estimate")
	}
	if _, ok := Of(append(few, math.Inf(1)), 20, 0, false); ok {
		t.Error("seven results and a failure made an estimate")
	}
	if e, ok := Of(append(few, 8, math.Inf(1)), 20, 0, false); !ok || !(e.Better > 0 && e.Better < 1) {
		t.Errorf("eight results: %+v %t", e, ok)
	}
	if _, ok := Of(nil, 20, 0, true); ok {
		t.Error("no results made an estimate")
	}
}
