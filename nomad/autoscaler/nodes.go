package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/nomad-autoscaler/plugins/base"
	"github.com/hashicorp/nomad-autoscaler/sdk"
	nomadconfig "github.com/hashicorp/nomad-autoscaler/sdk/helper/nomad"
	"github.com/hashicorp/nomad/api"
)

const (
	defaultTimeout = 10 * time.Minute // of the command
	maxTimeout     = time.Hour
	drainedWithin  = 20 * time.Second // a node without tasks
	drainPoll      = 200 * time.Millisecond
	maxNodes       = 1_000
	maxSaid        = 64 << 10 // bytes of the command's output
	nomadWithin    = 30 * time.Second
)

// nodes adds and removes nodes by a program of the operator:
//
//	COMMAND count              prints how many nodes there are, with those that still start
//	COMMAND grow N             adds N nodes
//	COMMAND shrink NAME …      removes these nodes, which hold no task and get none
//
// DETENT_NODE_POOL and DETENT_NODE_CLASS are the target of the policy.
type nodes struct {
	log     hclog.Logger
	command string
	timeout time.Duration
	nomad   *api.Client
	scaling sync.Mutex // held by Scale
}

// PluginInfo implements the autoscaler's interface.
func (n *nodes) PluginInfo() (*base.PluginInfo, error) { //nolint:unparam // the error is of the interface
	return &base.PluginInfo{Name: pluginName, PluginType: sdk.PluginTypeTarget}, nil
}

// SetConfig reads command, timeout, and the autoscaler's settings for Nomad.
func (n *nodes) SetConfig(config map[string]string) error {
	n.command = config["command"]
	if !filepath.IsAbs(n.command) {
		return fmt.Errorf("command: expected the absolute path of the program that adds and removes nodes, found %q", n.command)
	}
	info, err := os.Stat(n.command)
	if err != nil {
		return fmt.Errorf("command: %w", err)
	}
	if !info.Mode().IsRegular() || info.Mode()&0o111 == 0 {
		return fmt.Errorf("command: %s is not an executable file", n.command)
	}
	n.timeout = defaultTimeout
	if text := config["timeout"]; text != "" {
		d, err := time.ParseDuration(text)
		if err != nil || d <= 0 || d > maxTimeout {
			return fmt.Errorf("timeout: expected a duration such as 5m, up to %s, found %q", maxTimeout, text)
		}
		n.timeout = d
	}
	n.nomad, err = api.NewClient(nomadconfig.ConfigFromNamespacedMap(config))
	return err
}

// group is which nodes a policy is about.
type group struct{ pool, class string }

func groupOf(config map[string]string) (group, error) {
	g := group{config["node_pool"], config["node_class"]}
	if g.pool == "" {
		return g, errors.New(`target: expected node_pool = "…", the node pool in Nomad, and node_class = "…" if its nodes have classes`)
	}
	return g, nil
}

func (g group) has(x *api.NodeListStub) bool { return x.NodePool == g.pool && x.NodeClass == g.class }

// Status returns how many nodes there are. While nodes are added or removed it is not ready.
func (n *nodes) Status(config map[string]string) (*sdk.TargetStatus, error) {
	g, err := groupOf(config)
	if err != nil {
		return nil, err
	}
	if !n.scaling.TryLock() {
		return &sdk.TargetStatus{}, nil
	}
	defer n.scaling.Unlock()
	count, err := n.count(g)
	return &sdk.TargetStatus{Ready: err == nil, Count: count, Meta: map[string]string{}}, err
}

func (n *nodes) count(g group) (int64, error) {
	said, err := n.run(g, "count")
	if err != nil {
		return 0, err
	}
	count, err := strconv.ParseInt(strings.TrimSpace(said), 10, 64)
	if err != nil || count < 0 || count > maxNodes {
		return 0, fmt.Errorf("%s count: expected the number of nodes, 0 to %d, found %.100q", n.command, maxNodes, said)
	}
	return count, nil
}

// Scale adds nodes, or removes as many as are without tasks, up to what the action says.
func (n *nodes) Scale(action sdk.ScalingAction, config map[string]string) error {
	g, err := groupOf(config)
	if err != nil || action.Count == sdk.StrategyActionMetaValueDryRunCount {
		return err
	}
	n.scaling.Lock()
	defer n.scaling.Unlock()
	count, err := n.count(g)
	if err != nil {
		return err
	}
	switch want := min(max(action.Count, 0), maxNodes); {
	case want > count:
		_, err = n.run(g, "grow", strconv.FormatInt(want-count, 10))
		return err
	case want < count:
		return n.shrink(g, int(count-want))
	}
	return nil
}

// shrink drains nodes that have no task, without a deadline, and removes those whose drain is over
// at once: then Nomad itself says that nothing runs there, in no namespace, and nothing can start. A
// node that got a task before the drain began stays, and may be used again.
func (n *nodes) shrink(g group, most int) error {
	idle, err := n.idle(g)
	if err != nil {
		return err
	}
	var drained []*api.NodeListStub
	for _, x := range idle {
		if len(drained) == most {
			break
		}
		ok, err := n.drain(x.ID)
		if err == nil && ok {
			drained = append(drained, x)
			continue
		}
		n.log.Info("the node is not removed: it got a task, or its drain failed", "node", x.Name, "error", err)
		if err := n.keep(x); err != nil {
			return errors.Join(err, n.keep(drained...))
		}
	}
	if len(drained) == 0 {
		n.log.Info("no node is without tasks", "wanted", most, "node_pool", g.pool, "node_class", g.class)
		return nil
	}
	args := []string{"shrink"}
	for _, x := range drained {
		args = append(args, x.Name)
	}
	n.log.Info("removing nodes", "nodes", args[1:])
	if _, err := n.run(g, args...); err != nil {
		return errors.Join(err, n.keep(drained...))
	}
	n.forget(drained)
	return nil
}

// forget tells Nomad at once that nodes are gone, which it would notice when their heartbeats stop:
// until then they would be counted as nodes that there are.
func (n *nodes) forget(list []*api.NodeListStub) {
	for _, x := range list {
		q, cancel := query()
		if _, _, err := n.nomad.Nodes().Purge(x.ID, q); err != nil {
			n.log.Warn("the node was removed, and Nomad did not purge it", "node", x.Name, "error", err)
		}
		cancel()
	}
}

// idle returns the group's nodes that are in order and have no task, the newest first.
func (n *nodes) idle(g group) ([]*api.NodeListStub, error) {
	q, cancel := query()
	defer cancel()
	all, _, err := n.nomad.Nodes().List(q)
	if err != nil {
		return nil, fmt.Errorf("list Nomad's nodes: %w", err)
	}
	var idle []*api.NodeListStub
	for _, x := range all {
		if !g.has(x) || x.Status != api.NodeStatusReady || x.Drain || x.SchedulingEligibility != api.NodeSchedulingEligible {
			continue
		}
		allocs, _, err := n.nomad.Nodes().Allocations(x.ID, q)
		if err != nil {
			return nil, fmt.Errorf("list the tasks of node %s: %w", x.Name, err)
		}
		if !slices.ContainsFunc(allocs, works) {
			idle = append(idle, x)
		}
	}
	slices.SortFunc(idle, func(a, b *api.NodeListStub) int {
		return cmp.Or(cmp.Compare(b.CreateIndex, a.CreateIndex), cmp.Compare(a.ID, b.ID))
	})
	return idle, nil
}

// works reports whether an allocation keeps its node: it has not ended, and its job is not on every node.
func works(a *api.Allocation) bool {
	if a.ClientTerminalStatus() {
		return false
	}
	return a.Job == nil || a.Job.Type == nil || *a.Job.Type != api.JobTypeSystem && *a.Job.Type != api.JobTypeSysbatch
}

// drain reports whether the node was drained at once, because it had no task.
func (n *nodes) drain(id string) (bool, error) {
	w, cancel := write()
	defer cancel()
	if _, err := n.nomad.Nodes().UpdateDrain(id, &api.DrainSpec{IgnoreSystemJobs: true}, false, w); err != nil {
		return false, fmt.Errorf("drain a node in Nomad: %w", err)
	}
	for end := time.Now().Add(drainedWithin); time.Now().Before(end); {
		q, cancel := query()
		x, _, err := n.nomad.Nodes().Info(id, q)
		cancel()
		if err != nil {
			return false, fmt.Errorf("read a node in Nomad: %w", err)
		}
		if x.DrainStrategy == nil {
			return x.SchedulingEligibility == api.NodeSchedulingIneligible && x.LastDrain != nil && x.LastDrain.Status == api.DrainStatusComplete, nil
		}
		<-time.After(drainPoll)
	}
	return false, nil
}

// keep lets nodes take tasks again.
func (n *nodes) keep(list ...*api.NodeListStub) error {
	var problems []error
	for _, x := range list {
		w, cancel := write()
		if _, err := n.nomad.Nodes().UpdateDrain(x.ID, nil, true, w); err != nil {
			problems = append(problems, fmt.Errorf("end the drain of node %s in Nomad: %w", x.Name, err))
		}
		cancel()
	}
	return errors.Join(problems...)
}

func query() (*api.QueryOptions, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(context.Background(), nomadWithin)
	return (&api.QueryOptions{Namespace: api.AllNamespacesNamespace}).WithContext(ctx), cancel
}

func write() (*api.WriteOptions, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(context.Background(), nomadWithin)
	return (&api.WriteOptions{}).WithContext(ctx), cancel
}

// run runs the operator's program and returns what it prints.
func (n *nodes) run(g group, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), n.timeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, n.command, args...)
	cmd.Env = append(os.Environ(), "DETENT_NODE_POOL="+g.pool, "DETENT_NODE_CLASS="+g.class)
	cmd.WaitDelay = time.Second
	var out, said limited
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			err = fmt.Errorf("it did not end within %s", n.timeout)
		}
		return "", fmt.Errorf("%s %s: %w: %.1000s", n.command, args[0], err, strings.TrimSpace(said.String()))
	}
	return out.String(), nil
}

// limited keeps the beginning of what is written.
type limited struct{ bytes.Buffer }

func (l *limited) Write(p []byte) (int, error) {
	if room := maxSaid - l.Len(); room > 0 {
		l.Buffer.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}
