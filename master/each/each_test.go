package each

import (
	"maps"
	"reflect"
	"testing"
)

func TestLists(t *testing.T) {
	t.Parallel()
	if got := Of([]int(nil), func(int) string { return "" }); got == nil || len(got) != 0 {
		t.Errorf("of nothing: %#v", got)
	}
	if got := Of([]int{1, 2}, func(n int) float64 { return float64(n) / 2 }); !reflect.DeepEqual(got, []float64{0.5, 1}) {
		t.Errorf("Of: %v", got)
	}
	words := []string{"one", "two", "three"}
	size := func(s string) int { return len(s) }
	if got := Keyed(words, size); !maps.Equal(got, map[int]string{3: "two", 5: "three"}) {
		t.Errorf("Keyed: %v", got)
	}
	if got := Set(words, size); !maps.Equal(got, map[int]bool{3: true, 5: true}) {
		t.Errorf("Set: %v", got)
	}
	if got := Group(words, size); !reflect.DeepEqual(got, map[int][]string{3: {"one", "two"}, 5: {"three"}}) {
		t.Errorf("Group: %v", got)
	}
	if got := Find(words, func(s *string) bool { return len(*s) == 3 }); got != &words[0] {
		t.Errorf("Find: %v", got)
	}
	if got := Find(words, func(s *string) bool { return *s == "" }); got != nil {
		t.Errorf("Find of none: %v", got)
	}
}
