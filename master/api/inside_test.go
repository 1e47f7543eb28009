package api

import (
	"archive/tar"
	"archive/zip"
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/detent-ml/detent/master/store"
)

// attempt is a running attempt of a trial, with its members' clients.
type attempt struct {
	r       *rig
	exp     int
	trial   int
	task    string
	id      string
	ranks   []as
	claimed []map[string]any // what the gate answered each member
}

// place makes an attempt ready to be claimed: a new one of a new trial.
func (r *rig) place(config string, members int) *attempt {
	r.t.Helper()
	a := &attempt{r: r, exp: r.user("determined").create(config, `"activate":true`, `"modelDefinition":[`+modelFile("train.py", "print(1)\n")+`]`)}
	a.trial, a.task = r.trial(a.exp, 0)
	a.id = a.task + ".1"
	a.put(members)
	r.runOf(a, 1)
	return a
}

// put places the attempt on nodes.
func (a *attempt) put(members int) {
	p := store.Placement{AllocationID: a.id}
	for rank := range members {
		p.Members = append(p.Members, store.PlacedMember{Rank: rank, NodeID: fmt.Sprint("n", rank), NodeName: fmt.Sprint("node-", rank), SlotIDs: []int{rank}})
	}
	a.r.apply(store.Changes{Placements: []store.Placement{p}})
}

// runOf makes a run the trial's newest, as the loop does when it queues one.
func (r *rig) runOf(a *attempt, run int) {
	r.apply(store.Changes{Trials: []store.TrialChange{{ID: a.trial, Saw: "ACTIVE", State: "ACTIVE", RunID: run}}})
}

// next ends the attempt and starts the trial's next one.
func (a *attempt) next(run, members int) *attempt {
	a.r.t.Helper()
	a.r.apply(store.Changes{Allocations: []store.AllocationChange{{ID: a.id, Saw: "ASSIGNED", State: "TERMINATED", Ended: true, Outcome: "lost"}}})
	b := &attempt{r: a.r, exp: a.exp, trial: a.trial, task: a.task, id: fmt.Sprintf("%s.%d", a.task, run)}
	a.r.apply(store.Changes{NewAllocations: []store.NewAllocation{{ID: b.id, TaskID: a.task, RunID: run, Pool: "default", Slots: members, Priority: 42}}})
	b.put(members)
	a.r.runOf(b, run)
	return b.claimAll(members)
}

// identify makes an identity for a member.
func (a *attempt) identify(rank int, change ...func(*Workload)) string {
	w := Workload{Namespace: "default", JobID: "det-" + strings.ReplaceAll(a.id, ".", "-"), Group: fmt.Sprint("rank-", rank),
		NomadAllocID: fmt.Sprintf("nomad-%s-%d", a.id, rank), FirstOfGroup: true, NodeID: fmt.Sprint("n", rank)}
	for _, c := range change {
		c(&w)
	}
	jwt := fmt.Sprintf("jwt-%d", len(a.r.identity.known))
	a.r.identity.known[jwt] = w
	return jwt
}

func (a *attempt) claim(rank int, jwt, nonce string) answer {
	a.r.t.Helper()
	return a.r.anyone().post("/api/v1/detent/allocations/"+a.id+"/claim", fmt.Sprintf(
		`{"rank":%d,"identity":%q,"nonce":%q,"address":"10.0.0.%d","ports":{"c10d":%d}}`, rank, jwt, nonce, rank+1, 29400+rank))
}

func (a *attempt) claimAll(members int) *attempt {
	a.r.t.Helper()
	for rank := range members {
		got := a.claim(rank, a.identify(rank), "n").ok().tree()
		a.claimed = append(a.claimed, got)
		a.ranks = append(a.ranks, a.r.task(got["token"].(string)))
	}
	return a
}

// running is an attempt whose members have passed the gate.
func (r *rig) running(config string, members int) *attempt {
	r.t.Helper()
	return r.place(config, members).claimAll(members)
}

func (a *attempt) path(rest string) string   { return "/api/v1/allocations/" + a.id + rest }
func (a *attempt) trialPath(s string) string { return fmt.Sprintf("/api/v1/trials/%d%s", a.trial, s) }

// sharedStorage is a configuration whose checkpoints lie in a folder.
func sharedStorage(dir string) string {
	return yaml("checkpoint_storage: {type: shared_fs, host_path: "+dir+", storage_path: ckpt}",
		"environment: {environment_variables: [FOO=bar, DET_USER=mallory]}", "bind_mounts: [{host_path: /data, container_path: data, read_only: true}]")
}

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
	if want := `[{"containerPath":"data","create":false,"hostPath":"/data","propagation":"rprivate","readOnly":true},` +
		`{"containerPath":"/determined_shared_fs","create":true,"hostPath":"/shared","propagation":"rprivate","readOnly":false}]`; string(mounts) != want {
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
	task := r.task(got["token"].(string))
	tgz := task.get(spec["contextUrl"].(string)).ok().body
	if names := tarNames(t, bytes.NewReader(tgz)); names != "train.py" {
		t.Errorf("the code has %q", names)
	}
	if b64 := at(t, task.get("/api/v1/tasks/"+a.task+"/context_directory").ok().tree(), "b64Tgz"); b64 != base64.StdEncoding.EncodeToString(tgz) {
		t.Error("the two forms of the code differ")
	}
	// The owner's session is good while the attempt lives, and not longer.
	session := as{r: r, header: "Authorization", token: "Bearer " + env["DET_USER_TOKEN"].(string)}
	if at(t, session.get("/api/v1/me").ok().tree(), "user.username") != "determined" {
		t.Error("the session is somebody else's")
	}
	// The same process again gets a new token; another one is refused.
	again := a.claim(1, me, "p1").ok().tree()
	if again["token"] == got["token"] {
		t.Error("a repeated claim got the old token")
	}
	a.claim(1, me, "p2").says(409, "another runner process")
	a.claim(0, me, "p1").says(403, "rank-1", "rank-0")
	a.claim(0, "forged", "p1").says(401, "identity")
	a.claim(0, a.identify(0, func(w *Workload) { w.Namespace = "other" }), "p").says(403, "namespace other")
	a.claim(0, a.identify(0, func(w *Workload) { w.JobID = "det-elsewhere" }), "p").says(403, "det-elsewhere")
	a.claim(0, a.identify(0, func(w *Workload) { w.FirstOfGroup = false }), "p").says(409, "replace")
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

// A task may only speak for itself.
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
	r.apply(store.Changes{Allocations: []store.AllocationChange{{ID: a.id, Saw: "ASSIGNED", State: "TERMINATED", Ended: true, Outcome: "lost"}}})
	me := a.ranks[0]
	// Metrics and checkpoints are refused; the last lines and the exit are taken.
	me.post(a.trialPath("/metrics"), "{}").says(401, "is over")
	me.post("/api/v1/checkpoints", "{}").says(401, "is over")
	me.post("/api/v1/detent/logs", `{"shipper":"s","first":0,"lines":[{"timestamp":"2026-01-01T00:00:00Z","log":"last words"}],"done":true}`).ok()
	me.post("/api/v1/detent/allocations/"+a.id+"/members/0/exit", `{"exitCode":0}`).ok()
}

func TestMetricsByAPI(t *testing.T) {
	r := newRig(t)
	a := r.running(yaml(), 1)
	me := a.ranks[0]
	report := func(group string, step int, metrics string) answer {
		return me.post(a.trialPath("/metrics"), fmt.Sprintf(`{"group":%q,"metrics":{"trialId":%d,"trialRunId":1,"stepsCompleted":%d,"reportTime":null,
			"metrics":{"avgMetrics":%s,"batchMetrics":null}}}`, group, a.trial, step, metrics))
	}
	if b := report("training", 1, `{"loss":1.5,"nan":"NaN"}`).ok().body; string(b) != "{}" {
		t.Errorf("the answer is %s", b)
	}
	report("training", 1, `{"nan":"NaN","loss":1.50}`).ok()
	report("training", 1, `{"loss":2}`).says(400, `"loss"`, "1.5")
	report("validation", 1, `{"loss":0.5}`).ok()
	me.post(a.trialPath("/validation_metrics"), `{"trialRunId":1,"stepsCompleted":2,"metrics":{"avgMetrics":{"loss":0.25}}}`).ok()
	me.post(a.trialPath("/metrics"), `{"group":"cpu","metrics":{"trialRunId":1,"reportTime":"2026-01-02T03:04:05.5+00:00","metrics":{"avgMetrics":{"node-0":{"cpu_util":5}}}}}`).ok()
	me.post(a.trialPath("/metrics"), `{"group":"training","metrics":{"trialRunId":0,"stepsCompleted":3,"metrics":{"avgMetrics":{}}}}`).says(409, "run 0", "run 1")
	me.post(a.trialPath("/metrics"), `{"group":"training","metrics":{"trialId":77,"trialRunId":1,"metrics":{}}}`).says(400, "77")
	me.post(a.trialPath("/metrics"), `{"group":"training","metrics":{"trialRunId":1,"metrics":{"avgMetrics":[1]}}}`).says(400, "avgMetrics", "an object")
	me.post(a.trialPath("/metrics"), `not json`).says(400, "not JSON")
	for _, c := range []struct{ path, want string }{
		{"training_metrics?trialIds=%d", `{"result":{"metrics":[{"archived":false,"endTime":"T","group":"training","id":N,"metrics":{"avg_metrics":{"nan": "NaN", "loss": 1.5}},"totalBatches":1,"trialId":1,"trialRunId":1}]}}`},
		{"trial_metrics?trialIds=%d&group=cpu", `{"result":{"metrics":[{"archived":false,"endTime":"T","group":"cpu","id":N,"metrics":{"avg_metrics":{"node-0": {"cpu_util": 5}}},"totalBatches":0,"trialId":1,"trialRunId":1}]}}`},
	} {
		got := string(me.get("/api/v1/trials/metrics/" + fmt.Sprintf(c.path, a.trial)).ok().body)
		if masked := maskReport(got); masked != c.want+"\n" {
			t.Errorf("%s:\n%s\nwant\n%s", c.path, masked, c.want)
		}
	}
	if got := string(me.get(fmt.Sprintf("/api/v1/trials/metrics/validation_metrics?trialIds=%d", a.trial)).ok().body); strings.Count(got, `{"validation_metrics":{"loss"`) != 2 {
		t.Error(got)
	}
	me.get("/api/v1/trials/metrics/trial_metrics").says(400, "trialIds")
	me.get("/api/v1/trials/metrics/trial_metrics?trialIds=99").says(404, "trial 99")

	series := me.get(fmt.Sprintf("/api/v1/trials/time-series?trialIds=%d&metricIds=validation.loss&startBatches=2", a.trial)).ok().tree()
	data := at(t, series, "trials.0.metrics.0").(map[string]any)
	if data["group"] != "validation" || data["type"] != "METRIC_TYPE_VALIDATION" || at(t, data, "data.0.batches") != 2.0 || at(t, data, "data.0.values.loss") != 0.25 {
		t.Errorf("%v", data)
	}
	me.get(fmt.Sprintf("/api/v1/trials/time-series?trialIds=%d&metricIds=loss", a.trial)).says(400, "group.name")
	filtered := me.get(fmt.Sprintf("/api/v1/trials/time-series?trialIds=%d&metricNames=loss&metricType=METRIC_TYPE_VALIDATION&timeSeriesFilter.name=batches&timeSeriesFilter.integerRange.lte=1", a.trial)).ok().tree()
	if n := len(at(t, filtered, "trials.0.metrics.0.data").([]any)); n != 1 {
		t.Errorf("%d points", n)
	}
	if got := me.get(fmt.Sprintf("/api/v1/experiments/%d/searcher/best_searcher_validation_metric", a.exp)).ok().tree()["metric"]; got != 0.25 {
		t.Errorf("the best is %v", got)
	}
}

// maskReport takes out what differs from run to run.
func maskReport(s string) string {
	for _, m := range []struct{ from, to, mask string }{{`"endTime":"`, `"`, "T"}, {`"id":`, ",", "N"}} {
		if i := strings.Index(s, m.from); i >= 0 {
			begin := i + len(m.from)
			end := begin + strings.Index(s[begin:], m.to)
			s = s[:begin] + m.mask + s[end:]
		}
	}
	return s
}

// A browser sees each report once, also across an interruption.
func TestLiveMetrics(t *testing.T) {
	r := newRig(t)
	a := r.running(yaml(), 1)
	report := func(step int) {
		t.Helper()
		a.ranks[0].post(a.trialPath("/metrics"), fmt.Sprintf(`{"group":"training","metrics":{"trialRunId":1,"stepsCompleted":%d,"metrics":{"avgMetrics":{"loss":1}}}}`, step)).ok()
	}
	me := r.user("determined")
	s := me.open(fmt.Sprintf("/api/v1/detent/trials/%d/metrics/live", a.trial), nil)
	if e := s.event(); e.name != "position" {
		t.Fatalf("%+v", e)
	}
	for step := 1; step <= 3; step++ {
		report(step)
	}
	last := ""
	for step := 1; step <= 3; step++ {
		e := s.event()
		if !strings.Contains(e.data, fmt.Sprintf(`"totalBatches":%d,`, step)) {
			t.Fatalf("step %d: %+v", step, e)
		}
		last = e.id
	}
	s.close()
	report(4)
	s = me.open(fmt.Sprintf("/api/v1/detent/trials/%d/metrics/live", a.trial), http.Header{"Last-Event-ID": {last}})
	report(5)
	for step := 4; step <= 5; {
		e := s.event()
		if e.name == "position" {
			continue
		}
		if !strings.Contains(e.data, fmt.Sprintf(`"totalBatches":%d,`, step)) {
			t.Fatalf("step %d: %+v", step, e)
		}
		step++
	}
	s.close()
	me.get(fmt.Sprintf("/api/v1/detent/trials/%d/metrics/live?after=nonsense", a.trial)).says(400, "position")
}

// stream is an answer that is read while it is written.
type stream struct {
	t    testing.TB
	body io.ReadCloser
	in   *bufio.Reader
	stop context.CancelFunc
}

func (c as) open(path string, header http.Header) *stream {
	c.r.t.Helper()
	ctx, stop := context.WithTimeout(context.Background(), 30*time.Second)
	req, err := http.NewRequestWithContext(ctx, "GET", c.r.url+path, nil)
	if err != nil {
		c.r.t.Fatal(err)
	}
	for k, v := range header {
		req.Header[k] = v
	}
	req.Header.Set(c.header, c.token)
	resp, err := c.r.client.Do(req)
	if err != nil {
		c.r.t.Fatal(err)
	}
	if resp.StatusCode != 200 {
		b, _ := io.ReadAll(resp.Body)
		c.r.t.Fatalf("%s: %d %s", path, resp.StatusCode, b)
	}
	s := &stream{c.r.t, resp.Body, bufio.NewReader(resp.Body), stop}
	c.r.t.Cleanup(s.close)
	return s
}

func (s *stream) close() { s.stop(); s.body.Close() }

func (s *stream) line() (string, error) {
	line, err := s.in.ReadString('\n')
	return strings.TrimSuffix(line, "\n"), err
}

type event struct{ name, id, data string }

func (s *stream) event() event {
	s.t.Helper()
	var e event
	for {
		line, err := s.line()
		if err != nil {
			s.t.Fatalf("the stream ended: %v", err)
		}
		k, v, _ := strings.Cut(line, ": ")
		switch {
		case line == "" && (e != event{}):
			return e
		case k == "event":
			e.name = v
		case k == "id":
			e.id = v
		case k == "data":
			e.data = v
		}
	}
}

func TestRunsAndProgress(t *testing.T) {
	r := newRig(t)
	a := r.running(yaml(), 1)
	me := a.ranks[0]
	start := func(storage string) any {
		return me.post("/api/v1/runs/start", fmt.Sprintf(`{"runId":%d,"checkpointStorage":%s}`, a.trial, storage)).ok().tree()["storageId"]
	}
	one := start(`{"type":"shared_fs","host_path":"/a","save_trial_best":1}`)
	if one == nil || start(`{"host_path":"/a","type":"shared_fs","save_trial_best":5}`) != one || start(`{"type":"shared_fs","host_path":"/b"}`) == one {
		t.Errorf("numbers of storages: %v", one)
	}
	if start("null") != nil {
		t.Error("no storage has a number")
	}
	me.post("/api/v1/runs/start", fmt.Sprintf(`{"runId":%d,"checkpointStorage":{"host_path":"/a"}}`, a.trial)).says(400, "type")

	meta := fmt.Sprintf("/api/v1/runs/%d/metadata", a.trial)
	if got := me.post(meta, fmt.Sprintf(`{"runId":%d,"metadata":{"a":1}}`, a.trial)).ok().body; string(got) != `{"metadata":{"a":1}}` {
		t.Errorf("%s", got)
	}
	me.post(meta, `{"metadata":{"b":{"c":[1,"x"]}}}`).ok()
	if got := me.get(meta).ok().body; string(got) != `{"metadata":{"b": {"c": [1, "x"]}}}` {
		t.Errorf("%s", got)
	}

	progress := func() any { return trialProgress(t, r, a.trial) }
	for _, c := range []struct {
		body string
		want float64
	}{{`{"progress":0.42,"is_raw":true}`, 0.42}, {`{"progress":50}`, 0.5}, {"25.0", 0.25}, {`{"progress":7,"isRaw":true}`, 1}} {
		me.post(a.trialPath("/progress"), c.body).ok()
		if got := progress(); got != c.want {
			t.Errorf("%s: %v, want %v", c.body, got, c.want)
		}
	}
	me.post(a.trialPath("/progress"), `{"progress":"x"}`).says(400, "a number")
	me.post(a.trialPath("/runner/metadata"), `{"state":"training"}`).ok()
	if got := at(t, me.get(a.trialPath("")).ok().tree(), "trial.runnerState"); got != "training" {
		t.Errorf("%v", got)
	}
	me.post(a.trialPath("/early_exit"), `{"reason":"EXITED_REASON_NONSENSE"}`).says(400, "EXITED_REASON_INVALID_HP")
	me.post(a.trialPath("/early_exit"), `{"reason":"EXITED_REASON_INVALID_HP"}`).ok()
	me.post(a.trialPath("/early_exit"), `{"reason":"EXITED_REASON_INVALID_HP"}`).ok()
	me.post(a.trialPath("/early_exit"), `{"reason":"EXITED_REASON_USER_REQUESTED_STOP"}`).says(400, "INVALID_HP")
	me.post("/api/v1/trial-source-info", `{}`).says(501, "does not record")

	op := me.get(a.trialPath("/searcher/operation")).ok().tree()
	if at(t, op, "op.validateAfter.length") != "100" || op["completed"] != false {
		t.Errorf("%v", op)
	}
	me.post(a.trialPath("/searcher/completed_operation"), `{"op":{"length":99},"searcherMetric":0.5}`).says(400, "100")
	me.post(a.trialPath("/searcher/completed_operation"), `{"op":{"length":100},"searcherMetric":0.5}`).ok()
	if op := me.get(a.trialPath("/searcher/operation")).ok().tree(); op["completed"] != true {
		t.Errorf("%v", op)
	}
}

func trialProgress(t *testing.T, r *rig, id int) float64 {
	t.Helper()
	tr, err := r.db.Trial(context.Background(), id)
	if err != nil || tr.Progress == nil {
		t.Fatal(tr, err)
	}
	return *tr.Progress
}

func TestPreemption(t *testing.T) {
	r := newRig(t)
	a := r.running(yaml(), 1)
	me := a.ranks[0]
	poll := a.path("/signals/preemption?timeout_seconds=")
	if got := me.get(poll + "0").ok().body; string(got) != `{"preempt":false}` {
		t.Errorf("%s", got)
	}
	me.get(poll+"-1").says(400, "negative")
	answers := make(chan answer)
	go func() { answers <- me.get(poll + "60") }()
	select {
	case a := <-answers:
		t.Fatalf("nobody asked: %s", a.body)
	case <-time.After(50 * time.Millisecond): // it is still waiting; if it were not, the answer would be here
	}
	reason := "somebody more important came"
	r.apply(store.Changes{Allocations: []store.AllocationChange{{ID: a.id, Saw: "ASSIGNED", State: "ASSIGNED", Preempt: &reason}}})
	r.bus.Publish(store.AllocationTopic(a.id))
	if got := (<-answers).ok().body; string(got) != `{"preempt":true}` {
		t.Errorf("%s", got)
	}
	if got := me.get(poll + "60").ok().body; string(got) != `{"preempt":true}` {
		t.Errorf("the second time: %s", got)
	}
	wake, cancel := r.bus.Subscribe(store.TopicEvents)
	defer cancel()
	me.post(a.path("/signals/ack_preemption"), "").ok()
	select {
	case <-wake:
	default:
		t.Error("an acknowledgement did not wake the loop")
	}
	me.post(a.path("/signals/pending_preemption"), "").ok()
	me.post(a.path("/ready"), "").ok()
	me.post(a.path("/proxy_address"), `{"proxyAddress":"10.0.0.9"}`).ok()
	me.post(a.path("/acceleratorData"), `{"allocationId":"x","acceleratorData":{"nodeName":"node-0","acceleratorType":"cpu","acceleratorUuids":[]}}`).ok()
	me.post(a.path("/resources/r/daemon"), "").ok()
}

func TestRendezvous(t *testing.T) {
	r := newRig(t)
	one := r.running(yaml(), 1) // waits for nobody, registered or not
	if got := one.ranks[0].get(one.path("/resources/x/rendezvous")).ok().body; string(got) != `{"rendezvousInfo":{"addresses":["10.0.0.1"],"rank":0,"slots":[1]}}` {
		t.Errorf("%s", got)
	}
	a := r.running(yaml(), 3)
	answers := make([]answer, 3)
	var wg sync.WaitGroup
	call := func(rank int) {
		wg.Go(func() {
			if rank == 2 {
				answers[rank] = a.ranks[rank].get(a.path("/resources/x/rendezvous"))
				return
			}
			answers[rank] = a.ranks[rank].post(fmt.Sprintf("/api/v1/detent/allocations/%s/members/%d/rendezvous", a.id, rank), "")
		})
	}
	call(0)
	call(2)
	waitFor(t, func() bool {
		places, err := r.db.MemberPlaces(context.Background(), a.id)
		return err == nil && places[0].Arrived && places[2].Arrived
	})
	call(1) // all have arrived; now the catalogue learns of them, last of rank 0
	members := map[int]Endpoint{1: {"10.1.0.1", map[string]int{"c10d": 1}}, 2: {"10.1.0.2", nil}}
	r.discovery.set(a.id, members)
	r.discovery.set(a.id, map[int]Endpoint{0: {"10.1.0.0", map[string]int{"c10d": 7}}, 1: members[1], 2: members[2]})
	wg.Wait()
	for rank := range 2 {
		if got := string(answers[rank].ok().body); got != `{"ready":true,"waiting":"","addresses":["10.1.0.0","10.1.0.1","10.1.0.2"],"slots":[1,1,1],"ports":[{"c10d":7},{"c10d":1},{"c10d":29402}]}` {
			t.Errorf("rank %d: %s", rank, got)
		}
	}
	if got := string(answers[2].ok().body); got != `{"rendezvousInfo":{"addresses":["10.1.0.0","10.1.0.1","10.1.0.2"],"rank":2,"slots":[1,1,1]}}` {
		t.Errorf("Determined's form: %s", got)
	}
}

// waitFor polls until something is so.
func waitFor(t testing.TB, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); {
		if is() {
			return
		}
		<-time.After(5 * time.Millisecond)
	}
	t.Fatal("it did not come about in 20 seconds")
}

// set is for tests in which others look at the same time.
func (f *fakeDiscovery) set(allocation string, m map[int]Endpoint) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.members[allocation] = m
}

func TestAllGather(t *testing.T) {
	r := newRig(t)
	a := r.running(yaml(), 3)
	body := func(rank int) string {
		return fmt.Sprintf(`{"allocationId":%q,"requestUuid":"r%d","numPeers":3,"data":{"rank":%d}}`, a.id, rank, rank)
	}
	var wg sync.WaitGroup
	answers := make([]answer, 4)
	for i, rank := range []int{0, 1, 2, 1} { // one call is repeated while it waits
		wg.Go(func() { answers[i] = a.ranks[rank].post(a.path("/all_gather"), body(rank)) })
	}
	wg.Wait()
	for _, got := range answers {
		if string(got.ok().body) != string(answers[0].body) || strings.Count(string(got.body), "rank") != 3 {
			t.Errorf("%s, another got %s", got.body, answers[0].body)
		}
	}
	if again := a.ranks[2].post(a.path("/all_gather"), body(2)).ok().body; string(again) != string(answers[0].body) {
		t.Errorf("afterwards: %s", again)
	}
	a.ranks[0].post(a.path("/all_gather"), `{"numPeers":0}`).says(400, "numPeers")
	if got := a.ranks[0].post(a.path("/notify_container_running"), `{"data":{},"numPeers":1,"requestUuid":"n"}`).ok().body; string(got) != `{"data":[{}]}` {
		t.Errorf("%s", got)
	}
	// An attempt that ends answers those who wait.
	done := make(chan answer)
	go func() {
		done <- a.ranks[0].post(a.path("/all_gather"), `{"numPeers":2,"requestUuid":"late","data":{}}`)
	}()
	waitFor(t, func() bool {
		_, complete, err := r.db.Gathered(context.Background(), store.Gathering{AllocationID: a.id, About: "data", Round: 2})
		return err == nil && !complete
	})
	r.apply(store.Changes{Allocations: []store.AllocationChange{{ID: a.id, Saw: "ASSIGNED", State: "TERMINATED", Ended: true, Outcome: "killed"}}})
	r.bus.Publish(store.AllocationTopic(a.id))
	if got := <-done; got.code != 409 {
		t.Errorf("%d %s", got.code, got.body)
	}
}

func TestCheckpointsByAPI(t *testing.T) {
	r := newRig(t)
	dir := t.TempDir()
	a := r.running(sharedStorage(dir), 1)
	me, owner := a.ranks[0], r.user("determined")
	const id = "aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee"
	storage := me.post("/api/v1/runs/start", fmt.Sprintf(`{"runId":%d,"checkpointStorage":{"type":"shared_fs","host_path":%q,"storage_path":"ckpt"}}`, a.trial, dir)).ok().tree()["storageId"]
	body := fmt.Sprintf(`{"uuid":%q,"taskId":%q,"allocationId":%q,"state":"STATE_COMPLETED","reportTime":"2026-11-20T04:22:01.973297+00:00",
		"metadata":{"steps_completed":10,"k":"v"},"resources":{"model.bin":"5","sub/":"0","sub/x":"1"},"training":{},"storageId":%v}`, id, a.task, a.id, storage)
	for _, step := range []struct{ group, loss string }{{"training", "0.75"}, {"validation", "0.5"}} {
		me.post(a.trialPath("/metrics"), fmt.Sprintf(`{"group":%q,"metrics":{"trialRunId":1,"stepsCompleted":10,"metrics":{"avgMetrics":{"loss":%s}}}}`, step.group, step.loss)).ok()
	}
	me.post("/api/v1/checkpoints", body).ok()
	me.post("/api/v1/checkpoints", body).ok()
	me.post("/api/v1/checkpoints", strings.Replace(body, `"5"`, `"6"`, 1)).says(409, id)
	me.post("/api/v1/checkpoints", strings.Replace(body, id, "nonsense", 1)).says(400, "UUID")
	me.post("/api/v1/checkpoints", strings.Replace(body, "STATE_COMPLETED", "STATE_X", 1)).says(400, "STATE_X")
	me.post("/api/v1/checkpoints", strings.Replace(body, `:10`, `:"ten"`, 1)).says(400, "steps_completed")
	owner.post("/api/v1/checkpoints", body).says(403, "attempt")
	k := at(t, owner.get("/api/v1/checkpoints/"+id).ok().tree(), "checkpoint")
	for path, want := range map[string]any{"uuid": id, "state": "STATE_COMPLETED", "metadata.k": "v", "training.trialId": float64(a.trial), "taskId": a.task,
		"training.experimentId": float64(a.exp), "training.hparams.lr": 0.1, "training.searcherMetric": 0.5, "training.trainingMetrics.avgMetrics.loss": 0.75,
		"training.validationMetrics.avgMetrics.loss": 0.5, "training.experimentConfig.checkpoint_storage.host_path": dir, "allocationId": a.id} {
		if got := at(t, k, path); got != want {
			t.Errorf("%s is %v, want %v", path, got, want)
		}
	}
	if res := at(t, k, "resources").(map[string]any); res["model.bin"] != "5" { // its names have dots
		t.Errorf("%v", res)
	}
	noted := owner.post("/api/v1/checkpoints/"+id+"/metadata", `{"checkpoint":{"uuid":"`+id+`","metadata":{"note":"good"},"resources":{},"training":{},"state":"STATE_COMPLETED"}}`).ok().tree()
	if at(t, noted, "checkpoint.metadata.note") != "good" || at(t, noted, "checkpoint.metadata.steps_completed") != 10.0 {
		t.Errorf("%v", noted)
	}
	owner.get("/api/v1/checkpoints/nonsense").says(400, "UUID")
	owner.get("/api/v1/checkpoints/" + strings.Replace(id, "a", "b", 1)).says(404)

	// The files.
	owner.get("/checkpoints/"+id).says(404, "no folder")
	files := filepath.Join(dir, "ckpt", id)
	write := func(path, content string) {
		t.Helper()
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(content), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(files, "sub", "x"), "1")
	owner.get("/checkpoints/"+id).says(404, "model.bin")
	write(filepath.Join(files, "model.bin"), "12345")
	write(filepath.Join(files, "not-reported"), "no")
	got := owner.with("GET", "/checkpoints/"+id, nil, http.Header{"Accept": {"application/gzip"}}).ok()
	if names := tarNames(t, bytes.NewReader(got.body)); names != "model.bin sub/ sub/x" {
		t.Errorf("the archive has %s", names)
	}
	zipped := owner.with("GET", "/checkpoints/"+id, nil, http.Header{"Accept": {"application/zip"}}).ok()
	z, err := zip.NewReader(bytes.NewReader(zipped.body), int64(len(zipped.body)))
	if err != nil || len(z.File) != 3 || z.File[0].Name != "model.bin" || z.File[0].UncompressedSize64 != 5 {
		t.Errorf("%v %v", z, err)
	}
	r.anyone().get("/checkpoints/" + id).says(401)
	// Nothing leads out of the folder.
	secret := filepath.Join(t.TempDir(), "secret")
	write(secret, "x")
	if err := errors.Join(os.Remove(filepath.Join(files, "model.bin")), os.Symlink(secret, filepath.Join(files, "model.bin"))); err != nil {
		t.Fatal(err)
	}
	owner.get("/checkpoints/"+id).says(403, "model.bin")
	up := strings.Replace(strings.Replace(body, id, "aaaaaaaa-bbbb-cccc-dddd-ffffffffffff", 1), "model.bin", "../../../etc/passwd", 1)
	me.post("/api/v1/checkpoints", up).ok()
	if err := os.MkdirAll(filepath.Join(dir, "ckpt", "aaaaaaaa-bbbb-cccc-dddd-ffffffffffff"), 0o755); err != nil {
		t.Fatal(err)
	}
	owner.get("/checkpoints/aaaaaaaa-bbbb-cccc-dddd-ffffffffffff").says(403, "passwd")

	// Garbage collection says what it left.
	owner.patch("/api/v1/checkpoints", `{"checkpoints":[{"uuid":"`+id+`","resources":{"resources":{"sub/x":"1"}}}]}`).ok()
	if got := at(t, owner.get("/api/v1/checkpoints/"+id).ok().tree(), "checkpoint.state"); got != "STATE_PARTIALLY_DELETED" {
		t.Errorf("%v", got)
	}
	r.user("admin").post("/api/v1/users", `{"user":{"username":"eve","active":true}}`).ok()
	r.user("eve").patch("/api/v1/checkpoints", `{"checkpoints":[{"uuid":"`+id+`","resources":{"resources":{}}}]}`).says(403, "eve")
	// A run that was replaced reports nothing any more, and the next one starts from here.
	b := a.next(2, 1)
	spec := b.claimed[0]["spec"].(map[string]any)
	if at(t, spec, "env.DET_LATEST_CHECKPOINT") != "aaaaaaaa-bbbb-cccc-dddd-ffffffffffff" || at(t, spec, "env.DET_STEPS_COMPLETED") != "10" {
		t.Errorf("%v", spec["env"])
	}
	waitFor(t, func() bool {
		return me.post("/api/v1/checkpoints", strings.Replace(body, id, "aaaaaaaa-bbbb-cccc-dddd-000000000000", 1)).code == 401
	})
}

func tarNames(t *testing.T, r io.Reader) string {
	t.Helper()
	z, err := gzip.NewReader(r)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for tr := tar.NewReader(z); ; {
		h, err := tr.Next()
		if err == io.EOF {
			return strings.Join(names, " ")
		}
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, h.Name)
	}
}

func TestLogsByAPI(t *testing.T) {
	r := newRig(t)
	a := r.running(yaml(), 1)
	me, owner := a.ranks[0], r.user("determined")
	batch := `{"shipper":"s/0","first":0,"lines":[
		{"timestamp":"2026-11-20T04:22:01.5Z","log":"plain","stdtype":"stdout","source":"task","level":"LOG_LEVEL_UNSPECIFIED"},
		{"timestamp":"2026-11-20T04:22:02.123456Z","log":"ranked","stdtype":"stderr","source":"task","level":"LOG_LEVEL_INFO","rankId":3}]}`
	var gz, zs bytes.Buffer
	w := gzip.NewWriter(&gz)
	_, err1 := w.Write([]byte(batch))
	z, err2 := zstd.NewWriter(&zs)
	_, err3 := z.Write([]byte(batch))
	if err := errors.Join(err1, err2, err3, w.Close(), z.Close()); err != nil {
		t.Fatal(err)
	}
	for encoding, body := range map[string][]byte{"": []byte(batch), "gzip": gz.Bytes(), "zstd": zs.Bytes()} { // three times the same
		h := http.Header{}
		if encoding != "" {
			h.Set("Content-Encoding", encoding)
		}
		if got := me.with("POST", "/api/v1/detent/logs", bytes.NewReader(body), h).ok().body; string(got) != `{"next":"2"}` {
			t.Errorf("%s: %s", encoding, got)
		}
	}
	me.with("POST", "/api/v1/detent/logs", strings.NewReader("nonsense"), http.Header{"Content-Encoding": {"gzip"}}).says(400, "gzip")
	me.with("POST", "/api/v1/detent/logs", strings.NewReader("nonsense"), http.Header{"Content-Encoding": {"zstd"}}).says(400, "unpacked")
	me.with("POST", "/api/v1/detent/logs", strings.NewReader("x"), http.Header{"Content-Encoding": {"lzma"}}).says(400, "lzma")
	me.post("/api/v1/detent/logs", `{"lines":[]}`).says(400, "shipper")
	me.post("/api/v1/task/logs", `{"logs":[{"task_id":"`+a.task+`","allocation_id":"`+a.id+`","container_id":"0123456789ab","agent_id":"node-7","rank_id":1,
		"timestamp":"2026-11-20T04:22:03.000001+00:00","log":"theirs\n","stdtype":"stdout","source":"task","level":"LOG_LEVEL_WARNING"}]}`).ok()
	me.post("/task-logs", `[{"task_id":"`+a.task+`","timestamp":"2026-11-20T04:22:04","log":"old\n"}]`).ok()
	me.post("/task-logs", `[{"task_id":"`+a.task+`","id":5,"log":"x"}]`).says(400, "id")
	me.post("/task-logs", `[{"task_id":"`+a.task+`","log":"x"},{"task_id":"other","log":"x"}]`).says(400, "one task")

	logs := fmt.Sprintf("/api/v1/trials/%d/logs", a.trial)
	nomad := "nomad-" + a.id + "-0"
	want := fmt.Sprintf(`{"result":{"id":"1","level":"LOG_LEVEL_UNSPECIFIED","message":"[2026-11-20T04:22:01.500000Z] %[2]s || plain\n","timestamp":"2026-11-20T04:22:01.5Z","trialId":%[1]d,"agentId":"node-0","containerId":"%[3]s","log":"plain\n","source":"task","stdtype":"stdout"}}
{"result":{"id":"2","level":"LOG_LEVEL_INFO","message":"[2026-11-20T04:22:02.123456Z] %[2]s [rank=3] || INFO: ranked\n","timestamp":"2026-11-20T04:22:02.123456Z","trialId":%[1]d,"agentId":"node-0","containerId":"%[3]s","log":"ranked\n","rankId":3,"source":"task","stdtype":"stderr"}}
{"result":{"id":"3","level":"LOG_LEVEL_WARNING","message":"[2026-11-20T04:22:03.000001Z] 01234567 [rank=1] || WARNING: theirs\n","timestamp":"2026-11-20T04:22:03.000001Z","trialId":%[1]d,"agentId":"node-7","containerId":"0123456789ab","log":"theirs\n","rankId":1,"source":"task","stdtype":"stdout"}}
{"result":{"id":"4","level":"LOG_LEVEL_UNSPECIFIED","message":"[2026-11-20T04:22:04.000000Z]          || old\n","timestamp":"2026-11-20T04:22:04Z","trialId":%[1]d,"log":"old\n"}}
`, a.trial, nomad[:8], nomad)
	got := owner.get(logs).ok()
	if string(got.body) != want {
		t.Errorf("got\n%s\nwant\n%s", got.body, want)
	}
	if ct := got.header.Get("Content-Type"); ct != "application/json" {
		t.Errorf("the type is %s", ct)
	}
	for query, ids := range map[string]string{
		"limit=2": "1 2", "limit=2&orderBy=ORDER_BY_DESC": "4 3", "rankIds=3&rankIds=1": "2 3", "levels=LOG_LEVEL_INFO&levels=LOG_LEVEL_WARNING": "2 3",
		"stdtypes=stderr": "2", "sources=task": "1 2 3", "agentIds=node-7": "3", "containerIds=0123456789ab": "3", "searchText=THEIR": "3",
		"searchText=%5Ep&enableRegex=true": "1", "timestampAfter=2026-11-20T04:22:02.5Z": "3 4", "timestampBefore=2026-11-20T04:22:02Z": "1",
		"timestamp_after=2026-11-20T04:22:02.5Z&rank_ids=1": "3",
	} {
		if got := recordIDs(t, owner.get(logs+"?"+query).ok().body); got != ids {
			t.Errorf("%s: %s, want %s", query, got, ids)
		}
	}
	if got := recordIDs(t, owner.get("/api/v1/tasks/"+a.task+"/logs?allocationIds="+a.id).ok().body); got != "1 2 3" {
		t.Errorf("by attempt: %s", got)
	}
	if k := string(owner.get("/api/v1/tasks/" + a.task + "/logs?limit=1").ok().body); !strings.Contains(k, `"taskId":"`+a.task+`"`) || !strings.Contains(k, `"allocationId":"`+a.id+`"`) {
		t.Error(k)
	}
	owner.get(logs+"?follow=true&limit=5").says(400, "limit and follow")
	owner.get(logs+"?levels=LOUD").says(400, "LOUD")
	owner.get(logs+"?searchText=(&enableRegex=true").says(400, "searchText")
	owner.get("/api/v1/trials/99/logs").says(404, "trial 99")
	owner.get("/api/v1/tasks/none/logs").says(404, "none")
	r.anyone().get(logs).says(401)
	fields := string(owner.get(logs + "/fields").ok().body)
	if fields != `{"result":{"allocationIds":["`+a.id+`"],"agentIds":["node-0","node-7"],"containerIds":["0123456789ab","`+nomad+`"],"rankIds":[1,3],"stdtypes":["stderr","stdout"],"sources":["task"]}}`+"\n" {
		t.Error(fields)
	}
}

func recordIDs(t *testing.T, body []byte) string {
	t.Helper()
	var ids []string
	for line := range strings.SplitSeq(strings.TrimSuffix(string(body), "\n"), "\n") {
		var rec struct{ Result struct{ ID string } }
		if err := json.Unmarshal([]byte(line), &rec); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		ids = append(ids, rec.Result.ID)
	}
	return strings.Join(ids, " ")
}

// A follower sees lines as they come, and the stream ends when the task has ended
// and its shippers are done.
func TestFollowLogs(t *testing.T) {
	r := newRig(t)
	a := r.running(yaml(), 1)
	me, owner := a.ranks[0], r.user("determined")
	ship := func(first int, more string, texts ...string) {
		t.Helper()
		var lines []string
		for _, text := range texts {
			lines = append(lines, fmt.Sprintf(`{"timestamp":"2026-01-01T00:00:00Z","log":%q}`, text))
		}
		me.post("/api/v1/detent/logs", fmt.Sprintf(`{"shipper":"s","first":%d,"lines":[%s]%s}`, first, strings.Join(lines, ","), more)).ok()
	}
	ship(0, "", "before")
	s := owner.open(fmt.Sprintf("/api/v1/trials/%d/logs?follow=true", a.trial), nil)
	expect := func(text string) {
		t.Helper()
		line, err := s.line()
		if err != nil || !strings.Contains(line, `"log":"`+text+`\n"`) {
			t.Fatalf("%q %v, want %s", line, err, text)
		}
	}
	expect("before")
	for i := 1; i <= 20; i++ {
		ship(i, "", fmt.Sprint("line ", i))
		expect(fmt.Sprint("line ", i))
	}
	r.apply(store.Changes{Allocations: []store.AllocationChange{{ID: a.id, Saw: "ASSIGNED", State: "TERMINATED", Ended: true, Outcome: "completed"}},
		Tasks: []store.TaskChange{{ID: a.task, Ended: true}}})
	ship(21, `,"done":true`, "last words")
	expect("last words")
	if line, err := s.line(); err != io.EOF {
		t.Errorf("after the end: %q %v", line, err) // io.EOF is a body that ended properly
	}
}

// While the database is away, every path that a task uses says so, and asks to
// come again.
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
		me.post("/api/v1/checkpoints", `{"uuid":"aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee","state":"STATE_COMPLETED"}`),
		me.get("/api/v1/checkpoints/aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee"), me.get("/api/v1/tasks/" + a.task + "/context_directory"),
		me.post("/api/v1/detent/logs", `{"shipper":"s","lines":[{"log":"x"}]}`), me.post("/api/v1/task/logs", `{"logs":[{"task_id":"`+a.task+`","log":"x"}]}`),
	}
	for _, got := range calls {
		if got.says(503, "database"); got.header.Get("Retry-After") != "1" {
			t.Errorf("%s: Retry-After is %q", got.what, got.header.Get("Retry-After"))
		}
	}
}
