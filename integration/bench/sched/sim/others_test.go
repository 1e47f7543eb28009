package sim

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/pool"
	"github.com/detent-ml/detent/master/sched"
)

// A table is a small cluster of nodes with eight slots: what runs and what waits, a word each.
type table struct {
	nodes   int
	running string // id:workspace:priority:slots, in the order of submission; each begins on the first node with room
	queued  string // id:workspace:priority:slots, in the order of submission, after what runs; or before it with a leading -
}

// play asks a policy once, after it has seen all that runs in the queue. It returns what starts and what is preempted.
func (c table) play(t *testing.T, plan Planner, of *pool.Pool) string {
	t.Helper()
	o := Usual(1, c.nodes)
	s := newSimulation(o, []Job{{}})
	parse := func(text string, minute int) (list []sched.Request) {
		for i, word := range strings.Fields(text) {
			var workspace, priority, slots int
			id, rest, _ := strings.Cut(word, ":")
			if _, err := fmt.Sscanf(rest, "w%d:%d:%d", &workspace, &priority, &slots); err != nil {
				t.Fatalf("%s: %v", word, err)
			}
			at := epoch.Add(time.Duration(minute+i) * time.Minute)
			if strings.HasPrefix(id, "-") {
				at = epoch.Add(time.Duration(i-100) * time.Minute)
			}
			list = append(list, sched.Request{ID: id, Group: id, Slots: slots, Priority: priority, QueuedAt: at, Workspace: fmt.Sprint("w", workspace), User: "u", Preemptible: true})
		}
		return list
	}
	had := parse(c.running, 0)
	var running []sched.Running
	for i, q := range had {
		b := newBoard(s.nodes, running, false)
		on := b.fullest(q.Slots, func(i int) int { return b.free[i] })
		if on == nil {
			t.Fatalf("there is no room for %s", q.ID)
		}
		running = append(running, sched.Running{ID: q.ID, Group: q.ID, Priority: q.Priority, Workspace: q.Workspace, User: "u", Preemptible: true,
			StartedAt: epoch.Add(time.Duration(i) * time.Minute), Parts: b.give(q.Slots, on)})
	}
	plan(of, s.nodes, nil, had, epoch) // Determined's rules know when each was submitted
	r := plan(of, s.nodes, running, parse(c.queued, 60), epoch.Add(2*time.Hour))
	var places, leaves []string
	for _, p := range r.Place {
		places = append(places, p.ID)
	}
	for _, p := range r.Preempt {
		leaves = append(leaves, p.ID)
	}
	slices.Sort(places)
	slices.Sort(leaves)
	return strings.Join(places, " ") + " | " + strings.Join(leaves, " ")
}

// TestRulesOfOthers: the rules of Determined and Kueue do what their documentation says.
func TestRulesOfOthers(t *testing.T) {
	plain, preempts := &pool.Pool{Name: "gpu"}, &pool.Pool{Name: "gpu", Preemption: true}
	for _, c := range []struct {
		what string
		plan Planner
		of   *pool.Pool
		table
		want string
	}{
		{"a smaller request of the same priority starts though an older one waits", DeterminedPriority(), plain,
			table{1, "a:w0:42:6", "b:w0:42:4 c:w0:42:2"}, "c | "},
		{"none of a lower priority starts then", DeterminedPriority(), plain,
			table{1, "a:w0:42:6", "b:w0:10:4 c:w0:42:2"}, " | "},
		{"with preemption one does, if nobody has to leave", DeterminedPriority(), preempts,
			table{1, "a:w0:5:6", "b:w0:10:4 c:w0:42:2"}, "c | "},
		{"the one of the lowest priority leaves, of those the one that was submitted last", DeterminedPriority(), preempts,
			table{1, "a:w0:50:2 b:w0:42:2 c:w0:42:2 d:w0:9:2", "e:w0:10:4"}, " | a c"},
		{"an older one of the same priority has younger ones preempted", DeterminedPriority(), preempts,
			table{1, "a:w0:42:4 b:w0:42:4", "-c:w0:42:4"}, " | b"},
		{"and a younger one has not", DeterminedPriority(), preempts,
			table{1, "a:w0:42:4 b:w0:42:4", "c:w0:42:4"}, " | "},
		{"all leave that were tried, also where it does not help", DeterminedPriority(), preempts,
			table{2, "a:w0:42:4 b:w0:42:8 c:w0:42:2", "d:w0:10:8"}, " | b c"},
		{"several nodes must be idle", DeterminedPriority(), plain,
			table{3, "a:w0:42:1", "b:w0:42:13 c:w0:42:12"}, "b | "},
		{"a job of several nodes is alone on them", DeterminedPriority(), plain,
			table{2, "a:w0:42:13", "b:w0:42:2"}, " | "},
		{"who asks for least gets it first", DeterminedFairShare(), plain,
			table{1, "a:w0:42:6", "b:w0:42:2 c:w0:42:1"}, "c | a"},
		{"what is left over is for whoever waits", DeterminedFairShare(), plain,
			table{2, "a:w0:42:8", "b:w0:42:8"}, "b | "},
		{"a queue may borrow what others leave", Kueue(false), plain,
			table{14, "a:w0:42:64", "b:w0:42:32"}, "b | "},
		{"it gives that back to a queue that stays within its quota, the youngest first", Kueue(false), plain,
			table{14, "a:w0:42:56 b:w0:42:32 c:w0:42:24", "d:w1:42:8"}, " | c"},
		{"a queue that borrows gets nothing back", Kueue(false), plain,
			table{14, "a:w0:42:56 b:w0:42:32 c:w0:42:24", "d:w1:42:16"}, " | "},
		{"with fair sharing it gets as much as the other keeps", Kueue(true), plain,
			table{14, "a:w0:42:56 b:w0:42:32 c:w0:42:24", "d:w1:42:16"}, " | c"},
		{"but no more", Kueue(true), plain,
			table{14, "a:w0:42:56 b:w1:42:56", "d:w2:42:64"}, " | "},
		{"a more important request takes from its own queue", Kueue(false), plain,
			table{14, "a:w0:42:56 b:w0:42:32 c:w1:42:24", "d:w0:10:24"}, " | b"},
		{"a request that does not fit holds nobody back", Kueue(false), plain,
			table{14, "a:w0:42:104", "b:w0:42:16 c:w0:42:8"}, "c | "},
	} {
		if got := c.play(t, c.plan, c.of); got != c.want {
			t.Errorf("%s: %q, want %q", c.what, got, c.want)
		}
	}
}

// TestCrowd: nearly all slots are held, and the given number of jobs waits.
func TestCrowd(t *testing.T) {
	nodes, running, queued := Crowd(1, Helios(), 50, 500)
	held := 0
	for _, r := range running {
		for _, p := range r.Parts {
			held += len(p.SlotIDs)
		}
	}
	if len(nodes) != 50 || held < 320 || len(queued) != 500 {
		t.Errorf("%d nodes, %d slots held, %d wait", len(nodes), held, len(queued))
	}
	if err := sound(nodes, running, queued, sched.Plan(&pool.Pool{Name: "gpu"}, nodes, running, queued, epoch.Add(time.Hour))); err != nil {
		t.Error(err)
	}
}
