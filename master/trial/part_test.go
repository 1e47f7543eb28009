package trial

import "testing"

// TestPartsHaveNames: a name and what it names follow from each other, and nothing else is the name of a part.
func TestPartsHaveNames(t *testing.T) {
	task := TaskID(7, "0190b5a5-0000-4000-8000-000000000001", 0)
	if got := PartID(task, 0); got != task {
		t.Errorf("part 0 is called %s", got)
	}
	for n, want := range map[int]string{1: task + "-1", 2: task + "-2", 10: task + "-10", 999_999_999: task + "-999999999"} {
		if got := PartID(task, n); got != want {
			t.Errorf("part %d is called %s", n, got)
		}
		if of, number, ok := PartOf(want); of != task || number != n || !ok {
			t.Errorf("%s is part %d of %q, %v", want, number, of, ok)
		}
	}
	for _, id := range []string{"", "-1", "x", "x-", "x-0", "x-01", "x-+1", "x--", "x-1a", "x-1 ", "x-1234567890", task, "7.0190b5a5-0000-4000-8000-123456789012"} {
		if of, n, ok := PartOf(id); ok {
			t.Errorf("%q is part %d of %q", id, n, of)
		}
	}
}
