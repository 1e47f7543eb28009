package control

import (
	"testing"

	"github.com/detent-ml/detent/master/control/rows"
)

// TestBundlesOfNothing tests that a bundle without changes is stored at once.
func TestBundlesOfNothing(t *testing.T) {
	b := newBench(t)
	left, err := b.term.applyTogether(t.Context(), []rows.Bundle{{Key: "a"}, {Key: "b", Needs: []string{"a"}}})
	if err != nil || len(left) != 0 {
		t.Error(left, err)
	}
}
