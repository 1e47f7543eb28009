package control

import (
	"testing"
	"time"

	"github.com/detent-ml/detent/master/cluster"
	"github.com/detent-ml/detent/master/nodes"
)

// job returns a Nomad job of this cluster.
func job(id, status string) cluster.JobFact {
	return cluster.JobFact{AllocationID: id, JobID: "det-" + id, Status: status, SubmittedAt: time.Unix(1e9, 0)}
}

// TestAnOrphanIsStoppedAfterItsGrace tests that a job without a row is listed at once, and
// stopped an hour later.
func TestAnOrphanIsStoppedAfterItsGrace(t *testing.T) {
	b := newBench(t, "n1")
	e := b.experiment("")
	b.settle()
	own := b.newest(e)
	stopped := job("stopped.1", "pending")
	stopped.Stopped = true
	b.nomad.jobs = []cluster.JobFact{job(own, "running"), job("lost.1", "running"), job("old.1", "dead"), stopped}
	b.settle()
	list, err := nodes.Orphans(t.Context(), b.db, 0, 10)
	if err != nil || len(list) != 1 || list[0].AllocationID != "lost.1" || list[0].JobID != "det-lost.1" {
		t.Fatalf("%+v %v", list, err)
	}
	if n := b.nomad.stops["lost.1"]; n != 0 {
		t.Fatalf("the orphan was stopped %d times within its grace period", n)
	}
	b.exec(`UPDATE orphans SET seen_at = now() - interval '61 minutes'`)
	b.nomad.alarm = "lists cannot be trusted"
	b.settle()
	if n := b.nomad.stops["lost.1"]; n != 0 {
		t.Fatalf("the orphan was stopped %d times although Nomad's lists cannot be trusted", n)
	}
	b.nomad.alarm = ""
	b.settle()
	if b.nomad.stops["lost.1"] == 0 || b.nomad.stops[own] != 0 || b.nomad.stops["old.1"] != 0 || b.nomad.stops["stopped.1"] != 0 {
		t.Fatalf("stopped were %v", b.nomad.stops)
	}
	b.nomad.jobs = b.nomad.jobs[:1]
	b.settle()
	if n := b.int(`SELECT count(*) FROM orphans`); n != 0 {
		t.Errorf("%d orphans are left", n)
	}
}

// TestAnOrphanWhoseRowComesBackIsNone: if the row of an orphan returns, its job is no orphan any more.
func TestAnOrphanWhoseRowComesBackIsNone(t *testing.T) {
	b := newBench(t, "n1")
	e := b.experiment("")
	b.settle()
	own := b.newest(e)
	b.exec(`INSERT INTO orphans (allocation_id, job_id, submitted_at, seen_at) VALUES ($1, 'x', now(), now() - interval '2 hours')`, own)
	b.nomad.jobs = []cluster.JobFact{job(own, "running")}
	b.settle()
	if n := b.int(`SELECT count(*) FROM orphans`); n != 0 || b.nomad.stops[own] != 0 {
		t.Errorf("%d orphans, and %v was stopped", n, b.nomad.stops)
	}
}

// TestAJobEndsWithItsAttempt: a job with running processes is stopped some time after the end of its
// attempt, and a job without processes is not stopped.
func TestAJobEndsWithItsAttempt(t *testing.T) {
	b := newBench(t, "n1")
	e := b.experiment("")
	b.settle()
	id := b.newest(e)
	b.claim(id)
	b.settle()
	b.exit(id, 0)
	b.settle()
	b.want(e, "COMPLETED", "COMPLETED", "TERMINATED completed")
	if n := b.nomad.stops[id]; n != 0 {
		t.Fatalf("the attempt's job was stopped %d times at the attempt's end, while the log is still sent", n)
	}
	b.exec(`UPDATE allocations SET ended_at = now() - interval '21 minutes' WHERE id = $1`, id)
	b.settle()
	if n := b.nomad.stops[id]; n != 0 {
		t.Fatalf("the attempt's job was stopped %d times while lines are missing and no master could have accepted them", n)
	}
	b.term.began = time.Now().Add(-21 * time.Minute)
	b.settle()
	if n := b.nomad.stops[id]; n != 1 {
		t.Fatalf("the attempt's job was stopped %d times after the margin", n)
	}
	other := b.experiment("")
	b.settle()
	done := b.newest(other)
	b.claim(done)
	b.settle()
	b.exit(done, 0)
	b.settle()
	b.exec(`UPDATE members SET nomad_ended_at = now(), nomad_status = 'complete' WHERE allocation_id = $1`, done)
	b.exec(`UPDATE allocations SET ended_at = now() - interval '21 minutes' WHERE id = $1`, done)
	b.settle()
	if n := b.nomad.stops[done]; n != 0 {
		t.Errorf("a job in which nothing runs was stopped %d times", n)
	}
}

// TestAJobThatCameLate: a call to register a job timed out, its attempt was killed and ended, and
// then Nomad registered the job nevertheless. The master stops the job after a margin, although
// Nomad seemed to have accepted the stop; and again, if the job is registered again.
func TestAJobThatCameLate(t *testing.T) {
	for what, change := range map[string]string{
		"its attempt was killed, and Nomad knew no job to stop": `stopped_at = now(), kill_at = now(), kill_reason = 'x', submitted_at = NULL`,
		"its attempt was given up without an order":             `stopped_at = NULL, kill_at = NULL, submitted_at = NULL`,
		"its attempt was stopped before":                        `stopped_at = now(), kill_at = NULL`,
	} {
		t.Run(what, func(t *testing.T) {
			b := newBench(t, "n1")
			e := b.experiment("")
			b.settle()
			id := b.newest(e)
			b.exec(`UPDATE experiments SET desired = 'killed' WHERE id = $1`, e)
			b.settle()
			b.want(e, "CANCELED", "CANCELED", "TERMINATED killed")
			b.exec(`UPDATE allocations SET `+change+`, tried_at = now() WHERE id = $1`, id)
			b.exec(`UPDATE members SET nomad_ended_at = now() WHERE allocation_id = $1`, id)
			clear(b.nomad.stops)
			b.nomad.jobs = []cluster.JobFact{job(id, "pending")}
			b.settle()
			if n := b.nomad.stops[id]; n != 0 {
				t.Fatalf("the late job was stopped %d times within the margin", n)
			}
			b.exec(`UPDATE allocations SET ended_at = now() - interval '21 minutes' WHERE id = $1`, id)
			b.nomad.alarm = "lists cannot be trusted"
			b.settle()
			if n := b.nomad.stops[id]; n != 0 {
				t.Fatalf("the late job was stopped %d times by a list that cannot be trusted", n)
			}
			b.nomad.alarm = ""
			b.settle()
			if n := b.nomad.stops[id]; n != 1 {
				t.Fatalf("the late job was stopped %d times after the margin", n)
			}
			b.settle()
			if n := b.nomad.stops[id]; n != 1 {
				t.Fatalf("the late job, which is stopped, was stopped %d times", n)
			}
			b.nomad.jobs = []cluster.JobFact{job(id, "running")}
			b.settle()
			if n := b.nomad.stops[id]; n != 2 {
				t.Fatalf("the late job was registered again, and was stopped %d times in total", n)
			}
		})
	}
}
