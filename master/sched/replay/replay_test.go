package replay

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/pool"
)

// history runs a world until all its attempts have ended, and reads the recording.
func (w *world) history() *History {
	w.t.Helper()
	for len(w.queued)+len(w.running) > 0 {
		w.cycle(10 * time.Second)
	}
	w.cycle(time.Second)
	h, err := Read(w.frames, begin, w.now.Add(time.Second))
	if err != nil {
		w.t.Fatal(err)
	}
	return h
}

func simulate(t *testing.T, h *History, set ...string) map[string]Team {
	t.Helper()
	var changes []Change
	for _, text := range set {
		c, err := ParseChange(text)
		if err != nil {
			t.Fatal(err)
		}
		changes = append(changes, c)
	}
	o, err := h.Simulate(changes)
	if err != nil {
		t.Fatal(err)
	}
	teams := map[string]Team{}
	for _, x := range o.Teams {
		teams[x.Workspace] = x
	}
	return teams
}

// near reports whether seconds are some minutes, as exactly as cycles of ten seconds allow.
func near(seconds, minutes float64) bool {
	return seconds > 60*minutes-25 && seconds < 60*minutes+45
}

// TestWhatIf: team a fills a node for an hour with ten jobs, and b's job comes a minute later.
func TestWhatIf(t *testing.T) {
	w := newWorld(t, 1, &pool.Pool{Name: "gpu"}, 1, 4)
	for i := range 10 {
		w.submit(fmt.Sprintf("a%d.1", i), fmt.Sprintf("experiment %d", i), "a", "ann", 2, 30*time.Minute)
	}
	w.cycle(10 * time.Second)
	w.cycle(50 * time.Second)
	w.submit("b.1", "experiment 11", "b", "bob", 2, 10*time.Minute)
	h := w.history()
	if h.Jobs() != 11 {
		t.Fatalf("%d jobs", h.Jobs())
	}
	was, again := h.Recorded().Teams, simulate(t, h)
	for _, x := range was {
		if y := again[x.Workspace]; x.Jobs != y.Jobs || x.NotStarted != y.NotStarted || x.Max-y.Max > 60 || y.Max-x.Max > 60 || x.SlotHours-y.SlotHours > 0.1 || y.SlotHours-x.SlotHours > 0.1 {
			t.Errorf("it was %+v, and is simulated as %+v", x, y)
		}
	}
	if !near(again["b"].Max, 149) {
		t.Errorf("b waits %v s behind a", again["b"].Max)
	}
	for _, c := range []struct {
		set  string
		a, b float64 // longest waits in minutes; with the quota, until the end of the recording after 160
	}{
		{"resource_pools.gpu.scheduler.type=round_robin", 130, 29},
		{"resource_pools.gpu.scheduler.type=fair_share", 130, 29}, // nobody is preempted before 10 minutes, and then b lacks nothing
		{"nodes.gpu+=5x4", 0, 0},
		{"nodes.gpu+=1x4", 60, 59},
		{"quotas.workspaces.a.hard=2", 160, 0},
		{`quotas.workspaces."a".resource_pools.gpu.hard=2`, 160, 0},
	} {
		got := simulate(t, h, c.set)
		if c.set == "resource_pools.gpu.scheduler.type=fair_share" {
			if got["b"].Max > 30*60 || got["a"].Preemptions > 1 {
				t.Errorf("%s: %+v", c.set, got)
			}
			continue
		}
		if !near(got["a"].Max, c.a) || !near(got["b"].Max, c.b) {
			t.Errorf("%s: a waits up to %.0f min, and b %.0f min; expected %.0f and %.0f", c.set, got["a"].Max/60, got["b"].Max/60, c.a, c.b)
		}
	}
	if got := simulate(t, h, "nodes.gpu-=1"); got[""].NotStarted != 11 {
		t.Errorf("without a node: %+v", got[""])
	}
}

// TestTrialsFollowEachOther: the next trial of a search comes when one has ended, also in the simulation.
func TestTrialsFollowEachOther(t *testing.T) {
	w := newWorld(t, 1, &pool.Pool{Name: "gpu"}, 1, 2)
	w.submit("long.1", "experiment 1", "a", "ann", 2, time.Hour)
	w.cycle(time.Second)
	w.submit("trial0.1", "experiment 2", "b", "bob", 2, 10*time.Minute)
	for i := 1; i < 4; i++ {
		for len(w.queued)+len(w.running) > 0 {
			w.cycle(10 * time.Second)
		}
		w.submit(fmt.Sprintf("trial%d.1", i), "experiment 2", "b", "bob", 2, 10*time.Minute)
		w.cycle(2 * time.Second)
	}
	h := w.history()
	more := simulate(t, h, "nodes.gpu+=1x2")["b"]
	if more.Jobs != 4 || more.Max > 10 {
		t.Errorf("with a node more: %+v", more)
	}
	if less := simulate(t, h)["b"]; !near(less.Max, 60) || less.Jobs != 4 {
		t.Errorf("as it was: %+v", less)
	}
}

// TestPreemptedWorkIsDoneAgain: a job that is preempted and goes on is one job, which runs as long as without the preemption.
func TestPreemptedWorkIsDoneAgain(t *testing.T) {
	w := newWorld(t, 1, &pool.Pool{Name: "gpu", Preemption: true}, 1, 2)
	w.submit("low.1", "experiment 1", "a", "ann", 2, time.Hour)
	for range 60 {
		w.cycle(10 * time.Second)
	}
	w.submit("high.1", "experiment 2", "b", "bob", 2, 10*time.Minute).Priority = 1
	h := w.history()
	was := h.Recorded().Teams
	if was[0].Jobs != 1 || was[0].Preemptions != 1 || was[0].LostHours < 0.3 || was[0].LostHours > 0.4 {
		t.Errorf("recorded: %+v", was[0])
	}
	again := simulate(t, h)
	if x := again["a"]; x.Preemptions != 1 || x.LostHours < 0.3 || x.LostHours > 0.4 || x.SlotHours < 2.3 || x.SlotHours > 2.4 {
		t.Errorf("simulated: %+v", x)
	}
	if !near(again["b"].Max, 0.5) {
		t.Errorf("simulated: %+v", again["b"])
	}
	if x := simulate(t, h, "resource_pools.gpu.preemption=false"); x["a"].Preemptions != 0 || x["a"].SlotHours > 2.05 || !near(x["b"].Max, 50) {
		t.Errorf("without preemption: %+v", x)
	}
}

// TestRandomHistoriesEnd: simulations of random recordings with all kinds of changes keep their sums.
func TestRandomHistoriesEnd(t *testing.T) {
	for name, p := range policies() {
		w := newWorld(t, 3, p, 4, 4)
		w.rich = true
		w.live(300)
		h, err := Read(w.frames, begin.Add(time.Hour), w.now)
		if err != nil {
			t.Fatal(err)
		}
		for _, set := range []string{"users.u1.weight=3", "resource_pools.*.scheduler.type=fair_share", "resource_pools.gpu.scheduler.half_life=1h", "nodes.gpu+=3x8", "nodes.gpu-=node-2", "quotas.users.u1.soft=2", "quotas.workspaces.a.hard=none"} {
			all := simulate(t, h, set)[""]
			if all.Jobs < 100 || all.SlotHours <= 0 {
				t.Errorf("%s, %s: %+v", name, set, all)
			}
		}
	}
}

// TestWhatChangesSay: an error says what was meant, or what would be right.
func TestWhatChangesSay(t *testing.T) {
	w := newWorld(t, 1, &pool.Pool{Name: "gpu"}, 2, 2)
	w.submit("a.1", "experiment 1", "vision", "ann.b", 1, time.Minute)
	h := w.history()
	for text, want := range map[string]string{
		"resource_pool.gpu.preemption=true":                                  "did you mean resource_pools?",
		"resource_pools.gpus.preemption=true":                                "did you mean gpu?",
		"resource_pools.gpu.scheduler.typ=priority":                          "did you mean scheduler.type?",
		"resource_pools.gpu.scheduler.type=fairshare":                        "did you mean fair_share?",
		"resource_pools.gpu.preemption=perhaps":                              "expected true or false",
		"resource_pools.gpu.scheduler.half_life=soon":                        "expected a duration",
		"resource_pools.gpu.scheduler.half_life=1m":                          "from 10m to 90d",
		"resource_pools.gpu.scheduler.workspace_weights=3":                   "expected a name after weights",
		"resource_pools.gpu.scheduler.workspace_weights.vision=-3":           "a weight above 0",
		"resource_pools.gpu":                                                 "unset",
		"workspaces.visio.weight=2":                                          "did you mean vision?",
		"workspaces.vision.wait=2":                                           "workspaces.NAME.weight",
		"quotas.workspaces.vision=3":                                         "expected quotas.workspaces.NAME.hard",
		"quotas.workspaces.vision.hart=3":                                    "did you mean hard?",
		"quotas.workspaces.vision.hard=many":                                 "expected a number from 0",
		"quotas.workspaces.vision.resource_pools.cpu.hard=1":                 "did you mean gpu?",
		"nodes.gpu=8x8":                                                      "nodes.POOL+=8x8",
		"nodes.gpu+=8":                                                       "such as 8x8",
		"nodes.gpu+=8x800":                                                   "of 1 to 64 slots",
		"nodes.gpu-=3":                                                       "had 2 nodes",
		"nodes.gpu-=node-7":                                                  "did you mean node-",
		"users.\"ann.b.weight=2":                                             "a quoted name ends",
		"users..weight=2":                                                    "a part of the path is empty",
		"workspaces.vision.weight+=1":                                        "only nodes can be added",
		"resource_pools.gpu.scheduler.workspace_weights.a.b=1":               "expected a name after weights",
		"resource_pools.gpu.max_aux_containers_per_agent=1000000":            "expected a number from 0 to 1000",
		"quotas.workspaces.vision.workspaces.vision.hard=2":                  "workspaces is named twice",
		"quotas.resource_pools.gpu.hard=2":                                   "expected quotas.workspaces.NAME.hard",
		"resource_pools.gpu.scheduler.user_weights.\"ann.b\"=2":              "",
		"users.\"ann.b\".weight=2":                                           "",
		"quotas.workspaces.vision.users.\"ann.b\".resource_pools.gpu.soft=1": "",
	} {
		c, err := ParseChange(text)
		if err == nil {
			_, err = h.Simulate([]Change{c})
		}
		switch {
		case want == "" && err != nil, want != "" && want != "unset" && (err == nil || !strings.Contains(err.Error(), want)), want == "unset" && err == nil:
			t.Errorf("--set %s: %v, expected %q", text, err, want)
		}
	}
}
