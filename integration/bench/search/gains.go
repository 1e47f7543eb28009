package main

import (
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/search/sim"
)

// What a search says about further trials (package gain) is compared with what they brought, and searches that stop when nothing is gained with the
// same searches to their end.

// A gainTask is a table on which searches run.
type gainTask struct {
	name   string
	epochs int64
	config func(m method, trials, workers int) (expconf.Config, error)
	curves func() sim.Curves
	regret func(c sim.Curves, x sim.Trial, at int64) float64 // of a trial after so many epochs
}

const (
	gainTrials  = 256
	gainWorkers = 4
)

func gainMethods() []method {
	const many = ", max_trials: TRIALS, max_concurrent_trials: WORKERS"
	return []method{{"random", "name: random" + many}, {"random, tpe", "name: random, sampler: tpe" + many}, {"adaptive ASHA (default)", "name: adaptive_asha" + many}}
}

// gains prints both comparisons for the tables of the project.
func gains(o options, out io.Writer) error {
	files, err := filepath.Glob(filepath.Join(o.curves, "*.curves.gz"))
	if err != nil {
		return err
	}
	var tasks []gainTask
	for _, file := range files {
		f, err := os.Open(file)
		if err != nil {
			return err
		}
		t, err := sim.ReadTable(f)
		f.Close()
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		best := t.Best()
		tasks = append(tasks, gainTask{
			name: t.Name, epochs: int64(t.Epochs), curves: func() sim.Curves { return t },
			config: func(m method, trials, workers int) (expconf.Config, error) {
				o := o
				o.workers = workers
				return m.config(o, t, trials)
			},
			regret: func(c sim.Curves, x sim.Trial, at int64) float64 {
				return c.At(x.HParams, x.Seed, float64(at)/float64(t.Epochs)) - best
			},
		})
	}
	return compareGains(out, tasks, o.only, o.seeds, o.first)
}

// compareGains runs the searches. Regret is in units of the task.
func compareGains(out io.Writer, tasks []gainTask, only string, seeds, first int) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "searches of %d trials with %d workers, %d seeds: with stop_when {gain: 0.01, trials: 20, probability: 0.1}, and without it\n\n", gainTrials, gainWorkers, seeds)
	fmt.Fprintln(w, "table\tsearcher\tstopped\ttrials\twhole trainings\tof\tregret × 100\twithout")
	var all [][]said
	methods := slices.DeleteFunc(gainMethods(), func(m method) bool { return !strings.Contains(m.name, only) })
	for _, m := range methods {
		var list []said
		for _, t := range tasks {
			s, err := compareGain(w, t, m, seeds, first)
			if err != nil {
				return fmt.Errorf("%s on %s: %w", m.name, t.name, err)
			}
			list = append(list, s...)
		}
		all = append(all, list)
	}
	fmt.Fprint(w, "\nhow often 20 further trials improved the best result by 1 %, by the probability that the search had said (number of estimates)\n\n")
	fmt.Fprint(w, "searcher")
	for i := range len(saidBounds) - 1 {
		fmt.Fprintf(w, "\t%.0f–%.0f %%", 100*saidBounds[i], 100*saidBounds[i+1])
	}
	fmt.Fprintln(w, "\tall: said\twere\tBrier\tof the mean")
	for i, m := range methods {
		calibration(w, m.name, all[i])
	}
	return w.Flush()
}

// said is a probability that a search has named, and whether it came true.
type said struct {
	probability float64
	came        bool
}

var saidBounds = []float64{0, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.01}

func calibration(w io.Writer, name string, list []said) {
	fmt.Fprint(w, name)
	mean, were, brier := 0.0, 0.0, 0.0
	for i := range len(saidBounds) - 1 {
		n, came := 0, 0
		for _, s := range list {
			if s.probability >= saidBounds[i] && s.probability < saidBounds[i+1] {
				n++
				if s.came {
					came++
				}
			}
		}
		if n == 0 {
			fmt.Fprint(w, "\t")
			continue
		}
		fmt.Fprintf(w, "\t%.0f %% (%d)", 100*float64(came)/float64(n), n)
	}
	for _, s := range list {
		hit := 0.0
		if s.came {
			hit = 1
		}
		mean, were = mean+s.probability/float64(len(list)), were+hit/float64(len(list))
		brier += (s.probability - hit) * (s.probability - hit) / float64(len(list))
	}
	fmt.Fprintf(w, "\t%.0f %%\t%.0f %%\t%.3f\t%.3f\n", 100*mean, 100*were, brier, were*(1-were))
}

// compareGain runs one searcher on one table, and prints what stopping saves.
func compareGain(w io.Writer, t gainTask, m method, seeds, first int) (list []said, err error) {
	stopping := method{m.name, m.searcher + ", stop_when: {gain: 0.01}"}
	var trained, whole, with, without []float64
	stopped, trials := 0, 0
	for seed := range seeds {
		var ends [2]*sim.Result
		var regrets [2]float64
		for i, x := range []method{m, stopping} {
			cfg, err := t.config(x, gainTrials, gainWorkers)
			if err != nil {
				return nil, err
			}
			c := t.curves()
			r, err := sim.Run(cfg, int64(first+seed), c, sim.Options{Workers: gainWorkers, Every: 1})
			if err != nil {
				return nil, err
			}
			if !r.Done || len(r.Trace) == 0 {
				return nil, fmt.Errorf("the search with seed %d did not end", first+seed)
			}
			last := r.Trace[len(r.Trace)-1]
			ends[i], regrets[i] = r, t.regret(c, r.Trials[last.Trial], last.At)
		}
		list = append(list, cameTrue(ends[0])...)
		if len(ends[1].Trials) < gainTrials {
			stopped++
		}
		trials += len(ends[1].Trials)
		trained = append(trained, float64(ends[1].Trained)/float64(t.epochs))
		whole = append(whole, float64(ends[0].Trained)/float64(t.epochs))
		with, without = append(with, regrets[1]), append(without, regrets[0])
	}
	a, low, high := interval(with)
	b, bLow, bHigh := interval(without)
	fmt.Fprintf(w, "%s\t%s\t%d of %d\t%.0f\t%.1f\t%.1f\t%.2f (%.2f–%.2f)\t%.2f (%.2f–%.2f)\n", t.name, m.name, stopped, seeds, float64(trials)/float64(seeds),
		average(trained), average(whole), 100*a, 100*low, 100*high, 100*b, 100*bLow, 100*bHigh)
	return list, nil
}

// cameTrue compares what a search said with its best result when so many more trials had been tried.
func cameTrue(r *sim.Result) (list []said) {
	tried := 0
	if n := len(r.Gains); n > 0 {
		tried = r.Gains[n-1].Of
	}
	for _, g := range r.Gains {
		if g.Of+g.Trials > tried {
			break
		}
		best := g.Best
		for _, p := range r.Trace {
			if p.Tried <= g.Of+g.Trials {
				best = p.Metric
			}
		}
		list = append(list, said{g.Enough, g.Best-best > 0 && g.Best-best >= g.Gain*math.Abs(g.Best)})
	}
	return list
}
