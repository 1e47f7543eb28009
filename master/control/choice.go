package control

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/detent-ml/detent/master/cluster"
	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/pool"
	"github.com/detent-ml/detent/master/sched"
	"github.com/detent-ml/detent/master/store"
)

// A choice is what environment.nomad, and the affinities of a pool's job, say about nodes.
type choice struct {
	unfit  []string           // ids of nodes that it must not use
	why    map[string]string  // by id, in words that follow the node's name
	prefer map[string]float64 // by id
}

// choices are what was judged in this pass and in the one before: what an owner says is
// judged once, and again only when a node changes. Somebody with a thousand experiments
// and a hundred comparisons in each would else slow down every pass for everybody.
type choices struct{ now, before map[choiceKey]choice }

type choiceKey struct {
	owner, pool string
	of          *expconf.Nomad // of an experiment, whose configuration is read once
	text        string         // of a task
}

// pass begins a pass; changed says that a node is not as it was.
func (c *choices) pass(changed bool) {
	if c.before = c.now; changed {
		c.before = nil
	}
	c.now = map[choiceKey]choice{}
}

// of adds it to a request.
func (c choice) of(r sched.Request) sched.Request {
	if len(c.unfit) > 0 {
		r.Exclude = slices.Concat(r.Exclude, c.unfit)
		because := maps.Clone(c.why)
		maps.Copy(because, r.Because)
		r.Because = because
	}
	r.Prefer = c.prefer
	return r
}

// choiceOf judges the nodes of a pool once for all attempts of an owner.
func (d *decider) choiceOf(key choiceKey, n *expconf.Nomad) choice {
	of := d.p.Pools.Named(key.pool)
	if of == nil || n == nil && len(of.Affinities()) == 0 {
		return choice{}
	}
	if n == nil {
		key, n = choiceKey{pool: key.pool}, &expconf.Nomad{}
	}
	known := d.p.choices
	if known == nil {
		known = &choices{now: map[choiceKey]choice{}}
		d.p.choices = known
	}
	c, judged := known.now[key]
	if !judged {
		if c, judged = known.before[key]; !judged {
			c = d.judge(of, n)
		}
		known.now[key] = c
	}
	return c
}

func (d *decider) judge(of *pool.Pool, n *expconf.Nomad) choice {
	var constraints []pool.Comparison
	for _, x := range n.Constraints {
		constraints = append(constraints, pool.Comparison(x))
	}
	affinities := of.Affinities()
	for _, x := range n.Affinities {
		weight := 50
		if x.Weight != nil {
			weight = *x.Weight
		}
		affinities = append(affinities, pool.Affinity{Comparison: pool.Comparison{Attribute: x.Attribute, Operator: x.Operator, Value: x.Value}, Weight: weight})
	}
	c := choice{why: map[string]string{}}
	for _, row := range d.p.Nodes {
		node, err := d.p.inventories.read(row)
		if err != nil {
			continue // offer says so
		}
		if why := unfit(of, &node, constraints, n.Volumes); why != "" {
			c.unfit = append(c.unfit, row.ID)
			c.why[row.ID] = why
		}
		if draw := pool.Draw(affinities, node.Fact); draw != 0 {
			if c.prefer == nil {
				c.prefer = map[string]float64{}
			}
			c.prefer[row.ID] = draw
		}
	}
	return c
}

// unfit says why a node cannot take an attempt, after "it avoids <node>, "; "" where it can.
func unfit(of *pool.Pool, node *cluster.Node, constraints []pool.Comparison, volumes []expconf.NomadVolume) string {
	if unmet := pool.Unmet(constraints, node.Fact); unmet != "" {
		return "where environment.nomad.constraints are not met: " + unmet
	}
	for _, v := range volumes {
		source, writes := of.HostVolume(v.Name)
		if source == "" {
			continue
		}
		if why := lacksVolume(node, source, writes && !v.ReadOnly); why != "" {
			return "which " + why
		}
	}
	return ""
}

// taskChoice is that of a task which is no trial. A configuration that cannot be read is
// told of when its job is made.
func (d *decider) taskChoice(t *store.LiveTask) avoidance {
	var n *expconf.Nomad
	if len(t.Nomad) > 0 && json.Unmarshal(t.Nomad, &n) != nil {
		n = nil
	}
	return avoidance{choice: d.choiceOf(choiceKey{owner: t.ID, pool: t.Pool, text: string(t.Nomad)}, n)}
}
