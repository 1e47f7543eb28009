package cluster_test

import (
	"testing"

	"github.com/detent-ml/detent/master/cluster"
	"github.com/detent-ml/detent/master/cluster/nomadtest"
)

// TestUnguarded: a Nomad without access control is recognized, one in which callers without a token may submit jobs, and
// one that does not answer; a token of the master's makes no difference.
func TestUnguarded(t *testing.T) {
	guarded := newRig(t, nomadtest.Options{ACL: true})
	guarded.allow(t, "master", masterPolicy)
	token := guarded.token(t, "master").SecretID
	ask := func(r *rig, cfg cluster.Config) string {
		t.Helper()
		cfg.ClusterID = mine
		why, err := r.connect(t, cfg).Unguarded(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return why
	}
	for name, cfg := range map[string]cluster.Config{"the master's token": {Token: token}, "a wrong token": {Token: "00000000-1111-4222-8333-444444444444"}, "all rights": {}} {
		if why := ask(guarded, cfg); why != "" {
			t.Errorf("with %s: a Nomad with access control counts as open: %s", name, why)
		}
	}
	guarded.allow(t, "anonymous", `namespace "*" { policy = "read" }`)
	if why := ask(guarded, cluster.Config{Token: token}); why != "" {
		t.Errorf("callers without a token may only read: %s", why)
	}
	guarded.allow(t, "anonymous", `namespace "*" { policy = "write" }`)
	if why := ask(guarded, cluster.Config{Token: token}); why != "callers without a token may submit jobs" {
		t.Errorf("an open policy: %q", why)
	}
	if jobs, _, err := guarded.agent.API.Jobs().List(nil); err != nil || len(jobs) > 0 {
		t.Errorf("the questions left jobs behind: %v %v", jobs, err)
	}
	if _, err := guarded.connect(t, cluster.Config{ClusterID: mine, Address: "http://127.0.0.1:1"}).Unguarded(t.Context()); err == nil {
		t.Error("a Nomad that does not answer counts as guarded")
	}
}

// unguarded tests the same on a Nomad without access control.
func unguarded(t *testing.T, r *rig) {
	why, err := r.connect(t, cluster.Config{ClusterID: mine, Token: "any"}).Unguarded(t.Context())
	if err != nil || why != "its access control is off" {
		t.Errorf("%q %v", why, err)
	}
}
