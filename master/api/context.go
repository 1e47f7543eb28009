package api

import (
	"context"
	"time"

	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/rest"
	"github.com/detent-ml/detent/master/store"
	v1 "github.com/detent-ml/detent/master/v1"
)

func (a *API) registerContext() {
	rest.RawOn(a.router, v1.GetTaskContext, a.onTask(), a.contextDirectory)
	rest.RawOn(a.router, v1.DownloadTaskContext, a.onTask(), a.contextFile)
}

// taskContext is the code of a task; a task can read only its own.
func (a *API) taskContext(ctx context.Context, c *rest.Call, k store.Task) (*store.Context, error) {
	if c.Who().IsTask() && c.Who().TaskID != k.ID {
		return nil, fault.New(fault.Forbidden, "task %s may not read the code of task %s", c.Who().TaskID, k.ID)
	}
	return a.db.TaskContext(ctx, k.ID)
}

func (a *API) contextDirectory(ctx context.Context, c *rest.Call, k store.Task) error {
	code, err := a.taskContext(ctx, c, k)
	if err != nil {
		return err
	}
	if code == nil {
		return c.Send(&v1.GetTaskContextDirectoryResponse{})
	}
	return a.sendCode(c, "b64Tgz", code)
}

func (a *API) contextFile(ctx context.Context, c *rest.Call, k store.Task) error {
	code, err := a.taskContext(ctx, c, k)
	if err != nil {
		return err
	}
	c.Set("Content-Type", "application/gzip")
	if code == nil {
		return c.SendBody(nil)
	}
	reading, err := a.startReading(c)
	if err != nil {
		return err
	}
	c.SendFrom(c.Paced(reading.end, a.db.ReadContext(reading.ctx, code)), int(code.Size))
	return nil
}

// sendCode sends code in a field of a message.
func (a *API) sendCode(c *rest.Call, field string, code *store.Context) error {
	reading, err := a.startReading(c)
	if err != nil {
		return err
	}
	c.SendBase64(field, c.Paced(reading.end, a.db.ReadContext(reading.ctx, code)), code.Size)
	return nil
}

// A codeReading is code that is being sent to a client.
type codeReading struct {
	ctx context.Context // ends with the server, and with the caller's permission
	end func()
}

// maxWaitingReads is how many requests of one owner may wait for code.
const maxWaitingReads = 64

// startReading waits until code may be sent to the caller. If many tasks start at the same
// time, some must wait: runners retry.
func (a *API) startReading(c *rest.Call) (*codeReading, error) {
	// Not the request's own context, which ends when the handler returns.
	ctx, followed := c.Follow()
	waiting, cancel := context.WithTimeout(ctx, rest.AnswerTimeout)
	defer cancel()
	c.EndReading()
	owner := c.Owner()
	if a.limits.reads.Full(owner, maxWaitingReads) { // each has loaded what its path names
		followed()
		return nil, fault.New(fault.Unavailable, "too many requests of yours wait for code; try again")
	}
	turn, err := a.limits.reads.Take(waiting, owner, 1)
	if err != nil {
		followed()
		return nil, fault.Wrap(fault.Unavailable, err, "the master sends code to too many clients now; try again")
	}
	conn := c.Conn()
	stop := context.AfterFunc(ctx, func() { _ = conn.SetWriteDeadline(time.Now()) }) // ends a write to a client that does not read
	return &codeReading{ctx: ctx, end: func() {
		stop()
		followed()
		turn.Release()
	}}, nil
}
