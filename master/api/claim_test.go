package api

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/control/rows"
	"github.com/detent-ml/detent/master/task"
)

func TestClaimAndSpec(t *testing.T) {
	r := newRig(t)
	a := r.place(sharedStorage("/shared"), 2)
	me := a.identify(1)
	got := a.claim(1, me, "p1").ok().tree()
	spec := got["spec"].(map[string]any)
	env := spec["env"].(map[string]any)
	for name, want := range map[string]string{
		"DET_MASTER": "{{DET_MASTER}}", "DET_CLUSTER_ID": "cluster-1", "DET_AGENT_ID": "node-1", "DET_SLOT_IDS": "[1]", "DET_TASK_ID": a.task,
		"DET_ALLOCATION_ID": a.id, "DET_TASK_TYPE": "TRIAL", "DET_SESSION_TOKEN": got["token"].(string), "DET_USER": "determined",
		"DET_EXPERIMENT_ID": fmt.Sprint(a.exp), "DET_TRIAL_ID": fmt.Sprint(a.trial), "DET_TRIAL_RUN_ID": "1", "DET_HPARAMS": `{"lr":0.1}`,
		"DET_STEPS_COMPLETED": "0", "C10D_PORT": "29401", "FOO": "bar", "DET_CONTAINER_ID": "nomad-" + a.id + "-1", "DET_RESOURCES_TYPE": "docker-container",
	} {
		if env[name] != want {
			t.Errorf("%s is %q, want %q", name, env[name], want)
		}
	}
	if _, there := env["DET_LATEST_CHECKPOINT"]; there {
		t.Error("a fresh trial has a checkpoint")
	}
	if s := spec["entrypoint"].([]any); len(s) != 1 || s[0] != "python3 train.py" || spec["shell"] != true {
		t.Errorf("entrypoint %v, shell %v", s, spec["shell"])
	}
	mounts, _ := json.Marshal(spec["bindMounts"])
	if want := `[{"containerPath":"data","create":false,"hostPath":"/data","link":false,"propagation":"rprivate","readOnly":true},` +
		`{"containerPath":"/determined_shared_fs","create":true,"hostPath":"/shared","link":false,"propagation":"rprivate","readOnly":false}]`; string(mounts) != want {
		t.Errorf("mounts %s", mounts)
	}
	files := map[string]map[string]any{}
	for _, f := range spec["files"].([]any) {
		content, err := base64.StdEncoding.DecodeString(at(t, f, "content").(string))
		if err != nil {
			t.Fatal(err)
		}
		var m map[string]any
		if err := json.Unmarshal(content, &m); err != nil {
			t.Fatal(err)
		}
		files[filepath.Base(at(t, f, "path").(string))] = m
	}
	// What Determined's package passes on to its constructors: exactly these names.
	for name, keys := range map[string]string{
		"cluster.json":   "agent_id allocation_id cluster_id latest_checkpoint master_cert_file master_cert_name master_url session_token slot_ids task_id task_type",
		"trial.json":     "config debug experiment_id hparams inter_node_network_interface steps_completed trial_id trial_run_id trial_seed",
		"resources.json": "gpu_uuids",
	} {
		if have := strings.Join(sortedKeys(files[name]), " "); have != keys {
			t.Errorf("%s has %s, want %s", name, have, keys)
		}
	}
	if at(t, files["trial.json"], "config.searcher.max_length.batches") != 100.0 {
		t.Errorf("the configuration lost its length: %v", files["trial.json"]["config"])
	}
	// The code, by the path that the specification names, and in Determined's way.
	own := r.task(got["token"].(string))
	tgz := own.get(spec["contextUrl"].(string)).ok().body
	if names := tarNames(t, bytes.NewReader(tgz)); names != "train.py" {
		t.Errorf("the code has %q", names)
	}
	if b64 := at(t, own.get("/api/v1/tasks/"+a.task+"/context_directory").ok().tree(), "b64Tgz"); b64 != base64.StdEncoding.EncodeToString(tgz) {
		t.Error("the two forms of the code differ")
	}
	// The owner's session is good while the attempt lives, and not longer.
	session := as{r: r, header: "Authorization", token: "Bearer " + env["DET_USER_TOKEN"].(string)}
	if at(t, session.get("/api/v1/me").ok().tree(), "user.username") != "determined" {
		t.Error("the session is somebody else's")
	}
	// The same process gets the same token again if it repeats its claim; another process is
	// rejected.
	again := a.claim(1, me, "p1").ok().tree()
	if again["token"] != got["token"] {
		t.Error("a repeated claim got another token")
	}
	a.claim(1, me, "p2").says(409, "another runner process")
	a.claim(0, me, "p1").says(403, "rank-1", "rank-0")
	a.claim(0, "forged", "p1").says(401, "identity")
	a.claim(0, a.identify(0, func(w *task.Workload) { w.Namespace = "other" }), "p").says(403, "namespace other")
	a.claim(0, a.identify(0, func(w *task.Workload) { w.JobID = "det-elsewhere" }), "p").says(403, "det-elsewhere")
	a.claim(0, a.identify(0, func(w *task.Workload) { w.FirstOfGroup = false }), "p").says(409, "replace")
	a.claim(0, a.identify(0), "").says(400, "nonce")
}

func sortedKeys(m map[string]any) []string {
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	for i := range keys {
		for j := i; j > 0 && keys[j] < keys[j-1]; j-- {
			keys[j], keys[j-1] = keys[j-1], keys[j]
		}
	}
	return keys
}

func TestEntrypoints(t *testing.T) {
	r := newRig(t)
	for _, c := range []struct{ entrypoint, want string }{
		{"entrypoint: [python3, -c, 'print(1)']", `["python3","-c","print(1)"] false`},
		{"entrypoint: model_def:IrisTrial", `["python3","-m","determined.launch.torch_distributed","--","--trial","model_def:IrisTrial"] false`},
		{"entrypoint: echo $HOME && true", `["echo $HOME && true"] true`},
	} {
		a := r.running(strings.Replace(yaml(), "entrypoint: python3 train.py", c.entrypoint, 1), 1)
		spec := a.claimed[0]["spec"].(map[string]any)
		argv, _ := json.Marshal(spec["entrypoint"])
		var plain bytes.Buffer
		plain.WriteString(strings.ReplaceAll(string(argv), `\u0026`, "&"))
		if got := fmt.Sprint(plain.String(), " ", spec["shell"]); got != c.want {
			t.Errorf("%s: %s, want %s", c.entrypoint, got, c.want)
		}
	}
}

// TestEntrypointOfOneWord: det cmd run "sleep 10s" sends a list of one, which is
// a line for a shell; more words are a program and its arguments.
func TestEntrypointOfOneWord(t *testing.T) {
	r := newRig(t)
	for _, c := range []struct{ entrypoint, want string }{
		{`["sleep 10s"]`, `["sleep 10s"] true`},
		{`["sleep", "10s"]`, `["sleep","10s"] false`},
		{`["a:b"]`, `["a:b"] true`},
	} {
		var got map[string]any
		r.user("determined").post("/api/v1/commands", `{"config":{"resources":{"slots":0},"entrypoint":`+c.entrypoint+`}}`).ok().into(&got)
		spec := r.begin(at(t, got, "command.id").(string)).claimed[0]["spec"].(map[string]any)
		argv, _ := json.Marshal(spec["entrypoint"])
		if have := fmt.Sprint(string(argv), " ", spec["shell"]); have != c.want {
			t.Errorf("%s: %s, want %s", c.entrypoint, have, c.want)
		}
	}
}

func TestTasksKeepToThemselves(t *testing.T) {
	r := newRig(t)
	a, b := r.running(yaml(), 2), r.running(yaml(), 1)
	me := a.ranks[0]
	for _, path := range []string{"/signals/ack_preemption", "/signals/pending_preemption", "/ready", "/waiting", "/proxy_address",
		"/acceleratorData", "/all_gather", "/resources/x/daemon"} {
		me.post(b.path(path), "{}").says(403, a.id, b.id)
		r.user("determined").post(b.path(path), "{}").says(403, "only the task itself")
	}
	me.get(b.path("/signals/preemption")).says(403, b.id)
	me.get(b.path("/resources/x/rendezvous")).says(403, b.id)
	me.post("/api/v1/detent/allocations/"+b.id+"/members/0/exit", "{}").says(403)
	me.post("/api/v1/detent/allocations/"+a.id+"/members/1/exit", "{}").says(403, "rank 0", "rank 1")
	for _, path := range []string{"/metrics", "/training_metrics", "/progress", "/early_exit", "/runner/metadata", "/searcher/completed_operation"} {
		me.post(b.trialPath(path), "{}").says(403)
	}
	me.post("/api/v1/runs/start", fmt.Sprintf(`{"runId":%d}`, b.trial)).says(403)
	me.post(fmt.Sprintf("/api/v1/runs/%d/metadata", b.trial), "{}").says(403)
	me.get("/api/v1/tasks/"+b.task+"/context_directory").says(403, b.task)
	me.get("/api/v1/detent/tasks/"+b.task+"/context.tar.gz").says(403, b.task)
	me.post("/api/v1/task/logs", `{"logs":[{"task_id":"`+b.task+`","log":"x"}]}`).says(403, b.task)
	me.post("/api/v1/detent/logs", `{"shipper":"s","taskId":"`+b.task+`"}`).says(403, b.task)
	me.post("/api/v1/checkpoints", `{"uuid":"11111111-1111-1111-1111-111111111111","taskId":"`+b.task+`","state":"STATE_COMPLETED"}`).says(403, b.task)
	// Nor may another person than its owner.
	r.user("admin").post("/api/v1/users", `{"user":{"username":"eve","active":true}}`).ok()
	r.user("eve").post(b.trialPath("/metrics"), `{"group":"training","metrics":{"trialRunId":1,"stepsCompleted":1,"metrics":{}}}`).says(403, "eve")
}

func TestEndedAttemptsToken(t *testing.T) {
	r := newRig(t)
	a := r.running(yaml(), 1)
	r.apply(rows.Changes{Allocations: []rows.AllocationChange{{ID: a.id, Saw: "ASSIGNED", State: "TERMINATED", Ended: true, Outcome: "lost"}}})
	me := a.ranks[0]
	// The master rejects metrics and checkpoints; it accepts the last lines and the exit.
	me.post(a.trialPath("/metrics"), "{}").says(401, "has ended")
	me.post("/api/v1/checkpoints", "{}").says(401, "has ended")
	me.post("/api/v1/detent/logs", `{"shipper":"s","first":0,"lines":[{"timestamp":"2026-01-01T00:00:00Z","log":"last words"}],"done":true}`).ok()
	me.post("/api/v1/detent/allocations/"+a.id+"/members/0/exit", `{"exitCode":0}`).ok()
}

func TestTasksWhileTheDatabaseIsAway(t *testing.T) {
	r := newRig(t)
	a := r.running(yaml(), 1)
	r.db.Close()
	me := a.ranks[0]
	calls := []answer{
		a.claim(0, a.identify(0), "n"),
		me.post("/api/v1/detent/allocations/"+a.id+"/members/0/exit", "{}"), me.post("/api/v1/detent/allocations/"+a.id+"/members/0/rendezvous", ""),
		me.get(a.path("/resources/x/rendezvous")), me.post(a.path("/all_gather"), `{"numPeers":1,"data":{}}`),
		me.get(a.path("/signals/preemption?timeout_seconds=0")), me.post(a.path("/signals/ack_preemption"), ""), me.post(a.path("/ready"), ""),
		me.post("/api/v1/runs/start", fmt.Sprintf(`{"runId":%d,"checkpointStorage":{"type":"directory"}}`, a.trial)),
		me.post(a.trialPath("/metrics"), `{"group":"training","metrics":{"trialRunId":1,"stepsCompleted":1,"metrics":{"avgMetrics":{}}}}`),
		me.post(a.trialPath("/progress"), "0.5"), me.post(a.trialPath("/early_exit"), `{"reason":"EXITED_REASON_INVALID_HP"}`),
		me.post("/api/v1/checkpoints", `{"uuid":"aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee","state":"STATE_COMPLETED"}`),
		me.get("/api/v1/checkpoints/aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee"), me.get("/api/v1/tasks/" + a.task + "/context_directory"),
		me.post("/api/v1/detent/logs", `{"shipper":"s","lines":[{"log":"x"}]}`), me.post("/api/v1/task/logs", `{"logs":[{"task_id":"`+a.task+`","log":"x"}]}`),
	}
	for _, got := range calls {
		if got.says(503, "database"); got.header.Get("Retry-After") != "1" {
			t.Errorf("%s: Retry-After is %q", got.what, got.header.Get("Retry-After"))
		}
	}
}

// TestTheOperatorsHook: every task gets the operators' hook as a file; the hook of a pool replaces
// the cluster's.
func TestTheOperatorsHook(t *testing.T) {
	hook := func(s string) *string { return &s }
	for want, change := range map[string]func(*Config){
		"": func(*Config) {},
		"export SITE=north": func(c *Config) {
			c.Site.Defaults.StartupHook = hook("export SITE=north")
		},
		"export SITE=south": func(c *Config) {
			c.Site.Defaults.StartupHook = hook("export SITE=north")
			c.Pools[0].Defaults.StartupHook = hook("export SITE=south")
		},
	} {
		a := newRig(t, change).running(yaml(), 1)
		got := ""
		for _, f := range at(t, a.claimed[0], "spec.files").([]any) {
			if f := f.(map[string]any); f["path"] == "/run/determined/dynamic-tcd-startup-hook.sh" {
				content, err := base64.StdEncoding.DecodeString(f["content"].(string))
				if err != nil {
					t.Fatal(err)
				}
				got = string(content)
			}
		}
		if got != want {
			t.Errorf("the hook is %q, want %q", got, want)
		}
	}
}
