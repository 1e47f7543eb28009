package api

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"testing"
)

// alwaysThere returns the fields that Determined's client always sets in a class. It omits fields
// that the protocol may omit; master/v1 tests those.
func alwaysThere(t *testing.T, class string, leftOut ...string) []string {
	t.Helper()
	f, err := os.Open("../v1/testdata/fields.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var fields []string
	for lines := bufio.NewScanner(f); lines.Scan(); {
		words := strings.Fields(lines.Text())
		if words[0] == class && !strings.Contains(" "+strings.Join(leftOut, " ")+" ", " "+words[1]+" ") {
			fields = append(fields, words[1])
		}
	}
	if len(fields) == 0 {
		t.Fatalf("no fields of %s are known", class)
	}
	return fields
}

// one is the only, or the first, item of a list.
func one(t *testing.T, tree any, path string) any {
	t.Helper()
	list, _ := at(t, tree, path).([]any)
	if len(list) == 0 {
		t.Fatalf("%s is empty", path)
	}
	return list[0]
}

// TestUnsetFieldsAreWritten: the answer about a new object contains also the fields that are not set,
// because clients read keys without checks.
func TestUnsetFieldsAreWritten(t *testing.T) {
	r := newRig(t)
	me := r.user("determined")
	r.node("n1", "node-1", 1)
	id := me.create(yaml(), `"activate":true`)
	trial, task := r.trial(id, 0)
	kinds := everyKind(t, me)
	get := func(path string, args ...any) map[string]any {
		return me.get(fmt.Sprintf("/api/v1"+path, args...)).ok().tree()
	}

	shown := map[string]any{
		"v1Experiment":   at(t, get("/experiments/%d", id), "experiment"),
		"trialv1Trial":   at(t, get("/trials/%d", trial), "trial"),
		"v1Command":      at(t, get("/commands/%s", kinds["command"]), "command"),
		"v1Notebook":     at(t, get("/notebooks/%s", kinds["notebook"]), "notebook"),
		"v1Shell":        at(t, get("/shells/%s", kinds["shell"]), "shell"),
		"v1Tensorboard":  at(t, get("/tensorboards/%s", kinds["tensorboard"]), "tensorboard"),
		"v1Job":          at(t, one(t, get("/job-queues-v2?resourcePool=default"), "jobs"), "full"),
		"v1Agent":        at(t, get("/agents/node-1"), "agent"),
		"v1ResourcePool": one(t, get("/resource-pools"), "resourcePools"),
		"v1Workspace":    at(t, get("/workspaces/1"), "workspace"),
		"v1Project":      at(t, get("/projects/1"), "project"),
		"v1User":         at(t, get("/me"), "user"),
		"v1Task":         at(t, get("/tasks/%s", task), "task"),
		"v1Allocation":   one(t, get("/tasks/%s", task), "task.allocations"),
	}
	for _, summary := range at(t, get("/tasks"), "allocationIdToSummary").(map[string]any) {
		shown["v1AllocationSummary"] = summary
	}
	const uuid = "6ba7b810-9dad-41d1-80b4-00c04fd430c8"
	a := r.running(yaml(), 1)
	a.ranks[0].post("/api/v1/checkpoints", `{"uuid":"`+uuid+`","state":"STATE_COMPLETED","resources":{},"metadata":{}}`).ok()
	checkpoint := at(t, get("/checkpoints/%s", uuid), "checkpoint")
	shown["v1Checkpoint"], shown["v1CheckpointTrainingMetadata"] = checkpoint, at(t, checkpoint, "training")
	for class, got := range shown {
		for _, name := range alwaysThere(t, class, "taskState", "autoCreatedNamespace") {
			if _, there := got.(map[string]any)[name]; !there {
				t.Errorf("%s.%s is left out", class, name)
			}
		}
	}

	for class, fields := range map[string]string{
		"v1Experiment": "endTime forkedFrom bestTrialSearcherMetric externalExperimentId", "v1User": "agentUserGroup",
		"trialv1Trial": "bestValidation latestValidation bestCheckpoint endTime searcherMetricValue summaryMetrics metadata",
		"v1Command":    "container", "v1Notebook": "container", "v1Shell": "container", "v1Tensorboard": "container",
		"v1Workspace": "agentUserGroup checkpointStorageConfig pinnedAt", "v1Task": "endTime parentId", "v1Allocation": "endTime exitReason statusCode",
		"v1CheckpointTrainingMetadata": "searcherMetric",
	} {
		for _, name := range strings.Fields(fields) {
			if v := shown[class].(map[string]any)[name]; v != nil {
				t.Errorf("%s.%s is %v, although it is not set", class, name, v)
			}
		}
	}
	for path, want := range map[string]any{"v1Command.exitStatus": "", "trialv1Trial.runnerState": "", "trialv1Trial.warmStartCheckpointUuid": "",
		"trialv1Trial.taskId": task, "v1Checkpoint.taskId": a.task, "v1Checkpoint.allocationId": a.id, "v1Job.progress": 0.0} {
		class, name, _ := strings.Cut(path, ".")
		if v := shown[class].(map[string]any)[name]; v != want {
			t.Errorf("%s is %v, not %v", path, v, want)
		}
	}
}
