package storage

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/detent-ml/detent/integration/rig"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/nomad/local"
)

// TestCheckpointsInS3 keeps checkpoints in a bucket, with credentials that Vault provides.
func TestCheckpointsInS3(t *testing.T) {
	t.Parallel()
	r := startS3(t)
	alice, bob := r.user(t, "alice"), r.user(t, "bob")
	r.leaveRoles(t)
	owner := bob.Submit(t, r.config("jail", "owner.py"), program(t, "owner.py"))
	long := alice.Submit(t, r.config("jail", "long.py", "KEYS=5", "LABEL=enough"), program(t, "long.py"))
	unmodified := alice.Submit(t, r.unmodified(t, "KEYS=4"), program(t, "long.py"))
	bob.WaitState(t, owner, v1.ExperimentStateCompleted)
	stored := bob.OnlyCheckpoint(t, owner)

	t.Run("what is refused at submission", func(t *testing.T) { r.refusals(t, alice) })
	t.Run("each experiment has its own place", func(t *testing.T) { r.places(t, bob, owner) })
	t.Run("another's checkpoints cannot be reached", func(t *testing.T) { r.isolation(t, alice, bob, owner, stored) })
	t.Run("downloads", func(t *testing.T) { r.downloads(t, stored) })
	t.Run("another's checkpoint as a start", func(t *testing.T) { r.startsFrom(t, alice, bob, stored) })
	t.Run("files go", func(t *testing.T) { r.filesGo(t, bob, owner) })
	t.Run("keys are nowhere", func(t *testing.T) { r.searchRunning(t, long) })
	t.Run("unmodified package", func(t *testing.T) {
		alice.WaitState(t, unmodified, v1.ExperimentStateCompleted)
		rig.Holds(t, "its log", alice.Log(t, unmodified), "went through 4 keys")
	})
	t.Run("a program that knows only signals", func(t *testing.T) { r.knowsOnlySignals(t) })
	t.Run("TensorBoard", func(t *testing.T) { r.tensorboard(t) })
	t.Run("what the master may do in Vault", func(t *testing.T) { r.rightsInVault(t) })
	t.Run("the same job in another namespace", func(t *testing.T) { r.namespaces(t, long) })
	waited := 0
	t.Run("Vault away", func(t *testing.T) { waited = r.vaultAway(t, alice, long) })
	t.Run("a training longer than its keys", func(t *testing.T) {
		if _, err := client.Call(t.Context(), alice.Client, v1.AddExperimentLabel, long, "enough"); err != nil {
			t.Fatal(err)
		}
		alice.WaitState(t, long, v1.ExperimentStateCompleted)
		if keys := rig.First(t, `went through (\d+) keys`, alice.Log(t, long)); keys < 5 {
			t.Errorf("the training used %d keys", keys)
		}
		if trial := alice.Trial(t, long); trial.Restarts != 0 {
			t.Errorf("the trial restarted %d times", trial.Restarts)
		}
	})
	t.Run("keys are nowhere afterwards", func(t *testing.T) { r.searchAll(t, owner, long, unmodified, waited) })
	t.Run("nothing is left in Vault", func(t *testing.T) { r.nothingLeft(t) })
	t.Run("by identity, without Vault", func(t *testing.T) { r.webIdentity(t, bob) })
}

// unmodified is the configuration of an experiment with Determined's own package.
func (r *s3rig) unmodified(t *testing.T, env ...string) string {
	as := *r
	as.python, as.path = filepath.Dir(rig.DeterminedPython(t)), ""
	return as.config("open", "long.py", append(env, "DET_USE_INSTALLED_HARNESS=1")...)
}

// knowsOnlySignals keeps the folder of a program in the bucket, with keys of Vault. The Python of the task has the library of S3.
func (r *s3rig) knowsOnlySignals(t *testing.T) {
	if err := r.AddClient(t.Context(), local.Client{Name: "other", Pool: "other"}); err != nil {
		t.Fatal(err)
	}
	as := *r
	as.python, as.path = rig.PythonOf(t, "s3"), ""
	continuesElsewhere(t, r.Rig, as.config("open", "count.sh"), func(id int, folder string) []string {
		prefix, _ := prefixOf(t, r.Rig, id)
		return slices.DeleteFunc(r.inBucket(t, prefix+"/"+strings.TrimSuffix(folder, "/")), func(name string) bool { return strings.HasSuffix(name, "/") })
	})
}

// prefixOf is where in the bucket an experiment's checkpoints are.
func prefixOf(t *testing.T, r *rig.Rig, id int) (prefix, original string) {
	t.Helper()
	e, err := client.Call(t.Context(), r.Client, v1.GetExperiment, id)
	if err != nil {
		t.Fatal(err)
	}
	var config struct {
		Storage struct{ Prefix string } `json:"checkpoint_storage"`
	}
	if err := json.Unmarshal(e.Experiment.Config, &config); err != nil {
		t.Fatal(err)
	}
	return config.Storage.Prefix, e.Experiment.OriginalConfig
}

func (r *s3rig) refusals(t *testing.T, as *rig.Rig) {
	for prefix, want := range map[string]string{
		strings.Repeat("p", 1000): "STS accepts 2048",
		"team/*":                  "have a special meaning in policies of S3",
		"team/../other":           "must not contain ..",
	} {
		config := r.config("jail", "owner.py") + fmt.Sprintf("checkpoint_storage: {type: s3, bucket: detent, endpoint_url: %q, prefix: %q}\n", r.gate.server.URL, prefix)
		_, err := as.Client.CreateExperiment(t.Context(), v1.CreateExperimentRequest{Config: &config}, nil)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("prefix %.20q: %v, want %q", prefix, err, want)
		}
	}
}

// places: the stored prefix is the experiment's own, a fork has another prefix, and the submitted text is unchanged.
func (r *s3rig) places(t *testing.T, as *rig.Rig, id int) {
	prefix, original := prefixOf(t, as, id)
	if prefix != strconv.Itoa(id) || strings.Contains(original, "prefix") {
		t.Errorf("experiment %d lies at %q; its text is\n%s", id, prefix, original)
	}
	config := original + fmt.Sprintf("checkpoint_storage: {type: s3, bucket: detent, endpoint_url: %q, prefix: /team//vision/}\n", r.gate.server.URL)
	made, err := as.Client.CreateExperiment(t.Context(), v1.CreateExperimentRequest{Config: &config, ParentID: &id}, nil)
	if err != nil {
		t.Fatal(err)
	}
	fork := made.Experiment.ID
	if prefix, text := prefixOf(t, as, fork); prefix != "team/vision/"+strconv.Itoa(fork) || text != config {
		t.Errorf("the fork lies at %q; its text is\n%s", prefix, text)
	}
	// A fork with the stored configuration, as clients make it that show the complete configuration.
	parent, err := client.Call(t.Context(), as.Client, v1.GetExperiment, fork)
	if err != nil {
		t.Fatal(err)
	}
	whole := string(parent.Experiment.Config)
	made, err = as.Client.CreateExperiment(t.Context(), v1.CreateExperimentRequest{Config: &whole, ParentID: &fork}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if prefix, _ := prefixOf(t, as, made.Experiment.ID); prefix != "team/vision/"+strconv.Itoa(made.Experiment.ID) {
		t.Errorf("the fork of the fork lies at %q", prefix)
	}
}

func (r *s3rig) isolation(t *testing.T, alice, bob *rig.Rig, owner int, stored v1.Checkpoint) {
	prefix, _ := prefixOf(t, bob, owner)
	thief := alice.Submit(t, r.config("jail", "thief.py", "VICTIM="+prefix+"/"+stored.UUID), program(t, "thief.py"))
	alice.WaitState(t, thief, v1.ExperimentStateCompleted)
	log := alice.Log(t, thief)
	tried := 0
	for line := range strings.Lines(log) {
		_, text, ok := strings.Cut(line, "TRIED ")
		if !ok {
			continue
		}
		var a struct{ Name, Said string }
		if err := json.Unmarshal([]byte(text), &a); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		tried++
		switch {
		case strings.HasPrefix(a.Name, "own "):
			if a.Said != "done" {
				t.Errorf("%s: %s", a.Name, a.Said)
			}
		case a.Said == "done":
			t.Errorf("%s succeeded", a.Name)
		case a.Said != "denied" && a.Name != "dots": // such a key is not taken for one
			t.Errorf("%s: %s", a.Name, a.Said)
		}
	}
	if tried != 26 {
		t.Errorf("%d of 26 attempts were made; the log:\n%s", tried, log)
	}
	if line := lineWith(t, log, "SECRETS "); strings.Contains(line, "vault") {
		t.Errorf("a token of Vault's lies in the task: %s", line)
	}
	if line := lineWith(t, log, "NAMES "); strings.Contains(line, "VAULT") || strings.Contains(line, "AWS_SECRET") || strings.Contains(line, "AWS_ACCESS") || strings.Contains(line, "NOMAD_TOKEN") {
		t.Errorf("in the task's environment: %s", line)
	}
	// Bob's checkpoint is unchanged.
	if got := archive(t, bob, stored.UUID); len(got["weights"]) != 24000 || string(got["deep/state"]) != "bob" || len(got) != 3 {
		t.Errorf("the checkpoint has %d bytes of weights and the state %q, and %d files", len(got["weights"]), got["deep/state"], len(got))
	}
}

func lineWith(t *testing.T, text, part string) string {
	t.Helper()
	for line := range strings.Lines(text) {
		if strings.Contains(line, part) {
			return line
		}
	}
	t.Fatalf("no line with %q in:\n%s", part, text)
	return ""
}

// archive returns the files of a checkpoint from a zip archive.
func archive(t *testing.T, r *rig.Rig, uuid string) map[string][]byte {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, r.MasterURL+"/checkpoints/"+uuid, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept", "application/zip")
	req.Header.Set("Authorization", "Bearer "+r.Client.Token())
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s, %v", resp.Status, body, err)
	}
	z, err := zip.NewReader(bytes.NewReader(body), int64(len(body)))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for _, f := range z.File {
		if f.FileInfo().IsDir() {
			continue
		}
		in, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		if files[f.Name], err = io.ReadAll(in); err != nil {
			t.Fatal(err)
		}
	}
	return files
}

// downloads fetches checkpoints with det and with the unmodified package, neither of which has keys.
func (r *s3rig) downloads(t *testing.T, stored v1.Checkpoint) {
	ours := filepath.Join(t.TempDir(), "ours")
	cmd := exec.CommandContext(t.Context(), filepath.Join(r.Bin, "det"), "checkpoint", "download", stored.UUID, "-o", ours)
	cmd.Env = append(os.Environ(), "DET_MASTER="+r.MasterURL, "DET_USER=bob", "DET_PASS=", "HOME="+t.TempDir())
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("det checkpoint download: %v\n%s", err, out)
	}
	bob := r.Person(t, "bob", "")
	script := fmt.Sprintf(`
from determined.experimental import client
client.login(master=%q, user="bob", password="")
print(client.get_checkpoint(%q).download("theirs"))
`, r.MasterURL, stored.UUID)
	if out, stderr, code := bob.Run(t, "", bob.Python, "-c", script); code != 0 {
		t.Fatalf("the unmodified package: exit %d\n%s%s", code, out, stderr)
	}
	for _, dir := range []string{ours, filepath.Join(bob.Home, "theirs")} {
		weights, err := os.ReadFile(filepath.Join(dir, "weights"))
		if err != nil || len(weights) != 24000 {
			t.Errorf("%s: %d bytes of weights, %v", dir, len(weights), err)
		}
		if state, err := os.ReadFile(filepath.Join(dir, "deep", "state")); err != nil || string(state) != "bob" {
			t.Errorf("%s: the state is %q, %v", dir, state, err)
		}
	}
}

// vaultAway: while Vault is unavailable, running tasks continue, tasks that need Vault wait with a reason, and other
// tasks start.
func (r *s3rig) vaultAway(t *testing.T, as *rig.Rig, long int) (waited int) {
	vault, err := r.Part("vault")
	if err != nil {
		t.Fatal(err)
	}
	if err := vault.Kill9(t.Context()); err != nil {
		t.Fatal(err)
	}
	rig.Eventually(t, "the master notices", func() (bool, error) {
		waited = as.Submit(t, r.config("jail", "owner.py"), program(t, "owner.py"))
		why := ""
		rig.Eventually(t, "it waits, or runs", func() (bool, error) {
			trial := as.Trial(t, waited)
			why = trial.WaitingReason
			return why != "" || trial.State != "STATE_QUEUED", nil
		})
		if strings.HasPrefix(why, "waits for Vault at "+r.Description.VaultURL) {
			return true, nil
		}
		as.End(t, waited) // it would run when Vault is back, and one is enough
		return false, fmt.Errorf("the waiting reason is %q", why)
	})
	free := as.Submit(t, r.config("open", "owner.py")+fmt.Sprintf("checkpoint_storage: {type: directory, container_path: %q}\n", t.TempDir()), program(t, "owner.py"))
	as.WaitState(t, free, v1.ExperimentStateCompleted)
	rig.Eventually(t, "all keys that were given out have ended", func() (bool, error) { return r.gate.allEnded(), nil })
	if e, err := client.Call(t.Context(), as.Client, v1.GetExperiment, long); err != nil || e.Experiment.State != v1.ExperimentStateActive && e.Experiment.State != "STATE_RUNNING" {
		t.Errorf("the training is in %s, %v; its log:\n%s", e.Experiment.State, err, as.Log(t, long))
	}
	if err := vault.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	as.WaitState(t, waited, v1.ExperimentStateCompleted)
	return waited
}

func (g *gate) allEnded() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, end := range g.ends {
		if time.Now().Before(end) {
			return false
		}
	}
	return true
}

// roleOf writes a role as a master of a cluster would.
func (r *s3rig) leaveRoles(t *testing.T) {
	t.Helper()
	info, err := r.Client.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	id, ok := info["cluster_id"].(string)
	if !ok {
		t.Fatalf("no cluster id in %v", info)
	}
	for name, cluster := range map[string]string{leftRole: id, foreignRole: "11111111-2222-4333-8444-555555555555"} {
		policy := fmt.Sprintf(`{"Version":"2012-10-17","Statement":[{"Sid":"det%s","Effect":"Allow","Action":["s3:GetObject"],"Resource":["arn:aws:s3:::detent/0/*"]}]}`,
			strings.ReplaceAll(cluster, "-", ""))
		body, err := json.Marshal(map[string]string{"credential_type": "assumed_role", "role_arns": r.S3().RoleARN, "policy_document": policy})
		if err != nil {
			t.Fatal(err)
		}
		r.vault(t, http.MethodPut, "aws/roles/"+name, body)
	}
}

// Roles as a master that was killed, and as another cluster, would have left them.
const (
	leftRole    = "det-1-8c1d2f6e-0b7a-4f0e-9a53-6f1f0f9f3b11-1"
	foreignRole = "det-1-9c1d2f6e-0b7a-4f0e-9a53-6f1f0f9f3b11-1"
)

// vault sends a request to Vault as its administrator.
func (r *s3rig) vault(t *testing.T, method, path string, body []byte) []byte {
	t.Helper()
	status, text := r.TryVault(t, r.VaultToken(), method, path, string(body))
	if status/100 != 2 && status != http.StatusNotFound {
		t.Fatalf("Vault: %s %s: %d %s", method, path, status, text)
	}
	return []byte(text)
}

func (r *s3rig) vaultList(t *testing.T, path string) []string {
	t.Helper()
	var list struct{ Data struct{ Keys []string } }
	if err := json.Unmarshal(r.vault(t, "LIST", path, nil), &list); err != nil {
		t.Fatal(err)
	}
	return list.Data.Keys
}

// nothingLeft: the roles of all attempts are removed, also those that a killed master had left, and Vault's entities
// of the jobs. Roles of other clusters remain.
func (r *s3rig) nothingLeft(t *testing.T) {
	var roles []string
	rig.Eventually(t, "the roles are gone", func() (bool, error) {
		roles = r.vaultList(t, "aws/roles")
		return slices.Equal(roles, []string{foreignRole, "detent-reader"}), fmt.Errorf("there are %v", roles)
	})
	rig.Eventually(t, "Vault remembers the master alone, and the jobs that are not ours", func() (bool, error) {
		entities := r.vaultList(t, "identity/entity/id")
		return len(entities) == 1+intruders, fmt.Errorf("Vault has %d entities", len(entities))
	})
}

// webIdentity: the same store trusts Nomad's workload identities, and Vault is not used.
func (r *s3rig) webIdentity(t *testing.T, as *rig.Rig) {
	config := fmt.Sprintf(s3Config, r.gate.server.URL, r.driver) +
		fmt.Sprintf("web_identity: {role_arn: %q, sts_endpoint: %q}\n", r.S3().WebRoleARN, r.gate.server.URL)
	r.upWith(t, config, map[string]string{"DETENT_VAULT_ADDRESS": ""})
	before := len(r.vaultList(t, "identity/entity/id"))
	id := as.Submit(t, r.config("jail", "owner.py"), program(t, "owner.py"))
	as.WaitState(t, id, v1.ExperimentStateCompleted)
	if k := as.OnlyCheckpoint(t, id); len(k.Resources) != 4 {
		t.Errorf("the checkpoint has %v", k.Resources)
	}
	if after := len(r.vaultList(t, "identity/entity/id")); after != before {
		t.Errorf("%d signed in to Vault", after-before)
	}
	// The program has an identity, the file for the object store; Nomad accepts it, and it opens nothing.
	if a := as.AttackNomad(t, "127.0.0.1", "resources: {resource_pool: jail}\n"); a.Tokens == 0 || a.Sockets != 0 || a.Reached != 1 {
		t.Errorf("the task found %+v; want the identity for the object store, no socket, and Nomad on the network", a)
	}
}
