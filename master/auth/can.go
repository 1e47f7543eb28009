package auth

import v1 "github.com/detent-ml/detent/master/v1"

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
	Enter      = v1.Enter
	Report     = v1.Report
	Administer = v1.Administer
)

// Object is the object of a verb: its kind, owner and workspace.
type Object struct {
	Kind        Kind
	OwnerID     int
	WorkspaceID int // 0: in no workspace (users and nodes), or not created yet
	// Shared has further workspaces in which the object may be viewed, and no more than that: those
	// of the models that have a checkpoint as a version.
	Shared []int
	// Of an attempt and its data: these identify the attempt.
	AllocationID string
	TaskID       string
	TrialID      int
	Rank         int // of a member
}

// Can decides all permissions. Every signed-in user may view all objects, create objects, and
// edit what all share. Only its owner and admins may change an object, or open a notebook or shell. Only admins
// administer the cluster, users and workspaces. A task may view objects, because its SDK
// does, and report about itself; the session of a task's program opens no task. Grants limit
// all this to the workspaces that they name. An access token that may only read may only view.
func Can(w Who, verb Verb, o Object) bool {
	switch {
	case w.UserID == 0, w.ReadOnly && verb != View && verb != "":
		return false
	case o.Kind == v1.KindOwn:
		return true
	case !ScopeOf(w, verb).allows(verb, o):
		return false
	case w.Within != "" && verb == Enter:
		return false
	case w.IsTask():
		return verb == View || verb == Report && w.is(o)
	case w.Admin:
		return true
	}
	switch verb {
	case View, Create, Edit:
		return true
	case Change, Enter, Report:
		return o.OwnerID == w.UserID
	}
	return false
}

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
