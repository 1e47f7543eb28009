package preview

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/table"
	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/search"
	"github.com/detent-ml/detent/master/search/sim"
	"github.com/detent-ml/detent/master/spelling"
)

// A simulated search, in the form of --json.
type simulated struct {
	Searcher string   `json:"searcher"`
	Workers  int      `json:"workers"`
	Trials   int      `json:"trials"`
	Time     int      `json:"time"`
	Trained  int      `json:"trained"`
	Whole    int      `json:"whole"` // if every trial trained completely
	Measure  string   `json:"measure"`
	Best     *float64 `json:"best,omitempty"`
	Hours    float64  `json:"hours,omitempty"`     // with a budget: in which at least one trial trained
	Slots    float64  `json:"slotHours,omitempty"` // with a budget: of all trials
	Front    int      `json:"front,omitempty"`     // with several metrics: results on the front
	Repeats  int      `json:"repeats,omitempty"`   // with repeat: trials that trained the best configurations again
	Stopped  bool     `json:"stopped,omitempty"`   // with stop_when: it created no further trials, because nothing would be gained
	Lengths  []share  `json:"lengths"`
}

type share struct {
	Trials int `json:"trials"`
	Units  int `json:"units"`
}

func simulate(a *app.App, o options) error {
	cfg, curves, err := prepare(a, o)
	if err != nil {
		return err
	}
	full, measure := cfg.Searcher.FullLength()
	if full < 1 {
		return fault.New(fault.Invalid, "cannot simulate the searcher %s without a length: set max_length", cfg.Searcher.Name)
	}
	budget := cfg.Searcher.Budget
	if budget != nil && o.pace <= 0 {
		return fault.New(fault.Invalid, "a search with a budget needs the time that a trial trains for one unit of its length: set --pace, such as --pace 90s")
	}
	const reports = 200 // of a trial that trains completely
	others := map[string]sim.Curves{}
	for i, m := range cfg.Searcher.Metrics {
		others[m.Name] = sim.Shape{Seed: o.seed + int64(i), Larger: !m.Smaller()}
	}
	r, err := sim.Run(cfg, o.seed, curves, sim.Options{Workers: o.workers, Every: max(1, full/reports), Others: others,
		Costs: sim.Costs{Pace: o.pace.Seconds(), Slots: cfg.Resources.SlotsPerTrial}})
	if err != nil {
		return fault.New(fault.Invalid, "%w", err)
	}
	out := simulated{Searcher: cfg.Searcher.Name, Workers: o.workers, Trials: len(r.Trials), Time: int(r.Time), Trained: int(r.Trained),
		Whole: int(full) * len(r.Trials), Measure: measure, Lengths: lengths(r.Trials)}
	if budget != nil {
		out.Hours, out.Slots = r.Seconds/time.Hour.Seconds(), r.Slots/time.Hour.Seconds()
	}
	out.Front = len(r.Front)
	if r.Repeats != nil {
		for _, x := range r.Repeats.List {
			out.Repeats += len(x.Trials)
		}
	}
	if n := len(r.Gains); n > 0 {
		out.Stopped = r.Gains[n-1].Stopped
	}
	if n := len(r.Trace); n > 0 {
		out.Best = &r.Trace[n-1].Metric
	}
	if o.format.Structured() {
		return o.format.Messages(a.IO.Out, out)
	}
	measure = cmp.Or(measure, "units")
	t := table.New("Trials", "Trained")
	for _, s := range out.Lengths {
		t.Row(s.Trials, fmt.Sprintf("%d %s", s.Units, measure))
	}
	if err := o.format.Print(a.IO, t, out); err != nil {
		return err
	}
	a.Printf("\nThe search trained %d trials for %d %s in all: %.0f %% of what training each of them to its end would take.\n",
		out.Trials, out.Trained, measure, 100*float64(out.Trained)/float64(max(1, out.Whole)))
	a.Printf("With %d trials at once the search takes as long as training one trial for %d %s.\n", o.workers, out.Time, measure)
	if budget != nil {
		a.Printf("It took %.3g hours and %.3g slot-hours, with a budget of %s.\n", out.Hours, out.Slots, budget)
	}
	if out.Repeats > 0 {
		a.Printf("%d of the trials trained the best configurations again (searcher.repeat).\n", out.Repeats)
	}
	if out.Stopped {
		a.Printf("It created no further trials, because nothing would be gained by them (searcher.stop_when).\n")
	}
	if cfg.Searcher.ByProgram() {
		a.Printf("The hyperparameters were drawn at random, in place of those that a program of yours proposes (sampler: program).\n")
	}
	if out.Front > 0 {
		a.Printf("%s on the front of its metrics.\n", spelling.Count(out.Front, "result"))
	}
	if o.curves == "" {
		a.Printf("The learning curves are invented, so this simulation cannot show which trial is best.\n")
	} else if out.Best != nil {
		a.Printf("The best result is %.4g.\n", *out.Best)
	}
	return nil
}

// parse parses and completes a configuration, and says what is odd in it.
func parse(a *app.App, name string, text []byte) (cfg expconf.Config, err error) {
	raw, warnings, err := expconf.Parse(name, text)
	if err != nil {
		return cfg, fault.New(fault.Invalid, "%w", err)
	}
	for _, w := range warnings {
		a.IO.Warn("Warning: %s", w)
	}
	if cfg, err = expconf.Complete(raw, expconf.ClusterDefaults{Name: "preview"}); err != nil {
		return cfg, fault.New(fault.Invalid, "%w", err)
	}
	return cfg, nil
}

// valid checks what a search needs.
func valid(cfg expconf.Config) error {
	if err := search.Check(cfg); err != nil {
		return fault.New(fault.Invalid, "%w", err)
	}
	return nil
}

// prepare reads the configuration and selects the curves.
func prepare(a *app.App, o options) (cfg expconf.Config, curves sim.Curves, err error) {
	text, err := read(a, o.config)
	if err != nil {
		return cfg, nil, err
	}
	if cfg, err = parse(a, o.config, text); err != nil {
		return cfg, nil, err
	}
	if len(cfg.Searcher.LearnFrom) > 0 {
		a.IO.Warn("Warning: searcher.learn_from: the simulation learns nothing from earlier experiments, whose results its curves do not have")
		cfg.Searcher.LearnFrom = nil
	}
	curves = sim.Shape{Seed: o.seed, Larger: !cfg.Searcher.SmallerIsBetter}
	if o.curves != "" {
		f, err := os.Open(o.curves)
		if err != nil {
			return cfg, nil, fault.New(fault.Invalid, "%w", err)
		}
		defer f.Close()
		t, err := sim.ReadTable(f)
		if err != nil {
			return cfg, nil, fault.New(fault.Invalid, "%s: %w", o.curves, err)
		}
		if len(cfg.Searcher.Metrics) > 0 {
			return cfg, nil, fault.New(fault.Invalid, "%s has the curves of one metric, and this search has several: omit --curves", o.curves)
		}
		cfg.Hyperparameters, cfg.Searcher.SmallerIsBetter, curves = t.Space(), true, t
		cfg.Searcher.Constraints, cfg.Searcher.StartWith = nil, nil // they are about the others
	}
	return cfg, curves, valid(cfg)
}

// lengths counts trials by length of training, the longest last.
func lengths(trials []sim.Trial) []share {
	count := map[int64]int{}
	for _, t := range trials {
		count[t.Trained]++
	}
	return each.Of(slices.Sorted(maps.Keys(count)), func(units int64) share { return share{count[units], int(units)} })
}
