package storage

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/detent-ml/detent/integration/rig"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/v1"
)

// rest waits until nothing is being removed of an experiment, and returns its garbage collections, the newest first.
func rest(t testing.TB, r *rig.Rig, id int) (list []v1.GC) {
	t.Helper()
	rig.Eventually(t, "the end of removals", func() (bool, error) {
		got, err := client.Call(t.Context(), r.Client, v1.ListGCs, id)
		if err != nil {
			return false, err
		}
		list = got.GCs
		return !slices.ContainsFunc(list, func(k v1.GC) bool { return k.EndTime == nil }), fmt.Errorf("%+v", list)
	})
	return list
}

// TestFilesGo: policies keep some checkpoints and remove the files of others, with Determined's own client.
func TestFilesGo(t *testing.T) {
	r := rig.Start(t)
	u := r.Person(t, "determined", "")
	storage := filepath.Join(r.Dir, "checkpoints")
	id := r.Submit(t, rig.Collecting, rig.CollectingFiles(t))
	r.WaitState(t, id, v1.ExperimentStateCompleted)
	uuids := r.Become(t, id, "1 DELETED, 2 COMPLETED, 3 COMPLETED, 4 COMPLETED")
	names := func(steps int) string {
		t.Helper()
		var found []string
		root := filepath.Join(storage, uuids[steps])
		err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				rel, _ := filepath.Rel(root, path)
				found = append(found, rel)
			}
			return err
		})
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		return strings.Join(found, " ")
	}
	const whole = "metadata.json model.bin sub/optimizer.bin sub/state.txt"
	files := func(want ...string) {
		t.Helper()
		for i, w := range want {
			if got := names(i + 1); got != w {
				t.Errorf("the files of checkpoint %d are %q, want %q", i+1, got, w)
			}
		}
	}
	files("", whole, whole, whole)
	first := rest(t, r, id)
	if len(first) != 1 || first[0].Reason != "policy" || first[0].ExitStatus != "success" || first[0].Files != 4 || first[0].Bytes < 1505 {
		t.Errorf("the record: %+v", first)
	}
	rig.Holds(t, "the log of the task", u.Det(t, "task", "logs", first[0].TaskID), "checkpoint "+uuids[1]+": removed 4 files", "removed 4 files in 1.")

	out, _, code := u.Run(t, "y\n", u.Client(), "experiment", "set", "gc-policy", strconv.Itoa(id), "--save-experiment-best", "0", "--save-trial-best", "1", "--save-trial-latest", "1")
	if code != 0 {
		t.Errorf("Determined's det: set gc-policy: %d", code)
	}
	rig.Holds(t, "Determined's det: set gc-policy", out, uuids[3], "This policy will delete 1 checkpoints with validations and 0 checkpoints without validations", "Set GC policy of experiment "+strconv.Itoa(id))
	r.Become(t, id, "1 DELETED, 2 COMPLETED, 3 DELETED, 4 COMPLETED")
	files("", whole, "", whole)

	rig.Holds(t, "Determined's det: rm", u.Det(t, "checkpoint", "rm", uuids[2], "--glob", "*.bin", "--glob", "sub/op*", "--yes"), "is in progress")
	r.Become(t, id, "1 DELETED, 2 PARTIALLY_DELETED, 3 DELETED, 4 COMPLETED")
	files("", "metadata.json sub/state.txt", "", whole)
	described, err := r.Det(t, "checkpoint", "describe", uuids[2])
	if err != nil {
		t.Fatal(err)
	}
	rig.Holds(t, "det checkpoint describe", described, "What was removed of it", "sub/op*", "asked", rest(t, r, id)[0].TaskID)
	rig.Holds(t, "Determined's det: describe", u.Det(t, "checkpoint", "describe", uuids[2]), uuids[2])

	rig.Holds(t, "Determined's det: delete", u.Det(t, "checkpoint", "delete", uuids[4], "--yes"), "is in progress")
	r.Become(t, id, "1 DELETED, 2 PARTIALLY_DELETED, 3 DELETED, 4 DELETED")
	files("", "metadata.json sub/state.txt", "", "")
	rest(t, r, id)
	swept(t, r, u, id, storage, uuids[2])
	deleted(t, r, u, id, storage, uuids[2])
}

// swept: a sweep removes a folder that nobody reported, and no other. The leader would create it two days after the end.
func swept(t *testing.T, r *rig.Rig, u rig.Person, id int, storage, known string) {
	const stray, data = "5eed5eed-0000-4000-8000-000000000001", "5eed-data"
	began := time.Now().Add(-time.Second) // the times of files are those of the kernel's ticks
	for _, name := range []string{stray, known, data} {
		if err := os.MkdirAll(filepath.Join(storage, name, "part"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(storage, name, "part", "of.bin"), []byte("12345"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	rig.Alter(t, r, `WITH k AS (INSERT INTO tasks (id, type, job_id, owner_id, workspace_id, experiment_id, name, pool, slots, session_epoch)
			SELECT e.id || '.' || gen_random_uuid(), 'CHECKPOINT_GC', gen_random_uuid(), e.owner_id, p.workspace_id, e.id, 'sweep', e.pool, 0, e.session_epoch
			FROM experiments e JOIN projects p ON p.id = e.project_id WHERE e.id = $1 RETURNING id)
		INSERT INTO collections (task_id, experiment_id, reason, sweep_since, sweep_until) SELECT id, $1, 'sweep', $2, $3 FROM k`, id, began, time.Now().Add(time.Second))
	task := rest(t, r, id)[0]
	if task.Reason != "sweep" || task.ExitStatus != "success" || task.Files != 1 || task.Bytes != 5 {
		t.Errorf("the record: %+v", task)
	}
	rig.Holds(t, "the log of the sweep", u.Det(t, "task", "logs", task.TaskID), "folder "+stray+", which belongs to no checkpoint: removed 1 file in 5 bytes")
	for name, stays := range map[string]bool{stray: false, known: true, data: true} {
		if _, err := os.Stat(filepath.Join(storage, name)); (err == nil) != stays {
			t.Errorf("%s stays: %t, %v", name, stays, err)
		}
	}
}

// deleted: deleting an experiment removes all its files. If a file cannot be removed, the experiment remains with
// the reason, and can be deleted later.
func deleted(t *testing.T, r *rig.Rig, u rig.Person, id int, storage, last string) {
	events := filepath.Join(storage, "*", "tensorboard", "experiment", strconv.Itoa(id))
	if found, err := filepath.Glob(events + "/trial/*/*"); err != nil || len(found) == 0 {
		t.Errorf("there are no files for TensorBoard: %v", err)
	}
	at := filepath.Join(storage, last)
	if err := os.Rename(at, at+".away"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(at, []byte("in the way"), 0o600); err != nil {
		t.Fatal(err)
	}
	rig.Holds(t, "Determined's det: experiment delete", u.Det(t, "experiment", "delete", strconv.Itoa(id), "--yes"), "in progress")
	rig.Eventually(t, "a deletion that fails", func() (bool, error) {
		e, err := client.Call(t.Context(), r.Client, v1.GetExperiment, id)
		if err != nil {
			return false, err
		}
		return e.Experiment.State == v1.ExperimentStateDeleteFailed && strings.Contains(e.Experiment.Error, "is not a folder"), fmt.Errorf("%s: %s", e.Experiment.State, e.Experiment.Error)
	})
	if err := os.Rename(at+".away", at); err == nil {
		t.Fatal("a folder took the place of a file")
	}
	if err := os.Remove(at); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(at+".away", at); err != nil {
		t.Fatal(err)
	}
	task := rest(t, r, id)[0]
	if task.Reason != "deletion" || task.ExitStatus == "success" {
		t.Errorf("what has failed: %+v", task)
	}
	u.Det(t, "experiment", "delete", strconv.Itoa(id), "--yes")
	rig.Eventually(t, "the end of the experiment", func() (bool, error) {
		e, err := client.Call(t.Context(), r.Client, v1.GetExperiment, id)
		if fault.Is(err, fault.NotFound) {
			return true, nil
		}
		if err == nil {
			err = fmt.Errorf("the experiment is %s: %s", e.Experiment.State, e.Experiment.Error)
		}
		return false, err
	})
	if _, err := os.Stat(at); !os.IsNotExist(err) {
		t.Errorf("the last checkpoint: %v", err)
	}
	if found, err := filepath.Glob(events); err != nil || len(found) > 0 {
		t.Errorf("left of TensorBoard's files: %v, %v", found, err)
	}
	if _, err := r.Client.Task(t.Context(), task.TaskID); !fault.Is(err, fault.NotFound) {
		t.Errorf("the deleted experiment's tasks: %v", err)
	}
}
