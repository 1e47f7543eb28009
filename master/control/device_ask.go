package control

import (
	"maps"
	"slices"
	"strings"

	"github.com/detent-ml/detent/master/cluster"
	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/pool"
	"github.com/detent-ml/detent/master/sched"
)

// deviceAsk is what an experiment or task asks of the devices that its slots are.
type deviceAsk struct {
	of          *pool.Pool
	gpu         *expconf.GPU
	constraints []pool.Comparison // of environment.nomad, on ${device.…}
	match       pool.Match
}

// words say what is asked for; "" for nothing.
func (a *deviceAsk) words() string {
	if len(a.constraints) == 0 {
		return a.gpu.Asks()
	}
	list := make([]string, len(a.constraints))
	for i, c := range a.constraints {
		list[i] = c.String()
	}
	constraints := "a device with " + strings.Join(list, " and ")
	if asks := a.gpu.Asks(); asks != "" {
		return asks + ", and " + strings.TrimPrefix(constraints, "a device ")
	}
	return constraints
}

// rate writes into the choice which models of a node may be used. It returns false if there
// is none.
func (a *deviceAsk) rate(c *sched.Choice, id string, node *cluster.Node) bool {
	if c.Asks == "" {
		return true
	}
	all := node.Models[a.of.Device()]
	var fit []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if a.fits(name, all[name]) {
			fit = append(fit, name)
		}
	}
	switch {
	case len(fit) == 0:
		if c.Lack == nil {
			c.Lack = map[string]bool{}
		}
		c.Unfit[id], c.Lack[id] = "where there is no "+strings.TrimPrefix(c.Asks, "a "), true
		return false
	case len(fit) < len(all):
		if c.Models == nil {
			c.Models = map[string][]string{}
		}
		c.Models[id] = fit
	}
	return true
}

func (a *deviceAsk) fits(name string, attributes map[string]string) bool {
	vendor, kind, _ := strings.Cut(a.of.Device(), "/")
	m := pool.Model{Vendor: vendor, Type: kind, Name: name, Attributes: attributes}
	return m.Fits(a.gpu) && !slices.ContainsFunc(a.constraints, func(c pool.Comparison) bool { return !m.Met(c, a.match) })
}
