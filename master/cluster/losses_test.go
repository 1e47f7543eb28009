package cluster_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/nomad/api"

	"github.com/detent-ml/detent/master/cluster"
)

// serverKilled tests that no job counts as gone while Nomad's server does not answer, and that
// the state is unchanged when it is back.
func serverKilled(t *testing.T, r *rig) {
	c := r.connect(t, cluster.Config{ClusterID: mine})
	if outcome, err := c.Submit(t.Context(), r.Task(mine, "server.1", 1)); outcome != cluster.Done {
		t.Fatal(err)
	}
	before := r.waitFor(t, c, "server.1", func(f cluster.TaskFact) bool { return f.Status == "running" })
	known := cluster.Known{Full: true, Live: []string{"server.1"}}
	r.agent.Server.Kill(t)
	if o, err := c.Observe(t.Context(), known); err == nil {
		t.Errorf("a dead Nomad is observed as %+v", o)
	}
	if outcome, err := c.Submit(t.Context(), r.Task(mine, "server.2", 1)); outcome != cluster.TryAgain || err == nil {
		t.Errorf("submitting to a dead Nomad: %v, %v", outcome, err)
	}
	if outcome, err := c.Stop(t.Context(), "server.1"); outcome != cluster.TryAgain || err == nil {
		t.Errorf("stopping in a dead Nomad: %v, %v", outcome, err)
	}
	r.agent.Server.Run(t)
	// Until the server has a leader again, it answers, but its answers must not count.
	r.agent.Until(t, 60*time.Second, "Nomad to be back", func() error {
		o, err := c.Observe(t.Context(), known)
		if err != nil {
			return err
		}
		if len(o.Gone) > 0 || o.Alarm != "" {
			t.Errorf("a restarted Nomad is observed with gone %v, alarm %q", o.Gone, o.Alarm)
		}
		return nil
	})
	after := r.waitFor(t, c, "server.1", func(f cluster.TaskFact) bool { return f.Status == "running" })
	if after.NomadAllocID != before.NomadAllocID {
		t.Errorf("the task went from %s to %s", before.NomadAllocID, after.NomadAllocID)
	}
	if _, err := c.Stop(t.Context(), "server.1"); err != nil {
		t.Fatal(err)
	}
}

// replaced tests a second allocation that Nomad creates because an operator stops the first:
// the fact has Previous, and the identity of the second is not FirstOfGroup.
func replaced(t *testing.T, r *rig) {
	c := r.connect(t, cluster.Config{ClusterID: mine})
	if outcome, err := c.Submit(t.Context(), r.Task(mine, "again.1", 1)); outcome != cluster.Done {
		t.Fatal(err)
	}
	first := r.waitFor(t, c, "again.1", func(f cluster.TaskFact) bool { return f.Status == "running" })
	old := r.JWT(t, "again.1", 0)
	if err := os.Remove(filepath.Join(r.dir, "jwt.again.1.0")); err != nil {
		t.Fatal(err)
	}
	if _, err := r.agent.API.Allocations().Stop(&api.Allocation{ID: first.NomadAllocID}, nil); err != nil {
		t.Fatal(err)
	}
	second := r.waitFor(t, c, "again.1", func(f cluster.TaskFact) bool {
		return f.NomadAllocID != first.NomadAllocID && f.Started
	})
	if second.Previous != first.NomadAllocID {
		t.Errorf("the replacement is %+v, of %s", second, first.NomadAllocID)
	}
	w, err := c.VerifyIdentity(t.Context(), r.JWT(t, "again.1", 0))
	if err != nil || w.NomadAllocID != second.NomadAllocID || w.FirstOfGroup {
		t.Errorf("the replacement's identity is %+v, %v", w, err)
	}
	w, err = c.VerifyIdentity(t.Context(), old)
	if err != nil || w.NomadAllocID != first.NomadAllocID || !w.FirstOfGroup {
		t.Errorf("the first allocation's identity is %+v, %v", w, err)
	}
	// A master that has just started, with only the list, sees the same.
	fresh := r.connect(t, cluster.Config{ClusterID: mine})
	if f := r.waitFor(t, fresh, "again.1", func(f cluster.TaskFact) bool { return f.Started }); f.Previous != first.NomadAllocID {
		t.Errorf("the replacement is listed as %+v, of %s", f, first.NomadAllocID)
	}
	if _, err := c.Stop(t.Context(), "again.1"); err != nil {
		t.Fatal(err)
	}
}

// clientKilled tests that a node that does not answer is reported as down, and its allocations
// as lost.
func clientKilled(t *testing.T, r *rig) {
	c := r.connect(t, cluster.Config{ClusterID: mine})
	task := r.Task(mine, "client.1", 1)
	task.StopAfter = 10 * time.Second // so that a client that is only slow does not stop its task
	if outcome, err := c.Submit(t.Context(), task); outcome != cluster.Done {
		t.Fatal(err)
	}
	r.waitFor(t, c, "client.1", func(f cluster.TaskFact) bool { return f.Status == "running" })
	node := func() cluster.Node {
		o, err := c.Observe(t.Context(), cluster.Known{Full: true, Live: []string{"client.1"}})
		if err != nil || len(o.Nodes) != 1 || o.Alarm != "" || len(o.Gone) > 0 {
			t.Fatalf("%+v, %v", o, err)
		}
		return o.Nodes[0]
	}
	r.agent.Node.Kill(t)
	f := r.waitFor(t, c, "client.1", func(f cluster.TaskFact) bool { return f.Status == "lost" })
	if !f.Over() || f.Detail == "" {
		t.Errorf("the fact about a member on a lost node is %+v", f)
	}
	if n := node(); n.Schedulable || n.Status != "down" || n.Why != "is down" {
		t.Errorf("a lost node is observed as %+v", n)
	}
	r.agent.Node.Run(t)
	r.agent.Until(t, 60*time.Second, "the node to be back", func() error {
		if n := node(); !n.Schedulable {
			return fmt.Errorf("the node is %s and %s", n.Status, n.Why)
		}
		return nil
	})
	if _, err := c.Stop(t.Context(), "client.1"); err != nil {
		t.Fatal(err)
	}
}

// write increases Nomad's index by this number, so that a restored server does not reach the
// old index by itself before the test observes.
func (r *rig) write(t *testing.T, times int) {
	t.Helper()
	const path = "detent/test"
	for i := range times {
		v := &api.Variable{Path: path, Items: api.VariableItems{"n": strconv.Itoa(i)}}
		if _, _, err := r.agent.API.Variables().Update(v, nil); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := r.agent.API.Variables().Delete(path, nil); err != nil {
		t.Fatal(err)
	}
}

// restored tests that Observe detects a Nomad that was restored from a backup, also if only a
// job that was submitted after the last list is missing.
func restored(t *testing.T, r *rig) {
	c := r.connect(t, cluster.Config{ClusterID: mine})
	if outcome, err := c.Submit(t.Context(), r.Task(mine, "backup.1", 1)); outcome != cluster.Done {
		t.Fatal(err)
	}
	r.waitFor(t, c, "backup.1", func(f cluster.TaskFact) bool { return f.Status == "running" })
	backup, err := r.agent.API.Operator().Snapshot(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer backup.Close()
	known := cluster.Known{Full: true, Live: []string{"backup.1", "backup.2"}}
	o, err := c.Observe(t.Context(), cluster.Known{Full: true, Live: known.Live[:1]})
	if err != nil || o.Alarm != "" || len(o.Gone) > 0 {
		t.Fatalf("before: %+v, %v", o, err)
	}
	r.write(t, 50)
	if o, err = c.Observe(t.Context(), cluster.Known{Full: true, Live: known.Live[:1]}); err != nil {
		t.Fatal(err)
	}
	known.Index = o.Index
	if outcome, err := c.Submit(t.Context(), r.Task(mine, "backup.2", 1)); outcome != cluster.Done {
		t.Fatal(err)
	}
	former := r.connect(t, cluster.Config{ClusterID: mine}) // led before, and will again
	formerly := cluster.Known{Term: 1, Full: true, Live: known.Live[:1]}
	if _, err := former.Observe(t.Context(), formerly); err != nil {
		t.Fatal(err)
	}
	if outcome, err := former.Submit(t.Context(), r.Task(mine, "backup.3", 1)); outcome != cluster.Done {
		t.Fatal(err)
	}
	if _, err := r.agent.API.Operator().SnapshotRestore(backup, nil); err != nil {
		t.Fatal(err)
	}
	// A restored Nomad does this by itself sooner or later: the index of the list of jobs is
	// higher than before the restore, although no job has changed.
	if err := r.agent.API.System().ReconcileSummaries(); err != nil {
		t.Fatal(err)
	}
	r.agent.Until(t, 30*time.Second, "the older state", func() error {
		if o, err = c.Observe(t.Context(), known); err != nil {
			return err
		}
		if slices.ContainsFunc(o.Jobs, func(j cluster.JobFact) bool { return j.AllocationID == "backup.2" }) {
			return errors.New("Nomad still has the newer state")
		}
		return nil
	})
	if len(o.Gone) > 0 || !strings.Contains(o.Alarm, "older state") {
		t.Errorf("an older state: gone %v, alarm %q, index %d after %d", o.Gone, o.Alarm, o.Index, known.Index)
	}
	known.Trust = true
	if o, err = c.Observe(t.Context(), known); err != nil || !slices.Equal(o.Gone, []string{"backup.2"}) || o.Alarm != "" {
		t.Errorf("the operators confirmed it: gone %v, alarm %q, %v", o.Gone, o.Alarm, err)
	}
	if again, err := former.Observe(t.Context(), formerly); err != nil || !strings.Contains(again.Alarm, "older state") {
		t.Errorf("one that was shown more: alarm %q, %v", again.Alarm, err)
	}
	for what, look := range map[string]struct {
		who   *cluster.Cluster
		known cluster.Known
	}{
		"the next look":        {c, cluster.Known{Full: true, Live: known.Live[:1], Index: o.Index}},
		"a leader of old days": {former, cluster.Known{Term: 2, Full: true, Live: known.Live[:1], Index: o.Index}},
	} {
		if o, err := look.who.Observe(t.Context(), look.known); err != nil || o.Alarm != "" || len(o.Gone) > 0 {
			t.Errorf("%s after their word: gone %v, alarm %q, %v", what, o.Gone, o.Alarm, err)
		}
	}
}
