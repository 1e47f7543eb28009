package control

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/detent-ml/detent/master/control/rows"
	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/lifecycle"
	"github.com/detent-ml/detent/master/optional"
	"github.com/detent-ml/detent/master/pace"
	"github.com/detent-ml/detent/master/pool"
	"github.com/detent-ml/detent/master/queue"
	"github.com/detent-ml/detent/master/sched"
	"github.com/detent-ml/detent/master/task"
	"github.com/detent-ml/detent/master/tasks"
)

// A queuePass gives slots to attempts in the queue.
type queuePass struct {
	*draft
	rated  *ratings
	own    map[ownKey]string // see ownHolders
	held   []holder          // see holders; nil: not computed
	quotas *quotas
	shares map[string][]share // what attempts hold on each node; empty if there is only one pool
}

// queued is an attempt that this cycle creates: it has no row yet.
type queued struct {
	tasks.NewAttempt
	owner
	queuedAt *time.Time // when the first attempt of its task was queued; nil if this is the first
}

func (e *Experiment) group() string {
	if e.key != "" {
		return e.key
	}
	return experimentKey(e.ID)
}

const experimentKeys = "experiment "

func experimentKey(id int) string { return queue.JobKey(id) }

// shape is how an attempt may be spread over nodes.
type shape struct {
	single bool // all slots on one node
	equal  bool // as many slots on each node
	mixed  bool // devices of different models
}

func (e *Experiment) shape() shape {
	r := &e.Config.Resources
	return shape{optional.Value(r.IsSingleNode), optional.Value(r.EqualParts), r.GPU != nil && optional.Value(r.GPU.Mixed)}
}

// ask is what its trials ask for on each node.
func (e *Experiment) ask() sched.Ask {
	r := &e.Config.Resources
	return task.AskOf("", optional.Value(r.CPUs), int64(optional.Value(r.Memory)))
}

// of returns the request with this shape.
func (s shape) of(r sched.Request) sched.Request {
	r.SingleNode, r.EqualParts, r.MixModels = s.single, s.equal, s.mixed
	return r
}

// owner is the experiment or task of an attempt, as far as the scheduler needs it.
type owner struct {
	group       string     // key of the experiment, or id of the task: fair share and max_slots apply to a group
	maxSlots    *int       // resources.max_slots of the experiment; nil: no limit
	queueTime   *time.Time // its place in the queue, if a user moved the job; else nil
	shape       shape
	preemptible bool
	secrets     bool // it needs credentials from Vault
	avoid       avoidance
	ask         sched.Ask
	of          sharer
	ours        bool // the master started it, not a user
	unread      bool // its configuration, which says where its attempts may run, is not in memory
	limit       lifecycle.TimeLimit
	saves       bool          // its programs store their work when they are preempted …
	leaves      time.Duration // … which takes as long
	took        time.Duration // how long its other trials took at most, with a margin; 0: not known
	runsOut     bool          // it does not end before its work is done
	goesOn      bool          // when one of its attempts ends, it may ask for another one …
	since       *time.Time    // … with this time in the queue; nil: the time of that end
}

// request completes what an attempt of this owner asks the scheduler for.
func (o *owner) request(r sched.Request) sched.Request {
	r.Group, r.MaxSlots, r.Preemptible, r.OnSpot, r.Ask = o.group, o.maxSlots, o.preemptible, o.ours, o.ask
	r.Longest = o.limit.Longest(o.took)
	r.Workspace, r.User, r.Weight = o.of.workspace, o.of.user, o.of.weight
	return o.avoid.of(o.shape.of(r))
}

// ownerOf returns the owner of an experiment's attempts, without the nodes that each trial avoids.
func (r *ratings) ownerOf(e *Experiment) owner {
	return owner{group: e.group(), maxSlots: e.MaxSlots, queueTime: e.QueueTime, shape: e.shape(), preemptible: true, secrets: r.p.needsSecrets(e), of: r.p.sharerOf(e), unread: e.Unread, saves: savesWhenAsked(e), leaves: e.took.Leaves(), took: tookBound(e), runsOut: task.RunsOut(&e.Config), ask: e.ask()}
}

func (r *ratings) ownerOfTask(t *rows.LiveTask) owner {
	return owner{group: t.ID, queueTime: t.QueueTime, shape: shape{single: !t.Several}, secrets: r.p.taskNeedsSecrets(t), avoid: r.taskChoice(t), of: sharerOfTask(t), ours: t.Type == task.Removal, ask: task.AskOf(t.Type, t.CPUs, t.Memory)}
}

// owners returns the owner of each task.
func (d *queuePass) owners() map[string]*owner {
	n := len(d.p.Tasks)
	for _, e := range d.p.Experiments {
		n += len(e.Trials)
	}
	m, list := make(map[string]*owner, n), make([]owner, 0, n) // values of this size would each be allocated
	add := func(task string, o owner) {
		list = append(list, o)
		m[task] = &list[len(list)-1]
	}
	for _, e := range d.p.Experiments {
		of := d.rated.ownerOf(e)
		of.goesOn, of.since = d.follows(e)
		for _, t := range e.Trials {
			of.avoid = d.rated.avoidance(e, t.TaskID)
			of.limit = d.p.trialLimit(e, t, d.p.Allocations[t.TaskID])
			add(t.TaskID, of)
		}
	}
	for i := range d.p.Tasks {
		of := d.rated.ownerOfTask(&d.p.Tasks[i])
		of.limit = d.p.taskLimit(&d.p.Tasks[i])
		add(d.p.Tasks[i].ID, of)
	}
	return m
}

// schedule assigns slots to attempts in the queue. Attempts that this cycle ended hold no
// slots any more; attempts that it asked to end still hold theirs.
func (d *queuePass) schedule() {
	owners := d.owners()
	d.quotas = newQuotas(d.p.Quotas, d.p.inventories, d.p.Now)
	groups := make(map[string]string, len(d.p.Allocations)+len(d.queue)) // by attempt
	byPool := map[string]*input{}
	for i := range d.p.Pools {
		byPool[d.p.Pools[i].Name] = &input{ends: map[string]pace.End{}}
	}
	for _, task := range slices.Sorted(maps.Keys(d.p.Allocations)) {
		a, o := d.p.Allocations[task], owners[task]
		if o == nil {
			o = &owner{}
		}
		groups[a.ID] = o.group
		in := byPool[d.poolOf(a)]
		if in == nil {
			if d.isPlaced(a) {
				d.accountFor(a)
				d.quotas.hold(a, o.of, false)
			}
			d.wait(a, fmt.Sprintf("pool %q no longer exists; move the job to another", d.poolOf(a)))
			continue
		}
		d.sort(in, a, o)
	}
	for _, q := range d.queue {
		groups[q.ID] = q.group
		if in := byPool[q.Pool]; in != nil && d.p.closed(q.Pool, q.of.workspace) == "" && (!q.secrets || d.p.Away == "") && (q.NotBefore == nil || !q.NotBefore.After(d.p.Now)) {
			in.queued = append(in.queued, q.request(sched.Request{ID: q.ID, Slots: q.Slots, Priority: q.Priority, Avoid: q.Exclude,
				QueuedAt: optional.Or(q.queueTime, optional.Or(q.queuedAt, d.p.Now)), Quotas: d.quotas.of(q.Pool, q.of).bounds}))
		}
	}
	d.fillServed(byPool)
	d.plan.demand = &demand{now: d.p.Now, pools: d.p.Pools, nodes: d.p.Nodes, inventories: d.p.inventories, shares: d.shares, quotas: d.quotas, inputs: byPool, reserved: d.p.Reserved}
	for i := range d.p.Pools {
		p := &d.p.Pools[i]
		d.isolate("pool "+p.Name, func() { d.pool(p, byPool[p.Name], groups) })
	}
}

// fillServed tells the scheduler when those who ask for slots last held or got some, and what they used lately.
func (d *queuePass) fillServed(byPool map[string]*input) {
	if d.p.served == nil {
		return
	}
	live := map[string]bool{}
	for pool, in := range byPool {
		for i := range in.queued {
			r := &in.queued[i]
			live[r.Group] = true
			r.Served = d.p.served.Last(pool, r.Group, r.Workspace, r.User)
			r.Recent = d.p.used.Of(pool, r.Workspace, r.User)
		}
	}
	d.p.served.Forget(live)
}

// input is the scheduler's input for one pool.
type input struct {
	running []sched.Running
	queued  []sched.Request
	devices map[string][][]string     // running attempt → device ids of each of its parts
	bounded bool                      // a running attempt has max_slots, so the scheduler may have to preempt it
	next    map[string]*sched.Request // by group: what it asks for when one of its attempts ends
	ends    map[string]pace.End       // by running attempt, as far as they are known
	frozen  bool                      // Nomad's state is not trusted in the pool's region
}

// accountFor records what an attempt holds, for the pools that share its nodes.
func (d *queuePass) accountFor(a *rows.LiveAllocation) {
	for _, x := range a.Members {
		d.account(x.NodeID, share{a.Pool, len(x.SlotIDs), x.Devices, sched.Amount{MHz: x.MHz, MemoryMB: x.MemoryMB}})
	}
}

// addDevices records the devices of one member of a running attempt.
func (in *input) addDevices(a *rows.LiveAllocation, x rows.LiveMember) {
	if in.devices == nil {
		in.devices = map[string][][]string{}
	}
	list := in.devices[a.ID]
	if list == nil {
		list = make([][]string, len(a.Members))
	}
	if x.Rank < len(list) { // members are in the order of ranks
		list[x.Rank] = x.Devices
	}
	in.devices[a.ID] = list
}

// sort adds an attempt to the running ones or to the queue.
func (d *queuePass) sort(in *input, a *rows.LiveAllocation, o *owner) {
	m := d.moves[a.ID]
	switch {
	case d.stateOf(a) == lifecycle.Terminated:
	case d.isPlaced(a):
		d.accountFor(a)
		r := sched.Running{ID: a.ID, Group: o.group, Priority: a.Priority, StartedAt: optional.Value(a.AssignedAt), Preemptible: o.preemptible, MaxSlots: o.maxSlots,
			Workspace: o.of.workspace, User: o.of.user, Weight: o.of.weight, Recent: d.p.used.Of(a.Pool, o.of.workspace, o.of.user),
			Leaving: a.PreemptAt != nil || a.KillAt != nil || m != nil && (m.Preempt != nil || m.Kill != nil)}
		r.Quotas = d.quotas.hold(a, o.of, r.Leaving)
		r.LentUntil, r.Saved = optional.Value(a.LentUntil), d.p.savedAt(a, o)
		if end, paced, known := d.p.paces.EndWithin(a.ID, o.limit, d.p.Now); known {
			if in.ends[a.ID], r.Latest = end, end.Latest; paced && o.runsOut {
				r.Earliest = end.Earliest
			}
		}
		r.Parts = partsOf(a)
		for _, x := range a.Members {
			if len(x.Devices) > 0 {
				in.addDevices(a, x)
			}
		}
		in.bounded = in.bounded || o.maxSlots != nil
		in.addNext(a, o, r.Quotas)
		in.running = append(in.running, r)
		if a.Slots > 0 && d.p.served != nil {
			d.p.served.Note(a.Pool, o.group, o.of.workspace, o.of.user, r.StartedAt, d.p.Now)
		}
	case a.NotBefore != nil && a.NotBefore.After(d.p.Now):
		d.wait(a, "waits until "+a.NotBefore.UTC().Format(time.TimeOnly)+" UTC before it is tried again")
	case !o.ours && d.p.closed(d.poolOf(a), o.of.workspace) != "":
		d.wait(a, d.p.closed(d.poolOf(a), o.of.workspace))
	case o.unread:
		d.wait(a, "waits until the master has its experiment's search in memory")
	case d.p.credentialsMissing(o) != "":
		d.wait(a, d.p.credentialsMissing(o))
	default:
		in.queued = append(in.queued, o.request(sched.Request{ID: a.ID, Slots: a.Slots, Priority: a.Priority, Avoid: a.Exclude,
			QueuedAt: optional.Or(o.queueTime, a.QueuedAt), Quotas: d.quotas.of(d.poolOf(a), o.of).bounds}))
	}
}

// maxPlacements is the maximum number of placements in a pool in one cycle. The next cycle
// computes the others again, so that requests of users need not wait until thousands of
// placements are stored.
const maxPlacements = 1_000

// pool runs the scheduler for one pool and adds its result to the plan.
func (d *queuePass) pool(p *pool.Pool, in *input, groups map[string]string) {
	if why := d.p.frozen(p.Name); why != "" {
		in.frozen = true
		d.freeze(in, why)
		d.record(p, in, nil, nil)
		return
	}
	if len(in.queued) == 0 && !in.bounded && !d.p.Reserved.In(p.Name).Active(d.p.Now) {
		d.record(p, in, nil, nil)
		return
	}
	held := map[string][]int{}
	for _, r := range in.running {
		for _, part := range r.Parts {
			held[part.NodeID] = append(held[part.NodeID], part.SlotIDs...)
		}
	}
	nodes, unread := nodesOf(p, d.p.Nodes, d.p.inventories, d.elsewhere(p), held)
	for _, err := range unread {
		d.plan.Faults = append(d.plan.Faults, Fault{"pool " + p.Name, err})
	}
	renumber(in.running, in.devices, nodes)
	byNode := make(map[string]*sched.Node, len(nodes))
	for i := range nodes {
		byNode[nodes[i].ID] = &nodes[i]
	}
	d.quotas.begin(p.Name)
	res := d.p.Reserved.In(p.Name).Plan(p, nodes, in.running, in.queued, d.p.Now)
	d.record(p, in, nodes, &res)
	d.quotas.planned(p.Name, in, res)
	for i, pl := range res.Place {
		placement := placement{placed(pl, byNode), groups[pl.ID]}
		for _, m := range placement.Members {
			d.account(m.NodeID, share{p.Name, len(m.SlotIDs), m.Devices, sched.Amount{MHz: m.MHz, MemoryMB: m.MemoryMB}})
		}
		if i < maxPlacements {
			d.placements = append(d.placements, placement)
		}
	}
	byID := map[string]*rows.LiveAllocation{}
	for _, a := range d.p.Allocations {
		byID[a.ID] = a
	}
	for _, x := range res.Preempt {
		if a := byID[x.ID]; a != nil {
			if m := d.move(a); m.Preempt == nil {
				m.Preempt = &x.Reason
			}
		}
	}
	owners := make(map[string]sharer, len(res.Full))
	for i := range in.queued {
		if res.Full[in.queued[i].ID] {
			owners[in.queued[i].ID] = sharer{workspace: in.queued[i].Workspace, user: in.queued[i].User}
		}
	}
	for id, why := range res.Waiting {
		if a := byID[id]; a != nil && res.Full[id] {
			d.wait(a, why+d.ownHolders(a, owners[id]))
		} else if a != nil {
			d.wait(a, why)
		}
	}
}

// freeze records why nothing starts in a pool.
func (d *queuePass) freeze(in *input, why string) {
	waits := each.Set(in.queued, func(r sched.Request) string { return r.ID })
	for _, a := range d.p.Allocations {
		if waits[a.ID] {
			d.wait(a, why)
		}
	}
}
