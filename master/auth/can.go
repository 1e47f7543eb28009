package auth

import v1 "github.com/detent-ml/detent/master/v1"

// The words that endpoints are declared with.
type (
	Verb = v1.Verb
	Kind = v1.Kind
)

// The verbs.
const (
	View       = v1.View
	Create     = v1.Create
	Change     = v1.Change
	Enter      = v1.Enter
	Report     = v1.Report
	Administer = v1.Administer
)

// Object is what a verb is about: its kind, whose it is, and where.
type Object struct {
	Kind        Kind
	OwnerID     int
	WorkspaceID int // 0 for what is in none, such as users and nodes, and for what is to be made and has none yet
	// Of an attempt and what belongs to it: by these the attempt itself is known.
	AllocationID string
	TaskID       string
	TrialID      int
	Rank         int // of a member
}

// Can is the one place where permission is decided. Everybody signed in sees
// everything and creates; a thing is changed, and a notebook or shell entered, by
// its owner and by admins; the cluster, users and workspaces are administered by
// admins. A task may look, because its SDK calls look, and report about itself; the
// session of a task enters no task.
// Grants narrow this to the workspaces that they name.
func Can(w Who, verb Verb, o Object) bool {
	switch {
	case w.UserID == 0:
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
	case View, Create:
		return true
	case Change, Enter, Report:
		return o.OwnerID == w.UserID
	}
	return false
}

// is tells whether an object is the attempt that calls, or belongs to it.
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
