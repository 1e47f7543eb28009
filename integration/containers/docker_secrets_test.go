package containers

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/hashicorp/nomad/api"
)

// registryRole creates in Vault what operators set up for a pool's registry credentials: a
// secret, a policy that may read it, and a role with this policy for tasks' identities.
func (d *inContainers) registryRole(t *testing.T) {
	t.Helper()
	d.putVault(t, "sys/mounts/kv", map[string]any{"type": "kv", "options": map[string]string{"version": "2"}})
	d.putVault(t, "sys/policies/acl/det-registry", map[string]any{"policy": `path "kv/data/registry" { capabilities = ["read"] }`})
	d.putVault(t, "auth/jwt-nomad/role/det-registry", map[string]any{"role_type": "jwt", "bound_audiences": []string{"vault.io"},
		"bound_claims": map[string]string{"nomad_namespace": "default", "nomad_task": "main"},
		"user_claim":   "/nomad_job_id", "user_claim_json_pointer": true, "token_type": "service", "token_policies": []string{"det-registry"}, "token_period": "30m"})
}

// putVault writes to Vault as its administrator.
func (d *inContainers) putVault(t *testing.T, path string, what map[string]any) {
	t.Helper()
	body, err := json.Marshal(what)
	if err != nil {
		t.Fatal(err)
	}
	if status, text := d.TryVault(t, d.VaultToken(), http.MethodPost, path, string(body)); status/100 != 2 {
		t.Fatalf("Vault: %s: %d %s", path, status, text)
	}
}

// poolsCredentials tests registry credentials of a pool, in a Nomad variable and in Vault:
// images are pulled with them, no job contains them, and users see an error about wrong ones.
func (d *inContainers) poolsCredentials(t *testing.T, g *registry) {
	nomad, err := d.Nomad()
	if err != nil {
		t.Fatal(err)
	}
	d.registryRole(t)
	keep := map[string]func(t *testing.T, password string){
		"by-variable": func(t *testing.T, password string) {
			v := &api.Variable{Path: "nomad/jobs", Items: api.VariableItems{"username": g.name, "password": password}}
			if _, _, err := nomad.Variables().Update(v, nil); err != nil {
				t.Fatal(err)
			}
		},
		"by-vault": func(t *testing.T, password string) {
			d.putVault(t, "kv/data/registry", map[string]any{"data": map[string]string{"username": g.name, "password": password}})
		},
	}
	for pool, write := range keep {
		t.Run(pool, func(t *testing.T) {
			write(t, g.password)
			image, resources := g.host()+"/team/"+pool, "resources: {resource_pool: "+pool+"}\n"
			s := d.look(t, "environment: {image: '"+image+":1'}\n"+resources)
			if g.count("team/"+pool) == 0 || strings.Contains(fmt.Sprint(s.raw), g.password) {
				t.Errorf("the registry was asked %d times; the task sees %v", g.count("team/"+pool), s.raw)
			}
			jobs, _, err := nomad.Jobs().List(nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, stub := range jobs {
				job, _, err := nomad.Jobs().Info(stub.ID, nil)
				if err != nil {
					t.Fatal(err)
				}
				if text, err := json.Marshal(job); err != nil || strings.Contains(string(text), g.password) {
					t.Errorf("the password is in the job %s, or the job cannot be encoded: %v", stub.ID, err)
				}
			}
			write(t, "wrong")
			why := d.neverRuns(t, image+"-closed:1", "", resources)
			if !strings.Contains(why, "nauthorized") && !strings.Contains(why, "authentication required") && !strings.Contains(why, "no basic auth") {
				t.Errorf("wrong credentials end the attempt with %q", why)
			}
		})
	}
	if _, err := nomad.Variables().Delete("nomad/jobs", nil); err != nil {
		t.Error(err)
	}
}
