package tasks

import (
	"context"
	"net/url"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/rest"
	v1 "github.com/detent-ml/detent/master/v1"
)

// Object is the task for auth, as a task of any kind.
func (k Task) Object() auth.Object { return k.object(v1.KindTask) }

func (k Task) object(kind auth.Kind) auth.Object {
	return auth.Object{Kind: kind, Name: string(kind) + " " + k.ID, OwnerID: k.OwnerID, WorkspaceID: k.WorkspaceID, TaskID: k.ID}
}

// as is the task for auth, as a command, a notebook, a shell or a TensorBoard.
func (k Task) as(of Kind) auth.Object { return k.object(auth.Kind(of.Noun)) }

// ownedBy reports whether the caller is the owner of the task, a task of the owner, or an
// admin. Only these see the values of environment variables.
func (k Task) ownedBy(who auth.Who) bool { return auth.Owns(who, auth.Object{OwnerID: k.OwnerID}) }

// On loads a task of any kind, or a part of a trial's task.
func On(db *database.DB) rest.Object[Task] {
	return rest.Object[Task]{Of: Task.Object, Large: true, Load: func(ctx context.Context, c *rest.Call) (Task, error) {
		return GetOrPart(ctx, db, c.Param("id"))
	}}
}

// onKind loads a command, a notebook, a shell or a TensorBoard.
func onKind(db *database.DB, of Kind) rest.Object[Task] {
	return rest.Object[Task]{Of: func(k Task) auth.Object { return k.as(of) }, Large: true, Load: func(ctx context.Context, c *rest.Call) (Task, error) {
		k, err := Get(ctx, db, c.Param("id"))
		if err == nil && k.Type != of.Type || fault.Is(err, fault.NotFound) {
			err = fault.New(fault.NotFound, "%s %s not found", of.Noun, fault.Clip(c.Param("id")))
		}
		return k, err
	}}
}

// OnOwn is a task that only the task itself may name in a path.
func OnOwn(param string, refusal func(c *rest.Call, id string) error) rest.Object[string] {
	return rest.Object[string]{
		Load: func(_ context.Context, c *rest.Call) (string, error) {
			id, err := url.PathUnescape(c.Param(param))
			if err != nil {
				return "", refusal(c, c.Param(param))
			}
			return id, nil
		},
		Of:      func(id string) auth.Object { return auth.Object{Kind: v1.KindTask, TaskID: id} },
		Refusal: func(c *rest.Call, _ auth.Verb, id string) error { return refusal(c, id) },
	}
}

// Object is the attempt for auth.
func (x Attempt) Object() auth.Object {
	return auth.Object{Kind: v1.KindAllocation, Name: "allocation " + x.ID, OwnerID: x.OwnerID, WorkspaceID: x.WorkspaceID, AllocationID: x.ID}
}

func onAttempt(db *database.DB) rest.Object[Attempt] {
	return rest.Object[Attempt]{Of: Attempt.Object, Load: func(ctx context.Context, c *rest.Call) (Attempt, error) {
		return GetAttempt(ctx, db, c.Param("id"))
	}}
}
