package launch

import (
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/experiments"
	"github.com/detent-ml/detent/master/pool"
	"github.com/detent-ml/detent/master/rest"
	"github.com/detent-ml/detent/master/task"
	v1 "github.com/detent-ml/detent/master/v1"
)

// Deps is what the endpoints use of others.
type Deps struct {
	DB       *database.DB
	Bus      *database.Bus
	Pools    pool.Set
	Site     task.Site
	Launcher *Experiments
	Room     experiments.Deps // shows the experiments that were created
}

// Routes adds the endpoints that create and continue experiments. Those of tasks are in package tasks, which receives Tasks.
func Routes(r *rest.Router, d Deps) {
	rest.Serve(r, v1.CreateExperiment, d.create)
	rest.Serve(r, v1.ContinueExperiment, d.continueExperiment)
	rest.Serve(r, v1.PutExperiment, d.put)
}
