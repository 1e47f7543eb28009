package api

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/sleep"
	"github.com/detent-ml/detent/master/store"
	v1 "github.com/detent-ml/detent/master/v1"
)

// The streams of an experiment's metrics, for pages that draw a search while it runs: each
// sends what is new every period, and ends after the experiments have ended.
const (
	streamPeriod    = 30 // seconds
	maxStreamPeriod = 3600
	sampleTrials    = 25 // unless the request says otherwise
	samplePoints    = 1000
	maxStreamed     = 100 // experiments of one stream of names
)

func (a *API) registerMetricStreams() {
	raw(a, v1.StreamMetricNames, a.streamMetricNames)
	rawOn(a, v1.StreamMetricBatches, a.onExperimentHead(), a.streamBatches)
	rawOn(a, v1.StreamTrialsSnapshot, a.onExperimentHead(), a.streamSnapshot)
	rawOn(a, v1.StreamTrialsSample, a.onExperimentHead(), a.streamSample)
}

// period reads how long a stream waits between two records.
func (c *call) period() (time.Duration, error) {
	n, err := c.intOr("periodSeconds", 0)
	switch {
	case err != nil:
		return 0, err
	case n < 0 || n > maxStreamPeriod:
		return 0, fault.New(fault.Invalid, "periodSeconds: expected 1 to %d, found %d", maxStreamPeriod, n)
	case n == 0:
		n = streamPeriod
	}
	return time.Duration(n) * time.Second, nil
}

// metric reads which metric a request is about.
func (c *call) metric() (group, name string, err error) {
	if name, _ = c.query("metricName"); name == "" || len(name) > maxName {
		return "", "", fault.New(fault.Invalid, "metricName: a name of at most %d bytes is needed", maxName)
	}
	if group, _ = c.query("group"); group != "" {
		return group, name, nil
	}
	switch kind, _ := c.query("metricType"); v1.MetricType(kind) {
	case v1.MetricTypeTraining:
		return store.Training, name, nil
	case v1.MetricTypeValidation:
		return store.Validation, name, nil
	case v1.MetricTypeProfiling:
		return profiledIn(name), name, nil
	}
	return "", "", fault.New(fault.Invalid, "group: name the metric's group, such as validation")
}

// profiledIn is the group of one of the profiler's metrics: cpu_util_simple is in cpu, net_throughput_sent in
// network.
func profiledIn(name string) string {
	const first = 3 // letters in which groups differ
	for _, group := range store.ProfilerGroups() {
		if strings.HasPrefix(name, group[:first]) {
			return group
		}
	}
	return store.ProfilerGroups()[0] // which has no such metric either
}

// atLeast reads a number that is not negative.
func (c *call) atLeast(zero string, def, limit int) (int, error) {
	n, err := c.intOr(zero, def)
	switch {
	case err != nil:
		return 0, err
	case n < 0 || n > limit:
		return 0, fault.New(fault.Invalid, "%s: expected 0 to %d, found %d", zero, limit, n)
	}
	return n, nil
}

// sendEvery streams a record, and another one after each period until experiments have ended. It
// looks whether they are over before it looks for what is new, so that nothing is missed. While
// the database is away, it waits.
func (a *API) sendEvery(c *call, period time.Duration, experiments []int, next func(context.Context) (any, error)) error {
	return a.stream(c, func(ctx context.Context, out *records) error {
		for {
			list, err := a.db.Searches(ctx, experiments)
			over := !slices.ContainsFunc(list, func(e store.SearchOf) bool { return !e.Over })
			var record any
			if err == nil {
				record, err = next(ctx)
			}
			switch {
			case err != nil && !fault.Is(err, fault.Unavailable):
				return err
			case err == nil:
				if err := errors.Join(out.add(record), out.flush()); err != nil || over {
					return err
				}
			}
			if err := sleep.For(ctx, period); err != nil {
				return err
			}
		}
	})
}

// streamMetricNames streams which metrics experiments have.
func (a *API) streamMetricNames(ctx context.Context, c *call) error {
	ids, err := c.numbers("ids")
	if err != nil {
		return err
	}
	if len(ids) == 0 || len(ids) > maxStreamed {
		return fault.New(fault.Invalid, "ids: name one experiment to %d, found %d", maxStreamed, len(ids))
	}
	for _, id := range ids {
		e, err := a.db.ExperimentHead(ctx, id)
		if err == nil {
			err = c.may(auth.View, ofExperiment(e))
		}
		if err != nil {
			return err
		}
	}
	period, err := c.period()
	if err != nil {
		return err
	}
	seen := map[v1.MetricIdentifier]bool{}
	return a.sendEvery(c, period, ids, func(ctx context.Context) (any, error) {
		return a.newNames(ctx, ids, seen)
	})
}

// newNames are the names that are not among the seen ones. The group of a searcher's metric is
// empty there.
func (a *API) newNames(ctx context.Context, experiments []int, seen map[v1.MetricIdentifier]bool) (any, error) {
	searches, err := a.db.Searches(ctx, experiments)
	if err != nil {
		return nil, err
	}
	names, err := a.db.MetricNames(ctx, experiments)
	if err != nil {
		return nil, err
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
		case store.Training:
			resp.TrainingMetrics = append(resp.TrainingMetrics, m.Name)
		case store.Validation:
			resp.ValidationMetrics = append(resp.ValidationMetrics, m.Name)
		}
	}
	return resp, nil
}

// streamBatches streams the steps at which an experiment's trials report a metric.
func (a *API) streamBatches(_ context.Context, c *call, e store.ExperimentHead) error {
	group, name, err := c.metric()
	if err != nil {
		return err
	}
	period, err := c.period()
	if err != nil {
		return err
	}
	seen := map[int]bool{}
	return a.sendEvery(c, period, []int{e.ID}, func(ctx context.Context) (any, error) {
		steps, err := a.db.StepsOf(ctx, e.ID, group, name)
		resp := v1.MetricBatchesResponse{}
		for _, n := range steps {
			if !seen[n] {
				seen[n] = true
				resp.Batches = append(resp.Batches, n)
			}
		}
		return resp, err
	})
}

// streamSnapshot streams the values that an experiment's trials had at a number of steps.
func (a *API) streamSnapshot(_ context.Context, c *call, e store.ExperimentHead) error {
	group, name, err := c.metric()
	if err != nil {
		return err
	}
	period, err := c.period()
	if err != nil {
		return err
	}
	steps, err := c.atLeast("batchesProcessed", 0, math.MaxInt32)
	if err != nil {
		return err
	}
	margin, err := c.atLeast("batchesMargin", 0, math.MaxInt32)
	if err != nil {
		return err
	}
	seen := map[int]float64{}
	return a.sendEvery(c, period, []int{e.ID}, func(ctx context.Context) (any, error) {
		list, err := a.db.ValuesNear(ctx, e.ID, group, name, steps, margin)
		resp := v1.TrialsSnapshotResponse{}
		for _, t := range list {
			if before, ok := seen[t.TrialID]; ok && before == t.Value {
				continue
			}
			seen[t.TrialID] = t.Value
			resp.Trials = append(resp.Trials, v1.TrialsSnapshotResponseTrial{TrialID: t.TrialID, HParams: t.HParams, Metric: t.Value, BatchesProcessed: t.Steps})
		}
		return resp, err
	})
}

// A sample follows the curves of the best trials of an experiment.
type sample struct {
	a          *API
	experiment int
	query      store.SeriesQuery
	group      string
	name       string
	byLength   bool
	trials     int
	next       map[int]int // of each trial that is among the best, from which step on its points are new
}

// streamSample streams the curves of the best trials of an experiment, and which they are.
func (a *API) streamSample(ctx context.Context, c *call, e store.ExperimentHead) error {
	group, name, err := c.metric()
	if err != nil {
		return err
	}
	period, err := c.period()
	if err != nil {
		return err
	}
	s := &sample{a: a, experiment: e.ID, group: group, name: name, next: map[int]int{}, query: store.SeriesQuery{Group: group, Names: []string{name}}}
	for param, into := range map[string]struct {
		value      *int
		def, limit int
	}{"maxTrials": {&s.trials, sampleTrials, maxTrials}, "maxDatapoints": {&s.query.MaxPoints, samplePoints, 1 << 20},
		"startBatches": {&s.query.From, 0, math.MaxInt32}, "endBatches": {&s.query.To, 0, math.MaxInt32}} {
		if *into.value, err = c.atLeast(param, into.def, into.limit); err != nil {
			return err
		}
		if *into.value == 0 {
			*into.value = into.def
		}
	}
	s.query.MaxPoints = min(s.query.MaxPoints, maxPoints)
	searches, err := a.db.Searches(ctx, []int{e.ID})
	if err != nil {
		return err
	}
	// Trials that a search has stopped early are worse than those that it let train on.
	s.byLength = len(searches) > 0 && (strings.Contains(searches[0].Searcher, "asha") || strings.Contains(searches[0].Searcher, "adaptive"))
	return a.sendEvery(c, period, []int{e.ID}, s.record)
}

func (s *sample) record(ctx context.Context) (any, error) {
	best, err := s.a.db.BestTrials(ctx, s.experiment, s.group, s.name, s.byLength, s.trials)
	if err != nil {
		return nil, err
	}
	resp := v1.TrialsSampleResponse{}
	for id := range s.next {
		if !slices.Contains(best, id) {
			resp.DemotedTrials = append(resp.DemotedTrials, id)
			delete(s.next, id)
		}
	}
	slices.Sort(resp.DemotedTrials)
	trials, err := s.a.db.TrialsByID(ctx, best)
	if err != nil {
		return nil, err
	}
	for _, t := range trials {
		from, known := s.next[t.ID]
		if !known {
			from = s.query.From
			resp.PromotedTrials = append(resp.PromotedTrials, t.ID)
		}
		q := s.query
		q.TrialID, q.From = t.ID, from
		points, err := s.a.db.Series(ctx, q)
		if err != nil {
			return nil, err
		}
		if len(points) > 0 {
			from = points[len(points)-1].Steps + 1
		}
		s.next[t.ID] = from
		resp.Trials = append(resp.Trials, v1.TrialsSampleResponseTrial{TrialID: t.ID, HParams: t.HParams, Data: wirePoints(points, q.Names)})
	}
	return resp, nil
}
