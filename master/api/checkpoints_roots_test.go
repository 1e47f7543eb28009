package api

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// A task reports the storage of its checkpoints. Whatever the task reports, the master reads only
// files below the folders that its operators have listed.
func TestTheMasterReadsBelowItsRoots(t *testing.T) {
	dir := t.TempDir()
	allowed, host := filepath.Join(dir, "allowed"), filepath.Join(dir, "host")
	r := newRig(t, func(c *Config) { c.CheckpointRoots = []string{allowed} })
	a := r.running(sharedStorage(allowed), 1)
	me, owner := a.ranks[0], r.user("determined")
	const file = "master/secrets/nomad_token"
	if err := errors.Join(os.MkdirAll(filepath.Join(allowed, "in"), 0o755), os.MkdirAll(host, 0o755), os.Symlink(host, filepath.Join(allowed, "out"))); err != nil {
		t.Fatal(err)
	}
	for i, c := range []struct {
		storage string
		want    int
	}{
		{fmt.Sprintf(`{"type":"shared_fs","host_path":%q}`, host), 403},
		{fmt.Sprintf(`{"type":"directory","container_path":%q}`, host), 403},
		{fmt.Sprintf(`{"type":"directory","container_path":%q}`, allowed+"/../host"), 403},
		{fmt.Sprintf(`{"type":"directory","container_path":%q}`, allowed+"-not"), 403},
		{`{"type":"directory","container_path":"/"}`, 403},
		{fmt.Sprintf(`{"type":"shared_fs","host_path":%q,"storage_path":"../host"}`, allowed), 403},
		{fmt.Sprintf(`{"type":"shared_fs","host_path":%q,"storage_path":"out"}`, allowed), 404}, // a link that leads out
		{fmt.Sprintf(`{"type":"shared_fs","host_path":%q,"storage_path":"in"}`, allowed), 404},  // a link to somebody else's
		{fmt.Sprintf(`{"type":"shared_fs","host_path":%q}`, allowed), 200},
		{fmt.Sprintf(`{"type":"directory","container_path":%q}`, filepath.Join(allowed, "in", "..", ".")), 200},
	} {
		// A folder of the host with a name like a checkpoint, such as the one of a Nomad allocation.
		id := fmt.Sprintf("aaaaaaaa-bbbb-4ccc-8ddd-%012d", i)
		for _, base := range []string{host, allowed} {
			if err := errors.Join(os.MkdirAll(filepath.Join(base, id, "master", "secrets"), 0o755),
				os.WriteFile(filepath.Join(base, id, file), []byte("secret"), 0o600)); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Symlink(filepath.Join("..", id), filepath.Join(allowed, "in", id)); err != nil {
			t.Fatal(err)
		}
		said := me.post("/api/v1/runs/start", fmt.Sprintf(`{"runId":%d,"checkpointStorage":%s}`, a.trial, c.storage)).ok().tree()["storageId"]
		me.post("/api/v1/checkpoints", fmt.Sprintf(`{"uuid":%q,"taskId":%q,"allocationId":%q,"state":"STATE_COMPLETED",
			"metadata":{"steps_completed":10},"resources":{%q:"6"},"training":{},"storageId":%v}`, id, a.task, a.id, file, said)).ok()
		if got := owner.get("/checkpoints/" + id); got.code != c.want {
			t.Errorf("%s: %d, want %d: %s", c.storage, got.code, c.want, got.body)
		}
	}
}
