package launch

import (
	"context"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/experiments"
	"github.com/detent-ml/detent/master/rest"
	v1 "github.com/detent-ml/detent/master/v1"
)

// Deps is what the endpoints use of others.
type Deps struct {
	DB       *database.DB
	Bus      *database.Bus
	Launcher *Experiments
	// Full shows an experiment that was created, with the fields that lists omit.
	Full func(ctx context.Context, e experiments.Experiment, who auth.Who) (v1.Experiment, error)
}

// Routes adds the endpoints that create and continue experiments. Those of tasks are in package tasks, which receives Tasks.
func Routes(r *rest.Router, d Deps) {
	rest.Serve(r, v1.CreateExperiment, d.create)
	rest.Serve(r, v1.ContinueExperiment, d.continueExperiment)
	rest.Serve(r, v1.PutExperiment, d.put)
}
