package control

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/detent-ml/detent/master/cluster"
	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/nodes"
	"github.com/detent-ml/detent/master/pool"
	"github.com/detent-ml/detent/master/reservations"
	"github.com/detent-ml/detent/master/sched"
)

// maxClasses is the maximum number of node classes in the demand of a pool.
const maxClasses = 16

// demand is the input of the demand of all pools, as one cycle of the loop saw it. Nothing else uses
// it later.
type demand struct {
	now         time.Time
	pools       pool.Set
	nodes       []nodes.Row
	inventories inventories
	shares      map[string][]share
	quotas      *quotas
	reserved    reservations.Live
	inputs      map[string]*input
	idleSince   map[string]time.Time // by node

	mu   sync.Mutex // of what follows, and of the quotas, which are prepared for one pool after the other
	all  []nodes.Demand
	done bool
}

// held returns the nodes on which attempts of any pool run.
func (d *demand) held() map[string]bool {
	held := map[string]bool{}
	for _, in := range d.inputs {
		for i := range in.running {
			for _, part := range in.running[i].Parts {
				held[part.NodeID] = true
			}
		}
	}
	return held
}

// follow notes since when each node holds nothing, by what was known before. A node that was not
// known is idle from now on.
func (d *demand) follow(before map[string]time.Time) {
	held := d.held()
	d.idleSince = make(map[string]time.Time, len(d.nodes))
	for _, row := range d.nodes {
		since, known := before[row.ID]
		if !known || held[row.ID] {
			since = d.now
		}
		d.idleSince[row.ID] = since
	}
}

// compute returns the demand of each pool. It plans several times, so it runs once for each
// cycle at most, and only if somebody asks.
func (d *demand) compute() []nodes.Demand {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.done {
		return d.all
	}
	held := d.held()
	for i := range d.pools {
		if d.inputs[d.pools[i].Name].frozen { // nobody knows what runs there
			continue
		}
		d.all = append(d.all, d.of(&d.pools[i], held))
	}
	d.done = true
	return d.all
}

func (d *demand) of(p *pool.Pool, heldNodes map[string]bool) nodes.Demand {
	in := d.inputs[p.Name]
	out := nodes.Demand{Pool: p.Name}
	list, slots := d.nodesOf(p, in)
	for _, ids := range slots {
		out.Held += len(ids)
	}
	for i := range in.queued {
		out.Pending += in.queued[i].Slots
	}
	for i := range list {
		out.Idle += idleSlots(&list[i], slots[list[i].ID])
	}
	classes := d.classesOf(p, list)
	d.quotas.begin(p.Name)
	short := d.reserved.In(p.Name).Short(p, list, in.running, in.queued, addable(classes), d.now)
	for _, s := range short.Classes {
		c := classes[s.Class]
		c.Short, c.Clears = s.Nodes, s.Requests
	}
	for i := range list {
		d.count(classes, &list[i], p.MaxIdle, heldNodes[list[i].ID] || short.Uses[list[i].ID])
	}
	for _, c := range ordered(classes) {
		out.Classes = append(out.Classes, c.ClassDemand)
	}
	return out
}

// nodesOf returns the nodes of a pool, and the slots that its attempts hold, by node.
func (d *demand) nodesOf(p *pool.Pool, in *input) (list []sched.Node, slots map[string][]int) {
	slots = map[string][]int{}
	for i := range in.running {
		for _, part := range in.running[i].Parts {
			slots[part.NodeID] = append(slots[part.NodeID], part.SlotIDs...)
		}
	}
	list, _ = nodesOf(p, d.nodes, d.inventories, elsewhere(p, d.pools, d.shares), slots) // the loop has logged the errors
	return list, slots
}

// idleSlots counts the slots of a node that could be assigned.
func idleSlots(n *sched.Node, held []int) (idle int) {
	if !n.Schedulable {
		return 0
	}
	for _, s := range n.Slots {
		if s.Healthy && s.Enabled && s.Taken == "" && !slices.Contains(held, s.ID) {
			idle++
		}
	}
	return idle
}

// nodeClass is a class of a pool with a node like those that an autoscaler would add.
type nodeClass struct {
	nodes.ClassDemand
	like  sched.Node
	can   bool // nodes of the class can be added
	most  int
	order int // in the configuration, from 1
	of    map[string]int
}

// classesOf finds the classes of a pool's nodes, and those that its configuration names.
func (d *demand) classesOf(p *pool.Pool, of []sched.Node) map[string]*nodeClass {
	classes := map[string]*nodeClass{}
	for i, x := range p.Classes {
		n := nodeOfClass(p, x)
		c := &nodeClass{ClassDemand: nodes.ClassDemand{Class: x.Name}, can: pool.Unmet(p.Constraints(), n.Fact, nil) == "", most: x.Max, order: i + 1, like: n.Node}
		c.look()
		classes[x.Name] = c
	}
	commonest := map[string]int{}
	for i := range of {
		n := empty(&of[i])
		if len(n.Slots) == 0 {
			continue
		}
		name := d.classOf(n.ID)
		c := classes[name]
		if c == nil {
			c = &nodeClass{ClassDemand: nodes.ClassDemand{Class: name}, can: len(p.Classes) == 0}
			classes[name] = c
		}
		if c.of == nil {
			c.of = map[string]int{}
		}
		shape := strconv.Itoa(len(n.Slots)) + " " + modelsOf(&n)
		c.of[shape]++
		if c.of[shape] > commonest[name] { // the values of an existing node have precedence over the configuration
			commonest[name], c.like = c.of[shape], n
			c.look()
		}
	}
	return classes
}

func (c *nodeClass) look() { c.Slots, c.Model = len(c.like.Slots), modelsOf(&c.like) }

// classOf is the node class of a node.
func (d *demand) classOf(id string) string {
	n := d.inventories[id].node
	class, _ := n.Fact("node.class")
	return class
}

// empty returns a node as it would be if it were in order and held nothing.
func empty(n *sched.Node) sched.Node {
	like := *n
	like.Schedulable, like.Why, like.Slots = true, "", slices.Clone(n.Slots)
	for i := range like.Slots {
		s := &like.Slots[i]
		s.Healthy, s.Enabled, s.Taken = true, true, ""
	}
	return like
}

func modelsOf(n *sched.Node) string {
	models := each.Set(n.Slots, func(s sched.Slot) string { return s.Brand })
	return strings.Join(slices.Sorted(maps.Keys(models)), "+")
}

// ordered returns the classes as the configuration names them, then those with the most nodes.
func ordered(classes map[string]*nodeClass) []*nodeClass {
	list := slices.Collect(maps.Values(classes))
	slices.SortFunc(list, func(a, b *nodeClass) int {
		switch {
		case a.order != 0 && b.order != 0:
			return cmp.Compare(a.order, b.order)
		case a.order != b.order:
			return cmp.Compare(b.order, a.order)
		}
		return cmp.Or(cmp.Compare(sizeOf(b), sizeOf(a)), cmp.Compare(a.Class, b.Class))
	})
	return list[:min(len(list), maxClasses)]
}

func sizeOf(c *nodeClass) (n int) {
	for _, of := range c.of {
		n += of
	}
	return n
}

func addable(classes map[string]*nodeClass) []sched.Class {
	var list []sched.Class
	for _, c := range ordered(classes) {
		if c.can {
			list = append(list, sched.Class{Name: c.Class, Node: c.like, Max: c.most})
		}
	}
	return list
}

// count adds a node to the figures of its class. A node that is down is none; one that operators
// have taken out of use is there, and nobody may remove it.
func (d *demand) count(classes map[string]*nodeClass, n *sched.Node, maxIdle time.Duration, working bool) {
	c := classes[d.classOf(n.ID)]
	switch {
	case c == nil || n.Why == "is down":
		return
	case working:
		c.Working++
	case n.Schedulable:
		c.Idle++
		taken := slices.ContainsFunc(n.Slots, func(s sched.Slot) bool { return s.Taken != "" })
		if !taken && d.now.Sub(d.idleSince[n.ID]) >= maxIdle {
			c.Removable++
		}
	case d.joins(n.ID) && c.Short > 0: // it will be in order in a moment
		c.Short--
	}
	c.Present++
}

// joinsWithin is how long a new node may take until its drivers and devices are in order.
const joinsWithin = 2 * time.Minute

// joins reports whether a node is new, and only its own start keeps it from taking tasks.
func (d *demand) joins(id string) bool {
	row := each.Find(d.nodes, func(row *nodes.Row) bool { return row.ID == id })
	if row == nil {
		return false
	}
	n := d.inventories[id].node
	return d.now.Sub(row.RegisteredAt) < joinsWithin && row.Status != "down" && row.Eligible && !row.Draining && row.Enabled && !row.DrainWanted && departureOf(&n) == nil
}

// nodeOfClass is a node of a class as the configuration describes it, in order and without tasks.
func nodeOfClass(p *pool.Pool, c pool.Class) cluster.Node {
	n := cluster.Node{Node: sched.Node{ID: "class:" + p.Name + "/" + c.Name, Name: c.Name, Schedulable: true},
		Facts: map[string]string{"node.class": c.Name, "node.pool": p.NodePool}, HostVolumes: map[string]bool{}}
	maps.Copy(n.Facts, c.Attributes)
	for name := range p.HostVolumes() {
		n.HostVolumes[name] = false
	}
	if device := p.Device(); device != "" {
		n.Models = map[string]map[string]map[string]string{device: {c.Model: c.Device}}
	}
	for i := range p.Slots.AtMost(c.Slots) {
		n.Slots = append(n.Slots, sched.Slot{ID: i, Brand: c.Model, Healthy: true, Enabled: true})
	}
	return n
}
