package api

import (
	"context"
	"time"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/experiments"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/lifecycle"
	"github.com/detent-ml/detent/master/logs"
	"github.com/detent-ml/detent/master/metrics"
	"github.com/detent-ml/detent/master/rest"
	v1 "github.com/detent-ml/detent/master/v1"
)

// newMetricWriter gives the writer of reports what it uses of searches.
func newMetricWriter(db *database.DB, bus *database.Bus, limit int64) *metrics.Writer {
	return metrics.NewWriter(db, bus, limit, metrics.Searches{Add: experiments.AppendValidations, Topic: lifecycle.TopicEvents})
}

// registerMetrics gives the room of metrics what it uses of experiments, trials and logs.
func (a *API) registerMetrics() {
	metrics.Routes(a.router, metrics.Deps{DB: a.db, Log: a.log, Writer: a.taskIO.metrics, Reporting: experiments.OnReportingTrial(a.db),
		Trial: func(ctx context.Context, id int) (metrics.Trial, error) {
			t, err := experiments.GetTrial(ctx, a.db, id)
			return metrics.Trial{ID: t.ID, Task: t.TaskID, Ended: t.EndedAt != nil, Is: t.Object()}, err
		},
		Experiment: func(ctx context.Context, id int) (metrics.Experiment, error) {
			e, err := experiments.GetHead(ctx, a.db, id)
			return metrics.Experiment{ID: e.ID, Is: e.Object()}, err
		},
		Trials: a.experiments.VisibleTrials, HParams: a.experiments.HParamsOf,
		Searches: of(a.db, experiments.SearchesOf), SearcherMetric: of(a.db, experiments.SearcherMetric),
		Accept: func(ctx context.Context, c *rest.Call, of metrics.Trial, bytes int) error {
			if err := a.users.AdmitOutside(ctx, c, of.Is.OwnerID, bytes); err != nil {
				return err
			}
			return a.experiments.Heard.From(ctx, c, of.Task)
		},
		Warn: a.warnTask, Streams: a.limits.charts, InTurn: a.inSeries})
}

// warnTask writes a warning to the log of the task that calls.
func (a *API) warnTask(ctx context.Context, c *rest.Call, text string) error {
	_, err := a.taskIO.logs.Append(ctx, logs.Batch{TaskID: c.Who().TaskID, Origin: logs.Origin{AllocationID: c.Who().AllocationID},
		Lines: []logs.Line{{At: time.Now(), Level: v1.LogLevelWarning.Number(), Stdtype: "stderr", Source: "master", Rank: -1, Text: text}}})
	return err
}

// inSeries calls fn with a share of those for streams of metrics.
func (a *API) inSeries(ctx context.Context, owner string, fn func() error) error {
	turn, err := a.limits.series.Take(ctx, owner, 1)
	if err != nil {
		return fault.Wrap(fault.Unavailable, err, "this master sends as many streams of metrics as it can at once; try again")
	}
	defer turn.Release()
	return fn()
}
