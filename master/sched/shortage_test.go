package sched

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/detent-ml/detent/master/pool"
)

// classOf is a class of nodes with so many slots of a model.
func classOf(name string, slots int, model string) Class {
	c := Class{Name: name, Node: Node{ID: "class:" + name, Schedulable: true}}
	for i := range slots {
		c.Node.Slots = append(c.Node.Slots, Slot{ID: i, Brand: model, Healthy: true, Enabled: true})
	}
	return c
}

// TestShort: the fewest nodes that clear the queue, and none where none can help.
func TestShort(t *testing.T) {
	eight, four := classOf("eight", 8, "a"), classOf("four", 4, "b")
	for name, c := range map[string]struct {
		scene   string
		classes []Class
		want    []ClassShortage
		uses    []string
	}{
		"nobody waits": {"node n1 slots=8", []Class{eight}, []ClassShortage{{Class: "eight"}}, nil},
		"who waits starts on nodes that are there": {"node n1 slots=8\nqueue q1 slots=8", []Class{eight}, []ClassShortage{{Class: "eight"}}, []string{"n1"}},
		"a gang on nodes that must be added":       {"queue q1 slots=16", []Class{eight}, []ClassShortage{{"eight", 2, 1, 16}}, nil},
		"a gang uses the idle node first":          {"node n1 brands=a:8\nqueue q1 slots=16", []Class{eight}, []ClassShortage{{"eight", 1, 1, 16}}, []string{"n1"}},
		"13 slots on two nodes":                    {"queue q1 slots=13", []Class{eight}, []ClassShortage{{"eight", 2, 1, 13}}, nil},
		"13 slots that must be on one node":        {"queue q1 slots=13 single", []Class{eight}, []ClassShortage{{Class: "eight"}}, nil},
		"small ones share a node":                  {"queue q1 slots=3\nqueue q2 slots=3\nqueue q3 slots=2", []Class{eight}, []ClassShortage{{"eight", 1, 3, 8}}, nil},
		"what the first class cannot help, the second one does": {"queue q1 slots=3 model=b\nqueue q2 slots=8", []Class{eight, four},
			[]ClassShortage{{"eight", 1, 1, 8}, {"four", 1, 1, 3}}, nil},
		"a model that no class has":          {"queue q1 slots=3 model=c", []Class{eight, four}, []ClassShortage{{Class: "eight"}, {Class: "four"}}, nil},
		"more than its group may hold":       {"queue q1 slots=8 group=e max=4", []Class{eight}, []ClassShortage{{Class: "eight"}}, nil},
		"as many as its quota allows":        {"quota x of=\"user a\" hard=8 in=\"all pools\"\nqueue q1 slots=8 quota=x\nqueue q2 slots=8 quota=x", []Class{eight}, []ClassShortage{{"eight", 1, 1, 8}}, nil},
		"a task without slots":               {"pool p aux=2\nqueue q1 slots=0\nqueue q2 slots=0\nqueue q3 slots=0", []Class{eight}, []ClassShortage{{"eight", 2, 3, 0}}, nil},
		"slots that somebody is leaving":     {"node n1 slots=8\nrun r1 on=n1:0-7 leaving\nqueue q1 slots=8", []Class{eight}, []ClassShortage{{Class: "eight"}}, []string{"n1"}},
		"those who could be asked to go":     {"pool p preempt\nnode n1 slots=8\nrun r1 prio=50 on=n1:0-7\nqueue q1 slots=8 prio=1", []Class{eight}, []ClassShortage{{"eight", 1, 1, 8}}, nil},
		"behind a head that no class helps":  {"node n1 brands=a:8\nqueue q1 slots=13 single\nqueue q2 slots=16", []Class{eight}, []ClassShortage{{"eight", 1, 1, 16}}, []string{"n1"}},
		"on the emptiest node":               {"pool p fit=worst\nqueue q1 slots=2\nqueue q2 slots=2\nqueue q3 slots=4", []Class{eight}, []ClassShortage{{"eight", 1, 3, 8}}, nil},
		"no more than can be added":          {"queue q1 slots=8\nqueue q2 slots=8\nqueue q3 slots=8", []Class{{Name: "eight", Node: eight.Node, Max: 2}}, []ClassShortage{{"eight", 2, 2, 16}}, nil},
		"a node that is out of use, nothing": {"node n1 slots=8 out=\"is draining\"\nqueue q1 slots=8", []Class{eight}, []ClassShortage{{"eight", 1, 1, 8}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := parseScene("pool p aux=1\n" + c.scene)
			if err != nil {
				t.Fatal(err)
			}
			for _, class := range c.classes { // so that choices rate what is added
				s.nodes = append(s.nodes, class.Node)
			}
			s.chooseModels()
			s.nodes = s.nodes[:len(s.nodes)-len(c.classes)]
			got := Short(s.pool, s.nodes, s.running, s.queued, c.classes, epoch)
			if !reflect.DeepEqual(got.Classes, c.want) {
				t.Errorf("found %+v, want %+v", got.Classes, c.want)
			}
			for _, n := range s.nodes {
				if got.Uses[n.ID] != slices.Contains(c.uses, n.Name) {
					t.Errorf("node %s: used %v", n.Name, got.Uses[n.ID])
				}
			}
		})
	}
}

// TestShortIsFewest: with the nodes that Short names, as many requests start as with any
// number of them; with one node less, fewer do. It changes nothing of its input.
func TestShortIsFewest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawScene(t)
		class := classOf("c", rapid.IntRange(1, 6).Draw(t, "of the class"), rapid.SampledFrom([]string{"a", "b"}).Draw(t, "model"))
		before := fmt.Sprintf("%+v", s)
		short := Short(s.pool, s.nodes, s.running, s.queued, []Class{class}, epoch).Classes[0]
		if after := fmt.Sprintf("%+v", s); after != before {
			t.Fatalf("changed its input\nfrom %s\nto   %s", before, after)
		}
		x := shortage{of: s.pool, nodes: s.nodes, waiting: s.queued, now: epoch, short: Shortage{Uses: map[string]bool{}}}
		for _, r := range s.running {
			if !r.Leaving {
				x.running = append(x.running, r)
			}
		}
		x.settleAll()
		start := func(n int) int { return len(x.plan(x.with(class, n))) }
		most := 0
		for _, r := range s.queued {
			most += max(1, r.Slots)
		}
		if got := start(short.Nodes); short.Nodes > 0 && got != short.Requests {
			t.Fatalf("%+v, but %d requests start", short, got)
		}
		if all := start(most); all > short.Requests {
			t.Fatalf("%+v, but with %d nodes %d requests start", short, most, all)
		}
		if short.Nodes > 0 && start(short.Nodes-1) >= short.Requests {
			t.Fatalf("%+v, but one node less starts as many", short)
		}
	})
}

// BenchmarkShort is about a full pool of 1,000 nodes with 10,000 requests in its queue.
func BenchmarkShort(b *testing.B) {
	nodes, running, queued := benchNodes(), benchRunning(42, 1, 2, 4, 8, 3), benchQueue(42)
	for _, most := range []int{10, 1000} {
		class := classOf("c", 8, "H200")
		class.Max = most
		b.Run(fmt.Sprint(most), func(b *testing.B) {
			for b.Loop() {
				Short(&pool.Pool{Name: "gpu"}, nodes, running, queued, []Class{class}, epoch)
			}
		})
	}
}
