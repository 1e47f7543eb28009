package storage

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/detent-ml/detent/integration/rig"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/nomad/local"
	"github.com/detent-ml/detent/nomad/servers/turn"
)

const secretsConfig = `
cluster_name: secrets
checkpoint_storage: {type: shared_fs, host_path: %q}
vault: {secrets: [%s{name: own, path: secret/data/teams/ada, users: [ada]}, {name: absent, path: secret/data/teams/absent, workspaces: ["*"]}]}
resource_pools:
  - {name: open, driver: raw_exec, slots: cpu, slots_per_node: 8, memory_mb_per_slot: 128}
`

const trackerOffer = `{name: tracker, path: secret/data/teams/vision/tracker, keys: [token, account, gone], workspaces: [vision]}, `

// Values that are in Vault, and may be nowhere else.
const (
	trackerToken  = "tracker-token-4c7be1a09d"
	trackerSecret = "account-key-1f9e03b6aa72"
	adasToken     = "token-of-ada-92cd77f00e51"
)

// A program that uses its secrets, prints them as no program should, and then waits for its file.
const usesSecrets = `
import base64, hashlib, json, os, pathlib, sys, time, urllib.request

def digest(text):
    return hashlib.sha256(text.encode()).hexdigest()[:16]

account = pathlib.Path(os.environ["ACCOUNT_FILE"])
print("token", digest(os.environ["TRACKER_TOKEN"]), "account", digest(json.loads(account.read_text())["key"]), "own", digest(os.environ["OWN_TOKEN"]), flush=True)
print("below", account.parent == pathlib.Path(os.environ["DET_SECRETS_DIR"]), "mode", oct(account.stat().st_mode & 0o777), flush=True)
print("printed:", os.environ["TRACKER_TOKEN"], account.read_text(), file=sys.stderr, flush=True)
if "WANDB_BASE_URL" in os.environ:  # as W&B's client signs in
    said = {name: value for name, value in os.environ.items() if name.startswith("WANDB_") and name != "WANDB_API_KEY"}
    key = base64.b64encode(("api:" + os.environ["WANDB_API_KEY"]).encode()).decode()
    urllib.request.urlopen(urllib.request.Request(os.environ["WANDB_BASE_URL"] + "/graphql", json.dumps(said).encode(), {"Authorization": "Basic " + key}))
while "RELEASE" in os.environ and not os.path.exists(os.environ["RELEASE"]):
    time.sleep(0.1)
sys.exit(1 if "RELEASE" in os.environ else 0)
`

// TestSecretsOfUsers mounts secrets of a real Vault in an experiment and in a command: those who may, where
// they may, until the operators take the right away; the values are nowhere else.
func TestSecretsOfUsers(t *testing.T) {
	turn.Second(t)
	t.Parallel()
	own, dir := rig.NewOwn(t, "secrets")
	r := &s3rig{Rig: own}
	r.StartCluster(t, dir, local.Options{Name: "secrets", Vault: true, Master: local.Master{Config: fmt.Sprintf(secretsConfig, filepath.Join(dir, "checkpoints"), trackerOffer)}})
	r.teamsInVault(t)
	ada, eve := r.user(t, "ada"), r.user(t, "eve")
	// Only an admin creates a workspace to which secrets are offered.
	admin, err := r.SignIn(t.Context(), "admin")
	if err != nil {
		t.Fatal(err)
	}
	vision, err := client.Send(t.Context(), admin, v1.CreateWorkspace, v1.PostWorkspaceRequest{Name: "vision"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Send(t.Context(), admin, v1.CreateProject, v1.PostProjectRequest{WorkspaceID: vision.Workspace.ID, Name: "work"}, vision.Workspace.ID); err != nil {
		t.Fatal(err)
	}
	t.Run("who may mount what", func(t *testing.T) { r.offered(t) })
	t.Run("refusals", func(t *testing.T) { r.refusedSecrets(t, ada, eve, vision.Workspace.ID) })

	release := filepath.Join(dir, "release")
	tracker, heard := wandbsServer(t)
	config := r.mounts(t, "vision", "max_restarts: 3\nintegrations: {wandb: {entity: vision, project: shapes, base_url: '"+tracker+"'}}", `"RELEASE=`+release+`"`)
	id := ada.Submit(t, config+"    - {name: tracker, key: token, env: WANDB_API_KEY}\n", map[string]string{"uses.py": usesSecrets})
	said := fmt.Sprintf("token %s account %s own %s", digest(trackerToken), digest(trackerSecret), digest(adasToken))
	ada.WaitLog(t, id, "printed:")
	log := ada.Log(t, id)
	rig.Holds(t, "its log", log, said, "below True mode 0o400", "printed: ******** ********")
	t.Run("W&B", func(t *testing.T) { beside(t, ada, id, <-heard) })
	t.Run("in a command", func(t *testing.T) { r.commandWithSecrets(t) })
	t.Run("audit", func(t *testing.T) {
		out, _, code := r.Run(t, []string{"DET_USER=admin"}, "audit", "list", "--kind", "secret", "--json")
		if code != 0 || !strings.Contains(out, `"mount"`) || !strings.Contains(out, `"tracker"`) || !strings.Contains(out, `"ada"`) {
			t.Errorf("exit %d: %s", code, out)
		}
	})

	// The operators take the secret away; the next attempt does not get it.
	r.upAs(t, "secrets", fmt.Sprintf(secretsConfig, filepath.Join(dir, "checkpoints"), ""), nil)
	if err := os.WriteFile(release, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	ada.WaitState(t, id, v1.ExperimentStateError)
	const why = `this task may no longer mount its secrets: environment.secrets: there is no secret "tracker" that ada may mount in workspace "vision"`
	e, err := client.Call(t.Context(), ada.Client, v1.GetExperiment, id)
	if err != nil {
		t.Fatal(err)
	}
	if trial := ada.Trial(t, id); !strings.Contains(e.Experiment.Error+trial.Error+ada.Log(t, id), why) {
		t.Errorf("it ended with %q and %q; its log:\n%s", e.Experiment.Error, trial.Error, ada.Log(t, id))
	}
	if n := strings.Count(ada.Log(t, id), said); n != 1 {
		t.Errorf("%d attempts had the secrets, want 1", n)
	}
	t.Run("nowhere else", func(t *testing.T) { r.valuesNowhere(t, id) })
}

// A signIn is what W&B's client says to its server.
type signIn struct {
	user, key string
	variables map[string]string
}

// wandbsServer stands in for W&B's server.
func wandbsServer(t *testing.T) (address string, heard chan signIn) {
	heard = make(chan signIn, 8)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var said signIn
		said.user, said.key, _ = r.BasicAuth()
		if err := json.NewDecoder(r.Body).Decode(&said.variables); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		heard <- said
	}))
	t.Cleanup(server.Close)
	return server.URL, heard
}

// beside: a trial logs to W&B with the key of a secret, as the run to which the trial's page links.
func beside(t *testing.T, ada *rig.Rig, id int, said signIn) {
	trial := ada.Trial(t, id)
	want := map[string]string{"WANDB_ENTITY": "vision", "WANDB_PROJECT": "shapes", "WANDB_RUN_GROUP": fmt.Sprintf("experiment-%d", id), "WANDB_NAME": fmt.Sprintf("trial-%d", trial.ID),
		"WANDB_RUN_ID": trial.TaskID, "WANDB_RESUME": "allow"}
	delete(said.variables, "WANDB_BASE_URL")
	if said.user != "api" || said.key != trackerToken || !maps.Equal(said.variables, want) {
		t.Errorf("%s signs in with a key of %d bytes and %v, want %v", said.user, len(said.key), said.variables, want)
	}
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])[:16]
}

// mounts is the configuration of an experiment that mounts three secrets.
func (r *s3rig) mounts(t *testing.T, workspace, more string, env ...string) string {
	t.Helper()
	env = append(env, fmt.Sprintf(`"PATH=%s:/usr/local/bin:/usr/bin:/bin"`, rig.PythonOf(t, "tasks")))
	return fmt.Sprintf("name: secrets\nentrypoint: python3 uses.py\nworkspace: %s\nproject: work\nsearcher: {name: single, metric: loss}\n%s\n"+
		"resources: {resource_pool: open}\nenvironment:\n  environment_variables: [%s]\n%s", workspace, more, strings.Join(env, ", "), mountedSecrets)
}

const mountedSecrets = `  secrets:
    - {name: tracker, key: token, env: TRACKER_TOKEN}
    - {name: tracker, key: account, env: ACCOUNT_FILE, file: account.json}
    - {name: own, key: token, env: OWN_TOKEN}
`

// teamsInVault stores the secrets, and runs the script as operators do who offer secrets to users.
func (r *s3rig) teamsInVault(t *testing.T) {
	t.Helper()
	if status, said := r.TryVault(t, r.VaultToken(), http.MethodPost, "sys/mounts/secret", `{"type": "kv", "options": {"version": "2"}}`); status/100 != 2 {
		t.Fatalf("kv: %d %s", status, said)
	}
	for path, fields := range map[string]string{
		"vision/tracker": fmt.Sprintf(`{"token": %q, "account": {"key": %q}}`, trackerToken, trackerSecret),
		"ada":            fmt.Sprintf(`{"token": %q}`, adasToken),
	} {
		rig.Eventually(t, "Vault keeps the secret", func() (bool, error) { // its engine takes a moment
			status, said := r.TryVault(t, r.VaultToken(), http.MethodPost, "secret/data/teams/"+path, `{"data": `+fields+`}`)
			return status/100 == 2, fmt.Errorf("%d %s", status, said)
		})
	}
	r.setUpVault(t, "DETENT_USER_SECRETS=secret/data/teams/*")
	master := r.asMaster(t)
	if status, said := r.TryVault(t, master, http.MethodGet, "secret/subkeys/teams/vision/tracker", ""); status != http.StatusOK || strings.Contains(said, trackerToken) {
		t.Errorf("the master lists keys: %d", status)
	}
	if status, _ := r.TryVault(t, master, http.MethodGet, "secret/data/teams/vision/tracker", ""); status != http.StatusForbidden {
		t.Errorf("the master reads a value: %d", status)
	}
}

// offered lists the secrets of each user.
func (r *s3rig) offered(t *testing.T) {
	for user, want := range map[string]string{
		"ada": "Name,Keys,Workspaces\ntracker,\"token, account, gone\",vision\nown,all,all\nabsent,all,all\n",
		"eve": "Name,Keys,Workspaces\ntracker,\"token, account, gone\",vision\nabsent,all,all\n",
	} {
		out, stderr, code := r.Run(t, []string{"DET_USER=" + user}, "secret", "list", "--csv")
		if out = strings.ReplaceAll(out, "\r", ""); code != 0 || out != want {
			t.Errorf("%s: exit %d\n%s%s", user, code, out, stderr)
		}
	}
}

// refusedSecrets submits what is refused at once, and what Vault lacks.
func (r *s3rig) refusedSecrets(t *testing.T, ada, eve *rig.Rig, vision int) {
	plain := func(workspace, secret string) string {
		project := "project: work"
		if workspace == "Uncategorized" {
			project = "project: Uncategorized"
		}
		return fmt.Sprintf("name: x\nentrypoint: 'true'\nworkspace: %s\n%s\nsearcher: {name: single, metric: loss}\nmax_restarts: 0\nresources: {resource_pool: open}\nenvironment: {secrets: [%s]}\n", workspace, project, secret)
	}
	active := true
	for _, c := range []struct {
		by           *rig.Rig
		config, want string
	}{
		{eve, plain("vision", "{name: own, key: token, env: T}"), `there is no secret "own" that eve may mount in workspace "vision"`},
		{eve, plain("vision", "{name: nothing, key: token, env: T}"), `there is no secret "nothing" that eve may mount in workspace "vision"`},
		{ada, plain("Uncategorized", "{name: tracker, key: token, env: T}"), `there is no secret "tracker" that ada may mount in workspace "Uncategorized"`},
		{ada, plain("vision", "{name: tracker, key: other, env: T}"), `secret "tracker" has no key "other" that may be mounted; it has token, account, gone`},
		{ada, plain("vision", "{name: tracker, key: token, env: DET_TOKEN}"), "names that begin with DET_ are Detent's own"},
		{ada, plain("vision", "{name: tracker, key: token, file: ../x}"), "expected a relative path"},
	} {
		_, err := c.by.Client.CreateExperiment(t.Context(), v1.CreateExperimentRequest{Config: &c.config, Activate: &active}, nil)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s\nwas answered with %v; want %s", c.config, err, c.want)
		}
	}
	for secret, want := range map[string]string{
		"{name: absent, key: token, env: T}": `secret "absent": Vault has no secret at secret/data/teams/absent`,
		"{name: tracker, key: gone, env: T}": `secret "tracker" has no key "gone" in Vault; it has account, token`,
	} {
		id := ada.Submit(t, plain("vision", secret), nil)
		ada.WaitState(t, id, v1.ExperimentStateError)
		e, err := client.Call(t.Context(), ada.Client, v1.GetExperiment, id)
		if err != nil {
			t.Fatal(err)
		}
		if said := e.Experiment.Error + ada.Trial(t, id).Error + ada.Log(t, id); !strings.Contains(said, want) {
			t.Errorf("%s: it ended with %s; want %s", secret, said, want)
		}
	}
	admin, err := r.SignIn(t.Context(), "admin")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := admin.SetConfigPolicies(t.Context(), vision, "EXPERIMENT", "constraints: {secrets: [own]}"); err != nil {
		t.Fatal(err)
	}
	config := plain("vision", "{name: tracker, key: token, env: T}")
	_, err = ada.Client.CreateExperiment(t.Context(), v1.CreateExperimentRequest{Config: &config, Activate: &active}, nil)
	if err == nil || !strings.Contains(err.Error(), `the config policy of workspace "vision" does not allow the secret "tracker"; it allows own`) {
		t.Errorf("against a policy: %v", err)
	}
	if err := admin.DeleteConfigPolicies(t.Context(), vision, "EXPERIMENT"); err != nil {
		t.Fatal(err)
	}
}

// commandWithSecrets runs a command that mounts the same secrets.
func (r *s3rig) commandWithSecrets(t *testing.T) {
	config := filepath.Join(t.TempDir(), "command.yaml")
	text := fmt.Sprintf("resources: {resource_pool: open, slots: 0}\nenvironment:\n  environment_variables: [\"PATH=%s:/usr/local/bin:/usr/bin:/bin\"]\n%s", rig.PythonOf(t, "tasks"), mountedSecrets)
	if err := os.WriteFile(config, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	code := filepath.Join(t.TempDir(), "uses.py")
	if err := os.WriteFile(code, []byte(usesSecrets), 0o644); err != nil {
		t.Fatal(err)
	}
	out, stderr, exit := r.Run(t, []string{"DET_USER=ada"}, "cmd", "run", "-w", "vision", "--config-file", config, "-i", code, "python3 uses.py")
	if exit != 0 || !strings.Contains(out, "token "+digest(trackerToken)) || !strings.Contains(out+stderr, "printed: ********") || strings.Contains(out+stderr, trackerToken) {
		t.Errorf("exit %d\n%s%s", exit, out, stderr)
	}
}

// valuesNowhere searches jobs, rows, logs and answers for the values, also in the encodings in which rows and
// answers have bytes.
func (r *s3rig) valuesNowhere(t *testing.T, id int) {
	var needles []string
	for _, value := range []string{trackerToken, trackerSecret, adasToken} {
		needles = append(needles, value, hex.EncodeToString([]byte(value)), strings.TrimRight(base64.StdEncoding.EncodeToString([]byte(value)), "="))
	}
	r.searchRows(t, needles)
	for _, part := range r.Describe(t.Context()).Parts {
		if part.Log == "" {
			continue
		}
		text, err := os.ReadFile(part.Log)
		if err != nil {
			t.Fatal(err)
		}
		clean(t, "the log of "+part.Name, string(text), needles)
	}
	r.searchNomad(t, needles)
	r.searchAPI(t, needles, []int{id})
	files, err := filepath.Glob(filepath.Join(r.Cluster.StateDir(), "alloc", "*", "alloc", "logs", "*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("Nomad's logs of tasks: %v, %v", files, err)
	}
	for _, file := range files {
		if info, err := os.Stat(file); err != nil || info.Mode()&os.ModeNamedPipe != 0 || info.IsDir() {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		clean(t, "Nomad's log "+filepath.Base(file), string(text), needles)
	}
	admin, err := r.SignIn(t.Context(), "admin")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"detent/secrets", "detent/audit", "master/logs", "master/config", fmt.Sprintf("experiments/%d", id),
		fmt.Sprintf("detent/experiments/%d/attempts", id), fmt.Sprintf("experiments/%d/model_def", id), "tasks/" + r.taskOf(t, id) + "/logs"} {
		status, body := r.Read(t, r.MasterURL+"/api/v1/"+path, map[string]string{"Authorization": "Bearer " + admin.Token()})
		if status != http.StatusOK {
			t.Errorf("%s: %d", path, status)
		}
		clean(t, "the answer to "+path, body, needles)
	}
}
