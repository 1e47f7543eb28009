package control

import (
	"encoding/json"

	"github.com/detent-ml/detent/master/cluster"
	"github.com/detent-ml/detent/master/control/expressions"
	"github.com/detent-ml/detent/master/control/rows"
	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/pool"
	"github.com/detent-ml/detent/master/sched"
)

// choices keeps the choices that this cycle and the cycle before computed. A choice says how the
// constraints and affinities of one experiment or task rate each node. It is computed again
// only when a node changes: otherwise a user with a thousand experiments and a hundred
// comparisons in each would slow down every cycle. Regular expressions do a limited amount of work in a
// cycle; a choice for which that does not suffice is computed in a later cycle, and its tasks wait.
type choices struct {
	now, before map[choiceKey]*sched.Choice
	unfinished  map[choiceKey]bool // of now
	none        *sched.Choice      // of those that are unfinished in this cycle; nil: none is
	beyond      *sched.Choice      // of those beyond maxKeptNodes
	expressions *expressions.Matcher
	shared      map[*sched.Choice]bool // the choices of pools
	kept        map[string]int         // by user: how many nodes the choices of now rate, which is what they need of memory
}

// maxKeptNodes limits the nodes that the choices of a user rate, some 100 bytes each: a choice beyond is computed when others have gone.
const maxKeptNodes = 400_000

type choiceKey struct {
	owner, pool string         // owner is an experiment's group; tasks of one user with the same text have one choice
	user        string         // who owns the owner
	of          *expconf.Nomad // environment.nomad of an experiment; the pointer is the key, because it is parsed once
	gpu         *expconf.GPU   // resources.gpu of an experiment, as above
	text        string         // environment.nomad and resources.gpu of a task that is not a trial, as JSON
}

// beginCycle is called once in each cycle; changed says that a node has changed.
func (c *choices) beginCycle(changed bool) {
	for key := range c.unfinished {
		delete(c.now, key)
	}
	if c.before = c.now; changed || c.shared == nil {
		c.before, c.shared = nil, map[*sched.Choice]bool{}
	}
	c.now, c.unfinished, c.none, c.beyond, c.kept = map[choiceKey]*sched.Choice{}, map[choiceKey]bool{}, nil, nil, map[string]int{}
	if c.expressions == nil {
		c.expressions = expressions.New()
	}
	c.expressions.BeginCycle()
}

// Ratings say which nodes an attempt may use and prefers.
type ratings struct {
	p      *Snapshot
	counts nodeCounts
}

// choiceOf rates the nodes of a pool, once for all attempts of an owner, by the
// constraints, affinities, spreads and volumes of environment.nomad and of the pool's job,
// and by resources.gpu; nil if there are none.
func (r *ratings) choiceOf(key choiceKey, n *expconf.Nomad, gpu *expconf.GPU) *sched.Choice {
	of := r.p.Pools.Named(key.pool)
	asks := gpu.Asks() != ""
	if n == nil || len(n.Constraints)+len(n.Affinities)+len(n.Spread)+len(n.Volumes) == 0 { // nothing else of it rates nodes
		n = nil
	}
	if of == nil || n == nil && !asks && len(of.Affinities()) == 0 && len(of.Spreads()) == 0 {
		return nil
	}
	if n == nil && !asks { // only the pool's job rates the nodes: all these owners have one choice
		key = choiceKey{pool: key.pool}
	}
	if n == nil {
		n = &expconf.Nomad{}
	}
	known := r.choices()
	c, found := known.recall(key)
	if !found {
		c = r.rateNow(known, key, of, n, gpu)
		if key.user == "" {
			known.shared[c] = true
		}
		known.keep(key, c)
	}
	return c
}

func (r *ratings) choices() *choices {
	if r.p.choices == nil {
		r.p.choices = &choices{}
		r.p.choices.beginCycle(true)
	}
	return r.p.choices
}

// recall returns a choice of this cycle, or of the cycle before.
func (c *choices) recall(key choiceKey) (*sched.Choice, bool) {
	if of, found := c.now[key]; found {
		return of, true
	}
	of, found := c.before[key]
	if found {
		c.keep(key, of)
	}
	return of, found
}

// keep keeps a choice under a key. The choice of a pool is everybody's, and counts for nobody.
func (c *choices) keep(key choiceKey, of *sched.Choice) {
	if c.now[key] = of; of == nil || of == c.none || of == c.beyond || c.shared[of] {
		return
	}
	c.kept[key.user] += len(of.Unfit) + len(of.Fit) + len(of.Prefer) + len(of.Lack) + len(of.Models) + len(of.Spread)*len(of.Fit)
}

// rateNow rates the nodes, if the work of this cycle suffices for the comparisons of the user.
func (r *ratings) rateNow(known *choices, key choiceKey, of *pool.Pool, n *expconf.Nomad, gpu *expconf.GPU) *sched.Choice {
	x := known.expressions
	x.Of(key.user, n.Expressions()+n.Versions()+longOf(n) == 0) // those of the pool's job are left, which the operators wrote
	if key.user == "" {
		c, _ := r.rate(of, n, gpu, x.Match)
		return c
	}
	known.unfinished[key] = true // unless it is computed now
	if known.kept[key.user] >= maxKeptNodes {
		if known.beyond == nil {
			known.beyond = r.noNode(notKept)
		}
		return known.beyond
	}
	if x.Any() {
		c, work := r.rate(of, n, gpu, x.Match)
		if x.Exempt || !x.Over() {
			x.Spend(work)
			delete(known.unfinished, key)
			return c
		}
	}
	if known.none == nil {
		known.none = r.noNode(notCompared)
	}
	return known.none
}

// longOf is the number of comparisons that take work because their texts are long.
func longOf(n *expconf.Nomad) (count int) {
	constraints, affinities := comparisons(n)
	for _, x := range affinities {
		constraints = append(constraints, x.Comparison)
	}
	for _, x := range constraints {
		if x.Long() {
			count++
		}
	}
	return count
}

// noNode is the choice of no node.
func (r *ratings) noNode(why string) *sched.Choice {
	c := &sched.Choice{Unfit: map[string]string{}, Fit: map[string]bool{}}
	for _, row := range r.p.Nodes {
		c.Unfit[row.ID] = why
	}
	for i := range r.p.Pools {
		for _, x := range r.p.Pools[i].Classes {
			c.Unfit[nodeOfClass(&r.p.Pools[i], x).ID] = why
		}
	}
	return c
}

const (
	notCompared = "which the master has not compared with environment.nomad yet: there is much to compare, and it continues in a moment"
	notKept     = "which the master does not compare with environment.nomad: the tasks of this user that have not ended have too many different ones for so many nodes; kill some, or give them the same"
)

// rate returns the choice, and its work without that of regular expressions and versions, which match counts.
func (r *ratings) rate(of *pool.Pool, n *expconf.Nomad, gpu *expconf.GPU, match pool.Match) (*sched.Choice, int64) {
	var constraints []pool.Comparison
	devices := deviceAsk{of: of, gpu: gpu, match: match}
	asked, preferred := comparisons(n)
	for _, x := range asked {
		if expconf.OnDevices(x.Attribute) {
			devices.constraints = append(devices.constraints, x)
		} else {
			constraints = append(constraints, x)
		}
	}
	affinities := append(of.Affinities(), preferred...)
	c := &sched.Choice{Unfit: map[string]string{}, Fit: map[string]bool{}, Prefer: map[string]float64{}, Asks: devices.words()}
	fit := map[string]pool.Facts{}
	why := reasons{of: of, constraints: constraints, volumes: n.Volumes, match: match, known: map[string]string{}}
	nodes := 0
	rate := func(id string, node *cluster.Node, models []model) {
		nodes++
		if text := why.unfit(node); text != "" {
			c.Unfit[id] = text
			return
		}
		if !devices.rate(c, id, node, models) {
			return
		}
		fit[id], c.Fit[id] = node.Fact, true
		if draw := pool.Draw(affinities, node.Fact, match); draw != 0 {
			c.Prefer[id] = draw
		}
	}
	for _, row := range r.p.Nodes {
		if node, err := r.p.inventories.read(row); err == nil { // the snapshot's offer (see offer) reports this error
			rate(row.ID, &node, r.p.inventories.devices(row.ID, &node)[of.Device()])
		}
	}
	for _, x := range of.Classes {
		node := nodeOfClass(of, x)
		rate(node.ID, &node, deviceModels(&node)[of.Device()])
	}
	c.Spread = spreads(spreadsOf(of, n), fit)
	plain := len(constraints) + len(affinities) + len(n.Volumes) + len(c.Spread)
	return c, int64(nodes)*int64(expressions.NodeWork+expressions.PlainWork*plain) + devices.work
}

// comparisons returns the constraints and affinities of environment.nomad. No node meets a regular expression
// beyond the limits, whatever the row has: so the task waits, and runs on no node that Nomad would reject.
func comparisons(n *expconf.Nomad) (constraints []pool.Comparison, affinities []pool.Affinity) {
	found := 0
	bounded := func(c pool.Comparison) pool.Comparison {
		if c.Operator == "regexp" {
			if found++; found > expconf.MaxExpressions || expconf.CheckExpression(c.Value) != nil {
				c.Operator = "regexp (too many or too large)"
			}
		}
		return c
	}
	constraints, affinities, _ = pool.Asked(n)
	for i, c := range constraints {
		constraints[i] = bounded(c)
	}
	for i, a := range affinities {
		affinities[i].Comparison = bounded(a.Comparison)
	}
	return constraints, affinities
}

func spreadsOf(of *pool.Pool, n *expconf.Nomad) []pool.Spread {
	_, _, asked := pool.Asked(n)
	return append(of.Spreads(), asked...)
}

// spreads reads the nodes' values of each spread's attribute. It scales the weights so that
// their sum is 1, like those of affinities.
func spreads(list []pool.Spread, fit map[string]pool.Facts) []sched.Spread {
	weights := 0
	for _, s := range list {
		weights += s.Weight
	}
	out := make([]sched.Spread, 0, len(list))
	for _, s := range list {
		spread := sched.Spread{Weight: float64(s.Weight) / float64(max(weights, 1)), Value: map[string]string{}}
		values := map[string]bool{}
		for id, facts := range fit {
			if value, found := pool.ValueOf(s.Attribute, facts); found {
				spread.Value[id], values[value] = value, true
			}
		}
		spread.Share = s.Shares(values)
		out = append(out, spread)
	}
	return out
}

// reasons finds why nodes cannot run an attempt. All nodes with one reason share its text: a task may have a thousand nodes.
type reasons struct {
	of          *pool.Pool
	constraints []pool.Comparison
	volumes     []expconf.NomadVolume
	match       pool.Match
	unmet       map[int]string    // by the index of the constraint
	known       map[string]string // the same text for each
}

// unfit returns why a node cannot run an attempt, as the end of the sentence "it avoids
// <node>, …"; "" if it can.
func (r *reasons) unfit(node *cluster.Node) string {
	if i := pool.FirstUnmet(r.constraints, node.Fact, r.match); i >= 0 {
		if r.unmet[i] == "" {
			if r.unmet == nil {
				r.unmet = map[int]string{}
			}
			r.unmet[i] = "where environment.nomad.constraints are not met: " + r.constraints[i].String()
		}
		return r.unmet[i]
	}
	for _, v := range r.volumes {
		source, writes := r.of.HostVolume(v.Name)
		if source == "" {
			continue
		}
		if why := lacksVolume(node, source, writes && !v.ReadOnly); why != "" {
			return r.one("which " + why)
		}
	}
	return ""
}

// one returns the text that all nodes with this reason have.
func (r *reasons) one(text string) string {
	if known, ok := r.known[text]; ok {
		return known
	}
	r.known[text] = text
	return text
}

// taskChoice rates the nodes for a task that is not a trial. It ignores a configuration
// that cannot be parsed: its submission fails with the reason.
func (r *ratings) taskChoice(t *rows.LiveTask) avoidance {
	key := choiceKey{user: t.Owner, pool: t.Pool, text: string(t.Nomad) + string(t.GPU)}
	known := r.choices()
	if c, found := known.recall(key); found {
		return avoidance{choice: c}
	}
	var n *expconf.Nomad
	if len(t.Nomad) > 0 && json.Unmarshal(t.Nomad, &n) != nil {
		n = nil
	}
	var gpu *expconf.GPU
	if len(t.GPU) > 0 && json.Unmarshal(t.GPU, &gpu) != nil {
		gpu = nil
	}
	c := r.choiceOf(key, n, gpu)
	if c != nil && (c == known.none || c == known.beyond) {
		known.unfinished[key] = true
	}
	if _, found := known.now[key]; !found { // nothing of it rates nodes
		known.keep(key, c)
	}
	return avoidance{choice: c}
}
