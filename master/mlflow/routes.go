// Package mlflow is the room of MLflow's tracking interface at /mlflow: programs that log with MLflow's client, and tools that read
// with it, work with the projects, runs and metrics that everybody else sees. Nothing is stored twice:
//
//	experiment            a project
//	run                   a run: a trial of an experiment, or a program elsewhere, which is an unmanaged experiment with one trial
//	metric                a report of the run; its step is the number of batches
//	parameter, tag        metadata of the run, below mlflow.params and mlflow.tags (marks.go); hyperparameters are shown as parameters
//	deleted               archived
//
// The program of a trial has the trial's run only: whichever experiment it names, and also if it asks for a new run, it gets that of
// the trial. The states of such a run are those of its attempts, so its program cannot change them.
//
// The files, in the order in which one reads them:
//
//	routes.go            the endpoints, and what they use of others
//	answers.go           what errors look like, pages of lists, times
//	experiments.go       experiments, with their rows in rows_experiments.go
//	runs.go              runs, with their rows in rows_runs.go
//	search.go            searches of both, as SQL; package filter parses what a client sends
//	log.go               what programs log
//	marks.go             parameters, tags and data sets in the metadata of a run
//	history.go           the values of a metric
//	files.go             the files that programs log, and in parts.go those that come in parts
//	logged.go            the models that runs log, with their rows in rows_logged.go, and their metrics in rows_model_metrics.go
//	registry.go          the model registry, and its versions in versions.go, with their rows in rows_registry.go
package mlflow

import (
	"context"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/checkpoints"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/experiments"
	"github.com/detent-ml/detent/master/metrics"
	"github.com/detent-ml/detent/master/rest"
	v1 "github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/master/workspaces"
)

// Deps is what the endpoints use of others.
type Deps struct {
	DB     *database.DB
	Writer *metrics.Writer
	// Create creates an unmanaged experiment in the name of a caller, and what also creates in the same transaction.
	Create func(ctx context.Context, c *rest.Call, who auth.Who, req *v1.CreateExperimentRequest, also func(ctx context.Context, tx *database.DB, id int) error) (id int, err error)
	// NewProject and NewWorkspace create what experiments of MLflow need, if the caller may.
	NewProject   func(ctx context.Context, c *rest.Call, w workspaces.Workspace, req *v1.PostProjectRequest) (workspaces.Project, error)
	NewWorkspace func(ctx context.Context, c *rest.Call, name string) (workspaces.Workspace, error)
	// Accept fails if the owner of a run stores too much, and stores that the run's program runs. Nobody asks it about what the program of
	// a trial reports about the trial itself: slots bound how many trials report.
	Accept func(ctx context.Context, run experiments.Trial, bytes int) error
	// Admit fails if an owner stores too much.
	Admit   func(ctx context.Context, owner int, bytes int64) error
	Changed func() // the state of a run has changed
	// Files stores the files that programs log.
	Files     checkpoints.Deps
	PublicURL string // the address of the masters for users; "" if it is not known
}

// Routes adds the endpoints of MLflow's interface.
func Routes(r *rest.Router, d Deps) {
	r.Speak(rest.Dialect{Prefix: Prefix, Error: sendError, OtherMethod: otherMethod})
	rest.Raw(r, v1.GetMLflowHealth, sendText("OK"))
	rest.Raw(r, v1.GetMLflowVersion, sendText(Version))
	rest.Serve(r, v1.GetMLflowServer, d.server)
	rest.Raw(r, v1.OpenMLflowPages, openPages)
	for _, e := range []v1.Endpoint[v1.None, v1.None]{v1.OtherMLflowGet, v1.OtherMLflowPost, v1.OtherMLflowPut, v1.OtherMLflowPatch, v1.OtherMLflowDelete} {
		rest.Raw(r, e, other)
	}

	rest.Serve(r, v1.CreateMLflowExperiment, d.createExperiment)
	rest.Serve(r, v1.GetMLflowExperiment, d.getExperiment)
	rest.Serve(r, v1.GetMLflowExperimentByName, d.getExperimentByName)
	rest.Serve(r, v1.SearchMLflowExperiments, d.searchExperiments)
	rest.Serve(r, v1.ChangeMLflowExperiment, d.renameExperiment)
	rest.Serve(r, v1.DeleteMLflowExperiment, d.archiveExperiment(true))
	rest.Serve(r, v1.RestoreMLflowExperiment, d.archiveExperiment(false))
	rest.Serve(r, v1.SetMLflowExperimentTag, d.setExperimentTag)
	rest.Serve(r, v1.DeleteMLflowExperimentTag, d.deleteExperimentTag)

	rest.Serve(r, v1.CreateMLflowRun, d.createRun)
	rest.Serve(r, v1.GetMLflowRun, d.getRun)
	rest.Serve(r, v1.ChangeMLflowRun, d.changeRun)
	rest.Serve(r, v1.DeleteMLflowRun, d.archiveRun(true))
	rest.Serve(r, v1.RestoreMLflowRun, d.archiveRun(false))
	rest.Serve(r, v1.SearchMLflowRuns, d.searchRuns)

	rest.Serve(r, v1.LogMLflowMetric, d.logMetric)
	rest.Serve(r, v1.LogMLflowBatch, d.logBatch)
	rest.Serve(r, v1.LogMLflowParam, d.logParam)
	rest.Serve(r, v1.SetMLflowTag, d.setTag)
	rest.Serve(r, v1.DeleteMLflowTag, d.deleteTag)
	rest.Serve(r, v1.LogMLflowInputs, d.logInputs)
	rest.Serve(r, v1.GetMLflowHistory, d.history)
	rest.Serve(r, v1.GetMLflowHistories, d.histories)
	d.fileRoutes(r)
	d.modelRoutes(r)
	registry{d}.routes(r)
}
