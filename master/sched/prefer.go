package sched

import (
	"cmp"
	"slices"
)

// A Choice is what an owner says about nodes. Requests share it: what follows from it
// is found once for all of them.
type Choice struct {
	Unfit  map[string]string   // node ids that must not be used: why, in words that follow the node's name
	Asks   string              // what of devices is asked for: "a GPU whose model matches A100*"; "" for nothing
	Lack   map[string]bool     // node ids in Unfit that have no device of this kind
	Models map[string][]string // node ids on which only slots of some models may be used: those models
	Prefer map[string]float64  // by node id, from -1 to 1: of nodes that are otherwise equally good, the highest comes first
	Spread []Spread            // of the members of a group over nodes
}

// A Spread gives each value of an attribute its share of a group's members.
type Spread struct {
	Weight float64
	Value  map[string]string  // by node id
	Share  map[string]float64 // by value, from 0 to 1
}

// Bars reports whether a node must not be used.
func (c *Choice) Bars(node string) bool {
	if c == nil {
		return false
	}
	_, unfit := c.Unfit[node]
	return unfit
}

// takes reports whether slots of a model of a node may be used.
func (c *Choice) takes(node, model string) bool {
	if c == nil || len(c.Models) == 0 {
		return true
	}
	models, some := c.Models[node]
	return !some || slices.Contains(models, model)
}

// draws reports whether some nodes are better than others for a request.
func (r *Request) draws() bool {
	return r.Choice != nil && (len(r.Choice.Prefer) > 0 || len(r.Choice.Spread) > 0)
}

// score is how good a node is for a request.
func (p *planner) score(r *Request, node int) float64 {
	id := p.nodes[node].rated()
	score := r.Choice.Prefer[id]
	if len(r.Choice.Spread) == 0 {
		return score
	}
	t := p.tallyOf(r)
	for i, s := range r.Choice.Spread {
		value, found := s.Value[id]
		if !found {
			score -= s.Weight
			continue
		}
		score += s.Weight * (s.Share[value] - float64(t.counts[i][value])/float64(max(t.members, 1)))
	}
	return score
}

// A tally counts the members of a group by the values of each spread of its choice.
type tally struct {
	counts  []map[string]int
	members int
}

type tallyKey struct {
	group  string
	choice *Choice
}

func (p *planner) tallyOf(r *Request) *tally {
	key := tallyKey{r.Group, r.Choice}
	if t := p.tallies[key]; t != nil {
		return t
	}
	if p.byGroup == nil {
		p.byGroup = map[string][]int{}
		for i := range p.running {
			p.byGroup[p.running[i].Group] = append(p.byGroup[p.running[i].Group], i)
		}
	}
	t := &tally{counts: make([]map[string]int, len(r.Choice.Spread))}
	for i := range t.counts {
		t.counts[i] = map[string]int{}
	}
	p.tallies[key] = t
	for _, i := range p.byGroup[r.Group] {
		if !p.leaving[i] {
			t.add(r.Choice, p.running[i].Parts)
		}
	}
	return t
}

func (t *tally) add(c *Choice, parts []Part) {
	for _, part := range parts {
		for i, s := range c.Spread {
			if value, found := s.Value[part.NodeID]; found {
				t.counts[i][value]++
			}
		}
	}
	t.members += len(parts)
}

// placed notes a placement where it decides about the next ones of its group.
func (p *planner) placed(r *Request, to Placement) {
	if r.Choice != nil && len(r.Choice.Spread) > 0 {
		p.tallyOf(r).add(r.Choice, to.Parts)
	}
	p.result.Place = append(p.result.Place, to)
}

// maxTiers bounds how often parts are looked for, with ever less preferred nodes.
const maxTiers = 8

// tiers turns a request into requests that use only nodes of at least some score, the
// choosiest first; the last one is the request itself. A preference decides between places
// that there are: it neither waits for a better one nor cuts a task into other parts.
func (p *planner) tiers(r *Request) []*Request {
	if !r.draws() {
		return []*Request{r}
	}
	var levels []float64
	for i := range p.nodes {
		if p.nodes[i].Schedulable && !p.bars(r, i) {
			levels = append(levels, p.score(r, i))
		}
	}
	slices.SortFunc(levels, func(a, b float64) int { return cmp.Compare(b, a) })
	levels = slices.Compact(levels)
	var list []*Request
	for _, least := range levels[:min(max(len(levels)-1, 0), maxTiers-1)] {
		choosy := *r
		choosy.choosy, choosy.least = true, least
		list = append(list, &choosy)
	}
	return append(list, r)
}

// bars reports whether a request must not use a node.
func (p *planner) bars(r *Request, node int) bool {
	if len(r.Exclude) > 0 && slices.Contains(r.Exclude, p.nodes[node].ID) {
		return true
	}
	return r.Choice.Bars(p.nodes[node].rated()) || r.choosy && p.score(r, node) < r.least
}

// shut reports whether a request's choice leaves it no node.
func (p *planner) shut(r *Request) bool {
	if r.Choice == nil || len(r.Choice.Unfit) < p.schedulable {
		return false
	}
	for i := range p.nodes {
		if p.nodes[i].Schedulable && !r.Choice.Bars(p.nodes[i].rated()) {
			return false
		}
	}
	return true
}

// excluded reports whether a request must not use a block.
func (p *planner) excluded(r *Request, b int) bool {
	i := p.blocks[b].node
	return p.bars(r, i) || !r.Choice.takes(p.nodes[i].rated(), p.blocks[b].brand)
}
