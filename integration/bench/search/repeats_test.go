package main

import (
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"

	"github.com/detent-ml/detent/master/search/sim"
)

var noisySeeds = flag.Int("noisy", 0, "seeds of TestRepeatsOnNoisyTables")

// A noisyTable adds to each training of a table a number that depends on the trial's seed.
type noisyTable struct {
	*sim.Table
	deviation float64
}

func (n noisyTable) At(hparams map[string]any, seed int64, part float64) float64 {
	return n.Table.At(hparams, seed, part) + n.deviation*rand.New(rand.NewPCG(uint64(seed), 11)).NormFloat64()
}

// TestRepeatsOnNoisyTables prints what repeats are worth where a training ends differently each time: go test ./integration/bench/search -run
// TestRepeatsOnNoisyTables -noisy 100 -v. The searches with and without repeats train equally many trials.
func TestRepeatsOnNoisyTables(t *testing.T) {
	if *noisySeeds == 0 {
		t.Skip("without -noisy")
	}
	files, err := filepath.Glob("../curves/*.curves.gz")
	if err != nil || len(files) == 0 {
		t.Fatal("no tables", err)
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "table\tnoise × 100\trepeat\tregret × 100\tsays too little by, × 100")
	for _, file := range files {
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		table, err := sim.ReadTable(f)
		f.Close()
		if err != nil {
			t.Fatal(err)
		}
		var ends []float64
		for seed := range int64(400) {
			cfg, err := method{"noise", "name: random, max_trials: 1"}.config(options{workers: 1}, table, 1)
			if err != nil {
				t.Fatal(err)
			}
			r, err := sim.Run(cfg, seed, table, sim.Options{Workers: 1, Every: int64(table.Epochs)})
			if err != nil {
				t.Fatal(err)
			}
			ends = append(ends, r.Trace[0].Metric)
		}
		slices.Sort(ends)
		for _, part := range []float64{0.2, 1} {
			for _, repeat := range []string{"", ", repeat: {best: 3, times: 3}", ", repeat: {best: 5, times: 5}"} {
				noisy := noisyTable{table, part * (ends[len(ends)/4] - ends[0])}
				if err := compareRepeats(w, noisy, repeat); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	w.Flush()
}

// compareRepeats prints the regret of the configuration that is the best one of searches of 64 trials, without the noise, and by how much what they say of its
// metric is too small: the best result, or with repeats the mean.
func compareRepeats(w io.Writer, noisy noisyTable, repeat string) error {
	cfg, err := method{"noisy", "name: random, max_trials: 64, max_concurrent_trials: 4" + repeat}.config(options{workers: 4}, noisy.Table, 64)
	if err != nil {
		return err
	}
	var regrets, little []float64
	for seed := range int64(*noisySeeds) {
		r, err := sim.Run(cfg, 1000+seed, noisy, sim.Options{Workers: 4, Every: int64(noisy.Epochs)})
		if err != nil {
			return err
		}
		best := r.Trace[len(r.Trace)-1]
		says, is := best.Metric, noisy.Table.At(r.Trials[best.Trial].HParams, 0, 1)
		if r.Repeats != nil {
			says = *r.Repeats.List[0].Mean
		}
		regrets, little = append(regrets, is-noisy.Best()), append(little, is-says)
	}
	mean, low, high := interval(regrets)
	fmt.Fprintf(w, "%s\t%.2f\t%s\t%.2f (%.2f–%.2f)\t%.2f\n", noisy.Name, 100*noisy.deviation, strings.TrimPrefix(repeat, ", repeat: "), 100*mean, 100*low, 100*high, 100*average(little))
	return nil
}
