package main

import (
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"strings"

	"github.com/detent-ml/detent/master/expconf"
)

// believe gives the hyperparameters the prior of a searcher whose name ends so: the best of 1,000
// random settings, a middling one (the tenth best of 100), or the worst of 100.
func (t *table) believe(space expconf.Hyperparameters, method string) {
	if !strings.HasSuffix(method, "prior") {
		return
	}
	rng := rand.New(rand.NewPCG(77, 0))
	n := 100
	if strings.HasSuffix(method, "best prior") {
		n = 1000
	}
	settings, ends := make([][]float64, n), make([]float64, n)
	for i := range settings {
		for _, a := range t.Axes {
			u := rng.Float64()
			if a.Type == "cat" {
				u = math.Floor(u * float64(len(a.Values)))
			}
			settings[i] = append(settings[i], u)
		}
		_, clean := t.curve(settings[i])
		ends[i] = slices.Min(clean)
	}
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	sort.Slice(order, func(a, b int) bool { return ends[order[a]] < ends[order[b]] })
	at := settings[order[0]]
	switch {
	case strings.HasSuffix(method, "middling prior"):
		at = settings[order[9]]
	case strings.HasSuffix(method, "wrong prior"):
		at = settings[order[n-1]]
	}
	for i, a := range t.Axes {
		p := space[a.Name]
		switch {
		case a.Type == "cat":
			p.Prior = a.Values[int(at[i])]
		case a.Log:
			p.Prior = a.Lo * math.Pow(a.Hi/a.Lo, at[i])
		case a.Type == "int":
			p.Prior = math.Round(a.Lo + at[i]*(a.Hi-a.Lo))
		default:
			p.Prior = a.Lo + at[i]*(a.Hi-a.Lo)
		}
		space[a.Name] = p
	}
}
