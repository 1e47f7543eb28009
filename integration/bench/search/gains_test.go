package main

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/search/sim"
)

// TestGainsOfAFolder prints, for tables that are not in the project, what searches say about further trials and what stopping saves: just bench
// search gain --tables FOLDER.
func TestGainsOfAFolder(t *testing.T) {
	if *tablesIn == "" {
		t.Skip("without -tables")
	}
	tables, err := openTables(*tablesIn)
	if err != nil {
		t.Fatal(err)
	}
	var tasks []gainTask
	for _, x := range tables {
		tasks = append(tasks, gainTask{
			name: x.Name, epochs: int64(x.Epochs),
			curves: func() sim.Curves { return &view{table: x, curves: map[int64][2][]float64{}} },
			config: func(m method, trials, workers int) (expconf.Config, error) {
				m.searcher = strings.ReplaceAll(m.searcher, "TRIALS", fmt.Sprint(trials))
				return x.config(m, setting{workers: workers})
			},
			regret: func(c sim.Curves, trial sim.Trial, at int64) float64 {
				v := c.(*view)
				return (v.of(trial.HParams, trial.Seed)[1][v.epoch(float64(at)/float64(x.Epochs))] - x.best) / (x.median - x.best)
			},
		})
	}
	if err := compareGains(os.Stdout, tasks, *heldOnly, *heldSeeds, *heldFirst); err != nil {
		t.Fatal(err)
	}
}
