package replay

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/pool"
	"github.com/detent-ml/detent/master/sched"
	"github.com/detent-ml/detent/master/sched/record"
	"github.com/detent-ml/detent/master/spelling"
)

// A Change is one --set: a path as the master's configuration names it, an operator (=, += or -=) and a value.
type Change struct {
	Text  string
	path  []string
	op    string
	value string
}

// maxAdded is how many nodes one change may add, and maxAddedSlots how many slots each of them may have.
const (
	maxAdded      = 10_000
	maxAddedSlots = 64
)

// ParseChange reads a change such as resource_pools.gpu.scheduler.type=fair_share. Names with dots stand in double quotes.
func ParseChange(text string) (c Change, err error) {
	left, value, found := strings.Cut(text, "=")
	if !found {
		return c, fault.New(fault.Invalid, "--set %s: expected path=value, such as resource_pools.gpu.scheduler.type=fair_share", fault.Clip(text))
	}
	c = Change{Text: text, op: "=", value: strings.TrimSpace(value)}
	if left = strings.TrimSpace(left); strings.HasSuffix(left, "+") || strings.HasSuffix(left, "-") {
		c.op, left = left[len(left)-1:]+"=", strings.TrimSpace(left[:len(left)-1])
	}
	for rest := left; ; {
		var part string
		if quoted, ok := strings.CutPrefix(rest, `"`); ok {
			part, rest, ok = strings.Cut(quoted, `"`)
			if !ok || rest != "" && rest[0] != '.' {
				return c, c.fail("a quoted name ends with a double quote and a dot")
			}
			rest = strings.TrimPrefix(rest, ".")
		} else {
			part, rest, _ = strings.Cut(rest, ".")
		}
		if part == "" {
			return c, c.fail("a part of the path is empty")
		}
		if c.path = append(c.path, part); rest == "" {
			return c, nil
		}
	}
}

func (c *Change) fail(format string, args ...any) error {
	return fault.New(fault.Invalid, "--set %s: %s", fault.Clip(c.Text), fmt.Sprintf(format, args...))
}

// one fails with a guess if a word is not one of those that are known.
func (c *Change) one(what, word string, known []string) error {
	if slices.Contains(known, word) {
		return nil
	}
	if near := spelling.Nearest(word, known); near != "" {
		return c.fail("there is no %s %q; did you mean %s?", what, word, near)
	}
	if len(known) > 12 {
		return c.fail("there is no %s %q", what, word)
	}
	return c.fail("there is no %s %q; expected one of: %s", what, word, strings.Join(known, ", "))
}

// settings are those of a simulation.
type settings struct {
	h      *History
	pools  map[string]*pool.Pool
	nodes  map[string][]sched.Node // that are added, by pool
	like   map[string]string       // added node → the node that it is like
	gone   map[string]map[string]bool
	quotas []newQuota
}

// A newQuota replaces all quotas of the same subject, of the same pool, on slots.
type newQuota struct {
	record.Quota
	none bool // there is no such quota
}

// settle applies changes to the recorded settings.
func (h *History) settle(changes []Change) (*settings, error) {
	s := &settings{h: h, pools: map[string]*pool.Pool{}, nodes: map[string][]sched.Node{}, like: map[string]string{}, gone: map[string]map[string]bool{}}
	for _, p := range h.pools {
		of := p.pool
		of.Scheduler.Workspaces, of.Scheduler.Users = maps.Clone(of.Scheduler.Workspaces), maps.Clone(of.Scheduler.Users)
		s.pools[of.Name] = &of
	}
	for i := range changes {
		if err := s.apply(&changes[i]); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func (s *settings) apply(c *Change) error {
	kinds := map[string]func(*Change) error{"resource_pools": s.setPool, "workspaces": s.setWeight, "users": s.setWeight, "quotas": s.setQuota, "nodes": s.setNodes}
	if err := c.one("setting", c.path[0], slices.Sorted(maps.Keys(kinds))); err != nil {
		return err
	}
	if c.op != "=" && c.path[0] != "nodes" {
		return c.fail("only nodes can be added and removed with += and -=")
	}
	return kinds[c.path[0]](c)
}

// named returns the pools that a name means; * means all.
func (s *settings) named(c *Change, name string) (list []*pool.Pool, err error) {
	names := slices.Sorted(maps.Keys(s.pools))
	if name != "*" {
		if err := c.one("resource pool", name, names); err != nil {
			return nil, err
		}
		names = []string{name}
	}
	for _, n := range names {
		list = append(list, s.pools[n])
	}
	return list, nil
}

var poolKeys = []string{"preemption", "max_aux_containers_per_agent", "scheduler.type", "scheduler.fitting_policy", "scheduler.equal_parts", "scheduler.preemption",
	"scheduler.half_life", "scheduler.min_run_time", "scheduler.workspace_weights", "scheduler.user_weights"}

func (s *settings) setPool(c *Change) error {
	if len(c.path) < 3 {
		return c.fail("expected resource_pools.POOL.KEY=value, such as resource_pools.gpu.scheduler.type=fair_share")
	}
	key, name := strings.Join(c.path[2:min(len(c.path), 4)], "."), ""
	if len(c.path) == 5 {
		name = c.path[4]
	}
	if err := c.one("setting of pools", key, poolKeys); err != nil {
		return err
	}
	if weights := strings.HasSuffix(key, "_weights"); weights != (name != "") || len(c.path) > 5 {
		return c.fail("expected a name after weights, and only there: resource_pools.gpu.scheduler.workspace_weights.vision=3")
	}
	pools, err := s.named(c, c.path[1])
	for _, p := range pools {
		if err == nil {
			err = s.setKey(c, p, key, name)
		}
	}
	return err
}

func (s *settings) setKey(c *Change, p *pool.Pool, key, name string) (err error) {
	of := &p.Scheduler
	switch key {
	case "preemption", "scheduler.preemption":
		p.Preemption, err = c.yes()
	case "scheduler.equal_parts":
		of.EqualParts, err = c.yes()
	case "max_aux_containers_per_agent":
		p.MaxAux, err = c.number(0, 1000)
	case "scheduler.type":
		err = c.one("policy", c.value, pool.SchedulerTypes())
		of.Type = pool.SchedulerType(c.value)
		if of.Type == pool.FairShare && of.MinRunTime == 0 {
			of.MinRunTime = 10 * time.Minute // as in the configuration
		}
	case "scheduler.fitting_policy":
		err = c.one("fitting policy", c.value, pool.Fittings())
		of.Fitting = pool.Fitting(c.value)
	case "scheduler.half_life":
		of.HalfLife, err = c.span()
		if of.HalfLife != 0 && (of.HalfLife < 10*time.Minute || of.HalfLife > 90*24*time.Hour) {
			err = cmp.Or(err, c.fail("expected none, or from 10m to 90d"))
		}
	case "scheduler.min_run_time":
		of.MinRunTime, err = c.span()
	case "scheduler.workspace_weights":
		err = s.weight(c, &of.Workspaces, name)
	case "scheduler.user_weights":
		err = s.weight(c, &of.Users, name)
	}
	return err
}

func (c *Change) yes() (bool, error) {
	b, err := strconv.ParseBool(c.value)
	if err != nil {
		return false, c.fail("expected true or false, found %q", fault.Clip(c.value))
	}
	return b, nil
}

func (c *Change) number(least, most int) (int, error) {
	n, err := strconv.Atoi(c.value)
	if err != nil || n < least || n > most {
		return 0, c.fail("expected a number from %d to %d, found %q", least, most, fault.Clip(c.value))
	}
	return n, nil
}

// span reads a duration such as 90s, 10m, 7d; 0 or none for none.
func (c *Change) span() (time.Duration, error) {
	if c.value == "none" || c.value == "0" {
		return 0, nil
	}
	if days, ok := strings.CutSuffix(c.value, "d"); ok {
		if n, err := strconv.ParseFloat(days, 64); err == nil && n > 0 && n < 10_000 {
			return time.Duration(n * 24 * float64(time.Hour)), nil
		}
	} else if d, err := time.ParseDuration(c.value); err == nil && d > 0 {
		return d, nil
	}
	return 0, c.fail("expected a duration such as 10m or 7d, or none, found %q", fault.Clip(c.value))
}

func (s *settings) weight(c *Change, of *map[string]float64, name string) error {
	w, err := strconv.ParseFloat(c.value, 64)
	if err != nil || w <= 0 || w > 1e6 {
		return c.fail("expected a weight above 0, found %q", fault.Clip(c.value))
	}
	if *of == nil {
		*of = map[string]float64{}
	}
	(*of)[name] = w
	return nil
}

// setWeight sets the weight of a workspace or a user in all pools.
func (s *settings) setWeight(c *Change) error {
	if len(c.path) != 3 || c.path[2] != "weight" {
		return c.fail("expected %s.NAME.weight=3", c.path[0])
	}
	if err := s.whom(c, c.path[0], c.path[1]); err != nil {
		return err
	}
	for _, p := range s.pools {
		of := &p.Scheduler.Workspaces
		if c.path[0] == "users" {
			of = &p.Scheduler.Users
		}
		if err := s.weight(c, of, c.path[1]); err != nil {
			return err
		}
	}
	return nil
}

// whom fails if no job is of a workspace or a user.
func (s *settings) whom(c *Change, kind, name string) error {
	there := map[string]bool{}
	for _, j := range s.h.jobs {
		if kind == "users" {
			there[j.ask.User] = true
		} else {
			there[j.ask.Workspace] = true
		}
	}
	return c.one(strings.TrimSuffix(kind, "s")+" with jobs in the recording", name, slices.Sorted(maps.Keys(there)))
}

// setQuota sets or removes a bound of slots: quotas.workspaces.NAME[.users.NAME][.resource_pools.POOL].hard=N.
func (s *settings) setQuota(c *Change) error {
	q := newQuota{Quota: record.Quota{ID: -1 - len(s.quotas)}}
	rest := c.path[1:]
	for len(rest) >= 2 {
		kind, name := rest[0], rest[1]
		var err error
		switch {
		case kind == "workspaces" && q.Workspace == "":
			q.Workspace, err = name, s.whom(c, kind, name)
		case kind == "users" && q.User == "":
			q.User, err = name, s.whom(c, kind, name)
		case kind == "resource_pools" && q.Pool == "":
			q.Pool = name
			err = c.one("resource pool", name, slices.Sorted(maps.Keys(s.pools)))
		default:
			err = cmp.Or(c.one("part of a quota", kind, []string{"workspaces", "users", "resource_pools"}), c.fail("%s is named twice", kind))
		}
		if err != nil {
			return err
		}
		rest = rest[2:]
	}
	if len(rest) != 1 || q.Workspace == "" && q.User == "" {
		return c.fail("expected quotas.workspaces.NAME.hard=16, with .users.NAME or .resource_pools.NAME before .hard for a part of it")
	}
	if err := c.one("bound", rest[0], []string{"soft", "hard"}); err != nil {
		return err
	}
	switch {
	case q.Workspace != "" && q.User != "":
		q.Of = "user " + q.User + " in workspace " + q.Workspace
	case q.User != "":
		q.Of = "user " + q.User
	default:
		q.Of = "workspace " + q.Workspace
	}
	if i := slices.IndexFunc(s.quotas, func(o newQuota) bool { return o.SameAs(&q.Quota) }); i >= 0 { // the other bound of the same quota
		q = s.quotas[i]
		s.quotas = slices.Delete(s.quotas, i, i+1)
	} else if old := s.h.quotaLike(&q.Quota); old != nil {
		q.Soft, q.Hard = old.Soft, old.Hard
	}
	var bound *int
	if c.value != "none" {
		n, err := c.number(0, 1_000_000)
		if err != nil {
			return err
		}
		bound = &n
	}
	if rest[0] == "soft" {
		q.Soft = bound
	} else {
		q.Hard = bound
	}
	q.none = q.Soft == nil && q.Hard == nil
	s.quotas = append(s.quotas, q)
	return nil
}

// quotaLike is the recorded quota of slots for the same people and pool; nil if there is none.
func (h *History) quotaLike(q *record.Quota) *record.Quota {
	for _, id := range slices.Sorted(maps.Keys(h.quotas)) {
		if o := h.quotas[id]; o.SameAs(q) {
			return &o
		}
	}
	return nil
}

var addedNodes = regexp.MustCompile(`^(\d{1,5})x(\d{1,3})$`)

// setNodes adds nodes of so many slots to a pool (nodes.gpu+=8x8), or removes some (nodes.gpu-=2, or by name).
func (s *settings) setNodes(c *Change) error {
	if len(c.path) != 2 || c.op == "=" {
		return c.fail("expected nodes.POOL+=8x8 for 8 nodes of 8 slots more, nodes.POOL-=2 for 2 nodes less, or nodes.POOL-=NAME")
	}
	name := c.path[1]
	if err := c.one("resource pool", name, slices.Sorted(maps.Keys(s.pools))); err != nil {
		return err
	}
	if c.op == "-=" {
		return s.removeNodes(c, name)
	}
	m := addedNodes.FindStringSubmatch(c.value)
	if m == nil {
		return c.fail("expected the number of nodes and the slots of each, such as 8x8, found %q", fault.Clip(c.value))
	}
	count, _ := strconv.Atoi(m[1])
	slots, _ := strconv.Atoi(m[2])
	if count < 1 || count > maxAdded || slots < 1 || slots > maxAddedSlots {
		return c.fail("expected 1 to %d nodes of 1 to %d slots", maxAdded, maxAddedSlots)
	}
	for i := range count {
		n := sched.Node{ID: fmt.Sprintf("added-%s-%d", name, len(s.nodes[name])+1), Schedulable: true}
		n.Name = n.ID
		model := s.h.model(name, slots)
		brand := ""
		if model != nil {
			s.like[n.ID] = model.ID
			n.Rack, n.Supply = model.Rack, model.Supply
			if len(model.Slots) > 0 {
				brand = model.Slots[0].Brand
			}
		}
		for id := range slots {
			n.Slots = append(n.Slots, sched.Slot{ID: id, Brand: brand, Healthy: true, Enabled: true})
		}
		if i > 0 { // all of one change are alike
			n.Slots = s.nodes[name][len(s.nodes[name])-1].Slots
		}
		s.nodes[name] = append(s.nodes[name], n)
	}
	return nil
}

// model is the node of a pool that added ones are like: one with as many slots, else the largest.
func (h *History) model(name string, slots int) (best *sched.Node) {
	nodes := h.byName[name].nodes
	for i := range nodes {
		if n := &nodes[i]; best == nil || (len(n.Slots) == slots) != (len(best.Slots) == slots) && len(n.Slots) == slots || len(best.Slots) != slots && len(n.Slots) > len(best.Slots) {
			best = n
		}
	}
	return best
}

func (s *settings) removeNodes(c *Change, name string) error {
	nodes := slices.Clone(s.h.byName[name].nodes)
	slices.SortFunc(nodes, func(a, b sched.Node) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID)) })
	nodes = slices.DeleteFunc(nodes, func(n sched.Node) bool { return s.gone[name][n.ID] })
	if s.gone[name] == nil {
		s.gone[name] = map[string]bool{}
	}
	if count, err := strconv.Atoi(c.value); err == nil {
		if count < 1 || count > len(nodes) {
			return c.fail("pool %s had %s at the beginning", name, spelling.Count(len(nodes), "node"))
		}
		for _, n := range nodes[len(nodes)-count:] {
			s.gone[name][n.ID] = true
		}
		return nil
	}
	names := make([]string, len(nodes))
	for i, n := range nodes {
		names[i] = cmp.Or(n.Name, n.ID)
		if names[i] == c.value {
			s.gone[name][n.ID] = true
			return nil
		}
	}
	return c.one("node at the beginning in pool "+name, c.value, names)
}
