package tasks

import (
	"context"

	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/rest"
	"github.com/detent-ml/detent/master/task"
	v1 "github.com/detent-ml/detent/master/v1"
)

func notebookWire(k shown) v1.Notebook {
	return v1.Notebook{ID: k.ID, JobID: k.JobID, Description: k.Name, ResourcePool: k.Pool, StartTime: k.CreatedAt, State: k.state(),
		Username: k.Owner, DisplayName: k.OwnerName, UserID: k.OwnerID, WorkspaceID: k.WorkspaceID, ExitStatus: k.exit(), ServiceAddress: k.address()}
}

// address is where users open a task; "" for a preview.
func (k Task) address() string {
	if k.ID == "" {
		return ""
	}
	return task.ProxyPath(k.ID)
}

func listedNotebooks(list []shown, p v1.Pagination) *v1.GetNotebooksResponse {
	return &v1.GetNotebooksResponse{Notebooks: each.Of(list, notebookWire), Pagination: p}
}

func oneNotebook(k shown, config v1.Struct) *v1.GetNotebookResponse {
	return &v1.GetNotebookResponse{Notebook: notebookWire(k), Config: config}
}

func asksNotebook(_ context.Context, _ *rest.Call, req *v1.LaunchNotebookRequest) (Request, error) {
	return Request{Config: req.Config, Template: req.TemplateName, WorkspaceID: req.WorkspaceID, Preview: req.Preview}, nil
}

func startedNotebook(s *started) *v1.LaunchNotebookResponse {
	return &v1.LaunchNotebookResponse{Notebook: notebookWire(s.task), Config: s.config, Warnings: s.Warnings, Remarks: s.Remarks}
}

func changedNotebook(k shown) *v1.NotebookResponse {
	return &v1.NotebookResponse{Notebook: notebookWire(k)}
}
