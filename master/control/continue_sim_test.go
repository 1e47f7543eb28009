package control

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/detent-ml/detent/master/experiments"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/search"
	"github.com/detent-ml/detent/nomad/servers/turn"
)

// TestLivesSimulation simulates experiments that users cancel and continue repeatedly, while
// programs fail, trials are killed, and nodes and leaders are lost. At the end all trials
// must be completed, and a search that is rebuilt from its events must equal the rows.
func TestLivesSimulation(t *testing.T) {
	for _, seed := range turn.Seeds(*simSeeds) {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			s := &searchWorld{simulation: &simulation{bench: newBench(t, "n1", "n2", "n3"), rng: rand.New(rand.NewPCG(uint64(seed), 3))}, steps: map[int]int{}}
			s.nomad.answer = s.submission
			for _, searcher := range []string{
				"{name: single, metric: loss, max_length: {batches: 8}}",
				"{name: random, metric: loss, max_trials: 6, max_concurrent_trials: 2, max_length: {batches: 8}}",
				"{name: grid, metric: loss, max_concurrent_trials: 3, max_length: {batches: 8}}",
			} {
				s.submit("searcher: " + searcher + "\nhyperparameters: {n: {type: int, minval: 1, maxval: 5, count: 5}}")
			}
			for range 200 {
				s.act()
				s.live()
				s.train(3)
				s.cycle()
				s.check()
			}
			for life := 0; ; life++ {
				s.calmDown()
				if s.continueUnfinished() == 0 {
					break
				}
				if life > 5 {
					t.Fatal("there is always something left to do")
				}
			}
			s.replay()
			for id := 1; id <= 3; id++ {
				s.rebuilt(id)
			}
			t.Logf("continued %d times", s.int(`SELECT sum(continued) FROM experiments`))
		})
	}
}

// live cancels a random experiment, or continues one that has ended.
func (s *searchWorld) live() {
	s.t.Helper()
	id := 1 + s.rng.IntN(3)
	switch s.rng.IntN(12) {
	case 0:
		if _, err := experiments.RequestAction(s.t.Context(), s.db, []int{id}, experiments.Cancel); err != nil {
			s.t.Fatal(err)
		}
	case 1, 2, 3:
		s.continues(id)
	}
}

// continues requests that an experiment continues, and reports whether the request was stored.
func (s *searchWorld) continues(id int) bool {
	s.t.Helper()
	event, err := json.Marshal(search.Continuation{})
	if err != nil {
		s.t.Fatal(err)
	}
	_, err = experiments.Continue(s.t.Context(), s.db, nil, id, experiments.Continuation{Single: id == 1, Event: event})
	if err != nil && fault.CodeOf(err) == fault.Internal {
		s.t.Fatal(err)
	}
	return err == nil
}

// continueUnfinished continues the experiments with trials that are not completed, and counts them.
func (s *searchWorld) continueUnfinished() (n int) {
	s.t.Helper()
	for id := 1; id <= 3; id++ {
		if s.int(`SELECT count(*) FROM experiments WHERE id = $1 AND state <> 'COMPLETED'`, id) == 0 && s.int(`SELECT count(*) FROM trials t
			WHERE t.experiment_id = $1 AND t.state <> 'COMPLETED' AND NOT EXISTS (SELECT FROM search_events v WHERE v.experiment_id = $1
			AND v.trial = t.number AND v.kind = 'exited' AND v.body->>'reason' = 'invalid_hp')`, id) == 0 {
			continue
		}
		if !s.continues(id) {
			s.t.Fatalf("experiment %d cannot go on", id)
		}
		n++
	}
	return n
}
