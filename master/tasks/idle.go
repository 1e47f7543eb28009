package tasks

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/rest"
	"github.com/detent-ml/detent/master/task"
	v1 "github.com/detent-ml/detent/master/v1"
)

// onIdle is the task that reports about itself.
func onIdle() rest.Object[string] {
	return OnOwn("id", func(c *rest.Call, _ string) error {
		return fault.New(fault.Forbidden, "a task may report only about itself: the caller is task %s", c.Who().TaskID)
	})
}

// reportIdle ends a task that reports that it was not used for as long as its configuration
// allows. The runner measures this, so masters need not check the task, and their outage ends
// nothing.
func (d Deps) reportIdle(ctx context.Context, c *rest.Call, id string, req *v1.IdleNotebookRequest) (*v1.None, error) {
	if req.NotebookID != "" && req.NotebookID != id {
		return nil, fault.New(fault.Invalid, "notebookId: the path has %s, the body %s", id, fault.Clip(req.NotebookID))
	}
	k, err := IdleLimitOf(ctx, d.DB, id)
	if err != nil {
		return nil, err
	}
	limit, err := time.ParseDuration(cmp.Or(k.Timeout, "0s"))
	switch {
	case k.Type == "TRIAL" || k.Type == "COMMAND" || k.Type == task.Generic:
		return nil, fault.New(fault.Invalid, "task %s is a %s, and only notebooks, shells and TensorBoards can be idle", id, k.Type)
	case err != nil:
		return nil, fmt.Errorf("the configuration of task %s: %w", id, err)
	case !req.Idle || limit <= 0:
		return &v1.None{}, nil
	}
	return rest.Done[v1.None](Kill(ctx, d.DB, id, fmt.Sprintf("ended because it was not used for %s", formatDuration(limit))), d.Changed)
}

// formatDuration formats a time span without trailing zeros: 30m, 1h30m, 90s.
func formatDuration(d time.Duration) string {
	s := d.Round(time.Millisecond).String()
	if d >= time.Minute && d%time.Minute == 0 {
		s = s[:len(s)-len("0s")]
	}
	if d >= time.Hour && d%time.Hour == 0 {
		s = s[:len(s)-len("0m")]
	}
	return s
}
