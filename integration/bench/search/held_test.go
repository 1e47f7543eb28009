package main

import (
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"

	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/search/sim"
)

var (
	tablesIn    = flag.String("tables", "", "folder of tables (NAME.tbl.gz, NAME.sur.gz) for TestTablesOfAFolder")
	heldSeeds   = flag.Int("seeds", 30, "with -tables: runs of each searcher")
	heldFirst   = flag.Int("first", 1000, "with -tables: the first seed")
	heldOnly    = flag.String("only", "", "with -tables: searchers whose names contain this")
	heldSetting = flag.String("setting", "", `with -tables: settings whose names contain this, such as "8 workers" or "1 worker, batches"`)
)

// TestTablesOfAFolder is the benchmark of searches on tables that are not in the project: just bench search
// --tables FOLDER. It takes some minutes for each searcher.
func TestTablesOfAFolder(t *testing.T) {
	if *tablesIn == "" {
		t.Skip("without -tables")
	}
	if err := held(os.Stdout, heldOptions{*tablesIn, *heldOnly, *heldSetting, *heldSeeds, *heldFirst}); err != nil {
		t.Fatal(err)
	}
}

type heldOptions struct {
	tables, only, setting string
	seeds, first          int
}

// A table is a field whose curves searches see, in virtual time.
type table struct {
	*space
	field
	best, median float64
	relative     *table // another table with the same hyperparameters; nil: there is none
}

func newTable(s *space, f field) *table {
	t := &table{space: s, field: f}
	t.best, t.median = f.scale()
	return t
}

// perEpoch is how many batches an epoch has, where the length of a training is in batches.
const perEpoch = 100

// A setting is how the searchers of the tables of a folder are run.
type setting struct {
	workers int
	batches bool // the length is in batches, not in epochs
}

func (s setting) String() string {
	unit := "epochs"
	if s.batches {
		unit = "batches"
	}
	if s.workers == 1 {
		return "1 worker, " + unit
	}
	return fmt.Sprintf("%d workers, %s", s.workers, unit)
}

// budgets are the whole trainings after which the best result so far is judged.
var budgets = []float64{3, 7, 13, 27}

// heldMethods are the searchers that run on the tables of a folder: the defaults, and what
// they replace.
func heldMethods() []method {
	const many = "max_trials: TRIALS, max_concurrent_trials: WORKERS"
	return []method{
		{"adaptive ASHA (default)", "name: adaptive_asha, " + many},
		{"adaptive ASHA, best prior", "name: adaptive_asha, " + many},
		{"adaptive ASHA, middling prior", "name: adaptive_asha, " + many},
		{"adaptive ASHA, wrong prior", "name: adaptive_asha, " + many},
		{"adaptive ASHA, learning from itself", "name: adaptive_asha, learn_from: [1], " + many},
		{"adaptive ASHA, learning from a relative", "name: adaptive_asha, learn_from: [1], " + many},
		{"adaptive ASHA, learning from the reverse", "name: adaptive_asha, learn_from: [1], " + many},
		{"adaptive ASHA, random", "name: adaptive_asha, sampler: random, " + many},
		{"adaptive ASHA, aggressive", "name: adaptive_asha, mode: aggressive, " + many},
		{"adaptive ASHA, revision 1", "name: adaptive_asha, revision: 1, " + many},
		{"ASHA (async_halving)", "name: async_halving, num_rungs: 4, " + many},
		{"ASHA, random", "name: async_halving, num_rungs: 4, sampler: random, " + many},
		{"random", "name: random, " + many},
	}
}

// view is a table as one run of a search sees it: it computes each curve once.
type view struct {
	*table
	curves map[int64][2][]float64 // by the seed of the trial
}

func (v *view) of(hparams map[string]any, seed int64) [2][]float64 {
	c, known := v.curves[seed]
	if !known {
		c[0], c[1] = v.curve(v.position(hparams))
		v.curves[seed] = c
	}
	return c
}

// epoch is the index of the newest epoch after a part of a training.
func (v *view) epoch(part float64) int { return max(1, int(part*float64(v.Epochs)+1e-9)) - 1 }

func (v *view) At(hparams map[string]any, seed int64, part float64) float64 {
	return v.of(hparams, seed)[0][v.epoch(part)]
}

// every is the length of training between two reports, and that of an epoch.
func (s setting) every() int64 {
	if s.batches {
		return perEpoch
	}
	return 1
}

// config is an experiment's configuration with a searcher, on the table.
func (t *table) config(m method, s setting) (expconf.Config, error) {
	length := fmt.Sprintf("{epochs: %d}", t.Epochs)
	if s.batches {
		length = fmt.Sprintf("{batches: %d}", t.Epochs*perEpoch)
	}
	searcher := strings.NewReplacer("TRIALS", strconv.Itoa(endless), "WORKERS", strconv.Itoa(s.workers)).Replace(m.searcher)
	raw, _, err := expconf.Parse(m.name, fmt.Appendf(nil, "entrypoint: x\nsearcher: {metric: loss, max_length: %s, %s}\n", length, searcher))
	if err != nil {
		return expconf.Config{}, err
	}
	cfg, err := expconf.Complete(raw, expconf.ClusterDefaults{Name: m.name})
	if err != nil {
		return cfg, err
	}
	cfg.Hyperparameters = t.hyperparameters()
	t.believe(cfg.Hyperparameters, m.name)
	return cfg, nil
}

// regrets runs a search with one seed, and returns its regret after each of the budgets: 0 is
// the best of the space, 1 the median of whole trainings. The incumbent is the best result that
// the search has seen, and is judged by its curve without noise.
func (t *table) regrets(m method, s setting, seed int64) ([]float64, error) {
	cfg, err := t.config(m, s)
	if err != nil {
		return nil, err
	}
	earlier, err := t.learned(m, s, cfg, seed)
	if err != nil {
		return nil, err
	}
	whole := int64(t.Epochs) * s.every()
	at := func(budget float64) int64 { return int64(budget*float64(whole)+0.5) / int64(s.workers) }
	v := &view{table: t, curves: map[int64][2][]float64{}}
	r, err := sim.Run(cfg, seed, v, sim.Options{Workers: s.workers, Every: s.every(), Budget: at(budgets[len(budgets)-1]), Earlier: earlier})
	if err != nil {
		return nil, err
	}
	var out []float64
	for _, budget := range budgets {
		regret := math.NaN()
		for _, p := range r.Trace {
			if p.Time > at(budget) {
				break
			}
			x := r.Trials[p.Trial]
			clean := v.of(x.HParams, x.Seed)[1][v.epoch(float64(p.At)/float64(whole))]
			regret = (clean - t.best) / (t.median - t.best)
		}
		out = append(out, regret)
	}
	return out, nil
}

// held runs the searchers on the tables of a folder.
func held(out io.Writer, o heldOptions) error {
	tables, err := openTables(o.tables)
	if err != nil {
		return err
	}
	for _, s := range []setting{{8, false}, {8, true}, {1, false}, {1, true}} {
		if !strings.Contains(s.String(), o.setting) {
			continue
		}
		if err := heldIn(out, o, tables, s); err != nil {
			return err
		}
	}
	return nil
}

// heldIn prints a table for one setting: a line for each method on each table, and for each
// method on all of them.
func heldIn(out io.Writer, o heldOptions, tables []*table, s setting) error {
	fmt.Fprintf(out, "\n%s: normalised regret × 100 after so many whole trainings (%d seeds, 95 %% intervals)\n\n", s, o.seeds)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprint(w, "table\tsearcher")
	for _, b := range budgets {
		fmt.Fprintf(w, "\t%.0f", b)
	}
	fmt.Fprintln(w)
	for _, m := range heldMethods() {
		alone := slices.ContainsFunc(tables, func(t *table) bool { return t.relative == nil })
		if !strings.Contains(m.name, o.only) || alone && strings.HasSuffix(m.name, "a relative") {
			continue
		}
		all := make([][]float64, len(budgets)) // by budget and seed: the mean of all tables
		for i := range all {
			all[i] = make([]float64, o.seeds)
		}
		for _, t := range tables {
			runs, err := t.seeds(o, m, s)
			if err != nil {
				return fmt.Errorf("%s on %s: %w", m.name, t.Name, err)
			}
			fmt.Fprintf(w, "%s\t%s", t.Name, m.name)
			for i := range budgets {
				list := make([]float64, len(runs))
				for seed, r := range runs {
					list[seed] = r[i]
					all[i][seed] += r[i] / float64(len(tables))
				}
				printInterval(w, list)
			}
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "all tables\t%s", m.name)
		for _, list := range all {
			printInterval(w, list)
		}
		fmt.Fprintln(w)
	}
	return w.Flush()
}

func printInterval(w io.Writer, list []float64) {
	mean, low, high := interval(list)
	fmt.Fprintf(w, "\t%.1f (%.1f–%.1f)", 100*mean, 100*low, 100*high)
}

// seeds runs a method with every seed, as many at once as there are processors.
func (t *table) seeds(o heldOptions, m method, s setting) ([][]float64, error) {
	runs, errs := make([][]float64, o.seeds), make([]error, o.seeds)
	next := make(chan int)
	var group sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		group.Go(func() {
			for seed := range next {
				runs[seed], errs[seed] = t.regrets(m, s, int64(o.first+seed))
			}
		})
	}
	for seed := range o.seeds {
		next <- seed
	}
	close(next)
	group.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return runs, nil
}
