package sched

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// fairShare divides the slots of a pool among workspaces, the slots of each workspace among
// its users, and those of each user among the user's jobs: the weighted max-min division of
// what they hold and ask for.
//
// Next is a request of the workspace that holds least in proportion to its weight, there of
// such a user, and of such a job; of those that hold equally little, the one that has held
// nothing for the longest time. So a share that holds nothing is before all that hold slots,
// and its first request becomes the head if there is no room for it.
//
// Every request may use slots that others leave idle. Preemption takes them back: for a request
// that finds no room, tasks may leave
//
//  1. of another workspace that holds more than its fair part,
//  2. else of another user of the request's workspace who holds more,
//  3. else of another job of the request's user that holds more.
//
// Two conditions end every chain of preemptions. First, less must be lacking of fair parts
// afterwards: the sum over workspaces decides, with equal sums that over users, and then that over
// jobs. What is fair depends on the held and the requested slots together, which a preemption does
// not change, and no placement makes these sums larger. Second, who loses slots must hold more
// afterwards, in proportion to the weight, than who gets them held before: else the slots would
// go back.
//
// With a half-life, what shares used lately counts, too (recent.go).
//
// In this package a share is a workspace, a user or a job; its field fair is the part of the slots
// that it is due.
type fairShare struct {
	p    *planner
	pool *share
	job  *share          // of the request that is considered now
	lack [levels]float64 // sums of what the shares of each level lack

	tries int // how many more tasks this plan may try to preempt
}

// maxTries limits the time of a plan that preempts. The next plan considers the tasks that this one did not reach; it
// counts the slots that preempted tasks will free.
const maxTries = 20_000

func newFairShare(p *planner, queued []*Request, now time.Time) *fairShare {
	f := &fairShare{p: p, pool: &share{weight: 1, at: -1}, tries: maxTries}
	f.addRunning(now)
	claimed := map[*Quota]int{}
	for _, r := range queued {
		job := f.jobOf(r.Workspace, r.User, cmp.Or(r.Group, r.ID), r.Weight, r.MaxSlots)
		job.queue = append(job.queue, r)
		job.noteHeld(r.Served)
		f.noteRecent(job, r.Recent)
		if p.couldStart(r, now) {
			job.wanted += p.demand(r, claimed)
		}
	}
	f.pool.sum()
	f.pool.fair += float64(p.usable)
	f.pool.divide()
	f.pool.arrange()
	f.addLacks(f.pool)
	return f
}

// addRunning adds what running tasks hold. The slots of a task that is leaving are not held any
// more, but they are wanted: a task that was preempted is queued again.
func (f *fairShare) addRunning(now time.Time) {
	p := f.p
	var jobs []*share
	for i := range p.running {
		r := &p.running[i]
		job := f.jobOf(r.Workspace, r.User, cmp.Or(r.Group, r.ID), r.Weight, r.MaxSlots)
		slots := r.slots()
		job.wanted += slots
		f.noteRecent(job, r.Recent)
		if slots > 0 {
			job.noteHeld(Served{Workspace: now, User: now, Group: now})
		}
		if p.leaving[i] {
			continue
		}
		// Slots that are held but not usable are divided too; newFairShare adds the usable ones, which holds has.
		f.pool.fair += float64(slots)
		for _, h := range p.holds[i] {
			f.pool.fair -= float64(h.n)
		}
		for s := job; s != nil; s = s.parent {
			s.held += slots
		}
		if p.mayLeave(i) && now.Sub(r.StartedAt) >= p.pool.Scheduler.MinRunTime {
			if len(job.tasks) == 0 {
				jobs = append(jobs, job)
			}
			job.tasks = append(job.tasks, i)
			for s := job; s != nil; s = s.parent {
				s.mayLeave++
			}
		}
	}
	for _, job := range jobs {
		slices.SortFunc(job.tasks, p.leastLostFirst)
	}
	f.pool.findGivers()
}

// couldStart reports whether a request counts when slots are divided: the pool could hold it, and neither its time
// nor its group's max_slots keeps it from starting. When half of the work that a plan spends on the user is used up,
// further requests of the user do not count.
func (p *planner) couldStart(r *Request, now time.Time) bool {
	defer p.worked(r.User, p.looks)
	return p.looked[r.User] < maxLooks/2 && r.Slots > 0 && !now.Before(r.NotBefore) && (r.MaxSlots == nil || r.Slots <= *r.MaxSlots) && p.fewest(p.avoid(r)).nodes > 0
}

// jobOf finds or adds the share of a job. If its tasks say different weights, the greatest counts.
func (f *fairShare) jobOf(workspace, user, name string, weight float64, most *int) *share {
	of := &f.p.pool.Scheduler
	weight = cmp.Or(max(weight, 0), 1)
	job := f.pool.child(workspace, of.WorkspaceWeight(workspace)).child(user, of.UserWeight(user)).child(name, weight)
	job.weight = max(job.weight, weight)
	if most != nil {
		job.most = most
	}
	return job
}

func (f *fairShare) addLacks(s *share) {
	f.lack[s.level] += s.lacks()
	for _, c := range s.children {
		f.addLacks(c)
	}
}

// hold adds slots to what a job holds, or takes them away.
func (f *fairShare) hold(job *share, slots int) {
	for s := job; s.parent != nil; s = s.parent {
		f.lack[s.level] -= s.lacks()
		s.held += slots
		f.lack[s.level] += s.lacks()
	}
	job.settle()
}

func (f *fairShare) next() *Request {
	s := f.pool
	if len(s.waiting) == 0 {
		return nil
	}
	for s.level != jobLevel {
		s = s.waiting[0]
	}
	f.job = s
	return s.queue[0]
}

func (f *fairShare) considered(o outcome) {
	r := f.job.queue[0]
	f.job.queue = f.job.queue[1:]
	if o != served {
		f.job.settle()
		return
	}
	f.hold(f.job, r.Slots)
}

// makeWay asks tasks to leave that hold more than what is fair.
func (f *fairShare) makeWay(r *Request) []hold {
	before := f.lack
	f.hold(f.job, r.Slots)
	defer f.hold(f.job, -r.Slots)
	if !isLess(f.lack, before) { // nobody would lack less
		return nil
	}
	touched := map[*share]bool{}
	jobs := map[int]*share{}
	defer func() {
		for job := range touched {
			job.cursor = 0
			job.tasks = slices.DeleteFunc(job.tasks, func(i int) bool { return f.p.leaving[i] })
		}
	}()
	return f.p.makeWay(r, victims{
		next: func() int {
			job := f.victim()
			if job == nil || f.tries == 0 {
				return -1
			}
			f.tries--
			i := job.tasks[job.cursor]
			job.cursor++
			touched[job], jobs[i] = true, job
			f.leave(job, i, 1)
			return i
		},
		spare:  func(i int) { f.leave(jobs[i], i, -1) },
		gains:  func(picks []hold) bool { return isLess(f.lack, before) && f.lasts(r, jobs) && !f.p.withheld(r, picks) },
		reason: fmt.Sprintf("preempted for %s of workspace %s, which is due slots by fair share", nameOf(r.Group, r.ID), r.Workspace),
	})
}

// lasts reports whether the slots of those who are asked to leave will go to this request, and
// not back: it is considered before their own.
func (f *fairShare) lasts(r *Request, asked map[int]*share) bool {
	for i, job := range asked {
		if !f.p.leaving[i] { // it was let off
			continue
		}
		taker, giver := f.job, job
		for taker.parent != giver.parent {
			taker, giver = taker.parent, giver.parent
		}
		before := float64(taker.held-r.Slots) * giver.weight // of the taker, and after of the giver
		after := float64(giver.held) * taker.weight
		if after <= before && (after > 0 || before > 0) {
			return false
		}
	}
	return true
}

// leave takes a task out of what its job holds and may give, or with -1 puts it back.
func (f *fairShare) leave(job *share, i, times int) {
	f.hold(job, -times*f.p.running[i].slots())
	for s := job; s != nil; s = s.parent {
		s.mayLeave -= times
	}
}

// victim is the job whose first task leaves next for the request that is considered now:
// of another workspace that holds more than what is fair, else of another user of its
// workspace, else of another job of its user; nil if there is none.
func (f *fairShare) victim() *share {
	mine := [levels]*share{}
	for s := f.job; s != nil; s = s.parent {
		mine[s.level] = s
	}
	for level := workspaceLevel; level < levels; level++ {
		found := mine[level-1].fullest(mine[level])
		if found == nil || !found.isOver() {
			continue
		}
		if level == jobLevel {
			return f.leastLost(mine[level-1], mine[level])
		}
		return f.leastLost(found, nil)
	}
	return nil
}

// leastLost is the job below a share, without one of its children, whose next task loses least work if it leaves; of the jobs that hold more than what is
// fair, of users who then still hold what is fair. If there is none, it is a job of the user who exceeds it most.
func (f *fairShare) leastLost(of, without *share) *share {
	var found *share
	better := func(job *share) {
		if job.mayLeave > 0 && job.isOver() && (found == nil || f.p.leastLostFirst(job.tasks[job.cursor], found.tasks[found.cursor]) < 0) {
			found = job
		}
	}
	for _, c := range of.givers {
		switch {
		case c == without || c.mayLeave == 0:
		case c.level == jobLevel:
			better(c)
		default:
			for _, job := range c.givers {
				if job.mayLeave > 0 && float64(c.held-f.p.running[job.tasks[job.cursor]].slots()+1) > c.fair {
					better(job)
				}
			}
		}
	}
	if found == nil {
		for found = of.fullest(without); found.level != jobLevel; {
			found = found.fullest(nil)
		}
	}
	return found
}

// left takes a task that was asked to leave for another reason out of what its job holds.
func (f *fairShare) left(i int) {
	r := &f.p.running[i]
	job := f.jobOf(r.Workspace, r.User, cmp.Or(r.Group, r.ID), r.Weight, r.MaxSlots)
	if at := slices.Index(job.tasks, i); at >= 0 {
		job.tasks = slices.Delete(job.tasks, at, at+1)
		for s := job; s != nil; s = s.parent {
			s.mayLeave--
		}
	}
	f.hold(job, -r.slots())
}

func (f *fairShare) again(late []*Request) {
	for _, r := range late {
		job := f.jobOf(r.Workspace, r.User, cmp.Or(r.Group, r.ID), r.Weight, r.MaxSlots)
		job.queue, job.waits, job.behind = append(job.queue, r), false, ""
	}
	f.pool.arrange()
}

// isLess compares sums of what is lacking, first those of workspaces.
func isLess(a, b [levels]float64) bool {
	for level := range a {
		if d := a[level] - b[level]; d < -nothing || d > nothing {
			return d < 0
		}
	}
	return false
}

func (f *fairShare) behind(ahead *Request) string {
	return fmt.Sprintf("waits behind %s of workspace %s", nameOf(ahead.Group, ahead.ID), ahead.Workspace)
}

// why adds which share is used up: the workspace's, the user's or the job's. Thousands of
// trials of one job get one sentence that seldom changes.
func (f *fairShare) why(r *Request, sentence string) string {
	if f.job.waits && len(r.Exclude) == 0 {
		if f.job.behind == "" {
			f.job.behind = "waits behind an earlier attempt of " + nameOf(r.Group, r.ID)
		}
		return f.job.behind
	}
	f.job.waits = true
	used := f.job.parent.parent
	for s := f.job; s.parent != nil; s = s.parent {
		if float64(s.held+r.Slots) > s.fair+nothing {
			used = s
		}
	}
	return used.ends(sentence)
}
