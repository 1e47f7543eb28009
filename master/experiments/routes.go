package experiments

import (
	"context"

	"github.com/detent-ml/detent/master/checkpoints"
	"github.com/detent-ml/detent/master/contexts"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/diskuse"
	"github.com/detent-ml/detent/master/models"
	"github.com/detent-ml/detent/master/pool"
	"github.com/detent-ml/detent/master/rest"
	v1 "github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/master/workspaces"
)

// Deps is what the endpoints use of others.
type Deps struct {
	DB      *database.DB
	Bus     *database.Bus
	Memory  *Memory
	Users   *diskuse.Users
	Configs *ShownConfigs
	Heard   *Heard
	Code    *contexts.Sender
	Listing *rest.Shares // of code whose files are listed
	Pools   pool.Set
	LogDays int // how long logs are kept for which nobody says it
	Version rest.Object[models.Registration]
	// Allowed fails if the policies of a workspace do not allow a change to an experiment there.
	Allowed func(ctx context.Context, workspace int, ch Patch) error
	// MayMove reads the policies of a workspace to which experiments move.
	MayMove MoveCheck
	// Attempts lists the attempts of an experiment.
	Attempts func(ctx context.Context, experiment int, req *v1.GetAttemptsRequest) (*v1.ListAttemptsResponse, error)
}

// Routes adds the endpoints of experiments and trials.
func Routes(r *rest.Router, d Deps) {
	whole, head, project, projects := On(d.DB), OnHead(d.DB), workspaces.OnProject(d.DB), workspaces.OnProjectOrAll(d.DB)
	rest.Serve(r, v1.ListExperiments, d.list)
	rest.Serve(r, v1.SearchExperiments, d.search)
	rest.Serve(r, v1.ListLabels, d.labels)
	rest.ServeOn(r, v1.ListMetricRanges, projects, d.metricRanges)
	rest.ServeOn(r, v1.GetExperiment, whole, d.get)
	rest.ServeOn(r, v1.ChangeExperiment, whole, d.change)
	rest.ServeOn(r, v1.AddExperimentLabel, whole, d.changeLabel(true))
	rest.ServeOn(r, v1.RemoveExperimentLabel, whole, d.changeLabel(false))
	rest.ServeOn(r, v1.GetValidationHistory, whole, d.validationHistory)
	rest.ServeOn(r, v1.GetBestMetric, head, d.bestMetric)

	rest.ServeOn(r, v1.DeleteExperiment, whole, d.act(Delete))
	rest.ServeOn(r, v1.ActivateExperiment, whole, d.act(Activate))
	rest.ServeOn(r, v1.PauseExperiment, whole, d.act(Pause))
	rest.ServeOn(r, v1.CancelExperiment, whole, d.act(Cancel))
	rest.ServeOn(r, v1.KillExperiment, whole, d.act(Kill))
	rest.ServeOn(r, v1.ArchiveExperiment, whole, d.act(Archive))
	rest.ServeOn(r, v1.UnarchiveExperiment, whole, d.act(Unarchive))
	rest.ServeOn(r, v1.ActivateExperiments, projects, d.actOnMany(Activate))
	rest.ServeOn(r, v1.PauseExperiments, projects, d.actOnMany(Pause))
	rest.ServeOn(r, v1.CancelExperiments, projects, d.actOnMany(Cancel))
	rest.ServeOn(r, v1.KillExperiments, projects, d.actOnMany(Kill))
	rest.ServeOn(r, v1.ArchiveExperiments, projects, d.actOnMany(Archive))
	rest.ServeOn(r, v1.UnarchiveExperiments, projects, d.actOnMany(Unarchive))
	rest.ServeOn(r, v1.DeleteExperiments, projects, d.actOnMany(Delete))
	rest.ServeOn(r, v1.MoveExperiment, whole, d.move)
	rest.ServeOn(r, v1.MoveExperiments, project, d.moveMany)
	rest.ServeOn(r, v1.MoveProject, project, d.moveProject)

	rest.RawOn(r, v1.GetModelDef, whole, d.modelDef)
	rest.ServeOn(r, v1.GetModelDefTree, whole, d.fileTree)
	rest.RawOn(r, v1.GetModelDefFile, whole, d.modelFile)
	rest.RawQueryOn(r, v1.DownloadModelDefFile, whole, d.downloadFile)
	rest.RawOn(r, v1.DownloadOldModelDef, whole, d.downloadModelDef)
	rest.RawQueryOn(r, v1.DownloadOldModelDefFile, whole, d.downloadFile)
	d.trialRoutes(r)
}

// trialRoutes adds the endpoints of trials.
func (d Deps) trialRoutes(r *rest.Router) {
	head, trial, reporting := OnHead(d.DB), OnTrial(d.DB), OnReportingTrial(d.DB)
	rest.ServeOn(r, v1.ListTrials, head, d.listTrials)
	rest.ServeOn(r, v1.GetTrial, trial, d.trial)
	rest.ServeOn(r, v1.KillTrial, trial, d.killTrial)
	rest.ServeOn(r, v1.ListTrialWorkloads, trial, d.workloads)
	rest.ServeOn(r, v1.ListExperimentAttempts, head, func(ctx context.Context, _ *rest.Call, e Head, req *v1.GetAttemptsRequest) (*v1.ListAttemptsResponse, error) {
		return d.Attempts(ctx, e.ID, req)
	})
	rest.RawOn(r, v1.ReportProgress, reporting, d.progress)
	rest.ServeOn(r, v1.ReportEarlyExit, reporting, d.earlyExit)
	rest.ServeOn(r, v1.ReportRunnerState, reporting, d.runnerState)

	rest.Serve(r, v1.ReportTrialSource, d.trialSource)
	rest.ServeOn(r, v1.ModelVersionMetrics, d.Version, d.modelVersionMetrics)
	rest.ServeOn(r, v1.CheckpointMetrics, checkpoints.On(d.DB), d.checkpointMetrics)

	rest.Serve(r, v1.CreateTrial, d.createTrial)
	rest.Serve(r, v1.PutTrial, d.putTrial)
	rest.ServeOn(r, v1.GetTrialByExternalID, onTrialByExternalID(d.DB), d.trial)
	rest.ServeOn(r, v1.StartTrial, trial, d.startTrial)
	rest.ServeOn(r, v1.PatchTrial, trial, d.patchTrial)
}
