package fuzz

import (
	"fmt"
	"maps"
	"slices"
)

// values are what parameters and fields may contain, by name, "noun.name" of the operations on a noun, or
// "caller:name" for one kind of caller.
func (w *world) values() map[string][]any {
	v := maps.Clone(w.ids)
	list := func(name string, of ...string) {
		for _, x := range of {
			v[name] = append(v[name], x)
		}
	}
	same := func(name, of string) { v[name] = v[of] }
	for noun, of := range map[string]string{"experiments": "experimentId", "experiment": "experimentId", "trials": "trialId", "commands": "commandId", "notebooks": "notebookId",
		"shells": "shellId", "tensorboards": "tensorboardId", "tasks": "task", "workspaces": "workspaceId", "projects": "projectId", "users": "userId",
		"webhooks": "webhookId", "tokens": "tokenId", "allocations": "allocationId", "task:trials": "task:trialId", "task:tasks": "task:task"} {
		same(noun+".id", of)
	}
	for noun, of := range map[string]string{"models": "modelName", "templates": "templateName", "template": "templateName", "users": "username"} {
		same(noun+".name", of)
	}
	v["tasks.id"] = slices.Concat(v["task"], v["commandId"], v["genericId"], v["notebookId"], v["shellId"])
	v["tasks.taskId"] = v["genericId"]
	for name, of := range map[string]string{"run": "trialId", "runId": "trialId", "trial": "trialId", "group": "groupId", "user": "userId", "workspace": "workspaceId", "experiment": "experimentId",
		"destinationProjectId": "projectId", "sourceProjectId": "projectId", "targetWorkspaceId": "workspaceId", "destinationWorkspaceId": "workspaceId", "workspaces": "workspaceId",
		"checkpointUuid": "uuid", "name": "modelName", "modelName": "modelName", "taskId": "task", "allocationId": "allocationId", "resources": "allocationId", "parentId": "experimentId"} {
		if v[name] == nil {
			same(name, of)
		}
	}
	for name, of := range map[string]string{"experimentIds": "experimentId", "runIds": "trialId", "trialIds": "trialId", "userIds": "userId", "workspaceIds": "workspaceId", "projectIds": "projectId",
		"checkpointUuids": "uuid", "ids": "experimentId", "groupIds": "groupId", "addUsers": "userId", "removeUsers": "userId", "roleIds": "roleId", "tokenIds": "tokenId", "users": "username"} {
		for _, x := range v[of] {
			v[name] = append(v[name], []any{x})
		}
	}
	v["allocations.rank"], v["rank"], v["version"] = []any{0}, []any{0}, []any{1}
	v["agents.id"], v["agentId"], v["slot"], v["pool"] = []any{"node-1"}, []any{"node-1"}, []any{"0", "1"}, []any{"default"}
	v["roleId"] = []any{4, 5}
	enumerations(list)
	limits(v)
	bodies(v)
	mlflow(v)
	return v
}

// mlflow are the names and bodies of MLflow's calls, where ids are texts.
func mlflow(v map[string][]any) {
	for name, of := range map[string]string{"run_id": "trialId", "run_uuid": "trialId", "task:run_id": "task:trialId", "experiment_id": "projectId"} {
		for _, id := range v[of] {
			v[name] = append(v[name], fmt.Sprint(id))
		}
	}
	for name, of := range map[string]string{"run_ids": "run_id", "experiment_ids": "experiment_id"} {
		for _, id := range v[of] {
			v[name] = append(v[name], []any{id})
		}
	}
	for name, value := range map[string]any{"metric_key": "loss", "key": "a", "alias": "best", "max_results": 10, "page_token": "", "new_name": "renamed", "status": "FINISHED", "view_type": "ALL", "run_view_type": "ALL"} {
		v[name] = []any{value}
	}
	for path, fields := range map[string]map[string]any{
		"experiments/search":             {"max_results": 10},
		"experiments/set-experiment-tag": {"experiment_id": []any{}, "key": "a", "value": "1"},
		"runs/create":                    {"experiment_id": []any{}, "start_time": 1700000000000},
		"runs/update":                    {"run_id": []any{}, "status": "FINISHED"},
		"runs/log-metric":                {"run_id": []any{}, "key": "loss", "value": 0.5, "step": 1, "timestamp": 1700000000000},
		"runs/log-parameter":             {"run_id": []any{}, "key": "lr", "value": "0.1"},
		"runs/set-tag":                   {"run_id": []any{}, "key": "a", "value": "b"},
		"runs/log-batch":                 {"run_id": []any{}, "metrics": []any{map[string]any{"key": "loss", "value": 0.25, "step": 2, "timestamp": 1700000000000}}},
		"runs/search":                    {"experiment_ids": []any{}, "max_results": 10},
		"runs/delete":                    {"run_id": []any{}},
		"runs/restore":                   {"run_id": []any{}},
		"registered-models/create":       {"name": "mine"},
		"registered-models/alias":        {"name": []any{}, "alias": "best", "version": "1"},
		"model-versions/set-tag":         {"name": []any{}, "version": "1", "key": "a", "value": "b"},
		"registered-models/set-tag":      {"name": []any{}, "key": "a", "value": "b"},
		"logged-models/search":           {"experiment_ids": []any{}},
		"logged-models":                  {"experiment_id": []any{}, "source_run_id": v["run_id"][0], "name": "m"},
	} {
		operation := "POST /mlflow/api/2.0/mlflow/" + path
		v[operation] = append(v[operation], fields)
	}
}

func enumerations(list func(name string, of ...string)) {
	list("workload", "EXPERIMENT", "NTSC")
	list("orderBy", "ORDER_BY_ASC", "ORDER_BY_DESC")
	list("sortBy", "SORT_BY_ID", "SORT_BY_NAME", "SORT_BY_START_TIME")
	list("experiments.states", "STATE_COMPLETED", "STATE_PAUSED")
	list("resourcePool", "default")
	list("resourcePools", "default")
	list("metricName", "loss", "accuracy")
	list("metricNames", "loss")
	list("metric", "loss")
	list("group", "training", "validation")
	list("metricGroup", "training", "validation")
	list("metricType", "METRIC_TYPE_TRAINING", "METRIC_TYPE_VALIDATION")
	list("tableType", "TABLE_TYPE_EXPERIMENT", "TABLE_TYPE_RUN")
	list("trialSourceInfoType", "TRIAL_SOURCE_INFO_TYPE_INFERENCE")
	list("path", "train.py")
	list("external", "outside")
	list("label", "a", "b")
	list("labels", "a")
	list("target", "linux_amd64")
	list("period", "RESOURCE_ALLOCATION_AGGREGATION_PERIOD_DAILY")
	list("startDate", "2026-01-01")
	list("endDate", "2026-12-31")
	for _, name := range []string{"timestampAfter", "since", "changedSince"} {
		list(name, "2026-01-01T00:00:00Z")
	}
	for _, name := range []string{"timestampBefore", "until"} {
		list(name, "2036-12-31T00:00:00Z")
	}
	list("profile", "heap", "goroutine", "cmdline")
	list("config-policies.id", "1")
	list("levels", "LOG_LEVEL_INFO")
	list("stdtypes", "stdout")
	list("filter", `{"filterGroup":{"children":[],"conjunction":"and","kind":"group"},"showArchived":false}`)
	list("sort", "id=asc", "name=desc")
	list("config", trains)
	list("priority", "1")
	list("lifespan", "24h")
}

func limits(v map[string][]any) {
	for _, name := range []string{"limit", "count", "maxDatapoints", "maxTrials", "points", "columns", "rows"} {
		v[name] = []any{1, 10, 100}
	}
	for _, name := range []string{"offset", "startBatches", "before", "after", "userId.offset"} {
		v[name] = []any{0, 1}
	}
	for _, name := range []string{"follow", "archived", "preview", "validateOnly", "active", "admin", "isHashed", "sample", "gc"} {
		v[name] = []any{false, false, true}
	}
	v["periodSeconds"], v["seconds"], v["debug"], v["timeoutSeconds"] = []any{1}, []any{1}, []any{0, 1}, []any{0, 1}
	v["batchesProcessed"], v["endBatches"], v["batchesMargin"] = []any{100}, []any{200}, []any{10}
	v["logRetentionDays"], v["numDays"] = []any{-1, 10}, []any{-1, 10}
}

// bodies are whole bodies of operations whose fields must agree. A field whose name has values gets one of
// them where its value here is a list.
func bodies(v map[string][]any) {
	any1 := []any{}
	object := func(operation string, fields map[string]any) { v[operation] = append(v[operation], fields) }
	object("POST /api/v1/experiments", map[string]any{"config": trains, "activate": false, "projectId": any1})
	object("POST /api/v1/commands", map[string]any{"config": map[string]any{"entrypoint": []string{"true"}}, "workspaceId": any1})
	object("POST /api/v1/notebooks", map[string]any{"workspaceId": any1})
	object("POST /api/v1/shells", map[string]any{"workspaceId": any1})
	object("POST /api/v1/tensorboards", map[string]any{"workspaceId": any1, "experimentIds": any1})
	object("POST /api/v1/generic-tasks", map[string]any{"config": "entrypoint: [\"true\"]\n", "contextDirectory": []any{}, "projectId": any1})
	object("POST /api/v1/preview-hp-search", map[string]any{"config": trains, "seed": 1})
	filter := `{"filterGroup":{"children":[{"columnName":"hp.lr","kind":"field","location":"LOCATION_TYPE_RUN_HYPERPARAMETERS","operator":">","type":"COLUMN_TYPE_NUMBER","value":0}],"conjunction":"or","kind":"group"},"showArchived":true}`
	for _, path := range []string{"/api/v1/runs", "/api/v1/experiments-search"} {
		object("POST "+path, map[string]any{"filter": filter, "limit": any1, "offset": any1, "sort": any1})
		object("POST "+path, map[string]any{"projectId": any1})
	}
	for _, verb := range []string{"kill", "pause", "resume", "archive", "unarchive", "delete"} {
		object("POST /api/v1/runs/"+verb, map[string]any{"runIds": any1, "projectId": any1})
	}
	for _, verb := range []string{"activate", "archive", "cancel", "kill", "pause", "unarchive"} {
		object("POST /api/v1/projects/{id}/experiments/"+verb, map[string]any{"experimentIds": any1})
	}
	object("POST /api/v1/runs/move", map[string]any{"runIds": any1, "sourceProjectId": any1, "destinationProjectId": any1})
	object("POST /api/v1/groups/search", map[string]any{"limit": any1})
	object("POST /api/v1/roles/search", map[string]any{"limit": any1})
	object("POST /api/v1/roles/search/by-assignability", map[string]any{"limit": any1})
	object("POST /api/v1/roles/search/by-ids", map[string]any{"roleIds": any1})
	assignment := map[string]any{"role": map[string]any{"roleId": 4}, "scopeCluster": true}
	for _, path := range []string{"/api/v1/roles/add-assignments", "/api/v1/roles/remove-assignments"} {
		object("POST "+path, map[string]any{"userRoleAssignments": []any{map[string]any{"userId": v["userId"][0], "roleAssignment": assignment}}})
	}
	object("POST /api/v1/users", map[string]any{"user": map[string]any{"username": "fresh", "active": true}})
	object("PATCH /api/v1/users/{id}", map[string]any{"displayName": "someone"})
	object("POST /api/v1/tokens", map[string]any{"userId": any1, "lifespan": any1})
	object("POST /api/v1/models/{name}/versions", map[string]any{"checkpointUuid": any1})
	object("POST /api/v1/checkpoints/rm", map[string]any{"checkpointUuids": any1, "checkpointGlobs": []any{"**"}})
	object("PUT /api/v1/detent/quotas", map[string]any{"workspaceId": any1, "projectId": 0, "userId": 0, "resourcePool": "", "measure": "slots", "period": "", "soft": 10, "hard": 100})
	object("POST /api/v1/detent/resource-pools/{pool}/reservations", map[string]any{"workspaceId": any1, "slots": 1, "endTime": "2099-01-01T00:00:00Z", "note": "fuzz"})
	object("POST /api/v1/runs/{run}/metadata", map[string]any{"metadata": map[string]any{"a": 1, "b": map[string]any{"c": []any{"d"}}}})
	report := map[string]any{"trialId": 0, "trialRunId": 1, "stepsCompleted": 10, "metrics": map[string]any{"avgMetrics": map[string]any{"loss": 1.5}}}
	if held := v["task:trialId"]; len(held) > 0 {
		report["trialId"] = held[0]
	}
	object("POST /api/v1/trials/{id}/metrics", map[string]any{"metrics": report, "group": "training"})
	object("POST /api/v1/trials/{id}/training_metrics", report)
	object("POST /api/v1/trials/{id}/validation_metrics", report)
}
