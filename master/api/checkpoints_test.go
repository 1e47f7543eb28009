package api

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/schema"
)

func TestCheckpointsByAPI(t *testing.T) {
	r := newRig(t)
	dir := t.TempDir()
	a := r.running(sharedStorage(dir), 1)
	me, owner := a.ranks[0], r.user("determined")
	const id = "aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee"
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
	// A folder that the runner keeps is one by the report of its attempt, and by nothing that users can write.
	folder := strings.NewReplacer(id, "aaaaaaaa-bbbb-4ccc-8ddd-ffffffffffff", `"training":{}`, `"training":{},"kept":true`).Replace(body)
	owner.post("/api/v1/checkpoints", folder).says(403, "only an attempt")
	me.post("/api/v1/checkpoints", folder).ok()
	owner.post("/api/v1/checkpoints/"+id+"/metadata", `{"checkpoint":{"uuid":"`+id+`","metadata":{"resume":"/out","kept":true},"kept":true,"resources":{},"training":{},"state":"STATE_COMPLETED"}}`).ok()
	kept := map[string]any{}
	for _, k := range at(t, owner.get(a.trialPath("/checkpoints")).ok().tree(), "checkpoints").([]any) {
		kept[at(t, k, "uuid").(string)] = k.(map[string]any)["kept"]
	}
	if len(kept) != 2 || kept[id] != nil || kept["aaaaaaaa-bbbb-4ccc-8ddd-ffffffffffff"] != true {
		t.Errorf("kept folders: %v", kept)
	}
	if err := r.db.Exec(t.Context(), "DELETE FROM checkpoints WHERE kept"); err != nil {
		t.Fatal(err)
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
	up := strings.Replace(strings.Replace(body, id, "aaaaaaaa-bbbb-4ccc-8ddd-ffffffffffff", 1), "model.bin", "../../../etc/passwd", 1)
	me.post("/api/v1/checkpoints", up).ok()
	if err := os.MkdirAll(filepath.Join(dir, "ckpt", "aaaaaaaa-bbbb-4ccc-8ddd-ffffffffffff"), 0o755); err != nil {
		t.Fatal(err)
	}
	owner.get("/checkpoints/aaaaaaaa-bbbb-4ccc-8ddd-ffffffffffff").says(403, "passwd")

	// A garbage collection reports the files that it did not remove.
	owner.patch("/api/v1/checkpoints", `{"checkpoints":[{"uuid":"`+id+`","resources":{"resources":{"sub/x":"1"}}}]}`).ok()
	if got := at(t, owner.get("/api/v1/checkpoints/"+id).ok().tree(), "checkpoint.state"); got != "STATE_PARTIALLY_DELETED" {
		t.Errorf("%v", got)
	}
	r.user("admin").post("/api/v1/users", `{"user":{"username":"eve","active":true}}`).ok()
	r.user("eve").patch("/api/v1/checkpoints", `{"checkpoints":[{"uuid":"`+id+`","resources":{"resources":{}}}]}`).says(403, "eve")
	// The master rejects reports of a replaced run, and the next run starts from this checkpoint.
	b := a.next(2, 1)
	spec := b.claimed[0]["spec"].(map[string]any)
	if at(t, spec, "env.DET_LATEST_CHECKPOINT") != "aaaaaaaa-bbbb-4ccc-8ddd-ffffffffffff" || at(t, spec, "env.DET_STEPS_COMPLETED") != "10" {
		t.Errorf("%v", spec["env"])
	}
	waitFor(t, func() bool {
		return me.post("/api/v1/checkpoints", strings.Replace(body, id, "aaaaaaaa-bbbb-4ccc-8ddd-000000000000", 1)).code == 401
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

// TestNamesOfCheckpoints: a checkpoint has the name of a random UUID, and never that of the cluster, which is everybody's folder of
// TensorBoard files beside the checkpoints.
func TestNamesOfCheckpoints(t *testing.T) {
	r := newRig(t)
	dir := t.TempDir()
	a := r.running(sharedStorage(dir), 1)
	cluster, err := schema.ClusterID(t.Context(), r.db)
	if err != nil {
		t.Fatal(err)
	}
	events := filepath.Join(dir, "ckpt", cluster, "tensorboard", "experiment", "7")
	if err := errors.Join(os.MkdirAll(events, 0o755), os.WriteFile(filepath.Join(events, "events"), []byte("theirs"), 0o644)); err != nil {
		t.Fatal(err)
	}
	report := func(id string) answer {
		return a.ranks[0].post("/api/v1/checkpoints", fmt.Sprintf(`{"uuid":%q,"taskId":%q,"allocationId":%q,"state":"STATE_COMPLETED","metadata":{},"resources":{"tensorboard/":"0"},"training":{}}`, id, a.task, a.id))
	}
	for _, id := range []string{cluster, strings.ToUpper(cluster), strings.ReplaceAll(cluster, "-", ""), "{" + cluster + "}"} {
		report(id).says(400, "is the id of this cluster", "uuid4")
	}
	for _, id := range []string{"6ba7b810-9dad-11d1-80b4-00c04fd430c8", "00000000-0000-0000-0000-000000000000", "6ba7b810-9dad-41d1-c0b4-00c04fd430c8", "ffffffff-ffff-ffff-ffff-ffffffffffff"} {
		report(id).says(400, "random UUID", "uuid4")
	}
	report("AAAAAAAA-bbbb-4ccc-8ddd-EEEEEEEEEEEE").ok()
	r.user("determined").get("/api/v1/checkpoints/aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee").ok()
}

// TestACheckpointOfSomebodyElse: who reports the name of a checkpoint of another task does not learn whose it is.
func TestACheckpointOfSomebodyElse(t *testing.T) {
	r := newRig(t)
	theirs, mine := r.running(yaml(), 1), r.running(yaml(), 1)
	theirs.stored()
	got := mine.ranks[0].post("/api/v1/checkpoints", fmt.Sprintf(`{"uuid":%q,"taskId":%q,"allocationId":%q,"state":"STATE_COMPLETED","metadata":{},"resources":{},"training":{}}`, older, mine.task, mine.id)).
		says(409, older, "another task")
	if strings.Contains(string(got.body), theirs.task) {
		t.Errorf("%s names the task %s", got.body, theirs.task)
	}
}
