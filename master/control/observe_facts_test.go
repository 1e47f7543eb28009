package control

import (
	"slices"
	"testing"

	"github.com/detent-ml/detent/master/control/rows"
)

// TestFactsThatWereLeft: facts that could not be stored are stored with the next ones, and a newer fact about the same
// member counts more.
func TestFactsThatWereLeft(t *testing.T) {
	fact := func(id, alloc string, index int64) rows.MemberFact {
		return rows.MemberFact{AllocationID: id, NomadAllocID: alloc, Index: index}
	}
	got := withLeft([]rows.MemberFact{fact("a.1", "x", 9), fact("b.1", "y", 9)}, []rows.MemberFact{fact("a.1", "x", 5), fact("b.1", "z", 5), fact("c.1", "w", 5)})
	replaced := fact("b.1", "y", 9)
	replaced.Replaced = true
	if want := []rows.MemberFact{fact("a.1", "x", 9), replaced, fact("c.1", "w", 5)}; !slices.Equal(got, want) {
		t.Errorf("%+v", got)
	}
}
