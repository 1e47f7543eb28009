package api

import (
	"fmt"
	"strings"
	"testing"
)

const (
	globalPolicies    = "/api/v1/config-policies/global/"
	workspacePolicies = "/api/v1/config-policies/workspaces/"
)

func policyBody(text string) string { return fmt.Sprintf(`{"configPolicies":%q}`, text) }

// The API returns a policy as it was written, until it is deleted.
func TestConfigPolicies(t *testing.T) {
	r := newRig(t)
	me, admin := r.user("determined"), r.user("admin")
	own := int(at(t, me.post("/api/v1/workspaces", `{"name":"vision"}`).ok().tree(), "workspace.id").(float64))
	mine := fmt.Sprintf("%s%d/", workspacePolicies, own)
	for _, path := range []string{globalPolicies, mine} {
		for _, workload := range []string{"EXPERIMENT", "NTSC"} {
			if got := string(me.get(path + workload).ok().body); got != `{"configPolicies":{}}` {
				t.Errorf("%s%s: %s", path, workload, got)
			}
		}
		me.get(path+"TRIAL").says(400, "invalid workload type: TRIAL")
		admin.put(path+"trial", policyBody("constraints: {priority_limit: 3}")).says(400, "invalid workload type")
		admin.put(path+"EXPERIMENT", policyBody("")).says(400, "the policy is empty")
		admin.put(path+"EXPERIMENT", policyBody("constraints:\n  priority: 3\n")).says(400, ":2:3: constraints.priority: unknown field")
		admin.put(path+"EXPERIMENT", `{"workloadType":"NTSC","configPolicies":"constraints: {priority_limit: 3}"}`).says(400, "workloadType")
	}
	got := admin.put(globalPolicies+"EXPERIMENT", policyBody("# ours\nconstraints:\n  priority_limit: 20\ninvariant_config:\n  checkpoint_storage: {type: s3, bucket: b, access_key: k, secret_key: hunter2}\n")).ok().tree()
	if at(t, got, "configPolicies.constraints.priority_limit") != 20.0 || at(t, got, "configPolicies.invariant_config.checkpoint_storage.secret_key") != "hunter2" {
		t.Errorf("%v", got)
	}
	if text := string(me.get(globalPolicies + "EXPERIMENT").ok().body); strings.Contains(text, "hunter2") || !strings.Contains(text, `"bucket":"b"`) {
		t.Errorf("a user who may not change it reads %s", text)
	}
	if text := string(admin.get(globalPolicies + "EXPERIMENT").ok().body); !strings.Contains(text, "hunter2") {
		t.Errorf("an admin reads %s", text)
	}
	me.put(globalPolicies+"EXPERIMENT", policyBody("constraints: {priority_limit: 3}")).says(403, "admin")
	me.del(globalPolicies+"EXPERIMENT").says(403, "admin")
	me.put(workspacePolicies+"1/EXPERIMENT", policyBody("constraints: {priority_limit: 3}")).says(403, "workspace")
	me.put(workspacePolicies+"777/EXPERIMENT", policyBody("constraints: {priority_limit: 3}")).says(404, "777")
	me.put(mine+"EXPERIMENT", policyBody("invariant_config: {resources: {priority: 3}}")).says(400, "nothing could run under the policy")
	me.put(mine+"NTSC", policyBody(`{"constraints": {"resources": {"max_slots": 2}}}`)).ok()
	if text := string(r.user("admin").get(mine + "NTSC").ok().body); text != `{"configPolicies":{"constraints":{"resources":{"max_slots":2}}}}` {
		t.Error(text)
	}
	me.del(mine + "NTSC").ok()
	me.del(mine + "NTSC").ok()
	admin.del(globalPolicies + "EXPERIMENT").ok()
	for _, path := range []string{globalPolicies + "EXPERIMENT", mine + "NTSC"} {
		if got := string(me.get(path).ok().body); got != `{"configPolicies":{}}` {
			t.Errorf("after its deletion: %s", got)
		}
	}
}

// The policies hold for every way to submit work, and for changes of what waits.
func TestConfigPoliciesHold(t *testing.T) {
	r := newRig(t)
	r.node("n1", "node-1", 8)
	me, admin := r.user("determined"), r.user("admin")
	first := me.post("/api/v1/experiments", createBody(yaml())).ok().tree()
	task := me.post("/api/v1/commands", `{"config":{"entrypoint":["true"]}}`).ok().tree()
	admin.put(globalPolicies+"EXPERIMENT", policyBody("invariant_config: {max_restarts: 2}\nconstraints: {priority_limit: 30, resources: {max_slots: 4}}")).ok()
	admin.put(globalPolicies+"NTSC", policyBody("constraints: {priority_limit: 40}")).ok()
	admin.put(workspacePolicies+"1/EXPERIMENT", policyBody("invariant_config: {debug: true}")).ok()
	made := me.post("/api/v1/experiments", createBody(yaml())).ok().tree()
	if at(t, made, "config.max_restarts") != 2.0 || at(t, made, "config.debug") != true || at(t, made, "config.resources.max_slots") != 4.0 {
		t.Errorf("%v", made)
	}
	told := fmt.Sprint(at(t, made, "remarks"))
	for _, want := range []string{"max_restarts: 2, set by the config policy of the cluster", `debug: true, set by the config policy of workspace "Uncategorized"`, "resources.max_slots: 4, the limit"} {
		if !strings.Contains(told, want) {
			t.Errorf("the submitter reads %s", told)
		}
	}
	for _, body := range []string{createBody(yaml() + "\nresources: {priority: 29}\n"), createBody(yaml()+"\nresources: {priority: 29}\n", `"validateOnly":true`), createBody(yaml()+"\nresources: {priority: 29}\n", `"unmanaged":true`)} {
		me.post("/api/v1/experiments", body).says(400, "requested priority [29] exceeds limit set by admin [30]")
	}
	me.post("/api/v1/generic-tasks", `{"config":"entrypoint: [\"true\"]\nresources: {priority: 39}\n"}`).says(400, "requested priority [39] exceeds limit set by admin [40]")
	me.post("/api/v1/notebooks", `{"config":{"resources":{"priority":1}}}`).says(400, "exceeds limit set by admin [40]")
	// Earlier experiments continue, and changes of them must obey the policies.
	id := fmt.Sprint(at(t, first, "experiment.id"))
	me.patch("/api/v1/experiments/"+id, `{"id":`+id+`,"resources":{"priority":29}}`).says(400, "requested priority [29]")
	me.patch("/api/v1/experiments/"+id, `{"id":`+id+`,"resources":{"maxSlots":5}}`).says(400, "requested resources.max_slots [5]")
	me.patch("/api/v1/experiments/"+id, `{"id":`+id+`,"resources":{"priority":31,"maxSlots":3}}`).ok()
	job := fmt.Sprint(at(t, first, "experiment.jobId"))
	update := func(rest string) string { return `{"updates":[{"jobId":"` + job + `",` + rest + `}]}` }
	me.post("/api/v1/job-queues", update(`"priority":10`)).says(400, "requested priority [10]")
	me.post("/api/v1/job-queues", update(`"priority":35`)).ok()
	command := fmt.Sprint(at(t, task, "command.id"))
	me.post("/api/v1/commands/"+command+"/set_priority", `{"commandId":"`+command+`","priority":3}`).says(400, "requested priority [3] exceeds limit set by admin [40]")
	// A place before a job that is more important would be a way around the limit.
	admin.del(globalPolicies + "NTSC").ok()
	me.post("/api/v1/commands/"+command+"/set_priority", `{"commandId":"`+command+`","priority":3}`).ok()
	later := me.post("/api/v1/commands", `{"config":{"entrypoint":["true"]}}`).ok().tree()
	admin.put(globalPolicies+"NTSC", policyBody("constraints: {priority_limit: 40}")).ok()
	me.post("/api/v1/job-queues", fmt.Sprintf(`{"updates":[{"jobId":%q,"aheadOf":%q}]}`, at(t, later, "command.jobId"), at(t, task, "command.jobId"))).
		says(400, "requested priority [3] exceeds limit set by admin [40]")
	admin.put(workspacePolicies+"1/EXPERIMENT", policyBody("invariant_config: {resources: {priority: 50}}")).ok()
	me.post("/api/v1/job-queues", update(`"priority":60`)).says(400, "priority cannot be modified: the config policy of workspace")
	me.post("/api/v1/job-queues", update(`"priority":50`)).ok()
}

// TestMovesKeepPolicies: an experiment that a workspace's policies reject cannot move there from a
// workspace without policies, in any way.
func TestMovesKeepPolicies(t *testing.T) {
	r := newRig(t)
	r.node("n1", "node-1", 8)
	me, admin := r.user("determined"), r.user("admin")
	workspace := func(name string) (id, project int) {
		id = int(at(t, me.post("/api/v1/workspaces", fmt.Sprintf(`{"name":%q}`, name)).ok().tree(), "workspace.id").(float64))
		project = int(at(t, me.post(fmt.Sprintf("/api/v1/workspaces/%d/projects", id), `{"name":"p"}`).ok().tree(), "project.id").(float64))
		return id, project
	}
	_, free := workspace("free")
	strict, to := workspace("strict")
	admin.put(fmt.Sprintf("%s%d/EXPERIMENT", workspacePolicies, strict), policyBody("constraints: {priority_limit: 30, resources: {max_slots: 2}}")).ok()
	for _, c := range []struct{ resources, says string }{
		{"{slots_per_trial: 4, max_slots: 4, priority: 40}", "requested resources.slots_per_trial [4] exceeds limit"},
		{"{max_slots: 4, priority: 40}", "requested resources.max_slots [4] exceeds limit"},
		{"{priority: 40}", "it has no resources.max_slots"},
		{"{max_slots: 2, priority: 3}", "requested priority [3] exceeds limit"},
		{"{max_slots: 2, priority: 40}", ""},
	} {
		id := me.create(yaml("resources: "+c.resources), fmt.Sprintf(`"projectId":%d`, free))
		whole := me.post(fmt.Sprintf("/api/v1/projects/%d/move", free), fmt.Sprintf(`{"destinationWorkspaceId":%d}`, strict))
		many := me.post(fmt.Sprintf("/api/v1/projects/%d/experiments/move", free), fmt.Sprintf(`{"destinationProjectId":%d,"experimentIds":[%d]}`, to, id)).ok()
		run := me.post("/api/v1/runs/move", fmt.Sprintf(`{"sourceProjectId":%d,"destinationProjectId":%d,"runIds":[%s]}`, free, to, r.text("SELECT id::text FROM trials WHERE experiment_id = $1", id))).ok()
		one := me.post(fmt.Sprintf("/api/v1/experiments/%d/move", id), fmt.Sprintf(`{"destinationProjectId":%d}`, to))
		if c.says == "" {
			if strings.Contains(string(many.body), "exceeds") {
				t.Errorf("%s: %s", c.resources, many.body)
			}
			continue
		}
		for how, a := range map[string]answer{"the project": whole, "many": many, "one": one, "a run": run} {
			if !strings.Contains(string(a.body), c.says) || how != "many" && how != "a run" && a.code != 400 {
				t.Errorf("%s, moving %s: %d %s", c.resources, how, a.code, a.body)
			}
		}
		if in := r.text(fmt.Sprintf("SELECT project_id::text FROM experiments WHERE id = %d", id)); in != fmt.Sprint(free) {
			t.Errorf("%s: experiment %d is in project %s", c.resources, id, in)
		}
		me.post(fmt.Sprintf("/api/v1/experiments/%d/kill", id), "").ok()
		r.exec(`UPDATE experiments SET ended_at = now(), state = 'CANCELED' WHERE id = $1`, id) // what has ended may move
	}
}

// TestMovesKeepInvariants: an experiment does not move to a workspace where it would have another configuration than a policy sets, and
// the message shows nobody's secrets.
func TestMovesKeepInvariants(t *testing.T) {
	r := newRig(t)
	me, admin := r.user("determined"), r.user("admin")
	strict := int(at(t, me.post("/api/v1/workspaces", `{"name":"strict"}`).ok().tree(), "workspace.id").(float64))
	to := int(at(t, me.post(fmt.Sprintf("/api/v1/workspaces/%d/projects", strict), `{"name":"p"}`).ok().tree(), "project.id").(float64))
	const storage = "checkpoint_storage: {type: s3, bucket: b, prefix: team, access_key: key, secret_key: hunter2}"
	admin.put(fmt.Sprintf("%s%d/EXPERIMENT", workspacePolicies, strict), policyBody("invariant_config: {max_restarts: 1, labels: [ours], "+
		"environment: {environment_variables: [OURS=hunter1]}, "+storage+"}")).ok()
	for _, c := range []struct{ config, says string }{
		{"", "checkpoint_storage"},
		{storage + "\nmax_restarts: 2\nlabels: [ours]\nenvironment: {environment_variables: [OURS=hunter1]}", "max_restarts: 1"},
		{storage + "\nmax_restarts: 1\nenvironment: {environment_variables: [OURS=hunter1]}", `labels: ["ours"]`},
		{storage + "\nmax_restarts: 1\nlabels: [ours]\nenvironment: {environment_variables: [MINE=hunter3]}", "environment.environment_variables.cpu"},
		{strings.Replace(storage, "hunter2", "hunter3", 1) + "\nmax_restarts: 1\nlabels: [ours]\nenvironment: {environment_variables: [OURS=hunter1]}", "checkpoint_storage.secret_key"},
		{strings.Replace(storage, "team", "mine", 1) + "\nmax_restarts: 1\nlabels: [ours]\nenvironment: {environment_variables: [OURS=hunter1]}", `checkpoint_storage.prefix: "team"`},
		{storage + "\nmax_restarts: 1\nlabels: [ours, mine]\nenvironment: {environment_variables: [MINE=hunter3, OURS=hunter1]}", ""},
	} {
		id := me.create(yaml(strings.Split(c.config, "\n")...))
		got := me.post(fmt.Sprintf("/api/v1/experiments/%d/move", id), fmt.Sprintf(`{"destinationProjectId":%d}`, to))
		if c.says == "" {
			got.ok()
			continue
		}
		got.says(400, fmt.Sprintf("experiment %d cannot move to workspace", id), c.says, `the config policy of workspace "strict" sets`)
		if strings.Contains(string(got.body), "hunter") {
			t.Errorf("%s", got.body)
		}
		if in := r.text("SELECT project_id::text FROM experiments WHERE id = $1", id); in != "1" {
			t.Errorf("%s: experiment %d is in project %s", c.config, id, in)
		}
		r.exec(`UPDATE experiments SET ended_at = now(), state = 'CANCELED' WHERE id = $1`, id)
		me.post(fmt.Sprintf("/api/v1/experiments/%d/move", id), fmt.Sprintf(`{"destinationProjectId":%d}`, to)).ok() // what has ended may move
	}
}
