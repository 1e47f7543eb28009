package experiments

import (
	"testing"
	"time"

	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/search/budget"
)

func TestMemorySums(t *testing.T) {
	b := budget.Budget{Bytes: 1000}
	s := &memorySums{}
	if s.admit(b, 1, 10) {
		t.Error("admitted before the database was read")
	}
	began := time.Now()
	if err := s.replace(b, map[int]int64{}, began, 1, 100); err != nil {
		t.Fatal(err)
	}
	if !s.admit(b, 1, 300) || s.admit(b, 1, 200) { // 400 of the 500 for one owner
		t.Error("an owner gets more than its share, or less")
	}
	// Another request read the database before these two were committed.
	if err := s.replace(b, map[int]int64{}, began.Add(1), 2, 100); err != nil {
		t.Fatal(err)
	}
	if s.admit(b, 1, 200) {
		t.Error("what was admitted a moment ago is forgotten")
	}
	if err := s.replace(b, map[int]int64{1: 450}, began, 1, 100); !fault.Is(err, fault.TooMany) {
		t.Errorf("over the share by what the database has: %v", err)
	}
	if !s.admit(b, 1, 50) { // sums that are older than the present ones are not kept
		t.Error("older sums replaced newer ones")
	}
}
