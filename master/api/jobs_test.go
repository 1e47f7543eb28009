package api

import (
	"testing"

	"github.com/detent-ml/detent/master/store"
)

func TestJobsSayWhyTheyWait(t *testing.T) {
	r := newRig(t)
	me := r.user("determined")
	id := me.create(yaml(), `"activate":true`)
	_, task := r.trial(id, 0)
	if got := at(t, me.get("/api/v1/job-queues-v2").ok().tree(), "jobs.0.full.waitingReason"); got != "" {
		t.Errorf("it waits because of %q", got)
	}
	why := "needs 8 slots on one node; the largest has 4"
	r.apply(store.Changes{Allocations: []store.AllocationChange{{ID: task + ".1", Saw: "PENDING", State: "PENDING", Waiting: &why}}})
	if got := at(t, me.get("/api/v1/job-queues-v2").ok().tree(), "jobs.0.full.waitingReason"); got != why {
		t.Errorf("it waits because of %q", got)
	}
}
