package choices_test

import (
	"testing"

	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/search/choices"
)

// TestChoices: the first equal value is found, whether it was drawn or read from a database.
func TestChoices(t *testing.T) {
	list, group := []any{int64(1), "a"}, map[string]any{"k": []any{true}}
	vals := []any{"a", int64(1), 1.0, nil, true, list, []any{int64(1), "a"}, group, []any{}, "a"}
	c := choices.Of(expconf.Hyperparameter{Type: expconf.Categorical, Vals: vals})
	for i, want := range []int{0, 1, 2, 3, 4, 5, 5, 7, 8, 0} {
		if got := c.At(vals[i]); got != want {
			t.Errorf("%v of index %d: %d, want %d", vals[i], i, got, want)
		}
	}
	for _, x := range []struct {
		value any
		want  int
	}{{[]any{int64(1), "a"}, 5}, {map[string]any{"k": []any{true}}, 7}, {[]any{}, 8}, {[]any{"other"}, 0}, {"other", 0}, {2.0, 0}} {
		if got := c.At(x.value); got != x.want {
			t.Errorf("%v: %d, want %d", x.value, got, x.want)
		}
	}
	if n := testing.AllocsPerRun(100, func() { c.At(vals[5]); c.At(vals[7]) }); n > 1 { // reflect's
		t.Errorf("finding drawn values allocates %v times", n)
	}
}
