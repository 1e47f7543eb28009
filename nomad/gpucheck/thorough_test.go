package gpucheck

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/detent-ml/detent/nomad/servers"
	"github.com/detent-ml/detent/nomad/servers/pyenv"
	"github.com/detent-ml/detent/plugins/gpu/nvmltest"
)

// TestPackOnThisMachine: the pack of this checkout is small enough, and its checks pass in a folder of their own on this machine: on
// simulated GPUs with all that trains, and with a stand-in for NVIDIA's library as on a machine with a driver, through det-gpu and through
// a stand-in for HashiCorp's own plugin.
func TestPackOnThisMachine(t *testing.T) {
	if os.Getenv("DETENT_THOROUGH") != "1" {
		t.Skip("just nightly runs this; or set DETENT_THOROUGH=1")
	}
	report := servers.NewReporter(t.Output())
	nomad, err := servers.Ensure(t.Context(), "nomad", report)
	if err != nil {
		t.Fatal(err)
	}
	postgres, err := servers.PostgresFolder(t.Context(), report)
	if err != nil {
		t.Fatal(err)
	}
	python, err := pyenv.Named(t.Context(), "torch", report)
	if err != nil {
		t.Fatal(err)
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	// just gpu-check-test has built the programs.
	o := Options{Root: root, Programs: filepath.Join(root, "bin"), Nomad: nomad.Path, Postgres: postgres, Out: filepath.Join(t.TempDir(), "pack.tar.xz")}
	size, err := Write(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("the pack has %.1f MB", float64(size)/1e6)

	checks := func(t *testing.T, args ...string) string {
		t.Helper()
		var out bytes.Buffer
		err := Run(t.Context(), o.Out, python, append([]string{"--out", t.ArtifactDir()}, args...), &out)
		t.Logf("%s", &out)
		if err != nil {
			t.Error(err)
		}
		return out.String()
	}
	holds := func(t *testing.T, said string, parts ...string) {
		t.Helper()
		for _, part := range parts {
			if !strings.Contains(said, part) {
				t.Errorf("%q is not in what the checks said", part)
			}
		}
	}
	t.Run("simulated GPUs", func(t *testing.T) {
		holds(t, checks(t, "--seconds", "900"), "the GPUs are simulated", "9 passed, 0 failed, 1 skipped", "4 slots", "2 workers over gloo", "| simulated |")
	})
	library := nvmltest.Library(t)
	t.Run("a library", func(t *testing.T) {
		t.Setenv("LD_LIBRARY_PATH", library)
		holds(t, checks(t, "--processors", "--only", "probe", "pytorch", "slots", "trial"), "2 x "+nvmltest.Model, "healthy, 1 link group", "2 slots of "+nvmltest.Model, "6 passed, 0 failed")
	})
	t.Run("HashiCorp's plugin", func(t *testing.T) {
		t.Setenv("LD_LIBRARY_PATH", library)
		plugin := filepath.Join(t.TempDir(), "nomad-device-nvidia")
		if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", plugin, "../../plugins/gpu/nvmltest/theirs").CombinedOutput(); err != nil {
			t.Fatalf("go build: %v\n%s", err, out)
		}
		holds(t, checks(t, "--processors", "--gpu-plugin", plugin, "--only", "slots", "trial"), "2 slots of "+nvmltest.Model, "alone, a product of matrices", "4 passed, 0 failed")
	})
}
