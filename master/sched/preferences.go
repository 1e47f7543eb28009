package sched

import (
	"cmp"
	"slices"
)

// A Choice is what an owner demands of nodes. Requests with the same demands share one Choice, so that the planner
// evaluates it once for all of them.
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

// preferences says which nodes and blocks a request may use, and which ones it prefers.
type preferences struct {
	*inventory
	ratings map[*Choice]*rating // made when first needed
	rating  *rating             // the one that was used last
	tallies map[tallyKey]*tally // where what is placed is spread
	tally   *tally              // the one that was used last
	byGroup map[string][]int    // of running, made when first needed
	looks   int                 // how often a request looked at a block, or at what its choice says of a node: the work of a plan
}

func newPreferences(inv *inventory) *preferences {
	return &preferences{inventory: inv, ratings: map[*Choice]*rating{}, tallies: map[tallyKey]*tally{}}
}

// score is how good a node is for a request.
func (w *preferences) score(r *Request, node int) float64 {
	of := w.ratingOf(r.Choice)
	score := 0.0
	if of.prefer != nil {
		score = of.prefer[node]
	}
	if len(of.spreads) == 0 {
		return score
	}
	t := w.tallyOf(r)
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

// A rating holds the values of a choice for each node of the pool, by the index of the node. A plan needs scores so
// often that looking up nodes by their ids would take most of its time.
type rating struct {
	choice  *Choice
	asked   int       // how often bars has asked the choice
	barred  []bool    // by node; nil until the choice was asked as often as there are nodes
	prefer  []float64 // by node; nil: no node is preferred
	spreads []spreadRating
}

type spreadRating struct {
	weight float64
	values []int          // by node: the number of its value; -1 if it has none
	number map[string]int // of each value
	shares []float64      // by the number of a value
}

func (w *preferences) ratingOf(c *Choice) *rating {
	if w.rating != nil && w.rating.choice == c { // the one that was used last
		return w.rating
	}
	w.rating = w.ratings[c]
	if w.rating == nil {
		w.rating = w.rate(c)
		w.ratings[c] = w.rating
	}
	return w.rating
}

func (w *preferences) rate(c *Choice) *rating {
	w.looks += len(w.nodes) * (1 + len(c.Spread))
	of := &rating{choice: c, spreads: make([]spreadRating, len(c.Spread))}
	if len(c.Prefer) > 0 {
		of.prefer = make([]float64, len(w.nodes))
		for i := range w.nodes {
			of.prefer[i] = c.Prefer[w.nodes[i].rated()]
		}
	}
	for i := range c.Spread {
		s := spreadRating{weight: c.Spread[i].Weight, values: make([]int, len(w.nodes)), number: map[string]int{}}
		for j := range w.nodes {
			value, found := c.Spread[i].Value[w.nodes[j].rated()]
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

func (w *preferences) tallyOf(r *Request) *tally {
	key := tallyKey{r.Group, r.Choice}
	if w.tally != nil && w.tally.key == key { // the one that was used last
		return w.tally
	}
	w.tally = w.tallies[key]
	if w.tally == nil {
		w.tally = w.count(key)
		w.tallies[key] = w.tally
	}
	return w.tally
}

func (w *preferences) count(key tallyKey) *tally {
	if w.byGroup == nil {
		w.byGroup = map[string][]int{}
		for i := range w.running {
			w.byGroup[w.running[i].Group] = append(w.byGroup[w.running[i].Group], i)
		}
	}
	of := w.ratingOf(key.choice)
	t := &tally{key: key, counts: make([][]int, len(of.spreads))}
	for i := range t.counts {
		t.counts[i] = make([]int, len(of.spreads[i].shares))
	}
	for _, i := range w.byGroup[key.group] {
		if !w.leaving[i] {
			t.add(of, w.running[i].Parts)
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

// note notes a placement where it decides about the next ones of its group.
func (w *preferences) note(r *Request, to Placement) {
	if r.Choice != nil && len(r.Choice.Spread) > 0 {
		w.tallyOf(r).add(w.ratingOf(r.Choice), to.Parts)
	}
}

// maxTiers bounds how often parts are looked for, with ever less preferred nodes.
const maxTiers = 8

// tiers returns variants of a request that use only nodes of at least some score, the highest score first; the last
// one is the request itself. A preference decides only among places with room: it neither delays a task nor divides
// it into other parts.
func (w *preferences) tiers(r *Request) []*Request {
	if !r.draws() {
		return []*Request{r}
	}
	w.looks += len(w.nodes) * (1 + len(r.Choice.Spread))
	var levels []float64
	for i := range w.nodes {
		if w.nodes[i].Schedulable && !w.bars(r, i) {
			levels = append(levels, w.score(r, i))
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
func (w *preferences) bars(r *Request, node int) bool {
	if len(r.Exclude) > 0 && slices.Contains(r.Exclude, w.nodes[node].ID) {
		return true
	}
	if r.into != nil && r.into.shut != nil && r.into.shut[node] {
		return true
	}
	return r.Choice != nil && w.ratingOf(r.Choice).bars(w.nodes, node) || r.within != nil && !r.within[w.racks[node]] || r.choosy && w.score(r, node) < r.least
}

// bars reports whether the choice bars a node. Most choices are asked about few nodes, and some about all nodes for each of many requests.
func (of *rating) bars(nodes []Node, node int) bool {
	if of.barred == nil {
		if of.asked++; of.asked <= len(nodes) {
			return of.choice.Bars(nodes[node].rated())
		}
		of.barred = make([]bool, len(nodes))
		for i := range nodes {
			of.barred[i] = of.choice.Bars(nodes[i].rated())
		}
	}
	return of.barred[node]
}

// fits reports whether a node that a choice lists is a schedulable node of the pool, or rates one that could be added.
func (inv *inventory) fits(id string) bool {
	i, found := inv.nodeIndex[id]
	return found && inv.nodes[i].Schedulable || inv.added[id]
}

// shut reports whether a request's choice leaves it no node.
func (w *preferences) shut(r *Request) bool {
	if r.Choice == nil || len(r.Choice.Unfit) < w.schedulable {
		return false
	}
	if r.Choice.Fit != nil {
		for id := range r.Choice.Fit {
			if w.fits(id) {
				return false
			}
		}
		return true
	}
	for i := range w.nodes {
		if w.nodes[i].Schedulable && !r.Choice.Bars(w.nodes[i].rated()) {
			return false
		}
	}
	return true
}

// excluded reports whether a request must not use a block.
func (w *preferences) excluded(r *Request, b int) bool {
	w.looks++
	i := w.blocks[b].node
	return w.bars(r, i) || !r.Choice.takes(w.nodes[i].rated(), w.blocks[b].brand)
}
