package database

import (
	"testing"

	"github.com/detent-ml/detent/master/fault"
)

func TestLimitReads(t *testing.T) {
	w := newWorld(t)
	type text struct {
		Text string `db:"text"`
	}
	const sql = `SELECT repeat('x', 1000) AS text FROM generate_series(1, $1::int)`
	ctx := LimitReads(t.Context(), 10_000)
	for range 2 {
		if list, err := Rows[text](ctx, w.db, sql, 5); err != nil || len(list) != 5 {
			t.Fatalf("%d rows: %v", len(list), err)
		}
	}
	if _, err := Rows[text](ctx, w.db, sql, 1); !fault.Is(err, fault.TooLarge) {
		t.Errorf("over the limit of all queries: %v", err)
	}
	if _, err := Scalars[string](LimitReads(t.Context(), 10_000), w.db, sql, 11); !fault.Is(err, fault.TooLarge) {
		t.Errorf("a column over the limit: %v", err)
	}
	if list, err := Rows[text](t.Context(), w.db, sql, 100); err != nil || len(list) != 100 { // the connection is usable
		t.Errorf("without a limit: %d rows, %v", len(list), err)
	}
	for bytes, want := range map[int]int{1: 1, 1000: 1, 1001: 2, 50_000: 7} {
		list, full, err := RowsUpTo[text](t.Context(), w.db, bytes, sql, 7)
		if err != nil || len(list) != want || full != (want < 7) {
			t.Errorf("up to %d bytes: %d rows, full %t, %v", bytes, len(list), full, err)
		}
	}
}
