package api

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/control/rows"
	"github.com/detent-ml/detent/master/tasks"
)

// fails ends an attempt, its trial and its task.
func (a *attempt) fails(run int) {
	a.r.t.Helper()
	a.r.exec("UPDATE members SET logs_done = true")
	a.r.apply(rows.Changes{
		Allocations: []rows.AllocationChange{{ID: a.id, Saw: "ASSIGNED", State: "TERMINATED", Ended: true, Outcome: "failed"}},
		Trials:      []rows.TrialChange{{ID: a.trial, Saw: "ACTIVE", State: "ERROR", Ended: true, RunID: run}},
		Tasks:       []rows.TaskChange{{ID: a.task, Ended: true, ExitStatus: "it failed"}}})
}

// goesOn continues the trial after its end, and claims its next attempt.
func (a *attempt) goesOn(run int) *attempt {
	a.r.t.Helper()
	a.r.apply(rows.Changes{Reopened: []rows.ReopenedTrial{{ID: a.trial, TaskID: a.task, HParams: json.RawMessage(`{"lr":0.1}`)}}})
	b := &attempt{r: a.r, exp: a.exp, trial: a.trial, task: a.task, id: fmt.Sprintf("%s.%d", a.task, run)}
	a.r.apply(rows.Changes{NewAllocations: []tasks.NewAttempt{{ID: b.id, TaskID: a.task, RunID: run, Pool: "default", Slots: 1, Priority: 42}}})
	b.put(1)
	a.r.runOf(b, run)
	return b.claimAll(1)
}

// says ships a line of the attempt by its runner.
func (a *attempt) says(shipper string, first int, line string) {
	a.r.t.Helper()
	a.ranks[0].post("/api/v1/detent/logs", fmt.Sprintf(`{"taskId":%q,"shipper":%q,"first":%d,"lines":[{"timestamp":"2026-05-01T12:00:00Z","log":%q}]}`, a.task, shipper, first, line)).ok()
}

// fields returns a field of each record of a stream.
func (c as) fields(path, field string) (all []string) {
	c.r.t.Helper()
	for line := range strings.Lines(string(c.get(path).ok().body)) {
		var m map[string]any
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			c.r.t.Fatalf("%s: %v", line, err)
		}
		all = append(all, strings.TrimSpace(fmt.Sprint(at(c.r.t, m, "result."+field))))
	}
	return all
}

// TestEachContinuationHasATask: as in Determined, a trial that is continued has a further task, with times, attempts and lines of its own, and
// the tasks before stay as they ended. Answers name the task in which a thing came to be.
func TestEachContinuationHasATask(t *testing.T) {
	r := newRig(t)
	first := r.running(yaml("environment: {proxy_ports: [{proxy_port: 8080}]}"), 1)
	owner := r.user("determined")
	task := func(n int) string { return []string{first.task, first.task + "-1", first.task + "-2"}[n] }
	same := func(what string, got, want any) {
		t.Helper()
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	const uuid = "0190b5a5-0000-4000-8000-00000000000"
	saves := func(a *attempt, n int, as string) {
		t.Helper()
		a.ranks[0].post("/api/v1/checkpoints", fmt.Sprintf(`{"uuid":"%s%d","taskId":%q,"state":"STATE_COMPLETED","resources":{},"metadata":{"steps_completed":%d}}`, uuid, n, as, n+1)).ok()
	}
	gpus := func(a *attempt) {
		t.Helper()
		a.ranks[0].post(a.path("/acceleratorData"), `{"acceleratorData":{"acceleratorType":"cpu","acceleratorUuids":["x"]}}`).ok()
	}
	first.says("s1", 0, "a1")
	saves(first, 0, task(0))
	gpus(first)
	follower := owner.open("/api/v1/tasks/"+task(0)+"/logs?follow=true", nil) // while it runs
	if line, err := follower.line(); err != nil || !strings.Contains(line, `"a1`) {
		t.Fatalf("%s: %v", line, err)
	}
	first.fails(1)
	same("before", at(t, owner.get(first.trialPath("")).ok().tree(), "trial.taskIds"), []string{task(0)})
	owner.get("/api/v1/tasks/"+task(1)).says(404, "task "+task(1)+" not found")

	second := first.goesOn(2)
	if rest, err := io.ReadAll(follower.in); err != nil || strings.Contains(string(rest), "error") {
		t.Errorf("the log of the task that has ended goes on: %s, %v", rest, err)
	}
	second.says("s2", 0, "b1")
	first.says("s1", 1, "a2") // late
	saves(second, 1, task(1))
	gpus(second)
	second.ranks[0].post("/api/v1/task/logs", fmt.Sprintf(`{"logs":[{"taskId":%q,"log":"b2"}]}`, task(1))).ok()
	second.ranks[0].post("/api/v1/task/logs", fmt.Sprintf(`{"logs":[{"taskId":%q,"log":"b3"}]}`, task(0))).ok() // a program that kept its first id
	second.ranks[0].post("/api/v1/task/logs", `{"logs":[{"taskId":"7.x-1","log":"x"}]}`).says(403, "may not ship logs of task 7.x-1")
	second.fails(2)
	third := second.goesOn(3)
	third.says("s3", 0, "c1")
	saves(third, 2, "")

	trial := owner.get(first.trialPath("")).ok().tree()
	all := []string{task(0), task(1), task(2)}
	same("taskIds", at(t, trial, "trial.taskIds"), all)
	same("taskId", at(t, trial, "trial.taskId"), task(2))
	same("restarts", at(t, trial, "trial.restarts"), 0)
	same("taskId in lists", at(t, owner.get(fmt.Sprintf("/api/v1/experiments/%d/trials", first.exp)).ok().tree(), "trials.0.taskIds"), all)

	attempts := []*attempt{first, second, third}
	wanted := [][]string{{"a1", "a2"}, {"b1", "b2", "b3"}, {"c1"}}
	var ended time.Time
	for n, a := range attempts {
		k := owner.get("/api/v1/tasks/" + task(n)).ok().tree()
		same("id", at(t, k, "task.taskId"), task(n))
		same("type", at(t, k, "task.taskType"), "TASK_TYPE_TRIAL")
		list := at(t, k, "task.allocations").([]any)
		if len(list) != 1 || at(t, list[0], "allocationId") != a.id || at(t, list[0], "taskId") != task(n) {
			t.Errorf("%s has the allocations %v", task(n), list)
		}
		began, err := time.Parse(time.RFC3339, at(t, k, "task.startTime").(string))
		if err != nil || !began.After(ended) {
			t.Errorf("%s began at %v, after %v: %v", task(n), began, ended, err)
		}
		if end := k["task"].(map[string]any)["endTime"]; n == 2 {
			same("the end of the last", end, nil)
		} else if ended, err = time.Parse(time.RFC3339, fmt.Sprint(end)); err != nil || !ended.After(began) {
			t.Errorf("%s ended at %v: %v", task(n), end, err)
		}
		same("allocation", at(t, owner.get(a.path("")).ok().tree(), "allocation.taskId"), task(n))
		same("checkpoint", at(t, owner.get(fmt.Sprintf("/api/v1/checkpoints/%s%d", uuid, n)).ok().tree(), "checkpoint.taskId"), task(n))
		same("attempts", at(t, owner.get("/api/v1/detent/tasks/"+task(n)+"/attempts").ok().tree(), "attempts.0.taskId"), task(n))
		same("number of attempts", len(at(t, owner.get("/api/v1/detent/tasks/"+task(n)+"/attempts").ok().tree(), "attempts").([]any)), 1)
		logs := "/api/v1/tasks/" + task(n) + "/logs"
		same("lines", owner.fields(logs, "log"), wanted[n])
		same("lines from the end", owner.fields(logs+"?orderBy=ORDER_BY_DESC&limit=1", "log"), wanted[n][len(wanted[n])-1:])
		same("tasks of lines", slices.Compact(owner.fields(logs, "taskId")), []string{task(n)})
		same("fields", owner.fields(logs+"/fields", "allocationIds"), []string{"[" + a.id + "]"})
		if n < 2 {
			same("a log to its end", owner.fields(logs+"?follow=true", "log"), wanted[n])
			gpu := at(t, owner.get("/api/v1/tasks/"+task(n)+"/acceleratorData").ok().tree(), "acceleratorData").([]any)
			if len(gpu) != 1 || at(t, gpu[0], "taskId") != task(n) {
				t.Errorf("%s has the accelerators %v", task(n), gpu)
			}
		}
		same("the task for its program", a.file("/run/determined/info/cluster.json")["task_id"], task(n))
		same("DET_TASK_ID", at(t, a.claimed[0], "spec.env.DET_TASK_ID"), task(n))
		same("partId", at(t, a.claimed[0], "spec.partId"), task(n))
		same("the task for its runner", at(t, a.claimed[0], "spec.taskId"), task(0))
		third.ranks[0].get("/api/v1/detent/tasks/" + task(n) + "/context.tar.gz").ok()
		third.ranks[0].get("/api/v1/tasks/" + task(n) + "/context_directory").ok()
	}
	same("the log of the trial", owner.fields(first.trialPath("/logs"), "log"), []string{"a1", "b1", "a2", "b2", "b3", "c1"})
	same("attempts of the experiment", len(at(t, owner.get(fmt.Sprintf("/api/v1/detent/experiments/%d/attempts", first.exp)).ok().tree(), "attempts").([]any)), 3)
	for i, n := range []int{2, 1, 0} {
		path := fmt.Sprintf("attempts.%d.taskId", i)
		same(path, at(t, owner.get(fmt.Sprintf("/api/v1/detent/experiments/%d/attempts", first.exp)).ok().tree(), path), task(n))
		path = fmt.Sprintf("checkpoints.%d.taskId", n)
		same(path, at(t, owner.get(first.trialPath("/checkpoints")).ok().tree(), path), task(n))
	}
	live := owner.get("/api/v1/tasks").ok().tree()["allocationIdToSummary"].(map[string]any)[third.id]
	same("what runs", at(t, live, "taskId"), task(2))
	var old map[string]map[string]any
	owner.get("/tasks").ok().into(&old)
	same("what runs, for old clients", old[third.id]["task_id"], task(2))
	same("the log that a search finds", at(t, owner.get("/api/v1/detent/logs/search?searchText=a2").ok().tree(), "found.0.taskId"), task(2))

	owner.get("/api/v1/tasks/" + task(2) + "-1").is(404)
	r.anyone().get("/api/v1/tasks/" + task(1)).is(401)
}

// file is a file that the attempt's runner writes for the program.
func (a *attempt) file(path string) (content map[string]any) {
	a.r.t.Helper()
	for _, f := range at(a.r.t, a.claimed[0], "spec.files").([]any) {
		if at(a.r.t, f, "path") == path {
			var text []byte
			b, _ := json.Marshal(at(a.r.t, f, "content"))
			if err := json.Unmarshal(b, &text); err != nil {
				a.r.t.Fatal(err)
			}
			if err := json.Unmarshal(text, &content); err != nil {
				a.r.t.Fatal(err)
			}
		}
	}
	return content
}
