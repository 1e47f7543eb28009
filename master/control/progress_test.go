package control

import "testing"

// TestNoProgressYet: an experiment has no progress before a trial has reported its own, so that
// lists show none, and not 0 %.
func TestNoProgressYet(t *testing.T) {
	b := newBench(t, "n1")
	e := b.experiment("")
	shown := func(want string) {
		t.Helper()
		b.settle()
		if got := b.text(`SELECT coalesce(progress::text, 'none') FROM experiments WHERE id = $1`, e); got != want {
			t.Errorf("the experiment's progress is %s, want %s", got, want)
		}
	}
	shown("none")
	b.claim(b.newest(e))
	shown("none")
	b.exec(`UPDATE trials SET progress = 0 WHERE experiment_id = $1`, e)
	shown("0")
	b.exec(`UPDATE trials SET progress = 0.25 WHERE experiment_id = $1`, e)
	shown("0.25")
}
