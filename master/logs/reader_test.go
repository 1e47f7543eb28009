package logs_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/logs"
	"github.com/detent-ml/detent/master/schema/rowtest"
)

// A chunk that cannot be read, such as one of an 18 MB line, hides neither the rest of
// its log nor the logs of others.
func TestLogsThatCannotBeRead(t *testing.T) {
	w := newWorld(t)
	task, other := w.TaskOf(w.Trial(w.Experiment(rowtest.LossSearcher), 0, 1)), w.TaskOf(w.Trial(w.Experiment(rowtest.LossSearcher), 0, 1))
	s := logs.NewStore(w.DB, w.Bus, logs.Settings{Days: logs.Forever})
	w.say(s, task, "x", 0, "needle before")
	w.say(s, task, "x", 1, "long")
	w.say(s, task, "x", 2, "needle after")
	w.say(s, other, "x", 0, "needle of another")
	long := s.Packed([]logs.Line{{At: noon, Rank: -1, Text: strings.Repeat("a", 18<<20)}})
	w.Exec(`UPDATE log_chunks c SET body = $2 FROM log_tasks t WHERE t.id = c.log_task AND t.task_id = $1 AND c.first = 2`, task, long)
	out, err := s.Search(t.Context(), auth.Everywhere(), logs.Search{Text: "needle", Limit: 10, Within: time.Minute})
	if err != nil || len(out.Found) != 2 || len(out.Found[0].Lines)+len(out.Found[1].Lines) != 3 {
		t.Errorf("a search finds %+v, %v", out.Found, err)
	}
	for range 2 {
		got := readLogs(t, s, task, logs.Filter{})
		if len(got) != 3 || got[0].Text != "needle before" || got[1].Text != "lines that cannot be read: 1" || got[1].Number != 2 || got[2].Text != "needle after" {
			t.Errorf("%v", got)
		}
	}
	if s.FirstOf(task, noon) || !s.FirstOf("another", noon) {
		t.Error("the master's log does not say it once")
	}
}

// A reader whose pattern is costly pauses, also within a chunk, and neither misses nor repeats a line.
func TestReadersPause(t *testing.T) {
	w := newWorld(t)
	task := w.TaskOf(w.Trial(w.Experiment(rowtest.LossSearcher), 0, 1))
	s := logs.NewStore(w.DB, w.Bus, logs.Settings{Days: logs.Forever})
	const n, long = 12, 2500
	random := rand.New(rand.NewPCG(1, 2))
	texts := make([]string, n)
	for i := range texts {
		texts[i] = strings.Repeat("x", long-random.IntN(long/10)) + "q"
	}
	w.say(s, task, "x", 0, texts[:n/2]...)
	w.say(s, task, "x", n/2, texts[n/2:]...)
	for _, desc := range []bool{false, true} {
		r, err := s.Reader(task, logs.Filter{Regex: true, Search: `(x?){300}[qz]$`})
		if err != nil {
			t.Fatal(err)
		}
		r.SetPerCall(10_000_000)
		var got []int64
		at, calls := int64(1), 0
		if desc {
			at = 0
		}
		for done := false; !done; calls++ {
			read := r.Forward
			if desc {
				read = r.Backward
			}
			at, err = read(t.Context(), at, 0, func(list []logs.Record) error {
				for _, l := range list {
					got = append(got, l.Number)
				}
				return nil
			})
			if done = err == nil; !done && !errors.Is(err, logs.ErrPause) {
				t.Fatal(err)
			}
			if r.Work() < 0 || calls > 2*n {
				t.Fatalf("call %d leaves %d of the work", calls, r.Work())
			}
		}
		if len(got) != n || calls < 3 {
			t.Fatalf("%d lines in %d calls", len(got), calls)
		}
		for i, number := range got {
			if want := int64(i + 1); desc && number != n-want+1 || !desc && number != want {
				t.Errorf("lines %v", got)
				break
			}
		}
	}
	canceled, cancel := context.WithCancel(t.Context())
	r, err := s.Reader(task, logs.Filter{Regex: true, Search: `x`})
	if err != nil {
		t.Fatal(err)
	}
	first, second, err := r.MatchChunks(canceled, cancel)
	if err != nil || first != nil {
		t.Fatal(first, err)
	}
	if second == nil {
		t.Error("a reader matches lines after its stream has ended")
	}
}
