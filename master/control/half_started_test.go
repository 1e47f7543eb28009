package control

import "testing"

// TestAHalfStartedGangEnds tests that an attempt ends, and the next one is made, when one member
// was claimed and the program has still not started: Nomad did not place the other member in time,
// or the runner reported that its node is unfit.
func TestAHalfStartedGangEnds(t *testing.T) {
	for what, then := range map[string]func(b *bench, id string){
		"the other was not placed": func(b *bench, id string) {
			b.exec(`UPDATE allocations SET submitted_at = now() - interval '1 hour' WHERE id = $1`, id)
			b.settle()
			b.exec(`UPDATE allocations SET stopped_at = now() - interval '1 hour', kill_at = now() - interval '1 hour' WHERE id = $1`, id)
			b.exec(`UPDATE members SET exited_at = now(), exit_code = 143 WHERE allocation_id = $1 AND rank = 0`, id)
		},
		"the node is unfit": func(b *bench, id string) {
			b.exec(`UPDATE members SET exited_at = now(), exit_code = 79, exit_reason = 'no GPUs', unfit = true WHERE allocation_id = $1 AND rank = 0`, id)
			b.settle()
			b.exec(`UPDATE members SET nomad_status = 'complete', nomad_ended_at = now() - interval '1 hour' WHERE allocation_id = $1 AND rank = 1`, id)
		},
	} {
		t.Run(what, func(t *testing.T) {
			b := newBench(t, "n1", "n2", "n3", "n4")
			b.term.views[0].nomad = sluggishNomad{b.nomad}
			e := b.experiment("resources: {slots_per_trial: 4}")
			b.settle()
			id := b.newest(e)
			b.exec(`UPDATE members SET claimed_at = now(), claimed_by = 'x' WHERE allocation_id = $1 AND rank = 0`, id)
			then(b, id)
			b.settle()
			if got := b.text(`SELECT state || coalesce(' ' || outcome, '') FROM allocations WHERE id = $1`, id); got != "TERMINATED unplaced" {
				t.Errorf("the first attempt is %s", got)
			}
			if b.newest(e) == id {
				t.Error("there is no second attempt")
			}
		})
	}
}
