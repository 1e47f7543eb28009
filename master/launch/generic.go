package launch

import (
	"context"
	"fmt"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/document"
	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/optional"
	"github.com/detent-ml/detent/master/task"
	"github.com/detent-ml/detent/master/tasks"
	v1 "github.com/detent-ml/detent/master/v1"
)

// StartGeneric checks a request for a generic task, and creates the task unless the request is a preview.
func (l *Tasks) StartGeneric(ctx context.Context, by Submitter, req *v1.CreateGenericTaskRequest) (*tasks.Launched, error) {
	if len(req.Config) > MaxConfig {
		return nil, fault.New(fault.TooLarge, "config: %d bytes are over the limit of %d", len(req.Config), MaxConfig)
	}
	in, err := projectOf(ctx, l.DB, by.Who, expconf.Raw{}, req.ProjectID)
	if err != nil {
		return nil, err
	}
	t := &newTask{Launched: tasks.Launched{New: tasks.New{Generic: &tasks.NewGeneric{NoPause: optional.Value(req.NoPause)}}}}
	if err := l.inherit(ctx, by, req, t); err != nil {
		return nil, err
	}
	config, err := l.genericConfig(ctx, by, req, t)
	if err != nil {
		return nil, err
	}
	asked := tasks.Request{Config: v1.Struct(config), Preview: req.Preview}
	if req.ProjectID != nil {
		asked.WorkspaceID = &in.WorkspaceID
	}
	return l.start(ctx, by, tasks.Generic(), asked, t)
}

// inherit checks the parent of a new task. Killing or pausing the parent also kills or pauses the new
// task, so only the parent's owner and admins may start tasks below it.
func (l *Tasks) inherit(ctx context.Context, by Submitter, req *v1.CreateGenericTaskRequest, t *newTask) error {
	inherits := optional.Value(req.InheritContext)
	id := optional.Value(req.ParentID)
	if id == "" {
		if inherits {
			return fault.New(fault.Invalid, "inheritContext: needs parentId, because a task inherits the code of its parent")
		}
		return nil
	}
	if inherits && !by.Code.none() {
		return fault.New(fault.Invalid, "inheritContext: the request has code of its own; leave out either")
	}
	parent, err := l.genericTask(ctx, "parentId", id)
	if err != nil {
		return err
	}
	if err := auth.May(by.Who, auth.Change, ofGeneric(parent)); err != nil {
		return err
	}
	t.Generic.ParentID = &parent.ID
	if inherits {
		t.code = parent.Context
	}
	return nil
}

// genericConfig returns the configuration of a new task and its submitted text: the configuration of
// the request, merged over that of the task that it forks.
func (l *Tasks) genericConfig(ctx context.Context, by Submitter, req *v1.CreateGenericTaskRequest, t *newTask) ([]byte, error) {
	doc, err := expconf.ParseDocument("config", []byte(req.Config))
	if err != nil {
		return nil, document.Wrong(err)
	}
	id := optional.Value(req.ForkedFrom)
	if id == "" {
		if req.Config == "" {
			return nil, fault.New(fault.Invalid, "No config file nor forked task provided")
		}
		t.Generic.Submitted, err = doc.JSON()
		return []byte(req.Config), err
	}
	from, err := l.genericTask(ctx, "forkedFrom", id)
	if err != nil {
		return nil, err
	}
	if err := mayFork(by, from); err != nil {
		return nil, err
	}
	under, err := expconf.ParseDocument(fmt.Sprintf("the configuration of task %s", from.ID), []byte(from.Submitted))
	if err != nil {
		return nil, document.Wrong(err)
	}
	t.Generic.ForkedFrom = &from.ID
	if t.code == nil {
		t.code = from.Context
	}
	t.Generic.Submitted, err = doc.Over(under).JSON()
	return t.Generic.Submitted, err
}

// mayFork returns an error if a fork would give somebody secrets of another user's
// configuration.
func mayFork(by Submitter, from tasks.Task) error {
	if err := auth.May(by.Who, auth.View, ofGeneric(from)); err != nil {
		return err
	}
	if auth.Owns(by.Who, ofGeneric(from)) {
		return nil
	}
	_, hidden, err := expconf.ShownCommand([]byte(from.Submitted), false)
	if err != nil {
		return err
	}
	if hidden != expconf.NothingHidden {
		return fault.New(fault.Forbidden, "forkedFrom: the configuration of task %s has values that only %s and admins may see; "+
			"ask for the configuration and submit it as your own", from.ID, from.Owner)
	}
	return nil
}

func ofGeneric(k tasks.Task) auth.Object {
	return auth.Object{Kind: v1.KindTask, OwnerID: k.OwnerID, WorkspaceID: k.WorkspaceID, TaskID: k.ID}
}

// genericTask finds the generic task that a field of a request names.
func (l *Tasks) genericTask(ctx context.Context, field, id string) (tasks.Task, error) {
	k, err := tasks.Get(ctx, l.DB, id)
	if fault.Is(err, fault.NotFound) || err == nil && k.Type != task.Generic {
		return k, fault.New(fault.NotFound, "%s: there is no generic task %s", field, fault.Clip(id))
	}
	return k, err
}
