package experiments

import (
	"context"
	"strings"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/checkpoints"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/metrics"
	"github.com/detent-ml/detent/master/models"
	"github.com/detent-ml/detent/master/rest"
	v1 "github.com/detent-ml/detent/master/v1"
)

// sourceKind reads the kind of a source: how a trial works with it.
func sourceKind(t v1.TrialSourceInfoType) (string, error) {
	switch t {
	case v1.TrialSourceInfoTypeInference, v1.TrialSourceInfoTypeFineTuning:
		return strings.TrimPrefix(string(t), "TRIAL_SOURCE_INFO_TYPE_"), nil
	}
	return "", fault.New(fault.Invalid, "trialSourceInfoType: expected %s or %s, found %q",
		v1.TrialSourceInfoTypeInference, v1.TrialSourceInfoTypeFineTuning, fault.Clip(string(t)))
}

// trialSource stores which checkpoint, or version of a model, a trial works with. The trial
// or its owner reports it. A repeated report changes nothing.
func (d Deps) trialSource(ctx context.Context, c *rest.Call, req *v1.ReportTrialSourceInfoRequest) (*v1.ReportTrialSourceInfoResponse, error) {
	info := req.TrialSourceInfo
	if info == nil {
		return nil, fault.New(fault.Invalid, "trialSourceInfo: is missing")
	}
	_, err := ReportingRun(ctx, d.DB, c, info.TrialID)
	if err != nil {
		return nil, err
	}
	s := TrialSource{TrialID: info.TrialID, ModelID: info.ModelID, Version: info.ModelVersion}
	if s.Kind, err = sourceKind(info.TrialSourceInfoType); err != nil {
		return nil, err
	}
	k, err := checkpoints.OwnerOfNamed(ctx, d.DB, info.CheckpointUUID)
	if err == nil {
		err = c.May(auth.View, k.Object())
	}
	if err != nil {
		return nil, err
	}
	s.UUID = k.UUID
	if err := d.checkSourceVersion(ctx, c, s); err != nil {
		return nil, err
	}
	return &v1.ReportTrialSourceInfoResponse{TrialID: s.TrialID, CheckpointUUID: s.UUID}, SetTrialSource(ctx, d.DB, s)
}

// checkSourceVersion refuses a version of a model that the caller may not view, or that has
// another checkpoint.
func (d Deps) checkSourceVersion(ctx context.Context, c *rest.Call, s TrialSource) error {
	switch {
	case s.ModelID == nil && s.Version == nil:
		return nil
	case s.ModelID == nil || s.Version == nil:
		return fault.New(fault.Invalid, "modelId and modelVersion name a version of a model together; only one of them is given")
	}
	m, err := models.Get(ctx, d.DB, *s.ModelID)
	if err == nil {
		err = c.May(auth.View, models.Object(m))
	}
	if err != nil {
		return err
	}
	v, err := models.VersionByNumber(ctx, d.DB, m, *s.Version)
	if err == nil && v.UUID != s.UUID {
		err = fault.New(fault.Invalid, "checkpointUuid: version %d of model %q has checkpoint %s, not %s", v.Number, m.Name, v.UUID, s.UUID)
	}
	return err
}

// maxSourceReports limits the reports in one answer, which clients receive as a whole.
const maxSourceReports = 100_000

// metricsWith lists the reports of all trials that the caller may view and that have reported that
// they work with a source.
func (d Deps) metricsWith(ctx context.Context, c *rest.Call, req *v1.GetSourceMetricsRequest, s TrialSource) ([]v1.MetricsReport, error) {
	if t := req.TrialSourceInfoType; t != "" && t != v1.TrialSourceInfoTypeUnspecified {
		kind, err := sourceKind(t)
		if err != nil {
			return nil, err
		}
		s.Kind = kind
	}
	trials, err := TrialsWith(ctx, d.DB, auth.ScopeOf(c.Who(), auth.View, v1.KindTrial), s) // the route is about a model or a checkpoint
	if err != nil {
		return nil, err
	}
	out, size := []v1.MetricsReport{}, 0
	err = metrics.Each(ctx, d.DB, trials, req.MetricGroup, func(page []metrics.Row) error {
		for _, m := range page {
			w := metrics.Wire(m)
			size += len(w.Metrics)
			out = append(out, w)
		}
		if len(out) > maxSourceReports || size > maxSourceBytes {
			return fault.New(fault.TooLarge, "%d trials have more reports than one answer holds; name a group with metricGroup, or ask for the metrics of each trial", len(trials))
		}
		return nil
	})
	return out, err
}

// maxSourceBytes limits the size of the values in one answer.
const maxSourceBytes = 16 << 20

func (d Deps) modelVersionMetrics(ctx context.Context, c *rest.Call, v models.Registration, req *v1.GetSourceMetricsRequest) (*v1.GetTrialMetricsByModelVersionResponse, error) {
	list, err := d.metricsWith(ctx, c, req, TrialSource{ModelID: &v.Model.ID, Version: &v.Version.Number})
	return &v1.GetTrialMetricsByModelVersionResponse{Metrics: list}, err
}

func (d Deps) checkpointMetrics(ctx context.Context, c *rest.Call, k checkpoints.Checkpoint, req *v1.GetSourceMetricsRequest) (*v1.GetTrialMetricsByCheckpointResponse, error) {
	list, err := d.metricsWith(ctx, c, req, TrialSource{UUID: k.UUID})
	return &v1.GetTrialMetricsByCheckpointResponse{Metrics: list}, err
}
