package api

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// policed is a trial with policies of every kind; the second is turned off.
const policed = `
log_policies:
  - {name: OOM, pattern: out of memory}
  - {name: Off}
  - {name: ECC, pattern: "^ECC error$", action: exclude_node}
  - {pattern: give up, action: cancel_retries}
`

func (r *rig) matches(task string) string {
	r.t.Helper()
	var s string
	err := r.db.QueryRow(r.t.Context(), `SELECT coalesce(string_agg(format('%s %s %s on %s: %s', allocation_id, policy, action, node_name, line), E'\n' ORDER BY id), '')
		FROM log_matches WHERE task_id = $1`, task).Scan(&s)
	if err != nil {
		r.t.Fatal(err)
	}
	return s
}

func TestRunnersReportMatches(t *testing.T) {
	r := newRig(t)
	a := r.running(yaml()+policed, 1)
	me, owner := a.ranks[0], r.user("determined")
	const patterns = `[{"pattern":"out of memory","policy":0},{"pattern":"^ECC error$","policy":2},{"pattern":"give up","policy":3}]`
	if got, err := json.Marshal(at(t, a.claimed[0], "spec.logPatterns")); err != nil || string(got) != patterns {
		t.Errorf("the runner looks for %s, %v", got, err)
	}
	path := "/api/v1/detent/allocations/" + a.id + "/members/0/"
	me.post(path+"log_matches", `{"matches":[{"policy":2,"line":"ECC error"}]}`).ok()
	me.post(path+"log_matches", `{"matches":[{"policy":1,"line":"x"}]}`).says(400, "no log policy 1")
	me.post(path+"log_matches", `{"matches":[{"policy":4,"line":"x"}]}`).says(400, "no log policy 4")
	me.post("/api/v1/detent/allocations/"+a.id+"/members/1/log_matches", `{"matches":[]}`).says(403, "")
	owner.post(path+"log_matches", `{"matches":[]}`).says(403, "")
	if label := at(t, owner.get(fmt.Sprintf("/api/v1/trials/%d", a.trial)).ok().tree(), "trial.logPolicyMatched"); label != "ECC" {
		t.Errorf("the trial is labelled %v", label)
	}
	me.post(path+"exit", `{"exitCode":3,"logMatches":[{"policy":2,"line":"ECC error"},{"policy":3,"line":"I give up"}]}`).ok()
	want := a.id + " ECC exclude_node on node-0: ECC error\n" + a.id + "  cancel_retries on node-0: I give up"
	if got := r.matches(a.task); got != want {
		t.Errorf("stored is\n%s\nwant\n%s", got, want)
	}
	log := string(owner.get(fmt.Sprintf("/api/v1/trials/%d/logs", a.trial)).ok().body)
	const says = `(log \"ECC error\" matched regex ^ECC error$) therefore will not schedule on node-0`
	if strings.Count(log, says) != 2 || strings.Contains(log, "retry") {
		t.Errorf("the log does not say once, bare and in a message, %s, and no more:\n%s", says, log)
	}
}

func TestShippedLinesAreMatched(t *testing.T) {
	r := newRig(t)
	a := r.running(yaml()+policed, 1)
	me, owner := a.ranks[0], r.user("determined")
	line := func(text string) string {
		return fmt.Sprintf(`{"task_id":%q,"agent_id":"node-9","timestamp":"2026-11-20T04:22:04","log":%q}`, a.task, text)
	}
	me.post("/task-logs", "["+line("fine\n")+","+line("ECC error\n")+","+line("ECC error\n")+"]").ok()
	me.post("/api/v1/task/logs", `{"logs":[`+line("out of memory 1\n")+","+line(`{"log_policies": [{"pattern": "give up"}]}`)+`]}`).ok()
	owner.post("/task-logs", "["+line("I give up\n")+"]").ok() // from elsewhere, of no attempt
	want := a.id + " ECC exclude_node on node-0: ECC error\n" + a.id + " OOM  on node-0: out of memory 1\n  cancel_retries on : I give up"
	if got := r.matches(a.task); got != want {
		t.Errorf("stored is\n%s\nwant\n%s", got, want)
	}
	log := string(owner.get(fmt.Sprintf("/api/v1/trials/%d/logs?searchText=ECC", a.trial)).ok().body)
	if n := strings.Count(log, `"log":"ECC error\n"`); n != 2 {
		t.Errorf("the lines themselves are %d times in the log:\n%s", n, log)
	}
}

func TestTasksWithoutPolicies(t *testing.T) {
	r := newRig(t)
	a := r.running(yaml()+"log_policies: []\n", 1)
	a.ranks[0].post("/task-logs", fmt.Sprintf(`[{"task_id":%q,"timestamp":"2026-11-20T04:22:04","log":"CUDA out of memory"}]`, a.task)).ok()
	if got := r.matches(a.task); got != "" {
		t.Errorf("stored is %s", got)
	}
}
