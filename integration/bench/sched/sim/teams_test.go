package sim

import (
	"testing"
	"time"

	"github.com/detent-ml/detent/master/pool"
)

// TestTeamsGetWhatTheyAreDue: of teams that work at different times, each holds in a month what it is due, within two in a hundred, if fair
// share remembers; without a memory, who works all the time holds far more than who pauses.
func TestTeamsGetWhatTheyAreDue(t *testing.T) {
	const nodes = 16
	off := func(life time.Duration) (most, mean float64) {
		o := Usual(1, nodes)
		o.Teams, o.Stops, o.Cycle = Teams(1, nodes*8), TeamDays*24*time.Hour, 10*time.Minute
		o.Pool = &pool.Pool{Name: "gpu", Scheduler: pool.Scheduler{Type: pool.FairShare, MinRunTime: 10 * time.Minute, Workspaces: TeamWeights(o.Teams), HalfLife: life}}
		r, err := Simulate(o, nil)
		if err != nil {
			t.Fatal(err)
		}
		most, mean = r.Unfair(TeamWeights(o.Teams))
		t.Logf("half-life %v: at most %.1f %%, on average %.1f %%; %d preemptions, %.1f %% of the slots in use", life, 100*most, 100*mean, r.Preemptions, 100*r.Utilization)
		return most, mean
	}
	if most, _ := off(0); most < 0.2 {
		t.Errorf("without a memory the parts differ by %.1f %% only: the comparison shows nothing", 100*most)
	}
	if most, _ := off(TeamDays * 24 * time.Hour); most > 0.02 {
		t.Errorf("with a memory a team's part differs by %.1f %% from what it is due", 100*most)
	}
}
