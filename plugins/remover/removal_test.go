package main

import (
	"context"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "github.com/detent-ml/detent/master/v1"
)

const (
	one = "11111111-1111-1111-1111-111111111111"
	two = "22222222-2222-2222-2222-222222222222"
)

// heard stores reports.
type heard struct{ list []v1.FreedRequest }

func (h *heard) Freed(_ context.Context, _ string, f v1.FreedRequest) error {
	h.list = append(h.list, f)
	return nil
}

func (h *heard) Strays(context.Context, string, []string) ([]string, error) {
	return nil, errors.New("this is no sweep")
}

// stored makes a storage with two checkpoints, TensorBoard's files and a bystander.
func stored(t *testing.T) string {
	t.Helper()
	base := t.TempDir()
	for name, content := range map[string]string{
		one + "/model.bin": "12345", one + "/sub/optimizer.bin": "123", one + "/metadata.json": "{}", one + "/.hidden": "1",
		two + "/model.bin": "1234567", "cluster/tensorboard/experiment/7/trial/1/events": "12", "cluster/tensorboard/experiment/71/events": "12",
		"bystander": "x",
	} {
		path := filepath.Join(base, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Join(base, one, "empty"), 0o755); err != nil {
		t.Fatal(err)
	}
	return base
}

// there lists the files of a folder.
func there(t *testing.T, base string) string {
	t.Helper()
	var names []string
	err := filepath.WalkDir(base, func(path string, d os.DirEntry, err error) error {
		if err == nil && path != base {
			rel, _ := filepath.Rel(base, path)
			if d.IsDir() {
				rel += "/"
			}
			names = append(names, rel)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(names, " ")
}

// run removes from a folder and returns what was reported and printed.
func run(t *testing.T, base string, c v1.Collect) ([]v1.FreedRequest, string, error) {
	t.Helper()
	place, err := openFolder(base)
	if err != nil {
		t.Fatal(err)
	}
	defer place.close()
	var h heard
	var out strings.Builder
	err = (&removal{task: "7.x", Collect: c}).run(t.Context(), place, &h, &out)
	return h.list, out.String(), err
}

func TestWholeCheckpointsGo(t *testing.T) {
	base := stored(t)
	reports, said, err := run(t, base, v1.Collect{Events: "cluster/tensorboard/experiment/7",
		Checkpoints: []v1.CollectCheckpoint{{UUID: one, Globs: []string{all}, Known: 3}}})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := there(t, base), "bystander cluster/ cluster/tensorboard/ cluster/tensorboard/experiment/ cluster/tensorboard/experiment/71/ "+
		"cluster/tensorboard/experiment/71/events "+two+"/ "+two+"/model.bin"; !sameWords(got, want) {
		t.Errorf("left is %s, want %s", got, want)
	}
	if len(reports) != 2 || reports[0].Files != 4 || reports[0].Bytes != 11 || reports[0].Error != "" || reports[0].Left == nil || len(reports[0].Left.Resources) != 0 {
		t.Errorf("reported: %+v", reports)
	}
	if e := reports[1]; e.UUID != "" || e.Files != 1 || e.Bytes != 2 || e.Left != nil {
		t.Errorf("of TensorBoard's files: %+v", e)
	}
	for _, want := range []string{"checkpoint " + one + ": removed 4 files in 11 bytes", "removed 5 files in 13 bytes"} {
		if !strings.Contains(said, want) {
			t.Errorf("the remover's log lacks %q: %s", want, said)
		}
	}
}

func sameWords(a, b string) bool {
	x, y := strings.Fields(a), strings.Fields(b)
	slices.Sort(x)
	slices.Sort(y)
	return slices.Equal(x, y)
}

func TestSomeFilesGo(t *testing.T) {
	base := stored(t)
	reports, _, err := run(t, base, v1.Collect{Checkpoints: []v1.CollectCheckpoint{{UUID: one, Globs: []string{"sub", "*.bin"}}, {UUID: two}}})
	if err != nil {
		t.Fatal(err)
	}
	left := slices.Sorted(maps.Keys(reports[0].Left.Resources))
	if !slices.Equal(left, []string{".hidden", "empty/", "metadata.json"}) || reports[0].Files != 2 || reports[0].Bytes != 8 {
		t.Errorf("the removal of some files left %v: %+v", left, reports[0])
	}
	if r := reports[1]; r.Files != 0 || r.Left.Resources["model.bin"] != 7 {
		t.Errorf("without patterns: %+v", r)
	}
}

// TestTheSecondTime: missing files are no error in a repeated removal; but an empty storage
// is the wrong storage.
func TestTheSecondTime(t *testing.T) {
	base := stored(t)
	c := v1.Collect{Checkpoints: []v1.CollectCheckpoint{{UUID: one, Globs: []string{all}, Known: 3}}, Events: "cluster/tensorboard/experiment/7"}
	for range 2 {
		reports, _, err := run(t, base, c)
		if err != nil || reports[0].Left == nil || len(reports[0].Left.Resources) != 0 {
			t.Fatalf("%+v %v", reports, err)
		}
	}
	reports, _, err := run(t, t.TempDir(), c)
	if err == nil || !strings.Contains(reports[0].Error, "may not be mounted") || reports[0].Left != nil {
		t.Errorf("an empty storage: %+v %v", reports, err)
	}
	if reports[1].Error != "" {
		t.Errorf("TensorBoard's files need not have been there: %+v", reports[1])
	}
}

// TestAStorageThatIsNotThereYet: the first file creates the folder, so the remover has nothing to
// remove for an experiment that never stored anything; but if a checkpoint is known to have files,
// its storage is elsewhere.
func TestAStorageThatIsNotThereYet(t *testing.T) {
	base := filepath.Join(t.TempDir(), "later")
	reports, _, err := run(t, base, v1.Collect{Events: "cluster/tensorboard/experiment/7"})
	if err != nil || len(reports) != 1 || reports[0].Error != "" {
		t.Errorf("nothing was stored: %+v %v", reports, err)
	}
	reports, _, err = run(t, base, v1.Collect{Checkpoints: []v1.CollectCheckpoint{{UUID: one, Globs: []string{all}, Known: 3}}})
	if err == nil || !strings.Contains(reports[0].Error, "cannot see the storage") {
		t.Errorf("a checkpoint that has files: %+v %v", reports, err)
	}
}

// TestNothingOutsideGoes: neither a name nor a link leads out of the storage.
func TestNothingOutsideGoes(t *testing.T) {
	base, outside := stored(t), stored(t)
	for _, link := range []string{filepath.Join(base, one, "sub", "link"), filepath.Join(base, "33333333-3333-3333-3333-333333333333")} {
		if err := os.Symlink(outside, link); err != nil {
			t.Fatal(err)
		}
	}
	before := there(t, outside)
	reports, _, err := run(t, base, v1.Collect{Checkpoints: []v1.CollectCheckpoint{
		{UUID: one, Globs: []string{all}}, {UUID: "33333333-3333-3333-3333-333333333333", Globs: []string{all}}, {UUID: "..", Globs: []string{all}}},
		Events: "../" + filepath.Base(outside)})
	if err == nil || there(t, outside) != before {
		t.Errorf("%v; outside is %s, was %s", err, there(t, outside), before)
	}
	for i, fails := range []bool{false, true, true, true} {
		if (reports[i].Error != "") != fails {
			t.Errorf("report %d: %+v", i, reports[i])
		}
	}
	if reports[0].Files != 5 { // the link is one
		t.Errorf("%+v", reports[0])
	}
	left := there(t, base)
	for _, dir := range []string{".", "/", "..", "a/..", "../../x"} {
		if reports, _, err := run(t, base, v1.Collect{Events: dir}); err == nil || reports[0].Error == "" || there(t, base) != left {
			t.Errorf("TensorBoard's files in %q: %+v, %v", dir, reports, err)
		}
	}
}

// stubborn is a place of which a file cannot be removed.
type stubborn struct{ files map[string]int64 }

func (s stubborn) close() {}

func (s stubborn) Folders(context.Context) ([]string, error) { return nil, nil }

func (s stubborn) Times(context.Context, string) (oldest, newest time.Time, err error) { return }

func (s stubborn) There(context.Context) error { return nil }

func (s stubborn) List(context.Context, string) (map[string]int64, error) {
	return maps.Clone(s.files), nil
}

func (s stubborn) Remove(_ context.Context, _ string, names []string) error {
	for _, name := range names {
		if name != "locked" {
			delete(s.files, name)
		}
	}
	return errors.New("locked: access denied")
}

// TestWhatFailsIsToldTruly: the report counts removed files and names the remaining ones, and other checkpoints are still removed.
func TestWhatFailsIsToldTruly(t *testing.T) {
	var h heard
	var out strings.Builder
	place := stubborn{map[string]int64{"locked": 10, "open": 5}}
	r := removal{Collect: v1.Collect{Checkpoints: []v1.CollectCheckpoint{{UUID: one, Globs: []string{all}}, {UUID: two, Globs: []string{"open"}}}}}
	err := r.run(t.Context(), place, &h, &out)
	if err == nil || len(h.list) != 2 {
		t.Fatalf("%v %+v", err, h.list)
	}
	if f := h.list[0]; f.Files != 1 || f.Bytes != 5 || f.Error != "locked: access denied" || f.Left.Resources["locked"] != 10 {
		t.Errorf("%+v", f)
	}
	if !strings.Contains(out.String(), "access denied") {
		t.Errorf("the remover's log: %s", out.String())
	}
}

// TestTheFolderOfTheCluster: the folder with everybody's TensorBoard files is no checkpoint.
func TestTheFolderOfTheCluster(t *testing.T) {
	base := stored(t)
	before := there(t, base)
	place, err := openFolder(base)
	if err != nil {
		t.Fatal(err)
	}
	defer place.close()
	var got heard
	r := removal{cluster: one, Collect: v1.Collect{Checkpoints: []v1.CollectCheckpoint{{UUID: one, Globs: []string{all}, Known: 3}}}}
	if err := r.run(t.Context(), place, &got, io.Discard); err == nil || !strings.Contains(got.list[0].Error, "is the id of the cluster") || there(t, base) != before {
		t.Errorf("%v %+v\n%s", err, got.list, there(t, base))
	}
}
