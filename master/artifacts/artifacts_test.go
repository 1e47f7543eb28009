package artifacts

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/rest/resttest"
)

// A rig serves the room alone.
type rig struct {
	*Files
	*resttest.Site
}

// otherRunner wants a runner for another platform than the master's to be served, alone and
// in a tar, by its own hash.
func (r *rig) otherRunner(t *testing.T, own string) {
	t.Helper()
	target := "linux-arm64"
	if target == Platform() {
		target = "linux-amd64"
	}
	if err := os.WriteFile(own+"-"+target, []byte("for another platform"), 0o755); err != nil {
		t.Fatal(err)
	}
	if others, err := OtherPlatforms(filepath.Dir(own)); err != nil || !slices.Equal(others, []string{target}) {
		t.Errorf("other runners: %v %v", others, err)
	}
	sum := sha256.Sum256([]byte("for another platform"))
	sha := hex.EncodeToString(sum[:])
	if b := r.With("").Get("/runner/" + sha + "/" + target).OK(); string(b.Body) != "for another platform" {
		t.Errorf("the runner for %s: %q", target, b.Body)
	}
	archive, err := ArchiveHash(Path(filepath.Dir(own), Runner, target))
	sum = sha256.Sum256(r.With("").Get("/runner/" + sha + "/" + target + ".tar").OK().Body)
	if err != nil || hex.EncodeToString(sum[:]) != archive {
		t.Errorf("the tar with the runner for %s has another hash than %s: %v", target, archive, err)
	}
	r.With("").Get("/runner/"+sha+"/"+Platform()).Says(404, Platform())
}

// remover wants the remover to be served for each platform, by its own hash, and in no tar.
func (r *rig) remover(t *testing.T, dir string) {
	t.Helper()
	for _, target := range []string{Platform(), "plan9-mips"} {
		content := "the remover for " + target
		if err := os.WriteFile(Path(dir, Remover, target), []byte(content), 0o755); err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256([]byte(content))
		sha := hex.EncodeToString(sum[:])
		if b := r.With("").Get("/remover/" + sha + "/" + target).OK(); string(b.Body) != content {
			t.Errorf("the remover for %s: %q", target, b.Body)
		}
		r.With("").Get("/remover/"+sha+"/"+target+".tar").Says(404, Platform())
		r.With("").Get("/runner/"+sha+"/"+target).Says(404, "det-runner")
	}
}

func TestArtifacts(t *testing.T) {
	runner, harness, det := t.TempDir(), t.TempDir(), filepath.Join(t.TempDir(), "det")
	r := &rig{Files: &Files{RunnerDir: runner, HarnessDir: harness, DetPath: det}}
	r.Site = resttest.Serve(t, nil, r.Routes)
	if _, err := r.hashOf(filepath.Join(runner, Runner)); err == nil {
		t.Fatal("a hash of no runner")
	}
	write := func(path, content string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(runner, Runner), "#!/bin/sh\n")
	sum := sha256.Sum256([]byte("#!/bin/sh\n"))
	sha, err := r.hashOf(filepath.Join(runner, Runner))
	if err != nil || sha != hex.EncodeToString(sum[:]) {
		t.Fatalf("%s %v", sha, err)
	}
	if b := r.With("").Get("/runner/" + sha + "/" + Platform()).OK(); string(b.Body) != "#!/bin/sh\n" {
		t.Errorf("runner: %q", b.Body)
	}
	r.With("").Get("/runner/"+strings.Repeat("0", 64)+"/"+Platform()).Says(404, sha)
	r.With("").Get("/runner/"+sha+"/plan9-mips").Says(404, Platform())
	r.With("").Get("/runner/"+sha+"/..").Says(404, "")
	r.otherRunner(t, filepath.Join(runner, Runner))
	write(filepath.Join(runner, Runner), "#!/bin/sh\nexit 1\n")
	if again, err := r.hashOf(filepath.Join(runner, Runner)); err != nil || again == sha {
		t.Errorf("a changed runner keeps its hash: %v", err)
	}
	r.remover(t, runner)
	write(det, "the command line")
	if sha, err = r.DetHash(); err != nil {
		t.Fatal(err)
	}
	if b := r.With("").Get("/cli/" + sha + "/" + Platform()).OK(); string(b.Body) != "the command line" {
		t.Errorf("det: %q", b.Body)
	}
	r.With("").Get("/cli/"+strings.Repeat("0", 64)+"/"+Platform()).Says(404, sha)
	write(filepath.Join(harness, "determined", "__init__.py"), "x = 1\n")
	write(filepath.Join(harness, "determined", "__pycache__", "x.pyc"), "junk")
	write(filepath.Join(harness, "tests", "test_x.py"), "junk")
	first, err := r.HarnessHash()
	if err != nil {
		t.Fatal(err)
	}
	got := r.With("").Get("/harness/" + first + ".tar.gz").OK()
	sum = sha256.Sum256(got.Body)
	if hex.EncodeToString(sum[:]) != first {
		t.Error("the harness does not match the checksum in its name")
	}
	if err := os.Chtimes(filepath.Join(harness, "determined", "__init__.py"), time.Unix(1, 0), time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	if second, err := r.HarnessHash(); err != nil || second != first {
		t.Errorf("a touched file changes the hash: %s %s %v", first, second, err)
	}
	r.With("").Get("/harness/0.tar.gz").Says(404, first)
}
