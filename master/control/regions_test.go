package control

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/detent-ml/detent/jobspecs"
	"github.com/detent-ml/detent/master/cluster"
	"github.com/detent-ml/detent/master/nodes"
)

// A farNomad is the Nomad of a second region, which does not answer at times.
type farNomad struct {
	*fakeNomad
	down  bool
	tries int // calls while it was down, besides those of Observe
}

var errDown = errors.New("connection refused")

func (n *farNomad) Observe(ctx context.Context, known cluster.Known) (cluster.Observation, error) {
	if n.down {
		return cluster.Observation{}, errDown
	}
	return n.fakeNomad.Observe(ctx, known)
}

func (n *farNomad) Submit(ctx context.Context, t jobspecs.Task) (cluster.Outcome, error) {
	if n.down {
		n.tries++
		return cluster.TryAgain, errDown
	}
	return n.fakeNomad.Submit(ctx, t)
}

func (n *farNomad) Stop(ctx context.Context, id string) (cluster.Outcome, error) {
	if n.down {
		n.tries++
		return cluster.TryAgain, errDown
	}
	return n.fakeNomad.Stop(ctx, id)
}

// newRegions is a bench with a second region, in which the pool west is.
func newRegions(t *testing.T) (b *bench, west *farNomad) {
	t.Helper()
	b = newBench(t, "n1")
	west = &farNomad{fakeNomad: newFakeNomad("w1")}
	l := b.term.Loop
	l.cfg.Region, l.cfg.Regions = "east", []Region{{Name: "west", Nomad: west}}
	second := l.cfg.Pools[0]
	second.Name, second.Region = "west", "west"
	l.cfg.Pools = append(l.cfg.Pools, second)
	b.begin()
	return b, west
}

// begin begins a new term.
func (b *bench) begin() {
	b.t.Helper()
	var err error
	if b.term, err = newTerm(b.t.Context(), b.term.Loop, b.term.lead); err != nil {
		b.t.Fatal(err)
	}
}

// inPool creates an experiment in a pool.
func (b *bench) inPool(name string) int {
	b.t.Helper()
	e := b.experiment("")
	b.exec(`UPDATE experiments SET pool = $2 WHERE id = $1`, e, name)
	b.settle()
	return e
}

// TestRegionsAreApart: attempts run in the region of their pool. While the Nomad of one region does not answer, its pool
// waits and says so, and nothing in the other region waits.
func TestRegionsAreApart(t *testing.T) {
	b, west := newRegions(t)
	here, there := b.inPool("default"), b.inPool("west")
	ours, theirs := b.newest(here), b.newest(there)
	if b.nomad.submit[ours] != 1 || b.nomad.submit[theirs] != 0 || west.submit[theirs] != 1 || west.submit[ours] != 0 {
		t.Fatalf("submitted in the east: %v, in the west: %v", b.nomad.submit, west.submit)
	}
	if got := b.text(`SELECT string_agg(name || ' ' || region, ', ' ORDER BY name) FROM nodes`); got != "n1 , w1 west" {
		t.Errorf("nodes and their regions: %s", got)
	}
	b.claim(ours)
	b.claim(theirs)
	b.settle()
	b.want(there, "ACTIVE", "ACTIVE", "RUNNING")
	if live := b.term.views[1].known.Live; !slices.Equal(live, []string{theirs}) {
		t.Errorf("the west is asked about %v", live)
	}

	west.down = true
	b.settle()
	late, next := b.inPool("west"), b.inPool("default")
	b.want(next, "ACTIVE", "ACTIVE", "STARTING")
	b.want(late, "ACTIVE", "ACTIVE", "PENDING")
	const why = "waits for Nomad in region west: Nomad does not answer: connection refused"
	if got := b.text(`SELECT waiting_reason FROM allocations WHERE id = $1`, b.newest(late)); got != why {
		t.Errorf("it %q, want %q", got, why)
	}
	if alarm, err := nodes.Alarm(t.Context(), b.db); err != nil || alarm != "Nomad region west: Nomad does not answer: connection refused" {
		t.Errorf("the alarm is %q, %v", alarm, err)
	}
	if d := b.term.Demand(); len(d) != 1 || d[0].Pool != "default" {
		t.Errorf("the demand is %+v, want that of the pool whose nodes are known", d)
	}
	b.want(there, "ACTIVE", "ACTIVE", "RUNNING")
	b.exec(`UPDATE experiments SET desired = 'killed' WHERE id = $1`, there)
	b.exit(ours, 0)
	b.settle()
	b.want(here, "COMPLETED", "COMPLETED", "TERMINATED completed")
	if west.tries != 0 {
		t.Errorf("%d calls kept those of the other region waiting", west.tries)
	}
	if said := b.text(`SELECT error FROM work WHERE subject = $1`, theirs); said != "nomad in region west does not answer" {
		t.Errorf("the stop of its job fails with %q", said)
	}

	b.exec(`UPDATE work SET after = now() + interval '1 hour' WHERE subject = $1`, theirs)
	west.down = false
	b.settle()
	b.want(late, "ACTIVE", "ACTIVE", "STARTING")
	if west.stops[theirs] == 0 || b.nomad.stops[theirs] != 0 || west.submit[b.newest(late)] != 1 {
		t.Errorf("after the west is back: stops %v and %v, submissions %v", west.stops, b.nomad.stops, west.submit)
	}
	if alarm, err := nodes.Alarm(t.Context(), b.db); err != nil || alarm != "" {
		t.Errorf("the alarm is still %q, %v", alarm, err)
	}
}

// TestARegionIsNotTheOther: what a region says about the attempts of another one does not count, and its alarm is its
// own.
func TestARegionIsNotTheOther(t *testing.T) {
	b, west := newRegions(t)
	here := b.inPool("default")
	ours := b.newest(here)
	west.index += 1000
	west.tasks[ours] = &cluster.TaskFact{AllocationID: ours, NomadAllocID: "forged", NodeID: "id-w1", Status: "failed", Index: west.index}
	west.jobs = []cluster.JobFact{{AllocationID: ours, JobID: jobspecs.JobID(ours), Status: "running", SubmittedAt: time.Now()},
		{AllocationID: "9.nobody.1", JobID: "det-9-nobody-1", Status: "running", SubmittedAt: time.Now()}}
	b.settle()
	b.want(here, "ACTIVE", "ACTIVE", "STARTING")
	if got := b.text(`SELECT nomad_alloc_id || ' ' || replaced FROM members WHERE allocation_id = $1`, ours); got != "nomad-"+ours+" false" {
		t.Errorf("the member is %s", got)
	}
	if got := b.text(`SELECT string_agg(allocation_id || ' ' || region, ', ') FROM orphans`); got != "9.nobody.1 west" {
		t.Errorf("orphans: %s", got)
	}
	b.exec(`UPDATE orphans SET seen_at = now() - interval '2 hours'`)
	b.settle()
	if west.stops["9.nobody.1"] == 0 || b.nomad.stops["9.nobody.1"] != 0 {
		t.Errorf("the orphan was stopped %d times in the west, and %d times in the east", west.stops["9.nobody.1"], b.nomad.stops["9.nobody.1"])
	}
	b.exec(`UPDATE experiments SET desired = 'killed' WHERE id = $1`, here)
	b.settle()
	if b.nomad.stops[ours] == 0 || west.stops[ours] != 0 {
		t.Errorf("its job was stopped %d times, and that of the same name %d times", b.nomad.stops[ours], west.stops[ours])
	}

	// A Nomad that was restored from a backup: only its own region waits, until an administrator confirms it.
	west.jobs, west.tasks = nil, map[string]*cluster.TaskFact{}
	west.alarm = "Nomad was restored"
	b.settle()
	late, next := b.inPool("west"), b.inPool("default")
	b.want(next, "ACTIVE", "ACTIVE", "STARTING")
	b.want(late, "ACTIVE", "ACTIVE", "PENDING")
	if err := nodes.Trust(t.Context(), b.db); err != nil {
		t.Fatal(err)
	}
	west.alarm, west.index = "", 10
	b.settle()
	b.want(late, "ACTIVE", "ACTIVE", "STARTING")
	if got := b.text(`SELECT name || ' ' || nomad_index || ' ' || trust FROM regions`); !strings.HasPrefix(got, "west 1") || !strings.HasSuffix(got, " false") || strings.Contains(got, "100") {
		t.Errorf("of the region is known %q, want the index of the trusted state", got)
	}

	// A region that the configuration no longer has.
	b.term.cfg.Regions = nil
	b.begin()
	if n := b.int(`SELECT count(*) FROM regions`) + b.int(`SELECT count(*) FROM nodes WHERE region <> ''`); n != 0 {
		t.Errorf("%d rows are left of a region that is gone", n)
	}
}

// TestARegionForeseesNothing: what a region says of an attempt of another region before there is the attempt does not
// count either, and it gets no node of another region.
func TestARegionForeseesNothing(t *testing.T) {
	b, west := newRegions(t)
	here := b.inPool("default")
	first := b.newest(here)
	next := strings.TrimSuffix(first, "1") + "2"
	west.index += 1000
	west.tasks[next] = &cluster.TaskFact{AllocationID: next, NomadAllocID: "forged", NodeID: "id-w1", Status: "failed", Index: west.index}
	west.jobs = []cluster.JobFact{{AllocationID: next, JobID: jobspecs.JobID(next), Status: "running", SubmittedAt: time.Now()}}
	forged := b.nomad.nodes[0]
	forged.Name, forged.Eligible = "forged", false
	west.nodes = append(west.nodes, forged)
	b.claim(first)
	b.exit(first, 1)
	b.settle()
	if got := b.newest(here); got != next {
		t.Fatalf("the next attempt is %s, want %s", got, next)
	}
	b.want(here, "ACTIVE", "ACTIVE", "STARTING")
	if got := b.text(`SELECT nomad_alloc_id || ' ' || replaced FROM members WHERE allocation_id = $1`, next); got != "nomad-"+next+" false" {
		t.Errorf("the member is %s", got)
	}
	if got := b.text(`SELECT string_agg(name || ' ' || region, ', ' ORDER BY name) FROM nodes`); got != "n1 , w1 west" {
		t.Errorf("nodes and their regions: %s", got)
	}
	b.exec(`UPDATE experiments SET desired = 'killed' WHERE id = $1`, here)
	b.settle()
	if b.nomad.stops[next] == 0 || west.stops[next] != 0 {
		t.Errorf("its job was stopped %d times, and that of the same name %d times", b.nomad.stops[next], west.stops[next])
	}
}

// TestARegionKeepsNoJobRunning: a region lists a job with the id of an attempt that does not exist yet, and does
// not answer any more. The job of the attempt is stopped in its own region nevertheless.
func TestARegionKeepsNoJobRunning(t *testing.T) {
	b, west := newRegions(t)
	here := b.inPool("default")
	first := b.newest(here)
	next := strings.TrimSuffix(first, "1") + "2"
	west.index += 1000
	west.jobs = []cluster.JobFact{{AllocationID: next, JobID: jobspecs.JobID(next), Status: "running", SubmittedAt: time.Now()}}
	b.settle()
	west.down = true
	b.settle()
	b.claim(first)
	b.exit(first, 1)
	b.settle()
	if got := b.newest(here); got != next {
		t.Fatalf("the next attempt is %s, want %s", got, next)
	}
	b.exec(`UPDATE experiments SET desired = 'killed' WHERE id = $1`, here)
	b.settle()
	if b.nomad.stops[next] == 0 {
		t.Error("its job was not stopped")
	}
	b.want(here, "CANCELED", "CANCELED", "TERMINATED killed")
}
