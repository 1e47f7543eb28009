package api

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/nodes"
	"github.com/detent-ml/detent/master/rest"
	"github.com/detent-ml/detent/master/sched"
	"github.com/detent-ml/detent/master/store"
	v1 "github.com/detent-ml/detent/master/v1"
)

func (a *API) registerAgents() {
	rest.Serve(a.router, v1.ListAgents, a.listAgents)
	rest.ServeOn(a.router, v1.GetAgent, a.onNode(), a.agent)
	rest.ServeOn(a.router, v1.EnableAgent, a.onNode(), a.enableAgent)
	rest.ServeOn(a.router, v1.DisableAgent, a.onNode(), a.disableAgent)
}

const (
	// nodeReady is Nomad's status of a node that answers.
	nodeReady = "ready"
	// reconnectWait is for how long a node that Nomad has lost is listed, as the pools' agent_reconnect_wait says.
	reconnectWait = 25 * time.Second
)

// poolNode is a node in a pool.
type poolNode struct{ pool, node string }

// slotsByNode reads the slots that nodes offer to pools, by their numbers.
func (a *API) slotsByNode(ctx context.Context) (map[poolNode]map[int]sched.Slot, error) {
	list, err := nodes.List(ctx, a.db.DB)
	if err != nil {
		return nil, err
	}
	out := map[poolNode]map[int]sched.Slot{}
	for _, p := range a.cfg.Pools {
		for _, n := range list {
			if slots := a.slotsOf(p.Name, n); slots != nil {
				out[poolNode{p.Name, n.ID}] = slots
			}
		}
	}
	return out, nil
}

// slotsOf are the slots that a node offers to a pool, by their numbers; nil if the node is not
// in the pool.
func (a *API) slotsOf(pool string, n nodes.Row) map[int]sched.Slot {
	s := a.cfg.Inventory(pool, n)
	if s == nil {
		return nil
	}
	byID := make(map[int]sched.Slot, len(s.Slots))
	for _, slot := range s.Slots {
		byID[slot.ID] = slot
	}
	return byID
}

func (a *API) wireDevice(pool string, s sched.Slot) v1.Device {
	kind := v1.DeviceTypeCpu
	if p, err := a.cfg.Pools.Find(pool); err == nil {
		kind = slotType(p.SlotType())
	}
	return v1.Device{ID: s.ID, UUID: s.Device, Brand: s.Brand, Type: kind}
}

// agentNames chooses the displayed names of nodes: their own names, with a part of their id if
// several nodes have the same name.
func agentNames(list []nodes.Row) map[string]string {
	count := map[string]int{}
	for _, n := range list {
		count[n.Name]++
	}
	names := make(map[string]string, len(list))
	for _, n := range list {
		if names[n.ID] = n.Name; count[n.Name] > 1 {
			names[n.ID] = n.Name + "-" + n.ID[:min(8, len(n.ID))]
		}
	}
	return names
}

// agents reads all nodes with their tasks. A node that Nomad has lost is not enabled, and drains, because clients see by these two
// fields whether a node is alive; after reconnectWait only callers that ask for it see it.
func (a *API) agents(ctx context.Context, in auth.Scope, withLost bool) ([]v1.Agent, map[string]nodes.Row, error) {
	all, err := nodes.List(ctx, a.db.DB)
	if err != nil {
		return nil, nil, err
	}
	holdings, err := a.holdings(ctx, in)
	if err != nil {
		return nil, nil, err
	}
	onNode := map[string][]nodes.Holding{}
	for _, h := range holdings {
		onNode[h.NodeID] = append(onNode[h.NodeID], h)
	}
	names := agentNames(all)
	list, rows := make([]v1.Agent, 0, len(all)), make(map[string]nodes.Row, len(all))
	for _, n := range all {
		if n.Status != nodeReady && !withLost && time.Since(n.SeenAt) > reconnectWait {
			continue
		}
		w := a.wireAgent(n, onNode[n.ID])
		w.ID = names[n.ID]
		list, rows[w.ID] = append(list, w), n
	}
	return list, rows, nil
}

// holdings reads what all attempts hold. Those out of the scope have no name: who may not see them
// sees that the slots are taken.
func (a *API) holdings(ctx context.Context, in auth.Scope) ([]nodes.Holding, error) {
	list, err := nodes.Holdings(ctx, a.db.DB, auth.Everywhere())
	if err != nil || in.All {
		return list, err
	}
	seen, err := nodes.Holdings(ctx, a.db.DB, in)
	known := make(map[string]bool, len(seen))
	for _, h := range seen {
		known[h.AllocationID] = true
	}
	for i := range list {
		if h := &list[i]; !known[h.AllocationID] {
			h.AllocationID, h.TaskID, h.NomadAllocID = "", "", "hidden-"+strconv.Itoa(i)
		}
	}
	return list, err
}

func (a *API) wireAgent(n nodes.Row, holds []nodes.Holding) v1.Agent {
	registered, lost := n.RegisteredAt, n.Status != nodeReady
	w := v1.Agent{Addresses: []string{n.Address}, Enabled: n.Enabled && n.Eligible && !lost, Draining: n.DrainWanted || n.Draining || lost, Lost: lost,
		RegisteredTime: &registered, Version: v1.Compatible, Slots: map[string]v1.Slot{}, Containers: map[string]v1.Container{},
		SlotStats: v1.SlotStats{TypeStats: map[string]v1.DeviceStats{}, BrandStats: map[string]v1.DeviceStats{}}}
	for _, h := range holds {
		w.Containers[containerID(h)] = v1.Container{ID: containerID(h), State: containerState(h.State)}
	}
	for _, p := range a.cfg.Pools {
		s := a.cfg.Inventory(p.Name, n)
		if s == nil {
			continue
		}
		w.ResourcePools = append(w.ResourcePools, p.Name)
		for _, slot := range s.Slots {
			a.addSlot(&w, p.Name, slot, holds, n.DisabledSlots[slot.Key(p.Name)])
		}
	}
	return w
}

// addSlot adds a slot of a pool to a node. A slot of a node's second pool is named by pool and
// number, because its number is also used in the first pool; a device in two pools is listed
// once.
func (a *API) addSlot(w *v1.Agent, pool string, slot sched.Slot, holds []nodes.Holding, drains bool) {
	key := strconv.Itoa(slot.ID)
	if len(w.ResourcePools) > 1 {
		key = pool + "/" + key
	}
	device := a.wireDevice(pool, slot)
	for _, s := range w.Slots {
		if device.UUID != "" && s.Device.UUID == device.UUID {
			return
		}
	}
	s := v1.Slot{ID: key, Device: &device, Enabled: slot.Enabled && slot.Healthy && w.Enabled, Draining: w.Draining || drains,
		Health: slot.Health, ResourcePool: pool, LinkGroup: slot.LinkGroup}
	if slot.Taken != "" { // a task of another Nomad job
		s.Container = &v1.Container{ID: slot.Taken, State: v1.ContainerStateRunning}
	}
	for _, h := range holds {
		if on(h, pool, slot) {
			k := w.Containers[containerID(h)]
			k.Devices = append(k.Devices, device)
			w.Containers[containerID(h)] = k
			s.Container = &k
		}
	}
	w.Slots[key] = s
	count(w.SlotStats.TypeStats, string(device.Type), s)
	count(w.SlotStats.BrandStats, device.Brand, s)
}

func count(stats map[string]v1.DeviceStats, key string, s v1.Slot) {
	n := stats[key]
	n.Total++
	if !s.Enabled {
		n.Disabled++
	}
	if s.Draining {
		n.Draining++
	}
	if s.Container != nil {
		if n.States == nil {
			n.States = map[string]int{}
		}
		n.States[string(s.Container.State)]++
	}
	stats[key] = n
}

func containerState(allocation string) v1.ContainerState {
	switch allocation {
	case "PENDING", "ASSIGNED":
		return v1.ContainerStateAssigned
	case "TERMINATING":
		return v1.ContainerStateRunning
	}
	return v1.ContainerState("STATE_" + allocation)
}

func (a *API) listAgents(ctx context.Context, c *rest.Call, req *v1.GetAgentsRequest) (*v1.GetAgentsResponse, error) {
	by, desc, err := rest.Sorting(req.Order, map[string]string{"SORT_BY_ID": "", "SORT_BY_TIME": "time"})
	if err != nil {
		return nil, err
	}
	list, _, err := a.agents(ctx, auth.ScopeOf(c.Who(), auth.View, v1.KindTask), req.IncludeLost)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(list, func(x, y v1.Agent) int {
		n := cmp.Compare(x.ID, y.ID)
		if by == "time" {
			n = cmp.Or(x.RegisteredTime.Compare(*y.RegisteredTime), n)
		}
		if desc {
			return -n
		}
		return n
	})
	list, page, err := rest.Cut(list, req.Window)
	if err != nil {
		return nil, err
	}
	for i := range list {
		if req.ExcludeSlots {
			list[i].Slots = nil
		}
		if req.ExcludeContainers {
			list[i].Containers = nil
		}
	}
	return &v1.GetAgentsResponse{Agents: list, Pagination: &page}, nil
}

// nodeOf finds a node by its displayed name, or by Nomad's id.
func (a *API) nodeOf(ctx context.Context, c *rest.Call) (node, error) {
	list, rows, err := a.agents(ctx, auth.ScopeOf(c.Who(), auth.View, v1.KindTask), false)
	if err != nil {
		return node{}, err
	}
	name := c.Param("id")
	for _, w := range list {
		if w.ID == name || rows[w.ID].ID == name {
			return node{w, rows[w.ID]}, nil
		}
	}
	return node{}, fault.New(fault.NotFound, "node %s not found; det agent list shows all nodes", fault.Clip(name))
}

func (a *API) agent(_ context.Context, _ *rest.Call, n node, _ *v1.None) (*v1.AgentResponse, error) {
	return &v1.AgentResponse{Agent: n.agent}, nil
}

func (a *API) enableAgent(ctx context.Context, c *rest.Call, n node, _ *v1.None) (*v1.AgentResponse, error) {
	return a.setAgentEnabled(ctx, c, n, true, false)
}

func (a *API) disableAgent(ctx context.Context, c *rest.Call, n node, req *v1.DisableRequest) (*v1.AgentResponse, error) {
	return a.setAgentEnabled(ctx, c, n, false, req.Drain)
}

func (a *API) setAgentEnabled(ctx context.Context, c *rest.Call, n node, enabled, drain bool) (*v1.AgentResponse, error) {
	if err := nodes.SetEnabled(ctx, a.db.DB, n.row.ID, enabled, drain); err != nil {
		return nil, err
	}
	a.bus.Publish(store.TopicIntent)
	n, err := a.nodeOf(ctx, c)
	return &v1.AgentResponse{Agent: n.agent}, err
}
