package nodes

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/rest"
	"github.com/detent-ml/detent/master/sched"
	v1 "github.com/detent-ml/detent/master/v1"
)

const (
	// nodeReady is Nomad's status of a node that answers.
	nodeReady = "ready"
	// reconnectWait is for how long a node that Nomad has lost is listed, as the pools' agent_reconnect_wait says.
	reconnectWait = 25 * time.Second
)

// An agent is a node in the form that clients see, and its row.
type agent struct {
	v1.Agent
	row Row
}

func (d Deps) onNode() rest.Object[agent] {
	return rest.Object[agent]{Load: d.nodeOf, Of: func(agent) auth.Object { return auth.Object{Kind: v1.KindAgent} }}
}

// agentNames chooses the displayed names of nodes: their own names, with a part of their id if
// several nodes have the same name.
func agentNames(list []Row) map[string]string {
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
func (v Inventory) agents(ctx context.Context, in auth.Scope, withLost bool) ([]agent, error) {
	all, err := List(ctx, v.DB)
	if err != nil {
		return nil, err
	}
	holdings, err := v.holdings(ctx, in)
	if err != nil {
		return nil, err
	}
	onNode := each.Group(holdings, func(h Holding) string { return h.NodeID })
	names, list := agentNames(all), make([]agent, 0, len(all))
	for _, n := range all {
		if n.Status != nodeReady && !withLost && time.Since(n.SeenAt) > reconnectWait {
			continue
		}
		w := v.wireAgent(n, onNode[n.ID])
		w.ID = names[n.ID]
		list = append(list, agent{w, n})
	}
	return list, nil
}

// holdings reads which slots all attempts hold. It omits the names of attempts that are not in the scope: the caller
// sees only that their slots are in use.
func (v Inventory) holdings(ctx context.Context, in auth.Scope) ([]Holding, error) {
	list, err := Holdings(ctx, v.DB, auth.Everywhere())
	if err != nil || in.All {
		return list, err
	}
	seen, err := Holdings(ctx, v.DB, in)
	known := each.Set(seen, func(h Holding) string { return h.AllocationID })
	for i := range list {
		if h := &list[i]; !known[h.AllocationID] {
			h.AllocationID, h.TaskID, h.NomadAllocID = "", "", "hidden-"+strconv.Itoa(i)
		}
	}
	return list, err
}

func (v Inventory) wireAgent(n Row, holds []Holding) v1.Agent {
	registered, lost := n.RegisteredAt, n.Status != nodeReady
	w := v1.Agent{Addresses: []string{n.Address}, Enabled: n.Enabled && n.Eligible && !lost, Draining: n.DrainWanted || n.Draining || lost, Lost: lost,
		RegisteredTime: &registered, Version: v1.Compatible, Slots: map[string]v1.Slot{}, Containers: map[string]v1.Container{},
		SlotStats: v1.SlotStats{TypeStats: map[string]v1.DeviceStats{}, BrandStats: map[string]v1.DeviceStats{}}}
	for _, h := range holds {
		w.Containers[h.container()] = v1.Container{ID: h.container(), State: containerState(h.State)}
	}
	for _, p := range v.Pools {
		s := v.Offer(p.Name, n)
		if s == nil {
			continue
		}
		w.ResourcePools = append(w.ResourcePools, p.Name)
		for _, slot := range s.Slots {
			v.addSlot(&w, p.Name, slot, holds, n.DisabledSlots[slot.Key(p.Name)])
		}
	}
	return w
}

// addSlot adds a slot of a pool to a node. A slot of a node's second pool is named by pool and
// number, because its number is also used in the first pool; a device in two pools is listed
// once.
func (v Inventory) addSlot(w *v1.Agent, pool string, slot sched.Slot, holds []Holding, drains bool) {
	key := strconv.Itoa(slot.ID)
	if len(w.ResourcePools) > 1 {
		key = pool + "/" + key
	}
	device := v.device(pool, slot)
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
		if h.holds(pool, slot) {
			k := w.Containers[h.container()]
			k.Devices = append(k.Devices, device)
			w.Containers[h.container()] = k
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

func (d Deps) listAgents(ctx context.Context, c *rest.Call, req *v1.GetAgentsRequest) (*v1.GetAgentsResponse, error) {
	by, desc, err := rest.Sorting(req.Order, map[string]string{"SORT_BY_ID": "", "SORT_BY_TIME": "time"})
	if err != nil {
		return nil, err
	}
	list, err := d.agents(ctx, auth.ScopeOf(c.Who(), auth.View, v1.KindTask), req.IncludeLost)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(list, func(x, y agent) int {
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
	resp := &v1.GetAgentsResponse{Agents: make([]v1.Agent, len(list)), Pagination: &page}
	for i, n := range list {
		if req.ExcludeSlots {
			n.Slots = nil
		}
		if req.ExcludeContainers {
			n.Containers = nil
		}
		resp.Agents[i] = n.Agent
	}
	return resp, nil
}

// nodeOf finds a node by its displayed name, or by Nomad's id.
func (d Deps) nodeOf(ctx context.Context, c *rest.Call) (agent, error) {
	list, err := d.agents(ctx, auth.ScopeOf(c.Who(), auth.View, v1.KindTask), false)
	if err != nil {
		return agent{}, err
	}
	name := c.Param("id")
	for _, n := range list {
		if n.ID == name || n.row.ID == name {
			return n, nil
		}
	}
	return agent{}, fault.New(fault.NotFound, "node %s not found; det agent list shows all nodes", fault.Clip(name))
}

func (d Deps) agent(_ context.Context, _ *rest.Call, n agent, _ *v1.None) (*v1.AgentResponse, error) {
	return &v1.AgentResponse{Agent: n.Agent}, nil
}

func (d Deps) enableAgent(ctx context.Context, c *rest.Call, n agent, _ *v1.None) (*v1.AgentResponse, error) {
	return d.setAgentEnabled(ctx, c, n, true, false)
}

func (d Deps) disableAgent(ctx context.Context, c *rest.Call, n agent, req *v1.DisableRequest) (*v1.AgentResponse, error) {
	return d.setAgentEnabled(ctx, c, n, false, req.Drain)
}

func (d Deps) setAgentEnabled(ctx context.Context, c *rest.Call, n agent, enabled, drain bool) (*v1.AgentResponse, error) {
	if err := SetEnabled(ctx, d.DB, n.row.ID, enabled, drain); err != nil {
		return nil, err
	}
	d.Changed()
	n, err := d.nodeOf(ctx, c)
	return &v1.AgentResponse{Agent: n.Agent}, err
}
