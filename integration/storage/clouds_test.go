package storage

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/detent-ml/detent/integration/rig"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/objects"
	"github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/nomad/local"
	"github.com/detent-ml/detent/nomad/servers"
	"github.com/detent-ml/detent/nomad/servers/objecttest"
	"github.com/detent-ml/detent/nomad/servers/turn"
)

// A cloud is one kind of object storage, on a cluster that several share.
type cloud struct {
	*rig.Rig
	storage string   // checkpoint_storage of its experiments
	env     []string // of its tasks
	bucket  *objects.Bucket
	below   func(id int) string // where in the bucket the files of an experiment are
	secrets []string            // texts that must not appear anywhere
}

const cloudsConfig = `
cluster_name: clouds
checkpoint_storage: {type: azure, container: detent, account_url: %q}
vault: {gcs_path: secret/data/detent/gcs, azure_path: secret/data/detent/azure}
resource_pools:
  - {name: open, driver: raw_exec, slots: cpu, slots_per_node: 8, memory_mb_per_slot: 128}
  - {name: other, node_pool: other, driver: raw_exec, slots: cpu, slots_per_node: 8, memory_mb_per_slot: 128}
`

// serviceAccount is a credentials file of Google without a valid key, because the emulator checks none.
const serviceAccount = `{"type": "service_account", "client_email": "tests@example", "private_key": "the-private-key-of-the-tests"}`

// TestCheckpointsInOtherClouds stores checkpoints in Google's and Azure's storage, restores, downloads and
// removes them, keeps the folder of a program that knows only signals, and opens a TensorBoard; the credentials are in Vault.
func TestCheckpointsInOtherClouds(t *testing.T) {
	turn.First(t)
	t.Parallel()
	google, azure := objecttest.StartGCS(t, "detent"), objecttest.StartAzure(t)
	own, dir := rig.NewOwn(t, "clouds")
	own.StartCluster(t, dir, local.Options{Name: "clouds", Vault: true, Master: local.Master{Config: fmt.Sprintf(cloudsConfig, azure.URL),
		Env: map[string]string{"STORAGE_EMULATOR_HOST": google}}})
	if err := own.AddClient(t.Context(), local.Client{Name: "other", Pool: "other"}); err != nil {
		t.Fatal(err)
	}
	secretsInVault(t, own, azure.Key)
	account, err := objects.AzureByString(azure.ConnectionString())
	if err != nil {
		t.Fatal(err)
	}
	blobs, err := objects.OpenAzure(objects.Azure{Container: "detent", AzureAccount: account})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]*cloud{
		"Google": {Rig: own, storage: "{type: gcs, bucket: detent, prefix: team", env: []string{"STORAGE_EMULATOR_HOST=" + google},
			bucket: objects.OpenGCS(objects.GCS{Bucket: "detent", Endpoint: google}), below: func(id int) string { return fmt.Sprintf("team/%d/", id) }, secrets: []string{"the-private-key-of-the-tests"}},
		"Azure": {Rig: own, storage: fmt.Sprintf("{type: azure, container: detent/team, account_url: %q", azure.URL), bucket: blobs,
			below: func(int) string { return "team/" }, secrets: []string{azure.Key}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			id := c.trains(t)
			c.downloads(t, id)
			c.restores(t, id)
			c.drawn(t)
			continuesElsewhere(t, c.Rig, c.config(t, "count.sh"), func(id int, folder string) []string { return c.there(t, id, folder) })
			c.removes(t, id)
			c.shownNowhere(t, id)
		})
	}
	t.Run("keys in a configuration", func(t *testing.T) {
		t.Parallel()
		c := &cloud{Rig: own, storage: fmt.Sprintf("{type: azure, container: detent/own, connection_string: %q", azure.ConnectionString()), secrets: []string{azure.Key}}
		id := c.Submit(t, c.config(t, "owner.py"), program(t, "owner.py"))
		c.WaitState(t, id, v1.ExperimentStateCompleted)
		if got := archive(t, c.Rig, c.OnlyCheckpoint(t, id).UUID); len(got["weights"]) != 24000 {
			t.Errorf("%d bytes of weights", len(got["weights"]))
		}
		shown, err := client.Call(t.Context(), c.Client, v1.GetExperiment, id)
		if err != nil {
			t.Fatal(err)
		}
		if config := string(shown.Experiment.Config); strings.Contains(config, azure.Key) || !strings.Contains(config, `"connection_string":"********"`) {
			t.Errorf("the experiment's configuration is shown as %s", config)
		}
		if stored := rig.Value[int](t, c.Rig, `SELECT count(*) FROM storage_backends WHERE config::text LIKE '%AccountKey%'`); stored > 0 {
			t.Errorf("%d storages that tasks have named are kept with a key", stored)
		}
	})
}

// secretsInVault configures Vault as operators do who use no S3, and stores the credentials.
func secretsInVault(t *testing.T, r *rig.Rig, key string) {
	t.Helper()
	for path, body := range map[string]string{"sys/mounts/secret": `{"type": "kv", "options": {"version": "2"}}`} {
		if status, said := r.TryVault(t, r.VaultToken(), http.MethodPost, path, body); status/100 != 2 {
			t.Fatalf("%s: %d %s", path, status, said)
		}
	}
	for path, fields := range map[string]string{"gcs": serviceAccount, "azure": fmt.Sprintf(`{"credential": %q}`, key)} {
		rig.Eventually(t, "Vault keeps the secret", func() (bool, error) { // its engine takes a moment
			status, said := r.TryVault(t, r.VaultToken(), http.MethodPost, "secret/data/detent/"+path, fmt.Sprintf(`{"data": %s}`, fields))
			return status/100 == 2, fmt.Errorf("%d %s", status, said)
		})
	}
	vault, there, err := servers.Find(t.Context(), "vault")
	if err != nil || !there {
		t.Fatal(there, err)
	}
	cmd := exec.CommandContext(t.Context(), "sh", filepath.Join(r.Root, "nomad", "vault", "setup.sh"))
	cmd.Env = append(os.Environ(), "PATH="+filepath.Dir(vault.Path)+string(os.PathListSeparator)+os.Getenv("PATH"), "HOME="+t.TempDir(),
		"VAULT_ADDR="+r.Description.VaultURL, "VAULT_TOKEN="+r.VaultToken(), "DETENT_JWKS_URL="+r.NomadURL+"/.well-known/jwks.json",
		"DETENT_GCS_SECRET=secret/data/detent/gcs", "DETENT_AZURE_SECRET=secret/data/detent/azure")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("setup.sh: %v\n%s", err, out)
	}
}

// variables are the environment variables of a task.
func (c *cloud) variables(t *testing.T) []string {
	return append([]string{fmt.Sprintf("PATH=%s:/usr/local/bin:/usr/bin:/bin", rig.PythonOf(t, "tasks"))}, c.env...)
}

// config is the configuration of an experiment that runs a program.
func (c *cloud) config(t *testing.T, program string, more ...string) string {
	t.Helper()
	env := []string{}
	for _, e := range c.variables(t) {
		env = append(env, strconv.Quote(e))
	}
	return fmt.Sprintf("\nname: %[1]s\nentrypoint: python3 %[1]s\nsearcher: {name: single, metric: loss, max_length: {batches: 5}%[2]s}\nmax_restarts: 0\n"+
		"resources: {resource_pool: open}\nenvironment: {environment_variables: [%[3]s]}\ncheckpoint_storage: %[4]s, save_trial_best: 2}\n",
		program, strings.Join(more, ""), strings.Join(env, ", "), c.storage)
}

// there lists the files of a folder of an experiment in the bucket.
func (c *cloud) there(t *testing.T, id int, folder string) (files []string) {
	t.Helper()
	list, err := c.bucket.List(t.Context(), c.below(id)+folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range list {
		if !strings.HasSuffix(o.Key, "/") {
			files = append(files, strings.TrimPrefix(o.Key, c.below(id)+folder))
		}
	}
	return files
}

const wholeOne = "metadata.json model.bin sub/optimizer.bin sub/state.txt"

// trains runs an experiment that stores four checkpoints; the policy keeps three.
func (c *cloud) trains(t *testing.T) int {
	id := c.Submit(t, c.config(t, "train.py"), rig.CollectingFiles(t))
	c.WaitState(t, id, v1.ExperimentStateCompleted)
	uuids := c.Become(t, id, "1 DELETED, 2 COMPLETED, 3 COMPLETED, 4 COMPLETED")
	for steps, uuid := range uuids {
		want := wholeOne
		if steps == 1 {
			want = ""
		}
		if got := strings.Join(c.there(t, id, uuid+"/"), " "); got != want {
			t.Errorf("of checkpoint %d there are %q, want %q", steps, got, want)
		}
	}
	return id
}

// downloads fetches the checkpoints with det, through the master.
func (c *cloud) downloads(t *testing.T, id int) {
	uuid := c.Become(t, id, "1 DELETED, 2 COMPLETED, 3 COMPLETED, 4 COMPLETED")[4]
	at := filepath.Join(t.TempDir(), "here")
	if out, err := c.Det(t, "checkpoint", "download", uuid, "-o", at); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for name, size := range map[string]int{"model.bin": 1000, "sub/optimizer.bin": 500, "sub/state.txt": 5} {
		if text, err := os.ReadFile(filepath.Join(at, name)); err != nil || len(text) != size {
			t.Errorf("%s: %d bytes, %v", name, len(text), err)
		}
	}
}

const restoring = `
import os
import determined
from determined import core

info = determined.get_cluster_info()
with core.init() as context:
    with context.checkpoint.restore_path(info.latest_checkpoint) as path:
        print("restored", (path / "model.bin").stat().st_size, (path / "sub" / "state.txt").read_text())
    for name in ("DET_GCS_CREDENTIALS_FILE", "DET_AZURE_CREDENTIALS_FILE"):
        if name in os.environ:
            print("there is a file of", os.path.getsize(os.environ[name]), "bytes for", name)
    context.train.report_validation_metrics(steps_completed=1, metrics={"loss": 0.5})
`

// restores starts another experiment from a checkpoint of the first.
func (c *cloud) restores(t *testing.T, id int) {
	uuid := c.Become(t, id, "1 DELETED, 2 COMPLETED, 3 COMPLETED, 4 COMPLETED")[2]
	next := c.Submit(t, c.config(t, "restore.py", ", source_checkpoint_uuid: "+uuid), map[string]string{"restore.py": restoring})
	c.WaitState(t, next, v1.ExperimentStateCompleted)
	rig.Holds(t, "its log", c.Log(t, next), "restored 1000 state", "there is a file of ")
}

// drawn opens a TensorBoard of the experiment.
func (c *cloud) drawn(t *testing.T) {
	id := c.Submit(t, c.config(t, "drawing.py"), map[string]string{"drawing.py": rig.Drawing})
	c.WaitState(t, id, v1.ExperimentStateCompleted)
	c.Drawn(t, id, "--config", "resources.resource_pool=open", "--config", fmt.Sprintf("environment.environment_variables=[%s]", strings.Join(c.variables(t), ",")))
}

// removes deletes one checkpoint with det, then the experiment with all its checkpoints.
func (c *cloud) removes(t *testing.T, id int) {
	uuids := c.Become(t, id, "1 DELETED, 2 COMPLETED, 3 COMPLETED, 4 COMPLETED")
	if out, err := c.Det(t, "checkpoint", "delete", uuids[3], "--yes"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if out, err := c.Det(t, "checkpoint", "rm", uuids[4], "--glob", "**/*.bin", "--yes"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	c.Become(t, id, "1 DELETED, 2 COMPLETED, 3 DELETED, 4 PARTIALLY_DELETED")
	for steps, want := range map[int]string{2: wholeOne, 3: "", 4: "metadata.json sub/state.txt"} {
		if got := strings.Join(c.there(t, id, uuids[steps]+"/"), " "); got != want {
			t.Errorf("of checkpoint %d there are %q, want %q", steps, got, want)
		}
	}
	info, err := c.Client.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	events := fmt.Sprintf("%v/tensorboard/experiment/%d/", info["cluster_id"], id)
	if got := c.there(t, id, events); len(got) == 0 {
		t.Error("there are no files for TensorBoard")
	}
	rest(t, c.Rig, id)
	if out, err := c.Det(t, "experiment", "delete", strconv.Itoa(id), "--yes"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	rig.Eventually(t, "the end of the experiment", func() (bool, error) {
		e, err := client.Call(t.Context(), c.Client, v1.GetExperiment, id)
		if err == nil {
			err = fmt.Errorf("the experiment is %s: %s", e.Experiment.State, e.Experiment.Error)
		}
		return fault.Is(err, fault.NotFound), err
	})
	for _, folder := range []string{uuids[2], uuids[4], events} {
		if got := c.there(t, id, folder); len(got) > 0 {
			t.Errorf("left: %v", got)
		}
	}
}

// shownNowhere tests that no Nomad job and no row contains the credentials.
func (c *cloud) shownNowhere(t *testing.T, id int) {
	jobs := string(c.Get(t, c.NomadURL+"/v1/jobs?meta=true"))
	var list []struct{ ID string }
	if err := json.Unmarshal([]byte(jobs), &list); err != nil {
		t.Fatal(err)
	}
	for _, job := range list {
		jobs += string(c.Get(t, c.NomadURL+"/v1/job/"+job.ID))
	}
	for _, secret := range c.secrets {
		if strings.Contains(jobs, secret) {
			t.Errorf("a job of Nomad's has %s", secret)
		}
		for _, table := range []string{"allocations", "tasks", "experiments"} {
			if n := rig.Value[int](t, c.Rig, `SELECT count(*) FROM `+table+` r WHERE r::text LIKE '%' || $1 || '%' AND r::text NOT LIKE '%AccountKey%'`, secret); n > 0 {
				t.Errorf("%d rows of %s have %s", n, table, secret)
			}
		}
	}
}
