package checkpoints_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/checkpoints"
)

// TestProbe: all of a checkpoint is read, of a large one the beginning of each file, and a file of another size is an error.
func TestProbe(t *testing.T) {
	w, storage := newWorld(t), t.TempDir()
	trial := w.Trial(w.Experiment(`{"name": "single", "metric": "loss"}`), 0, 1)
	const uuid = "6f3d2f6e-2c58-4c0b-8f0f-0d7a51e3b001"
	w.Exec(`INSERT INTO storage_backends (config, owner_id) VALUES (jsonb_build_object('type', 'directory', 'container_path', $1::text), 1)`, storage)
	w.Exec(`INSERT INTO checkpoints (uuid, task_id, trial_id, run_id, steps, state, reported_at, resources, metadata, size, storage_id)
		SELECT $1::text::uuid, task_id, id, 1, 10, 'COMPLETED', now(), '{"weights": 100000, "sub/": 0, "metadata.json": 2}', '{}', 100002, (SELECT max(id) FROM storage_backends) FROM trials WHERE id = $2`, uuid, trial)
	folder := filepath.Join(storage, uuid)
	if err := os.MkdirAll(filepath.Join(folder, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	write := func(name string, size int) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(folder, name), make([]byte, size), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("weights", 100000)
	d := checkpoints.Deps{DB: w.DB, Roots: []string{storage}}
	is := func(want checkpoints.Probed, wrong string) {
		t.Helper()
		got, err := d.Probe(t.Context(), uuid)
		if wrong == "" && (err != nil || got != want) || wrong != "" && (err == nil || !strings.Contains(err.Error(), wrong)) {
			t.Errorf("got %+v, %v; want %+v %s", got, err, want, wrong)
		}
	}
	is(checkpoints.Probed{}, "file metadata.json of checkpoint "+uuid+" is no longer in its storage")
	write("metadata.json", 2)
	is(checkpoints.Probed{Files: 3, Bytes: 100002, Whole: true}, "")
	w.Exec(`UPDATE checkpoints SET size = 1000000000`)
	is(checkpoints.Probed{Files: 3, Bytes: 65538}, "")
	write("weights", 99)
	is(checkpoints.Probed{}, "file weights has 99 bytes in its storage, and 100000 were reported")
	d.Roots = []string{t.TempDir()}
	is(checkpoints.Probed{}, "not below a folder of checkpoint_roots")
	w.Exec(`UPDATE checkpoints SET state = 'DELETED'`)
	is(checkpoints.Probed{}, "has been deleted")
}
