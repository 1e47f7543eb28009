package local

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/detent-ml/detent/nomad/servers"
	"github.com/detent-ml/detent/nomad/servers/proc"
)

// Names of the parts. "nomad" is its server, "client" the node; further nodes are "client-" and a name, and
// their Consul agents "consul." and that name.
const (
	partPostgres = "postgres"
	partConsul   = "consul"
	partNomad    = "nomad"
	partClient   = "client"
	partMaster   = "master"
	partVault    = "vault" // this and the next are optional
	partS3       = "s3"
)

// Part is one server of the cluster, which can be killed, stopped and started separately.
type Part struct {
	c    *Cluster
	name string
}

// Part returns a part by its name: postgres, consul, nomad (the server), client (the node), master, or
// client- and the name of a further node, whose Consul agent is consul. and that name.
func (c *Cluster) Part(name string) (Part, error) {
	if names := c.partNames(); !slices.Contains(names, name) {
		return Part{}, fmt.Errorf("no part %q; the cluster has %s", name, strings.Join(names, ", "))
	}
	return Part{c: c, name: name}, nil
}

// partNames are the parts of the cluster in the order in which they start.
func (c *Cluster) partNames() []string {
	var names []string
	if c.state.DSN == "" {
		names = append(names, partPostgres)
	}
	if !c.state.NoConsul {
		names = append(names, partConsul)
	}
	if c.state.Vault != nil {
		names = append(names, partS3, partVault)
	}
	names = append(names, partNomad)
	for _, client := range c.clients() {
		if client.Name != "" && !c.state.NoConsul {
			names = append(names, consulPart(client.Name))
		}
		names = append(names, clientPart(client.Name))
	}
	return append(names, partMaster)
}

// Kill9 kills the part with SIGKILL and returns when it has ended. Tasks continue to run without their
// client, and Nomad restarts a killed master by itself.
func (p Part) Kill9(ctx context.Context) error {
	return p.c.locked(ctx, func() error {
		running, err := p.c.processes(ctx, p.name)
		if err != nil {
			return err
		}
		for _, id := range running {
			if err := id.Kill(ctx); err != nil {
				return err
			}
		}
		return nil
	})
}

// Stop stops the part gracefully. A stopped master does not run until it is started.
func (p Part) Stop(ctx context.Context) error {
	return p.c.locked(ctx, func() error {
		switch p.name {
		case partPostgres:
			return p.c.stopPostgres(ctx)
		case partMaster:
			return p.c.stopJobs(ctx, isMaster)
		default:
			return p.c.stopAgent(ctx, p.name)
		}
	})
}

// Start starts the part again and returns when it is ready.
func (p Part) Start(ctx context.Context) error {
	return p.c.locked(ctx, func() error {
		switch p.name {
		case partPostgres:
			_, err := servers.StartPostgres(ctx, p.c.postgresOptions(nil))
			return err
		case partMaster:
			return p.c.master().up(ctx, nil)
		}
		for _, make := range p.c.agents() {
			a, err := make(ctx, nil)
			if err != nil {
				return err
			}
			if a.name == p.name {
				return p.c.startAgent(ctx, a)
			}
		}
		return fmt.Errorf("no part %q", p.name)
	})
}

// Processes are the running processes of the part: one for a server, one for each master.
func (p Part) Processes(ctx context.Context) ([]proc.ID, error) {
	p.c.mu.Lock()
	defer p.c.mu.Unlock()
	p.c.refresh()
	return p.c.processes(ctx, p.name)
}

func (c *Cluster) processes(ctx context.Context, part string) ([]proc.ID, error) {
	switch part {
	case partMaster:
		return c.master().pids(ctx)
	case partPostgres:
		pg, err := servers.OpenPostgres(c.path(partPostgres))
		if err != nil || !pg.Running() {
			return nil, nil //nolint:nilerr // a part that was never started does not run
		}
		id, err := proc.Of(pg.Pid)
		return []proc.ID{id}, err
	}
	if id := c.state.Processes[part]; id.Alive() {
		return []proc.ID{id}, nil
	}
	return nil, nil
}

// A cluster's servers and its master: each type has what concerns that one, and sees the whole cluster.
type (
	vaultServer  struct{ *Cluster }
	s3Server     struct{ *Cluster }
	consulServer struct{ *Cluster }
	nomadServer  struct{ *Cluster }
	masterServer struct{ *Cluster }
)

func (c *Cluster) vault() vaultServer   { return vaultServer{c} }
func (c *Cluster) s3() s3Server         { return s3Server{c} }
func (c *Cluster) consul() consulServer { return consulServer{c} }
func (c *Cluster) nomad() nomadServer   { return nomadServer{c} }
func (c *Cluster) master() masterServer { return masterServer{c} }
