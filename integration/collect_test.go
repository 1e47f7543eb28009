package integration

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/v1"
)

// collecting is an experiment of which the best two checkpoints and the newest are kept.
const collecting = `
name: collecting
entrypoint: python3 train.py
searcher: {name: single, metric: loss, max_length: {batches: 4}}
max_restarts: 0
checkpoint_storage: {save_experiment_best: 0, save_trial_best: 2, save_trial_latest: 1}
`

func collectingFiles(t testing.TB) map[string]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "collect", "train.py"))
	if err != nil {
		t.Fatal(err)
	}
	return script(string(text))
}

// bySteps lists the checkpoints of an experiment as "1 DELETED, 2 COMPLETED", and gives their ids by steps.
func (r *rig) bySteps(t testing.TB, id int) (states string, uuids map[int]string) {
	t.Helper()
	list, err := client.Collect(r.client.ExperimentCheckpoints(t.Context(), id, client.CheckpointQuery{SortByAttr: "SORT_BY_BATCH_NUMBER"}))
	if err != nil {
		t.Fatal(err)
	}
	uuids = map[int]string{}
	var words []string
	for _, k := range list {
		var m struct {
			Steps int `json:"steps_completed"`
		}
		if err := k.Metadata.Into(&m); err != nil {
			t.Fatal(err)
		}
		uuids[m.Steps] = k.UUID
		words = append(words, fmt.Sprintf("%d %s", m.Steps, strings.TrimPrefix(string(k.State), "STATE_")))
	}
	return strings.Join(words, ", "), uuids
}

// become waits until the checkpoints of an experiment are in these states.
func (r *rig) become(t testing.TB, id int, want string) map[int]string {
	t.Helper()
	var uuids map[int]string
	eventually(t, "checkpoints become "+want, func() (bool, error) {
		var states string
		states, uuids = r.bySteps(t, id)
		return states == want, fmt.Errorf("they are %s", states)
	})
	return uuids
}

// rest waits until nothing is being removed of an experiment, and returns its collections, the newest first.
func (r *rig) rest(t testing.TB, id int) (list []v1.Collection) {
	t.Helper()
	eventually(t, "the end of removals", func() (bool, error) {
		got, err := r.client.Collections(t.Context(), id)
		if err != nil {
			return false, err
		}
		list = got.Collections
		return !slices.ContainsFunc(list, func(k v1.Collection) bool { return k.EndTime == nil }), fmt.Errorf("%+v", list)
	})
	return list
}

// TestFilesGo: some checkpoints are kept and others removed, with Determined's own client.
func TestFilesGo(t *testing.T) {
	r := start(t)
	u := r.person(t, "determined", "")
	storage := filepath.Join(filepath.Dir(r.bin), "checkpoints")
	id := r.submit(t, collecting, collectingFiles(t))
	r.waitState(t, id, v1.ExperimentStateCompleted)
	uuids := r.become(t, id, "1 DELETED, 2 COMPLETED, 3 COMPLETED, 4 COMPLETED")
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
	first := r.rest(t, id)
	if len(first) != 1 || first[0].Reason != "policy" || first[0].ExitStatus != "success" || first[0].Files != 4 || first[0].Bytes < 1505 {
		t.Errorf("the record: %+v", first)
	}
	holds(t, "the log of the task", u.det(t, "task", "logs", first[0].TaskID), "checkpoint "+uuids[1]+": removed 4 files", "removed 4 files in 1.")

	out, _, code := u.run(t, "y\n", u.client(), "experiment", "set", "gc-policy", itoa(id), "--save-experiment-best", "0", "--save-trial-best", "1", "--save-trial-latest", "1")
	if code != 0 {
		t.Errorf("their set gc-policy: %d", code)
	}
	holds(t, "their set gc-policy", out, uuids[3], "This policy will delete 1 checkpoints with validations and 0 checkpoints without validations", "Set GC policy of experiment "+itoa(id))
	r.become(t, id, "1 DELETED, 2 COMPLETED, 3 DELETED, 4 COMPLETED")
	files("", whole, "", whole)

	holds(t, "their rm", u.det(t, "checkpoint", "rm", uuids[2], "--glob", "*.bin", "--glob", "sub/op*", "--yes"), "is in progress")
	r.become(t, id, "1 DELETED, 2 PARTIALLY_DELETED, 3 DELETED, 4 COMPLETED")
	files("", "metadata.json sub/state.txt", "", whole)
	described, err := r.det(t, "checkpoint", "describe", uuids[2])
	if err != nil {
		t.Fatal(err)
	}
	holds(t, "det checkpoint describe", described, "What was removed of it", "sub/op*", "asked", r.rest(t, id)[0].TaskID)
	holds(t, "their describe", u.det(t, "checkpoint", "describe", uuids[2]), uuids[2])

	holds(t, "their delete", u.det(t, "checkpoint", "delete", uuids[4], "--yes"), "is in progress")
	r.become(t, id, "1 DELETED, 2 PARTIALLY_DELETED, 3 DELETED, 4 DELETED")
	files("", "metadata.json sub/state.txt", "", "")
	r.rest(t, id)
	r.deleted(t, u, id, storage, uuids[2])
}

// deleted: an experiment goes with all its files, and one of which a file could not be removed is still there, says
// why, and can be deleted once it can.
func (r *rig) deleted(t *testing.T, u theirs, id int, storage, last string) {
	events := filepath.Join(storage, "*", "tensorboard", "experiment", itoa(id))
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
	holds(t, "their experiment delete", u.det(t, "experiment", "delete", itoa(id), "--yes"), "in progress")
	eventually(t, "a deletion that fails", func() (bool, error) {
		e, err := r.client.Experiment(t.Context(), id)
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
	task := r.rest(t, id)[0]
	if task.Reason != "deletion" || task.ExitStatus == "success" {
		t.Errorf("what has failed: %+v", task)
	}
	u.det(t, "experiment", "delete", itoa(id), "--yes")
	eventually(t, "the end of the experiment", func() (bool, error) {
		e, err := r.client.Experiment(t.Context(), id)
		if fault.Is(err, fault.NotFound) {
			return true, nil
		}
		if err == nil {
			err = fmt.Errorf("it is %s: %s", e.Experiment.State, e.Experiment.Error)
		}
		return false, err
	})
	if _, err := os.Stat(at); !os.IsNotExist(err) {
		t.Errorf("its last checkpoint: %v", err)
	}
	if found, err := filepath.Glob(events); err != nil || len(found) > 0 {
		t.Errorf("left of TensorBoard's files: %v, %v", found, err)
	}
	if _, err := r.client.Task(t.Context(), task.TaskID); !fault.Is(err, fault.NotFound) {
		t.Errorf("its tasks: %v", err)
	}
}

// filesGo: in images too, as the account under which the files were written.
func (d *inContainers) filesGo(t *testing.T) {
	id := d.submit(t, collecting, collectingFiles(t))
	d.waitState(t, id, v1.ExperimentStateCompleted)
	uuids := d.become(t, id, "1 DELETED, 2 COMPLETED, 3 COMPLETED, 4 COMPLETED")
	for steps, gone := range map[int]bool{1: true, 2: false} {
		if _, err := os.Stat(filepath.Join(d.dir, "checkpoints", uuids[steps])); os.IsNotExist(err) != gone {
			t.Errorf("checkpoint %d: %v", steps, err)
		}
	}
	if err := d.client.DeleteExperiment(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the end of the experiment", func() (bool, error) {
		e, err := d.client.Experiment(t.Context(), id)
		if err == nil {
			err = fmt.Errorf("it is %s: %s", e.Experiment.State, e.Experiment.Error)
		}
		return fault.Is(err, fault.NotFound), err
	})
	if _, err := os.Stat(filepath.Join(d.dir, "checkpoints", uuids[2])); !os.IsNotExist(err) {
		t.Errorf("its best checkpoint: %v", err)
	}
	d.noneLeft(t)
}
