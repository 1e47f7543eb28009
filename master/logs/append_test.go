package logs_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/attempts"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/logs"
	"github.com/detent-ml/detent/master/schema/rowtest"
	"github.com/detent-ml/detent/master/sleep"
)

func TestLogsExactlyOnce(t *testing.T) {
	w := newWorld(t)
	task := w.TaskOf(w.Trial(w.Experiment(rowtest.LossSearcher), 0, 1))
	s := logs.NewStore(w.DB, w.Bus, logs.Settings{Days: logs.Forever})
	send := func(shipper string, first int64, list []logs.Line, next int64) {
		t.Helper()
		got, err := s.Append(t.Context(), logs.Batch{TaskID: task, Shipper: shipper, First: first, Lines: list})
		if err != nil || got != next {
			t.Fatalf("first %d: next %d, want %d: %v", first, got, next, err)
		}
	}
	send("a", 0, lines(0, 3), 3)
	send("a", 0, lines(0, 3), 3)    // again
	send("a", 1, lines(1, 4), 5)    // overlapping: 3 and 4 are new
	send("a", 0, nil, 5)            // asking
	send("a", 9, nil, 5)            // still asking
	send("a", 9, lines(9, 1), 10)   // the shipper lost some
	send("a", 5, lines(5, 2), 10)   // and cannot come back to them
	send("b", 40, lines(40, 1), 41) // a shipper from before a restored backup
	if got, want := texts(readLogs(t, s, task, logs.Filter{})), "line 0,line 1,line 2,line 3,line 4,line 9,line 40"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	other := w.TaskOf(w.Trial(w.Experiment(rowtest.LossSearcher), 0, 1))
	// Another task's shipper of the same name is another shipper.
	if next, err := s.Append(t.Context(), logs.Batch{TaskID: other, Shipper: "a", First: 5, Lines: lines(5, 1), Done: true}); err != nil || next != 6 {
		t.Errorf("another task's shipper: %d, %v", next, err)
	}
	send("a", 10, lines(10, 1), 11)
	if done := w.Text(`SELECT string_agg(next || ' ' || done, ', ' ORDER BY next) FROM log_shippers WHERE shipper = 'a'`); done != "6 true, 11 false" {
		t.Errorf("shippers: %s", done)
	}
	if _, err := s.Append(t.Context(), logs.Batch{TaskID: "none", Lines: lines(0, 1)}); !fault.Is(err, fault.NotFound) {
		t.Errorf("no task: %v", err)
	}
}

// Many shippers send every batch twice, in small parts, through two masters: every line must be
// stored once, in the order of its shipper, and line numbers must have no gap.
func TestLogsConcurrently(t *testing.T) {
	w := newWorld(t)
	exp := w.Experiment(rowtest.LossSearcher)
	tasks := []string{w.TaskOf(w.Trial(exp, 0, 1)), w.TaskOf(w.Trial(exp, 1, 1))}
	masters := []*logs.Store{logs.NewStore(w.DB, w.Bus, logs.Settings{Days: logs.Forever}), logs.NewStore(w.open(4), w.Bus, logs.Settings{Days: logs.Forever})}
	const shippers, total = 6, 400
	ctx, stop := context.WithCancel(t.Context())
	var followers sync.WaitGroup
	counts := make([]int, len(tasks))
	for i, task := range tasks { // followers see every line once, whoever commits first
		followers.Go(func() {
			r, _ := masters[0].Reader(task, logs.Filter{})
			next := int64(1)
			for counts[i] < shippers/2*total && ctx.Err() == nil {
				var err error
				next, err = r.Forward(ctx, next, 0, func(list []logs.Record) error {
					for _, rec := range list {
						counts[i]++
						if rec.Number != int64(counts[i]) {
							return fmt.Errorf("line %d after %d", rec.Number, counts[i]-1)
						}
					}
					return nil
				})
				if err != nil && ctx.Err() == nil {
					t.Error(err)
					return
				}
				_ = sleep.For(ctx, time.Millisecond)
			}
		})
	}
	var wg sync.WaitGroup
	for i := range shippers {
		name := fmt.Sprintf("s%d", i)
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(2, uint64(i)))
			for first := 0; first < total; {
				n := min(1+rng.IntN(40), total-first)
				list := lines(first, n)
				for k := range list {
					list[k].Source = name
				}
				for _, m := range masters {
					if _, err := m.Append(context.Background(), logs.Batch{TaskID: tasks[i%2], Shipper: name, First: int64(first), Lines: slices.Clone(list)}); err != nil {
						t.Error(err)
						return
					}
				}
				first += n
			}
		})
	}
	wg.Wait()
	deadline := time.AfterFunc(20*time.Second, stop)
	followers.Wait()
	deadline.Stop()
	for i := range tasks {
		if counts[i] != shippers/2*total {
			t.Errorf("task %d: the follower saw %d lines, want %d", i, counts[i], shippers/2*total)
		}
	}
	for i := range shippers {
		got := readLogs(t, masters[1], tasks[i%2], logs.Filter{Sources: []string{fmt.Sprintf("s%d", i)}})
		if len(got) != total {
			t.Fatalf("shipper %d: %d lines, want %d", i, len(got), total)
		}
		for k, r := range got {
			if r.Text != fmt.Sprintf("line %d", k) {
				t.Fatalf("shipper %d: %q in place %d", i, r.Text, k)
			}
		}
	}
}

func TestLogFilters(t *testing.T) {
	w := newWorld(t)
	trial := w.Trial(w.Experiment(rowtest.LossSearcher), 0, 1)
	task := w.TaskOf(trial)
	s := logs.NewStore(w.DB, w.Bus, logs.Settings{Days: logs.Forever})
	write := func(o logs.Origin, list ...logs.Line) {
		t.Helper()
		if _, err := s.Append(t.Context(), logs.Batch{TaskID: task, Origin: o, Lines: list}); err != nil {
			t.Fatal(err)
		}
	}
	line := func(sec, level, rank int, std, source, text string) logs.Line {
		return logs.Line{At: noon.Add(time.Duration(sec) * time.Second), Level: level, Rank: rank, Stdtype: std, Source: source, Text: text}
	}
	write(logs.Origin{"a.1", "node-1", "c1"}, line(1, 3, 0, "stdout", "task", "Alpha one\n"), line(2, 5, 1, "stderr", "task", "beta [two]"))
	write(logs.Origin{"a.1", "node-2", "c2"}, line(3, 0, -1, "stdout", "harness", "gamma"))
	write(logs.Origin{"a.2", "node-1", "c3"}, line(4, 4, 0, "stdout", "task", "delta ONE\x00 \xff"))
	at := func(sec int) *time.Time { t := noon.Add(time.Duration(sec) * time.Second); return &t }
	for _, c := range []struct {
		name   string
		filter logs.Filter
		want   string
	}{
		{"none", logs.Filter{}, "Alpha one,beta [two],gamma,delta ONE\x00 \ufffd"},
		{"allocation", logs.Filter{AllocationIDs: []string{"a.2"}}, "delta ONE\x00 \ufffd"},
		{"agents", logs.Filter{AgentIDs: []string{"node-2", "node-9"}}, "gamma"},
		{"containers", logs.Filter{ContainerIDs: []string{"c1", "c2"}}, "Alpha one,beta [two],gamma"},
		{"agent and container", logs.Filter{AgentIDs: []string{"node-2"}, ContainerIDs: []string{"c1"}}, ""},
		{"ranks", logs.Filter{RankIDs: []int{1}}, "beta [two]"},
		{"levels", logs.Filter{Levels: []int{4, 5}}, "beta [two],delta ONE\x00 \ufffd"},
		{"no level", logs.Filter{Levels: []int{0}}, "gamma"},
		{"sources", logs.Filter{Sources: []string{"harness"}}, "gamma"},
		{"stdtypes", logs.Filter{Stdtypes: []string{"stderr"}}, "beta [two]"},
		{"before", logs.Filter{Before: at(2)}, "Alpha one,beta [two]"},
		{"after", logs.Filter{After: at(3)}, "delta ONE\x00 \ufffd"},
		{"text", logs.Filter{Search: "one"}, "Alpha one,delta ONE\x00 \ufffd"},
		{"text with meaning in patterns", logs.Filter{Search: "[two"}, "beta [two]"},
		{"regular expression", logs.Filter{Search: "^[a-d].*\\]$", Regex: true}, "beta [two]"},
		{"all together", logs.Filter{RankIDs: []int{0}, Levels: []int{3}, Search: "alpha", After: at(0), Before: at(9), Stdtypes: []string{"stdout"}}, "Alpha one"},
	} {
		if got := texts(readLogs(t, s, task, c.filter)); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	if _, err := s.Reader(task, logs.Filter{Search: "(", Regex: true}); !fault.Is(err, fault.Invalid) {
		t.Errorf("a broken expression: %v", err)
	}
	if got := readLogs(t, s, "nothing", logs.Filter{}); got != nil {
		t.Errorf("no task: %v", got)
	}
	f, err := logs.ReadFields(t.Context(), w.DB, task, nil)
	want := logs.Fields{AllocationIDs: []string{"a.1", "a.2"}, AgentIDs: []string{"node-1", "node-2"}, ContainerIDs: []string{"c1", "c2", "c3"},
		Sources: []string{"harness", "task"}, Stdtypes: []string{"stderr", "stdout"}, RankIDs: []int{0, 1}}
	if err != nil || fmt.Sprint(f) != fmt.Sprint(want) {
		t.Errorf("fields: %v %v", f, err)
	}
}

func TestLogsBothWays(t *testing.T) {
	w := newWorld(t)
	task := w.TaskOf(w.Trial(w.Experiment(rowtest.LossSearcher), 0, 1))
	s := logs.NewStore(w.DB, w.Bus, logs.Settings{Days: logs.Forever})
	const total = 3500 // several chunks a batch, and more chunks than a page
	for first := 0; first < total; first += 70 {
		if _, err := s.Append(t.Context(), logs.Batch{TaskID: task, Lines: lines(first, 70)}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Append(t.Context(), logs.Batch{TaskID: task, Lines: lines(total, 2500)}); err != nil {
		t.Fatal(err)
	}
	r, err := s.Reader(task, logs.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	for _, limit := range []int{0, 1, 69, 70, 71, 5999, 6000, 9000} {
		want := total + 2500
		if limit > 0 {
			want = min(want, limit)
		}
		n, last := 0, 0
		if _, err := r.Forward(t.Context(), 1, limit, func(list []logs.Record) error {
			n, last = n+len(list), int(list[len(list)-1].Number)
			return nil
		}); err != nil || n != want || last != want {
			t.Errorf("forward %d: %d lines, last %d, want %d: %v", limit, n, last, want, err)
		}
		n = 0
		if _, err := r.Backward(t.Context(), 0, limit, func(list []logs.Record) error {
			n, last = n+len(list), int(list[len(list)-1].Number)
			return nil
		}); err != nil || n != want || last != total+2500-want+1 {
			t.Errorf("backward %d: %d lines, last %d, want %d: %v", limit, n, last, want, err)
		}
	}
	gone := errors.New("the client went")
	if _, err := r.Forward(t.Context(), 1, 0, func([]logs.Record) error { return gone }); !errors.Is(err, gone) {
		t.Errorf("stopping: %v", err)
	}
}

func TestLogsEnd(t *testing.T) {
	w := newWorld(t)
	trial := w.Trial(w.Experiment(rowtest.LossSearcher), 0, 1)
	task, id := w.TaskOf(trial), w.Attempt(trial, 1, 1)
	if _, err := (attempts.Gate{DB: w.DB}).Claim(t.Context(), rowtest.Claim(id, 0, "n")); err != nil {
		t.Fatal(err)
	}
	s := logs.NewStore(w.DB, w.Bus, logs.Settings{Days: logs.Forever})
	check := func(what string, want bool) {
		t.Helper()
		if ended, err := logs.Ended(t.Context(), w.DB, task, nil); err != nil || ended != want {
			t.Errorf("%s: ended %v, want %v: %v", what, ended, want, err)
		}
	}
	check("running", false)
	w.Exec(`UPDATE allocations SET state = 'TERMINATED', outcome = 'completed', ended_at = now() WHERE id = $1`, id)
	w.Exec(`UPDATE tasks SET ended_at = now() WHERE id = $1`, task)
	check("ended, logs to come", false)
	origin, err := logs.MemberOrigin(t.Context(), w.DB, id, 0)
	if err != nil || origin != (logs.Origin{id, "node-0", "nomad-" + id}) {
		t.Errorf("origin: %v %v", origin, err)
	}
	if _, err := s.Append(t.Context(), logs.Batch{TaskID: task, Origin: origin, Shipper: "x", Lines: lines(0, 1), Done: true}); err != nil {
		t.Fatal(err)
	}
	check("all are in", true)
	w.Exec(`UPDATE members SET logs_done = false WHERE allocation_id = $1`, id)
	check("not all are in", false)
	w.Exec(`UPDATE allocations SET ended_at = now() - interval '1 hour' WHERE id = $1`, id)
	check("given up", true)
}

// TestManyShippers: a task has a limited number of shippers.
func TestManyShippers(t *testing.T) {
	w := newWorld(t)
	task := w.TaskOf(w.Trial(w.Experiment(rowtest.LossSearcher), 0, 1))
	w.Exec(`INSERT INTO log_shippers (shipper, task_id, next) SELECT 's' || i, $1, 0 FROM generate_series(1, $2::int) i`, task, logs.MaxShippers)
	s := logs.NewStore(w.DB, w.Bus, logs.Settings{Days: logs.Forever})
	if _, err := s.Append(t.Context(), logs.Batch{TaskID: task, Shipper: "new", Lines: lines(0, 1)}); !fault.Is(err, fault.NotFound) || !strings.Contains(err.Error(), "shippers") {
		t.Error(err)
	}
	if _, err := s.Append(t.Context(), logs.Batch{TaskID: task, Shipper: "s7", Lines: lines(0, 1)}); err != nil {
		t.Error(err)
	}
}
