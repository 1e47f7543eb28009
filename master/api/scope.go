package api

import (
	"strings"

	v1 "github.com/detent-ml/detent/master/v1"
)

// What programs may call, beside what everybody may: it is said here for all routes
// at once, by their paths, so that a new route is nothing for programs until
// somebody has said that it is.

// writableByTasks are the nouns of which a program changes something with the
// session of its attempt, in the name of its owner: what the SDK and det do inside a
// task. Accounts, workspaces, templates, nodes and the master's settings are not
// among them, whoever its owner is.
var writableByTasks = map[string]bool{
	"allocations": true, "auth": true, "checkpoints": true, "commands": true, "experiments": true, "experiments-search": true, "generic-tasks": true,
	"job-queues": true, "models": true, "notebooks": true, "preview-hp-search": true, "projects": true, "runs": true, "shells": true,
	"task": true, "task-logs": true, "tasks": true, "tensorboards": true, "trial-source-info": true, "trials": true,
}

// openToTasks tells whether the session of an attempt may call a route. What it may
// see is what its owner may, but for what the masters have to tell about themselves.
func (r route) openToTasks() bool {
	noun, rest, _ := strings.Cut(strings.TrimLeft(r.Path, "/"), "/")
	switch {
	case r.Access == v1.Public:
		return true
	case r.Access == v1.ByAdmins || noun == "master" && rest != "":
		return false
	case r.Method == "GET", r.Path == v1.SendCustomEvent.Path:
		return true
	}
	return writableByTasks[noun]
}

// ownReports are the routes, beside those that take the calls of tasks alone, by
// which an attempt reports about itself and reads its code.
var ownReports = map[string]bool{
	"POST /checkpoints": true, "POST /runs/start": true, "GET /detent/tasks/:id/context.tar.gz": true, "GET /tasks/:id/context_directory": true,
	"POST /trials/:id/metrics": true, "POST /trials/:id/training_metrics": true, "POST /trials/:id/validation_metrics": true,
	"POST /trials/:id/progress": true, "POST /trials/:id/early_exit": true, "POST /trials/:id/runner/metadata": true,
	"GET /trials/:id/searcher/operation": true, "POST /trials/:id/searcher/completed_operation": true,
	"POST /webhooks/custom": true,
}

// openToDeactivated tells whether the attempt of an owner who was deactivated may call a
// route: its training goes on, and gives nobody a way in.
func (r route) openToDeactivated() bool {
	return r.Access == v1.Public || r.Access == v1.ByTasks || r.After || ownReports[r.Method+" "+r.Path]
}
