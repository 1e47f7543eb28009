package mlflow

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/detent-ml/detent/master/experiments"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/metrics"
	"github.com/detent-ml/detent/master/metrics/report"
	"github.com/detent-ml/detent/master/rest"
	v1 "github.com/detent-ml/detent/master/v1"
)

// systemPrefix begins the names of what MLflow's client measures of the machine.
const (
	systemPrefix = "system/"
	systemGroup  = "system"
)

func (d Deps) logMetric(ctx context.Context, c *rest.Call, req *v1.MLflowLogMetricRequest) (*v1.Empty, error) {
	return d.log(ctx, c, req.RunID, req.RunUUID, []v1.MLflowMetric{{Key: req.Key, Value: req.Value, Timestamp: req.Timestamp, Step: req.Step, ModelID: req.ModelID, Dataset: req.Dataset, Digest: req.Digest}}, change{})
}

func (d Deps) logParam(ctx context.Context, c *rest.Call, req *v1.MLflowLogParamRequest) (*v1.Empty, error) {
	params, err := newParams([]v1.MLflowTag{{Key: req.Key, Value: req.Value}})
	if err != nil {
		return nil, err
	}
	return d.log(ctx, c, req.RunID, req.RunUUID, nil, change{params: params})
}

func (d Deps) setTag(ctx context.Context, c *rest.Call, req *v1.MLflowTagRequest) (*v1.Empty, error) {
	tags, err := newTags([]v1.MLflowTag{{Key: req.Key, Value: req.Value}})
	if err != nil {
		return nil, err
	}
	return d.log(ctx, c, req.RunID, req.RunUUID, nil, change{tags: tags})
}

func (d Deps) deleteTag(ctx context.Context, c *rest.Call, req *v1.MLflowTagRequest) (*v1.Empty, error) {
	if req.Key == "" {
		return nil, fault.New(fault.Invalid, "key: name the tag")
	}
	return d.log(ctx, c, req.RunID, req.RunUUID, nil, change{drop: req.Key})
}

func (d Deps) logBatch(ctx context.Context, c *rest.Call, req *v1.MLflowLogBatchRequest) (*v1.Empty, error) {
	if len(req.Metrics) > maxOfValues || len(req.Metrics)+len(req.Params)+len(req.Tags) > maxOfValues {
		return nil, fault.New(fault.Invalid, "A batch logging request can contain at most %d metrics, params and tags together. Got %d. Please split them up across multiple requests and try again.",
			maxOfValues, len(req.Metrics)+len(req.Params)+len(req.Tags))
	}
	params, err := newParams(req.Params)
	if err != nil {
		return nil, err
	}
	tags, err := newTags(req.Tags)
	if err != nil {
		return nil, err
	}
	return d.log(ctx, c, req.RunID, req.RunUUID, req.Metrics, change{params: params, tags: tags})
}

func (d Deps) logInputs(ctx context.Context, c *rest.Call, req *v1.MLflowLogInputsRequest) (*v1.Empty, error) {
	for i, in := range req.Datasets {
		set := in.Dataset
		if set.Name == "" || set.Digest == "" {
			return nil, fault.New(fault.Invalid, "datasets[%d]: a data set needs a name and a digest", i)
		}
		for _, text := range []string{set.Name, set.Digest, set.SourceType, set.Source, set.Schema, set.Profile} {
			if err := checkText("datasets", text); err != nil {
				return nil, err
			}
		}
		if _, err := newTags(in.Tags); err != nil {
			return nil, err
		}
	}
	return d.log(ctx, c, req.RunID, req.RunUUID, nil, change{inputs: req.Datasets})
}

// log stores what a program reports about a run: first what MLflow checks, so that a request that it rejects stores nothing.
func (d Deps) log(ctx context.Context, c *rest.Call, id, uuid string, values []v1.MLflowMetric, ch change) (*v1.Empty, error) {
	r, err := d.logged(ctx, c, id, uuid)
	if err != nil {
		return nil, err
	}
	if r.ID != c.Who().TrialID {
		if err := d.Accept(ctx, experiments.Trial{ID: r.ID, TaskID: r.TaskID, OwnerID: r.OwnerID}, ch.size()+len(values)*bytesOfMetric); err != nil {
			return nil, err
		}
	}
	reports, err := d.reports(ctx, r, values)
	if err != nil {
		return nil, err
	}
	ofModels, err := d.ofModels(ctx, c, r, values)
	if err == nil {
		err = d.mark(ctx, c, r, ch)
	}
	if err == nil {
		err = d.report(ctx, reports)
	}
	if err == nil {
		err = storeModelValues(ctx, d.DB, ofModels)
	}
	return &v1.Empty{}, err
}

// bytesOfMetric is about what a value of a metric takes.
const bytesOfMetric = 64

// logged is the run about which a program reports. For the trial of the caller it reads nothing from the database, because reports are
// the most frequent calls.
func (d Deps) logged(ctx context.Context, c *rest.Call, id, uuid string) (Run, error) {
	if who := c.Who(); who.TrialID != 0 && isID(id, uuid, who.TrialID) {
		r := Run{ID: who.TrialID, RunID: who.RunID, OwnerID: who.UserID, TaskID: who.TaskID}
		return r, c.May(v1.Report, r.object())
	}
	return d.reporting(ctx, c, id, uuid)
}

// reports are the reports with the values of a request: those of one group and step are one report.
func (d Deps) reports(ctx context.Context, r Run, values []v1.MLflowMetric) ([]metrics.Report, error) {
	if len(values) == 0 {
		return nil, nil
	}
	searcher, err := d.Writer.SearcherMetric(ctx, r.ID)
	if err != nil {
		return nil, err
	}
	type at struct {
		group string
		step  int
		again time.Time // of a second value at one step
	}
	texts, times := map[at]map[string]float64{}, map[at]time.Time{}
	for _, m := range values {
		when, err := checkMetric(m)
		if err != nil {
			return nil, err
		}
		k := at{group: groupOf(m.Key, searcher), step: int(m.Step)}
		if was, twice := texts[k][m.Key]; twice && !same(was, m.Value) && m.Step == 0 {
			k.again = when
		}
		if texts[k] == nil {
			texts[k] = map[string]float64{}
		}
		texts[k][m.Key] = m.Value
		if when.After(times[k]) {
			times[k] = when
		}
	}
	list := make([]metrics.Report, 0, len(texts))
	for k, m := range texts {
		text, err := v1.Marshal(m)
		if err != nil {
			return nil, err
		}
		// Step 0 also stands for no step, so it does not tell that a later attempt of a trial begins anew. If it does, its step 1 tells.
		// The steps of system metrics are no batches: the client numbers its samples.
		rep := metrics.Report{TrialID: r.ID, RunID: r.RunID, Group: k.group, At: times[k], Metrics: json.RawMessage(text), Newer: k.step != 0, Beside: k.step == 0 || k.group == systemGroup}
		if !rep.Beside {
			rep.Series = slices.Sorted(maps.Keys(m))
		}
		if k.again.IsZero() {
			rep.Steps = new(k.step)
		} else {
			rep.Newer = true
		}
		list = append(list, rep)
	}
	slices.SortStableFunc(list, func(a, b metrics.Report) int { return order(a) - order(b) })
	return list, nil
}

// order puts the reports of a request in the order of their steps, as its program made them.
func order(r metrics.Report) int {
	if r.Steps == nil {
		return 1
	}
	return *r.Steps
}

// report stores reports. A program that gives no steps reports everything at step 0: its first report is that of step 0, and the
// further ones, which have other values, are told apart by their time.
func (d Deps) report(ctx context.Context, list []metrics.Report) error {
	if len(list) == 0 {
		return nil
	}
	var again []metrics.Report
	for i, err := range d.Writer.ReportAll(ctx, list) {
		if errors.Is(err, metrics.ErrOther) && !list[i].Newer {
			r := list[i]
			r.Steps, r.Newer = nil, true
			again = append(again, r)
			continue
		}
		if err != nil {
			return err
		}
	}
	if len(again) == 0 {
		return nil
	}
	return errors.Join(d.Writer.ReportAll(ctx, again)...)
}

func same(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }

// groupOf is the group of a metric by its name: that of the searcher's metric is validation, so that it drives the search.
func groupOf(name, searcher string) string {
	switch {
	case name == searcher:
		return report.Validation
	case strings.HasPrefix(name, systemPrefix):
		return systemGroup
	}
	return report.Training
}

func checkMetric(m v1.MLflowMetric) (time.Time, error) {
	if err := checkKey("metrics", m.Key); err != nil {
		return time.Time{}, err
	}
	if m.Step < 0 || m.Step > math.MaxInt32 {
		return time.Time{}, fault.New(fault.Invalid, "step: %d of the metric %s is not between 0 and %d", m.Step, fault.Clip(m.Key), math.MaxInt32)
	}
	when, err := timeOf("timestamp", m.Timestamp)
	if when.IsZero() || when.Before(time.Unix(0, 0).Add(48*time.Hour)) {
		when = time.Now()
	}
	return when, err
}
