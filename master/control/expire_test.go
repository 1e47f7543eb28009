package control

import (
	"testing"
	"time"

	"github.com/detent-ml/detent/master/control/rows"
	"github.com/detent-ml/detent/master/logs"
	"github.com/detent-ml/detent/master/tasks"
)

// TestLogsAreDeletedInTurns: a leader deletes the logs whose retention has ended, those of an owner
// with one log after a few parts of those of an owner with many.
func TestLogsAreDeletedInTurns(t *testing.T) {
	b := newBench(t, "n1")
	writer := logs.NewStore(b.db, b.term.bus, logs.Settings{Days: logs.Forever})
	b.exec(`INSERT INTO users (username, active) VALUES ('prolific', true)`)
	write := func(owner int, name string) string {
		t.Helper()
		id, err := tasks.Create(t.Context(), b.db, tasks.New{ID: name, Type: "COMMAND", OwnerID: owner, WorkspaceID: 1, Name: name, Config: []byte(`{}`), Pool: "default", Priority: 42})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := writer.Append(t.Context(), logs.Batch{TaskID: id, Lines: []logs.Line{{Text: "a line", Rank: -1}}}); err != nil {
			t.Fatal(err)
		}
		b.exec(`UPDATE allocations SET state = 'TERMINATED', ended_at = now(), outcome = 'killed' WHERE task_id = $1`, id)
		b.exec(`UPDATE tasks SET ended_at = now() - interval '3 days' WHERE id = $1`, id)
		return id
	}
	prolific := b.int(`SELECT id FROM users WHERE username = 'prolific'`)
	for _, n := range []string{"a", "b", "c", "d", "e", "f"} {
		write(prolific, "many-"+n)
	}
	write(1, "one")
	kept := write(1, "kept")
	b.exec(`UPDATE tasks SET ended_at = now() - interval '1 day' WHERE id = $1`, kept)
	b.term.cfg.Retention = LogRetention{Days: 2}
	if err := b.term.queueExpiries(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := b.int(`SELECT count(*) FROM work WHERE kind = 'expire'`); n != 7 {
		t.Fatalf("%d pieces of work", n)
	}
	turns, err := rows.DueWork(t.Context(), b.db, rows.WorkExpire, false, nil, 2)
	if err != nil || len(turns) != 2 || turns[0].Owner == turns[1].Owner {
		t.Errorf("the first turns are %+v %v", turns, err)
	}
	b.exec(`DELETE FROM work`)
	b.term.cfg.Retention.Next = func(now time.Time) time.Time { return now.Add(10 * time.Millisecond) }
	b.lead(b.nomad)
	b.await(1, `SELECT count(*) FROM log_chunks`)
	b.await(1, `SELECT count(*) FROM log_tasks WHERE emptied_at IS NULL`)
	if n := b.int(`SELECT count(*) FROM log_chunks c JOIN log_tasks l ON l.id = c.log_task WHERE l.task_id = $1`, kept); n != 1 {
		t.Error("the log that is kept for another day is gone")
	}
}
