package api

import (
	"fmt"
	"testing"

	"github.com/detent-ml/detent/master/pool"
)

// A bound pool accepts work of its workspaces only, in every way of submitting or moving work.
func TestPoolBindings(t *testing.T) {
	r := newRig(t, func(c *Config) {
		second := c.Pools[0]
		second.Name, second.Compute, second.Aux = "second", false, false
		c.Pools = pool.Set{c.Pools[0], second}
	})
	me, admin := r.user("determined"), r.user("admin")
	const path = "/api/v1/resource-pools/second/workspace-bindings"
	theirs := int(at(t, admin.post("/api/v1/workspaces", `{"name":"theirs"}`).ok().tree(), "workspace.id").(float64))
	in := me.create(yaml("resources: {resource_pool: second}"))
	waits := me.post("/api/v1/commands", `{"config":{"entrypoint":["true"]}}`).ok().tree()
	me.post(path, `{"workspaceNames":["theirs"]}`).says(400, "only admin privileged users can bind")
	me.del(path).says(400, "only admin privileged users can bind")
	me.post("/api/v1/resource-pools/default/workspace-bindings", `{"workspaceNames":["theirs"]}`).says(400, "default resource pool default cannot be bound")
	admin.post(path, `{"workspaceNames":["theirs","nowhere"]}`).says(404, "the following workspaces do not exist: nowhere")
	admin.post(path, `{"workspaceIds":[777]}`).says(404, "workspace 777 not found")
	admin.post(path, `{}`).says(400, "name at least one workspace")
	admin.post("/api/v1/resource-pools/default/workspace-bindings", `{"workspaceNames":["theirs"]}`).says(400, "default resource pool default cannot be bound")
	admin.post("/api/v1/resource-pools/third/workspace-bindings", `{"workspaceNames":["theirs"]}`).says(404, "third")
	admin.post(path, `{"resourcePoolName":"second","workspaceNames":["theirs"]}`).ok()
	admin.post(path, `{"workspaceNames":["theirs"]}`).says(409, "bound to one of the workspaces already")
	if got := me.get(path).ok().tree(); fmt.Sprint(at(t, got, "workspaceIds")) != fmt.Sprint([]any{float64(theirs)}) {
		t.Errorf("%v", got)
	}
	pools := func(workspace int) string {
		return fmt.Sprint(at(t, me.get(fmt.Sprintf("/api/v1/workspaces/%d/available-resource-pools", workspace)).ok().tree(), "resourcePools"))
	}
	if ours, others := pools(1), pools(theirs); ours != "[default]" || others != "[default second]" {
		t.Errorf("open to ours %s, to theirs %s", ours, others)
	}
	closed := `pool second is not open to workspace "Uncategorized"`
	me.post("/api/v1/experiments", createBody(yaml("resources: {resource_pool: second}"))).says(400, closed)
	me.post("/api/v1/experiments", createBody(yaml("resources: {resource_pool: second}"), `"unmanaged":true`)).says(400, closed)
	me.post("/api/v1/commands", `{"config":{"entrypoint":["true"],"resources":{"resource_pool":"second"}}}`).says(400, closed)
	me.post("/api/v1/generic-tasks", `{"config":"entrypoint: [\"true\"]\nresources: {resource_pool: second}\n"}`).says(400, closed)
	me.post("/api/v1/job-queues", fmt.Sprintf(`{"updates":[{"jobId":%q,"resourcePool":"second"}]}`, at(t, waits, "command.jobId"))).says(400, closed)
	admin.put("/api/v1/config-policies/workspaces/1/EXPERIMENT", policyBody("invariant_config: {resources: {resource_pool: second}}")).says(400, closed)
	admin.patch(fmt.Sprintf("/api/v1/workspaces/%d", theirs), `{"defaultComputePool":"second"}`).ok()
	admin.post("/api/v1/workspaces", `{"name":"third","defaultComputePool":"second"}`).says(400, `pool second is not open to workspace "third"`)
	// Experiments that were submitted before stay in the pool, but cannot be activated.
	me.post(fmt.Sprintf("/api/v1/experiments/%d/activate", in), "").says(400, "pool second is not open to its workspace")
	// Into the pool's workspace and out of it.
	project := int(at(t, admin.post(fmt.Sprintf("/api/v1/workspaces/%d/projects", theirs), `{"name":"p"}`).ok().tree(), "project.id").(float64))
	me.post(fmt.Sprintf("/api/v1/experiments/%d/move", in), fmt.Sprintf(`{"destinationProjectId":%d}`, project)).ok()
	me.post(fmt.Sprintf("/api/v1/experiments/%d/activate", in), "").ok()
	me.post(fmt.Sprintf("/api/v1/experiments/%d/move", in), `{"destinationProjectId":1}`).says(400, `cannot move to workspace "Uncategorized"`)
	admin.post(fmt.Sprintf("/api/v1/projects/%d/move", project), `{"destinationWorkspaceId":1}`).says(409, "workspace (1) is immutable and cannot add new projects")
	other := admin.ownWorkspace()
	admin.post(fmt.Sprintf("/api/v1/projects/%d/move", project), fmt.Sprintf(`{"destinationWorkspaceId":%v}`, other)).says(400, `cannot move to workspace "own"`)
	// Other bindings, and none.
	admin.put(path, `{"workspaceIds":[1],"workspaceNames":["Uncategorized"]}`).ok()
	if got := me.get(path).ok().tree(); fmt.Sprint(at(t, got, "workspaceIds")) != "[1]" {
		t.Errorf("%v", got)
	}
	admin.do("DELETE", path, `{"workspaceNames":["Uncategorized"]}`).ok()
	if got := pools(theirs); got != "[default second]" {
		t.Errorf("without bindings the pool is open: %s", got)
	}
	admin.put(path, `{"workspaceIds":[1]}`).ok()
	admin.put(path, `{"workspaceIds":[]}`).ok()
	if got := pools(theirs); got != "[default second]" {
		t.Errorf("bindings that were replaced by none leave the pool open: %s", got)
	}
}
