package control

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unsafe"

	"github.com/detent-ml/detent/master/cluster"
	"github.com/detent-ml/detent/master/control/expressions"
	"github.com/detent-ml/detent/master/nodes"
	"github.com/detent-ml/detent/master/sched"
)

// compared adds nodes with names to a stage, and tasks of a user with so many regular expressions each, which match
// all of them, and other comparisons. No two tasks have the same ones.
func (s *stage) compared(upTo, tasks, patterns, others int, user string) {
	s.t.Helper()
	for i := len(s.p.Nodes); i < upTo; i++ {
		n := cluster.Node{Node: sched.Node{ID: fmt.Sprintf("id%d", i)}, Drivers: []string{"raw_exec"}, Cores: 8, FreeCores: 8, MemoryMB: 4000, FreeMemoryMB: 4000,
			Facts: map[string]string{"node.unique.name": fmt.Sprintf("a-node-with-a-long-name-of-its-own-%04d", i), "meta.rack": "r1"}}
		inventory, err := json.Marshal(n)
		if err != nil {
			s.t.Fatal(err)
		}
		s.p.Nodes = append(s.p.Nodes, nodes.Row{ID: n.ID, Name: fmt.Sprintf("n%d", i), Status: "ready", Eligible: true, Enabled: true, Inventory: inventory})
	}
	for i := range tasks {
		var list []string
		for j := range patterns {
			list = append(list, fmt.Sprintf(`{"attribute": "${node.unique.name}", "operator": "regexp", "value": "(.?){40}|%s-%d-%d"}`, user, i, j))
		}
		for j := range others {
			list = append(list, fmt.Sprintf(`{"attribute": "${meta.rack}", "operator": "!=", "value": "%s-%d-%d"}`, user, i, j))
		}
		id := fmt.Sprint(user, i)
		s.queue(id, "cpu", 1)
		t := &s.p.Tasks[len(s.p.Tasks)-1]
		t.Owner, t.Nomad = user, json.RawMessage(`{"constraints": [`+strings.Join(list, ", ")+`]}`)
	}
}

// cycle decides once; changed says that a node has changed.
func (s *stage) cycle(changed bool) (placed map[string]bool, waits map[string]string) {
	if s.p.choices == nil {
		s.p.choices = &choices{}
	}
	s.p.choices.beginCycle(changed)
	placed, waits = map[string]bool{}, map[string]string{}
	out := Decide(s.p).Changes()
	for _, p := range out.Placements {
		placed[p.AllocationID] = true
	}
	for _, a := range out.Allocations {
		if a.Waiting != nil {
			waits[a.ID] = *a.Waiting
		}
	}
	return placed, waits
}

// TestExpressionsOfOneUser: the work of regular expressions is limited in each cycle and for each user, what is left
// follows in later cycles, also while nodes change, and the tasks of others do not wait for it.
func TestExpressionsOfOneUser(t *testing.T) {
	s := newStage(t, 0)
	s.compared(50, 20, 10, 0, "eve")
	s.compared(50, 1, 2, 0, "bob")
	const most = 30
	for cycles := 1; ; cycles++ {
		placed, waits := s.cycle(true)
		x := s.p.choices.expressions
		if x.Left() < 0 || x.Spent("eve") > expressions.Share || x.Spent("eve") == 0 && cycles == 1 {
			t.Fatalf("cycle %d: %d of the work is left, and eve has spent %d", cycles, x.Left(), x.Spent("eve"))
		}
		if !placed["bob0.1"] {
			t.Fatalf("cycle %d: bob waits: %s", cycles, waits["bob0.1"])
		}
		if len(placed) == 21 {
			if cycles < 3 {
				t.Fatalf("all is compared in cycle %d, so this tests nothing", cycles)
			}
			break
		}
		if last := waits["eve19.1"]; !placed["eve0.1"] && cycles > 1 || !strings.Contains(last, "with environment.nomad yet") || cycles == most {
			t.Fatalf("cycle %d: %d are placed; the last task waits: %s", cycles, len(placed), last)
		}
	}
	x := s.p.choices.expressions
	if s.cycle(false); x.Spent("eve")+x.Spent("bob") != 0 {
		t.Errorf("eve spends %d again, and bob %d, although no node has changed", x.Spent("eve"), x.Spent("bob"))
	}
	const looked = 50 * (expressions.NodeWork + 10*expressions.PlainWork) // what was matched before is looked up, for each node
	if s.cycle(true); x.Spent("eve") != 20*looked {
		t.Errorf("%d is spent on comparisons that were made before, want %d", x.Spent("eve"), 20*looked)
	}
}

// TestComparisonsOfOneUser: the work of comparisons that no limit of expressions holds is limited, too, when nodes change: what one user
// has beyond a share follows in later cycles.
func TestComparisonsOfOneUser(t *testing.T) {
	s := newStage(t, 0)
	s.compared(100, 60, 0, 100, "eve")
	s.compared(100, 1, 0, 2, "bob")
	perTask := int64(100 * 100 * expressions.PlainWork)
	placed, waits := s.cycle(true)
	if !placed["bob0.1"] || !placed["eve0.1"] {
		t.Fatalf("bob waits: %s; eve waits: %s", waits["bob0.1"], waits["eve0.1"])
	}
	if spent := s.p.choices.expressions.Spent("eve"); spent > expressions.Share+perTask || placed["eve59.1"] || !strings.Contains(waits["eve59.1"], "with environment.nomad yet") {
		t.Errorf("eve has spent %d in one cycle, and her last task waits: %q", spent, waits["eve59.1"])
	}
	for cycles := 2; len(placed) != 61; cycles++ {
		if cycles > 10 {
			t.Fatalf("%d are placed after %d cycles; the last task waits: %s", len(placed), cycles, waits["eve59.1"])
		}
		placed, waits = s.cycle(false)
	}
	if s.cycle(false); s.p.choices.expressions.Spent("eve")+s.p.choices.expressions.Spent("bob") != 0 {
		t.Error("what was compared is compared again although no node has changed")
	}
}

// TestOneLongComparison: the comparisons of a task that exceed a user's share are made in one cycle, since they cannot be divided.
func TestOneLongComparison(t *testing.T) {
	s := newStage(t, 0)
	s.compared(300, 1, 0, 1000, "eve")
	if placed, waits := s.cycle(true); !placed["eve0.1"] {
		t.Errorf("it waits: %s", waits["eve0.1"])
	}
}

// TestKeptChoices: what is kept of a user's tasks and the nodes is limited. Tasks with the same environment.nomad have one choice, in which all
// nodes share the text of a reason.
func TestKeptChoices(t *testing.T) {
	s := newStage(t, 0)
	const nodes = 400
	s.compared(nodes, maxKeptNodes/nodes+20, 0, 1, "eve")
	s.compared(nodes, 1, 0, 1, "bob")
	for i := range s.p.Tasks {
		switch k := &s.p.Tasks[i]; k.ID {
		case "eve0", "eve1", "eve2":
			k.Nomad = json.RawMessage(`{"constraints": [{"attribute": "${meta.rack}", "value": "r9"}]}`)
		}
	}
	var waits map[string]string
	for range 4 {
		_, waits = s.cycle(false)
	}
	known := s.p.choices
	if n := known.kept["eve"]; n < maxKeptNodes || n > maxKeptNodes+nodes {
		t.Errorf("the choices of eve rate %d nodes", n)
	}
	if last := waits[fmt.Sprintf("eve%d.1", maxKeptNodes/nodes+19)]; !strings.Contains(last, "kill some, or give them the same") {
		t.Errorf("the last task waits: %s", last)
	}
	shared := 0
	for key, c := range known.now {
		if !strings.Contains(key.text, "r9") {
			continue
		}
		shared++
		texts := map[*byte]bool{}
		for _, why := range c.Unfit {
			texts[unsafe.StringData(why)] = true
		}
		if len(c.Unfit) != nodes || len(texts) != 1 {
			t.Errorf("%d nodes do not fit, for %d texts", len(c.Unfit), len(texts))
		}
	}
	if shared != 1 {
		t.Errorf("three tasks with one environment.nomad have %d choices", shared)
	}
}

// TestStoredExpressions: a task with more or larger expressions than one may have waits, and says why.
func TestStoredExpressions(t *testing.T) {
	s := newStage(t, 0)
	s.compared(2, 1, 11, 0, "many")
	s.compared(2, 1, 10, 0, "enough")
	s.queue("large", "cpu", 1)
	s.p.Tasks[len(s.p.Tasks)-1].Nomad = json.RawMessage(`{"constraints": [{"attribute": "${node.unique.name}", "operator": "regexp", "value": "(.?){900}"}]}`)
	placed, waits := s.cycle(true)
	if !placed["enough0.1"] || placed["many0.1"] || placed["large.1"] {
		t.Errorf("placed are %v", placed)
	}
	for _, id := range []string{"many0.1", "large.1"} {
		if !strings.Contains(waits[id], "environment.nomad.constraints are not met: ${node.unique.name} regexp (too many or too large)") {
			t.Errorf("%s waits: %s", id, waits[id])
		}
	}
}

// BenchmarkExpressions measures cycles after a change of a node, with 500 tasks of 100 constraints each, 10 of them
// regular expressions, that wait for one of 1,000 nodes.
func BenchmarkExpressions(b *testing.B) {
	for _, patterns := range []int{0, 10} {
		b.Run(fmt.Sprint(patterns), func(b *testing.B) {
			s := newStage(&testing.T{}, 0)
			s.compared(1000, 500, patterns, 100-patterns, "eve")
			for b.Loop() {
				s.cycle(true)
			}
		})
	}
}

// TestModelsAreComparedOnce: what a list of models takes does not grow with the nodes, which have few different models.
func TestModelsAreComparedOnce(t *testing.T) {
	spent := func(upTo int) int64 {
		s := newStage(t, 0)
		for i := range upTo {
			n := cluster.Node{Node: sched.Node{ID: fmt.Sprintf("id%d", i)}, Devices: map[string][]sched.Slot{}, Models: map[string]map[string]map[string]string{"nvidia/gpu": {}}}
			for j, model := range []string{"NVIDIA A100-SXM4-40GB MIG 1g.5gb", "NVIDIA A100-SXM4-40GB MIG 2g.10gb", "NVIDIA A100-SXM4-40GB"} {
				n.Devices["nvidia/gpu"] = append(n.Devices["nvidia/gpu"], sched.Slot{ID: j, Device: fmt.Sprintf("GPU-%d-%d", i, j), Brand: model, Healthy: true, Enabled: true})
				n.Models["nvidia/gpu"][model] = map[string]string{"memory": "40536 MiB"}
			}
			inventory, err := json.Marshal(n)
			if err != nil {
				t.Fatal(err)
			}
			s.p.Nodes = append(s.p.Nodes, nodes.Row{ID: n.ID, Name: n.ID, Status: "ready", Eligible: true, Enabled: true, Inventory: inventory})
		}
		s.queue("eve", "gpu", 20)
		k := &s.p.Tasks[len(s.p.Tasks)-1]
		k.Owner, k.GPU = "eve", json.RawMessage(`{"model": ["*mig`+strings.Repeat("*a", 50)+`", "b*"]}`)
		s.p.inventories, _ = inventories(nil).of(s.p.Nodes)
		s.cycle(true)
		return s.p.choices.expressions.Spent("eve")
	}
	few, many := spent(10), spent(200)
	if want := few + 190*expressions.NodeWork; few == 0 || many != want {
		t.Errorf("the work is %d for 10 nodes and %d for 200, want %d", few, many, want)
	}
}

// TestWhatRatesNoNode: what environment.nomad says besides decides about no node, so it costs the leader nothing.
func TestWhatRatesNoNode(t *testing.T) {
	s := newStage(t, 0)
	s.compared(50, 100, 0, 1, "eve")
	for i := range s.p.Tasks {
		s.p.Tasks[i].Nomad = json.RawMessage(fmt.Sprintf(`{"meta": {"a": "%d"}, "host_paths": [{"host_path": "/tmp", "container_path": "/x%d"}]}`, i, i))
	}
	s.p.inventories, _ = inventories(nil).of(s.p.Nodes)
	for _, changed := range []bool{true, false, true} {
		s.cycle(changed)
		if c := s.p.choices; c.kept["eve"] != 0 || c.expressions.Spent("eve") != 0 {
			t.Errorf("%d rated nodes are kept, and the work is %d", c.kept["eve"], c.expressions.Spent("eve"))
		}
	}
}
