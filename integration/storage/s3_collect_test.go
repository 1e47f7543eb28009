package storage

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/detent-ml/detent/integration/rig"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/objects"
	"github.com/detent-ml/detent/master/v1"
)

// inBucket lists what is stored under a prefix, as the store's administrator sees it.
func (r *s3rig) inBucket(t *testing.T, prefix string) (names []string) {
	t.Helper()
	admin := r.S3().Admin
	b, err := objects.Open(t.Context(), objects.Store{Bucket: r.S3().Bucket, Endpoint: r.S3().Endpoint, Keys: func(context.Context) (objects.Keys, error) {
		return objects.Keys{AccessKey: admin.AccessKey, SecretKey: admin.SecretKey}, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	list, err := b.List(t.Context(), prefix+"/")
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range list {
		names = append(names, strings.TrimPrefix(o.Key, prefix+"/"))
	}
	return names
}

// filesGo: the files of checkpoints are removed from the bucket with credentials that reach no other files: at the
// end of an experiment, by hand, and with the experiment; the unmodified package sends the requests.
func (r *s3rig) filesGo(t *testing.T, as *rig.Rig, bystander int) {
	theirs := as.Person(t, "bob", "")
	before := r.inBucket(t, strconv.Itoa(bystander))
	config := r.config("jail", "train.py") + "checkpoint_storage: {save_experiment_best: 0, save_trial_best: 2, save_trial_latest: 1}\n"
	id := as.Submit(t, config, rig.CollectingFiles(t))
	as.WaitState(t, id, v1.ExperimentStateCompleted)
	uuids := as.Become(t, id, "1 DELETED, 2 COMPLETED, 3 COMPLETED, 4 COMPLETED")
	there := func(steps int) (files []string) {
		for _, name := range r.inBucket(t, strconv.Itoa(id)+"/"+uuids[steps]) {
			if !strings.HasSuffix(name, "/") {
				files = append(files, name)
			}
		}
		return files
	}
	for steps, want := range []int{1: 0, 2: 4, 3: 4, 4: 4} {
		if got := there(steps); steps > 0 && len(got) != want {
			t.Errorf("of checkpoint %d there are %v, want %d files", steps, got, want)
		}
	}
	script := fmt.Sprintf(`
from determined.experimental import client
client.login(master=%q, user="bob", password="")
client.get_checkpoint(%q).delete()
client.get_checkpoint(%q).remove_files(["**/*.bin"])
`, r.MasterURL, uuids[3], uuids[4])
	if out, stderr, code := theirs.Run(t, "", theirs.Python, "-c", script); code != 0 {
		t.Fatalf("the unmodified package: exit %d\n%s%s", code, out, stderr)
	}
	as.Become(t, id, "1 DELETED, 2 COMPLETED, 3 DELETED, 4 PARTIALLY_DELETED")
	if got := strings.Join(there(4), " "); got != "metadata.json sub/state.txt" {
		t.Errorf("of the last checkpoint there is %s", got)
	}
	if got := there(3); len(got) > 0 {
		t.Errorf("of the third there is %v", got)
	}
	task := rest(t, as, id)[0]
	if task.Reason != "asked" || task.Files < 2 || task.Bytes < 1500 {
		t.Errorf("the record: %+v", task)
	}
	rig.Holds(t, "the log of the task", theirs.Det(t, "task", "logs", task.TaskID), "removed")
	script = fmt.Sprintf(`
from determined.experimental import client
client.login(master=%q, user="bob", password="")
client.get_experiment(%d).delete()
`, r.MasterURL, id)
	if out, stderr, code := theirs.Run(t, "", theirs.Python, "-c", script); code != 0 {
		t.Fatalf("the unmodified package: exit %d\n%s%s", code, out, stderr)
	}
	rig.Eventually(t, "the end of the experiment", func() (bool, error) {
		e, err := client.Call(t.Context(), as.Client, v1.GetExperiment, id)
		if err == nil {
			err = fmt.Errorf("the experiment is %s: %s", e.Experiment.State, e.Experiment.Error)
		}
		return fault.Is(err, fault.NotFound), err
	})
	if left := r.inBucket(t, strconv.Itoa(id)); len(left) > 0 {
		t.Errorf("left in the bucket: %v", left)
	}
	if after := r.inBucket(t, strconv.Itoa(bystander)); len(after) != len(before) || len(after) == 0 {
		t.Errorf("another's: %v, was %v", after, before)
	}
}
