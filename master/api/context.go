package api

import (
	"context"
	"encoding/base64"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/v1"
)

func (a *API) registerContext() {
	handle(a, "GET", "/tasks/:id/context_directory", both, "The code of a task, in base64", a.contextDirectory)
	a.raw("GET", "/detent/tasks/:id/context.tar.gz", both, "The code of a task", a.contextFile)
}

// taskContext is the code of the task of the path; a task reads its own.
func (a *API) taskContext(ctx context.Context, c *call) ([]byte, error) {
	id := c.Params("id")
	if c.who.IsTask() && c.who.TaskID != id {
		return nil, fault.New(fault.Forbidden, "task %s may not read the code of task %s", c.who.TaskID, id)
	}
	if err := c.may(auth.View, auth.Object{Kind: "task"}); err != nil {
		return nil, err
	}
	return a.db.TaskContext(ctx, id)
}

func (a *API) contextDirectory(ctx context.Context, c *call, _ *none) (*v1.GetTaskContextDirectoryResponse, error) {
	tgz, err := a.taskContext(ctx, c)
	return &v1.GetTaskContextDirectoryResponse{B64Tgz: base64.StdEncoding.EncodeToString(tgz)}, err
}

func (a *API) contextFile(ctx context.Context, c *call) error {
	tgz, err := a.taskContext(ctx, c)
	if err != nil {
		return err
	}
	c.Set("Content-Type", "application/gzip")
	return c.Send(tgz)
}
