package sched

import (
	"fmt"
	"time"

	"github.com/detent-ml/detent/master/pool"
)

// A policy decides in which order requests are considered, and which tasks are preempted for one.
// Placing, promising and holding back for the head are the same under all policies.
type policy interface {
	// next returns the request to consider now, each request once; nil if there is no more.
	next() *Request
	// considered tells the policy what became of the request that next returned last.
	considered(o outcome)
	// makeWay asks running tasks to leave for this request, and returns the slots that it has
	// when they have left; nil, and no task is asked, if no tasks may be asked to leave for it.
	makeWay(r *Request) []hold
	// left tells the policy that a running task was asked to leave for another reason than its own.
	left(i int)
	// again makes next return these requests, in the policy's order, after it has returned all others.
	again(late []*Request)
	// behind says that requests wait behind another one.
	behind(ahead *Request) string
	// why completes the sentence of the request that next returned last, if there is no room for it.
	why(r *Request, sentence string) string
}

// An outcome is what became of a request.
type outcome int

const (
	aside  outcome = iota // it does not compete for slots: it needs none, or cannot start now for a reason of its own
	waits                 // there is no room for it
	served                // it starts, or slots are promised to it
)

func (p *planner) policyOf(queued []*Request, now time.Time) policy {
	switch p.pool.Scheduler.Type {
	case pool.FairShare:
		return newFairShare(p, queued, now)
	case pool.RoundRobin:
		return newRoundRobin(p, queued)
	}
	return newByPriority(p, queued)
}

// byPriority considers requests by priority, then by the time they were queued, then by id.
type byPriority struct {
	p          *planner
	queued     []*Request
	candidates []int // running tasks that may be asked to leave, first first
}

func newByPriority(p *planner, queued []*Request) *byPriority {
	return &byPriority{p: p, queued: queued, candidates: p.rankCandidates()}
}

func (q *byPriority) next() *Request {
	if len(q.queued) == 0 {
		return nil
	}
	return q.queued[0]
}

func (q *byPriority) considered(outcome) { q.queued = q.queued[1:] }

func (q *byPriority) again(late []*Request) { q.queued = late }

func (q *byPriority) behind(ahead *Request) string {
	return fmt.Sprintf("waits behind %s (priority %d)", nameOf(ahead.Group, ahead.ID), ahead.Priority)
}

func (q *byPriority) why(_ *Request, sentence string) string { return sentence }
