package control

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/cluster"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/nomad/servers/turn"
)

var simMetrics = flag.Int("sim-metrics", 50_000, "how many metrics the experiment has that the simulation deletes")

// The size of the simulation of TestNoneIsHeldUp.
const (
	simSteps = 30
	simNodes = 1000 // of eight slots
	simCrowd = 300  // trials of one search that needs slots for all at once
	simMany  = 400  // commands that another owner starts at once
	// patience is the maximum number of cycles for each step of a healthy experiment.
	patience = 6
)

// TestNoneIsHeldUp tests that no experiment delays another. Healthy experiments (probes) are
// submitted, paused, killed and finished next to experiments that panic, fail in the
// database, are always stale or have locked rows; next to failing and panicking
// submissions, failing stops, a Nomad that does not answer, a deletion in many parts, a
// search that needs hundreds of 8,000 free slots, and hundreds of commands of another owner.
// Each step of each probe must happen within `patience` cycles, and each probe must end as
// in the same simulation without faults. For placements, cycles while Nomad does not answer
// do not count.
func TestNoneIsHeldUp(t *testing.T) {
	for _, seed := range turn.Seeds(*simSeeds) {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			t.Parallel()
			calm, troubled := liveBeside(t, seed, false), liveBeside(t, seed, true)
			if len(calm) != len(troubled) || len(calm) == 0 {
				t.Fatalf("%d probes without faults, %d with them", len(calm), len(troubled))
			}
			t.Logf("%d probes; with faults: %v", len(calm), troubled)
			for i, end := range calm {
				if troubled[i] != end {
					t.Errorf("probe %d ended as %q, and as %q without the faults", i, troubled[i], end)
				}
			}
		})
	}
}

// liveBeside runs one simulation, and returns how each probe ended.
func liveBeside(t *testing.T, seed int, faults bool) (ends []string) {
	names := make([]string, simNodes)
	for i := range names {
		names[i] = fmt.Sprintf("n%d", i)
	}
	w := &troubledWorld{simulation: &simulation{bench: newBench(t, names...), rng: rand.New(rand.NewPCG(uint64(seed), 3))},
		chaos: rand.New(rand.NewPCG(uint64(seed), 4)), victims: map[int]string{}, ordersOf: map[string]string{}}
	w.hung = &unsteadyNomad{fakeNomad: w.nomad}
	w.nomad.refuse = func(id string) error { return w.fails("stop", id) }
	w.nomad.answer = func(id string) (cluster.Outcome, error) {
		if err := w.fails("submit", id); err != nil {
			return cluster.TryAgain, err
		}
		return cluster.Done, nil
	}
	w.term.nomad, w.term.async = w.hung, true
	w.term.cfg.Pools[0].Slots.PerNode = 32
	w.submit(fmt.Sprintf("searcher: {name: random, metric: loss, max_trials: %d, max_concurrent_trials: 0, max_length: {batches: 9}}\nhyperparameters: {x: {type: double, minval: 0, maxval: 1}}", simCrowd))
	for step := range simSteps {
		if w.rng.IntN(3) == 0 || step == 0 {
			w.probes = append(w.probes, newProbe(w, w.rng.IntN(3)))
		}
		if w.rng.IntN(15) == 0 && !w.hung.hangs() {
			w.newLeader()
			w.term.async = true
		}
		if faults {
			w.fault(step)
		}
		w.step()
	}
	w.breakAll()
	w.heal()
	for slices.ContainsFunc(w.probes, func(p *probe) bool { return !p.over() }) { // ends, because each step has a limit
		w.step()
	}
	for _, p := range w.probes {
		ends = append(ends, p.kind+": "+w.text(`SELECT e.state || ' ' || t.state || ' restarts ' || t.restarts || ' attempts ' ||
			(SELECT string_agg(a.outcome, ',' ORDER BY run_id) FROM allocations a WHERE a.task_id = t.task_id)
			FROM experiments e JOIN trials t ON t.experiment_id = e.id WHERE e.id = $1`, p.id))
	}
	if faults {
		w.reckon()
	}
	return ends
}

// troubledWorld is a simulation with probes and faults.
type troubledWorld struct {
	*simulation
	chaos    *rand.Rand // decides about faults; other random decisions do not depend on it
	hung     *unsteadyNomad
	probes   []*probe
	victims  map[int]string    // experiment → its fault
	ordersOf map[string]string // task → which calls to Nomad about its attempts fail
	failed   int               // number of failed calls
	broken   []int             // experiments that must end with an error
	triggers []string
	deleted  int
	many     bool   // one owner has started very many commands
	unlock   func() // unlocks a locked row
	hangFor  int    // number of steps for which Nomad still does not answer
	late     int    // cycles that failed because the machine is slow
}

// maxLate is the maximum number of cycles that may fail because the machine is slow.
const maxLate = 20

// step runs a cycle, and waits for its calls except those that hang.
func (w *troubledWorld) step() {
	w.t.Helper()
	w.compareLoads()
	w.term.views[0].watch.wanted = true
	switch err := w.term.cycle(w.t.Context()); {
	case fault.Is(err, fault.Unavailable) && w.late < maxLate:
		// A statement exceeded its time limit on a busy machine. As in the loop, the next cycle
		// decides again; this cycle does not count for the limits of the probes.
		w.late++
		w.t.Logf("a cycle failed: %v", err)
		return
	case err != nil:
		w.t.Fatal(err)
	}
	for _, l := range w.term.lanes {
		l.pass(w.t.Context())
	}
	w.settled()
	w.actAsUsers()
	w.check()
	alarmed := w.hung.hangs() || w.int(`SELECT count(*) FROM cluster WHERE alarm <> ''`) > 0
	for i, p := range w.probes {
		p.look(i, alarmed)
	}
}

// settled waits until every call has returned, except those that hang.
func (w *troubledWorld) settled() {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for range tick.C {
		h := w.term.calls
		h.mu.Lock()
		busy := len(h.busy)
		h.mu.Unlock()
		if busy <= int(w.hung.waiting.Load()) {
			break
		}
	}
	watch := &w.term.views[0].watch
	if !watch.busy || watch.answer != nil {
		return
	}
	if w.hung.hangs() {
		select {
		case a := <-watch.answers:
			watch.answer = &a
		default:
		}
		return
	}
	a := <-watch.answers
	watch.answer = &a
}

// A probe is a healthy experiment. Its next step begins when the rows show that the current
// one is complete.
type probe struct {
	w     *troubledWorld
	id    int
	kind  string
	steps []probeStep
	age   int // cycles since its step began
}

type probeStep struct {
	what  string
	made  string // query that counts 1 when the step is complete
	then  string // what its program or its owner does next; "": nothing
	nomad bool   // the step needs Nomad
}

func newProbe(w *troubledWorld, kind int) *probe {
	const newest = `(SELECT a.id FROM allocations a JOIN tasks k ON k.id = a.task_id WHERE k.experiment_id = $1 ORDER BY run_id DESC LIMIT 1)`
	desire := func(s string) string { return `UPDATE experiments SET desired = '` + s + `' WHERE id = $1` }
	leave := func(code int) string {
		return fmt.Sprintf(`WITH x AS (UPDATE allocations SET preempt_acked_at = now() WHERE preempt_at IS NOT NULL AND id = `+newest+`)
			UPDATE members SET exited_at = now(), exit_code = %d WHERE allocation_id = `+newest, code)
	}
	state := func(s string) string { return `SELECT count(*) FROM experiments WHERE id = $1 AND state = '` + s + `'` }
	of := func(condition string) string {
		return `SELECT count(*) FROM allocations WHERE id = ` + newest + ` AND ` + condition
	}
	start := []probeStep{
		{"it is handed to Nomad", of("submitted_at IS NOT NULL AND state <> 'TERMINATED'"), `UPDATE members SET claimed_at = now(), claimed_by = 'x' WHERE allocation_id = ` + newest, true},
		{"it runs", of("state = 'RUNNING'"), "", false},
	}
	finish := probeStep{"it is completed", state("COMPLETED"), "", false}
	with := func(list []probeStep, last string) []probeStep {
		list = append([]probeStep{}, list...)
		list[len(list)-1].then = last
		return list
	}
	p := &probe{w: w, id: w.create("searcher: {name: single, metric: loss, max_length: {batches: 9}}", true)}
	switch kind {
	case 0:
		p.kind, p.steps = "finished", append(with(start, leave(0)), finish)
	case 1:
		p.kind = "paused"
		p.steps = append(with(start, desire("paused")), probeStep{"it is asked to make way", of("preempt_at IS NOT NULL"), leave(0), false},
			probeStep{"its slots are free", of("state = 'TERMINATED'"), desire("active"), false})
		p.steps = append(append(p.steps, with(start, leave(0))...), finish)
	default:
		p.kind = "killed"
		p.steps = append(with(start, desire("killed")), probeStep{"it is to be stopped", of("kill_at IS NOT NULL"), leave(143), false},
			probeStep{"it is canceled", state("CANCELED"), "", false})
	}
	return p
}

func (p *probe) over() bool { return len(p.steps) == 0 }

// look begins the next step if the current one is complete, and fails if it takes too long.
func (p *probe) look(i int, alarmed bool) {
	p.w.t.Helper()
	if p.over() {
		return
	}
	s := p.steps[0]
	if p.w.int(s.made, p.id) == 1 {
		if s.then != "" {
			p.w.exec(s.then, p.id)
		}
		p.steps, p.age = p.steps[1:], 0
		return
	}
	if s.nomad && alarmed {
		return
	}
	if p.age++; p.age > patience {
		p.w.t.Fatalf("%q of probe %d (experiment %d, %s) takes more than %d cycles; its rows: %s; %d faults", s.what, i, p.id, p.kind, patience,
			p.w.text(`SELECT string_agg(format('%s %s, attempt %s %s %s %s %s', e.state, t.state, a.id, a.state, a.outcome, a.exit_reason, a.waiting_reason), '; ')
				FROM experiments e JOIN trials t ON t.experiment_id = e.id LEFT JOIN allocations a ON a.task_id = t.task_id WHERE e.id = $1`, p.id), len(p.w.victims))
	}
}

// fault injects a fault now and then. Every kind occurs with every seed.
func (w *troubledWorld) fault(step int) {
	if w.hangFor--; w.hangFor == 0 {
		w.hung.resume()
	}
	if w.unlock != nil && w.chaos.IntN(2) == 0 {
		w.unlock()
	}
	kind := w.chaos.IntN(9) // the kinds that may occur repeatedly
	if step < 20 && step%2 == 0 {
		kind = step / 2
	} else if w.chaos.IntN(3) > 0 {
		return
	}
	switch kind {
	case 0:
		w.panics()
	case 1:
		w.broken = append(w.broken, w.afflicted(`IF NEW.state = 'ACTIVE' THEN RAISE EXCEPTION 'not like that' USING ERRCODE = 'check_violation'; END IF; RETURN NEW;`, 1)...)
	case 2:
		w.afflicted(`RETURN NULL;`, 2)
	case 3: // more failing bundles than MaxFailures in one plan
		w.afflicted(`RAISE EXCEPTION 'never';`, 70)
	case 4:
		w.orders("stop", maxStops+4)
	case 5:
		w.orders("submit", maxSubmits+8)
	case 6:
		w.locked()
	case 7:
		w.deletion()
	case 8:
		if !w.hung.hangs() {
			w.hung.hang()
			w.hangFor = 4 + w.chaos.IntN(6)
		}
	case 9:
		w.commands()
	}
}
