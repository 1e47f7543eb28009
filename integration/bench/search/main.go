// Command search measures how well searchers search: simple regret against
// budget, on the recorded curves of networks that were really trained
// (../curves), in virtual time, with the same number of workers and the same
// seeds for all. With -optuna it also runs Optuna on these curves. Tables of a folder
// elsewhere are for TestTablesOfAFolder.
//
// Regret is how much worse the best result so far is than the best that any
// setting of the table reaches after any epoch: the checkpoint of the best result
// is what one keeps.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/search/sim"
)

func main() {
	o := options{}
	flag.StringVar(&o.curves, "curves", "integration/bench/curves", "folder of the tables")
	flag.IntVar(&o.seeds, "seeds", 30, "how many runs of each searcher")
	flag.IntVar(&o.first, "first", 1000, "the first seed; those below were used to settle the constants of tpe")
	flag.IntVar(&o.workers, "workers", 4, "trials at once")
	flag.Int64Var(&o.budget, "budget", 40, "whole trainings that all workers together can do")
	flag.IntVar(&o.trials, "trials", 256, "trials of the searches that are run to their end; 0: none are")
	flag.StringVar(&o.only, "only", "", "searchers whose names contain this")
	flag.StringVar(&o.optuna, "optuna", "", "the Python with Optuna; empty: without")
	flag.StringVar(&o.way, "way", "", "with -optuna: ways to use it whose names contain this")
	flag.StringVar(&o.add, "add", "", "file with figures of an earlier run, to show beside these")
	flag.StringVar(&o.plot, "plot", "", "file for a plot (SVG)")
	flag.StringVar(&o.json, "json", "", "file for all the figures")
	flag.BoolVar(&o.front, "front", false, "searches with two metrics instead, on tasks with a known front")
	flag.BoolVar(&o.gain, "gain", false, "what searches say about further trials instead, and what stopping by it saves")
	flag.Parse()
	do := run
	if o.front {
		do = func(o options) error { return fronts(o, os.Stdout) }
	}
	if o.gain {
		do = func(o options) error { return gains(o, os.Stdout) }
	}
	if err := do(o); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

type options struct {
	curves, only, optuna, way, add, plot, json string
	seeds, first, workers, trials              int
	budget                                     int64
	front, gain                                bool
}

// A method is a searcher as it would be written in an experiment's configuration.
type method struct{ name, searcher string }

func methods() []method {
	const many = "max_trials: TRIALS, max_concurrent_trials: WORKERS"
	return []method{
		{"random", "name: random, " + many},
		{"ASHA, stopping", "name: async_halving, num_rungs: 4, stop_once: true, sampler: random, " + many},
		{"ASHA, promotion", "name: async_halving, num_rungs: 4, sampler: random, " + many},
		{"adaptive ASHA, random", "name: adaptive_asha, sampler: random, " + many},
		{"PASHA", "name: async_halving, num_rungs: 4, progressive: true, sampler: random, " + many},
		{"ASHA stopping + TPE", "name: async_halving, num_rungs: 4, stop_once: true, " + many},
		{"ASHA promotion + TPE", "name: async_halving, num_rungs: 4, " + many},
		{"PASHA + TPE", "name: async_halving, num_rungs: 4, progressive: true, " + many},
		{"adaptive ASHA (default)", "name: adaptive_asha, " + many},
	}
}

// A series is the regret of each run at each checked budget.
type series struct {
	Table  string      `json:"table"`
	Method string      `json:"method"`
	Regret [][]float64 `json:"regret"` // by seed, then by budget
}

// checked are the parts of the budget at which regret is looked at.
const checked = 24

func run(o options) error {
	files, err := filepath.Glob(filepath.Join(o.curves, "*.curves.gz"))
	if err != nil {
		return fmt.Errorf("the tables in %s: %w", o.curves, err)
	}
	if len(files) == 0 {
		return fmt.Errorf("there are no tables in %s", o.curves)
	}
	var all []series
	var ends []completion
	for _, file := range files {
		list, done, err := onTable(o, file)
		if err != nil {
			return err
		}
		all, ends = append(all, list...), append(ends, done...)
	}
	if o.add != "" {
		b, err := os.ReadFile(o.add)
		if err != nil {
			return err
		}
		var earlier []series
		if err := json.Unmarshal(b, &earlier); err != nil {
			return fmt.Errorf("%s: %w", o.add, err)
		}
		all = append(all, earlier...)
	}
	slices.SortStableFunc(all, func(a, b series) int { return strings.Compare(a.Table, b.Table) })
	report(os.Stdout, o, all)
	completions(os.Stdout, o, ends)
	if o.json != "" {
		b, err := json.Marshal(all)
		if err == nil {
			err = os.WriteFile(o.json, b, 0o644)
		}
		if err != nil {
			return err
		}
	}
	if o.plot != "" {
		return os.WriteFile(o.plot, []byte(plot(o, all)), 0o644)
	}
	return nil
}

// onTable runs every searcher that is wanted on one table.
func onTable(o options, file string) (all []series, ends []completion, err error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, nil, err
	}
	t, err := sim.ReadTable(f)
	f.Close()
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", file, err)
	}
	for _, m := range methods() {
		if !strings.Contains(m.name, o.only) {
			continue
		}
		s, err := measure(o, t, m)
		if err != nil {
			return nil, nil, fmt.Errorf("%s on %s: %w", m.name, t.Name, err)
		}
		all = append(all, s)
		if o.trials == 0 {
			continue
		}
		c, err := complete(o, t, m)
		if err != nil {
			return nil, nil, fmt.Errorf("%s on %s, to its end: %w", m.name, t.Name, err)
		}
		ends = append(ends, c)
	}
	if o.optuna != "" {
		list, err := optuna(o, t, file)
		if err != nil {
			return nil, nil, err
		}
		all = append(all, list...)
	}
	return all, ends, nil
}

// measure runs one of our searchers with every seed.
func measure(o options, t *sim.Table, m method) (series, error) {
	s := series{Table: t.Name, Method: m.name}
	cfg, err := m.config(o, t, endless)
	if err != nil {
		return s, err
	}
	best := t.Best()
	total := o.budget * int64(t.Epochs) / int64(o.workers)
	for seed := range o.seeds {
		r, err := sim.Run(cfg, int64(o.first+seed), t, sim.Options{Workers: o.workers, Every: 1, Budget: total})
		if err != nil {
			return s, err
		}
		s.Regret = append(s.Regret, regret(r.Trace, total, best))
	}
	return s, nil
}

// config is an experiment's configuration with the searcher, on a table.
func (m method) config(o options, t *sim.Table, trials int) (expconf.Config, error) {
	searcher := strings.NewReplacer("TRIALS", strconv.Itoa(trials), "WORKERS", strconv.Itoa(o.workers)).Replace(m.searcher)
	raw, _, err := expconf.Parse(m.name, fmt.Appendf(nil, "entrypoint: x\nsearcher: {metric: %s, max_length: {epochs: %d}, %s}\n", t.Metric, t.Epochs, searcher))
	if err != nil {
		return expconf.Config{}, err
	}
	cfg, err := expconf.Complete(raw, expconf.ClusterDefaults{Name: m.name})
	cfg.Hyperparameters = t.Space()
	return cfg, err
}

// regret looks at a run at every checked part of its time.
func regret(trace []sim.Point, total int64, best float64) []float64 {
	list := make([]float64, checked)
	for i := range list {
		at := total * int64(i+1) / checked
		list[i] = 1
		for _, p := range trace {
			if p.Time > at {
				break
			}
			list[i] = p.Metric - best
		}
	}
	return list
}
