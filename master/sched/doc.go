// Package sched decides who runs where. Plan is a pure function of a pool's
// nodes, of what runs and of what waits; the caller stores what it answers and
// asks again when anything has changed. It stores nothing between calls, so
// its decisions depend only on its input.
//
// A policy decides in which order requests are considered, and which tasks may be preempted for
// one (policy.go): by priority, then by the time they were queued, then by id; by fair shares of
// workspaces, users and jobs (fair.go); or by turns of users (turns.go). Everything else is the same
// under all policies. Each request is placed whole or not at all:
//
//   - on one node, if the pool has a node that could hold it: the fullest one with room;
//   - else, unless SingleNode, on as few nodes as could hold it: in equal parts if so
//     many nodes could hold those, else in parts as equal as they could (uneven.go);
//     or on idle nodes that smaller equal parts fill (fit.go);
//   - on slots of one model. MixModels allows several, but of one model on each node,
//     because a Nomad task cannot mix the models of its devices. The usable slots of one
//     model on one node are called a block; all of the arithmetic is over blocks.
//   - of a block, on the slots of as few link groups as possible (links.go). Only this step
//     chooses slots; all others count them.
//
// What happens to a request that finds no room depends on what is there:
//
//   - Tasks that are being preempted already may free enough slots. Then the request is
//     promised those slots: no request behind it gets them, and no other task is
//     preempted for it.
//   - Else, where the policy preempts, other tasks may free enough slots. Plan preempts
//     them, in the policy's order and of equals those that lose least work first, whole tasks only, and no
//     task whose slots are not needed (preempt.go).
//   - Else the request becomes the head. Requests behind it may still start, but
//     only on slots that the head could not use whichever of the running tasks
//     end (backfill.go), so that the head starts no later than if the requests
//     behind it did not exist. Nobody preempts for a request behind the head.
//
// A request that no set of the pool's schedulable nodes could ever hold, that is
// over its group's max_slots or over a quota (quota.go), or that is paused after a
// failed start, delays no other request. Requests of 0 slots do not take part: the
// pool's MaxAux limits their number on each node (auxiliary.go).
//
// Every request that is not placed gets a sentence (why.go).
//
// Plan makes a planner (plan.go), which takes requests in their order (order.go) and uses an inventory of nodes and blocks (inventory.go, blocks.go, links.go,
// racks.go), the preferences of requests for nodes (preferences.go), where they fit (fit.go, uneven.go), and the bounds of groups
// and quotas (quota.go). Read plan.go first, and then the others in this order.
package sched
