package sched

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/detent-ml/detent/master/spelling"
)

func (p *planner) whyPaused(r *Request) string {
	return fmt.Sprintf("could not be started and is tried again at %s", r.NotBefore.UTC().Format(time.RFC3339))
}

func (p *planner) whyQuota(r *Request) string {
	if r.Slots > *r.MaxSlots {
		return fmt.Sprintf("needs %s, more than the max_slots %d of %s", slotsOf(r.Slots), *r.MaxSlots, nameOf(r.Group, r.ID))
	}
	return fmt.Sprintf("%s is at its max_slots %d", nameOf(r.Group, r.ID), *r.MaxSlots)
}

// whyNever explains a request that the pool's schedulable nodes cannot hold even when empty.
func (p *planner) whyNever(r *Request) string {
	if len(r.Exclude) > 0 {
		return p.explainNever(r)
	}
	about := p.about(r)
	if about.never == "" {
		about.never = p.explainNever(r)
	}
	return about.never
}

func (p *planner) explainNever(r *Request) string {
	if p.schedulable == 0 {
		return p.whyNoNode()
	}
	if why := p.whyExcluded(r); why != "" {
		return why
	}
	i, size := p.largest(p.capacity, r)
	if size == 0 {
		return fmt.Sprintf("needs %s; pool %s has no usable slot%s", slotsOf(r.Slots), p.pool.Name, p.asides(r))
	}
	if r.SingleNode {
		return fmt.Sprintf("needs %s on one node; the largest node of pool %s, %s, has %d%s",
			slotsOf(r.Slots), p.pool.Name, p.nodeOf(i), size, p.asides(r))
	}
	if p.usable < r.Slots {
		return fmt.Sprintf("needs %s; pool %s has %d%s", slotsOf(r.Slots), p.pool.Name, p.usable, p.asides(r))
	}
	if all := p.slotsFor(r, anyBrand); all < r.Slots {
		return fmt.Sprintf("needs %s; the nodes of pool %s that it may use have %d%s", slotsOf(r.Slots), p.pool.Name, all, p.asides(r))
	}
	if why := p.whyOneModel(r); why != "" {
		return why
	}
	return fmt.Sprintf("needs %s, in equal parts on several nodes, and no equal parts fit the nodes of pool %s; the largest, %s, has %d%s",
		slotsOf(r.Slots), p.pool.Name, p.nodeOf(i), size, p.asides(r))
}

// slotsFor is how many slots of a model, or of any, a request could use in the empty pool.
func (p *planner) slotsFor(r *Request, brand string) int {
	sum := 0
	for i := range p.blocks {
		if b := &p.blocks[i]; (brand == anyBrand || b.brand == brand) && !p.excluded(r, i) {
			sum += len(b.slots)
		}
	}
	return sum
}

// whyOneModel explains a request for which there are enough slots, but not of one model; "" if
// that is not why.
func (p *planner) whyOneModel(r *Request) string {
	if r.MixModels {
		return ""
	}
	var have []string
	for _, brand := range p.brands {
		switch n := p.slotsFor(r, brand); {
		case n >= r.Slots:
			return ""
		case n > 0:
			have = append(have, fmt.Sprintf("%d of %s", n, cmp.Or(brand, "no model")))
		}
	}
	return fmt.Sprintf("needs %s of one model; pool %s has %s: with resources.gpu.mixed it could use several models%s",
		slotsOf(r.Slots), p.pool.Name, list(have), p.asides(r))
}

// whyNow explains a request that would fit if others did not run or wait. Thousands that
// are alike get one sentence.
func (p *planner) whyNow(r *Request) string {
	if p.result.Full == nil {
		p.result.Full = map[string]bool{}
	}
	p.result.Full[r.ID] = true
	if len(r.Exclude) > 0 {
		return p.explain(r)
	}
	about := p.about(r)
	if known := about.whyNow; known.text == "" || known.moves != p.opens.moves || known.ahead != p.ahead {
		about.whyNow = reason{p.explain(r), p.opens.moves, p.ahead}
	}
	return about.whyNow.text
}

func (p *planner) explain(r *Request) string {
	if p.ahead != nil && p.find(p.opens, r) != nil {
		return p.policy.behind(p.ahead)
	}
	needs := "needs " + slotsOf(r.Slots)
	w := p.fewest(r)
	i, size := p.largest(p.opens, r)
	switch {
	case w.nodes == 1 && r.Slots > 1:
		needs += " on one node"
	case w.uneven && size > 0:
		needs += " on " + spelling.Count(w.nodes, "node")
		if open, names := p.mostOpen(r, w.nodes); open < r.Slots {
			return fmt.Sprintf("%s; in pool %s at most %d are free together, on %s%s", needs, p.pool.Name, open, list(names), p.asides(r))
		}
	case w.nodes > 1 && !w.uneven:
		needs += fmt.Sprintf(" on %d nodes, %d on each", w.nodes, r.Slots/w.nodes)
		if size >= r.Slots/w.nodes {
			return fmt.Sprintf("%s; in pool %s only %s can give that now%s", needs, p.pool.Name, list(p.nodesWith(r, r.Slots/w.nodes)), p.asides(r))
		}
	}
	if size == 0 {
		return fmt.Sprintf("%s; all %d of pool %s are in use%s", needs, p.usable, p.pool.Name, p.asides(r))
	}
	return fmt.Sprintf("%s; the largest free block in pool %s is %d, on node %s%s", needs, p.pool.Name, size, p.nodeOf(i), p.asides(r))
}

// mostOpen is how many slots are free on so many nodes of a request, at most, and their names.
func (p *planner) mostOpen(r *Request, nodes int) (most int, names []string) {
	for _, brand := range p.brandsOf(r) {
		sum, at := 0, []string(nil)
		for i := range p.largestFirst(p.opens, r, brand) {
			if len(at) == nodes {
				break
			}
			sum += p.blocks[i].open()
			at = append(at, p.nodeOf(i))
		}
		if sum > most {
			most, names = sum, at
		}
	}
	slices.Sort(names)
	return most, names
}

// nodesWith lists the nodes that a request may use and on which that many slots are free.
func (p *planner) nodesWith(r *Request, free int) []string {
	var names []string
	for i := range p.blocks {
		if p.blocks[i].open() >= free && !p.excluded(r, i) {
			names = append(names, p.nodeOf(i))
		}
	}
	return slices.Compact(names)
}

// whyPromised names the tasks whose leaving a request waits for.
func (p *planner) whyPromised(r *Request, picks []hold) string {
	if p.onBlock == nil {
		p.onBlock = make([][]int, len(p.blocks))
		for i := range p.running {
			for _, h := range p.holds[i] {
				p.onBlock[h.block] = append(p.onBlock[h.block], i)
			}
		}
	}
	var names []string
	for _, h := range picks {
		for _, i := range p.onBlock[h.block] {
			switch x := p.running[i]; {
			case !p.leaving[i]:
			case x.Group != "" && x.Group == r.Group:
				names = append(names, "other trials of the same experiment")
			default:
				names = append(names, nameOf(x.Group, x.ID))
			}
		}
	}
	slices.Sort(names)
	return fmt.Sprintf("waits for the slots of %s", list(slices.Compact(names)))
}

func (p *planner) whyAux(r *Request) string {
	if p.schedulable == 0 {
		return p.whyNoNode()
	}
	if p.pool.MaxAux <= 0 {
		return fmt.Sprintf("pool %s accepts no tasks of 0 slots (its max_aux_containers_per_agent is %d)", p.pool.Name, p.pool.MaxAux)
	}
	if why := p.whyExcluded(r); why != "" {
		return why
	}
	if !slices.ContainsFunc(p.nodes, func(n Node) bool { return n.Schedulable && !p.tooShortLived(r, p.nodeIndex[n.ID]) }) {
		return fmt.Sprintf("tasks of 0 slots do not run on spot machines, and pool %s has no other node in order; an operator can allow it with aux_on_spot", p.pool.Name)
	}
	return fmt.Sprintf("every node of pool %s is full with tasks of 0 slots (max_aux_containers_per_agent is %d)%s",
		p.pool.Name, p.pool.MaxAux, p.asides(r))
}

func (p *planner) whyNoNode() string {
	if len(p.nodes) == 0 {
		return fmt.Sprintf("pool %s has no node", p.pool.Name)
	}
	if p.noNode == "" {
		var parts []string
		for i := range p.nodes {
			parts = append(parts, p.nodes[i].label()+" "+p.nodes[i].why())
		}
		p.noNode = fmt.Sprintf("pool %s has no schedulable node: %s", p.pool.Name, list(parts))
	}
	return p.noNode
}

// whyExcluded explains a request that may use none of the schedulable nodes.
func (p *planner) whyExcluded(r *Request) string {
	if len(r.Exclude) > 0 || !p.shut(r) {
		for i := range p.nodes {
			if p.nodes[i].Schedulable && !p.bars(r, i) {
				return ""
			}
		}
	}
	if why := p.whyLacking(r); why != "" {
		return why
	}
	return fmt.Sprintf("may use no schedulable node of pool %s: it avoids %s", p.pool.Name, p.avoided(r))
}

// whyLacking explains a request for devices that no schedulable node has, or only nodes that
// it must not use for another reason; "" if that is not why.
func (p *planner) whyLacking(r *Request) string {
	if r.Choice == nil || r.Choice.Asks == "" {
		return ""
	}
	lacking := 0
	for i := range p.nodes {
		if p.nodes[i].Schedulable && r.Choice.Lack[p.nodes[i].ID] {
			lacking++
		}
	}
	models := slices.DeleteFunc(slices.Clone(p.brands), func(brand string) bool { return brand == "" })
	switch {
	case lacking < p.schedulable:
		return ""
	case len(models) == 0:
		return fmt.Sprintf("no node of pool %s has %s%s", p.pool.Name, r.Choice.Asks, p.outOfUse)
	}
	return fmt.Sprintf("no node of pool %s has %s; there is %s%s", p.pool.Name, r.Choice.Asks, list(models), p.outOfUse)
}

// asides tells what else stands in the way: nodes that are out of use, and nodes that the request avoids.
func (p *planner) asides(r *Request) string {
	if avoided := p.avoided(r); avoided != "" {
		return p.outOfUse + "; it avoids " + avoided
	}
	return p.outOfUse
}

// maxAvoided bounds the nodes from which a sentence takes its reasons: many requests of
// many owners may each avoid most of a large cluster.
const maxAvoided = 20

// avoided names the schedulable nodes that a request does not use, with the reasons.
func (p *planner) avoided(r *Request) string {
	if len(r.Exclude) == 0 && (r.Choice == nil || len(r.Choice.Unfit) == 0) {
		return ""
	}
	var all []avoidedNodes
	named, others := 0, ""
	for i := range p.nodes {
		if !p.nodes[i].Schedulable || !p.bars(r, i) {
			continue
		}
		if named++; named > maxAvoided {
			others = "; and others"
			break
		}
		why := p.whyBarred(r, p.nodes[i].ID)
		at := slices.IndexFunc(all, func(x avoidedNodes) bool { return x.why == why })
		if at < 0 {
			at = len(all)
			all = append(all, avoidedNodes{why: why})
		}
		all[at].count++
		if len(all[at].names) < maxListed {
			all[at].names = append(all[at].names, p.nodes[i].label())
		}
	}
	reasons := make([]string, len(all))
	for i, x := range all {
		reasons[i] = listed(x.names, x.count) + ", " + x.why
	}
	return strings.Join(reasons, "; and ") + others
}

// avoidedNodes are those that a request does not use for the same reason.
type avoidedNodes struct {
	why   string
	names []string // of the first ones
	count int
}

func (p *planner) whyBarred(r *Request, node string) string {
	why := r.Because[node]
	if why == "" && r.Choice != nil {
		why = r.Choice.Unfit[node]
	}
	return cmp.Or(why, "where it failed before")
}

// describeOutOfUse says once, for all sentences, which nodes and which slots of
// the others are out of use.
func (p *planner) describeOutOfUse() {
	var out []string
	for i := range p.nodes {
		n := &p.nodes[i]
		if !n.Schedulable {
			out = append(out, n.label()+" "+n.why())
			continue
		}
		for _, s := range n.Slots {
			if !s.Healthy && s.Health != "" {
				out = append(out, fmt.Sprintf("slot %d of %s is out of use (%s)", s.ID, n.label(), s.Health))
			}
		}
	}
	if len(out) > 0 {
		p.outOfUse = "; " + list(out)
	}
}

// largest returns the first of the largest blocks that a request may use, and its size.
func (p *planner) largest(s *shelf, r *Request) (index, size int) {
	for n := s.max; n > 0; n-- {
		for _, i := range s.rows[n] {
			if !p.excluded(r, i) {
				return i, n
			}
		}
	}
	return -1, 0
}

func (p *planner) nodeOf(b int) string { return p.nodes[p.blocks[b].node].label() }

func (n *Node) label() string {
	if n.Name != "" {
		return n.Name
	}
	return n.ID
}

func (n *Node) why() string {
	if n.Why != "" {
		return n.Why
	}
	return "is out of use"
}

func slotsOf(n int) string { return spelling.Count(n, "slot") }

// maxListed is how many names a sentence has.
const maxListed = 3

// list joins names for a sentence, and counts what is too many to read.
func list(names []string) string { return listed(names, len(names)) }

// listed is list for so many names, of which the first ones are enough.
func listed(names []string, count int) string {
	if count > maxListed {
		return strings.Join(names[:maxListed-1], ", ") + " and " + strconv.Itoa(count-maxListed+1) + " more"
	}
	if count < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:count-1], ", ") + " and " + names[count-1]
}
