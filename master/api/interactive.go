package api

import (
	"context"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/launch"
	"github.com/detent-ml/detent/master/queue"
	"github.com/detent-ml/detent/master/rest"
	"github.com/detent-ml/detent/master/store"
	v1 "github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/master/workspaces"
)

// To the cluster, commands, notebooks, shells and TensorBoards are tasks of one attempt; to
// users they are four nouns. This file has their common parts; the files of the nouns have
// their messages.

// taskConfig is a task's configuration as the caller may see it.
func taskConfig(k store.Task, who auth.Who) v1.Struct {
	cfg, err := expconf.ParseCommandConfigJSON(k.Config)
	if err != nil {
		return v1.Struct(`{}`) // hide a configuration that this release cannot parse
	}
	shown, err := cfg.Shown(ownerOrAdmin(who, k.OwnerID))
	if err != nil {
		return v1.Struct(`{}`)
	}
	return shown
}

// exitStatus is how a task ended; "" before its end.
func exitStatus(k store.Task) string {
	if k.EndedAt == nil {
		return ""
	}
	return k.ExitStatus
}

func taskState(k store.Task) v1.TaskState { return v1.TaskState("STATE_" + k.Shown) }

// tasksOf lists the tasks of a kind that a request selects.
func (a *API) tasksOf(ctx context.Context, c *rest.Call, req *v1.GetCommandsRequest, of launch.Kind) ([]store.Task, v1.Pagination, error) {
	f := store.TaskFilter{Type: of.Type, Users: req.Users, UserIDs: req.UserIDs, WorkspaceID: req.WorkspaceID}
	var err error
	if f.Sort, f.Desc, err = rest.Sorting(req.Order, map[string]string{"SORT_BY_ID": "", "SORT_BY_DESCRIPTION": "description",
		"SORT_BY_START_TIME": "start_time", "SORT_BY_WORKSPACE_ID": "workspace"}); err != nil {
		return nil, v1.Pagination{}, err
	}
	if f.WorkspaceID != 0 {
		if err := a.taskWorkspace(ctx, c, f.WorkspaceID); err != nil {
			return nil, v1.Pagination{}, err
		}
	}
	list, err := a.db.Tasks(ctx, c.Scope(), f)
	if err != nil {
		return nil, v1.Pagination{}, err
	}
	return rest.Cut(list, req.Window)
}

// taskWorkspace fails in Determined's words if there is no workspace whose tasks can be listed. One that is being deleted is none: to
// clients it has gone when the deletion is accepted.
func (a *API) taskWorkspace(ctx context.Context, c *rest.Call, id int) error {
	w, err := workspaces.Get(ctx, a.db.DB, id)
	if fault.Is(err, fault.NotFound) || err == nil && (w.Deleting || !auth.Sees(c.Who(), w.Object())) {
		return fault.New(fault.NotFound, "workspace '%d' not found", id)
	}
	return err
}

func idsOf[T, ID any](list []T, id func(T) ID) []ID {
	ids := make([]ID, len(list))
	for i, x := range list {
		ids[i] = id(x)
	}
	return ids
}

func taskID(k store.Task) string { return k.ID }

// started is the result of a request for a task. The task of a preview has no id.
type started struct {
	made   *launch.Task
	task   store.Task
	config v1.Struct
}

// start creates the task of a request, unless it is a preview.
func (a *API) start(ctx context.Context, c *rest.Call, of launch.Kind, req launch.TaskRequest) (*started, error) {
	if err := c.May(auth.Create, auth.Object{Kind: auth.Kind(of.Noun)}); err != nil {
		return nil, err
	}
	n, err := a.tasks.Start(ctx, a.submitter(c), of, req)
	if err != nil {
		return nil, err
	}
	if !n.Stored {
		shown, err := n.Complete.Shown(true)
		return &started{made: n, config: shown, task: store.Task{Type: n.Type, Name: n.Name, Pool: n.Pool,
			Shown: "UNSPECIFIED", OwnerID: n.OwnerID, Owner: c.Who().Username, WorkspaceID: n.WorkspaceID}}, err
	}
	a.bus.Publish(store.TopicIntent)
	k, err := a.db.Task(ctx, n.ID)
	if err != nil {
		return nil, err
	}
	return &started{made: n, task: k, config: taskConfig(k, c.Who())}, nil
}

// kill kills a task in the caller's name.
func (a *API) kill(ctx context.Context, c *rest.Call, k store.Task) (store.Task, error) {
	if err := a.db.KillTask(ctx, k.ID, "killed by "+c.Who().Username); err != nil {
		return k, err
	}
	a.bus.Publish(store.TopicIntent)
	return a.db.Task(ctx, k.ID)
}

func (a *API) prioritize(ctx context.Context, k store.Task, req *v1.PriorityRequest) (store.Task, error) {
	if err := queue.CheckShare(&req.Priority, nil); err != nil {
		return k, err
	}
	if err := a.allowed(ctx, k.WorkspaceID, workspaces.WorkloadTasks, launch.Change{Priority: &req.Priority}); err != nil {
		return k, err
	}
	if err := a.db.SetTaskPriority(ctx, k.ID, req.Priority); err != nil {
		return k, err
	}
	a.bus.Publish(store.TopicIntent)
	return k, nil
}
