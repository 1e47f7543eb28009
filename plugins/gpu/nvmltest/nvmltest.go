// Package nvmltest builds a stand-in for NVIDIA's library, which programs load as they load the driver's own. So tests run whole
// programs, det-gpu and other device plugins, on machines without a driver, through the same binding as on a machine with GPUs.
package nvmltest

import (
	_ "embed"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

//go:embed library/nvml.c
var source string

// Variables of programs that use the library.
const (
	// GPUs is how many GPUs it lists: from 0 to 8, 2 by default.
	GPUs = "NVML_STANDIN_GPUS"
	// Sick is a file. The GPU whose number is in it, from 0, has uncorrected memory errors.
	Sick = "NVML_STANDIN_SICK"
)

// Model is the name of its GPUs.
const Model = "NVIDIA Stand-in 80GB"

// Library builds the library, and returns its folder, for LD_LIBRARY_PATH. It skips a test on a machine without a C compiler. The header
// is the one of the binding that det-gpu is built with.
func Library(t testing.TB) (dir string) {
	t.Helper()
	compiler, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("no C compiler here (Debian: apt-get install gcc libc6-dev)")
	}
	binding, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/NVIDIA/go-nvml").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	dir = t.TempDir()
	file := filepath.Join(dir, "nvml.c")
	if err := os.WriteFile(file, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	header := filepath.Join(strings.TrimSpace(string(binding)), "pkg", "nvml")
	cmd := exec.CommandContext(t.Context(), compiler, "-shared", "-fPIC", "-O1", "-Wno-deprecated-declarations", "-I", header, "-o", filepath.Join(dir, "libnvidia-ml.so.1"), file)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", compiler, err, out)
	}
	return dir
}
