package sched

import (
	"cmp"
	"slices"
)

// A Choice is what an owner says about nodes. Requests share it: what follows from it
// is found once for all of them.
type Choice struct {
	Unfit  map[string]string   // node ids that must not be used: why, in words that follow the node's name
	Fit    map[string]bool     // all other node ids; nil: not listed, and the scheduler looks at all nodes
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
	of := p.ratingOf(r.Choice)
	score := of.prefer[node]
	if len(of.spreads) == 0 {
		return score
	}
	t := p.tallyOf(r)
	for i := range of.spreads {
		s := &of.spreads[i]
		value := s.values[node]
		if value < 0 {
			score -= s.weight
			continue
		}
		score += s.weight * (s.shares[value] - float64(t.counts[i][value])/float64(max(t.members, 1)))
	}
	return score
}

// A rating is what a choice says of each node of the pool. Scores are asked for so often that looking nodes up
// by their ids would take most of the time of a plan.
type rating struct {
	choice  *Choice
	prefer  []float64 // by node
	spreads []spreadRating
}

type spreadRating struct {
	weight float64
	values []int          // by node: the number of its value; -1 if it has none
	number map[string]int // of each value
	shares []float64      // by the number of a value
}

func (p *planner) ratingOf(c *Choice) *rating {
	if p.rating != nil && p.rating.choice == c { // the one that was used last
		return p.rating
	}
	p.rating = p.ratings[c]
	if p.rating == nil {
		p.rating = p.rate(c)
		p.ratings[c] = p.rating
	}
	return p.rating
}

func (p *planner) rate(c *Choice) *rating {
	of := &rating{choice: c, prefer: make([]float64, len(p.nodes)), spreads: make([]spreadRating, len(c.Spread))}
	if len(c.Prefer) > 0 {
		for i := range p.nodes {
			of.prefer[i] = c.Prefer[p.nodes[i].rated()]
		}
	}
	for i := range c.Spread {
		s := spreadRating{weight: c.Spread[i].Weight, values: make([]int, len(p.nodes)), number: map[string]int{}}
		for j := range p.nodes {
			value, found := c.Spread[i].Value[p.nodes[j].rated()]
			if !found {
				s.values[j] = -1
				continue
			}
			n, known := s.number[value]
			if !known {
				n = len(s.shares)
				s.number[value], s.shares = n, append(s.shares, c.Spread[i].Share[value])
			}
			s.values[j] = n
		}
		of.spreads[i] = s
	}
	return of
}

// A tally counts the members of a group by the values of each spread of its choice.
type tally struct {
	key     tallyKey
	counts  [][]int // of each spread, by the number of a value
	members int
}

type tallyKey struct {
	group  string
	choice *Choice
}

func (p *planner) tallyOf(r *Request) *tally {
	key := tallyKey{r.Group, r.Choice}
	if p.tally != nil && p.tally.key == key { // the one that was used last
		return p.tally
	}
	p.tally = p.tallies[key]
	if p.tally == nil {
		p.tally = p.count(key)
		p.tallies[key] = p.tally
	}
	return p.tally
}

func (p *planner) count(key tallyKey) *tally {
	if p.byGroup == nil {
		p.byGroup = map[string][]int{}
		for i := range p.running {
			p.byGroup[p.running[i].Group] = append(p.byGroup[p.running[i].Group], i)
		}
	}
	of := p.ratingOf(key.choice)
	t := &tally{key: key, counts: make([][]int, len(of.spreads))}
	for i := range t.counts {
		t.counts[i] = make([]int, len(of.spreads[i].shares))
	}
	for _, i := range p.byGroup[key.group] {
		if !p.leaving[i] {
			t.add(of, p.running[i].Parts)
		}
	}
	return t
}

func (t *tally) add(of *rating, parts []Part) {
	for _, part := range parts {
		for i, s := range of.choice.Spread {
			value, found := s.Value[part.NodeID]
			if !found {
				continue
			}
			if n, known := of.spreads[i].number[value]; known {
				t.counts[i][n]++
			}
		}
	}
	t.members += len(parts)
}

// placed notes a placement where it decides about the next ones of its group.
func (p *planner) placed(r *Request, to Placement) {
	if r.Choice != nil && len(r.Choice.Spread) > 0 {
		p.tallyOf(r).add(p.ratingOf(r.Choice), to.Parts)
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
	return r.Choice.Bars(p.nodes[node].rated()) || r.within != nil && !r.within[p.racks[node]] || r.choosy && p.score(r, node) < r.least
}

// fits reports whether a node that a choice lists is a schedulable node of the pool, or rates one that could be added.
func (p *planner) fits(id string) bool {
	i, found := p.nodeIndex[id]
	return found && p.nodes[i].Schedulable || p.added[id]
}

// shut reports whether a request's choice leaves it no node.
func (p *planner) shut(r *Request) bool {
	if r.Choice == nil || len(r.Choice.Unfit) < p.schedulable {
		return false
	}
	if r.Choice.Fit != nil {
		for id := range r.Choice.Fit {
			if p.fits(id) {
				return false
			}
		}
		return true
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
