package sched

import (
	"cmp"
	"slices"
	"time"

	"github.com/detent-ml/detent/master/pool"
)

// An inventory is what there is: nodes, the blocks of their slots, and what running tasks hold of them. The planner
// changes it with each decision.
type inventory struct {
	pool    *pool.Pool
	nodes   []Node // by name
	running []Running

	nodeIndex   map[string]int  // node id → index
	racks       []string        // of each node; nil if no node has one
	added       map[string]bool // by which ids choices rate nodes that could be added
	schedulable int             // nodes
	usable      int             // slots of those nodes that are ours to give
	outOfUse    string          // the other nodes, as the end of a sentence

	blocks   []block
	brands   []string // of all blocks, ascending
	mixed    []string // …, and anyBrand
	blocksOf []span   // of each node
	linked   bool     // some blocks have link groups
	reach    []int    // reach[k] is how many slots k+1 link groups of a block have at most

	holds    [][]hold // what each running task holds of the blocks
	leaving  []bool   // running tasks that are asked to go, by us now or before
	aux      []int    // tasks of 0 slots on each node
	rooms    []room   // of each node
	uses     [][]use  // what each running task holds of them
	smallest *Supply  // of a node where slots bring the least memory; nil: none is known

	capacity *shelf // blocks by their usable slots
	opens    *shelf // … by block.open
	nows     *shelf // … by block.now
	laters   *shelf // … by block.later
	lends    *shelf // … by block.lendable; nil: nobody has asked for a loan
	early    *shelf // … by what the head could use of them at a time, as early as it can be
	loans    *lending

	now      time.Time
	spots    []*spot    // of reservations that have not ended; nil: there are none
	overlaps []*overlap // into which requests would run
	stakes   [][]stake  // of coming reservations, by block
	guarded  *overlap   // into which the head would run, if it starts late enough; nil: into none
}

// span is a range of blocks.
type span struct{ from, to int }

func newInventory(of *pool.Pool, nodes []Node, running []Running) *inventory {
	inv := &inventory{
		pool: of, nodes: slices.Clone(nodes), running: slices.Clone(running),
		nodeIndex: make(map[string]int, len(nodes)),
		blocksOf:  make([]span, len(nodes)),
		holds:     make([][]hold, len(running)),
		aux:       make([]int, len(nodes)),
		leaving:   make([]bool, len(running)),
	}
	slices.SortFunc(inv.nodes, byName)
	slices.SortFunc(inv.running, func(a, b Running) int { return cmp.Compare(a.ID, b.ID) })
	inv.index()
	inv.findRacks()
	inv.makeBlocks()
	inv.mixed = append(slices.Clone(inv.brands), anyBrand)
	inv.occupy()
	inv.makeRooms()
	inv.describeOutOfUse()
	for i := range inv.running {
		inv.leaving[i] = inv.running[i].Leaving
	}
	inv.capacity = newShelf(inv.blocks, func(b *block) int { return len(b.slots) })
	inv.opens = newShelf(inv.blocks, (*block).open)
	inv.nows = newShelf(inv.blocks, (*block).now)
	inv.laters = newShelf(inv.blocks, (*block).later)
	return inv
}

func (inv *inventory) index() {
	for i := range inv.nodes {
		inv.nodeIndex[inv.nodes[i].ID] = i
		if like := inv.nodes[i].like; like != "" {
			if inv.added == nil {
				inv.added = map[string]bool{}
			}
			inv.added[like] = true
		}
	}
}

// changed puts a block where it belongs on every shelf.
func (inv *inventory) changed(i int) {
	b := &inv.blocks[i]
	inv.opens.move(i, b.open())
	inv.nows.move(i, b.now())
	inv.laters.move(i, b.later())
	if inv.lends != nil {
		inv.lends.move(i, b.lendable())
	}
}
