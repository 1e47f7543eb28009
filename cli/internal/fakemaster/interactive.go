package fakemaster

import (
	"fmt"
	"net/http"
	"slices"

	"github.com/detent-ml/detent/master/fault"
	v1 "github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/master/v1/v1test"
)

// Interactive is a notebook, shell or TensorBoard. It is queued for its first two reads and
// runs from the third one on, unless its description is "broken": then it has failed.
type Interactive struct {
	Noun     string
	Looks    int
	Config   v1.Struct
	Files    int
	v1.Shell // what all have; only shells use the rest
	Shows    v1.Tensorboard
}

func (m *Master) interactiveRoutes() {
	// Only notebooks have links with tickets, so that tests also meet tasks without a link.
	on(m, v1.LinkTask, func(_ http.ResponseWriter, r *http.Request) (any, error) {
		for _, x := range m.Interactive {
			if x.ID == r.PathValue("id") && x.Noun == "notebook" {
				return v1.TaskLinkResponse{URL: "http://" + r.Host + "/proxy/" + x.ID + "/?ticket=once"}, nil
			}
		}
		return nil, fault.New(fault.NotFound, "task %s not found", r.PathValue("id"))
	})
	serveInteractive(m, "notebook", v1.ListNotebooks.Line(), v1.CreateNotebook.Line(), v1.GetNotebook.Line(), v1.KillNotebook.Line(), v1.PrioritizeNotebook.Line())
	serveInteractive(m, "shell", v1.ListShells.Line(), v1.CreateShell.Line(), v1.GetShell.Line(), v1.KillShell.Line(), v1.PrioritizeShell.Line())
	serveInteractive(m, "tensorboard", v1.ListTensorboards.Line(), v1.CreateTensorboard.Line(), v1.GetTensorboard.Line(), v1.KillTensorboard.Line(),
		v1.PrioritizeTensorboard.Line())
}

// serveInteractive serves the five endpoints of one kind of interactive task. The messages
// of the kinds differ only in their types, so they are written as maps.
func serveInteractive(m *Master, noun string, list, create, get, kill, prioritize v1.Line) {
	typed := func(l v1.Line, h handler) {
		m.serve(l, func(w http.ResponseWriter, r *http.Request) (any, error) {
			loose, err := h(w, r)
			if err != nil {
				return nil, err
			}
			return v1test.As(l, loose)
		})
	}
	typed(list, func(_ http.ResponseWriter, r *http.Request) (any, error) {
		users := r.URL.Query()["users"]
		found := []any{}
		for _, x := range m.Interactive {
			if x.Noun == noun && (len(users) == 0 || slices.Contains(users, x.Username)) {
				found = append(found, x.message())
			}
		}
		return map[string]any{noun + "s": found, "pagination": *all(len(found))}, nil
	})
	typed(create, func(_ http.ResponseWriter, r *http.Request) (any, error) { return m.launchInteractive(noun, r) })
	typed(get, m.onInteractive(noun, func(x *Interactive) any { return map[string]any{noun: x.message(), "config": x.Config} }))
	typed(kill, m.onInteractive(noun, func(x *Interactive) any {
		x.State, x.ExitStatus = v1.TaskStateTerminated, "killed by "+x.Username
		return map[string]any{noun: x.message()}
	}))
	typed(prioritize, m.onInteractive(noun, func(x *Interactive) any { return map[string]any{noun: x.message()} }))
}

func (x *Interactive) message() any {
	address := "/proxy/" + x.ID + "/"
	switch x.Noun {
	case "shell":
		return x.Shell
	case "tensorboard":
		t := x.Shows
		t.Description, t.ID, t.ResourcePool, t.StartTime, t.State, t.Username, t.WorkspaceID, t.ExitStatus, t.ServiceAddress =
			x.Description, x.ID, x.ResourcePool, x.StartTime, x.State, x.Username, x.WorkspaceID, x.ExitStatus, address
		return t
	}
	return v1.Notebook{Description: x.Description, ID: x.ID, ResourcePool: x.ResourcePool, StartTime: x.StartTime, State: x.State,
		Username: x.Username, WorkspaceID: x.WorkspaceID, ExitStatus: x.ExitStatus, ServiceAddress: address}
}

func (m *Master) onInteractive(noun string, fn func(*Interactive) any) handler {
	return func(_ http.ResponseWriter, r *http.Request) (any, error) {
		for _, x := range m.Interactive {
			if x.Noun == noun && x.ID == r.PathValue("id") {
				return fn(x), nil
			}
		}
		return nil, fault.New(fault.NotFound, "%s %s not found", noun, r.PathValue("id"))
	}
}

// launchRequest holds the fields that all requests to start an interactive task share.
type launchRequest struct {
	Config        v1.Struct `json:"config,omitempty"`
	Files         []v1.File `json:"files,omitempty"`
	Preview       *bool     `json:"preview,omitempty"`
	ExperimentIDs []int     `json:"experimentIds,omitempty"`
	TrialIDs      []int     `json:"trialIds,omitempty"`
}

func (m *Master) launchInteractive(noun string, r *http.Request) (any, error) {
	req, err := decode[launchRequest](r)
	if err != nil {
		return nil, err
	}
	conf := struct {
		Description string `json:"description"`
	}{Description: noun + " (fake)"}
	if err := req.Config.Into(&conf); err != nil {
		return nil, fault.New(fault.Invalid, "config: %w", err)
	}
	x := &Interactive{Noun: noun, Config: req.Config, Files: len(req.Files), Shows: v1.Tensorboard{ExperimentIDs: req.ExperimentIDs, TrialIDs: req.TrialIDs}}
	x.Description, x.ResourcePool, x.StartTime, x.State, x.Username, x.WorkspaceID = conf.Description, "default", m.Now, v1.TaskStateQueued, m.who(r).Username, 1
	x.AgentUserGroup, x.PrivateKey, x.HostKey = v1.Struct(`{"user":"ada"}`), "-----BEGIN OPENSSH PRIVATE KEY-----\nfake\n", "ssh-ed25519 AAAAfake"
	answer := map[string]any{noun: x.message(), "config": req.Config}
	if req.Preview != nil && *req.Preview {
		return answer, nil
	}
	x.ID = fmt.Sprintf("%08x-0000-4000-8000-00000000000%d", 0xbbb0+len(m.Interactive), len(noun)%10)
	m.Interactive = append(m.Interactive, x)
	m.log(x.ID, m.Now, "INFO", "starting "+conf.Description)
	answer[noun] = x.message()
	return answer, nil
}

// interactiveTask returns the interactive task with this id as a task; each call advances its state.
func (m *Master) interactiveTask(id string) (v1.Task, bool) {
	for _, x := range m.Interactive {
		if x.ID != id {
			continue
		}
		x.Looks++
		t := v1.Task{TaskID: id, StartTime: x.StartTime}
		attempt := v1.Allocation{AllocationID: id + ".1", TaskID: id, State: v1.TaskStateQueued, WaitingReason: "needs 1 slot; none is free"}
		switch {
		case x.Description == "broken" || x.State == v1.TaskStateTerminated:
			x.State, x.ExitStatus, t.EndTime = v1.TaskStateTerminated, "failed: exit code 1", &m.Now
		case x.Looks > 2:
			x.State, attempt.State, attempt.IsReady, attempt.WaitingReason = v1.TaskStateRunning, v1.TaskStateRunning, true, ""
		}
		t.Allocations = []v1.Allocation{attempt}
		return t, true
	}
	return v1.Task{}, false
}
