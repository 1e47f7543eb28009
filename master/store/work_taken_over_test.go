package store

import (
	"testing"

	"github.com/detent-ml/detent/master/database"
)

// TestTakeOver tests TakeOver with rows that a leader and an API of the previous release wrote.
func TestTakeOver(t *testing.T) {
	w := newWorld(t)
	for _, id := range []string{"submit", "stop", "over"} {
		w.task(NewTask{ID: id, Type: "COMMAND"})
	}
	w.exec(`UPDATE allocations SET state = 'ASSIGNED'`)
	w.exec(`UPDATE allocations SET submitted_at = now() WHERE id <> 'submit.1'`)
	w.exec(`UPDATE allocations SET kill_at = now() WHERE id <> 'submit.1'`)
	w.exec(`UPDATE allocations SET stopped_at = now() WHERE id = 'over.1'`)
	w.exec(`INSERT INTO contexts (hash, tgz, size) VALUES ('\x01', convert_to(repeat('a', 1048576) || 'b', 'UTF8'), 1048577)`)
	for range 2 { // a second time changes nothing
		if err := w.db.Tx(t.Context(), func(tx *DB) error { return tx.TakeOver(t.Context()) }); err != nil {
			t.Fatal(err)
		}
		all, err := database.Rows[struct {
			Kind  string `db:"kind"`
			About string `db:"about"`
		}](t.Context(), w.db.DB, `SELECT kind, about FROM work ORDER BY kind`)
		if err != nil || len(all) != 2 || all[0].Kind != "stop" || all[0].About != "stop.1" || all[1].Kind != "submit" || all[1].About != "submit.1" {
			t.Errorf("work: %+v, %v", all, err)
		}
		last, err := database.Scalar[string](t.Context(), w.db.DB, `SELECT convert_from(data, 'UTF8') FROM context_parts WHERE n = 1`)
		if err != nil || last != "b" {
			t.Errorf("the second piece of code is %q, %v", last, err)
		}
	}
}
