package control

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/cluster"
	"github.com/detent-ml/detent/master/lifecycle"
	"github.com/detent-ml/detent/master/queue"
	"github.com/detent-ml/detent/master/search"
)

// train lets a day pass: every few minutes each program reports another step. Programs fail, nodes die, leaders
// change, and the experiment is paused, until it has ended.
func (d *day) train(experiment int) {
	d.t.Helper()
	steps := map[int]int{}
	for n := range 150 {
		d.to(d.now.Add(time.Duration(200+d.rng.IntN(400)) * time.Second))
		for _, id := range d.live(true) {
			number := d.int(`SELECT t.number FROM trials t JOIN allocations a ON a.task_id = t.task_id WHERE a.id = $1`, id)
			if d.int(`SELECT count(*) FROM allocations WHERE id = $1 AND preempt_at IS NOT NULL`, id) == 0 {
				steps[number]++
				d.step(experiment, number, steps[number])
				if steps[number] == 8 { // it has trained whole
					d.report(id, 0)
					d.nomad.turn(id, func(f *cluster.TaskFact) { f.Status = "complete" })
				}
			}
		}
		switch running := d.live(true); {
		case n%13 == 5 && len(running) > 0: // a program fails
			d.report(running[0], 1)
			d.nomad.turn(running[0], func(f *cluster.TaskFact) { f.Status = "complete" })
		case n%17 == 7 && len(running) > 0:
			d.nomad.turn(running[0], func(f *cluster.TaskFact) { f.Status = lifecycle.NomadLost })
		case n%23 == 11:
			d.exec(`UPDATE experiments SET desired = 'paused' WHERE id = $1`, experiment)
		case n%23 == 13:
			d.exec(`UPDATE experiments SET desired = 'active' WHERE id = $1`, experiment)
		case n%29 == 3:
			d.newLeader()
			d.exec("UPDATE leader SET expires_at = '2100-01-01'")
		}
		d.exec(`UPDATE allocations SET not_before = NULL WHERE state = 'PENDING'`)
		d.settle()
		d.react()
		if d.text(`SELECT state FROM experiments WHERE id = $1`, experiment) == "COMPLETED" {
			return
		}
	}
	d.t.Fatal("the experiment does not end: " + d.text(`SELECT state || ' ' || coalesce(outlook::text, '') FROM experiments WHERE id = $1`, experiment))
}

// step is a validation whose metric only depends on the trial and its length.
func (d *day) step(experiment, number, steps int) {
	d.bench.report(experiment, number, steps, at1(float64(number*7%11)+1/float64(steps)))
}

func (d *day) outlook(experiment int) (o search.Outlook) {
	d.t.Helper()
	if err := json.Unmarshal([]byte(d.text(`SELECT coalesce(outlook, '{}')::text FROM experiments WHERE id = $1`, experiment)), &o); err != nil {
		d.t.Fatal(err)
	}
	return o
}

// TestABudgetIsWhatTheUsageRecordSays: a search ends when its attempts have cost its budget, by the usage record, which nothing of the
// search reads. Failures, lost nodes, pauses and new leaders neither lose nor repeat anything, and the events, applied
// again, make the same search.
func TestABudgetIsWhatTheUsageRecordSays(t *testing.T) {
	for budget, searcher := range map[string]string{
		"slot_hours: 9": "name: async_halving, num_rungs: 3, divisor: 2, max_concurrent_trials: 3, max_length: {batches: 8}",
		"hours: 3":      "name: random, max_concurrent_trials: 3, max_length: {batches: 8}",
	} {
		t.Run(budget, func(t *testing.T) {
			begin := time.Date(2040, 6, 1, 18, 0, 0, 0, time.UTC)
			d := newDay(t, begin)
			e := d.submit("resources: {slots_per_trial: 1}\nsearcher: {" + searcher + ", metric: loss, budget: {" + budget + "}}\n" +
				"hyperparameters: {lr: {type: log, base: 10, minval: -4, maxval: 0}}")
			d.train(e)
			list, err := queue.Usages(t.Context(), d.db, auth.Everywhere(), begin, d.now, 10_000)
			if err != nil {
				t.Fatal(err)
			}
			slots, clock, until := 0.0, 0.0, begin
			for _, u := range list { // by their beginnings
				slots += float64(u.Slots) * u.Seconds
				from := u.StartedAt
				if from.Before(until) {
					from = until
				}
				if u.EndedAt.After(from) {
					clock += u.EndedAt.Sub(from).Seconds()
					until = *u.EndedAt
				}
			}
			b := d.outlook(e).Budget
			want, most := slots/3600, 9+3*600./3600
			if budget == "hours: 3" {
				want, most = clock/3600, 3+600./3600
			}
			if b == nil || math.Abs(b.Spent-want) > 0.02*want || want > most || want < 0.8*b.Limit {
				t.Errorf("the search has spent %+v, and the usage record says %.3f hours", b, want)
			}
			t.Logf("%d attempts of %d trials: %+v, by the usage record %.3f hours", len(list), d.int(`SELECT count(*) FROM trials`), *b, want)
			d.rebuilt(e)
		})
	}
}
