package sched

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/spelling"
)

// An explainer says why requests wait.
type explainer struct {
	*fit
	policy  policy
	ahead   *Request // the first request that found no room
	noNode  string   // of whyNoNode
	onBlock [][]int  // the running tasks that hold slots of each block, made when first needed
}

// A reason is a sentence, and when it is true: after so many moves of blocks on opens, behind the
// same request.
type reason struct {
	text  string
	moves int
	ahead *Request
}

const whyUnlooked = "waits behind others of its owner, who has so many different requests that the scheduler looks at the first of them only"

func (e *explainer) whyPaused(r *Request) string {
	return fmt.Sprintf("could not be started and is tried again at %s", r.NotBefore.UTC().Format(time.RFC3339))
}

func (e *explainer) whyQuota(r *Request) string {
	if r.Slots > *r.MaxSlots {
		return fmt.Sprintf("needs %s, more than the max_slots %d of %s", slotsOf(r.Slots), *r.MaxSlots, nameOf(r.Group, r.ID))
	}
	return fmt.Sprintf("%s is at its max_slots %d", nameOf(r.Group, r.ID), *r.MaxSlots)
}

// whyNever explains a request that the pool's schedulable nodes cannot hold even when empty.
func (e *explainer) whyNever(r *Request) string {
	if len(r.Exclude) > 0 {
		return e.explainNever(r)
	}
	about := e.about(r)
	if about.never == "" {
		about.never = e.explainNever(r)
	}
	return about.never
}

func (e *explainer) explainNever(r *Request) string {
	if e.schedulable == 0 {
		return e.whyNoNode()
	}
	if why := e.whyExcluded(r); why != "" {
		return why
	}
	i, size := e.largest(e.capacity, r)
	if size == 0 {
		return fmt.Sprintf("needs %s; pool %s has no usable slot%s", slotsOf(r.Slots), e.pool.Name, e.asides(r))
	}
	if why := e.whyNoRoom(e.capacity, r, way{nodes: 1, uneven: !r.SingleNode}); why != "" {
		return why
	}
	if r.SingleNode {
		return fmt.Sprintf("needs %s on one node; the largest node of pool %s, %s, has %d%s",
			slotsOf(r.Slots), e.pool.Name, e.nodeOf(i), size, e.asides(r))
	}
	if e.usable < r.Slots {
		return fmt.Sprintf("needs %s; pool %s has %d%s", slotsOf(r.Slots), e.pool.Name, e.usable, e.asides(r))
	}
	if all := e.slotsFor(r, anyBrand); all < r.Slots {
		return fmt.Sprintf("needs %s; the nodes of pool %s that it may use have %d%s", slotsOf(r.Slots), e.pool.Name, all, e.asides(r))
	}
	if why := e.whyOneModel(r); why != "" {
		return why
	}
	return fmt.Sprintf("needs %s, in equal parts on several nodes, and no equal parts fit the nodes of pool %s; the largest, %s, has %d%s",
		slotsOf(r.Slots), e.pool.Name, e.nodeOf(i), size, e.asides(r))
}

// slotsFor is how many slots of a model, or of any, a request could use in the empty pool.
func (f *fit) slotsFor(r *Request, brand string) int {
	sum := 0
	for i := range f.blocks {
		if b := &f.blocks[i]; (brand == anyBrand || b.brand == brand) && !f.excluded(r, i) {
			sum += len(b.slots)
		}
	}
	return sum
}

// whyOneModel explains a request for which there are enough slots, but not of one model; "" if
// that is not why.
func (e *explainer) whyOneModel(r *Request) string {
	if r.MixModels {
		return ""
	}
	var have []string
	for _, brand := range e.brands {
		switch n := e.slotsFor(r, brand); {
		case n >= r.Slots:
			return ""
		case n > 0:
			have = append(have, fmt.Sprintf("%d of %s", n, cmp.Or(brand, "no model")))
		}
	}
	return fmt.Sprintf("needs %s of one model; pool %s has %s: with resources.gpu.mixed it could use several models%s",
		slotsOf(r.Slots), e.pool.Name, list(have), e.asides(r))
}

// whyNow explains a request that would fit if others did not run or wait. Thousands that
// are alike get one sentence.
func (e *explainer) whyNow(r *Request) string {
	if len(r.Exclude) > 0 {
		return e.explain(r)
	}
	about := e.about(r)
	if known := about.whyNow; known.text == "" || known.moves != e.opens.moves || known.ahead != e.ahead {
		about.whyNow = reason{e.explain(r), e.opens.moves, e.ahead}
	}
	return about.whyNow.text
}

func (e *explainer) explain(r *Request) string {
	if r.Slots <= 0 {
		return e.whyAux(r)
	}
	if e.ahead != nil && e.find(e.opens, r) != nil {
		return e.policy.behind(e.ahead)
	}
	needs := "needs " + slotsOf(r.Slots)
	w := e.fewest(r)
	if why := e.whyNoRoom(e.opens, r, w); why != "" {
		return why
	}
	i, size := e.largest(e.opens, r)
	switch {
	case w.nodes == 1 && r.Slots > 1:
		needs += " on one node"
	case w.uneven && size > 0:
		needs += " on " + spelling.Count(w.nodes, "node")
		if open, names := e.mostOpen(r, w.nodes); open < r.Slots {
			return fmt.Sprintf("%s; in pool %s at most %d are free together, on %s%s", needs, e.pool.Name, open, list(names), e.asides(r))
		}
	case w.nodes > 1 && !w.uneven:
		needs += fmt.Sprintf(" on %d nodes, %d on each", w.nodes, r.Slots/w.nodes)
		if size >= r.Slots/w.nodes {
			return fmt.Sprintf("%s; in pool %s only %s can give that now%s", needs, e.pool.Name, list(e.nodesWith(r, r.Slots/w.nodes)), e.asides(r))
		}
	}
	if size == 0 {
		all, may := e.slotsFor(r, anyBrand), ""
		if all < e.usable {
			may = " that it may use"
		}
		return fmt.Sprintf("%s; all %d of pool %s%s are in use%s", needs, all, e.pool.Name, may, e.asides(r))
	}
	return fmt.Sprintf("%s; the largest free block in pool %s is %d, on node %s%s", needs, e.pool.Name, size, e.nodeOf(i), e.asides(r))
}

// whyNoRoom explains a request for which there are enough slots, but on nodes with too few processors or too little memory: it names the node
// that has most memory. "" if that is not why.
func (e *explainer) whyNoRoom(s *shelf, r *Request, w way) string {
	part := func(i int) int { // of the request on a block
		if w.uneven {
			return max(1, min(s.at[i], r.Slots))
		}
		return r.Slots / w.nodes
	}
	best, enough := -1, 0
	for i := range e.blocks {
		if s.at[i] < part(i) || e.excluded(r, i) {
			continue
		}
		enough += s.at[i]
		if node := e.blocks[i].node; !e.carries(s, r, node, part(i)) && (best < 0 || e.roomOn(s, node).MemoryMB > e.roomOn(s, e.blocks[best].node).MemoryMB) {
			best = i
		}
	}
	if best < 0 || enough < r.Slots {
		return ""
	}
	have := map[bool]string{true: "for tasks", false: "free"}[s == e.capacity]
	return fmt.Sprintf("needs %s; node %s has %s %s, but %s%s", slotsOf(r.Slots), e.nodeOf(best), slotsOf(s.at[best]), have, e.lacking(s, r, e.blocks[best].node, part(best)), e.asides(r))
}

// lacking says what a node has too little of for a part of a request.
func (e *explainer) lacking(s *shelf, r *Request, node, slots int) string {
	supply, has := e.rooms[node].supply, e.roomOn(s, node).most(Amount{})
	needs := supply.Of(r.Ask, slots)
	there, wanted := fmt.Sprintf("%d MiB of memory", has.MemoryMB), fmt.Sprintf("%d MiB", needs.MemoryMB)
	if needs.MemoryMB <= has.MemoryMB {
		there, wanted = Processors.words(Processors.of(0, has, supply)), Processors.words(Processors.of(0, needs, supply))
	}
	return there + "; the task needs " + wanted
}

// mostOpen is how many slots are free on so many nodes of a request, at most, and their names.
func (f *fit) mostOpen(r *Request, nodes int) (most int, names []string) {
	for _, brand := range f.brandsOf(r) {
		sum, at := 0, []string(nil)
		for i, open := range f.largestFirst(f.opens, r, brand) {
			if len(at) == nodes {
				break
			}
			sum += open
			at = append(at, f.nodeOf(i))
		}
		if sum > most {
			most, names = sum, at
		}
	}
	slices.Sort(names)
	return most, names
}

// nodesWith lists the nodes that a request may use and on which that many slots are free.
func (f *fit) nodesWith(r *Request, free int) []string {
	var names []string
	for i := range f.blocks {
		if f.blocks[i].open() >= free && !f.excluded(r, i) {
			names = append(names, f.nodeOf(i))
		}
	}
	return slices.Compact(names)
}

// whyPromised names the tasks whose leaving a request waits for.
func (e *explainer) whyPromised(r *Request, picks []hold) string {
	if e.onBlock == nil {
		e.onBlock = make([][]int, len(e.blocks))
		for i := range e.running {
			for _, h := range e.holds[i] {
				e.onBlock[h.block] = append(e.onBlock[h.block], i)
			}
		}
	}
	var names []string
	for _, h := range picks {
		for _, i := range e.onBlock[h.block] {
			switch x := e.running[i]; {
			case !e.leaving[i]:
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

func (e *explainer) whyNoNode() string {
	if len(e.nodes) == 0 {
		return fmt.Sprintf("pool %s has no node", e.pool.Name)
	}
	if e.noNode == "" {
		var parts []string
		for i := range e.nodes {
			parts = append(parts, e.nodes[i].label()+" "+e.nodes[i].why())
		}
		e.noNode = fmt.Sprintf("pool %s has no schedulable node: %s", e.pool.Name, list(parts))
	}
	return e.noNode
}

// whyExcluded explains a request that may use none of the schedulable nodes.
func (e *explainer) whyExcluded(r *Request) string {
	if len(r.Exclude) > 0 || !e.shut(r) {
		for i := range e.nodes {
			if e.nodes[i].Schedulable && !e.bars(r, i) {
				return ""
			}
		}
	}
	if why := e.whyLacking(r); why != "" {
		return why
	}
	return fmt.Sprintf("may use no schedulable node of pool %s: it avoids %s", e.pool.Name, e.avoided(r))
}

// whyLacking explains a request for devices that no schedulable node has, or only nodes that
// it must not use for another reason; "" if that is not why.
func (e *explainer) whyLacking(r *Request) string {
	if r.Choice == nil || r.Choice.Asks == "" {
		return ""
	}
	lacking := 0
	for i := range e.nodes {
		if e.nodes[i].Schedulable && r.Choice.Lack[e.nodes[i].ID] {
			lacking++
		}
	}
	models := slices.DeleteFunc(slices.Clone(e.brands), func(brand string) bool { return brand == "" })
	switch {
	case lacking < e.schedulable:
		return ""
	case len(models) == 0:
		return fmt.Sprintf("no node of pool %s has %s%s", e.pool.Name, r.Choice.Asks, e.outOfUse)
	}
	return fmt.Sprintf("no node of pool %s has %s; there is %s%s", e.pool.Name, r.Choice.Asks, list(models), e.outOfUse)
}

// asides tells what else stands in the way: nodes that are out of use, and nodes that the request avoids.
func (e *explainer) asides(r *Request) string {
	reserved := ""
	if e.spots != nil {
		reserved = e.reservedFor(r)
	}
	if avoided := e.avoided(r); avoided != "" {
		return reserved + e.outOfUse + "; it avoids " + avoided
	}
	return reserved + e.outOfUse
}

// maxAvoided bounds the nodes from which a sentence takes its reasons: many requests of
// many owners may each avoid most of a large cluster.
const maxAvoided = 20

// avoided names the schedulable nodes that a request does not use, with the reasons.
func (e *explainer) avoided(r *Request) string {
	if len(r.Exclude) == 0 && (r.Choice == nil || len(r.Choice.Unfit) == 0) && (r.into == nil || r.into.shut == nil) {
		return ""
	}
	var all []avoidedNodes
	named, others := 0, ""
	for i := range e.nodes {
		if !e.nodes[i].Schedulable || !e.bars(r, i) {
			continue
		}
		if named++; named > maxAvoided {
			others = "; and others"
			break
		}
		why := e.whyBarred(r, e.nodes[i].ID)
		at := slices.IndexFunc(all, func(x avoidedNodes) bool { return x.why == why })
		if at < 0 {
			at = len(all)
			all = append(all, avoidedNodes{why: why})
		}
		all[at].count++
		if len(all[at].names) < maxListed {
			all[at].names = append(all[at].names, e.nodes[i].label())
		}
	}
	reasons := each.Of(all, func(x avoidedNodes) string { return listed(x.names, x.count) + ", " + x.why })
	return strings.Join(reasons, "; and ") + others
}

// avoidedNodes are those that a request does not use for the same reason.
type avoidedNodes struct {
	why   string
	names []string // of the first ones
	count int
}

func (e *explainer) whyBarred(r *Request, node string) string {
	why := r.Because[node]
	if why == "" && r.Choice != nil {
		why = r.Choice.Unfit[node]
	}
	return cmp.Or(why, r.whyShut(node), "where it failed before")
}

// describeOutOfUse says once, for all sentences, which nodes and which slots of
// the others are out of use.
func (inv *inventory) describeOutOfUse() {
	var out []string
	for i := range inv.nodes {
		n := &inv.nodes[i]
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
		inv.outOfUse = "; " + list(out)
	}
}

// largest returns the first of the largest blocks that a request may use, and its size.
func (f *fit) largest(s *shelf, r *Request) (index, size int) {
	for n := s.max; n > 0; n-- {
		for _, i := range s.rows[n] {
			if !f.excluded(r, i) {
				return i, n
			}
		}
	}
	return -1, 0
}

func (inv *inventory) nodeOf(b int) string { return inv.nodes[inv.blocks[b].node].label() }

func (n *Node) label() string {
	return cmp.Or(n.Name, n.ID)
}

func (n *Node) why() string {
	return cmp.Or(n.Why, "is out of use")
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
