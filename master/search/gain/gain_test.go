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
			// Where results end at a bound, improvements become smaller as the search comes nearer to it: then it says too much.
			if more := map[string]float64{"uniform": 0.1}[name]; said < were-0.03 || said > were+0.03+more {
				t.Errorf("%s, %+v: it said %.3f, and %.3f were", name, test, said, were)
			}
		}
	}
}

// TestALearningSamplerIsJudgedByItsNewerHalf, and whoever learns and does not with the same results by the same.
func TestALearningSamplerIsJudgedByItsNewerHalf(t *testing.T) {
	list := make([]float64, 40)
	for i := range list {
		list[i] = 100 - float64(i)
	}
	older := append(slices.Repeat([]float64{math.Inf(1)}, 40), list...)
	half, ok := Of(older, 20, 0.01, true)
	alone, _ := Of(list, 20, 0.01, false)
	if !ok || half != alone {
		t.Errorf("%+v, and of the newer half alone %+v", half, alone)
	}
}

// TestALuckyTrialDoesNotDecide: the distance of the best result alone does not say that nothing comes near it, and a gain larger than any distance has no probability.
func TestALuckyTrialDoesNotDecide(t *testing.T) {
	list := []float64{1.0}
	for i := range 60 {
		list = append(list, 2+0.05*float64(i))
	}
	lucky, _ := Of(list, 20, 0.1, false)
	if !(lucky.Enough > 0.3*lucky.Better && lucky.Enough < lucky.Better) {
		t.Errorf("%+v", lucky)
	}
	if usual, _ := Of(list[1:], 20, 0.1, false); usual.Enough >= lucky.Enough {
		t.Errorf("%+v is as much as %+v with the lucky trial", usual, lucky)
	}
	if huge, _ := Of(list, 20, 10, false); huge.Enough != 0 || huge.Better == 0 {
		t.Errorf("a gain of ten times the best: %+v", huge)
	}
	equal := append(slices.Repeat([]float64{1}, 20), list[1:]...)
	if e, ok := Of(equal, 20, 0.1, false); !ok || e.Enough != 0 {
		t.Errorf("twenty equal results are the best: %+v", e)
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
