package store

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/trial"
)

// TestPartsOfABatch tests that statements are sent in order, in batches of at most
// maxBatchBytes, and that a larger statement is sent alone.
func TestPartsOfABatch(t *testing.T) {
	s := &statements{}
	for i := range 200 {
		size := 64 << 10
		if i == 100 {
			size = maxBatchBytes + 1
		}
		queueNewTrial(s, trial.Row{ExperimentID: 1, Number: i, TaskID: fmt.Sprint(i), HParams: json.RawMessage(`"` + strings.Repeat("x", size) + `"`)})
	}
	parts, sent := s.parts(), 0
	for _, part := range parts {
		bytes := 0
		for _, q := range part.QueuedQueries {
			if q != s.QueuedQueries[sent] {
				t.Fatalf("statement %d is not the one that was queued there", sent)
			}
			sent++
			for _, arg := range q.Arguments {
				bytes += sizeOf(arg)
			}
		}
		if bytes > maxBatchBytes && part.Len() > 1 {
			t.Errorf("%d statements with %d bytes are sent at once", part.Len(), bytes)
		}
	}
	if sent != len(s.QueuedQueries) || len(parts) < 4 || len(parts) > 7 {
		t.Errorf("%d of %d statements in %d parts", sent, len(s.QueuedQueries), len(parts))
	}
	if none := (&statements{}).parts(); len(none) != 0 {
		t.Errorf("no statements make %d parts, want none", len(none))
	}
}
