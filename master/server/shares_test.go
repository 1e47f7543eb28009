package server

import (
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/task"
	v1 "github.com/detent-ml/detent/master/v1"
)

// TestNetworksOfPools: containers get a bridge where they reach a master from it.
func TestNetworksOfPools(t *testing.T) {
	for settings, want := range map[string]string{
		"public_url: http://10.0.0.5:8080\nresource_pools: [{name: a, driver: docker}]":                        "bridge",
		"public_url: http://10.0.0.5:8080\nresource_pools: [{name: a, driver: docker, network_mode: host}]":    "host",
		"public_url: http://10.0.0.5:8080\nresource_pools: [{name: a, driver: docker, network_mode: fenced}]":  "fenced",
		"public_url: http://10.0.0.5:8080\nresource_pools: [{name: a, driver: exec}]":                          "host",
		"public_url: http://10.0.0.5:8080\nresource_pools: [{name: a, driver: exec, network_mode: cni/tasks}]": "cni/tasks",
		"resource_pools: [{name: a, driver: docker}]":                                                          "host",
	} {
		cfg, err := load(t, settings, []string{"DETENT_DATABASE=postgres://a/b"}, nil)
		if err != nil {
			t.Fatalf("%s: %v", settings, err)
		}
		if got := cfg.Pools[0].network(cfg); got != want {
			t.Errorf("%s: %s, want %s", settings, got, want)
		}
	}
	for settings, says := range map[string]string{
		"resource_pools: [{name: a, driver: docker, network_mode: bridge}]":                                      "cannot reach the master",
		"public_url: http://10.0.0.5:8080\nresource_pools: [{name: a, driver: raw_exec, network_mode: bridge}]":  "raw_exec",
		"public_url: http://10.0.0.5:8080\nresource_pools: [{name: a, driver: exec, network_mode: fenced}]":      "CNI plugins",
		"public_url: http://10.0.0.5:8080\nresource_pools: [{name: a, driver: docker, network_mode: 'x y'}]":     "name of a network",
		"public_url: http://10.0.0.5:8080\nresource_pools: [{name: a, driver: docker, network_mode: cni/tasks}]": "Docker's",
	} {
		if _, err := load(t, settings, []string{"DETENT_DATABASE=postgres://a/b"}, nil); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", settings, err)
		}
	}
}

// TestAccountsOutsideDocker: a job says that the runner starts its program as another account, and the
// runner is told which.
func TestAccountsOutsideDocker(t *testing.T) {
	cfg, err := load(t, "nomad: {datacenters: [north, 'south-*']}\nresource_pools: [{name: a, driver: exec}]", []string{"DETENT_DATABASE=postgres://a/b"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	m := sited(t, cfg)
	a := attempt(t, cfg, "a", "")
	job, err := m.site.Job(a, nil, &m.pools[0])
	if err != nil || job.Linked || strings.Join(job.Pool.Datacenters, " ") != "north south-*" {
		t.Errorf("datacenters %v: %v", job.Pool.Datacenters, err)
	}
	a.Account, a.AccountUser, a.AccountGroup = "1234:1235", "alice", "lab"
	if job, err = m.site.Job(a, nil, &m.pools[0]); err != nil || !job.Linked {
		t.Errorf("linked %v: %v", job.Linked, err)
	}
	spec, err := m.site.Spec(a, task.Claimed{}, &m.pools[0])
	if want := (v1.TaskAccount{UID: 1234, GID: 1235, User: "alice", Group: "lab"}); err != nil || spec.Account == nil || *spec.Account != want {
		t.Errorf("the runner starts its program as %+v: %v", spec.Account, err)
	}
}
