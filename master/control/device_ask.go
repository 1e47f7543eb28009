package control

import (
	"slices"
	"strings"
	"unique"

	"github.com/detent-ml/detent/master/cluster"
	"github.com/detent-ml/detent/master/control/expressions"
	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/pool"
	"github.com/detent-ml/detent/master/sched"
)

// deviceAsk is what an experiment or task asks of the devices that its slots are.
type deviceAsk struct {
	of          *pool.Pool
	gpu         *expconf.GPU
	constraints []pool.Comparison // of environment.nomad, on ${device.…}
	match       pool.Match
	known       map[unique.Handle[string]]bool // models that were compared
	lists       map[string][]string            // the models that may be used, once for all nodes with the same ones
	none        string                         // why a node has none of them, once for all nodes
	work        int64                          // of the comparisons
}

// maxAsked is how much of what is asked for a sentence has: a hundred constraints may have a hundred kilobytes.
const maxAsked = 1000

// words say what is asked for; "" for nothing.
func (a *deviceAsk) words() string { return fault.ClipTo(a.allWords(), maxAsked) }

func (a *deviceAsk) allWords() string {
	if len(a.constraints) == 0 {
		return a.gpu.Asks()
	}
	constraints := "a device with " + strings.Join(each.Of(a.constraints, pool.Comparison.String), " and ")
	if asks := a.gpu.Asks(); asks != "" {
		return asks + ", and " + strings.TrimPrefix(constraints, "a device ")
	}
	return constraints
}

// rate writes into the choice which models of a node may be used. It returns false if there
// is none.
func (a *deviceAsk) rate(c *sched.Choice, id string, node *cluster.Node, models []model) bool {
	if c.Asks == "" {
		return true
	}
	attributes := node.Models[a.of.Device()]
	var fit []string
	for _, m := range models {
		if a.fits(m, attributes[m.name]) {
			fit = append(fit, m.name)
		}
	}
	switch {
	case len(fit) == 0:
		if c.Lack == nil {
			c.Lack = map[string]bool{}
		}
		if a.none == "" {
			a.none = "where there is no " + strings.TrimPrefix(c.Asks, "a ")
		}
		c.Unfit[id], c.Lack[id] = a.none, true
		return false
	case len(fit) < len(models):
		if c.Models == nil {
			c.Models, a.lists = map[string][]string{}, map[string][]string{}
		}
		key := strings.Join(fit, "\x00")
		if a.lists[key] == nil {
			a.lists[key] = fit
		}
		c.Models[id] = a.lists[key]
	}
	return true
}

// fits compares each model once, because a cluster has many nodes and few models.
func (a *deviceAsk) fits(of model, attributes map[string]string) bool {
	if met, known := a.known[of.handle]; known {
		return met
	}
	vendor, kind, _ := strings.Cut(a.of.Device(), "/")
	m := pool.Model{Vendor: vendor, Type: kind, Name: of.name, Attributes: attributes}
	a.work += expressions.ModelWork
	for _, c := range a.constraints { // their values may be quantities
		a.work += expressions.PlainWork + 2*int64(len(c.Value))
	}
	if a.gpu != nil {
		for _, pattern := range a.gpu.Model {
			a.work += int64(len(pattern) + len(of.name))
		}
	}
	met := m.Fits(a.gpu) && !slices.ContainsFunc(a.constraints, func(c pool.Comparison) bool { return !m.Met(c, a.match) })
	if a.known == nil {
		a.known = map[unique.Handle[string]]bool{}
	}
	a.known[of.handle] = met
	return met
}
