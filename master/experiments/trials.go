package experiments

import (
	"context"
	"encoding/json"
	"time"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/checkpoints"
	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/lifecycle"
	"github.com/detent-ml/detent/master/logs"
	"github.com/detent-ml/detent/master/metrics"
	"github.com/detent-ml/detent/master/metrics/summary"
	"github.com/detent-ml/detent/master/optional"
	"github.com/detent-ml/detent/master/rest"
	"github.com/detent-ml/detent/master/trial"
	v1 "github.com/detent-ml/detent/master/v1"
)

const (
	maxValues = 16 << 20 // bytes of the validations and checkpoints of all trials of an answer
	minValue  = 4 << 10  // bytes that one of them may have in any case
)

// wireTrials adds totals of metrics and checkpoints to trials, with one query of each kind for
// all trials. Validations and checkpoints that are far larger than usual have no metrics, files and metadata here;
// clients get those from the trial's workloads and the checkpoint itself.
func (d Deps) wireTrials(ctx context.Context, who auth.Who, list []Trial) ([]v1.Trial, error) {
	ids := each.Of(list, func(t Trial) int { return t.ID })
	sums, err := metrics.Summaries(ctx, d.DB, ids)
	if err != nil {
		return nil, err
	}
	latest, best := map[int]summary.Validation{}, map[int]summary.Validation{}
	for id, s := range sums {
		if s.Latest != nil {
			latest[id] = *s.Latest
		}
		if s.Best != nil {
			best[id] = *s.Best
		}
	}
	most := max(maxValues/(3*max(len(list), 1)), minValue)
	latestRows, err := metrics.ValidationsAt(ctx, d.DB, latest, most)
	if err != nil {
		return nil, err
	}
	bestRows, err := metrics.ValidationsAt(ctx, d.DB, best, most)
	if err != nil {
		return nil, err
	}
	totals, err := checkpoints.Totals(ctx, d.DB, ids)
	if err != nil {
		return nil, err
	}
	checkpoints, err := checkpoints.BestOf(ctx, d.DB, auth.ScopeOf(who, auth.View, v1.KindExperiment), ids, most)
	if err != nil {
		return nil, err
	}
	kept, err := logs.TrialRetentions(ctx, d.DB, d.LogDays, ids)
	if err != nil {
		return nil, err
	}
	out := make([]v1.Trial, len(list))
	for i, t := range list {
		w := wireTrial(t)
		if r, there := kept[t.ID]; there {
			w.LogRetentionDays = &r.Days
		}
		s := sums[t.ID]
		w.TotalBatchesProcessed, w.SearcherMetricValue, w.SummaryIncomplete = s.TotalBatches, s.BestMetric, s.Incomplete
		if len(s.Metrics) > 0 {
			w.SummaryMetrics = v1.StructOf(s.Metrics)
		}
		w.LatestValidation, w.BestValidation = metricsWorkload(latestRows, t.ID), metricsWorkload(bestRows, t.ID)
		w.CheckpointCount, w.TotalCheckpointSize = totals[t.ID].Count, totals[t.ID].Size
		if k, ok := checkpoints[t.ID]; ok {
			if w.BestCheckpoint, err = checkpointWorkload(k.UUID, k.State, k.Steps, &k.ReportedAt, k.Resources, k.Metadata); err != nil {
				return nil, err
			}
		}
		out[i] = w
	}
	return out, nil
}

func wireTrial(t Trial) v1.Trial {
	tasks := make([]string, t.Part+1)
	for n := range tasks {
		tasks[n] = trial.PartID(t.TaskID, n)
	}
	return v1.Trial{ID: t.ID, ExperimentID: t.ExperimentID, HParams: t.HParams, Restarts: t.Restarts, StartTime: t.StartedAt,
		EndTime: t.EndedAt, State: v1.TrialState("STATE_" + t.Shown), TaskID: tasks[t.Part], TaskIDs: tasks, WallClockTime: t.Seconds,
		WarmStartCheckpointUUID: optional.Value(t.WarmStart), Metadata: t.Metadata, Error: t.Error, WaitingReason: t.Waiting,
		OriginTrialID: t.OriginID, LogPolicyMatched: t.LogPolicy, RunnerState: t.RunnerState}
}

func metricsWorkload(found map[int]metrics.Row, trial int) *v1.MetricsWorkload {
	m, ok := found[trial]
	if !ok {
		return nil
	}
	w := &v1.MetricsWorkload{Metrics: v1.Metrics{AvgMetrics: v1.Struct(m.Metrics)}, EndTime: &m.ReportedAt}
	if m.Steps != nil {
		w.TotalBatches = *m.Steps
	}
	return w
}

func checkpointWorkload(uuid, state string, steps int, at *time.Time, resources, metadata []byte) (*v1.CheckpointWorkload, error) {
	w := &v1.CheckpointWorkload{UUID: uuid, State: v1.CheckpointState("STATE_" + state), TotalBatches: steps, EndTime: at, Metadata: metadata}
	if len(resources) == 0 {
		return w, nil
	}
	return w, json.Unmarshal(resources, &w.Resources)
}

func (d Deps) listTrials(ctx context.Context, c *rest.Call, e Head, req *v1.GetExperimentTrialsRequest) (*v1.GetExperimentTrialsResponse, error) {
	f := TrialFilter{ExperimentID: e.ID, LogDays: d.LogDays}
	var err error
	if f.States, err = experimentStates(req.States); err != nil {
		return nil, err
	}
	if f.Sort, f.Desc, err = rest.Sorting(req.Order, map[string]string{"SORT_BY_ID": "", "SORT_BY_START_TIME": "start_time", "SORT_BY_END_TIME": "end_time",
		"SORT_BY_STATE": "state", "SORT_BY_BEST_VALIDATION_METRIC": "best", "SORT_BY_LATEST_VALIDATION_METRIC": "latest",
		"SORT_BY_BATCHES_PROCESSED": "batches", "SORT_BY_DURATION": "duration", "SORT_BY_RESTARTS": "restarts",
		"SORT_BY_CHECKPOINT_SIZE": "checkpoint_size", "SORT_BY_LOG_RETENTION_DAYS": "log_days"}); err != nil {
		return nil, err
	}
	total, err := CountTrials(ctx, d.DB, c.Scope(), f)
	list, page, err := rest.Paged(req.Window, total, err, func(from, n int) ([]Trial, error) {
		return ListTrials(ctx, d.DB, c.Scope(), f, from, n)
	})
	if err != nil {
		return nil, err
	}
	resp := &v1.GetExperimentTrialsResponse{Pagination: page}
	resp.Trials, err = d.wireTrials(ctx, c.Who(), list)
	return resp, err
}

func (d Deps) trial(ctx context.Context, c *rest.Call, t Trial, _ *v1.None) (*v1.GetTrialResponse, error) {
	list, err := d.wireTrials(ctx, c.Who(), []Trial{t})
	if err != nil {
		return nil, err
	}
	return &v1.GetTrialResponse{Trial: list[0]}, nil
}

func (d Deps) killTrial(ctx context.Context, c *rest.Call, t Trial, _ *v1.None) (*v1.Empty, error) {
	return rest.Done[v1.Empty](KillTrials(ctx, d.DB, []int{t.ID}), func() { d.Bus.Publish(lifecycle.TopicIntent) })
}

// workloadFilter translates the filter for a trial's history.
func workloadFilter(req *v1.GetTrialWorkloadsRequest, trial int) (WorkloadFilter, error) {
	f := WorkloadFilter{TrialID: trial, Groups: []string{"training", "validation"}, Checkpoints: true, Deleted: !req.RemoveDeletedCheckpoints,
		Batches: req.IncludeBatchMetrics, SortKey: req.SortKey}
	switch req.Filter {
	case "", "FILTER_OPTION_UNSPECIFIED":
	case "FILTER_OPTION_CHECKPOINT":
		f.Groups = nil
	case "FILTER_OPTION_VALIDATION":
		f.Groups, f.Checkpoints = []string{"validation"}, false
	case "FILTER_OPTION_CHECKPOINT_OR_VALIDATION":
		f.Groups = []string{"validation"}
	default:
		return f, fault.New(fault.Invalid, "filter: %q is not one of FILTER_OPTION_CHECKPOINT, FILTER_OPTION_VALIDATION, FILTER_OPTION_CHECKPOINT_OR_VALIDATION", fault.Clip(req.Filter))
	}
	switch req.MetricType {
	case "", "METRIC_TYPE_UNSPECIFIED":
	case "METRIC_TYPE_TRAINING":
		f.Groups, f.Checkpoints = []string{"training"}, false
	case "METRIC_TYPE_VALIDATION":
		f.Groups, f.Checkpoints = []string{"validation"}, false
	case "METRIC_TYPE_PROFILING":
		f.Groups, f.Checkpoints = []string{"gpu", "cpu", "memory", "disk", "network"}, false
	default:
		return f, fault.New(fault.Invalid, "metricType: %q is not one of METRIC_TYPE_TRAINING, METRIC_TYPE_VALIDATION, METRIC_TYPE_PROFILING", fault.Clip(string(req.MetricType)))
	}
	if req.Group != "" {
		f.Groups, f.Checkpoints = []string{req.Group}, false
	}
	if f.SortKey == "batches" {
		f.SortKey = ""
	}
	var err error
	f.Desc, err = rest.Descending(req.OrderBy)
	return f, err
}

func (d Deps) workloads(ctx context.Context, c *rest.Call, t Trial, req *v1.GetTrialWorkloadsRequest) (*v1.GetTrialWorkloadsResponse, error) {
	f, err := workloadFilter(req, t.ID)
	if err != nil {
		return nil, err
	}
	from := max(0, req.Offset)
	list, total, err := Workloads(ctx, d.DB, auth.ScopeOf(c.Who(), auth.View, v1.KindExperiment), f, from, req.Limit)
	if err != nil {
		return nil, err
	}
	resp := &v1.GetTrialWorkloadsResponse{}
	if resp.Pagination, err = rest.Locate(v1.Window{Offset: from, Limit: req.Limit}, total); err != nil {
		return nil, err
	}
	for _, x := range list {
		item, err := workload(x)
		if err != nil {
			return nil, err
		}
		resp.Workloads = append(resp.Workloads, item)
	}
	return resp, nil
}

func workload(x Workload) (v1.WorkloadContainer, error) {
	if x.Kind == "checkpoint" {
		k, err := checkpointWorkload(optional.Value(x.UUID), optional.Value(x.State), x.Steps, x.At, x.Resources, x.Metadata)
		return v1.WorkloadContainer{Checkpoint: k}, err
	}
	m := &v1.MetricsWorkload{Metrics: v1.Metrics{AvgMetrics: x.Metrics}, TotalBatches: x.Steps, EndTime: x.At}
	if len(x.Batches) > 0 {
		var batches []json.RawMessage
		if err := json.Unmarshal(x.Batches, &batches); err != nil {
			return v1.WorkloadContainer{}, err
		}
		for _, b := range batches {
			m.Metrics.BatchMetrics = append(m.Metrics.BatchMetrics, v1.Struct(b))
		}
	}
	if x.Kind == "validation" {
		return v1.WorkloadContainer{Validation: m}, nil
	}
	return v1.WorkloadContainer{Training: m}, nil
}

func (d Deps) validationHistory(ctx context.Context, c *rest.Call, e Experiment, _ *v1.None) (*v1.ValidationHistory, error) {
	list, err := Improvements(ctx, d.DB, e.ID)
	return &v1.ValidationHistory{ValidationHistory: each.Of(list, func(i Improvement) v1.ValidationEntry {
		return v1.ValidationEntry{TrialID: i.TrialID, EndTime: i.At, SearcherMetric: i.Value}
	})}, err
}

func (d Deps) bestMetric(ctx context.Context, _ *rest.Call, e Head, _ *v1.None) (*v1.BestMetricResponse, error) {
	best, err := BestValidation(ctx, d.DB, e.ID)
	return &v1.BestMetricResponse{Metric: best}, err
}

// VisibleTrials are trials that a query names and the caller may look at.
func (d Deps) VisibleTrials(ctx context.Context, c *rest.Call, ids []int) ([]v1.Trial, error) {
	list := make([]Trial, len(ids))
	for i, id := range ids {
		var err error
		if list[i], err = VisibleTrial(ctx, d.DB, c, id); err != nil {
			return nil, err
		}
	}
	return d.wireTrials(ctx, c.Who(), list)
}

// HParamsOf reads the hyperparameters of trials.
func (d Deps) HParamsOf(ctx context.Context, trials []int) (map[int][]byte, error) {
	list, err := TrialsByID(ctx, d.DB, trials)
	return each.Map(list, func(t Trial) (int, []byte) { return t.ID, t.HParams }), err
}
