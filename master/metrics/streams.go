package metrics

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/metrics/report"
	"github.com/detent-ml/detent/master/rest"
	"github.com/detent-ml/detent/master/sleep"
	v1 "github.com/detent-ml/detent/master/v1"
)

// The streams of an experiment's metrics, for pages that draw a search while it runs: each
// sends what is new every period, and ends after the experiments have ended.
const (
	streamPeriod    = 30 // seconds
	maxStreamPeriod = 3600
	sampleTrials    = 25 // unless the request says otherwise
	samplePoints    = 1000
	maxStreamed     = 100     // experiments of one stream of names
	recordBytes     = 1 << 20 // of curves in a record, after which the next record begins
	maxNamesKnown   = 5000    // that a stream of names knows to be sent; then it begins anew
)

// periodOf checks how long a stream waits between two records; 0 stands for the usual time.
func periodOf(seconds int) (time.Duration, error) {
	if seconds < 0 || seconds > maxStreamPeriod {
		return 0, fault.New(fault.Invalid, "periodSeconds: expected 1 to %d, found %d", maxStreamPeriod, seconds)
	}
	return time.Duration(cmp.Or(seconds, streamPeriod)) * time.Second, nil
}

// streamed checks which metric a stream is about, and how long it waits between two records.
func streamed(m v1.MetricOf, seconds int) (group, name string, period time.Duration, err error) {
	if group, name, err = metricOf(m); err == nil {
		period, err = periodOf(seconds)
	}
	return group, name, period, err
}

// metricOf checks which metric a request is about.
func metricOf(m v1.MetricOf) (group, name string, err error) {
	if m.MetricName == "" || len(m.MetricName) > report.MaxName {
		return "", "", fault.New(fault.Invalid, "metricName: expected a name of 1 to %d bytes", report.MaxName)
	}
	if m.Group != "" {
		return m.Group, m.MetricName, nil
	}
	switch m.MetricType {
	case v1.MetricTypeTraining:
		return report.Training, m.MetricName, nil
	case v1.MetricTypeValidation:
		return report.Validation, m.MetricName, nil
	case v1.MetricTypeProfiling:
		return profiledIn(m.MetricName), m.MetricName, nil
	}
	return "", "", fault.New(fault.Invalid, "group: name the metric's group, such as validation")
}

// profiledIn is the group of one of the profiler's metrics: cpu_util_simple is in cpu, net_throughput_sent in
// network.
func profiledIn(name string) string {
	const first = 3 // letters in which groups differ
	for _, group := range report.NodeGroups() {
		if strings.HasPrefix(name, group[:first]) {
			return group
		}
	}
	return report.NodeGroups()[0] // which has no such metric either
}

// sendEvery streams a record, and another one after each period until the experiments have ended. In each turn it
// first asks whether they have ended and then reads what is new, so that it misses nothing. While the database is
// unavailable, it waits. The reads of next are limited as those of an answer, and hold a share until the client has
// read the records.
func (d Deps) sendEvery(c *rest.Call, period time.Duration, experiments []int, next func(ctx context.Context, send func(record any) error) error) error {
	leave, err := d.Streams.Join(c.Who().Username)
	if err != nil {
		return err
	}
	owner := c.Owner()
	return c.Stream(func(ctx context.Context, out *rest.Records) error {
		defer leave()
		out.LimitStall(rest.StreamStalls)
		send := func(record any) error { return errors.Join(out.Add(record), out.Flush()) }
		for {
			list, err := d.Searches(ctx, experiments)
			over := !slices.ContainsFunc(list, func(e Search) bool { return !e.Over })
			if err == nil {
				err = d.InTurn(ctx, owner, func() error { return next(d.limitReads(ctx), send) })
			}
			switch {
			case err != nil && !fault.Is(err, fault.Unavailable):
				return err
			case err == nil && over:
				return nil
			}
			if err := sleep.For(ctx, period); err != nil {
				return err
			}
		}
	})
}

// streamMetricNames streams which metrics experiments have.
func (d Deps) streamMetricNames(ctx context.Context, c *rest.Call, req *v1.GetMetricNamesRequest) error {
	ids := req.IDs
	if len(ids) == 0 || len(ids) > maxStreamed {
		return fault.New(fault.Invalid, "ids: name one experiment to %d, found %d", maxStreamed, len(ids))
	}
	for _, id := range ids {
		e, err := d.Experiment(ctx, id)
		if err == nil {
			err = c.May(auth.View, e.Is)
		}
		if err != nil {
			return err
		}
	}
	c.Recheck(func(ctx context.Context, who auth.Who) error {
		for _, id := range ids {
			if e, err := d.Experiment(ctx, id); err == nil {
				if err := auth.May(who, auth.View, e.Is); err != nil {
					return err
				}
			}
		}
		return nil
	})
	period, err := periodOf(req.PeriodSeconds)
	if err != nil {
		return err
	}
	seen := map[v1.MetricIdentifier]bool{}
	return d.sendEvery(c, period, ids, func(ctx context.Context, send func(any) error) error {
		names, err := d.newNames(ctx, ids, seen)
		if err != nil {
			return err
		}
		return send(names)
	})
}

// newNames are the names that are not among the seen ones. The group of a searcher's metric is
// empty there.
func (d Deps) newNames(ctx context.Context, experiments []int, seen map[v1.MetricIdentifier]bool) (any, error) {
	searches, err := d.Searches(ctx, experiments)
	if err != nil {
		return nil, err
	}
	names, err := Names(ctx, d.DB, experiments)
	if err != nil {
		return nil, err
	}
	if len(seen) > maxNamesKnown {
		clear(seen)
	}
	isNew := func(group, name string) bool {
		id := v1.MetricIdentifier{Group: group, Name: name}
		defer func() { seen[id] = true }()
		return name != "" && !seen[id]
	}
	resp := v1.ExpMetricNamesResponse{}
	for _, s := range searches {
		if isNew("", s.Metric) {
			resp.SearcherMetrics = append(resp.SearcherMetrics, s.Metric)
		}
	}
	for _, m := range names {
		if !isNew(m.Group, m.Name) {
			continue
		}
		resp.MetricNames = append(resp.MetricNames, v1.MetricIdentifier{Group: m.Group, Name: m.Name})
		switch m.Group {
		case report.Training:
			resp.TrainingMetrics = append(resp.TrainingMetrics, m.Name)
		case report.Validation:
			resp.ValidationMetrics = append(resp.ValidationMetrics, m.Name)
		}
	}
	return resp, nil
}

// streamBatches streams the steps at which an experiment's trials report a metric.
func (d Deps) streamBatches(_ context.Context, c *rest.Call, e Experiment, req *v1.GetMetricBatchesRequest) error {
	group, name, period, err := streamed(req.MetricOf, req.PeriodSeconds)
	if err != nil {
		return err
	}
	var seen []int
	return d.sendEvery(c, period, []int{e.ID}, func(ctx context.Context, send func(any) error) error {
		steps, err := Steps(ctx, d.DB, e.ID, group, name)
		if err != nil {
			return err
		}
		resp := v1.MetricBatchesResponse{}
		for _, n := range steps {
			if _, known := slices.BinarySearch(seen, n); !known {
				resp.Batches = append(resp.Batches, n)
			}
		}
		seen = steps
		return send(resp)
	})
}

// streamSnapshot streams the values that an experiment's trials had at a number of steps.
func (d Deps) streamSnapshot(_ context.Context, c *rest.Call, e Experiment, req *v1.GetTrialsSnapshotRequest) error {
	group, name, period, err := streamed(req.MetricOf, req.PeriodSeconds)
	if err != nil {
		return err
	}
	if req.BatchesProcessed < 0 || req.BatchesMargin < 0 {
		return fault.New(fault.Invalid, "batchesProcessed, batchesMargin: expected 0 or more, found %d and %d", req.BatchesProcessed, req.BatchesMargin)
	}
	seen := map[int]float64{}
	return d.sendEvery(c, period, []int{e.ID}, func(ctx context.Context, send func(any) error) error {
		sent := false
		err := ValuesNear(database.UnlimitedReads(ctx), d.DB, e.ID, group, name, req.BatchesProcessed, req.BatchesMargin, func(page []TrialValue) error {
			resp := v1.TrialsSnapshotResponse{}
			for _, t := range page {
				if before, ok := seen[t.TrialID]; ok && before == t.Value {
					continue
				}
				seen[t.TrialID] = t.Value
				resp.Trials = append(resp.Trials, v1.TrialsSnapshotResponseTrial{TrialID: t.TrialID, HParams: t.HParams, Metric: t.Value, BatchesProcessed: t.Steps})
			}
			if len(resp.Trials) == 0 {
				return nil
			}
			sent = true
			return send(resp)
		})
		if err != nil || sent {
			return err
		}
		return send(v1.TrialsSnapshotResponse{})
	})
}

// A sample follows the curves of the best trials of an experiment.
type sample struct {
	d          Deps
	experiment int
	query      CurveQuery
	group      string
	name       string
	byLength   bool
	trials     int
	next       map[int]int // of each trial that is among the best, from which step on its points are new
}

// streamSample streams the curves of the best trials of an experiment, and which they are.
func (d Deps) streamSample(ctx context.Context, c *rest.Call, e Experiment, req *v1.GetTrialsSampleRequest) error {
	group, name, period, err := streamed(req.MetricOf, req.PeriodSeconds)
	if err != nil {
		return err
	}
	if req.StartBatches < 0 || req.EndBatches < 0 {
		return fault.New(fault.Invalid, "startBatches, endBatches: expected 0 or more, found %d and %d", req.StartBatches, req.EndBatches)
	}
	trials, err := rest.Between("maxTrials", req.MaxTrials, sampleTrials, maxTrials)
	if err != nil {
		return err
	}
	points, err := rest.Between("maxDatapoints", req.MaxDatapoints, samplePoints, 1<<20)
	if err != nil {
		return err
	}
	s := &sample{d: d, experiment: e.ID, group: group, name: name, trials: cmp.Or(trials, sampleTrials), next: map[int]int{},
		query: CurveQuery{Group: group, Names: []string{name}, MaxPoints: min(cmp.Or(points, samplePoints), maxPoints), From: req.StartBatches}}
	if req.EndBatches > 0 {
		s.query.To = &req.EndBatches
	}
	searches, err := d.Searches(ctx, []int{e.ID})
	if err != nil {
		return err
	}
	// Trials that a search has stopped early are worse than those that it let train on.
	s.byLength = len(searches) > 0 && (strings.Contains(searches[0].Searcher, "asha") || strings.Contains(searches[0].Searcher, "adaptive"))
	return d.sendEvery(c, period, []int{e.ID}, s.records)
}

// records sends what is new: one record, or several if the curves are long.
func (s *sample) records(ctx context.Context, send func(any) error) error {
	best, err := BestTrials(ctx, s.d.DB, s.experiment, s.group, s.name, s.byLength, s.trials)
	if err != nil {
		return err
	}
	trials, err := s.d.HParams(ctx, best)
	if err != nil {
		return err
	}
	resp := v1.TrialsSampleResponse{}
	for id := range s.next {
		if !slices.Contains(best, id) {
			resp.DemotedTrials = append(resp.DemotedTrials, id)
			delete(s.next, id)
		}
	}
	slices.Sort(resp.DemotedTrials)
	size, sent := 0, false
	for _, id := range best {
		its, there := trials[id]
		if !there {
			continue
		}
		var hparams v1.Struct // which clients know of the others
		from, known := s.next[id]
		if !known {
			from, hparams = s.query.From, its
			resp.PromotedTrials = append(resp.PromotedTrials, id)
		}
		q := s.query
		q.TrialID, q.From = id, from
		points, err := Curve(ctx, s.d.DB, q)
		if err != nil {
			return err
		}
		if len(points) > 0 {
			from = points[len(points)-1].Steps + 1
		}
		s.next[id] = from
		resp.Trials = append(resp.Trials, v1.TrialsSampleResponseTrial{TrialID: id, HParams: hparams, Data: wirePoints(points, q.Names)})
		if size += pointBytes(points, q.Names) + len(hparams); size > recordBytes {
			if err := send(resp); err != nil {
				return err
			}
			resp, size, sent = v1.TrialsSampleResponse{}, 0, true
		}
	}
	if sent && len(resp.Trials) == 0 {
		return nil
	}
	return send(resp)
}
