package api

import (
	"fmt"
	"testing"

	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/pool"
	"github.com/detent-ml/detent/master/store"
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
	r.apply(store.Changes{Allocations: []store.AllocationChange{{ID: task + ".1", Saw: "PENDING", State: "PENDING", Waiting: &why}}})
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
		wide.Limits = &expconf.ContainerLimits{HostPaths: []string{"/*"}}
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
