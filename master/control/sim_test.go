package control

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/cluster"
	"github.com/detent-ml/detent/nomad/servers/turn"
)

var simSeeds = flag.Int("sim", 2, "how many seeds the simulation tries")

// TestSimulation runs a random history: users submit, pause, kill and delete, programs succeed and
// fail, nodes die, Nomad replaces allocations and is not trusted, calls fail, leaders change. After
// every cycle the rows keep their invariants, and without further events everything ends. A failing
// test prints its seed.
func TestSimulation(t *testing.T) {
	for _, seed := range turn.Seeds(*simSeeds) {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			s := &simulation{bench: newBench(t, "n1", "n2", "n3"), rng: rand.New(rand.NewPCG(uint64(seed), 1))}
			s.nomad.answer = s.submission
			s.term.cfg.AvoidAfter = 2
			s.term.cfg.Pools[0].Preemption, s.term.cfg.Pools[0].Scheduler = policiesOfSeeds[seed%len(policiesOfSeeds)].preemption, policiesOfSeeds[seed%len(policiesOfSeeds)].Scheduler
			for range 200 {
				s.act()
				s.cycle()
				s.check()
			}
			s.calm()
			if c := s.replays(); c.Plans == 0 {
				t.Errorf("no plan was recorded: %+v", c)
			}
		})
	}
}

type simulation struct {
	*bench
	rng     *rand.Rand
	quiet   bool  // the world has calmed down
	checked *term // whose loads are compared with those of a new leader
}

func (s *simulation) one(n int) bool { return s.rng.IntN(n) == 0 }

// submission is Nomad's answer to a new job.
func (s *simulation) submission(string) (cluster.Outcome, error) {
	switch {
	case !s.quiet && s.one(8):
		return cluster.TryAgain, fmt.Errorf("no leader")
	case !s.quiet && s.one(40):
		return cluster.Refused, fmt.Errorf("no such driver")
	}
	return cluster.Done, nil
}

// act does one thing that happens in the world.
func (s *simulation) act() {
	switch s.rng.IntN(16) {
	case 0: // as the API makes them: with their first trials, running or waiting
		s.create(fmt.Sprintf("searcher: {name: single, metric: loss, max_length: {batches: 9}}\nresources: {slots_per_trial: %d}", s.rng.IntN(5)), s.one(2))
	case 1: // as releases before made them
		s.experiment(fmt.Sprintf("resources: {slots_per_trial: %d}", s.rng.IntN(5)))
	case 2:
		desired := []string{"paused", "active", "canceled", "killed"}[s.rng.IntN(4)]
		s.exec(`UPDATE experiments SET desired = $1 WHERE id = (SELECT id FROM experiments WHERE desired IN ('active', 'paused')
			AND ended_at IS NULL ORDER BY md5(id::text || $2::int::text) LIMIT 1)`, desired, s.rng.IntN(1000))
	case 3:
		s.exec(`UPDATE experiments SET desired = 'deleted' WHERE id = (SELECT id FROM experiments WHERE ended_at IS NOT NULL ORDER BY id LIMIT 1)`)
	case 4, 5, 6:
		s.exec(`UPDATE members SET claimed_at = now(), claimed_by = 'x' WHERE claimed_at IS NULL AND allocation_id IN
			(SELECT id FROM allocations WHERE kill_at IS NULL AND submitted_at IS NOT NULL AND state <> 'TERMINATED')`)
	case 7, 8:
		s.exec(`UPDATE allocations SET preempt_acked_at = now() WHERE preempt_at IS NOT NULL AND preempt_acked_at IS NULL`)
		s.exec(`UPDATE members SET exited_at = now(), exit_code = $1 WHERE exited_at IS NULL AND claimed_at IS NOT NULL AND allocation_id =
			(SELECT id FROM allocations WHERE state IN ('RUNNING', 'TERMINATING') ORDER BY md5(id || $2::int::text) LIMIT 1)`,
			[]int{0, 0, 1, 137}[s.rng.IntN(4)], s.rng.IntN(1000))
	case 9, 12, 13, 14:
		s.nomadMoves()
	case 10:
		s.nomad.alarm = []string{"", "", "Nomad's index went back"}[s.rng.IntN(3)]
	case 11:
		s.newLeader()
	case 15:
		s.matchLine()
	}
	if s.nomad.alarm != "" && s.one(4) {
		s.nomad.alarm = ""
	}
}

// matchLine lets an attempt print a line of a log policy. Only n1 is ever excluded:
// what is left holds every trial.
func (s *simulation) matchLine() {
	action := []string{"exclude_node", "cancel_retries"}[s.rng.IntN(2)]
	s.exec(`INSERT INTO log_matches (task_id, allocation_id, rank, node_id, node_name, policy, pattern, action, line)
		SELECT a.task_id, a.id, m.rank, m.node_id, m.node_name, 'p', 'p', $1, 'a line'
		FROM allocations a JOIN members m ON m.allocation_id = a.id JOIN trials t ON t.task_id = a.task_id
		WHERE a.state <> 'TERMINATED' AND m.claimed_at IS NOT NULL AND (m.node_name = 'n1' OR $1 <> 'exclude_node')
		ORDER BY md5(a.id || $2::int::text) LIMIT 1 ON CONFLICT DO NOTHING`, action, s.rng.IntN(1000))
}

// nomadMoves changes what Nomad reports about a task.
func (s *simulation) nomadMoves() {
	s.nomad.mu.Lock()
	defer s.nomad.mu.Unlock()
	for _, f := range s.nomad.tasks {
		if f.Status != "running" || !s.one(3) {
			continue
		}
		s.nomad.index++
		f.Index = s.nomad.index
		switch s.rng.IntN(4) {
		case 0:
			f.Status = "lost"
		case 1:
			f.Status = "failed"
		case 2:
			f.Status = "unknown"
		case 3:
			f.Previous, f.NomadAllocID = f.NomadAllocID, f.NomadAllocID+"-again"
		}
	}
}

// newLeader forgets everything that a leader keeps in memory.
func (s *simulation) newLeader() {
	ctx := context.Background()
	if err := s.db.Resign(ctx, "test", s.term.lead.Term); err != nil {
		s.t.Fatal(err)
	}
	n, err := s.db.Elect(ctx, "test", "", time.Hour)
	if err != nil || n == 0 {
		s.t.Fatal(n, err)
	}
	lead := &Leadership{Term: n}
	lead.extend(time.Now().Add(time.Hour))
	if s.term, err = newTerm(ctx, s.term.Loop, lead); err != nil {
		s.t.Fatal(err)
	}
}

func (s *simulation) cycle() {
	s.compareLoads()
	if err := s.term.cycle(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
	s.term.calls.wait()
}

// check tests invariants of the rows; constraints of the database ensure the others.
func (s *simulation) check() {
	s.t.Helper()
	for what, sql := range map[string]string{
		"a slot is held twice": `SELECT count(*) FROM (SELECT m.node_id, s FROM members m JOIN allocations a ON a.id = m.allocation_id,
			unnest(m.slot_ids) s WHERE a.state <> 'TERMINATED' GROUP BY 1, 2 HAVING count(*) > 1) x`,
		"an attempt holds another number of slots than it asked for": `SELECT count(*) FROM (SELECT a.id FROM allocations a
			JOIN members m ON m.allocation_id = a.id GROUP BY a.id, a.slots HAVING sum(cardinality(m.slot_ids)) <> a.slots) x`,
		"an ended experiment has a live attempt": `SELECT count(*) FROM experiments e JOIN tasks k ON k.experiment_id = e.id
			JOIN allocations a ON a.task_id = k.id WHERE e.ended_at IS NOT NULL AND a.state <> 'TERMINATED'`,
		"an ended experiment has a live trial": `SELECT count(*) FROM experiments e JOIN trials t ON t.experiment_id = e.id
			WHERE e.ended_at IS NOT NULL AND t.ended_at IS NULL`,
		"an ended trial has no exit event, or two in one life": `SELECT count(*) FROM trials t WHERE (t.ended_at IS NOT NULL)::int <>
			(SELECT count(*) FROM search_events v WHERE v.experiment_id = t.experiment_id AND v.trial = t.number AND kind = 'exited')
			AND NOT EXISTS (SELECT FROM search_events v WHERE v.experiment_id = t.experiment_id AND kind = 'continued')`,
		"a search's events have a gap": `SELECT count(*) FROM (SELECT experiment_id FROM search_events GROUP BY 1 HAVING max(seq) <> count(*)) x`,
		"more restarts than allowed":   `SELECT count(*) FROM trials WHERE restarts > 1`,
		"a trial was placed on a node that its log excludes": `SELECT count(*) FROM allocations a JOIN members m ON m.allocation_id = a.id
			JOIN log_matches x ON x.task_id = a.task_id AND x.node_id = m.node_id AND x.action = 'exclude_node'
			WHERE a.assigned_at > x.at`,
		"what an attempt held is not what accounting says": `SELECT count(*) FROM (SELECT id, slots, assigned_at, ended_at FROM allocations WHERE assigned_at IS NOT NULL) a
			FULL JOIN usage u ON u.allocation_id = a.id
			WHERE a.id IS NOT NULL AND (a.slots, a.assigned_at, a.ended_at) IS DISTINCT FROM (u.slots, u.started_at, u.ended_at)
				OR a.id IS NULL AND u.ended_at IS NULL`, // the rows of deleted experiments are gone
		"a trial was tried again after a failure that is final": `SELECT count(*) FROM allocations a
			JOIN allocations n ON n.task_id = a.task_id AND n.run_id > a.run_id AND n.queued_at >= a.ended_at
			WHERE a.outcome = 'failed' AND EXISTS (SELECT FROM log_matches x WHERE x.task_id = a.task_id AND x.action = 'cancel_retries' AND x.at < a.ended_at)`,
	} {
		if n := s.int(sql); n != 0 {
			s.t.Fatalf("%s (%d)", what, n)
		}
	}
	for id, n := range s.nomad.submit {
		if f := s.nomad.tasks[id]; f == nil && n > 60 {
			s.t.Fatalf("%s was submitted %d times", id, n)
		}
	}
}

// calm lets every program run to a good end, and expects everything to end.
func (s *simulation) calm() {
	s.t.Helper()
	s.quiet, s.nomad.alarm = true, ""
	s.exec(`UPDATE experiments SET desired = 'active' WHERE desired = 'paused'`)
	for range 400 {
		s.exec(`UPDATE allocations SET not_before = NULL WHERE state <> 'TERMINATED'`)
		s.exec(`UPDATE work SET after = now()`)
		s.exec(`UPDATE members SET claimed_at = now(), claimed_by = 'x' WHERE claimed_at IS NULL AND allocation_id IN
			(SELECT id FROM allocations WHERE kill_at IS NULL AND submitted_at IS NOT NULL AND state <> 'TERMINATED')`)
		s.exec(`UPDATE members SET exited_at = now(), exit_code = 0 WHERE exited_at IS NULL AND claimed_at IS NOT NULL`)
		s.exec(`UPDATE members SET nomad_ended_at = now() - interval '1 minute' WHERE claimed_at IS NULL AND nomad_ended_at IS NULL AND
			allocation_id IN (SELECT id FROM allocations WHERE kill_at IS NOT NULL)`)
		s.cycle()
		s.check()
		if s.int(`SELECT count(*) FROM experiments WHERE ended_at IS NULL AND slots_per_trial <= 6`) == 0 {
			s.t.Logf("attempts: %s; experiments: %s",
				s.text(`SELECT string_agg(outcome || ' ' || n, ', ') FROM (SELECT outcome, count(*) n FROM allocations GROUP BY 1 ORDER BY 1) x`),
				s.text(`SELECT string_agg(state || ' ' || n, ', ') FROM (SELECT state, count(*) n FROM experiments GROUP BY 1 ORDER BY 1) x`))
			return
		}
	}
	s.t.Fatalf("the simulation does not end: %s", s.text(`SELECT string_agg(format('experiment %s %s wants %s, trial %s, attempt %s %s kill %s: %s',
		e.id, e.state, e.desired, t.state, a.id, a.state, a.kill_at, a.waiting_reason), E'\n') FROM experiments e LEFT JOIN trials t ON t.experiment_id = e.id
		LEFT JOIN allocations a ON a.task_id = t.task_id AND a.state <> 'TERMINATED' WHERE e.ended_at IS NULL`))
}
