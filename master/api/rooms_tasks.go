package api

import (
	"context"
	"time"

	"github.com/detent-ml/detent/master/artifacts"
	"github.com/detent-ml/detent/master/attempts"
	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/checkpoints"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/experiments"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/launch"
	"github.com/detent-ml/detent/master/lifecycle"
	"github.com/detent-ml/detent/master/logs"
	"github.com/detent-ml/detent/master/metrics"
	"github.com/detent-ml/detent/master/nodes"
	"github.com/detent-ml/detent/master/optional"
	"github.com/detent-ml/detent/master/queue"
	"github.com/detent-ml/detent/master/rest"
	"github.com/detent-ml/detent/master/tasks"
	v1 "github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/master/workspaces"
)

// launchers create experiments and tasks from requests.
func (a *API) launchers() (*launch.Experiments, *launch.Tasks) {
	code := &launch.Packer{DB: a.db, Users: a.users, Room: a.limits.packed, Turns: func(ctx context.Context, share string) (func(), error) {
		turn, err := a.limits.packs.Take(ctx, share, 1)
		if err != nil {
			return nil, err
		}
		return turn.Release, nil
	}}
	counts := &nodes.Counts{Of: a.nodes, For: slotsRemembered}
	c := launch.Cluster{Site: a.cfg.Site, Pools: a.cfg.Pools, Storage: a.cfg.CheckpointStorage, Idle: a.cfg.Idle,
		CheckStorage: a.cfg.CheckStorage, LaunchError: a.cfg.LaunchError,
		Slots: func(ctx context.Context, pool string, enough func(launch.PoolSlots) bool) (launch.PoolSlots, error) {
			n, err := counts.PoolSlots(ctx, pool, func(n nodes.PoolSlots) bool { return enough(slotsOf(n)) })
			return slotsOf(n), err
		}}
	return &launch.Experiments{Cluster: c, DB: a.db, Memory: a.memory, Users: a.users, Code: code}, &launch.Tasks{Cluster: c, DB: a.db, Code: code}
}

// slotsRemembered is how long submissions that fit need no new count of a pool's slots.
const slotsRemembered = 10 * time.Second

func slotsOf(n nodes.PoolSlots) launch.PoolSlots {
	return launch.PoolSlots{PerNode: n.PerNode, Total: n.Slots}
}

// registerTasks gives the room of tasks what it uses of experiments, callers and config policies, and package launch.
func (a *API) registerTasks() {
	tasks.Routes(a.router, tasks.Deps{DB: a.db, Nodes: a.nodes, Code: a.code, Trail: a.trail, Proxy: a.cfg.Proxy, Pages: a.cfg.Pages, Identify: a.auth.ByToken, Secrets: a.cfg.Site.Secrets,
		Start: func(ctx context.Context, c *rest.Call, of tasks.Kind, req tasks.Request) (*tasks.Launched, error) {
			return a.tasks.Start(ctx, launch.SubmitterOf(c), of, req)
		},
		StartGeneric: func(ctx context.Context, c *rest.Call, req *v1.CreateGenericTaskRequest) (*tasks.Launched, error) {
			return a.tasks.StartGeneric(ctx, launch.SubmitterOf(c), req)
		},
		Experiments: func(ctx context.Context, c *rest.Call, filters *v1.BulkExperimentFilters) ([]int, error) {
			list, _, err := a.experiments.Chosen(ctx, c, auth.ScopeOf(c.Who(), auth.View, v1.KindExperiment), filters.ProjectID, &v1.BulkRequest{Filters: filters})
			return each.Of(list, func(e experiments.Head) int { return e.ID }), err
		},
		AllowPriority: func(ctx context.Context, workspace, priority int) error {
			if err := queue.CheckShare(&priority, nil); err != nil {
				return err
			}
			return a.launcher.Allowed(ctx, workspace, workspaces.WorkloadTasks, launch.Change{Priority: &priority})
		},
		Changed: func() { a.bus.Publish(lifecycle.TopicIntent) }})
}

// attemptDeps gives the room of attempts what it uses of checkpoints and the loop.
func (a *API) attemptDeps(id attempts.Identity, disc attempts.Discovery) attempts.Deps {
	return attempts.Deps{DB: a.db, Bus: a.bus, Log: a.log, Identity: id, Discovery: disc, Nodes: a.nodes, Policies: a.taskIO.policies,
		Files: &artifacts.Files{RunnerDir: a.cfg.RunnerDir, DetPath: a.cfg.DetPath, HarnessDir: a.cfg.HarnessDir},
		Site:  a.cfg.Site, Proxy: a.cfg.Proxy, Namespaces: a.cfg.Namespaces, NomadUI: a.cfg.NomadUI, RegionUIs: a.cfg.RegionUIs,
		Reported: func() { a.bus.Publish(lifecycle.TopicEvents) }}
}

// registerLogs gives the room of logs what it uses of experiments, trials, tasks and their owners.
func (a *API) registerLogs() {
	logs.Routes(a.router, logs.Deps{DB: a.db, Bus: a.bus, Store: a.taskIO.logs, Policies: a.taskIO.policies, Limits: a.taskIO.streams, AdmitOutside: a.users.AdmitOutside, Heard: a.experiments.Heard.From,
		Experiments: a.chosenGroups, NoExperiment: experiments.NotFound,
		Trial: func(ctx context.Context, id int) (logs.Log, error) {
			t, err := experiments.GetTrial(ctx, a.db, id)
			return logs.Log{TaskID: t.TaskID, Trial: t.ID, Is: t.Object()}, err
		},
		Task: func(ctx context.Context, id string) (logs.Log, error) {
			k, err := tasks.GetOrPart(ctx, a.db, id)
			return logs.Log{TaskID: k.ID, Called: k.Called(), Part: &k.Part.N, Is: k.Object()}, err
		},
		Experiment: func(ctx context.Context, id int) (logs.Group, error) {
			e, err := experiments.GetHead(ctx, a.db, id)
			return logs.Group{ID: e.ID, Is: e.Object()}, err
		},
		Project: func(ctx context.Context, id int) (logs.Group, error) {
			p, err := workspaces.ProjectByID(ctx, a.db, id)
			return logs.Group{ID: p.ID, Is: p.Object()}, err
		}})
}

// chosenGroups are the experiments of a bulk call.
func (a *API) chosenGroups(ctx context.Context, c *rest.Call, project int, req *v1.BulkRequest) (list []logs.Group, missing []int, err error) {
	found, missing, err := a.experiments.Chosen(ctx, c, c.Scope(), project, req)
	for _, e := range found {
		list = append(list, logs.Group{ID: e.ID, Is: e.Object()})
	}
	return list, missing, err
}

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

// checkpointDeps gives the room of checkpoints what it uses of experiments and trials.
func (a *API) checkpointDeps() checkpoints.Deps {
	return checkpoints.Deps{DB: a.db, Log: a.log, Config: a.experiments.Configs.Config, Outside: a.experiments.UnmanagedCheckpoint, Downloads: checkpoints.NewDownloads(),
		Experiment: func(ctx context.Context, id int) (checkpoints.Experiment, error) {
			e, err := experiments.Get(ctx, a.db, id)
			return checkpoints.Experiment{ID: e.ID, Is: e.Object(), Config: e.Config, Metric: optional.Value(e.Metric), SmallerIsBetter: e.SmallerIsBetter, Objectives: e.Objectives}, err
		},
		Head: func(ctx context.Context, id int) (checkpoints.Experiment, error) {
			e, err := experiments.GetHead(ctx, a.db, id)
			return checkpoints.Experiment{ID: e.ID, Is: e.Object()}, err
		},
		Trial: func(ctx context.Context, id int) (checkpoints.Trial, error) {
			t, err := experiments.GetTrial(ctx, a.db, id)
			return checkpoints.Trial{ID: t.ID, ExperimentID: t.ExperimentID, Is: t.Object()}, err
		},
		OwnTask: tasks.OnOwn("task", func(c *rest.Call, id string) error {
			return fault.New(fault.Forbidden, "attempt %s does not belong to task %s", c.Who().AllocationID, fault.Clip(id))
		}),
		Changed: func() { a.bus.Publish(lifecycle.TopicIntent) },
		States:  func() (<-chan struct{}, func()) { return a.bus.Subscribe(lifecycle.TopicState) },
		Pools:   a.cfg.Pools, Storages: a.cfg.Site.Capabilities.Storage, Roots: a.cfg.CheckpointRoots, Bucket: a.cfg.Bucket, Unsigned: a.cfg.FilesThroughMaster}
}
