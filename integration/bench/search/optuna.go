package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"github.com/detent-ml/detent/master/search/sim"
)

// optuna runs Optuna's samplers and pruners on a table, in a Python process that
// has the same world: workers, virtual time, a report after every epoch. What
// comes back is the trace of every run, in the form of ours.
func optuna(o options, t *sim.Table, file string) ([]series, error) {
	total := o.budget * int64(t.Epochs) / int64(o.workers)
	cmd := exec.Command(o.optuna, //nolint:noctx // a benchmark, ended with its terminal
		filepath.Join(o.curves, "..", "search", "optuna_runs.py"), file,
		strconv.Itoa(o.seeds), strconv.Itoa(o.workers), strconv.FormatInt(total, 10), o.way)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("the runs of Optuna on %s: %w", t.Name, err)
	}
	var methods []struct {
		Method string `json:"method"`
		Runs   [][]struct {
			Time   int64   `json:"time"`
			Metric float64 `json:"metric"`
		} `json:"runs"`
	}
	if err := json.Unmarshal(out, &methods); err != nil {
		return nil, fmt.Errorf("parse the output of Optuna on %s: %w", t.Name, err)
	}
	best := t.Best()
	var list []series
	for _, m := range methods {
		s := series{Table: t.Name, Method: m.Method}
		for _, run := range m.Runs {
			trace := make([]sim.Point, len(run))
			for i, p := range run {
				trace[i] = sim.Point{Time: p.Time, Metric: p.Metric}
			}
			s.Regret = append(s.Regret, regret(trace, total, best))
		}
		list = append(list, s)
	}
	return list, nil
}
