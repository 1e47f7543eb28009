package api

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/detent-ml/detent/master/control/rows"
	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/pool"
	"github.com/detent-ml/detent/master/queue"
	"github.com/detent-ml/detent/master/rest"
)

func TestJobsSayWhyTheyWait(t *testing.T) {
	r := newRig(t)
	me := r.user("determined")
	id := me.create(yaml(), `"activate":true`)
	_, task := r.trial(id, 0)
	if got := at(t, me.get("/api/v1/job-queues-v2").ok().tree(), "jobs.0.full.waitingReason"); got != "" {
		t.Errorf("the waiting reason is %q", got)
	}
	why := "needs 8 slots on one node; the largest has 4"
	r.apply(rows.Changes{Allocations: []rows.AllocationChange{{ID: task + ".1", Saw: "PENDING", State: "PENDING", Waiting: &why}}})
	if got := at(t, me.get("/api/v1/job-queues-v2").ok().tree(), "jobs.0.full.waitingReason"); got != why {
		t.Errorf("the waiting reason is %q", got)
	}
}

// What a pool does not allow does not get there by a move.
func TestAMoveKeepsThePoolsLimits(t *testing.T) {
	limited := &expconf.ContainerLimits{HostPaths: []string{"/data/*"}}
	r := newRig(t, func(c *Config) {
		wide, tight := c.Pools[0], c.Pools[0]
		wide.Name, wide.Driver = "wide", pool.Docker
		wide.Limits = &expconf.ContainerLimits{HostPaths: []string{"/*:rw", "/data/*:rw"}}
		tight.Name, tight.Compute, tight.Aux, tight.Driver, tight.Limits = "tight", false, false, pool.Docker, limited
		wide.Compute, wide.Aux = true, true
		c.Pools = pool.Set{wide, tight}
	})
	me := r.user("determined")
	made := me.post("/api/v1/commands", `{"config":{"entrypoint":["true"],"resources":{"slots":0},"bind_mounts":[{"host_path":"/etc","container_path":"/x"}]}}`).ok().tree()
	job := at(t, made, "command.jobId").(string)
	move := func(job, pool string) answer {
		return me.post("/api/v1/job-queues", fmt.Sprintf(`{"updates":[{"jobId":%q,"resourcePool":%q}]}`, job, pool))
	}
	move(job, "tight").says(400, "tight", "/etc")
	move(job, "wide").ok()
	plain := me.post("/api/v1/commands", `{"config":{"entrypoint":["true"],"resources":{"slots":0}}}`).ok().tree()
	move(at(t, plain, "command.jobId").(string), "tight").ok()

	exp := me.create("bind_mounts: [{host_path: /etc, container_path: /x}]\nresources: {resource_pool: wide}\n" + yaml())
	expJob := at(t, me.get(fmt.Sprintf("/api/v1/experiments/%d", exp)).ok().tree(), "experiment.jobId").(string)
	move(expJob, "tight").says(400, "tight", "/etc")
	move(expJob, "wide").ok()

	// A TensorBoard sees folders by what it shows.
	stored := me.create("checkpoint_storage: {type: shared_fs, host_path: /etc}\nresources: {resource_pool: wide}\n" + yaml())
	through := me.create("checkpoint_storage: {type: directory, container_path: /ckpts}\nbind_mounts: [{host_path: /etc, container_path: /ckpts}]\nresources: {resource_pool: wide}\n" + yaml())
	open := me.create("checkpoint_storage: {type: shared_fs, host_path: /data/a}\nresources: {resource_pool: wide}\n" + yaml())
	board := func(exp int, pool string) answer {
		return me.post("/api/v1/tensorboards", fmt.Sprintf(`{"experimentIds":[%d],"config":{"resources":{"resource_pool":%q}}}`, exp, pool))
	}
	board(stored, "tight").says(400, "tight", "/etc", "/data/*")
	board(through, "tight").says(400, "tight", "/etc", "/data/*")
	board(open, "tight").ok()
	move(at(t, board(stored, "wide").ok().tree(), "tensorboard.jobId").(string), "tight").says(400, "tight", "/etc")
	move(at(t, board(open, "wide").ok().tree(), "tensorboard.jobId").(string), "tight").ok()
}

// TestJobsSayWhenTheyStart: the queue shows what the leader expects of jobs that wait, and why of others nothing is known.
func TestJobsSayWhenTheyStart(t *testing.T) {
	r := newRig(t)
	me := r.user("determined")
	id := me.create(yaml(), `"activate":true`)
	r.trial(id, 0)
	says := func(start any, unknown string) {
		t.Helper()
		for path, job := range map[string]string{"job-queues-v2": "jobs.0.full.", "job-queues": "jobs.0."} {
			queue := me.get("/api/v1/" + path).ok().tree()
			if got, why := at(t, queue, job+"estimatedStart"), at(t, queue, job+"startUnknown"); got != start || why != unknown {
				t.Errorf("%s: the start is %v (%v), want %v (%s)", path, got, why, start, unknown)
			}
		}
	}
	expect := func(age time.Duration, others string, starts map[string]queue.ExpectedStart) {
		t.Helper()
		f := queue.Forecast{Pool: "default", ComputedAt: time.Now().Add(-age), Starts: starts, Others: others}
		if err := queue.SetForecasts(t.Context(), r.db, []queue.Forecast{f}); err != nil {
			t.Fatal(err)
		}
	}
	says(nil, "the master has not estimated the start yet")
	at := time.Date(2027, 5, 6, 7, 8, 9, 0, time.UTC)
	mine := map[string]queue.ExpectedStart{queue.JobKey(id): {At: &at}}
	expect(-time.Second, "", mine)
	says("2027-05-06T07:08:09Z", "")
	expect(time.Hour, "", mine)
	says(nil, "the master has not estimated the start yet")
	expect(-time.Second, "", map[string]queue.ExpectedStart{queue.JobKey(id): {Unknown: "the start is too far in the future"}})
	says(nil, "the start is too far in the future")
	expect(-time.Second, "only the first ones", nil)
	says(nil, "only the first ones")
	expect(-time.Second, "", nil)
	says(nil, "it does not wait for slots alone")
	r.exec(`UPDATE allocations SET state = 'ASSIGNED', assigned_at = now()`)
	says(nil, "")
}

// TestPlacingJobsHoldsNobodyElse: while many requests of a user wait to place jobs in the queue, others are served.
func TestPlacingJobsHoldsNobodyElse(t *testing.T) {
	r := newRig(t)
	me, other := r.user("determined"), r.user("admin")
	jobs := make([]string, 2)
	for i := range jobs {
		made := me.post("/api/v1/commands", `{"config":{"entrypoint":["true"],"resources":{"slots":0}}}`).ok().tree()
		jobs[i] = at(t, made, "command.jobId").(string)
	}
	update := fmt.Sprintf(`{"jobId":%q,"aheadOf":%q}`, jobs[1], jobs[0])
	me.post("/api/v1/job-queues", `{"updates":[`+strings.Repeat(update+",", 100)+update+`]}`).says(400, "updates: 101 changes; 100 are allowed in one request")

	place := func() answer { return me.post("/api/v1/job-queues", `{"updates":[`+update+`]}`) }
	lock, err := pgx.Connect(t.Context(), r.dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close(context.WithoutCancel(t.Context()))
	if _, err := lock.Exec(t.Context(), "SELECT pg_advisory_lock(hashtext('queue places'))"); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() { place().ok() })
	}
	waiting := r.api.limits.places.Held
	eventually(t, func() bool {
		return waiting() == rest.MaxChangingPerUser && r.api.router.Limits.Changes.HeldBy("user determined") == 20
	})
	other.get("/api/v1/experiments").ok()
	if _, err := lock.Exec(t.Context(), "SELECT pg_advisory_unlock(hashtext('queue places'))"); err != nil {
		t.Fatal(err)
	}
	all.Wait()
}
