package control

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/detent-ml/detent/master/cluster"
	"github.com/detent-ml/detent/master/control/rows"
	"github.com/detent-ml/detent/master/control/saves"
	"github.com/detent-ml/detent/master/control/served"
	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/lifecycle"
	"github.com/detent-ml/detent/master/nodes"
	"github.com/detent-ml/detent/master/pace"
	"github.com/detent-ml/detent/master/pool"
	"github.com/detent-ml/detent/master/queue"
	"github.com/detent-ml/detent/master/queue/recent"
	"github.com/detent-ml/detent/master/queue/recording"
	"github.com/detent-ml/detent/master/reservations"
	"github.com/detent-ml/detent/master/sched"
	"github.com/detent-ml/detent/master/search"
	"github.com/detent-ml/detent/master/workspaces"
)

// Experiment is a live experiment with its search.
type Experiment struct {
	rows.LiveExperiment
	Config expconf.Config
	Search *search.Search
	Broken string // why its search cannot continue; else ""
	Aside  string // why its search is not in memory although the experiment needs it; else ""
	Trials []*rows.LiveTrial

	took *pace.Took // how long its trials took; nil: not known
	key  string     // of its group; "" if the experiment is not of folds
}

// A Snapshot is the input of Decide. It is consistent: its rows are of one database
// snapshot, and its searches have applied the events of that snapshot.
type Snapshot struct {
	Now         time.Time
	Timing      lifecycle.Timing
	Pools       pool.Set
	Experiments []*Experiment
	Tasks       []rows.LiveTask
	Allocations map[string]*rows.LiveAllocation // attempts by task: a task has one at most
	Nodes       []nodes.Row
	Collect     []rows.Work         // garbage collections to plan, by experiment
	inventories inventories         // of the nodes
	choices     *choices            // how constraints and affinities rate the nodes
	served      *served.Served      // who last held slots when; nil: not known
	used        *recent.Use         // what workspaces and users used lately; nil: not known
	saves       *saves.Saves        // when running trials last stored a checkpoint; nil: not known
	paces       *pace.Tracks        // how fast attempts advance; nil: not known
	Workspaces  map[int]string      // names, by projects
	Owners      map[int]string      // names, by users
	Bound       map[string][]string // pools that only these workspaces may use
	Quotas      []queue.Quota
	Reserved    reservations.Live
	Secrets     credentialNeeds              // which work needs credentials; nil: none does
	Away        string                       // why Vault cannot grant credentials now; "" if it can
	Frozen      map[string]string            // regions of Nomad whose state is not trusted, with the reason: use only the runners' reports there, place nothing
	Regions     int                          // number of regions of Nomad
	Matches     map[string][]rows.LiveMatch  // matches of log policies with an action, by task
	Failures    map[int][]nodes.FailureCount // failures in a row on nodes, by experiment
	AvoidAfter  int                          // see Config
	LaunchError bool                         // see Config
	keeper      *recording.Keeper            // records what the plans of pools are asked; nil: nothing is recorded
	Handling    map[string]handling          // how to handle bundles that failed before, by their keys
}

// credentialNeeds is the part of Secrets that makes no call to Vault.
type credentialNeeds interface {
	Needed(storage expconf.CheckpointStorage) bool
	NeededBy(taskType string) bool
}

// snapshot joins the rows with the searches, after it has applied new events to these.
func (f *folds) snapshot(live *rows.Live) *Snapshot {
	p := &Snapshot{Now: live.Now, Tasks: live.Tasks, Nodes: live.Nodes, Collect: live.DueGCs,
		Workspaces: live.Workspaces, Owners: live.Owners, served: &f.served, paces: &f.paces, saves: &f.saves,
		Allocations: make(map[string]*rows.LiveAllocation, len(live.Allocations)),
		Matches:     map[string][]rows.LiveMatch{}, Failures: map[int][]nodes.FailureCount{}}
	p.Bound, p.Quotas, p.Reserved = workspaces.ByPool(live.Bindings), live.Quotas, live.Reserved
	for _, m := range live.Matches {
		p.Matches[m.TaskID] = append(p.Matches[m.TaskID], m)
	}
	for _, x := range live.Failures {
		p.Failures[x.ExperimentID] = append(p.Failures[x.ExperimentID], x)
	}
	for i := range live.Allocations {
		p.Allocations[live.Allocations[i].TaskID] = &live.Allocations[i]
	}
	keep := make(map[int]*fold, len(live.Experiments))
	byID := make(map[int]*Experiment, len(live.Experiments))
	for _, e := range live.Experiments {
		x := f.fold(e)
		keep[e.ID] = x
		if x.key == "" {
			x.key = experimentKey(e.ID)
		}
		exp := &Experiment{LiveExperiment: e, key: x.key, took: &x.took}
		byID[e.ID] = exp
		p.Experiments = append(p.Experiments, exp)
	}
	f.byID = keep
	nodes, same := f.nodes.of(live.Nodes)
	f.nodes = nodes
	f.choices.beginCycle(!same)
	p.inventories, p.choices = f.nodes, &f.choices
	for i := range live.Trials {
		if e := byID[live.Trials[i].ExperimentID]; e != nil {
			e.Trials = append(e.Trials, &live.Trials[i])
		}
	}
	for _, ev := range live.Events {
		x := keep[ev.ExperimentID]
		if x.search == nil || x.broken != "" {
			continue
		}
		x.guard(func() error {
			return x.search.Apply(search.Event{Seq: ev.Seq, Kind: ev.Kind, Trial: ev.Trial, Body: ev.Body})
		})
	}
	for _, e := range p.Experiments {
		f.show(keep[e.ID], e, live.Last)
	}
	f.pending = f.pending || len(live.Later) > 0
	p.notePaces(&f.paces)
	return p
}

// nodesOf returns a pool's nodes for the scheduler, and the errors of the nodes whose rows
// cannot be read. held has the slots that attempts of this pool hold, and elsewhere what
// attempts of other pools hold, both by node.
func nodesOf(p *pool.Pool, all []nodes.Row, known inventories, elsewhere map[string]cluster.Use, held map[string][]int) (list []sched.Node, unread []error) {
	for _, row := range all {
		n, err := offer(p, row, known, elsewhere[row.ID], held[row.ID]...)
		if err != nil {
			unread = append(unread, err)
		} else if n != nil {
			list = append(list, *n)
		}
	}
	return list, unread
}

// Offer returns what a node offers to a pool; nil if the node is not of this pool.
// elsewhere is what attempts of our other pools hold on the node; held are the slots that
// attempts of this pool hold, which Offer does not count as taken by jobs that are not ours.
// CPU slots have the model of the node's processor, which the scheduler does not look at.
func Offer(p *pool.Pool, row nodes.Row, elsewhere cluster.Use, held ...int) (*sched.Node, error) {
	if !reaches(p, row) {
		return nil, nil
	}
	n, err := readInventory(row)
	if err != nil {
		return nil, err
	}
	s := offerOf(p, row, n, elsewhere, held...)
	if s == nil || p.Slots.Kind == pool.DeviceSlots {
		return s, nil
	}
	model, _ := n.Fact("attr.cpu.modelname")
	for i := range s.Slots {
		s.Slots[i].Brand = model
	}
	return s, nil
}

func offer(p *pool.Pool, row nodes.Row, known inventories, elsewhere cluster.Use, held ...int) (*sched.Node, error) {
	if !reaches(p, row) {
		return nil, nil
	}
	n, err := known.read(row)
	if err != nil {
		return nil, err
	}
	return offerOf(p, row, n, elsewhere, held...), nil
}

// reaches reports whether the pool has nodes where this one is.
func reaches(p *pool.Pool, row nodes.Row) bool {
	return row.Region == p.Region && (p.NodePool == "" || row.NodePool == p.NodePool) && p.Reaches(row.Datacenter)
}

// offerOf is what a node with this inventory offers; nil if it does not meet the pool's constraints.
func offerOf(p *pool.Pool, row nodes.Row, n cluster.Node, elsewhere cluster.Use, held ...int) *sched.Node {
	if pool.Unmet(p.Constraints(), n.Fact, nil) != "" {
		return nil
	}
	supply := supplyOf(&n, p, elsewhere.Held)
	n = n.Less(elsewhere)
	s := &sched.Node{Supply: supply, ID: row.ID, Name: row.Name, Address: row.Address, Spot: isSpot(p, &n), Slots: cluster.SlotsOf(n, p.Slots, held...)}
	if p.Scheduler.Rack != "" {
		s.Rack, _ = pool.ValueOf(p.Scheduler.Rack, n.Fact)
	}
	for i := range s.Slots {
		if _, off := row.DisabledSlots[s.Slots[i].Key(p.Name)]; off {
			s.Slots[i].Enabled = false
		}
	}
	s.Schedulable, s.Why = usable(row, n, p)
	return s
}

// usable reports whether new work may be placed on a node, and if not, why.
func usable(row nodes.Row, n cluster.Node, p *pool.Pool) (bool, string) {
	switch {
	case row.Status != "ready":
		return false, "is " + row.Status
	case row.Draining:
		return false, "is draining in Nomad"
	case !row.Eligible:
		return false, "is not eligible in Nomad"
	case departureOf(&n) != nil:
		return false, departureOf(&n).String()
	case row.DrainWanted:
		return false, "is draining"
	case !row.Enabled:
		return false, "is disabled"
	}
	if !slices.Contains(n.Drivers, p.Driver) {
		return false, fmt.Sprintf("has no healthy driver %s", p.Driver)
	}
	if platform := n.Platform(); !p.Runs(platform) {
		return false, fmt.Sprintf("is a machine of %s, for which the master has no det-runner", platform)
	}
	for _, name := range slices.Sorted(maps.Keys(p.HostVolumes())) {
		if why := lacksVolume(&n, name, p.HostVolumes()[name]); why != "" {
			return false, why
		}
	}
	return true, ""
}

// lacksVolume returns why a node cannot provide a host volume; "" if it can.
func lacksVolume(n *cluster.Node, name string, writes bool) string {
	readOnly, has := n.HostVolumes[name]
	switch {
	case !has:
		return fmt.Sprintf("has no host volume %s", name)
	case readOnly && writes:
		return fmt.Sprintf("offers the host volume %s to be read only", name)
	}
	return ""
}
