package metrics

import (
	"context"
	"log/slog"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/metrics/report"
	"github.com/detent-ml/detent/master/rest"
	v1 "github.com/detent-ml/detent/master/v1"
)

// A Trial is a trial that a path or a query names. If an attempt reports, Task is "" and Ended is unknown.
type Trial struct {
	ID    int
	Task  string
	Ended bool
	Is    auth.Object
}

// An Experiment is an experiment that a path or a query names.
type Experiment struct {
	ID int
	Is auth.Object
}

// A Search describes the search of an experiment.
type Search struct {
	ID       int    `db:"id"`
	Searcher string `db:"searcher"`
	Metric   string `db:"metric"` // of the searcher
	Over     bool   `db:"over"`
}

// Deps is what the endpoints use of others.
type Deps struct {
	DB     *database.DB
	Log    *slog.Logger
	Writer *Writer
	// Trial and Experiment return what a path or a query names.
	Trial      func(ctx context.Context, id int) (Trial, error)
	Experiment func(ctx context.Context, id int) (Experiment, error)
	// Reporting loads the trial of a report. For an attempt it reads nothing from the database, because reports are the most frequent calls.
	Reporting rest.Object[Trial]
	// Trials returns trials with their totals, in the order of their ids; it fails unless the caller may see all of them.
	Trials func(ctx context.Context, c *rest.Call, ids []int) ([]v1.Trial, error)
	// HParams returns the hyperparameters of trials that exist, by their ids.
	HParams func(ctx context.Context, trials []int) (map[int][]byte, error)
	// Searches describes the searches of experiments.
	Searches func(ctx context.Context, experiments []int) ([]Search, error)
	// SearcherMetric returns searcher.metric of a trial's experiment; "" for none.
	SearcherMetric func(ctx context.Context, trial int) (string, error)
	// Accept fails if a report of so many bytes is too much for the owner of a trial that runs outside of the cluster; else it stores that
	// the trial's program runs.
	Accept func(ctx context.Context, c *rest.Call, of Trial, bytes int) error
	// Warn writes a warning to the log of the task that calls.
	Warn func(ctx context.Context, c *rest.Call, text string) error
	// Streams are the streams that stay open.
	Streams *rest.Places
	// InTurn calls fn with a share of those for streams of metrics.
	InTurn func(ctx context.Context, owner string, fn func() error) error

	first      *firstReports                             // Routes makes them
	limitReads func(ctx context.Context) context.Context // of the router
}

// onTrial is the trial that a path names.
func (d Deps) onTrial() rest.Object[Trial] {
	return rest.On("id", d.Trial, func(t Trial) auth.Object { return t.Is })
}

// Routes adds the endpoints of metrics.
func Routes(r *rest.Router, d Deps) {
	d.first, d.limitReads = &firstReports{}, r.LimitReads
	experiment := rest.On("id", d.Experiment, func(e Experiment) auth.Object { return e.Is })
	rest.Serve(r, v1.ReportProfilerMetrics, d.reportProfilerMetrics)
	rest.ServeOn(r, v1.ReportMetrics, d.Reporting, d.reportMetrics)
	rest.ServeOn(r, v1.ReportTrainingMetrics, d.Reporting, d.reportGroup(report.Training))
	rest.ServeOn(r, v1.ReportValidationMetrics, d.Reporting, d.reportGroup(report.Validation))
	rest.RawQuery(r, v1.StreamTrainingMetrics, d.streamReports(report.Training))
	rest.RawQuery(r, v1.StreamValidationMetrics, d.streamReports(report.Validation))
	rest.RawQuery(r, v1.StreamTrialMetrics, d.streamReports(""))
	rest.Serve(r, v1.GetTimeSeries, d.timeSeries)
	rest.RawQuery(r, v1.StreamMetricNames, d.streamMetricNames)
	rest.RawQueryOn(r, v1.StreamMetricBatches, experiment, d.streamBatches)
	rest.RawQueryOn(r, v1.StreamTrialsSnapshot, experiment, d.streamSnapshot)
	rest.RawQueryOn(r, v1.StreamTrialsSample, experiment, d.streamSample)
	rest.RawQueryOn(r, v1.StreamProfilerSeries, d.onTrial(), d.profilerSeries)
	rest.RawQueryOn(r, v1.StreamProfilerMetrics, d.onTrial(), d.profilerMetrics)
}
