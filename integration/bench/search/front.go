package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/search/front"
	"github.com/detent-ml/detent/master/search/sim"
)

// The benchmark of searches with two metrics: how much of what the true front dominates (the hypervolume up to 1.1 and 6) the results of
// a search dominate, after a number of whole trainings. The tasks are ZDT1 and ZDT2 (Zitzler, Deb and Thiele, "Comparison of Multiobjective
// Evolutionary Algorithms", 2000) with eight hyperparameters, whose front is where all but the first are 0. In a training, the second
// metric approaches its final value from above; Optuna, which cannot stop trials of several metrics, sees the final values only.

// frontTask is a task with a known front.
type frontTask struct {
	name string
	true float64 // the hypervolume of its front
	last func(share float64) float64
}

const (
	frontParameters = 8
	frontUnits      = 27 // length of a training
)

// frontReference is the point up to which hypervolumes are measured.
func frontReference() []float64 { return []float64{1.1, 6} }

func frontTasks() []frontTask {
	return []frontTask{
		{"ZDT1", 1.1*6 - 1.0/3, func(share float64) float64 { return 1 - math.Sqrt(share) }},
		{"ZDT2", 1.1*6 - 2.0/3, func(share float64) float64 { return 1 - share*share }},
	}
}

func (f frontTask) values(hparams map[string]any, part float64) (a, b float64) {
	g := 1.0
	for i := 1; i < frontParameters; i++ {
		g += 9 * hparams[fmt.Sprint("x", i)].(float64) / (frontParameters - 1)
	}
	a = hparams["x0"].(float64)
	untrained := (0.2 + hparams["x1"].(float64)) * (1/math.Sqrt(part) - 1) // some settings learn faster, so that early results mislead a little
	return a, g*f.last(a/g) + untrained
}

// frontCurve is one metric of a task.
type frontCurve struct {
	frontTask
	second bool
}

func (c frontCurve) At(hparams map[string]any, _ int64, part float64) float64 {
	a, b := c.values(hparams, part)
	if c.second {
		return b
	}
	return a
}

// A frontSeries has the part of the true hypervolume that each run has at each budget.
type frontSeries struct {
	task, method string
	runs         [][]float64
}

func frontBudgets() []int { return []int{25, 50, 100} }

func frontMethods() []struct {
	name, searcher string
	every          int64
} {
	return []struct {
		name, searcher string
		every          int64
	}{
		{"random draws", "name: random, sampler: random, max_trials: 110", frontUnits},
		{"`random`, sampler tpe", "name: random, sampler: tpe, max_trials: 110", frontUnits},
		{"`adaptive_asha`", "name: adaptive_asha, max_trials: 1000", 1},
	}
}

// fronts runs the benchmark and prints its table.
func fronts(o options, out io.Writer) error {
	var all []frontSeries
	for _, task := range frontTasks() {
		for _, m := range frontMethods() {
			s := frontSeries{task: task.name, method: m.name}
			for seed := range o.seeds {
				run, err := frontRun(o, task, m.searcher, m.every, int64(o.first+seed))
				if err != nil {
					return fmt.Errorf("%s on %s: %w", m.name, task.name, err)
				}
				s.runs = append(s.runs, run)
			}
			all = append(all, s)
		}
	}
	if o.optuna != "" {
		list, err := optunaFronts(o)
		if err != nil {
			return err
		}
		all = append(all, list...)
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "hypervolume, as %% of the true front's\tafter")
	for _, b := range frontBudgets() {
		fmt.Fprintf(w, "\t%d", b)
	}
	fmt.Fprintln(w)
	for _, task := range frontTasks() {
		for _, s := range all {
			if s.task != task.name {
				continue
			}
			fmt.Fprintf(w, "%s\t%s", s.task, s.method)
			for i := range frontBudgets() {
				var at []float64
				for _, run := range s.runs {
					at = append(at, 100*run[i])
				}
				mean, low, high := interval(at)
				fmt.Fprintf(w, "\t%.1f (%.1f–%.1f)", mean, low, high)
			}
			fmt.Fprintln(w)
		}
	}
	return w.Flush()
}

func frontRun(o options, task frontTask, searcher string, every, seed int64) ([]float64, error) {
	var space strings.Builder
	for i := range frontParameters {
		fmt.Fprintf(&space, "  x%d: {type: double, minval: 0, maxval: 1}\n", i)
	}
	raw, _, err := expconf.Parse("front", fmt.Appendf(nil, "entrypoint: x\nsearcher: {metrics: [{name: a}, {name: b}], max_length: {epochs: %d}, max_concurrent_trials: %d, %s}\nhyperparameters:\n%s",
		frontUnits, o.workers, searcher, space.String()))
	if err != nil {
		return nil, err
	}
	cfg, err := expconf.Complete(raw, expconf.ClusterDefaults{Name: "front"})
	if err != nil {
		return nil, err
	}
	budgets := frontBudgets()
	results, taken := make([][][]float64, len(budgets)), budgets[len(budgets)-1]*frontUnits
	_, err = sim.Run(cfg, seed, frontCurve{task, false}, sim.Options{Workers: o.workers, Every: every, Budget: int64(taken/o.workers + frontUnits),
		Others: map[string]sim.Curves{"b": frontCurve{task, true}},
		Report: func(_, trained int64, _ int, values map[string]float64) {
			for i, b := range budgets {
				if trained <= int64(b*frontUnits) {
					results[i] = append(results[i], []float64{values["a"], values["b"]})
				}
			}
		}})
	if err != nil {
		return nil, err
	}
	return task.parts(results)
}

// parts returns the part of the true hypervolume that results dominate, for each of several lists.
func (f frontTask) parts(results [][][]float64) ([]float64, error) {
	var out []float64
	for _, list := range results {
		v, err := front.Volume(list, frontReference())
		if err != nil {
			return nil, err
		}
		out = append(out, v/f.true)
	}
	return out, nil
}

// optunaFronts runs Optuna's samplers for several metrics on the same tasks.
func optunaFronts(o options) ([]frontSeries, error) {
	budgets := frontBudgets()
	cmd := exec.Command(o.optuna, filepath.Join(o.curves, "..", "search", "optuna_front.py"), strconv.Itoa(o.seeds), strconv.Itoa(o.workers), //nolint:noctx // a benchmark, ended with its terminal
		strconv.Itoa(budgets[len(budgets)-1]), strconv.Itoa(frontParameters))
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("the runs of Optuna with two metrics: %w", err)
	}
	var found []struct {
		Task   string        `json:"task"`
		Method string        `json:"method"`
		Runs   [][][]float64 `json:"runs"`
	}
	if err := json.Unmarshal(out, &found); err != nil {
		return nil, fmt.Errorf("parse the output of Optuna with two metrics: %w", err)
	}
	var list []frontSeries
	for _, m := range found {
		tasks := frontTasks()
		at := slices.IndexFunc(tasks, func(t frontTask) bool { return t.name == m.Task })
		s := frontSeries{task: m.Task, method: m.Method}
		for _, run := range m.Runs {
			var results [][][]float64
			for _, b := range budgets {
				results = append(results, run[:min(b, len(run))])
			}
			parts, err := tasks[at].parts(results)
			if err != nil {
				return nil, err
			}
			s.runs = append(s.runs, parts)
		}
		list = append(list, s)
	}
	return list, nil
}
