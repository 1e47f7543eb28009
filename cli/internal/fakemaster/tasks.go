package fakemaster

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"github.com/detent-ml/detent/master/fault"
	v1 "github.com/detent-ml/detent/master/v1"
)

func (m *Master) taskRoutes() {
	on(m, v1.ListTasks, func(http.ResponseWriter, *http.Request) (any, error) {
		return v1.GetTasksResponse{AllocationIDToSummary: m.Tasks}, nil
	})
	on(m, v1.GetTask, m.getTask)
	on(m, v1.StreamTaskLogs, func(w http.ResponseWriter, r *http.Request) (any, error) {
		if _, ok := m.Logs[r.PathValue("id")]; !ok {
			return nil, fault.New(fault.NotFound, "task %s not found", r.PathValue("id"))
		}
		stream(w, m.filterLogs(r, r.PathValue("id")))
		return nil, nil
	})
	on(m, v1.ListCommands, func(_ http.ResponseWriter, r *http.Request) (any, error) {
		users := r.URL.Query()["users"]
		found := []v1.Command{}
		for _, k := range m.Commands {
			if len(users) == 0 || slices.Contains(users, k.Username) {
				found = append(found, *k)
			}
		}
		return v1.GetCommandsResponse{Commands: found, Pagination: *all(len(found))}, nil
	})
	m.interactiveRoutes()
	on(m, v1.CreateCommand, m.launch)
	on(m, v1.GetCommand, m.onCommand(func(k *v1.Command, _ *http.Request) (any, error) {
		return v1.GetCommandResponse{Command: *k, Config: v1.Struct(`{"entrypoint":["echo","hello"],"resources":{"slots":1}}`)}, nil
	}))
	on(m, v1.KillCommand, m.onCommand(func(k *v1.Command, _ *http.Request) (any, error) {
		k.State, k.ExitStatus = v1.TaskStateTerminated, "killed"
		return v1.KillCommandResponse{Command: *k}, nil
	}))
	on(m, v1.PrioritizeCommand, m.onCommand(func(k *v1.Command, _ *http.Request) (any, error) {
		return v1.KillCommandResponse{Command: *k}, nil
	}))
}

func (m *Master) onCommand(fn func(*v1.Command, *http.Request) (any, error)) handler {
	return func(_ http.ResponseWriter, r *http.Request) (any, error) {
		for _, k := range m.Commands {
			if k.ID == r.PathValue("id") {
				return fn(k, r)
			}
		}
		return nil, fault.New(fault.NotFound, "command %s not found", r.PathValue("id"))
	}
}

// launch runs a command at once: it prints its arguments, and fails when the
// program is called false.
func (m *Master) launch(_ http.ResponseWriter, r *http.Request) (any, error) {
	req, err := decode[v1.LaunchCommandRequest](r)
	if err != nil {
		return nil, err
	}
	var conf struct {
		Entrypoint []string `json:"entrypoint"`
	}
	if err := req.Config.Into(&conf); err != nil || len(conf.Entrypoint) == 0 {
		return nil, fault.New(fault.Invalid, "entrypoint: is required")
	}
	id := fmt.Sprintf("%08x-0000-4000-8000-00000000000c", 0xabc0+len(m.Commands))
	status := "exit status 0"
	if conf.Entrypoint[0] == "false" {
		status = "exit status 1"
	}
	k := &v1.Command{ID: id, Description: "Command (fake)", JobID: id, ResourcePool: "default", StartTime: m.Now,
		State: v1.TaskStateTerminated, Username: m.who(r).Username, WorkspaceID: 1, ExitStatus: status, UserID: m.who(r).ID}
	m.Commands = append(m.Commands, k)
	m.log(id, m.Now, "INFO", fmt.Sprint(conf.Entrypoint))
	return v1.LaunchCommandResponse{Command: *k, Config: req.Config}, nil
}

func (m *Master) getTask(_ http.ResponseWriter, r *http.Request) (any, error) {
	id := r.PathValue("id")
	for _, k := range m.Commands {
		if k.ID == id {
			code := 0
			if k.ExitStatus == "exit status 1" {
				code = 1
			}
			return v1.GetTaskResponse{Task: v1.Task{TaskID: id, TaskType: v1.TaskTypeCommand, StartTime: k.StartTime,
				Allocations: []v1.Allocation{{AllocationID: id + ".1", TaskID: id, State: k.State, StatusCode: &code, ExitReason: &k.ExitStatus}}}}, nil
		}
	}
	if t, ok := m.interactiveTask(id); ok {
		return v1.GetTaskResponse{Task: t}, nil
	}
	for _, e := range m.Experiments {
		for _, t := range e.Trials {
			if slices.Contains(t.TaskIDs, id) {
				return v1.GetTaskResponse{Task: v1.Task{TaskID: id, TaskType: v1.TaskTypeTrial, StartTime: t.StartTime, EndTime: t.EndTime,
					Allocations: []v1.Allocation{{AllocationID: id + ".1", TaskID: id, State: v1.TaskStateTerminated}}}}, nil
			}
		}
	}
	return nil, fault.New(fault.NotFound, "task %s not found", id)
}

// filterLogs is a log by the parameters of a call.
func (m *Master) filterLogs(r *http.Request, task string) []v1.TaskLogsResponse {
	q := r.URL.Query()
	lines := slices.Clone(m.Logs[task])
	if levels := q["levels"]; len(levels) > 0 {
		lines = slices.DeleteFunc(lines, func(l v1.TaskLogsResponse) bool { return !slices.Contains(levels, string(l.Level)) })
	}
	if ranks := q["rankIds"]; len(ranks) > 0 {
		lines = slices.DeleteFunc(lines, func(l v1.TaskLogsResponse) bool { return !slices.Contains(ranks, strconv.Itoa(*l.RankID)) })
	}
	if after, err := v1.ParseTime(q.Get("timestampAfter")); err == nil {
		lines = slices.DeleteFunc(lines, func(l v1.TaskLogsResponse) bool { return !l.Timestamp.After(after) })
	}
	if q.Get("orderBy") == "ORDER_BY_DESC" {
		slices.Reverse(lines)
	}
	if limit, _ := strconv.Atoi(q.Get("limit")); limit > 0 {
		lines = lines[:min(limit, len(lines))]
	}
	return lines
}
