package control

import (
	"testing"

	"github.com/detent-ml/detent/master/tasks"
)

// generic creates a generic task, with its first attempt.
func (b *bench) generic(id string) {
	b.t.Helper()
	user := b.int(`SELECT id FROM users WHERE username = 'determined'`)
	if _, err := tasks.Create(b.t.Context(), b.db, tasks.New{ID: id, Type: "GENERIC", OwnerID: user, WorkspaceID: 1, Name: id,
		Config: []byte(`{"description": "x"}`), Pool: "default", Slots: 1, Priority: 42}); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) phase(id, want string) {
	b.t.Helper()
	k, err := tasks.Get(b.t.Context(), b.db, id)
	if err != nil {
		b.t.Fatal(err)
	}
	if k.Phase != want {
		b.t.Errorf("task %s is %s, want %s (%s)", id, k.Phase, want, k.ExitStatus)
	}
}

func (b *bench) does(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

// stopped is the exit of a program that Nomad asked to end.
func (b *bench) stopped(id string, code int) {
	b.t.Helper()
	b.exec(`UPDATE members SET exited_at = now(), exit_code = $2, stopped = true WHERE allocation_id = $1`, id, code)
}

// A pause ends the attempt and frees its slots, and the end of the pause starts the next attempt,
// also for a program that exits with 0 when it is preempted.
func TestAPauseStopsTheAttempt(t *testing.T) {
	for name, code := range map[string]int{"in order": 0, "by the signal": 143} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, "n1")
			b.generic("g")
			b.settle()
			b.claim("g.1")
			b.settle()
			b.phase("g", "ACTIVE")
			b.does(tasks.PauseTree(t.Context(), b.db, "g", "paused by ada"))
			b.settle()
			b.phase("g", "STOPPING_PAUSED")
			if b.nomad.stops["g.1"] == 0 {
				t.Error("Nomad was not asked to stop the job")
			}
			b.stopped("g.1", code)
			b.settle()
			b.phase("g", "PAUSED")
			if n := b.int(`SELECT count(*) FROM members m JOIN allocations a ON a.id = m.allocation_id WHERE a.state <> 'TERMINATED'`); n != 0 {
				t.Errorf("%d members hold slots", n)
			}
			b.settle()
			if n := b.int(`SELECT count(*) FROM allocations`); n != 1 {
				t.Errorf("%d attempts while it is paused", n)
			}
			b.does(tasks.ResumeTree(t.Context(), b.db, "g"))
			b.settle()
			b.claim("g.2")
			b.settle()
			b.phase("g", "ACTIVE")
			b.exit("g.2", 0)
			b.settle()
			b.phase("g", "COMPLETED")
		})
	}
}

// A task that waits in the queue leaves the queue.
func TestAPauseInTheQueue(t *testing.T) {
	b := newBench(t) // without nodes
	b.generic("g")
	b.settle()
	b.does(tasks.PauseTree(t.Context(), b.db, "g", "paused by ada"))
	b.settle()
	b.phase("g", "PAUSED")
	b.does(tasks.ResumeTree(t.Context(), b.db, "g"))
	b.settle()
	b.phase("g", "ACTIVE")
	if s := b.text(`SELECT string_agg(id || ' ' || state, ', ' ORDER BY id) FROM allocations`); s != "g.1 TERMINATED, g.2 PENDING" {
		t.Errorf("the task's attempts are %s", s)
	}
}

// A program that ended by itself before the pause could stop it decides how its task ends.
func TestAPauseThatComesTooLate(t *testing.T) {
	for code, phase := range map[int]string{0: "COMPLETED", 3: "ERROR"} {
		b := newBench(t, "n1")
		b.generic("g")
		b.settle()
		b.claim("g.1")
		b.exit("g.1", code)
		b.does(tasks.PauseTree(t.Context(), b.db, "g", "paused by ada"))
		b.settle()
		b.phase("g", phase)
	}
}

// If a user resumes a task whose attempt is still stopping, the next attempt starts after its end.
// If a user then kills the task, the exit status names that user.
func TestWhatFollowsAPauseBeforeItsEnd(t *testing.T) {
	for _, next := range []string{"run", "kill"} {
		b := newBench(t, "n1")
		b.generic("g")
		b.settle()
		b.claim("g.1")
		b.settle()
		b.does(tasks.PauseTree(t.Context(), b.db, "g", "paused by ada"))
		b.settle()
		b.exec(`UPDATE tasks SET desired = $1, kill_reason = 'killed by bob'`, next)
		b.settle()
		b.stopped("g.1", 143)
		b.settle()
		if next == "run" {
			b.phase("g", "ACTIVE")
			b.claim("g.2")
			b.settle()
			b.phase("g", "ACTIVE")
			continue
		}
		b.phase("g", "CANCELED")
		if s := b.text(`SELECT exit_status FROM tasks`); s != "killed by bob" {
			t.Errorf("the task's exit status is %q", s)
		}
	}
}

// A paused task that is killed ends without another attempt.
func TestAPausedTaskIsKilled(t *testing.T) {
	b := newBench(t, "n1")
	b.generic("g")
	b.settle()
	b.does(tasks.PauseTree(t.Context(), b.db, "g", "paused by ada"))
	b.settle()
	b.phase("g", "PAUSED")
	b.does(tasks.KillTree(t.Context(), b.db, "g", "killed by bob"))
	b.settle()
	b.phase("g", "CANCELED")
	if s := b.text(`SELECT exit_status || ' ' || (SELECT count(*) FROM allocations) FROM tasks`); s != "killed by bob 1" {
		t.Errorf("the task's exit status and number of attempts are %q", s)
	}
}
