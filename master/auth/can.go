package auth

import (
	"cmp"
	"fmt"

	"github.com/detent-ml/detent/master/fault"
	v1 "github.com/detent-ml/detent/master/v1"
)

// Verbs and kinds of objects, with which endpoints are declared.
type (
	Verb = v1.Verb
	Kind = v1.Kind
)

// The verbs.
const (
	View       = v1.View
	Create     = v1.Create
	Edit       = v1.Edit
	Change     = v1.Change
	Delete     = v1.Delete
	Assign     = v1.Assign
	Enter      = v1.Enter
	Report     = v1.Report
	Administer = v1.Administer
)

// Object is the object of a verb: its kind, owner and workspace.
type Object struct {
	Kind        Kind
	Name        string // for messages: experiment 5; "" for the kind
	OwnerID     int
	WorkspaceID int // 0: in no workspace (users and nodes), or not created yet
	// Shared has further workspaces in which the object may be viewed, and no more than that: those
	// of the models that have a checkpoint as a version.
	Shared []int
	// Needs has the workspaces whose experiments the caller must be allowed to view too: those of
	// the experiments that a TensorBoard shows.
	Needs []int
	// Of an attempt and its data: these identify the attempt.
	AllocationID string
	TaskID       string
	TrialID      int
	Rank         int // of a member
}

// Can decides all permissions.
//
// Without roles (Grants is nil) every signed-in user may view all objects, create objects, and
// edit what all share. Only its owner and admins may change an object, or open a notebook or
// shell, unless a role of everybody's allows it (opened). Only admins administer the cluster, users and workspaces. With roles, the roles of the
// user decide where the user may do what (roles.go).
//
// A task may view what its owner may, because its SDK does, and report about itself; the session
// of a task's program opens no task, and edits and changes only objects of the task's owner. An access token that may only read may only view.
func Can(w Who, verb Verb, o Object) bool {
	switch {
	case w.UserID == 0, w.ReadOnly && verb != View && verb != "":
		return false
	case o.Kind == v1.KindOwn:
		return true
	case w.Within != "" && verb == Enter:
		return false
	case w.IsTask():
		return verb == Report && w.is(o) || verb == View && (w.is(o) || w.Grants == nil || w.Grants.allow(w, View, o))
	case w.Grants != nil:
		return w.Grants.allow(w, verb, o)
	case w.Admin:
		return true
	}
	switch verb {
	case View, Create:
		return true
	case Edit:
		return o.OwnerID == w.UserID || w.Within == "" && (o.Kind != v1.KindProject || w.opened(verb, o))
	case Change, Enter, Report:
		return o.OwnerID == w.UserID || w.opened(verb, o)
	case Delete:
		return o.OwnerID == w.UserID
	}
	return false
}

// opened reports whether everybody may do something with an object: everybody has a role with the permission, and the
// object is of a kind that Determined, without roles, lets everybody change. Workspaces, projects (but for their notes)
// and what administrates them stay with their owners, and so does the right to delete.
func (w Who) opened(verb Verb, o Object) bool {
	if w.Everybodys == nil || w.Within != "" {
		return false
	}
	switch o.Kind {
	case v1.KindExperiment, v1.KindTrial, v1.KindRun, v1.KindCheckpoint:
	case v1.KindCommand, v1.KindNotebook, v1.KindShell, v1.KindTensorboard, v1.KindTask, v1.KindJob, v1.KindTemplate:
		if verb == Report {
			return false
		}
	case v1.KindProject:
		return verb == Edit && w.Everybodys.scope(Edit, o.Kind).Has(o)
	default:
		return false
	}
	return w.Everybodys.scope(Change, o.Kind).Has(o)
}

// SetsDefaultPools reports whether the caller may set the default pools of a workspace, which Determined, without roles,
// lets everybody do.
func SetsDefaultPools(w Who, workspace Object) bool {
	return Can(w, Change, workspace) || w.Grants == nil && !w.ReadOnly && w.opened(Change, Object{Kind: v1.KindJob, WorkspaceID: workspace.WorkspaceID})
}

// Owns reports whether the caller is the owner of an object, or an admin. Only they see what may
// be a secret of the owner, such as the environment variables of a configuration, and only they
// give others' programs new code, which would run in the owner's name.
func Owns(w Who, o Object) bool {
	return w.UserID != 0 && (o.OwnerID == w.UserID || w.IsAdmin())
}

// IsAdmin reports whether the caller may do everything: by the admin mark or, with roles, as a
// ClusterAdmin. A program of a task is never an admin.
func (w Who) IsAdmin() bool {
	if w.Grants == nil {
		return w.Admin
	}
	return !w.IsTask() && w.Within == "" && w.Grants.admin()
}

// Sees reports whether the caller may know that an object exists.
func Sees(w Who, o Object) bool { return w.Grants == nil || Can(w, View, o) }

// is reports whether an object is the calling attempt, or belongs to it.
func (w Who) is(o Object) bool {
	switch o.Kind {
	case v1.KindAllocation:
		return o.AllocationID == w.AllocationID
	case v1.KindMember:
		return o.AllocationID == w.AllocationID && o.Rank == w.Rank
	case v1.KindTrial, v1.KindRun:
		return o.TrialID != 0 && o.TrialID == w.TrialID
	}
	return o.TaskID != "" && o.TaskID == w.TaskID
}

// May returns an error unless the user may do the verb on the object. If the user may not see the
// object, the error says that the object does not exist.
func May(who Who, verb Verb, object Object) error {
	if Can(who, verb, object) {
		return nil
	}
	if verb == Create {
		if in := object.WorkspaceID; in != 0 && !Sees(who, Object{Kind: v1.KindWorkspace, WorkspaceID: in}) {
			return fault.New(fault.NotFound, "workspace %d not found", in)
		}
	} else if !Sees(who, object) {
		return fault.New(fault.NotFound, "%s not found", cmp.Or(object.Name, string(object.Kind)))
	}
	if verb == Create && who.Grants != nil {
		where := "any workspace"
		if object.WorkspaceID != 0 {
			where = fmt.Sprintf("workspace %d", object.WorkspaceID)
		}
		return fault.New(fault.Forbidden, "%s may not %s this %s in %s; a role such as Editor would allow it (det rbac assign-role)", who.Username, verb, object.Kind, where)
	}
	if verb == Report { // a user who reports for an object changes it
		verb = Change
	}
	return fault.New(fault.Forbidden, "%s may not %s this %s", who.Username, verb, object.Kind)
}
