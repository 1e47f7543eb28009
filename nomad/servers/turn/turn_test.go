package turn

import (
	"slices"
	"testing"
)

// TestEverySeedHasItsTurn: two commits of different halves try all seeds, and a run without halves tries all of them by itself.
func TestEverySeedHasItsTurn(t *testing.T) {
	for _, c := range []struct {
		turn string
		n    int
		want []int
	}{{"", 3, []int{0, 1, 2}}, {"0", 3, []int{0, 2}}, {"1", 3, []int{1}}, {"0", 2, []int{0}}, {"1", 2, []int{1}}, {"1", 1, []int{0}}, {"0", 0, nil}} {
		t.Setenv("TURN", c.turn)
		if got := Seeds(c.n); !slices.Equal(got, c.want) {
			t.Errorf("TURN=%s: of %d seeds %v run, want %v", c.turn, c.n, got, c.want)
		}
	}
}
