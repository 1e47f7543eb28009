package containers

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/detent-ml/detent/integration/rig"
	"github.com/detent-ml/detent/master/v1"
)

// registryRole creates in Vault what operators set up for a pool's registry credentials: a
// secret, a policy that may read it, and a role with this policy for tasks' identities.
func (d *inContainers) registryRole(t *testing.T) {
	t.Helper()
	d.putVault(t, "sys/mounts/kv", map[string]any{"type": "kv", "options": map[string]string{"version": "2"}})
	d.putVault(t, "sys/policies/acl/det-registry", map[string]any{"policy": `path "kv/data/registry" { capabilities = ["read"] }`})
	d.putVault(t, "auth/jwt-nomad/role/det-registry", map[string]any{"role_type": "jwt", "bound_audiences": []string{"vault.io"},
		"bound_claims": map[string]string{"nomad_namespace": "default", "nomad_task": "main"},
		"user_claim":   "/nomad_allocation_id", "user_claim_json_pointer": true, "token_type": "service", "token_policies": []string{"det-registry"}, "token_period": "30m"})
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

// poolsCredentials tests registry credentials for all tasks, in the node's Docker configuration and in Vault:
// images are pulled with them, no job contains them, and users see an error about wrong ones.
func (d *inContainers) poolsCredentials(t *testing.T, g *registry) {
	nomad, err := d.Nomad()
	if err != nil {
		t.Fatal(err)
	}
	d.registryRole(t)
	keep := map[string]func(t *testing.T, password string){
		"by-node": func(t *testing.T, password string) {
			login := base64.StdEncoding.EncodeToString([]byte(g.name + ":" + password))
			if err := os.WriteFile(d.logins, fmt.Appendf(nil, `{"auths": {%q: {"auth": %q}}}`, g.host(), login), 0o600); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := os.WriteFile(d.logins, []byte("{}"), 0o600); err != nil { // the next tests bring their own
					t.Error(err)
				}
			})
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
}

// usesASecret prints digests of a secret that it has as a variable and as a file, and then the secret itself.
const usesASecret = `
import hashlib, os, pathlib
from determined import core

def digest(data):
    return hashlib.sha256(data).hexdigest()[:16]

file = pathlib.Path(os.environ["DET_SECRETS_DIR"], "deep", "token")
with core.init() as context:
    print("SECRET", digest(os.environ["TRACKER"].encode()), digest(file.read_bytes()), oct(file.stat().st_mode & 0o777), flush=True)
    print("printed:", os.environ["TRACKER"], flush=True)
    context.train.report_validation_metrics(1, {"loss": 1.0})
`

// userSecrets mounts a secret of Vault in a container: as a variable and as a file. Its
// value is in no job and in no log.
func (d *inContainers) userSecrets(t *testing.T) {
	const value = "token-in-a-container-71c2"
	sum := sha256.Sum256([]byte(value))
	digest := hex.EncodeToString(sum[:])[:16]
	d.putVault(t, "sys/mounts/teams", map[string]any{"type": "kv", "options": map[string]string{"version": "2"}})
	rig.Eventually(t, "Vault keeps the secret", func() (bool, error) { // its engine takes a moment
		status, said := d.TryVault(t, d.VaultToken(), http.MethodPost, "teams/data/tracker", `{"data": {"token": "`+value+`"}}`)
		return status/100 == 2, fmt.Errorf("%d %s", status, said)
	})
	_, text := d.TryVault(t, d.VaultToken(), http.MethodGet, "sys/policies/acl/det-task", "")
	var policy struct{ Data struct{ Policy string } }
	if err := json.Unmarshal([]byte(text), &policy); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	d.putVault(t, "sys/policies/acl/det-task", map[string]any{"policy": policy.Data.Policy + "\n" + `path "teams/data/*" { capabilities = ["read"] }`})
	nomad, err := d.Nomad()
	if err != nil {
		t.Fatal(err)
	}
	id := d.Submit(t, "name: secrets\nentrypoint: [python3, uses.py]\nsearcher: {name: single, metric: loss, max_length: {batches: 1}}\nmax_restarts: 0\n"+
		"environment: {secrets: [{name: tracker, key: token, env: TRACKER}, {name: tracker, key: token, file: deep/token}]}\n", map[string]string{"uses.py": usesASecret})
	d.WaitState(t, id, v1.ExperimentStateCompleted)
	rig.Holds(t, "its log", d.Log(t, id), "SECRET "+digest+" "+digest+" 0o400", "printed: ********")
	if strings.Contains(d.Log(t, id), value) {
		t.Error("the log has the secret")
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
		if text, err := json.Marshal(job); err != nil || strings.Contains(string(text), value) {
			t.Errorf("the secret is in the job %s, or the job cannot be encoded: %v", stub.ID, err)
		}
	}
}
