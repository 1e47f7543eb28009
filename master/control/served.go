package control

import (
	"maps"
	"time"

	"github.com/detent-ml/detent/master/control/rows"
	"github.com/detent-ml/detent/master/sched"
)

// A sharer is for whom an attempt holds slots, as far as policies ask.
type sharer struct {
	workspace string
	project   int // 0: none
	user      string
	weight    float64 // of its group
}

// within names a user of a workspace.
func (s sharer) within() string { return s.workspace + "\x00" + s.user }

// sharerOf returns for whom the trials of an experiment hold slots.
func (p *Snapshot) sharerOf(e *Experiment) sharer {
	return sharer{workspace: p.Workspaces[e.ProjectID], project: e.ProjectID, user: p.Owners[e.OwnerID], weight: e.Weight}
}

func sharerOfTask(t *rows.LiveTask) sharer {
	return sharer{workspace: t.Workspace, user: t.Owner}
}

// served remembers when a workspace, a user and a group last held slots of each pool, and when a
// user last got slots: a snapshot does not contain attempts that have ended, but policies need
// the times. A new leader begins with the attempts that run.
//
// users has the times of a user within a workspace, for fair_share: slots that the user holds in
// another workspace must not count, or two users of one workspace could preempt each other without
// end. turns has the times of a user in the whole pool, for round_robin.
type served struct {
	workspaces, users, groups, turns map[servedKey]time.Time
}

type servedKey struct{ pool, name string }

// note remembers that an attempt holds slots now, and when the attempt got them.
func (s *served) note(pool, group string, of sharer, given, now time.Time) {
	if s.groups == nil {
		s.workspaces, s.users = map[servedKey]time.Time{}, map[servedKey]time.Time{}
		s.groups, s.turns = map[servedKey]time.Time{}, map[servedKey]time.Time{}
	}
	later(s.workspaces, servedKey{pool, of.workspace}, now)
	later(s.users, servedKey{pool, of.within()}, now)
	later(s.groups, servedKey{pool, group}, now)
	later(s.turns, servedKey{pool, of.user}, given)
}

func later(m map[servedKey]time.Time, key servedKey, at time.Time) {
	if at.After(m[key]) {
		m[key] = at
	}
}

// last returns when the request's workspace, user and group last held slots.
func (s *served) last(pool, group string, of sharer) sched.Served {
	return sched.Served{Workspace: s.workspaces[servedKey{pool, of.workspace}], User: s.users[servedKey{pool, of.within()}], Group: s.groups[servedKey{pool, group}],
		Turn: s.turns[servedKey{pool, of.user}]}
}

// forget removes groups without live attempts when they are the majority of the groups.
func (s *served) forget(live map[string]bool) {
	const few = 1_000
	if len(s.groups) > few+2*len(live) {
		maps.DeleteFunc(s.groups, func(key servedKey, _ time.Time) bool { return !live[key.name] })
	}
}
