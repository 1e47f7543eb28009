package tasks

import (
	"context"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/rest"
	"github.com/detent-ml/detent/master/task"
	v1 "github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/master/workspaces"
)

// Commands, notebooks, shells, TensorBoards and generic tasks are five nouns to users. To the
// cluster all of them are tasks that are not trials. Four of them have the same verbs, which are in this file;
// commands.go, notebooks.go, shells.go and tensorboards.go have their messages. generic.go has the verbs of the fifth.

// A Kind is a kind of task.
type Kind struct {
	Type  string // as rows have it
	Noun  string // as permissions and messages have it
	Title string // description of a task without one
	Slots int    // slots of a task whose configuration sets none
	// Program: the configuration decides what runs; otherwise the kind decides.
	Program bool
	// Required: a configuration without an entrypoint is rejected. A command without one is
	// accepted, as in Determined, and fails.
	Required bool
	// Spreads: it may be placed on several nodes, if its configuration has
	// resources.is_single_node: false.
	Spreads bool
}

// Command is the kind of tasks that run a program of their user.
func Command() Kind {
	return Kind{Type: task.Command, Noun: "command", Title: "Command", Slots: 1, Program: true, Spreads: true}
}

// Notebook is the kind of tasks that run JupyterLab.
func Notebook() Kind {
	return Kind{Type: task.Notebook, Noun: "notebook", Title: "JupyterLab", Slots: 1}
}

// Shell is the kind of tasks to which users connect with SSH.
func Shell() Kind { return Kind{Type: task.Shell, Noun: "shell", Title: "Shell", Slots: 1} }

// Tensorboard is the kind of tasks that show experiments and trials.
func Tensorboard() Kind {
	return Kind{Type: task.Tensorboard, Noun: "tensorboard", Title: "TensorBoard"}
}

// Generic is the kind of programs that users start in trees, pause and resume.
func Generic() Kind {
	return Kind{Type: task.Generic, Noun: "task", Title: "Generic Task", Slots: 1, Program: true, Required: true, Spreads: true}
}

// shown is a task with the rows that only its kind has.
type shown struct {
	Task
	keys    ShellKeys // of a shell
	private bool      // the caller may see the shell's private key
	shows   Board     // what a TensorBoard shows
}

// shown reads the rows of tasks that only their kind has.
func (d Deps) shown(ctx context.Context, of Kind, list []Task) (out []shown, err error) {
	ids := each.Of(list, func(k Task) string { return k.ID })
	var keys map[string]ShellKeys
	var shows map[string]Board
	switch of.Type {
	case task.Shell:
		keys, err = ShellKeysOf(ctx, d.DB, ids)
	case task.Tensorboard:
		shows, err = Boards(ctx, d.DB, ids)
	}
	for _, k := range list {
		out = append(out, shown{Task: k, keys: keys[k.ID], shows: shows[k.ID]})
	}
	return out, err
}

// one reads the rows of one task that only its kind has.
func (d Deps) one(ctx context.Context, of Kind, k Task) (shown, error) {
	list, err := d.shown(ctx, of, []Task{k})
	return list[0], err
}

// A handler is a handler of an endpoint for a task that its path names.
type handler[Req, Resp any] = func(context.Context, *rest.Call, Task, *Req) (*Resp, error)

// list returns the handler that lists tasks of a kind.
func list[Resp any](d Deps, of Kind, answer func([]shown, v1.Pagination) *Resp) func(context.Context, *rest.Call, *v1.GetCommandsRequest) (*Resp, error) {
	return func(ctx context.Context, c *rest.Call, req *v1.GetCommandsRequest) (*Resp, error) {
		tasks, page, err := d.chosen(ctx, c, req, of)
		if err != nil {
			return nil, err
		}
		shown, err := d.shown(ctx, of, tasks)
		return answer(shown, page), err
	}
}

// get returns the handler that shows a task of a kind.
func get[Resp any](d Deps, of Kind, answer func(shown, v1.Struct) *Resp) handler[v1.None, Resp] {
	return func(ctx context.Context, c *rest.Call, k Task, _ *v1.None) (*Resp, error) {
		one, err := d.one(ctx, of, k)
		one.private = auth.Can(c.Who(), auth.Enter, k.as(of))
		return answer(one, shownConfig(k, c.Who())), err
	}
}

// create returns the handler that starts a task of a kind.
func create[Req, Resp any](d Deps, of Kind, asks func(context.Context, *rest.Call, *Req) (Request, error), answer func(*started) *Resp) func(context.Context, *rest.Call, *Req) (*Resp, error) {
	return func(ctx context.Context, c *rest.Call, req *Req) (*Resp, error) {
		asked, err := asks(ctx, c, req)
		if err != nil {
			return nil, err
		}
		done, err := d.start(ctx, c, of, asked)
		if err != nil {
			return nil, err
		}
		return answer(done), nil
	}
}

// kill returns the handler that kills a task of a kind in the caller's name.
func kill[Resp any](d Deps, of Kind, answer func(shown) *Resp) handler[v1.None, Resp] {
	return func(ctx context.Context, c *rest.Call, k Task, _ *v1.None) (*Resp, error) {
		if err := Kill(ctx, d.DB, k.ID, "killed by "+c.Who().Username); err != nil {
			return nil, err
		}
		d.Changed()
		k, err := Get(ctx, d.DB, k.ID)
		if err != nil {
			return nil, err
		}
		return changed(ctx, d, of, k, answer)
	}
}

// prioritize returns the handler that changes the priority of a task of a kind.
func prioritize[Resp any](d Deps, of Kind, answer func(shown) *Resp) handler[v1.PriorityRequest, Resp] {
	return func(ctx context.Context, _ *rest.Call, k Task, req *v1.PriorityRequest) (*Resp, error) {
		if err := d.AllowPriority(ctx, k.WorkspaceID, req.Priority); err != nil {
			return nil, err
		}
		if err := Prioritize(ctx, d.DB, k.ID, req.Priority); err != nil {
			return nil, err
		}
		d.Changed()
		return changed(ctx, d, of, k, answer)
	}
}

// changed is the answer to a change of a task.
func changed[Resp any](ctx context.Context, d Deps, of Kind, k Task, answer func(shown) *Resp) (*Resp, error) {
	one, err := d.one(ctx, of, k)
	return answer(one), err
}

// chosen lists the tasks of a kind that a request selects.
func (d Deps) chosen(ctx context.Context, c *rest.Call, req *v1.GetCommandsRequest, of Kind) ([]Task, v1.Pagination, error) {
	f := Filter{Type: of.Type, Users: req.Users, UserIDs: req.UserIDs, WorkspaceID: req.WorkspaceID}
	var err error
	if f.Sort, f.Desc, err = rest.Sorting(req.Order, map[string]string{"SORT_BY_ID": "", "SORT_BY_DESCRIPTION": "description",
		"SORT_BY_START_TIME": "start_time", "SORT_BY_WORKSPACE_ID": "workspace"}); err != nil {
		return nil, v1.Pagination{}, err
	}
	if f.WorkspaceID != 0 {
		if err := d.listable(ctx, c, f.WorkspaceID); err != nil {
			return nil, v1.Pagination{}, err
		}
	}
	list, err := List(ctx, d.DB, c.Scope(), f)
	if err != nil {
		return nil, v1.Pagination{}, err
	}
	return rest.Cut(list, req.Window)
}

// listable fails in Determined's words if there is no workspace whose tasks can be listed. One that is being deleted is none: to
// clients it has gone when the deletion is accepted.
func (d Deps) listable(ctx context.Context, c *rest.Call, id int) error {
	w, err := workspaces.Get(ctx, d.DB, id)
	if fault.Is(err, fault.NotFound) || err == nil && (w.Deleting || !auth.Sees(c.Who(), w.Object())) {
		return fault.New(fault.NotFound, "workspace '%d' not found", id)
	}
	return err
}

// shownConfig is a task's configuration as the caller may see it.
func shownConfig(k Task, who auth.Who) v1.Struct {
	cfg, err := expconf.ParseCommandConfigJSON(k.Config)
	if err != nil {
		return v1.Struct(`{}`) // hide a configuration that this release cannot parse
	}
	shown, err := cfg.Shown(k.ownedBy(who))
	if err != nil {
		return v1.Struct(`{}`)
	}
	return shown
}

// exit is how a task ended; "" before its end.
func (k Task) exit() string {
	if k.EndedAt == nil {
		return ""
	}
	return k.ExitStatus
}

func (k Task) state() v1.TaskState { return v1.TaskState("STATE_" + k.Shown) }
