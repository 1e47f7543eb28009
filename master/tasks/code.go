package tasks

import (
	"context"

	"github.com/detent-ml/detent/master/contexts"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/rest"
	v1 "github.com/detent-ml/detent/master/v1"
)

// context is the code of a task; a task can read only its own.
func (d Deps) context(ctx context.Context, c *rest.Call, k Task) (*contexts.Context, error) {
	if c.Who().IsTask() && c.Who().TaskID != k.ID {
		return nil, fault.New(fault.Forbidden, "task %s may not read the code of task %s", c.Who().TaskID, k.ID)
	}
	return contexts.OfTask(ctx, d.DB, k.ID)
}

func (d Deps) contextDirectory(ctx context.Context, c *rest.Call, k Task) error {
	code, err := d.context(ctx, c, k)
	if err != nil {
		return err
	}
	if code == nil {
		return c.Send(&v1.GetTaskContextDirectoryResponse{})
	}
	return d.Code.SendBase64(c, "b64Tgz", code)
}

func (d Deps) contextFile(ctx context.Context, c *rest.Call, k Task) error {
	code, err := d.context(ctx, c, k)
	if err != nil {
		return err
	}
	c.Set("Content-Type", "application/gzip")
	if code == nil {
		return c.SendBody(nil)
	}
	return d.Code.Send(c, code)
}
