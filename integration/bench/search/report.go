package main

import (
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"text/tabwriter"
)

// interval is the mean of runs with a confidence interval of 95 %, by bootstrap:
// regrets are far from normally distributed.
func interval(runs []float64) (mean, low, high float64) {
	mean = average(runs)
	rng := rand.New(rand.NewPCG(1, 2))
	const draws = 2000
	means := make([]float64, draws)
	for i := range means {
		sum := 0.0
		for range runs {
			sum += runs[rng.IntN(len(runs))]
		}
		means[i] = sum / float64(len(runs))
	}
	slices.Sort(means)
	return mean, means[draws*25/1000], means[draws*975/1000]
}

func average(list []float64) float64 {
	sum := 0.0
	for _, v := range list {
		sum += v
	}
	return sum / float64(len(list))
}

// at is the regret of every run at a checked part of the budget.
func (s series) at(i int) []float64 {
	list := make([]float64, len(s.Regret))
	for run := range s.Regret {
		list[run] = s.Regret[run][i]
	}
	return list
}

// names lists tables or methods in the order of their first appearance.
func names(all []series, of func(series) string) []string {
	var list []string
	for _, s := range all {
		if n := of(s); !slices.Contains(list, n) {
			list = append(list, n)
		}
	}
	return list
}

// report prints regrets in hundredths, with their intervals.
func report(out io.Writer, o options, all []series) {
	marks := []int{checked / 6, checked / 3, checked * 2 / 3, checked}
	for _, table := range append(names(all, func(s series) string { return s.Table }), "") {
		if table == "" {
			table = "all tables"
		}
		fmt.Fprintf(out, "\n%s: regret × 100 after so many whole trainings (%d workers, %d seeds, 95 %% intervals)\n\n", table, o.workers, o.seeds)
		w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
		fmt.Fprint(w, "searcher")
		for _, m := range marks {
			fmt.Fprintf(w, "\t%.0f", float64(o.budget)*float64(m)/checked)
		}
		fmt.Fprintln(w)
		for _, method := range names(all, func(s series) string { return s.Method }) {
			if pooled(all, table, method, 0) == nil { // it did not run here
				continue
			}
			fmt.Fprint(w, method)
			for _, m := range marks {
				mean, low, high := interval(pooled(all, table, method, m-1))
				fmt.Fprintf(w, "\t%.2f (%.2f–%.2f)", 100*mean, 100*low, 100*high)
			}
			fmt.Fprintln(w)
		}
		w.Flush()
	}
}

// pooled is the regret of each run of a method on one table; on all tables, the
// mean of each seed over them.
func pooled(all []series, table, method string, at int) []float64 {
	var sum []float64
	n := 0.0
	for _, s := range all {
		if s.Method != method || table != "all tables" && s.Table != table {
			continue
		}
		list := s.at(at)
		if sum == nil {
			sum = make([]float64, len(list))
		}
		for i := range list {
			sum[i] += list[i]
		}
		n++
	}
	for i := range sum {
		sum[i] /= n
	}
	return sum
}
