package replay

import (
	"fmt"

	"github.com/detent-ml/detent/master/sched"
	"github.com/detent-ml/detent/master/sched/record"
)

// quotasOf returns the quotas of a job: those that were recorded and are not changed, and the changed ones.
func (p *site) quotasOf(j *job) (list []*sched.Quota, ids []int) {
	for _, id := range j.quotas {
		of := p.sim.quotas[id]
		if !p.sim.settings.replaces(&of) {
			ids = append(ids, id)
		}
	}
	for i := range p.sim.settings.quotas {
		if q := &p.sim.settings.quotas[i]; !q.none && q.covers(j) {
			ids = append(ids, q.ID)
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	key := fmt.Sprint(ids)
	if list, known := p.lists[key]; known {
		return list, ids
	}
	for _, id := range ids {
		list = append(list, p.bound(id))
	}
	p.lists[key] = list
	return list, ids
}

// replaces reports whether a recorded quota is replaced or removed.
func (s *settings) replaces(of *record.Quota) bool {
	for i := range s.quotas {
		if s.quotas[i].SameAs(of) {
			return true
		}
	}
	return false
}

// covers reports whether a quota bounds a job.
func (q *newQuota) covers(j *job) bool {
	return (q.Pool == "" || q.Pool == j.pool) && (q.Workspace == "" || q.Workspace == j.ask.Workspace) && (q.User == "" || q.User == j.ask.User)
}

// bound returns the quota with a number, as plans of the pool see it.
func (p *site) bound(id int) *sched.Quota {
	if q := p.bounds[id]; q != nil {
		return q
	}
	of := p.sim.quotas[id]
	for _, q := range p.sim.settings.quotas {
		if q.ID == id {
			of = q.Quota
		}
	}
	q := &sched.Quota{Of: of.Of, Where: "pool " + of.Pool, Kind: of.Kind, Soft: of.Soft, Hard: of.Hard}
	if of.Spent {
		q.Spent = of.Of + " has used its slot-hours"
	}
	p.bounds[id] = q
	return q
}

// countElsewhere tells the quotas of all pools what is held in the other pools.
func (p *site) countElsewhere() {
	if len(p.sim.pools) < 2 {
		return
	}
	for id, q := range p.bounds {
		q.Elsewhere = sched.Held{}
		for _, o := range p.sim.pools {
			if o != p {
				q.Elsewhere.All += o.held[id].All
			}
		}
	}
}
