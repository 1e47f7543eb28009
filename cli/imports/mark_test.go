package imports

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"testing"
)

// stored is a mark as the next import finds it.
func stored(t *testing.T, files map[string]int64) *mark {
	t.Helper()
	var out mark
	m := mark{From: "tensorboard", Run: 1}
	m.note(&run{files: files})
	text, err := json.Marshal(m)
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	if err != nil {
		t.Fatal(err)
	}
	if len(out.Files) > maxEntries {
		t.Errorf("a mark of %d files has %d texts", len(files), len(out.Files))
	}
	for _, entry := range out.Files {
		if len(entry) > maxEntry {
			t.Errorf("a mark of %d files has a text of %d bytes", len(files), len(entry))
		}
	}
	return &out
}

// TestMarks: a mark has each file, however many there are, and of a file that it does not have nothing was read.
func TestMarks(t *testing.T) {
	for _, n := range []int{0, 1, 99, 100, 101, 2000, 15_000} {
		files := map[string]int64{}
		for i := range n {
			files[fmt.Sprintf("train/events.out.tfevents.%010d.host", i)] = int64(i + 1)
		}
		m := stored(t, files)
		for name, end := range files {
			if got := m.read(name); got != end {
				t.Fatalf("of %d files %s was read up to byte %d, want %d", n, name, got, end)
			}
		}
		if !m.covers(&run{files: files}) || m.read("train/events.out.tfevents.") != 0 || m.read("validation/x") != 0 {
			t.Errorf("a mark of %d files does not have what was read, or has what was not", n)
		}
	}
	odd := map[string]int64{"a\nb": 1, "a": 2, `"a\nb"x`: 3, "b 7 c": 4, "": 5}
	m := stored(t, odd)
	for name, end := range odd {
		if got := m.read(name); got != end {
			t.Errorf("%q was read up to byte %d, want %d", name, got, end)
		}
	}
	// More than a mark can have: some are read again, and of none is more known than was read.
	many := map[string]int64{}
	for i := range 30_000 {
		many[fmt.Sprintf("train/events.out.tfevents.%010d.host", i)] = 1_000_000
	}
	m = stored(t, many)
	known := 0
	for name := range many {
		switch m.read(name) {
		case 1_000_000:
			known++
		case 0:
		default:
			t.Fatalf("%s was read up to byte %d", name, m.read(name))
		}
	}
	if known < 10_000 || known == len(many) {
		t.Errorf("of 30,000 files the mark has %d", known)
	}
}

// TestManyFiles: of a run of more than a hundred files, a new file is imported whatever its name is.
func TestManyFiles(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	logs := filepath.Join(t.TempDir(), "logs")
	for i := range maxEntries + 1 {
		copyFile(t, newEvents, filepath.Join(logs, fmt.Sprintf("keras/train/events.out.tfevents.%03d", i)))
	}
	copyFile(t, newEvents, filepath.Join(logs, "keras/validation/events.out.tfevents.000"))
	w.good("values in 1 runs", "tensorboard", logs)
	w.good("0 new values in 0 runs", "tensorboard", logs)
	if got := w.reports(1, training, "train/loss"); len(got) != 0 {
		t.Fatalf("the losses are %v", got)
	}
	copyFile(t, oldEvents, filepath.Join(logs, "keras/train/events.out.tfevents.")) // the first one by its name
	w.good("values in 1 runs", "tensorboard", logs)
	if got := w.reports(1, training, "train/loss"); len(got) != 10 {
		t.Errorf("after another file the losses are %v", got)
	}
	w.good("0 new values in 0 runs", "tensorboard", logs)
}
