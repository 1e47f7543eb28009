package fakemaster

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/detent-ml/detent/master/fault"
	v1 "github.com/detent-ml/detent/master/v1"
)

// How long the training of the fake is: reports every ten batches, a validation
// and a checkpoint every fifty.
const (
	runBatches  = 200
	reportEvery = 10
	checkEvery  = 50
)

// run trains an experiment from beginning to end.
func (m *Master) run(e *Experiment) {
	m.Now = m.Now.Add(time.Second)
	id := 0
	for _, x := range m.Experiments {
		id += len(x.Trials)
	}
	id++
	task := fmt.Sprintf("%d.%08d-0000-4000-8000-000000000000", e.ID, id)
	policy := "CUDA OOM"
	t := v1.Trial{ID: id, LogPolicyMatched: &policy, ExperimentID: e.ID, HParams: e.Hyperparameters, StartTime: m.Now, State: v1.TrialStateCompleted,
		TaskID: task, TaskIDs: []string{task}, TotalBatchesProcessed: runBatches}
	if len(t.HParams) == 0 {
		t.HParams = v1.Struct("{}")
	}
	for batch := reportEvery; batch <= runBatches; batch += reportEvery {
		at := m.Now.Add(time.Duration(batch) * time.Millisecond)
		loss := 2 / (1 + float64(batch)/40)
		training := v1.Struct(fmt.Sprintf(`{"loss":%.6f}`, loss))
		m.report(e, t.ID, "training", batch, training, at)
		m.log(task, at, "INFO", fmt.Sprintf("batch %d: loss %.3f", batch, loss))
		if batch%checkEvery != 0 {
			continue
		}
		value := loss + 0.05
		validation := v1.Struct(fmt.Sprintf(`{"%s":%.6f,"accuracy":%.4f}`, metricOf(e), value, 1-value/3))
		m.report(e, t.ID, "validation", batch, validation, at)
		m.checkpoint(e, &t, batch, value, validation, at)
	}
	ended := m.Now.Add(time.Second)
	progress := 1.0
	t.EndTime, t.SummaryMetrics = &ended, v1.Struct(`{"avg_metrics":{"loss":{"count":20}}}`)
	e.Trials = append(e.Trials, t)
	e.State, e.EndTime, e.Progress = v1.ExperimentStateCompleted, &ended, &progress
	e.NumTrials, e.TrialIDs, e.BestTrialID = 1, []int{t.ID}, &t.ID
	m.Now = ended
}

func metricOf(e *Experiment) string {
	if e.SearcherMetric == "" {
		return "validation_loss"
	}
	return e.SearcherMetric
}

func (m *Master) report(e *Experiment, trial int, group string, batch int, metrics v1.Struct, at time.Time) {
	e.Metrics[trial] = append(e.Metrics[trial], v1.MetricsReport{TrialID: trial, TrialRunID: 1, Group: group, TotalBatches: batch,
		EndTime: at, ID: len(e.Metrics[trial]) + 1, Metrics: v1.Struct(fmt.Sprintf(`{"avg_metrics":%s}`, metrics))})
	w := &v1.MetricsWorkload{Metrics: v1.Metrics{AvgMetrics: metrics}, TotalBatches: batch, EndTime: &at}
	if group == "training" {
		e.Workloads[trial] = append(e.Workloads[trial], v1.WorkloadContainer{Training: w})
		return
	}
	e.Workloads[trial] = append(e.Workloads[trial], v1.WorkloadContainer{Validation: w})
}

func (m *Master) checkpoint(e *Experiment, t *v1.Trial, batch int, value float64, validation v1.Struct, at time.Time) {
	uuid := fmt.Sprintf("%08d-0000-4000-8000-%012d", t.ID, batch)
	metadata := v1.Struct(fmt.Sprintf(`{"steps_completed":%d}`, batch))
	resources := map[string]int64{"model.npz": 4096, "state/": 0, "state/epoch": 2, "metadata.json": 23}
	e.Checkpoints = append(e.Checkpoints, v1.Checkpoint{UUID: uuid, Metadata: metadata, Resources: resources,
		State: v1.CheckpointStateCompleted, ReportTime: &at, TaskID: t.TaskID, Training: v1.CheckpointTrainingMetadata{
			ExperimentConfig: e.Config, ExperimentID: &e.ID, TrialID: &t.ID, HParams: t.HParams, SearcherMetric: &value,
			ValidationMetrics: &v1.Metrics{AvgMetrics: validation},
		}})
	e.Workloads[t.ID] = append(e.Workloads[t.ID], v1.WorkloadContainer{Checkpoint: &v1.CheckpointWorkload{
		UUID: uuid, State: v1.CheckpointStateCompleted, TotalBatches: batch, EndTime: &at, Metadata: metadata, Resources: resources}})
	t.CheckpointCount++
}

func (m *Master) log(task string, at time.Time, level, text string) {
	rank, stdtype := 0, "stdout"
	m.Logs[task] = append(m.Logs[task], v1.TaskLogsResponse{
		ID: strconv.Itoa(len(m.Logs[task]) + 1), TaskID: task, Timestamp: at, Level: v1.LogLevel("LOG_LEVEL_" + level), Log: text + "\n",
		Message: fmt.Sprintf("[%s]          [rank=0] || %s: %s\n", at.Format("2006-01-02T15:04:05.000000Z"), level, text),
		RankID:  &rank, Stdtype: &stdtype,
	})
}

func (m *Master) trialRoutes() {
	on(m, v1.GetTrial, m.onTrial(func(_ http.ResponseWriter, _ *http.Request, _ *Experiment, t *v1.Trial) (any, error) {
		return v1.GetTrialResponse{Trial: *t}, nil
	}))
	on(m, v1.ListTrialWorkloads, m.onTrial(func(_ http.ResponseWriter, r *http.Request, e *Experiment, t *v1.Trial) (any, error) {
		found, page := paged(r, e.Workloads[t.ID])
		return v1.GetTrialWorkloadsResponse{Workloads: found, Pagination: page}, nil
	}))
	on(m, v1.ListTrialCheckpoints, m.onTrial(func(_ http.ResponseWriter, r *http.Request, e *Experiment, t *v1.Trial) (any, error) {
		mine := slices.DeleteFunc(slices.Clone(e.Checkpoints), func(k v1.Checkpoint) bool { return *k.Training.TrialID != t.ID })
		return v1.GetTrialCheckpointsResponse(listCheckpoints(r, mine)), nil
	}))
	on(m, v1.KillTrial, m.onTrial(func(http.ResponseWriter, *http.Request, *Experiment, *v1.Trial) (any, error) {
		return v1.Empty{}, nil
	}))
	on(m, v1.StreamTrialLogs, m.onTrial(func(w http.ResponseWriter, r *http.Request, _ *Experiment, t *v1.Trial) (any, error) {
		var lines []v1.TrialLogsResponse
		for _, l := range m.filterLogs(r, t.TaskID) {
			lines = append(lines, v1.TrialLogsResponse{ID: l.ID, Level: l.Level, Message: l.Message, Timestamp: l.Timestamp,
				TrialID: t.ID, Log: &l.Log, RankID: l.RankID, Stdtype: l.Stdtype})
		}
		stream(w, lines)
		return nil, nil
	}))
	on(m, v1.StreamTrialMetrics, m.trialMetrics)
	on(m, v1.GetCheckpoint, func(_ http.ResponseWriter, r *http.Request) (any, error) {
		k, err := m.findCheckpoint(r.PathValue("uuid"))
		return v1.GetCheckpointResponse{Checkpoint: k}, err
	})
	on(m, v1.DownloadCheckpoint, func(w http.ResponseWriter, r *http.Request) (any, error) {
		if _, err := m.findCheckpoint(r.PathValue("uuid")); err != nil {
			return nil, err
		}
		raw, err := Archive([]v1.File{
			{Path: "model.npz", Type: '0', Mode: 0o644, Content: make([]byte, 4096)},
			{Path: "state", Type: '5', Mode: 0o755},
			{Path: "state/epoch", Type: '0', Mode: 0o644, Content: []byte("4\n")},
		})
		w.Header().Set("Content-Type", "application/gzip")
		_, _ = w.Write(raw)
		return nil, err
	})
}

func (m *Master) onTrial(fn func(http.ResponseWriter, *http.Request, *Experiment, *v1.Trial) (any, error)) handler {
	return func(w http.ResponseWriter, r *http.Request) (any, error) {
		for _, e := range m.Experiments {
			for i := range e.Trials {
				if e.Trials[i].ID == pathID(r) {
					return fn(w, r, e, &e.Trials[i])
				}
			}
		}
		return nil, fault.New(fault.NotFound, "trial %s not found", r.PathValue("id"))
	}
}

func (m *Master) findCheckpoint(uuid string) (v1.Checkpoint, error) {
	for _, e := range m.Experiments {
		for _, k := range e.Checkpoints {
			if k.UUID == uuid {
				return k, nil
			}
		}
	}
	return v1.Checkpoint{}, fault.New(fault.NotFound, "checkpoint %s not found", uuid)
}

func (m *Master) trialMetrics(w http.ResponseWriter, r *http.Request) (any, error) {
	group := r.URL.Query().Get("group")
	var batches []v1.GetMetricsResponse
	for _, e := range m.Experiments {
		for id, reports := range e.Metrics {
			if !slices.Contains(r.URL.Query()["trialIds"], strconv.Itoa(id)) {
				continue
			}
			of := slices.DeleteFunc(slices.Clone(reports), func(x v1.MetricsReport) bool { return group != "" && x.Group != group })
			batches = append(batches, v1.GetMetricsResponse{Metrics: of})
		}
	}
	stream(w, batches)
	return nil, nil
}
