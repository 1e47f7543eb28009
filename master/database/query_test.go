package database

import (
	"errors"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/sleep"
)

// TestEach: Each reads rows one after the other until the caller has enough, and leaves its transaction usable.
func TestEach(t *testing.T) {
	w := newWorld(t)
	const numbers = `SELECT n, repeat(n::text, 2) FROM generate_series(1, $1::int) n`
	err := w.db.Tx(t.Context(), func(tx *DB) error {
		var n int
		var raw RawBytes
		for _, until := range []int{3, 10} {
			var got []string
			err := tx.Each(t.Context(), numbers, []any{10}, []any{&n, &raw}, func() error {
				if got = append(got, string(raw)); n == until {
					return ErrSkipRest
				}
				return nil
			})
			if err != nil || len(got) != until || !slices.Equal(got[:3], []string{"11", "22", "33"}) {
				t.Errorf("until %d: %q, %v", until, got, err)
			}
		}
		broken := errors.New("broken")
		if err := tx.Each(t.Context(), numbers, []any{10}, []any{&n, &raw}, func() error { return broken }); !errors.Is(err, broken) {
			t.Errorf("the caller's error is %v", err)
		}
		return tx.Exec(t.Context(), `SELECT 1`)
	})
	if err != nil {
		t.Error(err)
	}
}

// TestErrorsOfQueries: each way to read says fault.NotFound where nothing is found, and arguments have names.
func TestErrorsOfQueries(t *testing.T) {
	w := newWorld(t)
	type row struct{ N int }
	const sql = `SELECT n FROM generate_series(1, 3) n WHERE n = @n AND @yes`
	for n, found := range map[int]bool{2: true, 4: false} {
		args := Args{"n": n, "yes": true}
		var scanned int
		scan := w.db.QueryRow(t.Context(), sql, args).Scan(&scanned)
		one, err := Scalar[int](t.Context(), w.db, sql, args)
		whole, rowErr := Row[row](t.Context(), w.db, "the number", sql, args)
		if found && (scan != nil || err != nil || rowErr != nil || scanned != n || one != n || whole.N != n) {
			t.Errorf("%d: %d %v, %d %v, %d %v", n, scanned, scan, one, err, whole.N, rowErr)
		}
		if !found && (!fault.Is(scan, fault.NotFound) || !fault.Is(err, fault.NotFound) || !fault.Is(rowErr, fault.NotFound) || rowErr.Error() != "the number not found") {
			t.Errorf("%d: %v, %v, %v", n, scan, err, rowErr)
		}
	}
}

// TestAStalledTransactionIsRunAgain: a master that stalled in a transaction until PostgreSQL ended it has done nothing yet.
func TestAStalledTransactionIsRunAgain(t *testing.T) {
	w := newWorld(t)
	tries := 0
	err := w.db.Tx(t.Context(), func(tx *DB) error {
		if err := tx.Exec(t.Context(), `SET LOCAL idle_in_transaction_session_timeout = '20ms'; CREATE TABLE once (n int)`); err != nil {
			return err
		}
		if tries++; tries == 1 {
			if err := sleep.For(t.Context(), 200*time.Millisecond); err != nil {
				return err
			}
		}
		return tx.Exec(t.Context(), `INSERT INTO once VALUES (1)`)
	})
	if n, countErr := Scalar[int](t.Context(), w.db, `SELECT count(*) FROM once`); err != nil || countErr != nil || n != 1 || tries != 2 {
		t.Errorf("%d rows after %d tries: %v, %v", n, tries, err, countErr)
	}
}

// TestSendEach: each statement of a batch has its own result, and the statements after one that PostgreSQL rejects have none.
func TestSendEach(t *testing.T) {
	w := newWorld(t)
	b := &Batch{}
	b.Queue(`UPDATE users SET display_name = 'x' WHERE username IN ('admin', 'determined')`)
	b.Queue(`UPDATE users SET display_name = 'x' WHERE username = 'nobody'`)
	b.Queue(`INSERT INTO users (username) VALUES ('admin')`)
	b.Queue(`SELECT 1`)
	var changed []int64
	err := w.db.Tx(t.Context(), func(tx *DB) error {
		for n, err := range tx.SendEach(t.Context(), b) {
			if err != nil {
				return err
			}
			changed = append(changed, n)
		}
		return nil
	})
	if r := RejectionOf(err); !fault.Is(err, fault.Conflict) || r.Code != "23505" || r.Constraint == "" || !slices.Equal(changed, []int64{2, 0}) {
		t.Errorf("%v, %v, %+v", changed, err, r)
	}
	if err := w.db.Send(t.Context(), b); !fault.Is(err, fault.Conflict) || w.int(`SELECT count(*) FROM users WHERE display_name = 'x'`) != 0 {
		t.Errorf("a batch that fails: %v", err)
	}
}

// TestMap: Map reads keys and values, whose last row wins, and counts against the limit of reads.
func TestMap(t *testing.T) {
	w := newWorld(t)
	const sql = `SELECT * FROM (VALUES (1, '["a"]'::jsonb), (2, '["b"]'), (2, 'null')) AS v(k, v) WHERE k <= $1`
	for most, want := range []map[int][]string{{}, {1: {"a"}}, {1: {"a"}, 2: nil}} {
		if got, err := Map[int, []string](t.Context(), w.db, sql, most); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("up to %d: %v, %v, want %v", most, got, err, want)
		}
	}
	if _, err := Map[int, []string](LimitReads(t.Context(), 10), w.db, sql, 2); !fault.Is(err, fault.TooLarge) {
		t.Errorf("rows that are too large: %v", err)
	}
}
