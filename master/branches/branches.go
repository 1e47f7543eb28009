// Package branches is the room of branches: experiments that share the past of another search up to one of its events, and go on from there
// with other settings. A search is the fold over its events, so a branch has the events of its origin up to that one, and then an
// event that says what changed. RFD 28 says why it is so.
//
//	branches.go   what the endpoints use of others, and the endpoints
//	at.go         which event a request means
//	read.go       the search of an experiment up to an event
//	events.go     the events of a search in words
//	branch.go     a request for a branch: its settings are checked, and its rows made
//	rows.go       the statements that copy the common past
//
// A trial of the common past is a row of the branch too, so lists, searches and the control loop know it as they know all trials. What it reported
// and its checkpoints stay those of its origin (trials.origin_id, trials.past), and it has no attempts, so it costs nothing.
package branches

import (
	"context"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/experiments"
	"github.com/detent-ml/detent/master/launch"
	"github.com/detent-ml/detent/master/rest"
	v1 "github.com/detent-ml/detent/master/v1"
)

// Deps is what the endpoints use of others.
type Deps struct {
	DB       *database.DB
	Bus      *database.Bus
	Launcher *launch.Experiments
	Reader   *Reader
	// Full shows an experiment that was created, with the fields that lists omit.
	Full func(ctx context.Context, e experiments.Experiment, who auth.Who) (v1.Experiment, error)
}

// Routes adds the endpoints of branches.
func Routes(r *rest.Router, d Deps) {
	rest.ServeOn(r, v1.ListSearchEvents, experiments.OnHead(d.DB), d.events)
	rest.ServeOn(r, v1.BranchExperiment, experiments.On(d.DB), d.branch)
}
