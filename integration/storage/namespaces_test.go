package storage

import (
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/nomad/api"

	"github.com/detent-ml/detent/integration/rig"
	"github.com/detent-ml/detent/jobspecs"
	"github.com/detent-ml/detent/nomad/servers"
)

const (
	// strange is a namespace in which another team starts jobs of its own, and in which Vault lets tasks sign in.
	strange = "strangers"
	// intruders is the number of jobs there that sign in to Vault as tasks. Nobody removes their entities.
	intruders = 3
)

// namespaces: a job that somebody starts in another namespace gets nothing of an attempt, whatever its name is, and
// is no master. The training goes on with new keys, which the rest of the test waits for.
func (r *s3rig) namespaces(t *testing.T, long int) {
	r.setUpVault(t, "DETENT_NAMESPACES=default "+strange)
	if policy := string(r.vault(t, http.MethodGet, "sys/policies/acl/det-task", nil)); strings.Contains(policy, `metadata.nomad_job_id}}\"`) || strings.Contains(policy, "@") {
		t.Errorf("the policy of tasks is %s", policy)
	}
	r.setUpVault(t, "DETENT_NAMESPACES=default "+strange, "DETENT_REGION=west")
	west := string(r.vault(t, http.MethodGet, "sys/policies/acl/det-task-west", nil)) + string(r.vault(t, http.MethodGet, "auth/jwt-nomad-west/role/det-task", nil))
	rig.Holds(t, "policy and role of another region", west, "metadata.nomad_namespace}}@west", `"det-task-west"`)
	if status, _ := r.TryVault(t, r.VaultToken(), http.MethodGet, "auth/jwt-nomad-west/role/det-master", ""); status != http.StatusNotFound {
		t.Errorf("in another region is a role of masters: %d", status)
	}
	nomad, err := r.Nomad()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := nomad.Namespaces().Register(&api.Namespace{Name: strange}, nil); err != nil {
		t.Fatal(err)
	}
	victim := jobspecs.JobID(r.taskOf(t, long) + ".1")
	role := victim + ".default"
	if !strings.Contains(strings.Join(r.vaultList(t, "aws/roles"), " "), role) {
		t.Fatalf("Vault has no role %s", role)
	}
	wanted := []string{role, victim, victim + "." + strange, "detent-reader"}
	for _, job := range [intruders]string{victim, "det-*", role} {
		identity := r.intruder(t, nomad, job, "main")
		token := r.vaultToken(t, "det-task", identity)
		if token == "" {
			t.Errorf("Vault does not let the job %s sign in, so this shows nothing", job)
		}
		for _, name := range wanted {
			if status, said := r.TryVault(t, token, http.MethodGet, "aws/sts/"+name, ""); status/100 == 2 || strings.Contains(said, "secret_key") {
				t.Errorf("job %s of namespace %s reads the credentials of %s: %d", job, strange, name, status)
			}
		}
	}
	if r.vaultToken(t, "det-master", r.intruder(t, nomad, "det-master", "master")) != "" {
		t.Errorf("the job det-master of namespace %s signs in as the master", strange)
	}
}

// intruder starts a job in the strange namespace, and returns its identity for Vault.
func (r *s3rig) intruder(t *testing.T, nomad *api.Client, id, task string) string {
	t.Helper()
	in := &api.WriteOptions{Namespace: strange}
	process := api.NewTask(task, "raw_exec").SetConfig("command", "/bin/sleep").SetConfig("args", []string{"600"})
	process.Identities = []*api.WorkloadIdentity{{Name: "vault_default", Audience: []string{"vault.io"}, File: true}}
	cpu, memory := 10, 10
	process.Resources = &api.Resources{CPU: &cpu, MemoryMB: &memory}
	job := api.NewBatchJob(id, id, "global", 50).AddDatacenter("*").AddTaskGroup(api.NewTaskGroup("rank-0", 1).AddTask(process))
	if _, _, err := nomad.Jobs().Register(job, in); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _, _ = nomad.Jobs().Deregister(id, true, in) })
	var identity string
	rig.Eventually(t, "the identity of "+id, func() (bool, error) {
		list, _, err := nomad.Jobs().Allocations(id, true, &api.QueryOptions{Namespace: strange})
		if err != nil || len(list) == 0 {
			return false, err
		}
		text, err := os.ReadFile(filepath.Join(r.Cluster.StateDir(), "alloc", list[0].ID, task, "secrets", "nomad_vault_default.jwt"))
		identity = strings.TrimSpace(string(text))
		return identity != "", err
	})
	return identity
}

// vaultToken signs in to Vault; "" if Vault rejects the identity.
func (r *s3rig) vaultToken(t *testing.T, role, identity string) string {
	t.Helper()
	login, err := json.Marshal(map[string]string{"role": role, "jwt": identity})
	if err != nil {
		t.Fatal(err)
	}
	status, body := r.TryVault(t, "", http.MethodPut, "auth/jwt-nomad/login", string(login))
	var signed struct {
		Auth struct {
			Token string `json:"client_token"`
		}
	}
	if status != http.StatusOK {
		t.Logf("Vault answers %d %s", status, body)
		return ""
	}
	if err := json.Unmarshal([]byte(body), &signed); err != nil {
		t.Fatal(err)
	}
	return signed.Auth.Token
}

// setUpVault runs the script as operators do, with settings beside those of the cluster.
func (r *s3rig) setUpVault(t *testing.T, more ...string) {
	t.Helper()
	vault, there, err := servers.Find(t.Context(), "vault")
	if err != nil || !there {
		t.Fatal(there, err)
	}
	cmd := exec.CommandContext(t.Context(), "sh", filepath.Join(r.Root, "nomad", "vault", "setup.sh"))
	cmd.Env = append(os.Environ(), "PATH="+filepath.Dir(vault.Path)+string(os.PathListSeparator)+os.Getenv("PATH"), "HOME="+t.TempDir(),
		"VAULT_ADDR="+r.Description.VaultURL, "VAULT_TOKEN="+r.VaultToken(), "DETENT_JWKS_URL="+r.NomadURL+"/.well-known/jwks.json",
		"DETENT_ROLE_ARN="+r.S3().RoleARN, "DETENT_BUCKETS="+r.S3().Bucket, "DETENT_REMOVE_ENTITIES=true")
	cmd.Env = append(cmd.Env, more...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("setup.sh: %v\n%s", err, out)
	}
}
