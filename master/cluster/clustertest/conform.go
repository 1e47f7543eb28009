package clustertest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/detent-ml/detent/jobspecs"
	"github.com/detent-ml/detent/master/cluster"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/pool"
	"github.com/detent-ml/detent/master/task"
)

// View is the interface that cluster.Cluster and its fake implement.
type View interface {
	Submit(ctx context.Context, task jobspecs.Task) (cluster.Outcome, error)
	Stop(ctx context.Context, allocationID string) (cluster.Outcome, error)
	Observe(ctx context.Context, known cluster.Known) (cluster.Observation, error)
	Wake() <-chan struct{}
	VerifyIdentity(ctx context.Context, jwt string) (task.Workload, error)
	WhyNotPlaced(ctx context.Context, allocationID string) (string, error)
}

// Rig is a Nomad with one node, as the suite needs it.
type Rig struct {
	// Cluster connects a Detent cluster of that id; it runs until the test ends.
	Cluster func(t *testing.T, clusterID string) View
	NodeID  string
	// Runner is a program that runs until End is called.
	Runner jobspecs.Runner
	End    func(t *testing.T, allocationID string, rank, code int)
	Purge  func(t *testing.T, allocationID string)
	Drain  func(t *testing.T, on bool)
	JWT    func(t *testing.T, allocationID string, rank int) string
}

const (
	ours   = "11111111-aaaa-4aaa-8aaa-111111111111"
	theirs = "22222222-bbbb-4bbb-8bbb-222222222222"
	within = 60 * time.Second
)

// Task returns an attempt with this number of members, all on the rig's node.
func (r *Rig) Task(clusterID, allocationID string, members int) jobspecs.Task {
	t := jobspecs.Task{
		AllocationID: allocationID, Run: 1, ClusterID: clusterID, ClusterName: "lab", Type: "COMMAND", TaskID: allocationID, Owner: "alice",
		Pool: pool.Pool{Name: "cpu", Driver: "raw_exec"}, Runner: r.Runner, Masters: jobspecs.Masters{URLs: []string{"http://127.0.0.1:1"}},
		Services: jobspecs.NomadServices, KillTimeout: 2 * time.Second,
	}
	for range members {
		t.Members = append(t.Members, jobspecs.Member{NodeID: r.NodeID, NodeName: "the node", MHz: 50, MemoryMB: 64})
	}
	return t
}

// watcher collects what a view observes.
type watcher struct {
	t     *testing.T
	view  View
	facts map[string]cluster.TaskFact // newest, by Nomad allocation
	last  cluster.Observation
	fulls int
	parts int
}

func watch(t *testing.T, view View) *watcher {
	return &watcher{t: t, view: view, facts: map[string]cluster.TaskFact{}}
}

func (w *watcher) look(known cluster.Known) cluster.Observation {
	w.t.Helper()
	o, err := w.view.Observe(w.t.Context(), known)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, f := range o.Tasks {
		if w.facts[f.NomadAllocID].Index <= f.Index {
			w.facts[f.NomadAllocID] = f
		}
	}
	w.last = o
	if o.Full {
		w.fulls++
	} else {
		w.parts++
	}
	return o
}

// of lists the facts of an attempt, by rank and age.
func (w *watcher) of(allocationID string) []cluster.TaskFact {
	var all []cluster.TaskFact
	for _, f := range w.facts {
		if f.AllocationID == allocationID {
			all = append(all, f)
		}
	}
	slices.SortFunc(all, func(a, b cluster.TaskFact) int {
		if a.Rank != b.Rank {
			return a.Rank - b.Rank
		}
		return int(a.CreateIndex) - int(b.CreateIndex)
	})
	return all
}

// until observes at each wake-up, until a condition holds.
func (w *watcher) until(what string, known cluster.Known, ok func() bool) {
	w.t.Helper()
	deadline := time.After(within)
	for {
		w.look(known)
		if ok() {
			return
		}
		select {
		case <-w.view.Wake():
		case <-time.After(2 * time.Second):
		case <-deadline:
			w.t.Fatalf("waited %v in vain for: %s; the last observation: %+v; all that is known: %+v", within, what, w.last, w.facts)
		}
	}
}

// running waits until all members of an attempt run.
func (w *watcher) running(allocationID string, members int) []cluster.TaskFact {
	w.t.Helper()
	w.until(allocationID+" runs", cluster.Known{Live: []string{allocationID}}, func() bool {
		all := w.of(allocationID)
		return len(all) == members && !slices.ContainsFunc(all, func(f cluster.TaskFact) bool { return f.Status != "running" || !f.Started })
	})
	return w.of(allocationID)
}

func submit(t *testing.T, view View, task jobspecs.Task) {
	t.Helper()
	if outcome, err := view.Submit(t.Context(), task); outcome != cluster.Done || err != nil {
		t.Fatalf("submitting %s: %v, %v", task.AllocationID, outcome, err)
	}
}

func stop(t *testing.T, view View, allocationID string) {
	t.Helper()
	if outcome, err := view.Stop(t.Context(), allocationID); outcome != cluster.Done || err != nil {
		t.Fatalf("stopping %s: %v, %v", allocationID, outcome, err)
	}
}

// Conform tests that a Nomad, real or fake, behaves as the control loop expects.
func Conform(t *testing.T, rig *Rig) {
	view := rig.Cluster(t, ours)
	for _, test := range []struct {
		name string
		run  func(*testing.T, *Rig, View)
	}{
		{"an attempt is submitted once", submittedOnce},
		{"an attempt of several members", severalMembers},
		{"an attempt of several members without room", noRoom},
		{"an attempt that no Nomad could run", unrunnable},
		{"the jobs of another cluster", anotherCluster},
		{"stopping", stopping},
		{"processes that end", processesEnd},
		{"jobs that are gone", gone},
		{"too much is missing at once", tooMuchMissing},
		{"an index that goes backwards", backwards},
		{"a node that drains", drains},
		{"workload identities", identities},
		{"waking", waking},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, rig, view) })
	}
}

func submittedOnce(t *testing.T, rig *Rig, view View) {
	w := watch(t, view)
	for range 3 {
		submit(t, view, rig.Task(ours, "once.1", 1))
	}
	facts := w.running("once.1", 1)
	if f := facts[0]; f.Rank != 0 || f.NodeID != rig.NodeID || f.NodeName == "" || f.Desired != "run" || f.Previous != "" || f.ExitCode != nil {
		t.Errorf("the running member is described as %+v", f)
	}
	o := w.look(cluster.Known{Full: true})
	i := slices.IndexFunc(o.Jobs, func(j cluster.JobFact) bool { return j.AllocationID == "once.1" })
	if i < 0 || o.Jobs[i].Stopped || o.Jobs[i].JobID != "det-once-1" || o.Jobs[i].SubmittedAt.IsZero() {
		t.Errorf("the registered job is not among, or wrong in, %+v", o.Jobs)
	}
	stop(t, view, "once.1")
}

func severalMembers(t *testing.T, rig *Rig, view View) {
	w := watch(t, view)
	submit(t, view, rig.Task(ours, "gang.1", 3))
	for rank, f := range w.running("gang.1", 3) {
		if f.Rank != rank {
			t.Errorf("member %d has rank %d", rank, f.Rank)
		}
	}
	stop(t, view, "gang.1")
}

func noRoom(t *testing.T, rig *Rig, view View) {
	task := rig.Task(ours, "fat.1", 2)
	task.Members[1].MemoryMB = 1 << 30
	outcome, err := view.Submit(t.Context(), task)
	var no *cluster.NoRoom
	if outcome != cluster.TryAgain || !errors.As(err, &no) || !slices.Equal(no.Nodes, []string{rig.NodeID}) || !strings.Contains(no.Reason, "rank-1") {
		t.Errorf("an attempt without room: %v, %v", outcome, err)
	}
	o := watch(t, view).look(cluster.Known{Full: true, Live: []string{"fat.1"}})
	if !slices.Contains(o.Gone, "fat.1") {
		t.Errorf("it was registered all the same: %+v", o.Jobs)
	}
	// A job with one member is registered without a plan. It waits, and WhyNotPlaced says why.
	task = rig.Task(ours, "fat.2", 1)
	task.Members[0].MemoryMB = 1 << 30
	submit(t, view, task)
	deadline := time.Now().Add(within)
	for {
		why, err := view.WhyNotPlaced(t.Context(), "fat.2")
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(why, "Nomad has no room for") {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("Nomad gives no reason why fat.2 waits: %q", why)
		}
		<-time.After(20 * time.Millisecond)
	}
	stop(t, view, "fat.2")
}

func unrunnable(t *testing.T, rig *Rig, view View) {
	task := rig.Task(ours, "none.1", 0)
	if outcome, err := view.Submit(t.Context(), task); outcome != cluster.Refused || err == nil {
		t.Errorf("an attempt without members: %v, %v", outcome, err)
	}
}

func anotherCluster(t *testing.T, rig *Rig, view View) {
	other := rig.Cluster(t, theirs)
	submit(t, other, rig.Task(theirs, "shared.1", 1))
	watch(t, other).running("shared.1", 1)
	if outcome, err := view.Submit(t.Context(), rig.Task(ours, "shared.1", 1)); outcome != cluster.Refused || err == nil {
		t.Errorf("submitting over the job of another cluster: %v, %v", outcome, err)
	}
	if outcome, err := view.Stop(t.Context(), "shared.1"); outcome != cluster.Refused || err == nil {
		t.Errorf("stopping the job of another cluster: %v, %v", outcome, err)
	}
	w := watch(t, view)
	o := w.look(cluster.Known{Full: true})
	if len(w.of("shared.1")) > 0 || slices.ContainsFunc(o.Jobs, func(j cluster.JobFact) bool { return j.AllocationID == "shared.1" }) {
		t.Errorf("a job of another cluster is seen as ours: %+v", o)
	}
	w = watch(t, other)
	w.look(cluster.Known{Full: true})
	if len(w.of("shared.1")) != 1 {
		t.Errorf("the other cluster's own job is gone: %+v", w.last)
	}
	stop(t, other, "shared.1")
}

func stopping(t *testing.T, rig *Rig, view View) {
	w := watch(t, view)
	submit(t, view, rig.Task(ours, "stop.1", 1))
	first := w.running("stop.1", 1)[0]
	for range 2 {
		stop(t, view, "stop.1")
	}
	w.until("stop.1 is over", cluster.Known{Live: []string{"stop.1"}}, func() bool {
		f := w.facts[first.NomadAllocID]
		return f.Over() && f.Desired == "stop"
	})
	// The stopped job keeps its id, so the attempt cannot be registered a second time.
	submit(t, view, rig.Task(ours, "stop.1", 1))
	o := w.look(cluster.Known{Full: true, Live: []string{"stop.1"}})
	if len(w.of("stop.1")) != 1 || len(o.Gone) > 0 {
		t.Errorf("a stopped attempt was started again: %+v", w.of("stop.1"))
	}
	i := slices.IndexFunc(o.Jobs, func(j cluster.JobFact) bool { return j.AllocationID == "stop.1" })
	if i < 0 || !o.Jobs[i].Stopped {
		t.Errorf("the stopped job is not told as such in %+v", o.Jobs)
	}
	stop(t, view, "never-submitted.1")
}

func processesEnd(t *testing.T, rig *Rig, view View) {
	for code, status := range map[int]string{0: "complete", 3: "failed"} {
		id := fmt.Sprintf("end.%d", code)
		w := watch(t, view)
		submit(t, view, rig.Task(ours, id, 1))
		w.running(id, 1)
		rig.End(t, id, 0, code)
		w.until(id+" is over", cluster.Known{Live: []string{id}}, func() bool { return w.of(id)[0].Over() })
		f := w.of(id)[0]
		if f.Status != status || f.ExitCode == nil || *f.ExitCode != code || !strings.Contains(f.Detail, fmt.Sprintf("Exit Code: %d", code)) {
			t.Errorf("a process that ended with %d is told as %+v", code, f)
		}
		// An ended allocation of an attempt that is not live is not listed.
		o := w.look(cluster.Known{Full: true})
		if slices.ContainsFunc(o.Tasks, func(f cluster.TaskFact) bool { return f.AllocationID == id }) {
			t.Errorf("an ended attempt that is not live is listed still")
		}
	}
}

func gone(t *testing.T, rig *Rig, view View) {
	w := watch(t, view)
	for _, id := range []string{"kept.1", "purged.1"} {
		submit(t, view, rig.Task(ours, id, 1))
		w.running(id, 1)
	}
	live := []string{"kept.1", "purged.1", "never.1"}
	o := w.look(cluster.Known{Full: true, Live: live})
	if !slices.Equal(o.Gone, []string{"never.1"}) || o.Alarm != "" {
		t.Errorf("gone before the purge: %v, alarm %q", o.Gone, o.Alarm)
	}
	rig.Purge(t, "purged.1")
	o = w.look(cluster.Known{Full: true, Live: live})
	if !slices.Equal(o.Gone, []string{"never.1", "purged.1"}) || o.Alarm != "" {
		t.Errorf("gone after the purge: %v, alarm %q", o.Gone, o.Alarm)
	}
	stop(t, view, "kept.1")
}

func tooMuchMissing(t *testing.T, rig *Rig, view View) {
	w := watch(t, view)
	live := []string{"there.1", "lost.1", "lost.2", "lost.3"}
	submit(t, view, rig.Task(ours, "there.1", 1))
	o := w.look(cluster.Known{Full: true, Live: live})
	if len(o.Gone) > 0 || !strings.Contains(o.Alarm, "3 of 4 jobs") {
		t.Errorf("three of four jobs vanished; gone: %v, alarm %q", o.Gone, o.Alarm)
	}
	if o := w.look(cluster.Known{Live: live}); o.Alarm == "" {
		t.Error("the alarm is forgotten by the next look at what changed")
	}
	o = w.look(cluster.Known{Full: true, Live: live, Trust: true})
	if !slices.Equal(o.Gone, live[1:]) || o.Alarm != "" {
		t.Errorf("the operators confirmed it; gone: %v, alarm %q", o.Gone, o.Alarm)
	}
	stop(t, view, "there.1")
}

func backwards(t *testing.T, rig *Rig, view View) {
	w := watch(t, view)
	before := w.look(cluster.Known{Full: true}).Index
	submit(t, view, rig.Task(ours, "index.1", 1))
	w.running("index.1", 1)
	after := w.look(cluster.Known{Full: true, Index: before})
	if after.Index <= before || after.Alarm != "" {
		t.Errorf("the index went from %d to %d over a submission, alarm %q", before, after.Index, after.Alarm)
	}
	o := w.look(cluster.Known{Full: true, Index: after.Index + 1000, Live: []string{"nowhere.1"}})
	if len(o.Gone) > 0 || !strings.Contains(o.Alarm, "older state") {
		t.Errorf("an index below one that was seen; gone: %v, alarm %q", o.Gone, o.Alarm)
	}
	o = w.look(cluster.Known{Full: true, Index: after.Index, Live: []string{"nowhere.1"}})
	if !slices.Equal(o.Gone, []string{"nowhere.1"}) || o.Alarm != "" {
		t.Errorf("the index is what it was; gone: %v, alarm %q", o.Gone, o.Alarm)
	}
	stop(t, view, "index.1")
}

func drains(t *testing.T, rig *Rig, view View) {
	w := watch(t, view)
	node := func() cluster.Node {
		for _, n := range w.last.Nodes {
			if n.ID == rig.NodeID {
				return n
			}
		}
		return cluster.Node{}
	}
	w.look(cluster.Known{Full: true})
	if n := node(); !n.Schedulable || n.Why != "" || n.Name == "" || n.Cores < 1 || n.MHz < 1 || n.MemoryMB < 1 || n.FreeCores < 1 || n.FreeMemoryMB < 1 ||
		n.Status != "ready" || !slices.Contains(n.Drivers, "raw_exec") || n.NodePool != "default" || n.Datacenter != "dc1" || !n.DrainDeadline.IsZero() {
		t.Errorf("the node is described as %+v", n)
	}
	// A running task keeps the drain from completing at once.
	submit(t, view, rig.Task(ours, "drain.1", 1))
	w.running("drain.1", 1)
	rig.Drain(t, true)
	w.until("the node drains", cluster.Known{Full: true, Live: []string{"drain.1"}}, func() bool { return node().Draining })
	if n := node(); n.Schedulable || n.Eligible || !strings.Contains(n.Why, "draining") || n.DrainDeadline.IsZero() {
		t.Errorf("the draining node is described as %+v", n)
	}
	rig.Drain(t, false)
	w.until("the node is back", cluster.Known{Full: true}, func() bool { return node().Schedulable })
	stop(t, view, "drain.1")
}

func identities(t *testing.T, rig *Rig, view View) {
	w := watch(t, view)
	submit(t, view, rig.Task(ours, "who.1", 2))
	facts := w.running("who.1", 2)
	for rank := range 2 {
		got, err := view.VerifyIdentity(t.Context(), rig.JWT(t, "who.1", rank))
		want := task.Workload{Namespace: "default", JobID: "det-who-1", Group: jobspecs.GroupName(rank),
			NomadAllocID: facts[rank].NomadAllocID, FirstOfGroup: true, NodeID: rig.NodeID}
		if err != nil || got != want {
			t.Errorf("the identity of rank %d is taken for %+v, %v; want %+v", rank, got, err, want)
		}
	}
	for _, bad := range []string{"", "x", strings.Repeat("x", 1<<20), "eyJhbGciOiJub25lIn0.e30."} {
		if _, err := view.VerifyIdentity(t.Context(), bad); !fault.Is(err, fault.Unauthenticated) {
			t.Errorf("%.20q is answered with %v", bad, err)
		}
	}
	stop(t, view, "who.1")
}

func waking(t *testing.T, rig *Rig, view View) {
	w := watch(t, view)
	w.until("nothing more happens at first", cluster.Known{}, func() bool { return !w.last.Full })
	parts := w.parts
	submit(t, view, rig.Task(ours, "wake.1", 1))
	select {
	case <-view.Wake():
	case <-time.After(within):
		t.Fatal("a submission wakes nobody")
	}
	w.until("wake.1 runs", cluster.Known{}, func() bool {
		all := w.of("wake.1")
		return len(all) == 1 && all[0].Status == "running"
	})
	if w.parts == parts {
		t.Error("everything was listed, though events say what changed")
	}
	stop(t, view, "wake.1")
}
