package security

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/nomad/api"

	"github.com/detent-ml/detent/integration/rig"
	"github.com/detent-ml/detent/nomad/local"
	"github.com/detent-ml/detent/nomad/servers/turn"
)

// aclConfig is the configuration of masters that tasks find through Consul.
const aclConfig = `
cluster_name: guarded
service_name: det-master
checkpoint_storage: {type: shared_fs, host_path: %s}
resource_pools:
  - {name: default, driver: raw_exec, slots: cpu, slots_per_node: 4, memory_mb_per_slot: 64}
`

// TestGuardedCluster runs on Nomad and Consul with access control and the documented policies. A
// training completes, also when its master is killed, and the master's tokens allow nothing else.
func TestGuardedCluster(t *testing.T) {
	turn.First(t)
	t.Parallel()
	r, dir := rig.NewOwn(t, "acl")
	r.StartCluster(t, dir, local.Options{Name: "guarded", ConsulACL: true,
		Master: local.Master{Count: 2, Config: fmt.Sprintf(aclConfig, filepath.Join(dir, "checkpoints"))}})
	t.Run("training", func(t *testing.T) { guardedTraining(t, r) })
	t.Run("settings of masters", func(t *testing.T) { settingsOfMasters(t, r) })
	t.Run("rights in Nomad", func(t *testing.T) { rightsInNomad(t, r) })
	t.Run("rights in Consul", func(t *testing.T) { rightsInConsul(t, r) })
}

// guardedTraining: a training starts, survives the kill of its master and reconnects, with the rights
// of the policies.
func guardedTraining(t *testing.T, r *rig.Rig) {
	k := r.Train(t, rig.TrainOptions{})
	management, _ := r.ConsulTokens()
	status, body := r.Consul(t, http.MethodGet, "/v1/health/service/det-master", management, "")
	if status != http.StatusOK || strings.Count(body, `"ServiceID"`) == 0 {
		t.Errorf("Consul knows these masters: %d %s", status, body)
	}
	r.Kill9(t, "master")
	k.Advance(t, 20)
	k.Finish(t)
	k.CheckWhole(t)
}

// masterToken is the token with which a running master signs in to Nomad.
func masterToken(t *testing.T, r *rig.Rig) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(r.Cluster.StateDir(), "alloc", "*", "master", "secrets", "nomad_token"))
	if err != nil || len(found) == 0 {
		t.Fatalf("no token of a master: %v", err)
	}
	for _, file := range found {
		text, err := os.ReadFile(file)
		if err == nil && len(text) > 0 {
			return strings.TrimSpace(string(text))
		}
	}
	t.Fatal("no master has a token")
	return ""
}

func rightsInNomad(t *testing.T, r *rig.Rig) {
	config := *api.DefaultConfig()
	config.Address, config.SecretID = r.NomadURL, masterToken(t, r)
	master, err := api.NewClient(&config)
	if err != nil {
		t.Fatal(err)
	}
	if jobs, _, err := master.Jobs().List(nil); err != nil || len(jobs) == 0 {
		t.Errorf("the master sees %d jobs: %v", len(jobs), err)
	}
	if nodes, _, err := master.Nodes().List(nil); err != nil || len(nodes) == 0 {
		t.Errorf("the master sees %d nodes: %v", len(nodes), err)
	}
	for what, try := range map[string]func() error{
		"list tokens": func() error { _, _, err := master.ACLTokens().List(nil); return err },
		"write a policy": func() error {
			_, err := master.ACLPolicies().Upsert(&api.ACLPolicy{Name: "x", Rules: ""}, nil)
			return err
		},
		"make a namespace": func() error { _, err := master.Namespaces().Register(&api.Namespace{Name: "x"}, nil); return err },
		"change the scheduler": func() error {
			_, _, err := master.Operator().SchedulerSetConfiguration(&api.SchedulerConfiguration{}, nil)
			return err
		},
		"collect garbage": func() error { return master.System().GarbageCollect() },
		"write others' variables": func() error {
			_, _, err := master.Variables().Create(&api.Variable{Path: "nomad/jobs/web", Items: api.VariableItems{"a": "b"}}, nil)
			return err
		},
		"change its own job's namespace": func() error { _, err := master.Namespaces().Delete("default", nil); return err },
		"read the scheduler's settings":  func() error { _, _, err := master.Operator().SchedulerGetConfiguration(nil); return err },
		"read an agent's settings":       func() error { _, err := master.Agent().Self(); return err },
		"drain a node": func() error {
			nodes, _, err := master.Nodes().List(nil)
			if err != nil {
				return fmt.Errorf("listing nodes, which it may: %w", err)
			}
			if len(nodes) == 0 {
				return errors.New("there is no node to drain")
			}
			_, err = master.Nodes().UpdateDrain(nodes[0].ID, &api.DrainSpec{Deadline: time.Hour}, false, nil)
			return err
		},
	} {
		if err := try(); err == nil || !strings.Contains(err.Error(), "403") && !strings.Contains(strings.ToLower(err.Error()), "permission denied") {
			t.Errorf("with the master's token one can %s: %v", what, err)
		}
	}
	path := "nomad/jobs/det-0-test"
	if _, _, err := master.Variables().Create(&api.Variable{Path: path, Items: api.VariableItems{"a": "b"}}, nil); err != nil {
		t.Errorf("the master cannot write what a task's job alone may read: %v", err)
	}
	if _, err := master.Variables().Delete(path, nil); err != nil {
		t.Errorf("the master cannot remove it: %v", err)
	}
}

func rightsInConsul(t *testing.T, r *rig.Rig) {
	_, token := r.ConsulTokens()
	if status, body := r.Consul(t, http.MethodGet, "/v1/health/service/det-master", token, ""); status != http.StatusOK || !strings.Contains(body, `"Address"`) {
		t.Errorf("the master does not see where masters are: %d %s", status, body)
	}
	if status, body := r.Consul(t, http.MethodGet, "/v1/health/service/consul", token, ""); status == http.StatusOK && body != "[]" {
		t.Errorf("the master sees services that are not Detent's: %s", body)
	}
	for _, try := range []struct{ method, path, body string }{
		{http.MethodPut, "/v1/kv/x", "y"},
		{http.MethodPut, "/v1/agent/service/register", `{"Name": "det-x", "Port": 1}`},
		{http.MethodGet, "/v1/acl/tokens", ""},
		{http.MethodPut, "/v1/agent/leave", ""},
	} {
		if status, body := r.Consul(t, try.method, try.path, token, try.body); status != http.StatusForbidden {
			t.Errorf("%s %s with the master's token: %d %s", try.method, try.path, status, body)
		}
	}
	if status, body := r.Consul(t, http.MethodGet, "/v1/health/service/det-master", "", ""); status == http.StatusOK && body != "[]" {
		t.Errorf("without a token Consul shows %s", body)
	}
}
