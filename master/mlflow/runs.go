package mlflow

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/experiments"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/metrics"
	"github.com/detent-ml/detent/master/metrics/report"
	"github.com/detent-ml/detent/master/metrics/summary"
	"github.com/detent-ml/detent/master/mlflow/filter"
	"github.com/detent-ml/detent/master/rest"
	v1 "github.com/detent-ml/detent/master/v1"
)

// Names of tags with a meaning for MLflow's clients.
const (
	tagName   = "mlflow.runName"
	tagParent = "mlflow.parentRunId"
)

// statuses are MLflow's words for the states of a run; other states are RUNNING.
var statuses = map[string]string{
	"COMPLETED": "FINISHED", "ERROR": "FAILED", "CANCELED": "KILLED", "PAUSED": "SCHEDULED", "QUEUED": "SCHEDULED", "PULLING": "SCHEDULED", "STARTING": "SCHEDULED",
}

// states are the states that the program of a run elsewhere gives it.
var states = map[string]string{"RUNNING": "ACTIVE", "SCHEDULED": "ACTIVE", "FINISHED": "COMPLETED", "FAILED": "ERROR", "KILLED": "CANCELED"}

func (r Run) status() string { return cmp.Or(statuses[r.Shown], "RUNNING") }

func (r Run) info() v1.MLflowRunInfo {
	id := strconv.Itoa(r.ID)
	info := v1.MLflowRunInfo{RunID: id, RunUUID: id, RunName: r.RunName, ExperimentID: strconv.Itoa(r.ProjectID), UserID: r.Owner, Status: r.status(),
		StartTime: millis(r.StartedAt), ArtifactURI: artifactsOf(r.ProjectID, r.ID), LifecycleStage: stage(r.Archived)}
	if r.EndedAt != nil {
		info.EndTime = new(millis(*r.EndedAt))
	}
	return info
}

// wire is a run with its parameters, tags and the newest values of its metrics.
func (r Run) wire(values map[string]v1.MLflowMetric) (v1.MLflowRun, error) {
	marks, err := readMarks(r.Metadata)
	if err != nil {
		return v1.MLflowRun{}, err
	}
	params := map[string]string{}
	var hparams map[string]any
	if err := json.Unmarshal(r.HParams, &hparams); err != nil {
		return v1.MLflowRun{}, err
	}
	flatten(params, "", hparams)
	maps.Copy(params, marks.Params)
	tags := map[string]string{tagName: r.RunName}
	maps.Copy(tags, marks.Tags)
	run := v1.MLflowRun{Info: r.info(), Data: v1.MLflowRunData{Params: tagsOf(params), Tags: tagsOf(tags), Metrics: []v1.MLflowMetric{}}}
	run.Inputs.Datasets = marks.Inputs
	for _, name := range slices.Sorted(maps.Keys(values)) {
		run.Data.Metrics = append(run.Data.Metrics, values[name])
	}
	return run, nil
}

// flatten adds hyperparameters to parameters, whose names have dots where hyperparameters are nested.
func flatten(params map[string]string, prefix string, hparams map[string]any) {
	for name, v := range hparams {
		switch v := v.(type) {
		case map[string]any:
			flatten(params, prefix+name+".", v)
		case string:
			params[prefix+name] = v
		default:
			b, _ := json.Marshal(v) // it was read as JSON
			params[prefix+name] = string(b)
		}
	}
}

// latest are the newest values of the metrics of a summary, under the names that MLflow's clients know. If groups share a name,
// that of the searcher's metric is its validation, and any other is that of training.
func latest(s summary.Trial, searcher string) map[string]v1.MLflowMetric {
	values := map[string]v1.MLflowMetric{}
	groups := slices.SortedFunc(maps.Keys(s.Metrics), func(a, b string) int { return cmp.Or(rank(a)-rank(b), cmp.Compare(a, b)) })
	for _, group := range groups {
		for name, m := range s.Metrics[group] {
			if _, there := values[name]; there && (group != summary.GroupKey(report.Validation) || name != searcher) {
				continue
			}
			if v, ok := numberOf(m.Last); ok {
				values[name] = v1.MLflowMetric{Key: name, Value: v}
			}
		}
	}
	return values
}

// rank orders groups: training, validation, others.
func rank(group string) int {
	switch summary.GroupOf(group) {
	case report.Training:
		return 0
	case report.Validation:
		return 1
	}
	return 2
}

func numberOf(last any) (float64, bool) {
	b, err := json.Marshal(last)
	if err != nil {
		return 0, false
	}
	return report.Float(b)
}

// run is a run that a caller may view.
func (d Deps) run(ctx context.Context, c *rest.Call, id, uuid string) (Run, error) {
	id = cmp.Or(id, uuid)
	missing := fault.New(fault.NotFound, "Run with id=%s not found", fault.Clip(id))
	n, err := strconv.Atoi(id)
	if err != nil || n <= 0 || n > maxID {
		return Run{}, missing
	}
	r, err := runByID(ctx, d.DB, n)
	if fault.Is(err, fault.NotFound) || err == nil && !auth.Can(c.Who(), auth.View, r.object()) {
		return r, missing
	}
	return r, err
}

const maxID = 1<<31 - 1

// reporting is a run about which the caller may report. The program of a trial may report about the trial's run, and about runs that
// it has created within it.
func (d Deps) reporting(ctx context.Context, c *rest.Call, id, uuid string) (Run, error) {
	r, err := d.run(ctx, c, id, uuid)
	if err != nil {
		return r, err
	}
	who := c.Who()
	switch {
	case who.TrialID == r.ID:
		r.RunID = who.RunID
		return r, c.May(auth.Report, r.object())
	case who.IsTask():
		if r.Unmanaged && r.ParentID != nil && *r.ParentID == who.ExperimentID && r.OwnerID == who.UserID {
			return r, nil
		}
		return r, fault.New(fault.Forbidden, "the program of trial %d may report about the trial's run, and about runs within it, not about run %d", who.TrialID, r.ID)
	}
	return r, c.May(auth.Report, r.object())
}

func (d Deps) getRun(ctx context.Context, c *rest.Call, req *v1.MLflowGetRunRequest) (*v1.MLflowRunAnswer, error) {
	r, err := d.run(ctx, c, req.RunID, req.RunUUID)
	if err != nil {
		return nil, err
	}
	return d.shown(ctx, r)
}

// shown is a run with the steps and times of its metrics.
func (d Deps) shown(ctx context.Context, r Run) (*v1.MLflowRunAnswer, error) {
	sums, err := metrics.Summaries(ctx, d.DB, []int{r.ID})
	if err != nil {
		return nil, err
	}
	values := latest(sums[r.ID], r.Metric)
	if err := addNewest(ctx, d.DB, r, values); err != nil {
		return nil, err
	}
	run, err := r.wire(values)
	if err != nil {
		return nil, err
	}
	outputs, err := outputsOf(ctx, d.DB, []int{r.ID})
	run.Outputs.Models = outputs[r.ID]
	return &v1.MLflowRunAnswer{Run: run}, err
}

func (d Deps) createRun(ctx context.Context, c *rest.Call, req *v1.MLflowCreateRunRequest) (*v1.MLflowRunAnswer, error) {
	tags, err := newTags(req.Tags)
	if err != nil {
		return nil, err
	}
	if req.RunName == "" {
		req.RunName = tags[tagName]
	}
	who := c.Who()
	if _, nested := tags[tagParent]; who.TrialID != 0 && !nested {
		return d.trialsRun(ctx, c, tags)
	}
	if who.OwnerGone { // a run within the trial's is a new experiment
		return nil, fault.New(fault.Forbidden, "user %s is deactivated; attempt %s may only report about itself", who.Username, who.AllocationID)
	}
	e, err := d.experimentOfNew(ctx, c, req.ExperimentID)
	if err != nil {
		return nil, err
	}
	started, err := timeOf("start_time", req.StartTime)
	if err != nil {
		return nil, err
	}
	config, err := configOf(req.RunName, e.Tags, tags)
	if err != nil {
		return nil, err
	}
	create := &v1.CreateExperimentRequest{Config: &config, ProjectID: &e.ID, Unmanaged: new(true)}
	if who.TrialID != 0 {
		create.ParentID = &who.ExperimentID
	}
	id, err := d.Create(ctx, c, acting(who), create, func(ctx context.Context, tx *database.DB, id int) error {
		return newRun(ctx, tx, id, started, tags)
	})
	if err != nil {
		return nil, err
	}
	d.Changed()
	r, err := onlyRun(ctx, d.DB, id)
	if err != nil {
		return nil, err
	}
	return d.shown(ctx, r)
}

// trialsRun answers a trial's program that asks for a new run: the trial has one.
func (d Deps) trialsRun(ctx context.Context, c *rest.Call, tags map[string]string) (*v1.MLflowRunAnswer, error) {
	r, err := d.reporting(ctx, c, strconv.Itoa(c.Who().TrialID), "")
	if err != nil {
		return nil, err
	}
	delete(tags, tagName) // the run has its experiment's name
	if err := d.mark(ctx, c, r, change{tags: tags}); err != nil {
		return nil, err
	}
	if r, err = runByID(ctx, d.DB, r.ID); err != nil {
		return nil, err
	}
	return d.shown(ctx, r)
}

// experimentOfNew is the experiment of a new run: for the program of a trial, that of the trial.
func (d Deps) experimentOfNew(ctx context.Context, c *rest.Call, id string) (Experiment, error) {
	own, err := d.own(ctx, c)
	if err != nil {
		return Experiment{}, err
	}
	if own != nil {
		return *own, nil
	}
	e, err := d.experiment(ctx, c, cmp.Or(id, "0"))
	if err == nil && (e.Archived || e.WorkspaceArchived) {
		err = fault.New(fault.Invalid, "The experiment %d must be in the 'active' state. Current state is deleted.", e.ID)
	}
	return e, err
}

const maxRunName = 250 // bytes

// Tags of a run, or of its experiment, that say by which metric lists show the run.
const (
	tagMetric  = "detent.metric"
	tagSmaller = "detent.smaller_is_better"
)

// configOf is the configuration of the unmanaged experiment of a run. Its tags come before those of its MLflow experiment.
func configOf(name string, of, tags map[string]string) (string, error) {
	if len(name) > maxRunName {
		return "", fault.New(fault.Invalid, "run_name: %d bytes are over the limit of %d", len(name), maxRunName)
	}
	smaller, err := strconv.ParseBool(cmp.Or(tags[tagSmaller], of[tagSmaller], "true"))
	if err != nil {
		return "", fault.New(fault.Invalid, "tag %s: %q is neither true nor false", tagSmaller, fault.Clip(cmp.Or(tags[tagSmaller], of[tagSmaller])))
	}
	metric := cmp.Or(tags[tagMetric], of[tagMetric], "loss")
	config := map[string]any{"searcher": map[string]any{"name": "single", "metric": metric, "smaller_is_better": smaller}, "entrypoint": "mlflow"}
	if name != "" {
		config["name"] = strings.ToValidUTF8(name, "?")
	}
	b, err := json.Marshal(config)
	return string(b), err
}

func (d Deps) changeRun(ctx context.Context, c *rest.Call, req *v1.MLflowUpdateRunRequest) (*v1.MLflowRunInfoAnswer, error) {
	r, err := d.reporting(ctx, c, req.RunID, req.RunUUID)
	if err != nil {
		return nil, err
	}
	state, known := states[req.Status]
	if req.Status != "" && !known {
		return nil, fault.New(fault.Invalid, "status: %q is none of SCHEDULED, RUNNING, FINISHED, FAILED and KILLED", fault.Clip(req.Status))
	}
	if req.RunName != "" {
		if len(req.RunName) > maxRunName {
			return nil, fault.New(fault.Invalid, "run_name: %d bytes are over the limit of %d", len(req.RunName), maxRunName)
		}
		if err := d.mark(ctx, c, r, change{tags: map[string]string{tagName: req.RunName}}); err != nil {
			return nil, err
		}
	}
	ended, err := timeOf("end_time", req.EndTime)
	if err != nil {
		return nil, err
	}
	if known && r.Unmanaged {
		if err := experiments.ReportUnmanagedTrialAt(ctx, d.DB, r.ID, state, ended); err != nil {
			return nil, err
		}
		d.Changed()
	}
	if r, err = runByID(ctx, d.DB, r.ID); err != nil {
		return nil, err
	}
	return &v1.MLflowRunInfoAnswer{Info: r.info()}, nil
}

func (d Deps) archiveRun(archived bool) rest.Handler[v1.MLflowRunID, v1.Empty] {
	return func(ctx context.Context, c *rest.Call, req *v1.MLflowRunID) (*v1.Empty, error) {
		r, err := d.run(ctx, c, req.RunID, req.RunUUID)
		if err == nil {
			err = c.May(auth.Change, r.object())
		}
		if err != nil {
			return nil, err
		}
		return &v1.Empty{}, archive(ctx, d.DB, r.ID, archived)
	}
}

const (
	usualRuns = 1000
	maxRuns   = 50_000
	maxInPage = 1000 // runs that one answer has; a page that is larger continues with the next
)

func (d Deps) searchRuns(ctx context.Context, c *rest.Call, req *v1.MLflowSearchRunsRequest) (*v1.MLflowRuns, error) {
	p, err := pageOf(req.PageToken, req.MaxResults, usualRuns, maxRuns)
	if err != nil {
		return nil, err
	}
	p.limit = min(p.limit, maxInPage)
	s := runSearch{page: p}
	if s.archived, err = viewOf("run_view_type", req.ViewType); err != nil {
		return nil, err
	}
	if s.filter, err = filter.Parse(req.Filter); err != nil {
		return nil, err
	}
	if s.order, err = orders(req.OrderBy); err != nil {
		return nil, err
	}
	if s.projects, err = projectsOf(req.ExperimentIDs); err != nil {
		return nil, err
	}
	list, more, err := searchRuns(ctx, d.DB, auth.ScopeOf(c.Who(), auth.View, v1.KindRun), s)
	if err != nil || len(list) == 0 {
		return &v1.MLflowRuns{}, err
	}
	ids := make([]int, len(list))
	for i, r := range list {
		ids[i] = r.ID
	}
	sums, err := metrics.Summaries(ctx, d.DB, ids)
	if err != nil {
		return nil, err
	}
	outputs, err := outputsOf(ctx, d.DB, ids)
	if err != nil {
		return nil, err
	}
	out := &v1.MLflowRuns{Next: p.next(len(list), more)}
	for _, r := range list {
		run, err := r.wire(latest(sums[r.ID], r.Metric))
		if err != nil {
			return nil, err
		}
		run.Outputs.Models = outputs[r.ID]
		out.Runs = append(out.Runs, run)
	}
	return out, nil
}

const maxSearched = 1000 // experiments of one search

// projectsOf are the projects that a search names; none stands for all that the caller sees.
func projectsOf(ids []string) ([]int, error) {
	if len(ids) > maxSearched {
		return nil, fault.New(fault.Invalid, "experiment_ids: %d are over the limit of %d", len(ids), maxSearched)
	}
	list := make([]int, 0, len(ids))
	for _, id := range ids {
		n, err := strconv.Atoi(id)
		if err != nil || n < 0 || n > maxID {
			return nil, fault.New(fault.Invalid, "experiment_ids: %q is no number of an experiment", fault.Clip(id))
		}
		list = append(list, max(n, 1))
	}
	return list, nil
}

// orders parses the keys of an order.
func orders(texts []string) (list []filter.Order, err error) {
	const most = 10
	if len(texts) > most {
		return nil, fault.New(fault.Invalid, "order_by: %d keys are over the limit of %d", len(texts), most)
	}
	for _, text := range texts {
		o, err := filter.ParseOrder(text)
		if err != nil {
			return nil, err
		}
		list = append(list, o)
	}
	return list, nil
}

// acting is the caller or, if it is an attempt, the session with which the attempt's program acts in the name of its owner.
func acting(who auth.Who) auth.Who {
	if !who.IsTask() {
		return who
	}
	return auth.Who{UserID: who.UserID, Username: who.Username, SessionEpoch: who.SessionEpoch, Within: who.AllocationID, Grants: who.Grants, Everybodys: who.Everybodys}
}

// object is a run for auth.
func (r Run) object() auth.Object {
	return auth.Object{Kind: v1.KindRun, Name: fmt.Sprintf("run %d", r.ID), OwnerID: r.OwnerID, WorkspaceID: r.WorkspaceID, TaskID: r.TaskID, TrialID: r.ID}
}
