package search

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/detent-ml/detent/master/expconf"
)

// lengthGauge reads off a validation how much training it took, in the searcher's
// measure: a metric of that name where the program reports one, else what can be
// counted from the steps.
type lengthGauge struct {
	metric  string // named by time_metric: it must be there
	unit    expconf.Unit
	records int // per epoch
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

// at is how much training a validation took, or why that cannot be known.
func (g lengthGauge) at(v Validation, hparams func() map[string]any) (at float64, why string) {
	batch := 0.0
	if g.unit == expconf.Records || g.unit == expconf.Epochs {
		batch, _ = number(hparams()["global_batch_size"])
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
		return 0, fmt.Sprintf("its validation at step %d does not tell how many records it took: report a metric \"records\", or set the hyperparameter global_batch_size", v.Steps)
	case g.unit == expconf.Epochs:
		return 0, fmt.Sprintf("its validation at step %d does not tell how many epochs it took: report a metric \"epochs\", or set records_per_epoch and the hyperparameter global_batch_size", v.Steps)
	}
	return float64(v.Steps), ""
}

// metric is a validation's result, smaller being better, or why it has none. A
// network that diverged has a result: the worst.
func (s *Search) metric(v Validation) (metric float64, why string) {
	if v.Metric != nil {
		return s.sign * *v.Metric, ""
	}
	if v.Unfit == "" {
		return 0, fmt.Sprintf("its validation at step %d lacks the metric %q, which searcher.metric names", v.Steps, s.name)
	}
	f, err := strconv.ParseFloat(v.Unfit, 64)
	if err == nil || errors.Is(err, strconv.ErrRange) && math.IsInf(f, 0) {
		return math.Inf(1), ""
	}
	return 0, fmt.Sprintf("the metric %q of its validation at step %d is %s, and no number", s.name, v.Steps, v.Unfit)
}

// number reads a number in the forms that hyperparameters have.
func number(v any) (float64, bool) {
	switch x := v.(type) {
	case float64:
		return x, true
	case int64:
		return float64(x), true
	case int:
		return float64(x), true
	case json.Number:
		f, err := x.Float64()
		return f, err == nil
	}
	return 0, false
}
