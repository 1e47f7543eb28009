package sched

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/detent-ml/detent/master/pool"
)

// epoch is when the clock of the scripts stands at 0.
var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// TestPlan runs the scripts in testdata. Each describes a pool line by line and
// records what Plan answers, or when Starts expects what waits; -rewrite records again.
//
//	pool gpu preempt aux=2 policy=fair_share fit=worst weights=a:3,b:1 users=ann:2 min=600
//	node n1 slots=8 bad=3 health="it is too hot" off=4 taken=5,6 brands=a:4,b:4 rack=r1 links=0-3;4-7 has=16000/65536 share=1750/7168 cores=8 out="is draining"
//	quota q of="workspace a" bounds=memory hard=8 soft=4 in="all pools" elsewhere=3 leaving=1 spent="…"
//	run r1 prio=42 at=5 on=n1:0-3;n2:0-3 group=exp1 max=8 keep leaving of=a/ann weight=2 quota=q
//	run r2 on=n1:4-7 uses=4000/16384 ends=60 again
//	run r3 on=n1:4-7 early=60 lent=30 latest=90
//	reserve v1 slots=8 of=a/ann from=60 until=3600
//	reserve v2 nodes=n1,n2 from=60 until=3600
//	queue q1 slots=8 prio=10 at=6 of=a/ann weight=2 turn=3 single equal mix model=a100 exclude=n1,n2 avoid=n3 because="n1:which is banned" group=exp2 max=16 after=100 longest=30 leaves cpus=4 mem=8192 quota=q
func TestPlan(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			s, err := parseScene(d.Input)
			if err != nil {
				d.Fatalf(t, "%v", err)
			}
			s.chooseModels()
			switch d.Cmd {
			case "starts":
				return s.showStarts()
			case "plan":
			default:
				d.Fatalf(t, "no command %q; there are plan and starts", d.Cmd)
			}
			result := s.reserved.Plan(s.pool, s.nodes, s.running, s.queued, epoch)
			if err := s.check(result); err != nil {
				d.Fatalf(t, "%v", err)
			}
			return show(result)
		})
	})
}

type scene struct {
	pool     *pool.Pool
	nodes    []Node
	running  []Running
	queued   []Request
	models   map[string]string // by request: the model that it asks for
	quotas   map[string]*Quota
	ends     map[string]End // of running tasks
	reserved Reserved
}

// chooseModels makes the choices of requests that ask for a model.
func (s *scene) chooseModels() {
	for i := range s.queued {
		model := s.models[s.queued[i].ID]
		if model == "" {
			continue
		}
		c := &Choice{Asks: "a GPU whose model matches " + model, Unfit: map[string]string{}, Lack: map[string]bool{}, Models: map[string][]string{}}
		for _, n := range s.nodes {
			if !slices.ContainsFunc(n.Slots, func(s Slot) bool { return s.Brand == model }) {
				c.Unfit[n.ID], c.Lack[n.ID] = "where there is no "+strings.TrimPrefix(c.Asks, "a "), true
				continue
			}
			c.Models[n.ID] = []string{model}
		}
		s.queued[i].Choice = c
	}
}

func parseScene(text string) (s scene, err error) {
	for _, line := range strings.Split(text, "\n") {
		words, err := splitWords(line)
		if err != nil {
			return s, err
		}
		if len(words) == 0 {
			continue
		}
		if len(words) == 1 {
			return s, fmt.Errorf("%q names nothing", line)
		}
		args := map[string]string{}
		for _, w := range words[2:] {
			key, value, _ := strings.Cut(w, "=")
			args[key] = value
		}
		switch words[0] {
		case "pool":
			_, preempt := args["preempt"]
			s.pool = &pool.Pool{Name: words[1], Preemption: preempt, MaxAux: number(args["aux"]), Scheduler: parseScheduler(args)}
		case "node":
			s.nodes = append(s.nodes, parseNode(words[1], args))
		case "quota":
			if s.quotas == nil {
				s.quotas = map[string]*Quota{}
			}
			s.quotas[words[1]] = parseQuota(args)
		case "reserve":
			s.reserved = append(s.reserved, parseReservation(words[1], args))
		case "run":
			r := parseRunning(words[1], args)
			r.Quotas = s.quotasOf(args["quota"])
			s.running = append(s.running, r)
			s.addEnd(r, args)
		case "queue":
			r := parseRequest(words[1], args)
			r.Quotas = s.quotasOf(args["quota"])
			s.queued = append(s.queued, r)
			if args["model"] != "" {
				if s.models == nil {
					s.models = map[string]string{}
				}
				s.models[words[1]] = args["model"]
			}
		default:
			return s, fmt.Errorf("%q is none of pool, node, quota, reserve, run, queue", words[0])
		}
	}
	return s, nil
}

func parseReservation(id string, args map[string]string) Reservation {
	v := Reservation{ID: number(strings.TrimPrefix(id, "v")), Slots: number(args["slots"]), From: seconds(args["from"]), Until: seconds(args["until"])}
	v.Workspace, v.User, _ = strings.Cut(args["of"], "/")
	if args["nodes"] != "" {
		v.Nodes = strings.Split(args["nodes"], ",")
	}
	return v
}

// seconds is a time of the scripts.
func seconds(s string) time.Time { return epoch.Add(time.Duration(number(s)) * time.Second) }

func (s *scene) quotasOf(names string) (list []*Quota) {
	for name := range strings.SplitSeq(names, ",") {
		if q := s.quotas[name]; q != nil {
			list = append(list, q)
		}
	}
	return list
}

func parseQuota(args map[string]string) *Quota {
	q := &Quota{Kind: map[string]Kind{"cpus": Processors, "memory": Memory}[args["bounds"]], Of: args["of"], Where: args["in"], Raise: "administrators of the cluster can raise it", Spent: args["spent"],
		Elsewhere: Held{number(args["elsewhere"]), number(args["leaving"])}}
	for key, bound := range map[string]**int{"soft": &q.Soft, "hard": &q.Hard} {
		if args[key] != "" {
			n := number(args[key])
			*bound = &n
		}
	}
	return q
}

// splitWords splits at spaces outside double quotes.
func splitWords(line string) ([]string, error) {
	var words []string
	quoted := false
	fields := strings.FieldsFunc(line, func(r rune) bool {
		if r == '"' {
			quoted = !quoted
		}
		return r == ' ' && !quoted
	})
	for _, f := range fields {
		words = append(words, strings.ReplaceAll(f, `"`, ""))
	}
	if quoted {
		return nil, fmt.Errorf("%q ends inside quotes", line)
	}
	return words, nil
}

func number(s string) int {
	if s == "" {
		return 0
	}
	n, err := strconv.Atoi(s)
	if err != nil {
		panic(err)
	}
	return n
}

// numbers reads "1,3-5".
func numbers(s string) []int {
	var all []int
	for _, part := range strings.Split(s, ",") {
		if part == "" {
			continue
		}
		first, last, isRange := strings.Cut(part, "-")
		if !isRange {
			last = first
		}
		for n := number(first); n <= number(last); n++ {
			all = append(all, n)
		}
	}
	return all
}

func parseScheduler(args map[string]string) pool.Scheduler {
	return pool.Scheduler{Type: pool.SchedulerType(args["policy"]), Fitting: pool.Fitting(args["fit"]), Workspaces: parseWeights(args["weights"]),
		Users: parseWeights(args["users"]), MinRunTime: time.Duration(number(args["min"])) * time.Second, HalfLife: time.Duration(number(args["life"])) * time.Hour}
}

// parseRecent reads "90/10", slot-hours of the workspace and of the user.
func parseRecent(s string) Recent {
	workspace, user, _ := strings.Cut(s, "/")
	return Recent{Workspace: float64(number(workspace)), User: float64(number(user))}
}

// parseWeights reads "a:3,b:1".
func parseWeights(s string) map[string]float64 {
	weights := map[string]float64{}
	for item := range strings.SplitSeq(s, ",") {
		if name, n, ok := strings.Cut(item, ":"); ok {
			weights[name] = float64(number(n))
		}
	}
	return weights
}

func parseNode(name string, args map[string]string) Node {
	n := Node{ID: name, Name: name, Schedulable: args["out"] == "", Why: args["out"], Rack: args["rack"]}
	for i := range number(args["slots"]) {
		n.Slots = append(n.Slots, Slot{ID: i, Healthy: true, Enabled: true})
	}
	for brand := range strings.SplitSeq(args["brands"], ",") {
		model, count, _ := strings.Cut(brand, ":")
		for range number(count) {
			n.Slots = append(n.Slots, Slot{ID: len(n.Slots), Brand: model, Healthy: true, Enabled: true})
		}
	}
	for _, i := range numbers(args["bad"]) {
		n.Slots[i].Healthy, n.Slots[i].Health = false, args["health"]
	}
	for _, i := range numbers(args["off"]) {
		n.Slots[i].Enabled = false
	}
	for _, i := range numbers(args["taken"]) {
		n.Slots[i].Taken = "web"
	}
	if has, known := args["has"]; known {
		n.Supply = &Supply{Free: amount(has), Slot: amount(args["share"]), Aux: Amount{100, 256}, Least: Amount{50, 64}, MHz: amount(has).MHz, Cores: number(args["cores"])}
	}
	for group, slots := range strings.Split(args["links"], ";") {
		for _, i := range numbers(slots) {
			n.Slots[i].LinkGroup = group + 1
		}
	}
	return n
}

// amount reads "4000/16384", MHz and MiB.
func amount(s string) Amount {
	mhz, mb, _ := strings.Cut(s, "/")
	return Amount{number(mhz), number(mb)}
}

func parseRunning(id string, args map[string]string) Running {
	_, keep := args["keep"]
	_, leaving := args["leaving"]
	r := Running{ID: id, Group: args["group"], Priority: number(args["prio"]), Preemptible: !keep, Leaving: leaving,
		StartedAt: epoch.Add(time.Duration(number(args["at"])) * time.Second), Weight: float64(number(args["weight"])), Recent: parseRecent(args["used"])}
	r.Workspace, r.User, _ = strings.Cut(args["of"], "/")
	if args["max"] != "" {
		most := number(args["max"])
		r.MaxSlots = &most
	}
	if args["early"] != "" {
		r.Earliest = epoch.Add(time.Duration(number(args["early"])) * time.Second)
	}
	if args["saved"] != "" {
		r.Saved = seconds(args["saved"])
	}
	if args["latest"] != "" {
		r.Latest = seconds(args["latest"])
	}
	if args["lent"] != "" {
		r.LentUntil = epoch.Add(time.Duration(number(args["lent"])) * time.Second)
	}
	for part := range strings.SplitSeq(args["on"], ";") {
		node, slots, _ := strings.Cut(part, ":")
		r.Parts = append(r.Parts, Part{NodeID: node, SlotIDs: numbers(slots), Uses: amount(args["uses"])})
	}
	return r
}

func parseRequest(id string, args map[string]string) Request {
	_, single := args["single"]
	_, equal := args["equal"]
	_, mix := args["mix"]
	r := Request{ID: id, Group: args["group"], Slots: number(args["slots"]), Priority: number(args["prio"]), SingleNode: single, EqualParts: equal, MixModels: mix,
		QueuedAt: epoch.Add(time.Duration(number(args["at"])) * time.Second), Weight: float64(number(args["weight"])), Recent: parseRecent(args["used"])}
	r.Ask = Ask{CPUs: float64(number(args["cpus"])), MemoryMB: number(args["mem"])}
	r.Workspace, r.User, _ = strings.Cut(args["of"], "/")
	r.Longest = time.Duration(number(args["longest"])) * time.Second
	_, r.Preemptible = args["leaves"]
	if args["turn"] != "" {
		at := epoch.Add(time.Duration(number(args["turn"])) * time.Second)
		r.Served = Served{at, at, at, at}
	}
	if args["avoid"] != "" {
		r.Avoid = strings.Split(args["avoid"], ",")
	}
	if node, why, ok := strings.Cut(args["because"], ":"); ok {
		r.Because = map[string]string{node: why}
	}
	if args["exclude"] != "" {
		r.Exclude = strings.Split(args["exclude"], ",")
	}
	if args["max"] != "" {
		most := number(args["max"])
		r.MaxSlots = &most
	}
	if args["after"] != "" {
		r.NotBefore = epoch.Add(time.Duration(number(args["after"])) * time.Second)
	}
	return r
}

func show(r Result) string {
	var b strings.Builder
	for _, p := range r.Place {
		fmt.Fprintf(&b, "place %s", p.ID)
		for _, part := range p.Parts {
			fmt.Fprintf(&b, " %s:%s", part.NodeID, strings.Trim(fmt.Sprint(part.SlotIDs), "[]"))
		}
		if !p.LentUntil.IsZero() {
			fmt.Fprintf(&b, " until %v", p.LentUntil.Sub(epoch))
		}
		b.WriteString("\n")
	}
	for _, p := range r.Preempt {
		if p.For == "" {
			fmt.Fprintf(&b, "preempt %s: %s\n", p.ID, p.Reason)
			continue
		}
		fmt.Fprintf(&b, "preempt %s for %s: %s\n", p.ID, p.For, p.Reason)
	}
	ids := make([]string, 0, len(r.Waiting))
	for id := range r.Waiting {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	for _, id := range ids {
		fmt.Fprintf(&b, "wait %s: %s\n", id, r.Waiting[id])
	}
	if b.Len() == 0 {
		return "nothing to do\n"
	}
	return b.String()
}

// check tests the invariants of a result.
func (s scene) check(r Result) error {
	seen := map[string]bool{}
	held := map[slotIn]string{}
	nodes := map[string]Node{}
	for _, n := range s.nodes {
		nodes[n.ID] = n
	}
	for _, run := range s.running {
		for _, part := range run.Parts {
			for _, id := range part.SlotIDs {
				held[slotIn{part.NodeID, id}] = run.ID
			}
		}
	}
	requests := map[string]Request{}
	for _, q := range s.queued {
		requests[q.ID] = q
	}
	for _, p := range r.Place {
		q, ok := requests[p.ID]
		if !ok || seen[p.ID] {
			return fmt.Errorf("%s was placed without having asked, or twice", p.ID)
		}
		seen[p.ID] = true
		if err := checkPlacement(q, p, nodes, held); err != nil {
			return err
		}
	}
	for _, q := range s.queued {
		if why := r.Waiting[q.ID]; seen[q.ID] == (why != "") {
			return fmt.Errorf("%s: placed %v, waits because %q", q.ID, seen[q.ID], why)
		}
	}
	if err := s.checkRooms(r); err != nil {
		return err
	}
	if err := s.checkBounds(r, requests); err != nil {
		return err
	}
	return s.checkPreemptions(r, requests)
}

// checkRooms tests that no placement brings a node over its processors or its memory.
func (s scene) checkRooms(r Result) error {
	held := map[string]Amount{}
	for _, run := range s.running {
		for _, part := range run.Parts {
			held[part.NodeID] = held[part.NodeID].plus(s.usesOf(part, Ask{}))
		}
	}
	for _, p := range r.Place {
		q := s.queued[slices.IndexFunc(s.queued, func(q Request) bool { return q.ID == p.ID })]
		for _, part := range p.Parts {
			n := s.nodeOf(part.NodeID)
			if n.Supply == nil {
				continue
			}
			if want := n.Supply.Of(q.Ask, len(part.SlotIDs)); part.Uses != want {
				return fmt.Errorf("%s is placed with %+v on %s, and needs %+v", p.ID, part.Uses, n.ID, want)
			}
			if held[n.ID] = held[n.ID].plus(part.Uses); !held[n.ID].within(n.Supply.Free) {
				return fmt.Errorf("with %s, tasks hold %+v of the %+v of %s", p.ID, held[n.ID], n.Supply.Free, n.ID)
			}
		}
	}
	return nil
}

func (s scene) nodeOf(id string) Node {
	if i := slices.IndexFunc(s.nodes, func(n Node) bool { return n.ID == id }); i >= 0 {
		return s.nodes[i]
	}
	return Node{}
}

func (s scene) usesOf(part Part, ask Ask) Amount {
	if supply := s.nodeOf(part.NodeID).Supply; supply != nil && part.Uses == (Amount{}) {
		return supply.Of(ask, len(part.SlotIDs))
	}
	return part.Uses
}

type slotIn struct {
	node string
	id   int
}

func checkPlacement(q Request, p Placement, nodes map[string]Node, held map[slotIn]string) error {
	total := 0
	used, models := map[string]bool{}, map[string]bool{}
	for _, part := range p.Parts {
		n, ok := nodes[part.NodeID]
		if !ok || !n.Schedulable || used[n.ID] || slices.Contains(q.Exclude, n.ID) || q.Choice.Bars(n.ID) {
			return fmt.Errorf("%s was placed on %s, which it may not use, or twice", q.ID, part.NodeID)
		}
		used[n.ID] = true
		total += len(part.SlotIDs)
		if q.EqualParts && len(part.SlotIDs) != len(p.Parts[0].SlotIDs) || len(part.SlotIDs) == 0 && q.Slots > 0 {
			return fmt.Errorf("%s got unequal parts, or an empty one", q.ID)
		}
		brands := map[string]bool{}
		for _, id := range part.SlotIDs {
			i := slices.IndexFunc(n.Slots, func(s Slot) bool { return s.ID == id })
			if i < 0 || !n.Slots[i].usable() {
				return fmt.Errorf("%s got slot %d of %s, which is not usable", q.ID, id, n.ID)
			}
			key := slotIn{n.ID, id}
			if held[key] != "" {
				return fmt.Errorf("%s got slot %d of %s, which %s holds", q.ID, id, n.ID, held[key])
			}
			held[key] = q.ID
			brands[n.Slots[i].Brand], models[n.Slots[i].Brand] = true, true
			if !q.Choice.takes(n.ID, n.Slots[i].Brand) {
				return fmt.Errorf("%s got slots of a model that it must not use", q.ID)
			}
		}
		if len(brands) > 1 {
			return fmt.Errorf("%s got slots of several models on %s", q.ID, n.ID)
		}
	}
	if len(models) > 1 && !q.MixModels {
		return fmt.Errorf("%s got slots of several models", q.ID)
	}
	if total != q.Slots || q.SingleNode && len(p.Parts) != 1 || len(p.Parts) == 0 {
		return fmt.Errorf("%s asked for %d slots and got %d on %d nodes", q.ID, q.Slots, total, len(p.Parts))
	}
	return nil
}

func (s scene) checkPreemptions(r Result, requests map[string]Request) error {
	asked := map[string]bool{}
	after := s // the preempted tasks no longer count for the quotas of a request
	after.running = slices.Clone(s.running)
	for i := range after.running {
		after.running[i].Leaving = after.running[i].Leaving || slices.ContainsFunc(r.Preempt, func(v Preemption) bool { return v.ID == after.running[i].ID })
	}
	for _, v := range r.Preempt {
		i := slices.IndexFunc(s.running, func(x Running) bool { return x.ID == v.ID })
		if i < 0 || asked[v.ID] {
			return fmt.Errorf("%s is asked to leave and does not run, or was asked twice", v.ID)
		}
		asked[v.ID] = true
		q := requests[v.For]
		run := s.running[i]
		if v.For == "" && strings.Contains(v.Reason, "reserv") || strings.Contains(v.Reason, "maintenance") {
			if !run.Preemptible || run.Leaving || !s.reserved.Active(epoch) {
				return fmt.Errorf("%s must not be asked to leave for a reservation", v.ID)
			}
			continue
		}
		if v.For == "" {
			if run.MaxSlots == nil || !run.Preemptible || run.Leaving {
				return fmt.Errorf("%s must not be asked to leave", v.ID)
			}
			continue
		}
		recalled := !run.LentUntil.IsZero() && run.Preemptible && !run.Leaving && run.Priority >= q.Priority && (!epoch.Before(run.LentUntil) || q.QueuedAt.Before(run.StartedAt))
		if !recalled && !s.mayAsk(run, q) && (!after.within(q) || !s.mayReclaim(run)) {
			return fmt.Errorf("%s must not leave for %s", v.ID, v.For)
		}
	}
	return nil
}

// mayAsk reports whether the policy allows a preemption, regardless of shares.
func (s scene) mayAsk(run Running, q Request) bool {
	if !run.Preemptible || run.Leaving {
		return false
	}
	switch s.pool.Scheduler.Type {
	case pool.FairShare:
		return epoch.Sub(run.StartedAt) >= s.pool.Scheduler.MinRunTime && (run.Group != q.Group || run.User != q.User || run.Workspace != q.Workspace)
	case pool.RoundRobin:
		return false
	}
	return s.pool.Preemption && run.Priority > q.Priority
}

// heldBy is what parts of a task hold.
func (s scene) heldBy(parts []Part, k Kind) int {
	return k.Of(parts, func(id string) *Supply { return s.nodeOf(id).Supply })
}

// heldUnder counts what stays held under a quota, or all of it.
func (s scene) heldUnder(q *Quota, all bool) int {
	n := q.Elsewhere.All
	if !all {
		n -= q.Elsewhere.Leaving
	}
	for _, r := range s.running {
		if slices.Contains(r.Quotas, q) && (all || !r.Leaving) {
			n += s.heldBy(r.Parts, q.Kind)
		}
	}
	return n
}

// checkBounds tests that no request starts over a hard bound, or under a quota that is spent.
func (s scene) checkBounds(r Result, requests map[string]Request) error {
	more := map[*Quota]int{}
	for _, p := range r.Place {
		q := requests[p.ID]
		for _, under := range q.Quotas {
			if q.Slots == 0 && under.Kind == Slots {
				continue
			}
			more[under] += s.heldBy(p.Parts, under.Kind)
			if held := s.heldUnder(under, true) + more[under]; under.Hard != nil && held > *under.Hard {
				return fmt.Errorf("with %s, %s holds %d slots, over the hard bound of %d", q.ID, under.Of, held, *under.Hard)
			}
			if under.Spent != "" {
				return fmt.Errorf("%s starts under the quota of %s, which is spent", q.ID, under.Of)
			}
		}
	}
	return nil
}

// within reports whether a request keeps to its soft bounds.
func (s scene) within(q Request) bool {
	p := newPlanner(s.pool, s.nodes, s.running, len(s.queued))
	return !slices.ContainsFunc(q.Quotas, func(under *Quota) bool {
		return under.Soft != nil && s.heldUnder(under, false) > *under.Soft-p.needs(&q, under.Kind, nil)
	})
}

// mayReclaim reports whether a task may be asked to leave because it is over a soft bound.
func (s scene) mayReclaim(run Running) bool {
	return run.Preemptible && !run.Leaving && slices.ContainsFunc(run.Quotas, func(under *Quota) bool {
		return under.Soft != nil && s.heldUnder(under, false) > *under.Soft
	})
}

// TestAPoolOfSingleNodes: each request is placed on one node, and a waiting one has the reason.
func TestAPoolOfSingleNodes(t *testing.T) {
	var nodes []Node
	for _, name := range []string{"n1", "n2"} {
		n := Node{ID: name, Name: name, Schedulable: true}
		for i := range 4 {
			n.Slots = append(n.Slots, Slot{ID: i, Healthy: true, Enabled: true})
		}
		nodes = append(nodes, n)
	}
	queued := []Request{{ID: "large", Slots: 8}, {ID: "small", Slots: 4}}
	single := &pool.Pool{Name: "p", SingleNode: true}
	r := Plan(single, nodes, nil, queued, epoch)
	if len(r.Place) != 1 || r.Place[0].ID != "small" || !strings.Contains(r.Waiting["large"], "on one node") {
		t.Errorf("%+v", r)
	}
	if Holds(single, nodes, queued[0]) || !Holds(&pool.Pool{Name: "p"}, nodes, queued[0]) {
		t.Error("8 slots on nodes of 4")
	}
	if r := Plan(&pool.Pool{Name: "p"}, nodes, nil, queued[:1], epoch); len(r.Place) != 1 || len(r.Place[0].Parts) != 2 {
		t.Errorf("without it: %+v", r)
	}
}
