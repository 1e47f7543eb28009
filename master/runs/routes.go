package runs

import (
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/diskuse"
	"github.com/detent-ml/detent/master/experiments"
	"github.com/detent-ml/detent/master/rest"
	v1 "github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/master/workspaces"
)

// Deps is what the endpoints use of others.
type Deps struct {
	DB          *database.DB
	Bus         *database.Bus
	Users       *diskuse.Users
	Experiments experiments.Deps // whose verbs change the experiments of runs
}

// Routes adds the endpoints of runs, and of the columns of tables of runs and experiments.
func Routes(r *rest.Router, d Deps) {
	projects := workspaces.OnProjectOrAll(d.DB)
	rest.Serve(r, v1.StartRun, d.start)
	rest.ServeOn(r, v1.GetRunMetadata, experiments.OnRun(d.DB), d.metadata)
	rest.ServeOn(r, v1.SetRunMetadata, experiments.OnReportingRun(d.DB), d.setMetadata)
	rest.Serve(r, v1.SearchRuns, d.search)
	rest.ServeOn(r, v1.ListProjectColumns, projects, d.projectColumns)
	rest.ServeOn(r, v1.ListMetadataValues, projects, d.metadataValues)

	rest.Serve(r, v1.KillRuns, d.changing(d.kill))
	rest.Serve(r, v1.PauseRuns, d.changing(d.steer(experiments.Pause, "Failed to pause associated experiment: ")))
	rest.Serve(r, v1.ResumeRuns, d.changing(d.steer(experiments.Activate, "Failed to resume associated experiment: ")))
	rest.Serve(r, v1.ArchiveRuns, d.changing(d.archive(true)))
	rest.Serve(r, v1.UnarchiveRuns, d.changing(d.archive(false)))
	rest.Serve(r, v1.DeleteRuns, d.delete)
	rest.Serve(r, v1.MoveRuns, d.move)
}
