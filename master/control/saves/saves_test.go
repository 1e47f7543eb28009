package saves

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/detent-ml/detent/master/schema/rowtest"
)

// TestRead: the newest checkpoint of each running trial counts, but of none that asks the preemption API, and no later than now.
func TestRead(t *testing.T) {
	w := rowtest.New(t)
	var s Saves
	attempts := map[string]string{}
	e := w.Experiment(`{"name": "random"}`)
	for i, name := range []string{"saved", "never", "asks", "clock", "waits"} {
		trial := w.Trial(e, i, 1)
		id := w.Attempt(trial, 1, 1)
		attempts[name] = id
		w.Exec(`UPDATE allocations SET slots = 1, assigned_at = CASE WHEN $2 <> 'waits' THEN now() - interval '1 hour' END, preempt_asked_at = CASE WHEN $2 = 'asks' THEN now() END WHERE id = $1`, id, name)
		if name == "never" {
			continue
		}
		for steps, ago := range []string{"50 minutes", map[bool]string{true: "-50 minutes", false: "20 minutes"}[name == "clock"]} {
			w.Exec(`INSERT INTO checkpoints (uuid, task_id, allocation_id, trial_id, run_id, steps, state, reported_at)
				SELECT $1::text::uuid, task_id, $2, $3, 1, $4, 'COMPLETED', now() - $5::text::interval FROM trials WHERE id = $3`, uuid.NewString(), id, trial, steps, ago)
		}
	}
	if err := s.Read(t.Context(), w.DB); err != nil {
		t.Fatal(err)
	}
	for name, minutes := range map[string]int{"saved": 20, "clock": 0} {
		at := s.Last(attempts[name])
		if ago := w.Int(`SELECT round(extract(epoch FROM now() - $1::timestamptz) / 60)::int`, at); at.IsZero() || ago != minutes {
			t.Errorf("%s: a checkpoint %d minutes ago, not %d", name, ago, minutes)
		}
	}
	for _, name := range []string{"never", "asks", "waits"} {
		if at := s.Last(attempts[name]); !at.IsZero() {
			t.Errorf("%s: a checkpoint at %v", name, at)
		}
	}
}

// TestOtherTasksEndNoRound: notebooks are not read, and a read that looks at as many trials as it may goes on behind the last one.
func TestOtherTasksEndNoRound(t *testing.T) {
	w := rowtest.New(t)
	e := w.Experiment(`{"name": "random"}`)
	for i := range 2 {
		w.Attempt(w.Trial(e, i, 1), 1, 1)
	}
	w.Exec(`UPDATE allocations SET slots = 1, assigned_at = now()`)
	w.Exec(`INSERT INTO tasks (id, job_id, type, owner_id, workspace_id, name, config, pool, slots) VALUES ('0', gen_random_uuid(), 'NOTEBOOK', 2, 1, 'x', '{}', 'default', 1)`)
	w.Exec(`INSERT INTO allocations (id, task_id, run_id, pool, slots, priority, assigned_at) VALUES ('0.1', '0', 1, 'default', 1, 42, now())`)
	var s Saves
	if err := s.read(t.Context(), w.DB, 2); err != nil || s.after == "" || len(s.round) != 2 {
		t.Errorf("after two trials and a notebook the next read begins after %q, with %d attempts (%v)", s.after, len(s.round), err)
	}
}

// TestRounds: reads go on where the last one ended, and what a whole round has not seen is forgotten.
func TestRounds(t *testing.T) {
	var s Saves
	at := time.Unix(1, 0)
	list := func(from, to int) (l []save) {
		for i := from; i < to; i++ {
			l = append(l, save{fmt.Sprintf("a%d", i), &at})
		}
		return l
	}
	s.note(list(0, 4), 4)
	if s.after != "a3" {
		t.Errorf("the next read begins after %q", s.after)
	}
	s.note(list(4, 6), 4)
	if s.after != "" || len(s.last) != 6 {
		t.Errorf("after a round: begins after %q with %d attempts", s.after, len(s.last))
	}
	s.note(list(0, 2), 4)
	if len(s.last) != 2 || s.Last("a1").IsZero() || !s.Last("a5").IsZero() {
		t.Errorf("ended attempts are remembered: %v", s.last)
	}
}
