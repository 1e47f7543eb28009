package logs_test

import (
	"strings"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/diskuse"
	"github.com/detent-ml/detent/master/logs"
	"github.com/detent-ml/detent/master/schema/rowtest"
)

// partitionsOf names the tables with the lines of a task.
func (w *world) partitionsOf(task string) string {
	return w.Text(`SELECT coalesce(string_agg(DISTINCT tableoid::regclass::text, ',' ORDER BY tableoid::regclass::text), '') FROM log_chunks
		WHERE log_task = (SELECT id FROM log_tasks WHERE task_id = $1)`, task)
}

// writeAt stores lines of a task that arrived some days ago, in the partition of that time.
func (w *world) writeAt(s *logs.Store, task string, daysAgo int, list []logs.Line) {
	w.T.Helper()
	if _, err := logs.MaintainPartitions(w.T.Context(), w.DB, time.Now().AddDate(0, 0, -daysAgo)); err != nil {
		w.T.Fatal(err)
	}
	if _, err := s.Append(w.T.Context(), logs.Batch{TaskID: task, Lines: list}); err != nil {
		w.T.Fatal(err)
	}
	w.Exec(`UPDATE log_tasks SET since = least(since, now() - make_interval(days => $2)) WHERE task_id = $1`, task, daysAgo)
	w.Exec(`UPDATE log_chunks SET arrived_at = now() - make_interval(days => $2)
		WHERE log_task = (SELECT id FROM log_tasks WHERE task_id = $1) AND arrived_at > now() - interval '1 hour'`, task, daysAgo)
}

// maintain runs the maintenance, and checks whether a table is there afterwards.
func (w *world) maintain(table string, want bool) {
	w.T.Helper()
	if _, err := logs.MaintainPartitions(w.T.Context(), w.DB, time.Now()); err != nil {
		w.T.Error(err)
	}
	if there := w.Int(`SELECT count(*) FROM pg_class WHERE relname = $1`, table) == 1; there != want {
		w.T.Errorf("the table %s is there: %v, want %v", table, there, want)
	}
}

// TestClassesOfLogs: the first line of a task decides with which other lines its lines are kept: with those
// that are kept for at least as long, but not much longer.
func TestClassesOfLogs(t *testing.T) {
	w := newWorld(t)
	task := w.TaskOf(w.Trial(w.Experiment(rowtest.LossSearcher), 0, 1))
	for days, want := range map[int]int{logs.Forever: 0, 0: 7, 1: 7, 7: 7, 8: 30, 90: 90, 91: 365, 365: 365, 366: 0} {
		w.Exec(`DELETE FROM log_tasks`)
		if _, err := logs.NewStore(w.DB, w.Bus, logs.Settings{Days: days}).Append(t.Context(), logs.Batch{TaskID: task, Lines: lines(0, 1)}); err != nil {
			t.Fatal(err)
		}
		if got := w.Int(`SELECT class FROM log_tasks`); got != want {
			t.Errorf("%d days: class %d, want %d", days, got, want)
		}
	}
	w.Exec(`DELETE FROM log_tasks`)
	w.Exec(`UPDATE experiments SET log_retention_days = 20`)
	if _, err := logs.NewStore(w.DB, w.Bus, logs.Settings{Days: logs.Forever}).Append(t.Context(), logs.Batch{TaskID: task, Lines: lines(0, 1)}); err != nil {
		t.Fatal(err)
	}
	if got := w.Int(`SELECT class FROM log_tasks`); got != 30 {
		t.Errorf("20 days of its experiment: class %d", got)
	}
}

// TestLogsGoWithTheirPartition: when the retention of tasks has ended, their lines are gone for readers at once,
// and their rows with the table, without a DELETE. A table with a line that is kept stays.
func TestLogsGoWithTheirPartition(t *testing.T) {
	w := newWorld(t)
	s := logs.NewStore(w.DB, w.Bus, logs.Settings{Days: 7})
	exp := w.Experiment(rowtest.LossSearcher)
	a, b := w.TaskOf(w.Trial(exp, 0, 1)), w.TaskOf(w.Trial(exp, 1, 1))
	for _, task := range []string{a, b} {
		w.writeAt(s, task, 8, lines(0, 5))
	}
	table := w.partitionsOf(a)
	if !strings.HasPrefix(table, "log_chunks_7_2") || w.partitionsOf(b) != table {
		t.Fatalf("the lines are in %s and %s", table, w.partitionsOf(b))
	}
	used := func(want bool) {
		t.Helper()
		list, err := diskuse.OfWorkspaces(t.Context(), w.DB, auth.Everywhere())
		if err != nil || (list[0].LogBytes > 0) != want {
			t.Errorf("%+v, %v", list, err)
		}
	}
	used(true)
	w.maintain(table, true) // the tasks run
	w.endedDaysAgo(a, 8)
	w.endedDaysAgo(b, 6)
	if n, parts := w.expire(7, a); n != 5 || parts != 1 {
		t.Errorf("%d lines in %d parts", n, parts)
	}
	if n, _ := w.expire(7, b); n != 0 {
		t.Errorf("%d lines of a log that is kept for another day", n)
	}
	deleted := func(task string, want int64) {
		t.Helper()
		r, err := s.Reader(task, logs.Filter{})
		if err != nil {
			t.Fatal(err)
		}
		if n, at, err := r.Deleted(t.Context()); err != nil || n != want || at.IsZero() != (want == 0) {
			t.Errorf("%d lines are said to be deleted at %v, want %d: %v", n, at, want, err)
		}
		n := 0
		if _, err := r.Backward(t.Context(), 0, 0, func(list []logs.Record) error { n += len(list); return nil }); err != nil {
			t.Fatal(err)
		}
		if forward := len(readLogs(t, s, task, logs.Filter{})); n != forward || n != int(5-want) {
			t.Errorf("%d lines from the end and %d from the beginning, want %d", n, forward, 5-want)
		}
	}
	deleted(a, 5)
	deleted(b, 0)
	if n := w.Int(`SELECT count(*) FROM ` + table); n != 2 {
		t.Errorf("%d chunks, want both: rows are not deleted", n)
	}
	w.maintain(table, true) // a line of b is kept
	w.endedDaysAgo(b, 8)
	w.expire(7, b)
	deleted(b, 5)
	used(false)
	w.maintain(table, false)
	deleted(a, 5)

	// The task is continued: its new lines are shown, numbered on, and go again when it has ended.
	w.Exec(`UPDATE tasks SET ended_at = NULL WHERE id = $1`, a)
	if _, err := s.Append(t.Context(), logs.Batch{TaskID: a, Lines: lines(5, 2)}); err != nil {
		t.Fatal(err)
	}
	if got := readLogs(t, s, a, logs.Filter{}); len(got) != 2 || got[0].Number != 6 {
		t.Errorf("after it was continued: %+v", got)
	}
	w.endedDaysAgo(a, 8)
	if due, _, err := logs.Expired(t.Context(), w.DB, 7, 0); err != nil || len(due) != 1 || due[0] != a {
		t.Errorf("due are %v, %v", due, err)
	}
	if n, _ := w.expire(7, a); n != 2 {
		t.Errorf("%d new lines", n)
	}
}

// TestFewKeptLinesKeepNoPartition: a period after a table should have gone, its few lines that are still kept move, and it goes.
func TestFewKeptLinesKeepNoPartition(t *testing.T) {
	w := newWorld(t)
	s := logs.NewStore(w.DB, w.Bus, logs.Settings{Days: 7})
	exp := w.Experiment(rowtest.LossSearcher)
	a, long := w.TaskOf(w.Trial(exp, 0, 1)), w.TaskOf(w.Trial(exp, 1, 1))
	for _, task := range []string{a, long} {
		w.writeAt(s, task, 20, lines(0, 5))
	}
	table := w.partitionsOf(a)
	w.endedDaysAgo(a, 19)
	w.expire(7, a)
	w.maintain(table, false)
	if got := w.partitionsOf(long); got != "log_chunks_7_rest" {
		t.Errorf("the lines of a task that runs are in %s", got)
	}
	if got := texts(readLogs(t, s, long, logs.Filter{})); got != "line 0,line 1,line 2,line 3,line 4" {
		t.Errorf("of the task that runs: %s", got)
	}
	const rest = "log_chunks_7_rest"
	w.maintain(rest, true)
	w.endedDaysAgo(long, 8)
	w.expire(7, long)
	w.maintain(rest, true)
	if n := w.Int(`SELECT count(*) FROM log_chunks`); n != 0 {
		t.Errorf("%d chunks are left", n)
	}
}

// TestManyKeptLinesKeepTheirPartition: rows of others are deleted from a table with many lines that are kept.
func TestManyKeptLinesKeepTheirPartition(t *testing.T) {
	w := newWorld(t)
	s := logs.NewStore(w.DB, w.Bus, logs.Settings{Days: 7})
	exp := w.Experiment(rowtest.LossSearcher)
	a, long := w.TaskOf(w.Trial(exp, 0, 1)), w.TaskOf(w.Trial(exp, 1, 1))
	for _, task := range []string{a, long} {
		w.writeAt(s, task, 20, lines(0, 1))
	}
	w.Exec(`INSERT INTO log_chunks (class, arrived_at, log_task, origin, first, lines, levels, earliest, latest, body)
		SELECT class, arrived_at, log_task, origin, n, 1, levels, earliest, latest, body FROM log_chunks, generate_series(2, $1::int) n`, logs.MaxMovedChunks+1)
	w.Exec(`UPDATE log_tasks SET next = $1::int + 2`, logs.MaxMovedChunks)
	table := w.partitionsOf(long)
	w.endedDaysAgo(a, 19)
	w.expire(7, a)
	w.maintain(table, true)
	if n, left := w.Int(`SELECT count(*) FROM `+table), w.partitionsOf(a); n != logs.MaxMovedChunks+1 || left != "" {
		t.Errorf("%d chunks are left; those whose retention has ended in %q", n, left)
	}
}

// TestLinesWithoutAPartition: lines have a place even when no master has made a table for their time.
func TestLinesWithoutAPartition(t *testing.T) {
	w := newWorld(t)
	s := logs.NewStore(w.DB, w.Bus, logs.Settings{Days: 7})
	task := w.TaskOf(w.Trial(w.Experiment(rowtest.LossSearcher), 0, 1))
	for range 2 { // twice is harmless
		w.maintain("log_chunks_7_rest", true)
	}
	if n := w.Int(`SELECT count(*) FROM pg_class WHERE relname ~ '^log_chunks_7_2[0-9]{7}$' AND relkind = 'r'`); n != logs.PartitionsAhead+1 {
		t.Errorf("%d partitions of class 7", n)
	}
	w.Exec(`DO $$ DECLARE n text; BEGIN FOR n IN SELECT relname FROM pg_class WHERE relname ~ '^log_chunks_\d+_2\d{7}$' AND relkind = 'r'
		LOOP EXECUTE 'DROP TABLE ' || n; END LOOP; END $$`)
	if _, err := s.Append(t.Context(), logs.Batch{TaskID: task, Lines: lines(0, 5)}); err != nil {
		t.Fatal(err)
	}
	if got := w.partitionsOf(task); got != "log_chunks_7_rest" {
		t.Errorf("kept in %s", got)
	}
	w.maintain("log_chunks_7_rest", true) // with lines in the default partition
	if got := readLogs(t, s, task, logs.Filter{}); len(got) != 5 {
		t.Errorf("%d lines", len(got))
	}
}
