package logs_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/logs"
	"github.com/detent-ml/detent/master/schema/rowtest"
	"github.com/detent-ml/detent/master/tasks"
)

// TestSearchInAllLogs: running tasks first, then those that ended last; the newest lines of each; a search
// that is stopped continues where it was, and misses nothing.
func TestSearchInAllLogs(t *testing.T) {
	w := newWorld(t)
	s := logs.NewStore(w.DB, w.Bus, logs.Settings{Days: logs.Forever})
	var wanted []string
	for i := range 2*logs.SearchedLogs + 3 { // more than two queries list
		id := fmt.Sprintf("t%03d", i)
		w.task(tasks.New{ID: id, Type: "COMMAND", Slots: 1})
		if i > 2 { // the first three run
			w.Exec(`UPDATE tasks SET ended_at = now() - $2::int * interval '1 s', exit_status = 'x' WHERE id = $1`, id, i)
		}
		list := lines(0, 5)
		for j := range list {
			list[j].Text = fmt.Sprintf("Needle %d of %s", j, id)
		}
		if i%2 == 1 {
			list = lines(0, 5)
		}
		if _, err := s.Append(t.Context(), logs.Batch{TaskID: id, Lines: list}); err != nil {
			t.Fatal(err)
		}
		if i%2 == 0 {
			wanted = append(wanted, id)
		}
	}
	wanted[0], wanted[1] = wanted[1], wanted[0] // of those that run, the log that began last
	for name, q := range map[string]logs.Search{
		"all at once":      {Limit: 1000, Within: time.Minute},
		"seven at a time":  {Limit: 7, Within: time.Minute},
		"without any time": {Limit: 1000},
	} {
		var got []string
		calls := 0
		for q.Text = "nEEDLE"; ; calls++ {
			out, err := s.Search(t.Context(), auth.Everywhere(), q)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range out.Found {
				got = append(got, f.ID)
				if len(f.Lines) != logs.FoundLines || f.Lines[0].Text != "Needle 4 of "+f.ID || f.Lines[0].Number != 5 || !f.Continued {
					t.Errorf("%s: %+v", name, f)
				}
			}
			if out.Next == nil {
				break
			}
			if len(out.Found) > q.Limit || calls > 3*len(wanted)+10 {
				t.Fatalf("%s: %d found, call %d", name, len(out.Found), calls)
			}
			q.From = *out.Next
		}
		if fmt.Sprint(got) != fmt.Sprint(wanted) {
			t.Errorf("%s:\n%v, want\n%v", name, got, wanted)
		}
		if (name == "all at once") != (calls == 0) {
			t.Errorf("%s: %d calls before the last", name, calls)
		}
	}
}

// TestSearchStopsInALog: a long log is searched in parts, and its lines come in order and once.
func TestSearchStopsInALog(t *testing.T) {
	w := newWorld(t)
	task := w.TaskOf(w.Trial(w.Experiment(rowtest.LossSearcher), 0, 1))
	s := logs.NewStore(w.DB, w.Bus, logs.Settings{Days: logs.Forever})
	for i := range 2 * logs.ChunkBatch {
		list := lines(i, 1)
		if i == 3 || i == 50 {
			list[0].Text = fmt.Sprintf("found %d", i)
		}
		if _, err := s.Append(t.Context(), logs.Batch{TaskID: task, Lines: list}); err != nil {
			t.Fatal(err)
		}
	}
	got, calls := "", 0
	for q := (logs.Search{Text: "found", Limit: 10}); ; calls++ {
		out, err := s.Search(t.Context(), auth.Everywhere(), q)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range out.Found {
			got += fmt.Sprint(" ", f.Lines[0].Text, " ", *f.TrialID != 0)
		}
		if out.Next == nil {
			break
		}
		q.From = *out.Next
	}
	if want := " found 50 true found 3 true"; got != want || calls != 2*logs.ChunkBatch-1 {
		t.Errorf("%q in %d calls, want %q", got, calls+1, want)
	}
	if out, err := s.Search(t.Context(), auth.Scope{}, logs.Search{Text: "found", Limit: 10, Within: time.Minute}); err != nil || len(out.Found) != 0 || out.Next != nil {
		t.Errorf("without a scope: %+v, %v", out, err)
	}
}

// TestLinesThatCannotBeRead: a line is cut before it makes a chunk too large to read, and a damaged log of one user does not end the search
// of another's.
func TestLinesThatCannotBeRead(t *testing.T) {
	w := newWorld(t)
	s := logs.NewStore(w.DB, w.Bus, logs.Settings{Days: logs.Forever})
	for id, text := range map[string]string{"long": "needle " + strings.Repeat("x", 16<<20+1<<20), "damaged": "needle", "sound": "needle"} {
		w.task(tasks.New{ID: id, Type: "COMMAND", Slots: 1})
		list := lines(0, 1)
		list[0].Text = text
		if _, err := s.Append(t.Context(), logs.Batch{TaskID: id, Lines: list}); err != nil {
			t.Fatal(err)
		}
	}
	w.Exec(`UPDATE log_chunks SET body = '\x09'::bytea WHERE log_task = (SELECT id FROM log_tasks WHERE task_id = 'damaged')`)
	out, err := s.Search(t.Context(), auth.Everywhere(), logs.Search{Text: "needle", Limit: 10, Within: time.Minute})
	if err != nil || len(out.Found) != 2 {
		t.Fatalf("found %d logs: %v", len(out.Found), err)
	}
	for _, f := range out.Found {
		if text := f.Lines[0].Text; f.ID == "long" && (len(text) > logs.MaxLine+100 || !strings.HasSuffix(text, "the line had 17825799 bytes)")) {
			t.Errorf("the long line has %d bytes and ends with %q", len(text), text[max(0, len(text)-60):])
		}
	}
}

// TestLoggedTasksKeepToTheirScope: a list has no log of a workspace outside of its scope, and none for the zero scope.
func TestLoggedTasksKeepToTheirScope(t *testing.T) {
	w := newWorld(t)
	theirs := w.Int(`INSERT INTO workspaces (name, owner_id) VALUES ('theirs', 1) RETURNING id`)
	s := logs.NewStore(w.DB, w.Bus, logs.Settings{Days: logs.Forever})
	for _, id := range []string{"ours", "theirs"} {
		w.task(tasks.New{ID: id, Type: "COMMAND", Slots: 1})
		w.say(s, id, "x", 0, "a line")
	}
	w.Exec(`UPDATE tasks SET workspace_id = $1 WHERE id = 'theirs'`, theirs)
	for want, in := range map[string]auth.Scope{"theirs ours": auth.Everywhere(), "ours": {Workspaces: []int{1}}, "theirs": {Workspaces: []int{theirs}}, "": {}} {
		list, err := logs.LoggedTasks(t.Context(), w.DB, in, logs.Place{}, 10)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, k := range list {
			got = append(got, k.ID)
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("%+v: %q, want %q", in, s, want)
		}
	}
}

// BenchmarkLogsOfAMillionTasks lists the first and some later logs that a search reads.
func BenchmarkLogsOfAMillionTasks(b *testing.B) {
	w := rowtest.New(b)
	for part := range 20 {
		w.Exec(`INSERT INTO tasks (id, job_id, type, owner_id, workspace_id, name, config, pool, slots, ended_at)
			SELECT 'x' || n, gen_random_uuid(), 'COMMAND', 2, 1, 'x', '{}', 'default', 0, CASE WHEN n > 100 THEN now() - n * interval '1 s' END FROM generate_series($1::int + 1, $1 + 50000) n`, part*50_000)
		w.Exec(`INSERT INTO log_tasks (task_id, next) SELECT 'x' || n, 2 FROM generate_series($1::int + 1, $1 + 50000) n`, part*50_000)
	}
	w.Exec(`ANALYZE tasks, log_tasks`)
	for name, from := range map[string]logs.Place{"first": {}, "later": {EndedAt: new(time.Now().Add(-10 * time.Minute)), Log: 1 << 30}} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				list, err := logs.LoggedTasks(b.Context(), w.DB, auth.Everywhere(), from, logs.SearchedLogs)
				if err != nil || len(list) != logs.SearchedLogs {
					b.Fatal(len(list), err)
				}
			}
		})
	}
}
