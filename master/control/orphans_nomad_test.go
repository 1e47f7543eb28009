package control

import (
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/detent-ml/detent/jobspecs"
	"github.com/detent-ml/detent/master/cluster"
	"github.com/detent-ml/detent/master/cluster/clustertest"
	"github.com/detent-ml/detent/master/cluster/nomadtest"
	"github.com/detent-ml/detent/master/nodes"
)

// TestOrphansInNomad tests the sweep with a real Nomad: a job whose row was deleted is listed,
// and stopped after OrphanGrace, while another cluster's job continues. A job that was
// registered after the end of its attempt is stopped too.
func TestOrphansInNomad(t *testing.T) {
	agent := nomadtest.Start(t, nomadtest.Options{})
	runner := filepath.Join(t.TempDir(), "det-runner")
	if err := os.WriteFile(runner, []byte("#!/bin/sh\n[ \"$1\" = run ] || exit 0\nexec sleep 1000\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	rig := clustertest.Rig{NodeID: agent.NodeID, Runner: jobspecs.Runner{Path: runner}}
	const ours, theirs = "11111111-aaaa-4aaa-8aaa-111111111111", "22222222-bbbb-4bbb-8bbb-222222222222"
	connect := func(id string) *cluster.Cluster {
		c, err := cluster.New(cluster.Config{Address: agent.Address, Token: agent.Token, ClusterID: id, Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	c := connect(ours)
	for id, owner := range map[string]string{"lost.1": ours, "other.1": theirs} {
		if outcome, err := connect(owner).Submit(t.Context(), rig.Task(owner, id, 1)); outcome != cluster.Done {
			t.Fatalf("%s: %v", id, err)
		}
	}
	stopped := func(id string) bool {
		job, _, err := agent.API.Jobs().Info(jobspecs.JobID(id), nil)
		if err != nil {
			t.Fatal(err)
		}
		return job.Stop != nil && *job.Stop
	}
	b := newBench(t)
	b.term.views[0].nomad = c
	look := func() {
		b.term.views[0].known.Full = true
		if err := b.term.cycle(t.Context()); err != nil {
			t.Fatal(err)
		}
		b.term.calls.wait()
	}
	look()
	list, err := nodes.Orphans(t.Context(), b.db, 0, 10)
	if err != nil || len(list) != 1 || list[0].JobID != "det-lost-1" || time.Since(list[0].SubmittedAt) > time.Hour {
		t.Fatalf("%+v %v", list, err)
	}
	if look(); stopped("lost.1") {
		t.Fatal("the orphan was stopped within its grace period")
	}
	b.exec(`UPDATE orphans SET seen_at = now() - interval '61 minutes'`)
	if look(); !stopped("lost.1") || stopped("other.1") {
		t.Fatalf("stopped: the orphan %t, the other cluster's job %t", stopped("lost.1"), stopped("other.1"))
	}
	look()
	if n := b.int(`SELECT count(*) FROM orphans`); n != 0 {
		t.Errorf("%d orphans are left", n)
	}

	// A call that registers a job reaches Nomad after the attempt has ended.
	e := b.experiment("")
	look()
	late := b.newest(e)
	b.exec(`UPDATE experiments SET desired = 'killed' WHERE id = $1`, e)
	look()
	if state := b.text(`SELECT state FROM allocations WHERE id = $1`, late); state != "TERMINATED" {
		t.Fatalf("the attempt of the late job is %s", state)
	}
	if outcome, err := c.Submit(t.Context(), rig.Task(ours, late, 1)); outcome != cluster.Done {
		t.Fatal(err)
	}
	if look(); stopped(late) {
		t.Fatal("the late job was stopped within the margin")
	}
	b.exec(`UPDATE allocations SET ended_at = now() - interval '21 minutes' WHERE id = $1`, late)
	if look(); !stopped(late) {
		t.Fatal("the late job of an ended attempt still runs")
	}
}
