package faults

import (
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/detent-ml/detent/integration/rig"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/nomad/local"
)

// smallDisk mounts a tmpfs of some megabytes on a folder. It returns a reason if it cannot.
func smallDisk(dir, size string) (why string, err error) {
	if os.Geteuid() != 0 {
		return "only root can mount a small disk", nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	if err := syscall.Mount("detent-faults", dir, "tmpfs", 0, "mode=755,size="+size); err != nil {
		return "a small disk cannot be mounted here: " + err.Error(), nil //nolint:nilerr // a reason to skip
	}
	return "", nil
}

// isSmall reports whether a folder is on a disk that smallDisk made.
func isSmall(dir string) bool {
	mounts, err := os.ReadFile("/proc/mounts")
	return err == nil && strings.Contains(string(mounts), "detent-faults "+dir+" ")
}

// fill fills the disk of a folder until free is called.
func fill(t testing.TB, dir string) (free func()) {
	t.Helper()
	path := filepath.Join(dir, "filler")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	free = func() {
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Error(err)
		}
	}
	t.Cleanup(free)
	defer f.Close()
	for block := make([]byte, 1<<20); len(block) >= 512; {
		if _, err := f.Write(block); errors.Is(err, syscall.ENOSPC) {
			block = block[:len(block)/2]
		} else if err != nil {
			t.Fatal(err)
		}
	}
	return free
}

// nodesDiskIsFull fills the disk with the runner's log lines while the master does not run, so that
// the runner must store the lines.
func nodesDiskIsFull(t *testing.T, r *rig.Rig) {
	dir := filepath.Join(r.Cluster.StateDir(), "alloc-small")
	if why, err := smallDisk(dir, "500m"); err != nil || why != "" {
		t.Skip(why, err)
	}
	if err := r.AddClient(t.Context(), local.Client{Name: "small", Pool: "small"}); err != nil {
		t.Fatal(err)
	}
	k := r.Train(t, rig.TrainOptions{Noise: 4096, More: "resources: {resource_pool: small}\n"})
	free := fill(t, dir)
	k.Advance(t, rig.CheckpointEvery)
	r.Kill9(t, "master")
	k.Advance(t, rig.CheckpointEvery)
	r.Healthy(t)
	k.Advance(t, rig.CheckpointEvery)
	k.CheckAlone(t)
	if log := k.Log(t, k.Experiment); !strings.Contains(log, "no space left on device") {
		t.Errorf("the training's log does not say that the disk is full:\n%s", log)
	}
	free()
	k.Advance(t, rig.CheckpointEvery)
	k.Finish(t)
	k.CheckWhole(t)
}

// databasesDiskIsFull fills PostgreSQL's disk. A submission gets an error, trainings continue, and no
// report is lost when the disk has space again.
func databasesDiskIsFull(t *testing.T, r *rig.Rig) {
	dir := filepath.Join(r.Cluster.StateDir(), "postgres")
	if !isSmall(dir) {
		t.Skip("PostgreSQL's data is on no disk of its own: only root can mount one")
	}
	k := r.Train(t, rig.TrainOptions{})
	free := fill(t, dir)
	t.Cleanup(func() { r.StartPart(t, "postgres") }) // PostgreSQL may have stopped
	k.Advance(t, 1)
	err := submitLarge(t, r)
	t.Logf("the answer to a submission: %v", err)
	if err == nil || !strings.Contains(err.Error(), "No space left on device") {
		t.Errorf("the answer to a submission while the database's disk is full: %v", err)
	}
	k.Advance(t, 2)
	k.CheckAlone(t)
	free()
	r.StartPart(t, "postgres")
	r.Healthy(t)
	if err := submitLarge(t, r); err != nil {
		t.Errorf("a submission when the disk has space again: %v", err)
	}
	k.Advance(t, 2*rig.CheckpointEvery)
	k.CheckAlone(t)
	k.Finish(t)
	k.CheckWhole(t)
}

// submitLarge submits a paused experiment whose code has to be stored.
func submitLarge(t testing.TB, r *rig.Rig) error {
	t.Helper()
	once, err := client.New(client.Options{Master: r.MasterURL, Token: r.Client.Token(), Patience: -1})
	if err != nil {
		t.Fatal(err)
	}
	noise := make([]byte, 1<<20)
	if _, err := rand.Read(noise); err != nil {
		t.Fatal(err)
	}
	text := "{name: large, entrypoint: \"true\", searcher: {name: single, metric: loss, max_length: {batches: 1}}}"
	_, err = once.CreateExperiment(t.Context(), v1.CreateExperimentRequest{Config: &text,
		ModelDefinition: []v1.File{{Path: "noise", Type: 48, Mode: 0o100644, Content: noise}}}, nil)
	return err
}
