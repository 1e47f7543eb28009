package api

import (
	"fmt"
	"testing"
)

// TestAccountOfAWorkspace: a workspace may set some of the fields, and the master returns them
// unchanged.
func TestAccountOfAWorkspace(t *testing.T) {
	admin := newRig(t).user("admin")
	made := admin.post("/api/v1/workspaces", `{"name":"Team","agentUserGroup":{"agentUid":7,"agentGroup":"lab"}}`).ok().tree()
	path := fmt.Sprintf("/api/v1/workspaces/%v", at(t, made, "workspace.id"))
	admin.patch(path, `{"name":"Crew"}`).ok()
	got := admin.get(path).ok().tree()
	for field, want := range map[string]any{"agentUid": 7.0, "agentGid": nil, "agentUser": nil, "agentGroup": "lab"} {
		if v := at(t, got, "workspace.agentUserGroup."+field); v != want {
			t.Errorf("%s is %v, want %v", field, v, want)
		}
	}
	admin.patch(path, `{"agentUserGroup":{"agentGid":-1}}`).says(400, "agentUserGroup", "-1")
	admin.patch(path, `{"agentUserGroup":{"agentUser":""}}`).says(400, "agentUserGroup")
	admin.post("/api/v1/users", `{"user":{"username":"zoe","agentUserGroup":{"agentUid":7}}}`).says(400, "give all of")
}

// TestBestOfOneTrial: the trial of a single experiment is its best from the beginning; a search
// has none before its first validation.
func TestBestOfOneTrial(t *testing.T) {
	me := newRig(t, everySearcher).user("determined")
	for config, single := range map[string]bool{yaml(): true, searching("{name: random, metric: loss, max_trials: 2}"): false} {
		path := fmt.Sprintf("/api/v1/experiments/%d", me.create(config))
		trial := at(t, me.get(path+"/trials").ok().tree(), "trials.0.id")
		best := at(t, me.get(path).ok().tree(), "experiment.bestTrialId")
		if single && best != trial || !single && best != nil {
			t.Errorf("%s\nits best trial is %v, and its first %v", config, best, trial)
		}
	}
}

// TestVersionOfAgents: clients compare it with the master's.
func TestVersionOfAgents(t *testing.T) {
	r := newRig(t)
	r.node("n1", "node-1", 1)
	me := r.user("determined")
	if a, m := at(t, me.get("/api/v1/agents").ok().tree(), "agents.0.version"), at(t, me.get("/api/v1/master").ok().tree(), "version"); a != m || a != "0.38.1" {
		t.Errorf("an agent's version is %v, and the master's %v", a, m)
	}
}

// TestBulkOfAllProjects: the project -1 stands for all, with ids and with filters.
func TestBulkOfAllProjects(t *testing.T) {
	me := newRig(t).user("determined")
	exp := me.create(yaml())
	for _, which := range []string{fmt.Sprintf(`"experimentIds":[%d]`, exp), `"experimentIds":[],"filters":{"name":"small"}`} {
		for _, verb := range []string{"activate", "pause"} {
			got := me.post("/api/v1/projects/-1/experiments/"+verb, `{"projectId":-1,`+which+`}`).ok().tree()
			if at(t, got, "results.0.id") != float64(exp) || at(t, got, "results.0.error") != "" {
				t.Errorf("%s %s: %v", verb, which, got)
			}
		}
	}
}
