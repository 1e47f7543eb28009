package tasks

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/sleep"
	v1 "github.com/detent-ml/detent/master/v1"
)

// lastLines is the number of log lines that are printed of a task that failed to start.
const lastLines = 20

// Await waits until a task is ready, and prints what it waits for. It has no time limit,
// because a queue may be long; the user can interrupt it. If the task ends before, the error
// tells why.
func (k Kind) Await(ctx context.Context, a *app.App, c *client.Client, id string) error {
	said := ""
	for pause := 100 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		task, err := c.Task(ctx, id)
		if err != nil {
			return k.interrupted(ctx, a, id, err)
		}
		if ready(task) {
			return nil
		}
		if task.EndTime != nil {
			return k.failed(ctx, a, c, id)
		}
		if now := stage(task); now != said {
			fmt.Fprintln(a.IO.Err, now)
			said = now
		}
		if err := sleep.For(ctx, pause); err != nil {
			return k.interrupted(ctx, a, id, err)
		}
	}
}

func ready(t *v1.Task) bool {
	if t.EndTime != nil || len(t.Allocations) == 0 {
		return false
	}
	newest := t.Allocations[0]
	return newest.IsReady && newest.EndTime == nil && newest.State != v1.TaskStateTerminating
}

// stage describes the state of a task.
func stage(t *v1.Task) string {
	if len(t.Allocations) == 0 {
		return "Queued…"
	}
	newest := t.Allocations[0]
	switch newest.State {
	case v1.TaskStateQueued:
		if newest.WaitingReason != "" {
			return "Queued: " + newest.WaitingReason
		}
		return "Queued…"
	case v1.TaskStatePulling:
		return "Its node fetches what it needs…"
	case v1.TaskStateStarting:
		return "Starting…"
	case v1.TaskStateTerminating:
		return "Ending…"
	}
	return "Running; its program has not answered yet…"
}

// interrupted tells a user who stops waiting that the task continues.
func (k Kind) interrupted(ctx context.Context, a *app.App, id string, err error) error {
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		a.IO.Warn("The %s is still starting. Open it with `det %s open %s`, or end it with `det %s kill %s`.", k.Noun, k.Noun, id, k.Noun, id)
	}
	return err
}

// failed describes the end of a task that was never ready, with its last log lines.
func (k Kind) failed(ctx context.Context, a *app.App, c *client.Client, id string) error {
	records, err := client.Collect(c.TaskLogs(ctx, id, client.LogQuery{Limit: lastLines, Descending: true}))
	if err == nil && len(records) > 0 {
		fmt.Fprintln(a.IO.Err, "Its log ended with:")
		for i := len(records) - 1; i >= 0; i-- {
			fmt.Fprintln(a.IO.Err, strings.TrimRight(records[i].Message, "\n"))
		}
	}
	why := ""
	if item, _, err := k.Get(ctx, c, id); err == nil {
		why = item.why()
	}
	return fault.New(fault.Invalid, "%s %s ended before it could be used%s", k.Noun, id, why)
}

// OnUsable is a call about a task that was started before, which its first argument names; it waits for the task like Await. For a
// task that has ended, the error says so.
func (k Kind) OnUsable(a *app.App, run func(ctx context.Context, c *client.Client, id string, given []string) error) app.RunE {
	return k.on(a, func(ctx context.Context, c *client.Client, id string, given []string) error {
		item, _, err := k.Get(ctx, c, id)
		if err != nil {
			return err
		}
		if item.Over() {
			return fault.New(fault.Conflict, "%s %s has ended%s", k.Noun, id, item.why())
		}
		if _, err := client.Call(ctx, c, v1.LinkTask, id); fault.Is(err, fault.Forbidden) { // nobody waits for what is not theirs to open
			return err
		}
		if err := k.Await(ctx, a, c, id); err != nil {
			return err
		}
		return run(ctx, c, id, given)
	})
}

// why is why a task ended, to append to a sentence; "" if unknown.
func (i Item) why() string {
	if i.ExitStatus == "" {
		return ""
	}
	return ": " + i.ExitStatus
}

// SayQueue prints why a task waits, until it waits no more or the context ends.
func SayQueue(ctx context.Context, a *app.App, c *client.Client, id string) {
	said := ""
	for pause := 200 * time.Millisecond; sleep.For(ctx, pause) == nil; pause = min(2*pause, 2*time.Second) {
		task, err := c.Task(ctx, id)
		if err != nil || task.EndTime != nil {
			return
		}
		if len(task.Allocations) == 0 {
			continue
		}
		newest := task.Allocations[0]
		if newest.State != v1.TaskStateQueued {
			return
		}
		if newest.WaitingReason != "" && newest.WaitingReason != said {
			said = newest.WaitingReason
			fmt.Fprintln(a.IO.Err, "Queued: "+said)
		}
	}
}
