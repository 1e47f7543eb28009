package control

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/experiments"
	"github.com/detent-ml/detent/master/search"
	"github.com/detent-ml/detent/master/searches"
	"github.com/detent-ml/detent/nomad/servers/turn"
)

// TestSearchSimulation runs searches of many trials with random events: programs report, are
// preempted, fail, end and are killed; nodes and leaders die. After every cycle the rows keep their
// invariants. At the end every search has ended, and its events, applied again, give the stored
// rows.
func TestSearchSimulation(t *testing.T) {
	searchers := []string{
		"{name: adaptive_asha, metric: loss, max_trials: 12, max_concurrent_trials: 5, divisor: 2, max_length: {batches: 16}}",
		"{name: async_halving, metric: loss, max_trials: 10, num_rungs: 3, divisor: 2, max_concurrent_trials: 4, max_length: {batches: 16}, stop_once: true, sampler: tpe}",
		"{name: async_halving, metric: loss, max_trials: 10, num_rungs: 4, divisor: 2, max_concurrent_trials: 4, max_length: {batches: 16}, progressive: true}",
		"{name: random, metric: loss, max_trials: 8, max_concurrent_trials: 3, max_length: {batches: 8}, budget: {slot_hours: 1}}",
		"{name: adaptive_asha, metric: loss, max_concurrent_trials: 4, divisor: 2, max_length: {batches: 16}, budget: {hours: 0.0003}}",
		"{name: pbt, metric: loss, population_size: 4, num_rounds: 3, length_per_round: {batches: 4}, replace_function: {truncate_fraction: 0.25}, explore_function: {resample_probability: 0.2, perturb_factor: 0.2}}",
		"{name: adaptive_asha, metric: loss, max_trials: 10, max_concurrent_trials: 4, divisor: 2, bracket_rungs: [2, 3], max_length: {batches: 16}, sampler: program}",
		"{name: random, metric: loss, max_trials: 8, max_concurrent_trials: 3, max_length: {batches: 8}, sampler: program, start_with: [{n: 5}]}",
		"{name: random, metric: loss, max_trials: 30, max_concurrent_trials: 4, max_length: {batches: 4}, stop_when: {gain: 0, trials: 1, probability: 0.15}, repeat: {best: 2, times: 2}}",
		"{name: adaptive_asha, metric: loss, max_trials: 14, max_concurrent_trials: 4, divisor: 2, max_length: {batches: 8}, repeat: {best: 2, times: 2}}",
	}
	for _, seed := range turn.Seeds(*simSeeds) {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			s := &searchWorld{simulation: &simulation{bench: newBench(t, "n1", "n2", "n3"), rng: rand.New(rand.NewPCG(uint64(seed), 2))}, steps: map[int]int{}}
			s.nomad.answer = s.submission
			for i := range 2 {
				s.submit("searcher: " + searchers[(seed*2+i)%len(searchers)] + "\nhyperparameters: {lr: {type: log, base: 10, minval: -4, maxval: 0}, n: {type: int, minval: 1, maxval: 64}}")
			}
			for range 150 {
				s.act()
				s.train(3)
				s.cycle()
				s.check()
			}
			s.calmDown()
			s.replay()
		})
	}
}

type searchWorld struct {
	*simulation
	steps map[int]int // of each trial, as its checkpoint has them
}

// act does one thing that happens in the world, beside training.
func (s *searchWorld) act() {
	switch s.rng.IntN(12) {
	case 0:
		s.newLeader()
	case 1, 2:
		s.nomadMoves()
	case 3:
		s.exec(`UPDATE trials SET kill_wanted = true WHERE ended_at IS NULL AND id % 7 = $1`, s.rng.IntN(40))
	case 4:
		s.exec(`UPDATE experiments SET desired = $1 WHERE ended_at IS NULL AND desired IN ('active', 'paused')`, []string{"paused", "active", "active"}[s.rng.IntN(3)])
	case 5:
		s.exec(`UPDATE trials SET early_exit = 'INVALID_HP' WHERE ended_at IS NULL AND early_exit IS NULL AND state = 'ACTIVE' AND id % 11 = $1`, s.rng.IntN(40))
	case 6: // a program fails
		s.exec(`UPDATE members SET exited_at = now(), exit_code = 1 WHERE exited_at IS NULL AND claimed_at IS NOT NULL AND allocation_id =
			(SELECT id FROM allocations WHERE state = 'RUNNING' ORDER BY md5(id || $1::int::text) LIMIT 1)`, s.rng.IntN(1000))
	case 7:
		s.nomad.alarm = []string{"", "", "Nomad's index went back"}[s.rng.IntN(3)]
	}
	if s.nomad.alarm != "" && s.one(3) {
		s.nomad.alarm = ""
	}
}

// train lets programs start, train and report; preempted programs store a checkpoint and exit.
func (s *searchWorld) train(oneIn int) {
	s.exec(`UPDATE members SET claimed_at = now(), claimed_by = 'x' WHERE claimed_at IS NULL AND allocation_id IN
		(SELECT id FROM allocations WHERE kill_at IS NULL AND submitted_at IS NOT NULL AND state <> 'TERMINATED')`)
	type row struct {
		experiment, trial, number int
		allocation                string
		preempt                   bool
	}
	var list []row
	var r row
	err := s.db.Each(s.t.Context(), `SELECT t.experiment_id, t.id, t.number, a.id, a.preempt_at IS NOT NULL FROM trials t
		JOIN allocations a ON a.task_id = t.task_id WHERE a.state IN ('RUNNING', 'TERMINATING') AND a.kill_at IS NULL
		AND EXISTS (SELECT FROM members m WHERE m.allocation_id = a.id AND m.claimed_at IS NOT NULL AND m.exited_at IS NULL) ORDER BY t.id`, nil, []any{&r.experiment, &r.trial, &r.number, &r.allocation, &r.preempt}, func() error {
		list = append(list, r)
		return nil
	})
	if err != nil {
		s.t.Fatal(err)
	}
	for _, r := range list {
		if !s.one(oneIn) {
			continue
		}
		if r.preempt {
			s.exec(`INSERT INTO checkpoints (uuid, task_id, trial_id, steps, state) SELECT gen_random_uuid(), task_id, id, $2, 'COMPLETED' FROM trials WHERE id = $1`,
				r.trial, s.steps[r.trial])
			s.exec(`UPDATE allocations SET preempt_acked_at = now() WHERE id = $1`, r.allocation)
			s.exec(`UPDATE members SET exited_at = now(), exit_code = 0 WHERE allocation_id = $1 AND exited_at IS NULL`, r.allocation)
			continue
		}
		s.steps[r.trial] += 1 + s.rng.IntN(4)
		metric := s.rng.Float64()
		body, err := json.Marshal(search.Validation{Metric: &metric, Steps: s.steps[r.trial], Run: 1})
		if err != nil {
			s.t.Fatal(err)
		}
		err = s.db.Tx(s.t.Context(), func(tx *database.DB) error {
			return experiments.AppendEvents(s.t.Context(), tx, []experiments.NewEvent{{ExperimentID: r.experiment, Trial: r.number, Kind: search.Validated, Body: body}})
		})
		if err != nil {
			s.t.Fatal(err)
		}
		if s.steps[r.trial] >= 18 { // it has trained whole and ends by itself
			s.exec(`UPDATE members SET exited_at = now(), exit_code = 0 WHERE allocation_id = $1 AND exited_at IS NULL`, r.allocation)
		}
	}
	s.propose(oneIn)
}

// check holds the rows to what searches promise, beside what every trial does.
func (s *searchWorld) check() {
	s.t.Helper()
	s.simulation.check()
	for what, sql := range map[string]string{
		"a trial that waits has a place in the queue": `SELECT count(*) FROM trials t JOIN allocations a ON a.task_id = t.task_id
			WHERE t.held AND t.state = 'PAUSED' AND a.state = 'PENDING'`,
		"a copy's original is of another search": `SELECT count(*) FROM trials t JOIN checkpoints c ON c.uuid = t.warm_start
			JOIN trials o ON o.id = c.trial_id WHERE o.experiment_id <> t.experiment_id`,
		"a trial told of waiting twice in a row": `SELECT count(*) FROM (SELECT kind, lag(kind) OVER (PARTITION BY experiment_id, trial ORDER BY seq) AS before
			FROM search_events WHERE kind <> 'validated') x WHERE kind = 'left' AND before = 'exited'`,
	} {
		if n := s.int(sql); n != 0 {
			s.t.Fatalf("%s (%d)", what, n)
		}
	}
}

// calmDown lets every program train until its search ends.
func (s *searchWorld) calmDown() {
	s.t.Helper()
	s.quiet, s.nomad.alarm = true, ""
	s.exec(`UPDATE experiments SET desired = 'active' WHERE desired = 'paused'`)
	for range 600 {
		s.exec(`UPDATE allocations SET not_before = NULL WHERE state <> 'TERMINATED'`)
		s.exec(`UPDATE work SET after = now()`)
		s.train(1)
		s.exec(`UPDATE members SET nomad_ended_at = now() - interval '1 minute' WHERE nomad_ended_at IS NULL AND
			allocation_id IN (SELECT id FROM allocations WHERE kill_at IS NOT NULL)`)
		s.exec(`UPDATE members SET nomad_ended_at = now() - interval '1 minute' WHERE nomad_ended_at IS NOT NULL`)
		s.cycle()
		s.check()
		if s.int(`SELECT count(*) FROM experiments WHERE ended_at IS NULL`) == 0 {
			s.t.Logf("trials: %s; waits: %d", s.text(`SELECT string_agg(state || ' ' || n, ', ') FROM (SELECT state, count(*) n FROM trials GROUP BY 1 ORDER BY 1) x`),
				s.int(`SELECT count(*) FROM search_events WHERE kind = 'left'`))
			return
		}
	}
	s.t.Fatalf("the simulation does not end: %s\n%s", s.stuck(), s.text(`SELECT string_agg(format('experiment %s %s, trial %s %s held %s stop %s target %s, attempt %s %s kill %s: %s',
		e.id, e.state, t.number, t.state, t.held, t.stop_wanted, t.target, a.id, a.state, a.kill_at, a.waiting_reason), E'\n') FROM experiments e
		LEFT JOIN trials t ON t.experiment_id = e.id AND t.ended_at IS NULL LEFT JOIN allocations a ON a.task_id = t.task_id AND a.state <> 'TERMINATED'
		WHERE e.ended_at IS NULL`))
}

// stuck describes what the searches that do not end wait for, with the events of their live trials.
func (s *searchWorld) stuck() string {
	return s.text(`SELECT string_agg(format('%s %s: %s %s', v.experiment_id, v.trial, v.kind, v.body), E'\n' ORDER BY v.experiment_id, v.seq) FROM search_events v
		JOIN trials t ON t.experiment_id = v.experiment_id AND t.number = v.trial JOIN experiments e ON e.id = t.experiment_id
		WHERE e.ended_at IS NULL AND t.ended_at IS NULL`)
}

// folded applies the events of a search.
func (s *searchWorld) folded(id int) *search.Search {
	s.t.Helper()
	in, err := searches.ReadInput(s.t.Context(), s.db, id, 0)
	if err != nil {
		s.t.Fatal(err)
	}
	cfg, err := expconf.ParseConfigJSON(in.Config)
	if err != nil {
		s.t.Fatal(err)
	}
	x, err := search.New(cfg, in.Seed)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, e := range in.Events {
		if err := x.Apply(search.Event{Seq: e.Seq, Kind: e.Kind, Trial: e.Trial, Body: e.Body}); err != nil {
			s.t.Fatal(err)
		}
	}
	return x
}

// replay applies the events of every search again and compares the result with the rows.
func (s *searchWorld) replay() {
	s.t.Helper()
	for id := 1; id <= s.int(`SELECT max(id) FROM experiments`); id++ {
		again := s.folded(id)
		if n := s.int(`SELECT count(*) FROM trials WHERE experiment_id = $1`, id); n != again.Len() {
			s.t.Errorf("experiment %d has %d trials, its events make %d", id, n, again.Len())
		}
		for _, w := range again.Wanted() {
			hparams, err := json.Marshal(again.HParams(w.Number))
			if err != nil {
				s.t.Fatal(err)
			}
			if s.int(`SELECT count(*) FROM trials WHERE experiment_id = $1 AND number = $2 AND hparams = $3::text::jsonb AND seed = $4`, id, w.Number, string(hparams), w.Seed) != 1 {
				s.t.Errorf("trial %d of experiment %d is another than its events make", w.Number, id)
			}
			if w.Stop && s.int(`SELECT count(*) FROM trials WHERE experiment_id = $1 AND number = $2 AND NOT stop_wanted AND state = 'COMPLETED' AND exists (
				SELECT FROM search_events v WHERE v.experiment_id = $1 AND v.trial = $2 AND v.kind = 'exited' AND v.body->>'reason' = 'stopped')`, id, w.Number) != 0 {
				s.t.Errorf("trial %d of experiment %d ended as stopped and was not stopped", w.Number, id)
			}
		}
	}
}
