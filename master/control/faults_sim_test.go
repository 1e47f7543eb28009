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
)

var simMetrics = flag.Int("sim-metrics", 50_000, "how many metrics the experiment has that the simulation deletes")

// How TestNoneIsHeldUp lives.
const (
	simSteps = 30
	simNodes = 1000 // of eight slots
	simCrowd = 300  // trials of one search that wants slots all at once
	simMany  = 400  // commands that another owner starts all at once
	// patience is in how many cycles a healthy experiment takes each of its steps.
	patience = 6
)

// TestNoneIsHeldUp holds the loop to its promise that no experiment is held up by
// another. Healthy experiments (probes) are submitted, paused, killed and finished
// beside others that panic, fail in the database, are stale for ever or whose rows
// are locked; beside submissions that fail and panic, stops that fail, a Nomad that
// hangs, a deletion in many parts, a search that wants hundreds of 8,000 free
// slots, and another owner's hundreds of commands. Each step of each probe comes within patience cycles, and each probe ends
// as it does in the same world without any of that. Cycles in which the master says
// that nothing is placed, because Nomad does not answer, do not count for placing.
func TestNoneIsHeldUp(t *testing.T) {
	for seed := range *simSeeds {
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

// liveBeside lives one world, and says how each probe ended.
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
	for slices.ContainsFunc(w.probes, func(p *probe) bool { return !p.over() }) { // each has its patience
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

// troubledWorld is a simulation with probes, and faults beside them.
type troubledWorld struct {
	*simulation
	chaos    *rand.Rand // of what goes wrong; the rest of the world is alike without it
	hung     *unsteadyNomad
	probes   []*probe
	victims  map[int]string    // what is wrong, by experiment
	ordersOf map[string]string // which orders about a trial's attempts fail, by its task
	failed   int               // orders
	broken   []int             // experiments that must end with a reason
	triggers []string
	deleted  int
	many     bool   // one owner has started very many commands
	unlock   func() // lets a locked row go
	hangFor  int    // steps
	late     int    // cycles that a slow machine has lost
}

// maxLate bounds the cycles that may be lost to a slow machine.
const maxLate = 20

// step is a cycle, and everything that is begun in it and does not hang.
func (w *troubledWorld) step() {
	w.t.Helper()
	w.compareLoads()
	w.term.watch.wanted = true
	switch err := w.term.cycle(w.t.Context()); {
	case fault.Is(err, fault.Unavailable) && w.late < maxLate:
		// A statement took longer than a leader waits, on a machine that does other work: the
		// next cycle decides anew, as the loop does it, and nobody's patience is used up.
		w.late++
		w.t.Logf("a cycle came to nothing: %v", err)
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

// settled waits until every call but those that hang is back.
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
	watch := &w.term.watch
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

// A probe is a healthy experiment. It goes on when the rows say that its step is
// made.
type probe struct {
	w     *troubledWorld
	id    int
	kind  string
	steps []probeStep
	age   int // cycles since its step was begun
}

type probeStep struct {
	what  string
	made  string // counts 1 when it is
	then  string // what its program or its owner does next; "" for nothing
	nomad bool   // it needs Nomad
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

// look goes on when the step is made, and fails when it takes too long.
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

// fault makes something go wrong now and then. Every kind happens in every seed.
func (w *troubledWorld) fault(step int) {
	if w.hangFor--; w.hangFor == 0 {
		w.hung.resume()
	}
	if w.unlock != nil && w.chaos.IntN(2) == 0 {
		w.unlock()
	}
	kind := w.chaos.IntN(9) // those that may happen again
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
	case 3: // more than the loop tries to do without in one plan
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
