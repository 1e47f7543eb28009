package control

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/detent-ml/detent/master/cluster"
	"github.com/detent-ml/detent/master/control/rows"
	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/lifecycle"
	"github.com/detent-ml/detent/master/nodes"
	"github.com/detent-ml/detent/master/optional"
	"github.com/detent-ml/detent/master/sched"
)

// A trial does not use every node again:
//
//   - If a line of the trial's log matches a log policy with the action exclude_node, this
//     trial never uses the node of that attempt again.
//   - If AvoidAfter attempts of an experiment's trials fail on a node in a row, all trials of
//     the experiment avoid the node: they use it only if no other node can hold them. If the
//     program itself is the cause, it soon fails as often on the other nodes, and
//     the experiment avoids all nodes equally.

// avoidance is the part of a request to the scheduler that is about nodes.
type avoidance struct {
	exclude, avoid []string          // node ids
	because        map[string]string // node id → why it is excluded or avoided
	choice         *sched.Choice     // how environment.nomad and the pool's job rate the nodes
}

// of returns the request with this avoidance.
func (a avoidance) of(r sched.Request) sched.Request {
	if a.because != nil {
		r.Exclude = a.exclude
		r.Avoid, r.Because = append(slices.Clone(r.Avoid), a.avoid...), a.because
	}
	r.Choice = a.choice
	return r
}

// avoidance returns the nodes that a trial must not or should not use: for most trials, none.
func (r *ratings) avoidance(e *Experiment, task string) avoidance {
	nomad, ask := e.Config.Environment.Nomad, &e.Config.Resources
	a := avoidance{choice: r.choiceOf(choiceKey{owner: e.group(), user: r.p.Owners[e.OwnerID], pool: e.Pool, of: nomad, gpu: ask.GPU}, nomad, ask.GPU)}
	for _, m := range r.p.Matches[task] {
		if m.Action != expconf.ExcludeNode {
			continue
		}
		for _, id := range r.nodesCalled(m.NodeID, m.NodeName) {
			a.add(&a.exclude, id, fmt.Sprintf("which %s excludes", policyName(m)))
		}
	}
	for _, f := range r.counts[e.ID] {
		if f.Avoided && a.because[f.NodeID] == "" {
			a.add(&a.avoid, f.NodeID, fmt.Sprintf("where %d attempts of %s in a row failed", f.Failures, e.group()))
		}
	}
	return a
}

func (a *avoidance) add(to *[]string, id, why string) {
	if a.because == nil {
		a.because = map[string]string{}
	}
	if a.because[id] == "" {
		*to = append(*to, id)
		a.because[id] = why
	}
}

// nodesCalled finds nodes by id or name: a machine that registers with Nomad again may have
// a new id, and keeps its name.
func (r *ratings) nodesCalled(id, name string) []string {
	var ids []string
	for _, n := range r.p.Nodes {
		if n.ID == id || n.Name == name && name != "" {
			ids = append(ids, n.ID)
		}
	}
	return ids
}

func policyName(m rows.LiveMatch) string {
	if m.Policy != "" {
		return fmt.Sprintf("log policy %q", m.Policy)
	}
	return fmt.Sprintf("the log policy for %q", m.Pattern)
}

// noRetry returns why a failure of the task is final: a line of its log matched a log policy
// with the action cancel_retries. "" if there is no such line.
func (d *experimentPass) noRetry(task string) string {
	for _, m := range d.p.Matches[task] {
		if m.Action == expconf.CancelRetries {
			return fmt.Sprintf("%s matched %.300q", policyName(m), m.Line)
		}
	}
	return ""
}

// noRetryLines are the lines of a failed trial's log about the log policies that forbid another attempt, in Determined's
// words, which scripts search for.
func (d *experimentPass) noRetryLines(task string) (lines []string) {
	for _, m := range d.p.Matches[task] {
		if m.Action == expconf.CancelRetries {
			lines = append(lines, fmt.Sprintf("(log %q matched regex %q)", m.Line, m.Pattern))
		}
	}
	if len(lines) > 0 {
		lines = append([]string{"trial failed and matched logs to a don't retry policy"}, lines...)
	}
	return lines
}

// noNodesLeft returns why a trial whose log excludes nodes cannot run again: the other nodes
// of its pool cannot hold it. "" if they can. Disabled and draining nodes count as able,
// because they may become usable again; nodes that are down count only if the trial has not
// failed. Without launch_error the trial waits for a node, so this is "".
func (d *experimentPass) noNodesLeft(e *Experiment, task string, failed bool) string {
	if !d.p.LaunchError {
		return ""
	}
	a := d.rated.avoidance(e, task)
	if len(a.exclude) == 0 || d.p.frozen(e.Pool) != "" {
		return ""
	}
	slices.Sort(a.exclude)
	key := remainsKey{e.Pool, e.SlotsPerTrial, e.shape(), failed, strings.Join(a.exclude, " "), a.choice}
	left, known := d.remains[key]
	if !known {
		left = d.remainingNodes(e, a, failed)
		if d.remains == nil {
			d.remains = map[remainsKey]remaining{}
		}
		d.remains[key] = left
	}
	if left.holds {
		return ""
	}
	for i, row := range left.excluded {
		left.why[i] = row.Name + ", " + a.because[row.ID]
	}
	return fmt.Sprintf("pool %s has no node that could hold it except %s", e.Pool, strings.Join(left.why, "; and "))
}

// remainsKey is the input of remainingNodes, for a cache of its results: remainingNodes
// checks every node, and many trials of an experiment have the same input.
type remainsKey struct {
	pool    string
	slots   int
	shape   shape
	failed  bool
	exclude string
	choice  *sched.Choice
}

// remaining is the result of remainingNodes.
type remaining struct {
	holds    bool         // the pool's nodes without the excluded ones can hold the trial
	excluded []*nodes.Row // of the pool
	why      []string     // space for the reasons, one for each excluded node
}

func (d *experimentPass) remainingNodes(e *Experiment, a avoidance, failed bool) (r remaining) {
	of := d.p.Pools.Named(e.Pool)
	if of == nil {
		return remaining{holds: true}
	}
	var left []sched.Node
	for i := range d.p.Nodes {
		row := &d.p.Nodes[i]
		n, err := offer(of, *row, d.p.inventories, cluster.Use{})
		switch {
		case err != nil || n == nil:
		case a.choice.Bars(row.ID):
		case slices.Contains(a.exclude, row.ID):
			r.excluded = append(r.excluded, row)
		case row.Status != "down" || !failed:
			left = append(left, *n)
		}
	}
	r.why = make([]string, len(r.excluded))
	r.holds = len(r.excluded) == 0 || sched.Holds(of, left, e.shape().of(sched.Request{Slots: e.SlotsPerTrial, Ask: e.ask(), Choice: a.choice}))
	return r
}

// nodeCounts counts failures in a row, by experiment and node.
type nodeCounts map[int]map[string]*nodeCount

type nodeCount struct {
	nodes.FailureCount
	saw nodes.FailureCount // as in the row
}

// countsOf reads the rows. It computes Avoided again, because AvoidAfter may have changed
// since the rows were written.
func countsOf(p *Snapshot) nodeCounts {
	c := nodeCounts{}
	for _, list := range p.Failures {
		c.read(p, list)
	}
	return c
}

func (c nodeCounts) read(p *Snapshot, list []nodes.FailureCount) {
	for _, f := range list {
		n := c.at(f.ExperimentID, f.NodeID, f.NodeName)
		n.FailureCount, n.saw = f, f
		n.Avoided = p.avoids(f.Failures)
	}
}

func (p *Snapshot) avoids(failures int) bool { return p.AvoidAfter > 0 && failures >= p.AvoidAfter }

func (c nodeCounts) at(experiment int, id, name string) *nodeCount {
	byNode := c[experiment]
	if byNode == nil {
		byNode = map[string]*nodeCount{}
		c[experiment] = byNode
	}
	n := byNode[id]
	if n == nil {
		f := nodes.FailureCount{ExperimentID: experiment, NodeID: id, NodeName: name}
		n = &nodeCount{FailureCount: f, saw: f}
		byNode[id] = n
	}
	return n
}

// count updates the failure counts of an attempt's nodes. A failed program adds one to the
// node where it failed first, and a failed start to the node that prevented it. Success
// resets the counts of all its nodes. A preemption is a success only with exit code 0: the program may not have begun,
// or have crashed. A lost node, a kill, the end of a trial that is
// being stopped, and invalid hyperparameters change no count.
func (d *experimentPass) count(e *Experiment, t lifecycle.Trial, a *rows.LiveAllocation, end lifecycle.Step) {
	success := end.Outcome == lifecycle.Completed || end.Outcome == lifecycle.Preempted && optional.Value(end.ExitCode) == 0
	against := end.Avoid
	if end.Outcome == lifecycle.Lost { // no failure of the node as a place for this program
		against = nil
	}
	if end.Blame != "" {
		against = append(slices.Clone(against), end.Blame)
	}
	for _, m := range a.Members {
		n := d.rated.counts[e.ID][m.NodeID]
		switch {
		case success && n != nil:
			n.Failures = 0
		case !success && !t.State.Stopping() && t.EarlyExit == "" && slices.Contains(against, m.NodeID):
			n = d.rated.counts.at(e.ID, m.NodeID, m.NodeName)
			n.Failures++
		default:
			continue
		}
		n.Avoided = d.p.avoids(n.Failures)
	}
}

// changes returns an experiment's counts that differ from their rows.
func (c nodeCounts) changes(experiment int) []nodes.FailureCount {
	var list []nodes.FailureCount
	for _, n := range c[experiment] {
		if n.FailureCount != n.saw {
			list = append(list, n.FailureCount)
		}
	}
	slices.SortFunc(list, func(a, b nodes.FailureCount) int { return cmp.Compare(a.NodeID, b.NodeID) })
	return list
}

// forget resets an experiment's counts to their rows.
func (c nodeCounts) forget(p *Snapshot, experiment int) {
	delete(c, experiment)
	c.read(p, p.Failures[experiment])
}
