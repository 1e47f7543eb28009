package api

import (
	"strings"

	v1 "github.com/detent-ml/detent/master/v1"
)

// This file decides which routes programs in tasks may call. It decides by path, for all
// routes in one place, so that programs cannot write with a new route until it is listed here.

// writableByTasks has the first parts of the paths with which a program may write, with the
// session of its attempt and in the name of its owner: those that the SDK and det use inside
// tasks. Accounts, workspaces, templates, nodes and the master's settings are not among
// them, not even for tasks of admins.
var writableByTasks = map[string]bool{
	"allocations": true, "auth": true, "checkpoints": true, "commands": true, "experiments": true, "experiments-search": true, "generic-tasks": true,
	"logout":     true,
	"job-queues": true, "mlflow": true, "models": true, "notebooks": true, "preview-hp-search": true, "projects": true, "runs": true, "shells": true,
	"task": true, "task-logs": true, "tasks": true, "tensorboards": true, "trial-source-info": true, "trials": true,
}

// openToTasks reports whether the session of an attempt may call a route. It may read
// everything that its owner may read, except the configuration and the logs of the masters.
func openToTasks(r v1.Line) bool {
	noun, rest, _ := strings.Cut(strings.TrimLeft(r.Path, "/"), "/")
	switch {
	case r.Access == v1.Public:
		return true
	case r.Access == v1.ByAdmins || r.Access == v1.BySCIM || noun == "master" && rest != "":
		return false
	case r.Method == "GET" && r.Verb != v1.Enter, r.Path == v1.SendCustomEvent.Path:
		return true
	}
	return writableByTasks[noun]
}

// ownReports are the routes with which an attempt reports about itself and reads its code,
// in addition to the routes that only tasks may call.
var ownReports = map[string]bool{
	"POST /checkpoints": true, "POST /runs/start": true, "GET /detent/tasks/:id/context.tar.gz": true, "GET /tasks/:id/context_directory": true,
	"POST /trials/:id/metrics": true, "POST /trials/:id/training_metrics": true, "POST /trials/:id/validation_metrics": true,
	"POST /trials/:id/progress": true, "POST /trials/:id/early_exit": true, "POST /trials/:id/runner/metadata": true,
	"GET /trials/:id/searcher/operation": true, "POST /trials/:id/searcher/completed_operation": true,
	"POST /webhooks/custom":                true,
	"GET //mlflow/api/2.0/mlflow/runs/get": true, "POST //mlflow/api/2.0/mlflow/runs/update": true, "POST //mlflow/api/2.0/mlflow/runs/create": true,
	"GET //mlflow/api/2.0/mlflow/experiments/get-by-name": true, "POST //mlflow/api/2.0/mlflow/runs/log-batch": true,
	"POST //mlflow/api/2.0/mlflow/runs/log-metric": true, "POST //mlflow/api/2.0/mlflow/runs/log-parameter": true,
	"POST //mlflow/api/2.0/mlflow/runs/set-tag": true, "POST //mlflow/api/2.0/mlflow/runs/log-inputs": true,
	"POST //mlflow/api/2.0/mlflow/logged-models": true, "GET //mlflow/api/2.0/mlflow/logged-models/:model": true,
	"PATCH //mlflow/api/2.0/mlflow/logged-models/:model": true, "POST //mlflow/api/2.0/mlflow/logged-models/:model/params": true,
	"PATCH //mlflow/api/2.0/mlflow/logged-models/:model/tags": true, "POST //mlflow/api/2.0/mlflow/runs/outputs": true,
	"POST //mlflow/api/2.0/mlflow/runs/log-model": true, "PUT //mlflow/api/2.0/mlflow-artifacts/artifacts/*": true,
	"POST //mlflow/api/2.0/mlflow-artifacts/mpu/create/*": true, "PUT //mlflow/api/2.0/mlflow-artifacts/mpu/part/*": true,
	"POST //mlflow/api/2.0/mlflow-artifacts/mpu/complete/*": true, "POST //mlflow/api/2.0/mlflow-artifacts/mpu/abort/*": true,
}

// openToDeactivated reports whether an attempt may call a route after its owner was
// deactivated: its training continues, but its session gives access to nothing else.
func openToDeactivated(r v1.Line) bool {
	return r.Access == v1.Public || r.Access == v1.ByTasks || r.After || ownReports[r.Method+" "+r.Path]
}
