package main

import (
	"context"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/nomad/servers/objecttest"
)

// Names of folders: of a checkpoint that the master knows, of two that it does not, and of the cluster.
const (
	known   = "aaaaaaaa-1111-4111-8111-111111111111"
	lost    = "bbbbbbbb-2222-4222-9222-222222222222"
	lostToo = "cccccccc-3333-4333-a333-333333333333"
	cluster = "dddddddd-4444-4444-b444-444444444444"
)

// always is a sweep for files of any time.
func always() *v1.CollectSweep {
	return &v1.CollectSweep{Since: time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC), Until: time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC)}
}

// knows is a master that knows one checkpoint. From the question after `questions` on it knows all.
type knows struct {
	heard
	asked     [][]string
	questions int
	refuses   error
}

func (k *knows) Strays(_ context.Context, _ string, names []string) ([]string, error) {
	k.asked = append(k.asked, names)
	if k.refuses != nil || len(k.asked) > k.questions {
		return nil, k.refuses
	}
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return name == known }), nil
}

// swept makes these files, sweeps, and returns what is left.
func swept(t *testing.T, w *v1.CollectSweep, master *knows, files ...string) (left, said string, err error) {
	t.Helper()
	base := t.TempDir()
	for _, name := range files {
		path := filepath.Join(base, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("12345"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	old := time.Date(2010, 1, 1, 0, 0, 0, 0, time.UTC) // as of a copy that keeps the times of its original
	if err := filepath.WalkDir(base, func(path string, _ os.DirEntry, err error) error { return errors.Join(err, os.Chtimes(path, old, old)) }); err != nil {
		t.Fatal(err)
	}
	place, err := openFolder(base)
	if err != nil {
		t.Fatal(err)
	}
	defer place.close()
	var out strings.Builder
	err = (&removal{task: "7.x", cluster: cluster, Collect: v1.Collect{Sweep: w}}).run(t.Context(), place, master, &out)
	return there(t, base), out.String(), err
}

// stays are files that no sweep removes.
var stays = []string{known + "/model.bin", cluster + "/tensorboard/experiment/7/trial/1/events", "bystander", "data/x",
	"11111111-1111-1111-1111-111111111111/not-random", strings.ToUpper(lost) + "/x", lost + ".bak/x"}

// TestASweep: folders that no checkpoint has go, and everything else stays.
func TestASweep(t *testing.T) {
	master := &knows{questions: 2}
	left, said, err := swept(t, always(), master, append(stays, lost+"/model.bin", lost+"/sub/optimizer.bin", lostToo+"/part")...)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range stays {
		if !strings.Contains(left+" ", name+" ") {
			t.Errorf("%s is gone: %s", name, left)
		}
	}
	if strings.Contains(left, lost+"/") || strings.Contains(left, lostToo) {
		t.Errorf("left: %s", left)
	}
	if len(master.list) != 1 || master.list[0].UUID != "" || master.list[0].Files != 3 || master.list[0].Bytes != 15 || master.list[0].Error != "" {
		t.Errorf("reported: %+v", master.list)
	}
	for _, want := range []string{"folder " + lost + ", which belongs to no checkpoint: removed 2 files in 10 bytes", "removed 3 files in 15 bytes"} {
		if !strings.Contains(said, want) {
			t.Errorf("the log lacks %q: %s", want, said)
		}
	}
	for _, names := range master.asked {
		if slices.Contains(names, cluster) {
			t.Errorf("asked about %v", names)
		}
	}
}

// TestWhatASweepLeaves: a folder stays if its time is another one, if its checkpoint is reported meanwhile, or if the storage
// belongs to others too. The times are those of the file system and not those that a copy keeps.
func TestWhatASweepLeaves(t *testing.T) {
	long := func(from, to int) *v1.CollectSweep {
		return &v1.CollectSweep{Since: time.Date(from, 1, 1, 0, 0, 0, 0, time.UTC), Until: time.Date(to, 1, 1, 0, 0, 0, 0, time.UTC)}
	}
	const other = "eeeeeeee-5555-4555-8555-555555555555"
	for name, c := range map[string]struct {
		window *v1.CollectSweep
		master knows
		more   []string
		says   string
		fails  string
	}{
		"stored later":        {long(2000, 2020), knows{questions: 9}, nil, "1 folder that belong to no checkpoint stay, such as\n  " + lost + ": stored until ", ""},
		"stored before":       {long(2150, 2200), knows{questions: 9}, nil, lost + ": stored from ", ""},
		"reported meanwhile":  {always(), knows{questions: 1}, nil, "removed 0 files", ""},
		"the experiment runs": {always(), knows{refuses: errors.New("the experiment goes on")}, nil, "", "goes on"},
		"another cluster":     {always(), knows{questions: 9}, []string{other + "/tensorboard/experiment/1/trial/1/events"}, "", "another cluster uses this storage too"},
	} {
		t.Run(name, func(t *testing.T) {
			left, said, err := swept(t, c.window, &c.master, append(c.more, lost+"/model.bin")...)
			if !strings.Contains(left, lost+"/model.bin") || !strings.Contains(said, c.says) {
				t.Errorf("left: %s; said: %s", left, said)
			}
			if c.fails == "" && err != nil || c.fails != "" && (err == nil || !strings.Contains(err.Error(), c.fails) || !strings.Contains(c.master.list[0].Error, c.fails)) {
				t.Errorf("%v, reported %+v", err, c.master.list)
			}
		})
	}
}

// TestASweepOfAMissingFolder: where nothing was ever stored there is nothing to remove.
func TestASweepOfAMissingFolder(t *testing.T) {
	place, err := openFolder(filepath.Join(t.TempDir(), "later"))
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	master := &knows{questions: 9}
	if err := (&removal{Collect: v1.Collect{Sweep: always()}}).run(t.Context(), place, master, &out); err != nil || len(master.list) != 1 || len(master.asked) != 0 {
		t.Errorf("%v %+v %v", err, master.list, master.asked)
	}
}

// TestASweepOfABucket: in a bucket only what is below the experiment's prefix goes.
func TestASweepOfABucket(t *testing.T) {
	at := objecttest.StartGCS(t, "bucket")
	t.Setenv("STORAGE_EMULATOR_HOST", at)
	for _, key := range append(slices.Clone(stays), lost+"/model.bin", lost+"/sub/optimizer.bin", "../"+lost+"/x", "../71/"+lost+"/x") {
		objecttest.Post(t, at+"/upload/storage/v1/b/bucket/o?uploadType=media&name="+url.QueryEscape(strings.ReplaceAll("team/7/"+key, "7/../", "")), "application/octet-stream", "12345")
	}
	r := &removal{task: "t", cluster: cluster, Collect: v1.Collect{Storage: v1.CollectStorage{Kind: kindGCS, Bucket: "bucket", Prefix: "team/7"}, Sweep: always()}}
	place, err := r.open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer place.close()
	b := place.(bucket)
	before, err := b.Bucket.List(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	master := &knows{questions: 2}
	if err := r.run(t.Context(), place, master, &out); err != nil {
		t.Fatal(err)
	}
	after, err := b.Bucket.List(t.Context(), "")
	if err != nil || len(before)-len(after) != 2 || master.list[0].Files != 2 {
		t.Errorf("of %d objects %d are left, %v: %s", len(before), len(after), err, out.String())
	}
	for _, o := range after {
		if strings.HasPrefix(o.Key, "team/7/"+lost+"/") {
			t.Errorf("left: %s", o.Key)
		}
	}
	r.Sweep.Until = r.Sweep.Since
	oldest, newest, err := place.Times(t.Context(), known)
	if err != nil || oldest.IsZero() || !newest.After(r.Sweep.Until) {
		t.Errorf("%s to %s, %v", oldest, newest, err)
	}
}
