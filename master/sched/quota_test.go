package sched

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/detent-ml/detent/master/pool"
)

// drawnQuotas are by workspace, by user, and by both.
type drawnQuotas map[string]*Quota

func drawQuotas(t *rapid.T) drawnQuotas {
	m := drawnQuotas{}
	for _, of := range []string{"a", "b", "/u", "a/u", "b/v"} {
		if rapid.IntRange(0, 3).Draw(t, "a quota") > 0 {
			continue
		}
		q := &Quota{Of: of, Where: "pool gpu", Raise: "administrators can raise it"}
		hard := rapid.IntRange(0, 12).Draw(t, "hard")
		if q.Kind = rapid.SampledFrom([]Kind{Slots, Slots, Processors, Memory}).Draw(t, "kind"); q.Kind == Processors {
			hard *= 500
		}
		if rapid.Bool().Draw(t, "has hard") {
			q.Hard = &hard
		}
		if soft := rapid.IntRange(0, hard).Draw(t, "soft"); rapid.Bool().Draw(t, "has soft") {
			q.Soft = &soft
		}
		if rapid.IntRange(0, 3).Draw(t, "in other pools") == 0 {
			q.Elsewhere = Held{2, rapid.IntRange(0, 2).Draw(t, "leaving there")}
		}
		if rapid.IntRange(0, 9).Draw(t, "spent") == 0 {
			q.Spent = of + " has used up its slot-hours"
		}
		m[of] = q
	}
	return m
}

func (m drawnQuotas) of(workspace, user string) (list []*Quota) {
	for _, of := range []string{workspace, "/" + user, workspace + "/" + user} {
		if q := m[of]; q != nil {
			list = append(list, q)
		}
	}
	return list
}

// isHeld reports whether a hard bound keeps a request waiting.
func isHeld(why string) bool {
	return strings.Contains(why, "administrators can raise it") || strings.HasSuffix(why, "has used up its slot-hours")
}

// checkUntil draws scenes until what is tested has happened under each policy: a hundred scenes show
// it a few times, or not at all.
func checkUntil(t *testing.T, check func(*rapid.T), seen map[pool.SchedulerType]int) {
	t.Helper()
	for range 20 {
		rapid.Check(t, check)
		if len(seen) == 3 {
			return
		}
	}
	t.Errorf("it has happened under these policies only: %v", seen)
}

// TestHeldRequestsBlockNobody: without the requests that hard bounds keep waiting, all others start
// in the same places and wait for the same reasons.
func TestHeldRequestsBlockNobody(t *testing.T) {
	seen := map[pool.SchedulerType]int{}
	check := func(t *rapid.T) {
		s := drawScene(t)
		s.pool.Scheduler.MinRunTime = time.Hour // fair parts, which decide preemptions, count what held requests ask for
		for i := range s.queued {
			q := &s.queued[i]
			at := func(name string) time.Time {
				return epoch.Add(-time.Duration(1+strings.Index("abuvg0g1g2", name)) * time.Hour)
			}
			q.Served = Served{at(q.Workspace), at(q.User), at(q.Group), at(q.User)} // so that no held request decides a tie …
			if s.pool.Scheduler.Type != "" {                                        // … also of those who hold slots now: all requests of a job are as old
				of := func(name string) time.Duration { return time.Duration(strings.Index("abuvg0g1g2", name)) * time.Second }
				q.Priority, q.QueuedAt = 1, epoch.Add(-100*of(q.Workspace)-10*of(q.User)-of(q.Group))
			}
		}
		all := Plan(s.pool, s.nodes, s.running, s.queued, epoch)
		others := slices.DeleteFunc(slices.Clone(s.queued), func(q Request) bool { return isHeld(all.Waiting[q.ID]) })
		if len(others) == len(s.queued) {
			return
		}
		seen[s.pool.Scheduler.Type]++
		without := Plan(s.pool, s.nodes, s.running, others, epoch)
		if !reflect.DeepEqual(all.Place, without.Place) || !reflect.DeepEqual(all.Preempt, without.Preempt) {
			t.Fatalf("the plan with held requests is\n%s\nand without them\n%s", show(all), show(without))
		}
		if s.pool.Scheduler.Type == pool.FairShare {
			return // its sentences tell fair parts
		}
		for id, why := range without.Waiting {
			if all.Waiting[id] != why {
				t.Fatalf("%s waits because %q, and without held requests because %q", id, all.Waiting[id], why)
			}
		}
	}
	checkUntil(t, check, seen)
}

// TestBorrowedSlotsAreGivenBack: while a request of one slot within its bounds waits, no task that
// may be preempted stays over a soft bound; under all policies, also in pools without preemption.
func TestBorrowedSlotsAreGivenBack(t *testing.T) {
	reclaimed := map[pool.SchedulerType]int{}
	check := func(t *rapid.T) {
		s := drawFull(t)
		s.pool.Preemption = rapid.Bool().Draw(t, "preemption")
		s.pool.Scheduler.Type = rapid.SampledFrom([]pool.SchedulerType{"", pool.FairShare, pool.RoundRobin}).Draw(t, "policy")
		soft := rapid.IntRange(0, 8).Draw(t, "soft")
		q := &Quota{Of: "workspace a", Where: "pool gpu", Soft: &soft}
		for i := range s.running {
			if s.running[i].Workspace == "a" {
				s.running[i].Quotas = []*Quota{q}
			}
		}
		for i := range rapid.IntRange(1, 6).Draw(t, "newcomers") {
			s.queued = append(s.queued, Request{ID: fmt.Sprint("new", i), Group: "new", Slots: 1, Priority: 99, Workspace: "c", User: "w", Preemptible: true})
		}
		w := newWorld(s)
		var r Result
		for round := 0; ; round++ {
			r = w.plan()
			if err := w.check(r); err != nil {
				t.Fatal(err)
			}
			if len(r.Place)+len(r.Preempt) == 0 {
				break
			}
			if round > 60 {
				t.Fatalf("no end of it; preempted so far: %v; now\n%s", w.preempted, show(r))
			}
			for _, v := range r.Preempt {
				if strings.Contains(v.Reason, "soft quota") {
					reclaimed[s.pool.Scheduler.Type]++
				}
			}
			w.apply(r)
			w.leave()
		}
		if again := w.plan(); !reflect.DeepEqual(r, again) {
			t.Fatalf("nothing has changed, and the plan is another one:\n%s\n%s", show(r), show(again))
		}
		for id, why := range r.Waiting {
			if strings.HasPrefix(id, "new") && w.heldUnder(q, false) > soft {
				t.Fatalf("%s waits (%s), and workspace a holds %d slots over its soft bound of %d", id, why, w.heldUnder(q, false), soft)
			}
		}
	}
	checkUntil(t, check, reclaimed)
}

// BenchmarkPlanQuotas is BenchmarkPlan with quotas of all workspaces and users: of slots that are all
// held, that are lent and asked back, and that are never reached.
func BenchmarkPlanQuotas(b *testing.B) {
	fair := &pool.Pool{Name: "gpu", Scheduler: pool.Scheduler{Type: pool.FairShare}}
	for _, c := range []struct {
		name       string
		pool       *pool.Pool
		soft, hard int
	}{
		{"held", &pool.Pool{Name: "gpu"}, 100, 100}, {"lent", &pool.Pool{Name: "gpu"}, 100, 8000}, {"wide", &pool.Pool{Name: "gpu"}, 8000, 8000},
		{"fair-held", fair, 100, 100}, {"fair-lent", fair, 100, 8000}, {"fair-wide", fair, 8000, 8000},
	} {
		nodes, running, queued := benchNodes(), benchRunning(42, 1, 2, 4, 8, 3), benchQueue(42)
		quotas := map[string]*Quota{}
		of := func(workspace, user string) (list []*Quota) {
			for _, name := range []string{workspace, user} {
				if quotas[name] == nil {
					quotas[name] = &Quota{Of: name, Where: "pool gpu", Raise: "administrators can raise it", Soft: &c.soft, Hard: &c.hard}
				}
				list = append(list, quotas[name])
			}
			return list
		}
		for i := range running {
			running[i].StartedAt = epoch.Add(-time.Duration(i) * time.Second)
			running[i].Quotas = of(running[i].Workspace, running[i].User)
		}
		for i := range queued {
			queued[i].Quotas = of(queued[i].Workspace, queued[i].User)
		}
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Plan(c.pool, nodes, running, queued, epoch)
			}
		})
	}
}
