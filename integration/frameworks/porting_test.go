package frameworks

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/detent-ml/detent/integration/rig"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/v1"
)

// longEpochs is the length of the page's long training in place of its 1,000 epochs, which a reader needs to pause it by hand: after the first
// checkpoint, at epoch 100, the test needs seconds for that.
const longEpochs = 500

var fenced = regexp.MustCompile("(?ms)^```(\\w*)\n(.*?)^```$")

// change applies a diff block to train.py, as a reader does with git or patch.
func change(t *testing.T, dir, diff string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", "apply", "--verbose", "-")
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(diff)
	cmd.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s\n%s", err, out, diff)
	}
}

// porting follows docs/porting.md block by block in one folder: it changes train.py, writes the configurations and
// runs the commands.
func porting(t *testing.T, r *rig.Rig, python string) {
	page, err := os.ReadFile(filepath.Join(r.Root, "docs", "porting.md"))
	if err != nil {
		t.Fatal(err)
	}
	dir, home := t.TempDir(), t.TempDir()
	configs := []string{"const.yaml", "search.yaml"}
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	count := map[string]int{}
	for _, block := range fenced.FindAllStringSubmatch(string(page), -1) {
		count[block[1]]++
		switch block[1] {
		case "python":
			write("train.py", block[2])
		case "diff":
			change(t, dir, block[2])
		case "yaml":
			write(configs[count["yaml"]-1], block[2])
		case "":
			commands := strings.Replace(block[2], "epochs=1000", fmt.Sprintf("epochs=%d", longEpochs), 1)
			out := asReader(t, r, dir, home, python, commands+"\necho it was ${long:-}")
			if commands != block[2] {
				samePausedOrNot(t, r, dir, home, python, rig.First(t, `it was (\d+)`, out))
			}
		}
	}
	if want := map[string]int{"python": 1, "yaml": 2, "diff": 5, "": 7}; !maps.Equal(count, want) {
		t.Errorf("the page has the blocks %v, and the test knows %v", count, want)
	}
	for _, name := range append(configs, "train.py") { // the finished files, for those who do not type
		want, err := os.ReadFile(filepath.Join(r.Root, "plugins", "harness", "examples", "spirals", name))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(got) != string(want) {
			t.Errorf("%s of the example is another file than the page's: %v", name, err)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "best", "state.pt")); err != nil {
		t.Errorf("the downloaded checkpoint: %v", err)
	}
	ported(t, r)
}

// asReader runs commands of the page as its reader does, and returns their output.
func asReader(t *testing.T, r *rig.Rig, dir, home, python, commands string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "bash", "-c", "set -eu\n"+commands)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+home, "DET_MASTER="+r.MasterURL, "DET_USER=determined", "DET_PASS=", "NO_COLOR=1",
		"PATH="+python+":"+r.Bin+":"+os.Getenv("PATH"), "OMP_NUM_THREADS=1", "PYTHONPATH="+filepath.Join(r.Root, "plugins", "harness")+":"+rig.Lean(t))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s\n%v\n%s", commands, err, out)
	}
	return string(out)
}

// samePausedOrNot repeats the training of the paused experiment without a pause; each epoch must report the same.
func samePausedOrNot(t *testing.T, r *rig.Rig, dir, home, python string, paused int) {
	t.Helper()
	out := asReader(t, r, dir, home, python, fmt.Sprintf("det experiment create const.yaml . --config hyperparameters.epochs=%d --config name=whole", longEpochs))
	whole := rig.First(t, `Created experiment (\d+)`, out)
	r.WaitState(t, whole, v1.ExperimentStateCompleted)
	if a, b := losses(t, r, paused), losses(t, r, whole); !maps.Equal(a, b) || len(a) != longEpochs {
		t.Errorf("%d epochs of the paused training, %d of the other, and they differ", len(a), len(b))
	}
}

// losses returns the losses of an experiment's trial by steps.
func losses(t *testing.T, r *rig.Rig, experiment int) map[int]string {
	t.Helper()
	reports, err := client.Collect(r.Client.TrialMetrics(t.Context(), "training", r.Trial(t, experiment).ID))
	if err != nil {
		t.Fatal(err)
	}
	found := map[int]string{}
	for _, m := range reports {
		found[m.TotalBatches] = string(m.Metrics)
	}
	return found
}

// ported checks the results of the page's experiments.
func ported(t *testing.T, r *rig.Rig) {
	t.Helper()
	list, err := client.List(t.Context(), r.Client, v1.ListExperiments, client.Page{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for _, e := range list {
		if !strings.HasPrefix(e.Name, "spirals") {
			continue
		}
		seen[e.Name]++
		if e.State != v1.ExperimentStateCompleted {
			t.Errorf("experiment %d, %s, is %s:\n%s", e.ID, e.Name, e.State, r.Log(t, e.ID))
		}
		if e.Name == "spirals, a search" && len(r.Trials(t, e.ID)) < 4 {
			t.Errorf("the search has %d trials", len(r.Trials(t, e.ID)))
		}
	}
	if want := map[string]int{"spirals": 5, "spirals, a search": 1}; !maps.Equal(seen, want) {
		t.Errorf("there are the experiments %v", seen)
	}
}
