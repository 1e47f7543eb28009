// Package served remembers when a workspace, a user and a group last held slots of each pool, and when a
// user last got slots: a snapshot of the loop does not contain attempts that have ended, but policies need
// the times. A new leader begins with the attempts that run.
package served

import (
	"maps"
	"time"

	"github.com/detent-ml/detent/master/sched"
)

// Served are the times.
//
// users has the times of a user within a workspace, for fair_share: slots that the user holds in
// another workspace must not count, or two users of one workspace could preempt each other without
// end. turns has the times of a user in the whole pool, for round_robin.
type Served struct {
	workspaces, users, groups, turns map[key]time.Time
}

type key struct{ pool, name string }

func within(workspace, user string) string { return workspace + "\x00" + user }

// Note remembers that an attempt of a user in a workspace holds slots now, and when the attempt got them.
func (s *Served) Note(pool, group, workspace, user string, given, now time.Time) {
	if s.groups == nil {
		s.workspaces, s.users = map[key]time.Time{}, map[key]time.Time{}
		s.groups, s.turns = map[key]time.Time{}, map[key]time.Time{}
	}
	later(s.workspaces, key{pool, workspace}, now)
	later(s.users, key{pool, within(workspace, user)}, now)
	later(s.groups, key{pool, group}, now)
	later(s.turns, key{pool, user}, given)
}

func later(m map[key]time.Time, k key, at time.Time) {
	if at.After(m[k]) {
		m[k] = at
	}
}

// Last returns when the workspace, user and group of a request last held slots.
func (s *Served) Last(pool, group, workspace, user string) sched.Served {
	return sched.Served{Workspace: s.workspaces[key{pool, workspace}], User: s.users[key{pool, within(workspace, user)}], Group: s.groups[key{pool, group}],
		Turn: s.turns[key{pool, user}]}
}

// Forget removes groups without live attempts when they are the majority of the groups.
func (s *Served) Forget(live map[string]bool) {
	const few = 1_000
	if len(s.groups) > few+2*len(live) {
		maps.DeleteFunc(s.groups, func(k key, _ time.Time) bool { return !live[k.name] })
	}
}
