package discovery_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/consul/api"

	"github.com/detent-ml/detent/jobspecs"
	"github.com/detent-ml/detent/master/cluster"
	"github.com/detent-ml/detent/master/cluster/nomadtest"
	"github.com/detent-ml/detent/master/discovery"
	"github.com/detent-ml/detent/master/discovery/consultest"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/pool"
	"github.com/detent-ml/detent/nomad/servers/proc/proctest"
)

// TestMembers reads registrations as both catalogues give them.
func TestMembers(t *testing.T) {
	meta := func(rank, c10d string) map[string]string {
		return map[string]string{"rank": rank, "port-c10d": c10d, "external-source": "nomad"}
	}
	tests := []struct {
		name string
		list []discovery.Instance
		want map[int]discovery.Endpoint
	}{
		{"nobody", nil, map[int]discovery.Endpoint{}},
		{"by metadata", []discovery.Instance{{Address: "10.0.0.1", Port: 20001, Meta: meta("0", "20002")}, {Address: "10.0.0.2", Port: 20003, Meta: meta("1", "20004")}},
			map[int]discovery.Endpoint{0: {Address: "10.0.0.1", Ports: map[string]int{"runner": 20001, "c10d": 20002}}, 1: {Address: "10.0.0.2", Ports: map[string]int{"runner": 20003, "c10d": 20004}}}},
		{"by tags", []discovery.Instance{{Address: "10.0.0.1", Port: 20001, Tags: []string{"port-c10d=20002", "port-runner=20001", "rank=3", "blue"}}},
			map[int]discovery.Endpoint{3: {Address: "10.0.0.1", Ports: map[string]int{"runner": 20001, "c10d": 20002}}}},
		{"the first of a rank", []discovery.Instance{{Address: "10.0.0.9", Port: 1, Meta: meta("0", "2"), Index: 30}, {Address: "10.0.0.1", Port: 3, Meta: meta("0", "4"), Index: 20}},
			map[int]discovery.Endpoint{0: {Address: "10.0.0.1", Ports: map[string]int{"runner": 3, "c10d": 4}}}},
		{"no rank, no port, no address", []discovery.Instance{{Address: "10.0.0.1", Port: 1}, {Address: "10.0.0.1", Meta: meta("-1", "4")}, {Meta: meta("0", "4")}, {Address: "10.0.0.2", Port: 5, Meta: meta("1", "${NOMAD_HOST_PORT_c10d}")}},
			map[int]discovery.Endpoint{1: {Address: "10.0.0.2", Ports: map[string]int{"runner": 5}}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			d := discovery.New(discovery.Nomad(func(_ context.Context, service string) ([]discovery.Instance, error) {
				if service != "det-7-a-1" {
					t.Errorf("asked about %s", service)
				}
				return test.list, nil
			}))
			got, err := d.Members(t.Context(), "7.a.1")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
	broken := discovery.New(discovery.Nomad(func(context.Context, string) ([]discovery.Instance, error) { return nil, errors.New("away") }))
	if _, err := broken.Members(t.Context(), "x"); err == nil {
		t.Error("a catalogue that is away has members")
	}
	if _, err := broken.Masters(t.Context()); err == nil {
		t.Error("a catalogue that is away has masters")
	}
}

// TestOnRealServers: discovery finds the services that Nomad registers for our jobs, in Consul
// and in Nomad's own catalogue.
func TestOnRealServers(t *testing.T) {
	consul := consultest.Start(t)
	nomad := nomadtest.Start(t, nomadtest.Options{ConsulAddress: consul.Address})
	c, err := cluster.New(cluster.Config{Address: nomad.Address, ClusterID: "c1"})
	if err != nil {
		t.Fatal(err)
	}
	inConsul, err := discovery.NewConsul(discovery.ConsulConfig{Address: consul.Address})
	if err != nil {
		t.Fatal(err)
	}
	catalogues := map[string]*discovery.Discovery{
		jobspecs.ConsulServices: discovery.New(inConsul),
		jobspecs.NomadServices: discovery.New(discovery.Nomad(func(ctx context.Context, service string) ([]discovery.Instance, error) {
			list, err := c.Services(ctx, service)
			var out []discovery.Instance
			for _, s := range list {
				out = append(out, discovery.Instance{Address: s.Address, Port: s.Port, Tags: s.Tags, Index: s.Index})
			}
			return out, err
		})),
	}
	for provider, d := range catalogues {
		t.Run(provider, func(t *testing.T) { members(t, nomad, c, d, provider) })
	}
	t.Run("masters", func(t *testing.T) { masters(t, consul, catalogues[jobspecs.ConsulServices]) })
	t.Run("away", func(t *testing.T) { away(t, consul, catalogues[jobspecs.ConsulServices]) })
}

// ports is a runner that writes down which ports it was given.
const ports = `#!/bin/sh
[ "$1" = run ] || exit 0
echo "$NOMAD_PORT_runner $NOMAD_PORT_c10d" >"$(dirname "$0")/new.$DET_RANK" && mv "$(dirname "$0")/new.$DET_RANK" "$(dirname "$0")/ports.$DET_RANK"
trap 'exit 0' TERM
while :; do sleep 0.1; done
`

func members(t *testing.T, nomad *nomadtest.Agent, c *cluster.Cluster, d *discovery.Discovery, provider string) {
	dir := t.TempDir()
	runner := filepath.Join(dir, "det-runner")
	if err := os.WriteFile(runner, []byte(ports), 0o755); err != nil {
		t.Fatal(err)
	}
	id := provider + ".1"
	member := jobspecs.Member{NodeID: nomad.NodeID, MHz: 50, MemoryMB: 64}
	outcome, err := c.Submit(t.Context(), jobspecs.Task{
		AllocationID: id, ClusterID: "c1", Type: "COMMAND", TaskID: "x", Pool: pool.Pool{Name: "cpu", Driver: "raw_exec"},
		Members: []jobspecs.Member{member, member}, Runner: jobspecs.Runner{Path: runner},
		Masters: jobspecs.Masters{URLs: []string{"http://127.0.0.1:1"}}, Ports: []string{"c10d"}, Services: provider,
	})
	if outcome != cluster.Done {
		t.Fatal(err)
	}
	want := map[int]discovery.Endpoint{}
	for rank := range 2 {
		nomad.Until(t, 30*time.Second, "a member to run", func() error {
			text, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf("ports.%d", rank)))
			if err != nil {
				return err
			}
			var runnerPort, c10d int
			_, err = fmt.Sscan(string(text), &runnerPort, &c10d)
			want[rank] = discovery.Endpoint{Address: "127.0.0.1", Ports: map[string]int{"runner": runnerPort, "c10d": c10d}}
			return err
		})
	}
	// Nobody listens there: the members are found though their checks fail.
	nomad.Until(t, 30*time.Second, "both members to be registered", func() error {
		got, err := d.Members(t.Context(), id)
		if diff := cmp.Diff(want, got); err == nil && diff != "" {
			err = errors.New(diff)
		}
		return err
	})
	if outcome, err := c.Stop(t.Context(), id); outcome != cluster.Done {
		t.Fatal(err)
	}
	nomad.Until(t, 30*time.Second, "the members to be gone", func() error {
		got, err := d.Members(t.Context(), id)
		if err == nil && len(got) > 0 {
			err = fmt.Errorf("%v", got)
		}
		return err
	})
}

func masters(t *testing.T, consul *consultest.Agent, d *discovery.Discovery) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	up := listener.Addr().(*net.TCPAddr).Port
	for id, r := range map[string]struct {
		port  int
		check string
	}{"up": {up, listener.Addr().String()}, "down": {1, "127.0.0.1:1"}} {
		if err := consul.API.Agent().ServiceRegister(&api.AgentServiceRegistration{
			ID: id, Name: discovery.MasterService, Address: "127.0.0.1", Port: r.port,
			Check: &api.AgentServiceCheck{TCP: r.check, Interval: "100ms", Timeout: "1s"},
		}); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{fmt.Sprintf("127.0.0.1:%d", up)}
	proctest.Until(t, 30*time.Second, "the healthy master alone", func() error {
		got, err := d.Masters(t.Context())
		if diff := cmp.Diff(want, got); err == nil && diff != "" {
			err = errors.New(diff)
		}
		return err
	})
}

func away(t *testing.T, consul *consultest.Agent, d *discovery.Discovery) {
	consul.Stop()
	if _, err := d.Members(t.Context(), "x.1"); !fault.Is(err, fault.Unavailable) {
		t.Errorf("while Consul is unavailable the error is %v", err)
	}
	if _, err := d.Masters(t.Context()); !fault.Is(err, fault.Unavailable) {
		t.Errorf("while Consul is unavailable the error is %v", err)
	}
}

func TestNewConsul(t *testing.T) {
	if _, err := discovery.NewConsul(discovery.ConsulConfig{}); err == nil {
		t.Error("a Consul without an address is accepted")
	}
	c, err := discovery.NewConsul(discovery.ConsulConfig{Address: "127.0.0.1:1", TokenFile: "/does/not/exist"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Instances(t.Context(), "x"); !fault.Is(err, fault.Unavailable) {
		t.Errorf("the error about a token that cannot be read is %v", err)
	}
}
