package jobspecs_test

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/nomad/api"

	"github.com/detent-ml/detent/jobspecs"
)

// processes returns the processes of a rendered task: the main one, and the last one, which sends the
// rest of the log.
func processes(t *testing.T, k jobspecs.Task) (main, ship *api.Task) {
	t.Helper()
	job, err := jobspecs.Render(k)
	if err != nil {
		t.Fatal(err)
	}
	tasks := job.TaskGroups[0].Tasks
	return tasks[0], tasks[1]
}

// TestShipRunsNoChangedRunner runs the script of the last process beside a runner
// that the program of the task has changed.
func TestShipRunsNoChangedRunner(t *testing.T) {
	const good, bad = "#!/bin/sh\necho good $1\n", "#!/bin/sh\necho bad $1\n"
	sum := sha256.Sum256([]byte(good))
	for name, c := range map[string]struct {
		content string
		link    string
		want    string
		fails   bool
	}{
		"as it was fetched": {content: good, want: "good ship"},
		"never fetched":     {},
		"changed":           {content: bad, fails: true},
		"a link":            {link: "/bin/echo", fails: true},
		"no file":           {link: "/dev/zero"},
	} {
		t.Run(name, func(t *testing.T) {
			k := trial()
			k.Runner.SHA256 = hex.EncodeToString(sum[:])
			_, ship := processes(t, k)
			alloc, local := t.TempDir(), t.TempDir()
			file := filepath.Join(alloc, "det-runner")
			if c.content != "" {
				if err := os.WriteFile(file, []byte(c.content), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			if c.link != "" {
				if err := os.Symlink(c.link, file); err != nil {
					t.Fatal(err)
				}
			}
			cmd := exec.CommandContext(t.Context(), ship.Config["command"].(string), ship.Config["args"].([]string)...)
			cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "NOMAD_ALLOC_DIR=" + alloc, "NOMAD_TASK_DIR=" + local}
			out, err := cmd.CombinedOutput()
			if (err != nil) != c.fails {
				t.Fatalf("%v: %s", err, out)
			}
			if !c.fails && strings.TrimSpace(string(out)) != c.want {
				t.Errorf("ship printed %q, want %q", out, c.want)
			}
			if c.fails && (strings.Contains(string(out), "bad") || !strings.Contains(string(out), "changed det-runner")) {
				t.Errorf("ship printed %q", out)
			}
		})
	}
}

// TestShipHasNoRights: the last process sees no device and has no capability.
func TestShipHasNoRights(t *testing.T) {
	for name, k := range cases() {
		main, ship := processes(t, k)
		if ship.Env["NVIDIA_VISIBLE_DEVICES"] != "void" {
			t.Errorf("%s: the last process sees the devices %q", name, ship.Env["NVIDIA_VISIBLE_DEVICES"])
		}
		drop, _ := ship.Config["cap_drop"].([]string)
		if all := len(drop) == 1 && drop[0] == "all"; all != (k.Pool.Driver != "raw_exec") {
			t.Errorf("%s: under %s the last process drops the capabilities %v", name, k.Pool.Driver, drop)
		}
		if len(ship.Resources.Devices) > 0 || ship.Config["cap_add"] != nil || ship.Config["devices"] != nil {
			t.Errorf("%s: the last process requests %v", name, ship.Config)
		}
		if k.Container == nil || k.Runner.Path != "" {
			continue
		}
		closed := false
		for _, m := range main.Config["mount"].([]map[string]any) {
			closed = closed || m["target"] == "/alloc/bin" && m["source"] == "../alloc/bin" && m["readonly"] == true
		}
		if !closed {
			t.Errorf("%s: the program can write to the runner that the last process executes", name)
		}
	}
}
