package main

import (
	"encoding/json"
	"strings"

	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/search"
	"github.com/detent-ml/detent/master/search/sim"
)

// earlierSeeds are added to the seed of a search, for that of the earlier search from which it learns.
const earlierSeeds = 500_000

// reverse is a table whose worst settings are the best.
type reverse struct{ *view }

func (r reverse) At(hparams map[string]any, seed int64, part float64) float64 {
	return -r.view.At(hparams, seed, part)
}

// learned is what a searcher whose name says so learns from an earlier search with the same budget: of the same table with another
// seed, of another table with the same hyperparameters, or of the same table where the worst settings are the best.
func (t *table) learned(m method, s setting, cfg expconf.Config, seed int64) (search.Earlier, error) {
	if len(cfg.Searcher.LearnFrom) == 0 {
		return search.Earlier{}, nil
	}
	of := t
	if strings.HasSuffix(m.name, "a relative") {
		of = t.relative
	}
	m.searcher = strings.ReplaceAll(m.searcher, "learn_from: [1], ", "")
	first, err := of.config(m, s)
	if err != nil {
		return search.Earlier{}, err
	}
	v := &view{table: of, curves: map[int64][2][]float64{}}
	var curves sim.Curves = v
	if strings.HasSuffix(m.name, "the reverse") {
		curves = reverse{v}
	}
	whole := int64(of.Epochs) * s.every()
	r, err := sim.Run(first, seed+earlierSeeds, curves, sim.Options{Workers: s.workers, Every: s.every(), Budget: int64(budgets[len(budgets)-1]*float64(whole)) / int64(s.workers)})
	if err != nil {
		return search.Earlier{}, err
	}
	c, err := search.NewCollector(cfg)
	if err != nil {
		return search.Earlier{}, err
	}
	trials, err := past(r.Trials, curves, of.Epochs, whole)
	if err != nil {
		return search.Earlier{}, err
	}
	c.Add(1, trials)
	return c.Earlier(), nil
}

// past has the trials of a simulation as the database of a master has them: the first result of each length.
func past(trials []sim.Trial, curves sim.Curves, epochs int, whole int64) (list []search.PastTrial, err error) {
	from := search.LengthsFrom()
	for _, t := range trials {
		hparams, err := json.Marshal(t.HParams)
		if err != nil {
			return nil, err
		}
		p := search.PastTrial{HParams: hparams}
		for epoch := 1; epoch <= epochs && int64(epoch)*whole <= t.Trained*int64(epochs); epoch++ {
			part := float64(epoch) / float64(epochs)
			for length := len(from) - 1; length >= 0; length-- {
				if part < from[length] {
					continue
				}
				if p.Results[length] == nil {
					metric := curves.At(t.HParams, t.Seed, part)
					p.Results[length] = &metric
				}
				break
			}
		}
		if p.Results != [search.Lengths]*float64{} {
			list = append(list, p)
		}
	}
	return list, nil
}
