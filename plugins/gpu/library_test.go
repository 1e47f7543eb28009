package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/nomad/api"
	"github.com/hashicorp/nomad/plugins/base"

	"github.com/detent-ml/detent/master/cluster/nomadtest"
	"github.com/detent-ml/detent/plugins/gpu/nvidia"
	"github.com/detent-ml/detent/plugins/gpu/nvmltest"
)

// asProgram makes the program of the tests behave as det-gpu, so that nothing has to be built for a Nomad.
const asProgram = "DET_GPU_OF_A_TEST"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" || os.Getenv(base.Handshake.MagicCookieKey) == base.Handshake.MagicCookieValue {
		os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// pluginFolder is a folder with this program as det-gpu.
func pluginFolder(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "plugins")
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(exe)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "det-gpu"), content, 0o755); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	return dir
}

// TestWithALibrary: the whole program loads a library as it loads the driver's, and Nomad gets from it what the library says: the GPUs
// with their properties, the groups that NVLink connects, and memory errors as the reason why a GPU gets no task.
func TestWithALibrary(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts Nomad")
	}
	if !nvidia.Linked {
		t.Skip("this build of det-gpu has no binding of NVIDIA's library")
	}
	sick := filepath.Join(t.TempDir(), "sick")
	t.Setenv("LD_LIBRARY_PATH", nvmltest.Library(t))
	t.Setenv(nvmltest.GPUs, "4")
	t.Setenv(nvmltest.Sick, sick)
	ids := probed(t)
	if len(ids) != 4 {
		t.Fatalf("the probe lists %v", ids)
	}
	if err := os.WriteFile(sick, []byte("1"), 0o600); err != nil {
		t.Fatal(err)
	}
	n := &node{Agent: nomadtest.Start(t, nomadtest.Options{PluginDir: pluginFolder(t), Plugins: map[string]map[string]any{"det-gpu": {"fingerprint_period": "200ms"}}})}
	group := n.devices(t, "four GPUs of the library", func(g []*api.NodeDeviceResource) error {
		if len(g) != 1 || len(g[0].Instances) != 4 {
			return fmt.Errorf("%d groups", len(g))
		}
		return nil
	})[0]
	linked := group.Attributes["linked"]
	if group.Name != nvmltest.Model || *group.Attributes["memory"].IntVal != 81920 || *group.Attributes["cuda_version"].StringVal != "13.0" ||
		linked == nil || *linked.StringVal != ids[0]+","+ids[1]+";"+ids[2]+","+ids[3] || group.Instances[0].Locality.PciBusID != "00000000:10:00.0" {
		t.Errorf("%+v", group)
	}

	for _, d := range group.Instances {
		if (d.ID == ids[1]) == d.Healthy || !d.Healthy && !strings.Contains(d.HealthDescription, "3 uncorrectable memory errors") {
			t.Errorf("%s: %t, %q", d.ID, d.Healthy, d.HealthDescription)
		}
	}
	n.register(t, job("named", 1, ids[2]))
	if got, env := n.given(t, "named"); !slices.Equal(got, ids[2:3]) || !strings.Contains(env, "NVIDIA_VISIBLE_DEVICES="+ids[2]) || !strings.Contains(env, "CUDA_VISIBLE_DEVICES="+ids[2]) ||
		strings.Contains(env, "DET_SIMULATED_GPUS") {
		t.Errorf("given %v, and the task's environment is\n%s", got, env)
	}
}

// probed are the ids that det-gpu probe prints, in a process that finds the library.
func probed(t *testing.T) (ids []string) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), exe, "probe")
	cmd.Env = append(os.Environ(), asProgram+"=1")
	var problems bytes.Buffer
	cmd.Stderr = &problems
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("det-gpu probe: %v\n%s", err, &problems)
	}
	var said struct{ Devices []found }
	if err := json.Unmarshal(out, &said); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, d := range said.Devices {
		if d.Model != nvmltest.Model || d.MemoryMiB != 81920 || d.Unfit != "" {
			t.Errorf("%+v", d)
		}
		ids = append(ids, d.ID)
	}
	return ids
}
