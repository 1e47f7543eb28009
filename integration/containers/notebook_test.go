package containers

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/detent-ml/detent/integration/rig"
	"github.com/detent-ml/detent/nomad/local"
	"github.com/detent-ml/detent/nomad/servers/turn"
)

// labConfig returns the configuration of a notebook whose Python finds its packages in a
// virtual environment at the folder venv.
func labConfig(t *testing.T, venv, more string) string {
	t.Helper()
	packages, err := filepath.Glob(filepath.Join(venv, "lib", "python3*", "site-packages"))
	if err != nil || len(packages) != 1 {
		t.Fatalf("packages of %s: %v, %v", venv, packages, err)
	}
	rel, err := filepath.Rel(venv, packages[0])
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "notebook.yaml")
	text := fmt.Sprintf(more, rel)
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

// checkNotebook starts a notebook, reads its page through the proxy, runs a cell over its
// WebSocket, and ends it.
func checkNotebook(t *testing.T, r *rig.Rig, config string) {
	t.Helper()
	out, err := r.Det(t, "notebook", "start", "--no-browser", "--config-file", config)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	id := rig.Started(t, out)
	base := "/proxy/" + id
	if code, body := r.Page(t, r.Client, base+"/lab"); code != 200 || !strings.Contains(body, "JupyterLab") {
		t.Errorf("the notebook's page: %d %.300s", code, body)
	}
	if got := r.Cell(t, base, rig.CellOfAUser); got != "determined in "+id {
		t.Errorf("a cell printed %q", got)
	}
	if code, _ := r.Page(t, nil, base+"/api/contents"); code == 200 {
		t.Error("a caller without a session can open the notebook")
	}
	if out, err := r.Det(t, "notebook", "kill", id); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if status := r.Ends(t, "notebook", id); status != "killed by determined" {
		t.Errorf("the notebook's status is %q", status)
	}
}

// notebook tests JupyterLab in a container, from a virtual environment of the node that is
// mounted into an image without JupyterLab.
func (d *inContainers) notebook(t *testing.T) {
	venv := filepath.Dir(rig.PythonOf(t, "notebook"))
	checkNotebook(t, d.Rig, labConfig(t, venv, `
resources: {slots: 1}
bind_mounts: [{host_path: `+venv+`, container_path: /opt/lab, read_only: true}]
environment:
  environment_variables:
    - PYTHONPATH=/opt/lab/%[1]s
    - JUPYTERLAB_DIR=/opt/lab/share/jupyter/lab
    - JUPYTER_PATH=/opt/lab/share/jupyter
`))
}

// TestNotebookUnderExec tests JupyterLab with the exec driver: in a chroot with the system's
// Python and the packages of the node's chroot_env.
func TestNotebookUnderExec(t *testing.T) {
	turn.First(t)
	if os.Geteuid() != 0 {
		t.Skip("the exec driver needs root")
	}
	const system = "/usr/bin/python3"
	lab := rig.PythonOf(t, "notebook")
	versions := map[string]bool{}
	library := ""
	for _, python := range []string{system, filepath.Join(lab, "python")} {
		out, err := exec.CommandContext(t.Context(), python, "-c", "import sys, sysconfig; print(sys.version_info[:2], sysconfig.get_paths()['stdlib'], sep='|')").Output()
		if err != nil {
			t.Skip("there is no Python of the system's: ", err)
		}
		version, path, _ := strings.Cut(strings.TrimSpace(string(out)), "|")
		versions[version] = true
		if python == system {
			library = path
		}
	}
	if len(versions) != 1 {
		t.Skipf("the system's Python is another than that of the packages: %v", versions)
	}
	r := rig.Start(t)
	dir, err := os.MkdirTemp("", "detent-lab-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	// In a folder that all accounts may read: exec tasks run as nobody.
	venv := filepath.Join(dir, "lab")
	for _, part := range []string{"lib", "share"} {
		if err := os.CopyFS(filepath.Join(venv, part), os.DirFS(filepath.Join(filepath.Dir(lab), part))); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	chroot := []string{"/bin", "/usr/bin", "/etc", "/lib64", library, venv}
	libraries, err := filepath.Glob("/lib/*-linux-gnu")
	if err != nil {
		t.Fatal(err)
	}
	if err := r.AddClient(t.Context(), local.Client{Name: "lab", Pool: "lab", Chroot: append(chroot, libraries...)}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.RemoveClient(context.WithoutCancel(t.Context()), "lab"); err != nil {
			t.Error(err)
		}
	})
	checkNotebook(t, r, labConfig(t, venv, `
resources: {slots: 1, resource_pool: lab}
environment:
  environment_variables:
    - PATH=/usr/bin:/bin
    - PYTHONPATH=`+venv+`/%[1]s
    - JUPYTERLAB_DIR=`+venv+`/share/jupyter/lab
    - JUPYTER_PATH=`+venv+`/share/jupyter
`))
}
