package database

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestPartsOfABatch tests that statements are sent in order, in batches of at most
// maxBatchBytes, and that a larger statement is sent alone.
func TestPartsOfABatch(t *testing.T) {
	b := &Batch{}
	for i := range 200 {
		size := 64 << 10
		if i == 100 {
			size = maxBatchBytes + 1
		}
		b.Queue(`SELECT $1::int, $2::text::jsonb`, i, json.RawMessage(`"`+strings.Repeat("x", size)+`"`))
	}
	parts, sent := b.Parts(), 0
	for _, part := range parts {
		bytes := 0
		for _, q := range part.list {
			if q.args[0] != sent {
				t.Fatalf("statement %d is not the one that was queued there", sent)
			}
			sent++
			for _, arg := range q.args {
				bytes += sizeOf(arg)
			}
		}
		if bytes > maxBatchBytes && part.Len() > 1 {
			t.Errorf("%d statements with %d bytes are sent at once", part.Len(), bytes)
		}
	}
	if sent != len(b.list) || len(parts) < 4 || len(parts) > 7 {
		t.Errorf("%d of %d statements in %d parts", sent, len(b.list), len(parts))
	}
	if none := (&Batch{}).Parts(); len(none) != 0 {
		t.Errorf("no statements make %d parts, want none", len(none))
	}
}
