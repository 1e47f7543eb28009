package main

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/detent-ml/detent/master/search/sim"
)

// A completion is the result of searches with a given number of trials: how much they train, and
// how good the trial is that they found. A budget of training favours searches that start more
// trials; progressive searches save training instead, so they are compared by this result.
type completion struct {
	table, method string
	trained       []float64 // by seed: in whole trainings, that of the best trial to its end included
	took          []float64 // until the search ended, in the time of whole trainings
	regret        []float64 // of the best trial, trained whole
}

// complete runs one of our searchers to its end, with every seed.
func complete(o options, t *sim.Table, m method) (completion, error) {
	c := completion{table: t.Name, method: m.name}
	cfg, err := m.config(o, t, o.trials)
	if err != nil {
		return c, err
	}
	whole, best := float64(t.Epochs), t.Best()
	for seed := range o.seeds {
		r, err := sim.Run(cfg, int64(o.first+seed), t, sim.Options{Workers: o.workers, Every: 1})
		if err != nil {
			return c, err
		}
		if !r.Done || len(r.Trace) == 0 {
			return c, fmt.Errorf("the search with seed %d did not end", o.first+seed)
		}
		found := r.Trials[r.Trace[len(r.Trace)-1].Trial]
		least := 1.0
		for epoch := range t.Epochs {
			least = min(least, t.At(found.HParams, found.Seed, float64(epoch+1)/whole))
		}
		c.trained = append(c.trained, float64(r.Trained+int64(t.Epochs)-found.Trained)/whole)
		c.took = append(c.took, float64(r.Time)/whole)
		c.regret = append(c.regret, least-best)
	}
	return c, nil
}

// completions prints them.
func completions(out io.Writer, o options, all []completion) {
	if len(all) == 0 {
		return
	}
	fmt.Fprintf(out, "\nsearches of %d trials, to their end: whole trainings, time (%d workers, in whole trainings), regret × 100 of the best trial trained whole (%d seeds, 95 %% intervals)\n\n",
		o.trials, o.workers, o.seeds)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "table\tsearcher\ttrained\ttime\tregret")
	for _, c := range all {
		mean, low, high := interval(c.regret)
		fmt.Fprintf(w, "%s\t%s\t%.1f\t%.1f\t%.2f (%.2f–%.2f)\n", c.table, c.method, average(c.trained), average(c.took), 100*mean, 100*low, 100*high)
	}
	w.Flush()
}

// endless is more trials than any budget here can begin.
const endless = 4000
