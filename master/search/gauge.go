package search

import (
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/detent-ml/detent/master/expconf"
)

// lengthGauge computes how long a trial had trained when it reported a validation, in the
// searcher's unit: the value of the metric named like the unit if the program reports
// such a metric, else a length computed from the number of steps.
type lengthGauge struct {
	metric  string       // searcher.time_metric: a report without this metric is an error; "" if not configured
	unit    expconf.Unit // of max_length
	records int          // records_per_epoch
}

func newGauge(cfg expconf.Config) lengthGauge {
	g := lengthGauge{records: cfg.RecordsPerEpoch}
	_, measure := cfg.Searcher.FullLength()
	if cfg.Searcher.MaxTime != nil {
		g.metric = measure
	} else {
		g.unit = expconf.Unit(measure)
	}
	return g
}

// at returns the length of training of a validation, or why the length is unknown.
func (g lengthGauge) at(v Validation, hparams func() map[string]any) (at float64, why string) {
	batch := 0.0
	if g.unit == expconf.Records || g.unit == expconf.Epochs {
		batch, _ = expconf.Number(hparams()["global_batch_size"])
	}
	switch {
	case v.Length > 0:
		return float64(v.Length), ""
	case v.Time != nil:
		return *v.Time, ""
	case g.metric != "":
		return 0, fmt.Sprintf("its validation at step %d lacks the metric %q, which searcher.time_metric names", v.Steps, g.metric)
	case g.unit == expconf.Records && batch > 0:
		return float64(v.Steps) * batch, ""
	case g.unit == expconf.Epochs && batch > 0 && g.records > 0:
		return float64(v.Steps) * batch / float64(g.records), ""
	case g.unit == expconf.Records:
		return 0, fmt.Sprintf("its validation at step %d does not report how many records it took: report a metric \"records\", or set the hyperparameter global_batch_size", v.Steps)
	case g.unit == expconf.Epochs:
		return 0, fmt.Sprintf("its validation at step %d does not report how many epochs it took: report a metric \"epochs\", or set records_per_epoch and the hyperparameter global_batch_size", v.Steps)
	}
	return float64(v.Steps), ""
}

// judge returns a validation's result, where smaller is better, or why the validation has none.
func (s *Search) judge(v Validation) (r Result, why string) {
	switch {
	case s.goals != nil:
		r, _, why = s.goals.judge(v, s.sign)
	case v.Metric != nil:
		r.Metric = s.sign * *v.Metric
	default:
		r.Metric, why = unfitMetric(s.name, "searcher.metric", v.Unfit, v.Steps)
	}
	return r, why
}

// unfitMetric returns the result of a validation whose metric is no finite number, or why it has none. The result of a network that diverged (NaN
// or infinite) is +Inf, the worst.
func unfitMetric(name, field, unfit string, steps int) (worst float64, why string) {
	if unfit == "" {
		return 0, fmt.Sprintf("its validation at step %d lacks the metric %q, which %s names", steps, name, field)
	}
	f, err := strconv.ParseFloat(unfit, 64)
	if err == nil || errors.Is(err, strconv.ErrRange) && math.IsInf(f, 0) {
		return math.Inf(1), ""
	}
	return 0, fmt.Sprintf("the metric %q of its validation at step %d is %s, not a number", name, steps, unfit)
}
