package search

import (
	"math"

	"github.com/detent-ml/detent/master/expconf"
)

// A Share is a number of trials that are planned to train equally long.
type Share struct {
	Trials int
	Units  int64  // length of training
	Name   string // unit of the length; "" if a length has no unit
	Whole  bool   // this is the longest training of the search, or the program decides the length
}

// Preview returns how many trials a search will train for how long, if no trial fails, one in
// divisor of the trials at each rung continues, and the verdicts of the first rung are as good as
// the search assumes at first.
func Preview(cfg expconf.Config) []Share {
	c := cfg.Searcher
	full, name := c.FullLength()
	n := c.Repeat.Trials()
	cfg.Searcher.MaxTrials -= n
	list := previewWithoutRepeats(cfg)
	if n > 0 && len(list) > 0 {
		list = append(list, Share{Trials: n, Units: full, Name: name, Whole: true})
	}
	return list
}

func previewWithoutRepeats(cfg expconf.Config) []Share {
	c := cfg.Searcher
	full, name := c.FullLength()
	whole := func(n int) []Share { return []Share{{Trials: n, Units: full, Name: name, Whole: true}} }
	switch c.Name {
	case expconf.Single:
		return whole(1)
	case expconf.Random:
		return whole(c.MaxTrials)
	case expconf.Grid:
		d, err := newDomain(cfg)
		if err != nil {
			return nil
		}
		p, err := pointsOf(cfg, d)
		if err != nil {
			return nil
		}
		return whole(p.len())
	case expconf.AsyncHalving:
		return newTournament(c, []int{c.NumRungs}).preview(name)
	case expconf.AdaptiveASHA:
		return newTournament(c, adaptiveRungs(c)).preview(name)
	case expconf.PBT:
		m := newPopulation(c)
		n := int(m.truncate * float64(m.size))
		if m.rounds == 1 {
			n = 0
		}
		// As if the trials that end after a round had begun with that round.
		var list []Share
		if n > 0 {
			list = append(list, Share{Trials: n * m.rounds, Units: m.length, Name: name})
		}
		return append(list, Share{Trials: m.size - n, Units: m.length * int64(m.rounds), Name: name, Whole: true})
	}
	return nil
}

func (m *tournament) preview(name string) []Share {
	var list []Share
	for _, b := range m.brackets {
		n := b.budget
		for level, g := range b.rungs {
			stopped := n
			if level < len(b.rungs)-1 {
				stopped = n - max(1, int(math.Floor(float64(n)/b.divisor)))
				if level == 0 {
					stopped -= min(stopped, int(float64(b.passers())*(1-1/b.divisor)))
				}
			}
			if stopped > 0 {
				list = append(list, Share{Trials: stopped, Units: int64(g.units), Name: name, Whole: level == len(b.rungs)-1})
			}
			n -= stopped
		}
	}
	return list
}
