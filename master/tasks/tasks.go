// Package tasks is the room of tasks that are not trials: commands, notebooks, shells, TensorBoards and generic tasks; and of what all
// tasks, trials too, have in common: their rows, their code, and how users reach their programs.
//
// A request becomes a row of tasks with a first attempt, both in one transaction; the control loop runs the attempt and creates later ones.
// Users change what they want of a task (kill, pause, priority), and the loop acts on it. The files, in the order in which one reads them:
//
//	object.go         what paths name, and who may do what with it (package auth decides)
//	routes.go         the endpoints, and what they use of others
//	kinds.go          the kinds of tasks, and the verbs that four of them share; commands.go, notebooks.go, shells.go and tensorboards.go
//	                  have the messages of each
//	start.go          what a request asks for, and how its task is created
//	generic.go        the verbs of the fifth kind, generic tasks, which form trees
//	idle.go           the end of tasks that nobody uses
//	tasks.go, live.go tasks of all kinds with their attempts: one of them, and those that wait or run
//	code.go           the code of a task, for its runner
//	pages.go          links to tasks, and the requests that package proxy forwards to them
//	terminal.go       terminals of shells in the browser
//	directory.go      the tasks, tickets and cookies that the proxy asks for
//	rows*.go          the rows of each
//
// This room is above accounts, workspaces, nodes and contexts. Package launch checks requests and completes their configurations; Deps has it, because
// launch also imports this package. Package task, which is pure, describes an attempt to its runner and to Nomad.
package tasks

import (
	"context"

	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/rest"
	"github.com/detent-ml/detent/master/task"
	"github.com/detent-ml/detent/master/trial"
	v1 "github.com/detent-ml/detent/master/v1"
)

// AttemptState is the state of an attempt in answers.
func AttemptState(s string) v1.TaskState {
	if s == "PENDING" || s == "ASSIGNED" {
		return v1.TaskStateQueued
	}
	return v1.TaskState("STATE_" + s)
}

func attemptWire(x Attempt) v1.Allocation {
	w := v1.Allocation{AllocationID: x.ID, TaskID: trial.PartID(x.TaskID, x.Part), Slots: x.Slots, State: AttemptState(x.State), IsReady: x.Ready,
		StartTime: x.StartedAt, EndTime: x.EndedAt, StatusCode: x.ExitCode, WaitingReason: x.Waiting}
	if x.ExitReason != "" {
		w.ExitReason = &x.ExitReason
	}
	return w
}

func (d Deps) task(ctx context.Context, c *rest.Call, k Task, _ *v1.None) (*v1.GetTaskResponse, error) {
	list, err := Attempts(ctx, d.DB, k.ID, k.Part)
	if err != nil {
		return nil, err
	}
	resp := &v1.GetTaskResponse{Task: v1.Task{TaskID: k.Called(), TaskType: v1.TaskType("TASK_TYPE_" + k.Type), StartTime: k.CreatedAt, EndTime: k.EndedAt,
		ParentID: k.ParentID, ForkedFrom: k.ForkedFrom, NoPause: k.NoPause, Allocations: each.Of(list, attemptWire)}}
	if k.Type == task.Generic {
		config, err := submittedConfig(k, c.Who())
		if err != nil {
			return nil, err
		}
		state := k.phase()
		resp.Task.Config, resp.Task.TaskState = &config, &state
	}
	return resp, nil
}

func (d Deps) attempt(_ context.Context, _ *rest.Call, x Attempt, _ *v1.None) (*v1.AllocationResponse, error) {
	return &v1.AllocationResponse{Allocation: attemptWire(x)}, nil
}

func (d Deps) count(ctx context.Context, c *rest.Call, _ *v1.None) (*v1.TaskCountResponse, error) {
	n, err := Counts(ctx, d.DB, c.Scope())
	return &v1.TaskCountResponse{Commands: n["COMMAND"], Notebooks: n["NOTEBOOK"], Shells: n["SHELL"], Tensorboards: n["TENSORBOARD"]}, err
}
