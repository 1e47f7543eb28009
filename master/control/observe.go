package control

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/detent-ml/detent/master/cluster"
	"github.com/detent-ml/detent/master/control/rows"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/nodes"
	"github.com/detent-ml/detent/master/sleep"
)

// watch calls Nomad's Observe in parallel to the cycle, one call at a time. The cycle after
// an answer stores it; until then, cycles use the rows of earlier answers. So a Nomad that
// does not answer delays only decisions that depend on its answer.
type watch struct {
	answers chan answer
	busy    bool        // from the start of a call until its answer is stored
	wanted  bool        // a reason for another call arrived while busy
	last    time.Time   // when the last call started
	later   *time.Timer // wakes the loop when the next call may start; nil: not used yet
	answer  *answer     // received and not stored yet
}

type answer struct {
	o     cluster.Observation
	err   error
	asked cluster.Known
}

// minObserveGap is the minimum time between the starts of two calls, so that one call answers a burst of events. While Nomad
// does not answer it is afterError.
const minObserveGap = 40 * time.Millisecond

// startObserving starts a call, unless one is in flight or has just been made; then it starts later. The first call
// waits for the first load, which says what the answer must have.
func (v *view) startObserving(ctx context.Context) {
	if !v.loaded {
		return
	}
	if v.watch.busy {
		v.watch.wanted = true
		return
	}
	gap := minObserveGap
	if v.away.Load() {
		gap = afterError
	}
	if early := gap - time.Since(v.watch.last); early > 0 {
		v.wakeAfter(early)
		return
	}
	v.watch.busy, v.watch.wanted, v.watch.last = true, false, time.Now()
	known := v.known
	v.calls.all.Go(func() {
		v.watch.answers <- v.callObserve(ctx, known)
		sleep.Wake(v.answered)
	})
}

func (v *view) wakeAfter(d time.Duration) {
	if v.watch.later == nil {
		v.watch.later = time.AfterFunc(d, v.wake)
	} else {
		v.watch.later.Reset(d)
	}
}

// untilObserving is the time until the next call is due, if nothing happens before.
func (v *view) untilObserving() time.Duration {
	if v.watch.busy || !v.async {
		return maxIdle
	}
	return max(0, time.Until(v.watch.last.Add(maxIdle)))
}

// receive takes the answer of a call that has ended. It returns whether the next cycle has something to store or to
// decide because of it.
func (v *view) receive(ctx context.Context) (news bool) {
	select {
	case a := <-v.watch.answers:
		if a.err == nil && v.hasAnswered && !v.known.Full && !v.away.Load() && v.knows(a.o) {
			if v.watch.busy = false; v.watch.wanted {
				v.startObserving(ctx)
			} else {
				v.wakeAfter(v.untilObserving())
			}
			return false
		}
		v.watch.answer = &a
		return true
	default:
		return false
	}
}

// knows is whether there is nothing new in o.
func (v *view) knows(o cluster.Observation) bool {
	return !o.Full && len(v.left) == 0 && len(o.Tasks) == 0 && len(o.Gone) == 0 && o.Nodes == nil && o.Alarm == v.alarm && o.Index <= v.known.Index
}

func (v *view) callObserve(ctx context.Context, known cluster.Known) (a answer) {
	a.asked = known
	call, cancel := context.WithTimeout(ctx, observeTimeout)
	defer cancel()
	a.err = v.safely("Nomad's state", func() (err error) {
		a.o, err = v.nomad.Observe(call, known)
		return err
	})
	return a
}

// observe stores Nomad's answer. If Nomad does not answer, the cycle still decides and
// stores what users want.
func (v *view) observe(ctx context.Context) error {
	if len(v.views) > 1 && v.live == nil { // which attempts are this region's is known after the first load
		return nil
	}
	if !v.async {
		return v.recordAnswer(ctx, v.callObserve(ctx, v.known))
	}
	if a := v.watch.answer; a != nil {
		v.watch.answer, v.watch.busy = nil, false
		if err := v.recordAnswer(ctx, *a); err != nil {
			return err
		}
	}
	if !v.watch.busy && (v.watch.wanted || v.known.Full || time.Since(v.watch.last) >= maxIdle) {
		v.startObserving(ctx)
	}
	return nil
}

// recordAnswer stores an answer.
func (v *view) recordAnswer(ctx context.Context, a answer) error {
	// After an error the next call must return the whole state, and also if somebody has asked for that during this one.
	full := a.err != nil || v.known.Full && !a.asked.Full || v.known.Trust && !a.asked.Trust
	v.known.Full = true // until the answer is stored
	if was := v.away.Swap(a.err != nil); was && a.err == nil {
		if err := v.retryNow(ctx); err != nil {
			v.away.Store(true)
			return err
		}
	}
	o, err := v.own(ctx, a.o)
	if err != nil {
		return err
	}
	if a.err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		o = cluster.Observation{Alarm: fmt.Sprintf("Nomad does not answer: %v", a.err)}
	}
	if v.knows(o) {
		v.hasAnswered, v.known.Full = true, full
		return nil
	}
	if err := v.record(ctx, o); err != nil {
		return err
	}
	v.known.Full, v.hasAnswered, v.listed = full, true, v.listed || o.Full
	if o.Full {
		v.alive = aliveIn(o.Jobs)
		v.places.listed(v, o.Jobs)
	}
	if v.alarm = o.Alarm; o.Alarm == "" {
		v.known.Index = v.reached(o)
	}
	return nil
}

// reached is the Nomad index below which no later answer may be: a smaller one means that
// Nomad was restored from a backup. If an operator trusts a restored Nomad, it is the
// index of that Nomad.
func (v *view) reached(o cluster.Observation) uint64 {
	if v.known.Trust && o.Full {
		return o.Index
	}
	return max(v.known.Index, o.Index)
}

// record stores an observation.
func (v *view) record(ctx context.Context, o cluster.Observation) error {
	facts := withLeft(memberFacts(o.Tasks), v.left)
	var left []rows.MemberFact
	nodes, err := nodeRows(o.Nodes)
	if err != nil {
		return err
	}
	err = v.db.Fenced(ctx, v.lead.Term, func(tx *database.DB) error {
		if left, err = rows.RecordFacts(ctx, tx, facts); err != nil {
			return err
		}
		if err := v.queueReads(ctx, tx, facts); err != nil {
			return err
		}
		if err := rows.RecordGone(ctx, tx, o.Gone); err != nil {
			return err
		}
		if o.Nodes != nil {
			if err := rows.RecordNodes(ctx, tx, v.name, nodes); err != nil {
				return err
			}
		}
		if err := v.recordOrphans(ctx, tx, o); err != nil {
			return err
		}
		if o.Alarm == "" && o.Full {
			if err := rows.SetNomadIndex(ctx, tx, v.name, int64(v.reached(o)), v.known.Trust); err != nil {
				return err
			}
		}
		changed, err := rows.SetAlarm(ctx, tx, v.name, o.Alarm)
		if changed && o.Alarm != "" {
			v.log.Error("Nomad state not trusted; scheduling paused", "term", v.lead.Term, "region", v.title(), "reason", o.Alarm)
		} else if changed {
			v.log.Info("Nomad state trusted again; scheduling resumed", "term", v.lead.Term, "region", v.title())
		}
		return err
	})
	if err == nil {
		v.left = slices.DeleteFunc(left, func(f rows.MemberFact) bool { return slices.Contains(o.Gone, f.AllocationID) })
		if len(v.left) > 0 && v.async {
			v.wakeAfter(minObserveGap)
		}
	}
	return err
}

// withLeft adds earlier facts to new ones, which count more if they are about the same member.
func withLeft(facts, left []rows.MemberFact) []rows.MemberFact {
	for _, old := range left {
		i := slices.IndexFunc(facts, func(f rows.MemberFact) bool { return f.AllocationID == old.AllocationID && f.Rank == old.Rank })
		if i < 0 {
			facts = append(facts, old)
		} else {
			facts[i].Replaced = facts[i].Replaced || old.Replaced || facts[i].NomadAllocID != old.NomadAllocID
		}
	}
	return facts
}

// memberFacts turns Nomad's allocations into facts about members. A member has one Nomad
// allocation; a second one, or one that replaces another, means that Nomad lost the first.
func memberFacts(tasks []cluster.TaskFact) []rows.MemberFact {
	type key struct {
		id   string
		rank int
	}
	first := map[key]int{}
	var facts []rows.MemberFact
	for _, f := range tasks {
		k := key{f.AllocationID, f.Rank}
		fact := rows.MemberFact{AllocationID: f.AllocationID, Rank: f.Rank, NomadAllocID: f.NomadAllocID, Status: f.Status,
			Detail: f.Detail, Index: int64(f.Index), Exit: f.ExitCode, Pulling: f.Pulling, Started: f.Started,
			Replaced: f.Previous != "", Over: f.Over()}
		i, ok := first[k]
		switch {
		case !ok:
			first[k] = len(facts)
			facts = append(facts, fact)
		case facts[i].NomadAllocID == f.NomadAllocID: // the same Nomad allocation: the newer fact counts
			if facts[i].Index < fact.Index {
				facts[i] = fact
			}
		case f.Previous == "":
			fact.Replaced = true
			facts[i] = fact
		default:
			facts[i].Replaced = true
			facts[i].Index = max(facts[i].Index, fact.Index)
		}
	}
	return facts
}

func nodeRows(seen []cluster.Node) ([]nodes.Row, error) {
	var list []nodes.Row
	for _, n := range seen {
		inventory, err := json.Marshal(n)
		if err != nil {
			return nil, err
		}
		row := nodes.Row{ID: n.ID, Name: n.Name, Address: n.Address, NodePool: n.NodePool, Datacenter: n.Datacenter,
			Version: n.Version, Status: n.Status, Eligible: n.Eligible, Draining: n.Draining, Inventory: inventory}
		if !n.DrainDeadline.IsZero() {
			row.DrainDeadline = &n.DrainDeadline
		}
		list = append(list, row)
	}
	return list, nil
}
