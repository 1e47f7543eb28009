package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/sleep"
)

const (
	// guardWithin is how long a starting master waits for the answers about access control.
	guardWithin = 2 * time.Second
	// guardAgain is the time between two further questions.
	guardAgain = 5 * time.Second
)

// A guarded is a server on which tasks must not act: a Nomad or a Consul.
type guarded struct {
	name, address string
	unguarded     func(context.Context) (why string, err error)
	open          string // what may happen without access control, and what to do
	noted         bool   // the log has that it did not answer
}

const (
	openNomad = "a program of any user could run jobs as root on the nodes and read all secrets in Nomad. " +
		"Enable ACLs in Nomad (docs/operate/acl.md), or set nomad.without_acl: true if all users may administer the nodes"
	openConsul = "a program of any user could register services with the names of masters and tasks, and remove theirs. " +
		"Enable ACLs in Consul (docs/operate/acl.md), or set consul.without_acl: true if all users may act for each other"
)

// guard returns an error if a master for several users would run on a Nomad or a Consul that everybody may use. If a server does not
// answer yet, the master starts, and the channel receives the error later.
func (m *master) guard(ctx context.Context) (<-chan error, error) {
	later := make(chan error, 1)
	if onLoopback(m.cfg.Listen) {
		return later, nil
	}
	all, err := m.guardedServers()
	if err != nil {
		return later, err
	}
	first, cancel := context.WithTimeout(ctx, guardWithin)
	defer cancel()
	waiting, err := m.askGuards(first, all)
	if err != nil || len(waiting) == 0 {
		return later, err
	}
	go func() {
		for sleep.For(ctx, guardAgain) == nil {
			if waiting, err = m.askGuards(ctx, waiting); err != nil || len(waiting) == 0 {
				if err != nil {
					later <- err
				}
				return
			}
		}
	}()
	return later, nil
}

// guardedServers are the servers that the master asks. For those that it does not ask a warning at each start names the setting.
func (m *master) guardedServers() (all []*guarded, err error) {
	if !m.cfg.Nomad.WithoutACL {
		for _, r := range append([]region{{nomad: m.nomad}}, m.regions...) {
			all = append(all, &guarded{name: "nomad", address: r.nomad.Address(), unguarded: r.nomad.Unguarded, open: openNomad})
		}
	}
	if m.cfg.Consul.Address == "" || m.cfg.Consul.WithoutACL {
		return all, nil
	}
	asked := map[string]bool{}
	for _, datacenter := range m.datacenters() {
		if asked[datacenter] {
			continue
		}
		asked[datacenter] = true
		c, err := m.consul(datacenter)
		if err != nil {
			return nil, err
		}
		name := "consul"
		if datacenter != "" {
			name += " (datacenter " + datacenter + ")"
		}
		all = append(all, &guarded{name: name, address: m.cfg.Consul.Address, unguarded: c.Unguarded, open: openConsul})
	}
	return all, nil
}

// datacenters are the datacenters of Consul in which tasks are registered; "": that of its agent.
func (m *master) datacenters() []string {
	return append([]string{""}, each.Of(m.regions, func(r region) string { return r.ConsulDatacenter })...)
}

// askGuards asks each server whether it has access control, all at once, and returns those that did not answer. The log has the first
// question of each that failed, and its end.
func (m *master) askGuards(ctx context.Context, all []*guarded) (waiting []*guarded, err error) {
	why, failed := make([]string, len(all)), make([]error, len(all))
	var asked sync.WaitGroup
	for i, g := range all {
		asked.Go(func() { why[i], failed[i] = g.unguarded(ctx) })
	}
	asked.Wait()
	for i, g := range all {
		switch {
		case failed[i] != nil:
			waiting = append(waiting, g)
			if !g.noted && !errors.Is(ctx.Err(), context.Canceled) { // the master does not stop
				m.log.Warn("could not ask "+g.name+" whether it has access control; the master runs meanwhile, and asks again until it knows", "address", g.address, "error", failed[i])
				g.noted = true
			}
		case why[i] != "":
			return nil, fmt.Errorf("%s at %s lets everybody use it, because %s: %s", g.name, g.address, why[i], g.open)
		case g.noted:
			m.log.Info(g.name+" has access control", "address", g.address)
		}
	}
	return waiting, nil
}

// onLoopback reports whether only programs of this machine reach a listener.
func onLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	return err == nil && (host == "localhost" || loopback(host))
}
