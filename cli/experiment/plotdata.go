package experiment

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/detent-ml/detent/cli/internal/chart"
	"github.com/detent-ml/detent/cli/internal/output"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/jsontext"
	"github.com/detent-ml/detent/master/v1"
)

var errNoTrial = fault.New(fault.NotFound, "the experiment has no trial to draw")

// A plot is all curves of a trial, in panels.
type plot struct {
	experiment v1.Experiment
	trial      v1.Trial
	metric     string // the searcher's
	smaller    bool   // smaller values of it are better
	panels     []panel
}

// A panel is the curves in one chart: the training and validation values of the same metric.
type panel struct {
	name   string
	series []chart.Series
}

// both reports whether the panel shows training and validation.
func (p panel) both() bool { return len(p.series) > 1 }

func loadPlot(ctx context.Context, c *client.Client, o plotOptions) (*plot, error) {
	resp, err := client.Call(ctx, c, v1.GetExperiment, o.id)
	if err != nil {
		return nil, err
	}
	p := &plot{experiment: resp.Experiment}
	if err := p.readSearcher(resp); err != nil {
		return nil, err
	}
	if err := p.pickTrial(ctx, c, o); err != nil {
		return nil, err
	}
	training, err := curves(ctx, c, client.TrainingGroup, p.trial.ID)
	if err != nil {
		return nil, err
	}
	validation, err := curves(ctx, c, client.ValidationGroup, p.trial.ID)
	if err != nil {
		return nil, err
	}
	p.arrange(training, validation)
	return p, nil
}

func (p *plot) readSearcher(resp *v1.GetExperimentResponse) error {
	var conf struct {
		Searcher struct {
			Metric          string `json:"metric"`
			SmallerIsBetter *bool  `json:"smaller_is_better"`
		} `json:"searcher"`
	}
	if err := resp.Experiment.Config.Into(&conf); err != nil {
		return fault.New(fault.Internal, "the experiment's configuration cannot be read: %w", err)
	}
	p.metric = cmp.Or(conf.Searcher.Metric, resp.Experiment.SearcherMetric)
	p.smaller = conf.Searcher.SmallerIsBetter == nil || *conf.Searcher.SmallerIsBetter
	return nil
}

// pickTrial returns the requested trial, else the best one, else the first.
func (p *plot) pickTrial(ctx context.Context, c *client.Client, o plotOptions) error {
	want := o.trial
	if want == 0 && p.experiment.BestTrialID != nil {
		want = *p.experiment.BestTrialID
	}
	if want == 0 {
		first, err := lowestTrial(ctx, c, o.id)
		if err != nil {
			return err
		}
		if want = first; want == 0 {
			return errNoTrial
		}
	}
	t, err := c.Trial(ctx, want)
	if err != nil {
		return err
	}
	if t.ExperimentID != o.id {
		return fault.New(fault.Invalid, "trial %d belongs to experiment %d, not %d", want, t.ExperimentID, o.id)
	}
	p.trial = *t
	return nil
}

// curves reads the reports of a group, by metric. It ignores values that are not numbers.
func curves(ctx context.Context, c *client.Client, group string, trial int) (map[string][]chart.Point, error) {
	out := map[string][]chart.Point{}
	for report, err := range c.TrialMetrics(ctx, group, trial) {
		if err != nil {
			return nil, err
		}
		for name, value := range numbers(report.Metrics) {
			out[name] = append(out[name], chart.Point{X: float64(report.TotalBatches), Y: value})
		}
	}
	for _, points := range out {
		slices.SortStableFunc(points, func(a, b chart.Point) int { return cmp.Compare(a.X, b.X) })
	}
	return out, nil
}

// numbers are the metrics of a report. They are under avg_metrics, or for validations of older
// harnesses under validation_metrics.
func numbers(s v1.Struct) map[string]float64 {
	var top map[string]json.RawMessage
	if s.Into(&top) != nil {
		return nil
	}
	for _, inner := range []string{"avg_metrics", "avgMetrics", "validation_metrics"} {
		var below map[string]json.RawMessage
		if raw, ok := top[inner]; ok && json.Unmarshal(raw, &below) == nil {
			top = below
			break
		}
	}
	out := map[string]float64{}
	for name, raw := range top {
		var f float64
		if json.Unmarshal(raw, &f) == nil {
			out[name] = f
			continue
		}
		switch string(raw) {
		case `"NaN"`:
			out[name] = math.NaN()
		case `"Infinity"`:
			out[name] = math.Inf(1)
		case `"-Infinity"`:
			out[name] = math.Inf(-1)
		}
	}
	return out
}

// arrange makes the panels: first the searcher's metric, then those with training and
// validation, then the others, each sorted by name.
func (p *plot) arrange(training, validation map[string][]chart.Point) {
	byBase := map[string]*panel{}
	add := func(group, name string, points []chart.Point, marks bool) {
		base := baseName(name)
		if byBase[base] == nil {
			byBase[base] = &panel{name: base}
		}
		label := name
		if !strings.Contains(name, group[:3]) { // "loss" alone does not show the group
			label = group + " " + name
		}
		byBase[base].series = append(byBase[base].series, chart.Series{
			Name: label, Points: points, Marks: marks, Note: p.note(name, points, marks),
		})
	}
	for _, name := range slices.Sorted(maps.Keys(training)) {
		add(client.TrainingGroup, name, training[name], false)
	}
	for _, name := range slices.Sorted(maps.Keys(validation)) {
		add(client.ValidationGroup, name, validation[name], true)
	}
	rank := func(q panel) int {
		switch {
		case q.name == baseName(p.metric):
			return 0
		case q.both():
			return 1
		}
		return 2
	}
	for _, q := range byBase {
		p.panels = append(p.panels, *q)
	}
	slices.SortFunc(p.panels, func(a, b panel) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), strings.Compare(a.name, b.name))
	})
}

// baseName is the name of a metric without the words for training and validation.
func baseName(name string) string {
	for _, prefix := range []string{"validation_", "training_", "valid_", "train_", "val_", "eval_"} {
		if base, ok := strings.CutPrefix(name, prefix); ok && base != "" {
			return base
		}
	}
	return name
}

// note is the last and best values of a curve.
func (p *plot) note(name string, points []chart.Point, validation bool) string {
	if len(points) == 0 {
		return ""
	}
	note := chart.Value(points[len(points)-1].Y)
	if !validation || name != p.metric {
		return note
	}
	best := points[0]
	for _, q := range points {
		better := q.Y > best.Y
		if p.smaller {
			better = q.Y < best.Y
		}
		if better || math.IsNaN(best.Y) {
			best = q
		}
	}
	return fmt.Sprintf("%s, best %s at %.0f", note, chart.Value(best.Y), best.X)
}

func (p *plot) title() string {
	progress := ""
	if f := p.experiment.Progress; f != nil && !isFinal(p.experiment.State) {
		progress = fmt.Sprintf(", %.0f%%", *f*100)
	}
	return fmt.Sprintf("Experiment %d  %s  %s%s  trial %d",
		p.experiment.ID, p.experiment.Name, bare(p.experiment.State), progress, p.trial.ID)
}

// find finds a metric by its own name or by its base name.
func (p *plot) find(name string) (panel, bool) {
	for _, q := range p.panels {
		if q.name == name {
			return q, true
		}
	}
	for _, q := range p.panels {
		for _, s := range q.series {
			if s.Name == name || strings.HasSuffix(s.Name, " "+name) {
				return panel{name: name, series: []chart.Series{s}}, true
			}
		}
	}
	return panel{}, false
}

func (p *plot) names() []string { return each.Of(p.panels, func(q panel) string { return q.name }) }

// json writes the points as JSON for other programs.
func (p *plot) json(w io.Writer) error {
	doc := map[string]any{"experiment": p.experiment.ID, "trial": p.trial.ID}
	var all []any
	for _, q := range p.panels {
		for _, s := range q.series {
			points := each.Of(s.Points, func(pt chart.Point) [2]any { return [2]any{pt.X, jsontext.FiniteOrText(pt.Y)} })
			all = append(all, map[string]any{"metric": s.Name, "points": points})
		}
	}
	doc["series"] = all
	raw, err := json.Marshal(doc)
	if err != nil {
		return err
	}
	return output.JSON(w, raw)
}
