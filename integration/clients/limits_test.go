package clients

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/detent-ml/detent/integration/rig"
	"github.com/detent-ml/detent/master/client"
	v1 "github.com/detent-ml/detent/master/v1"
)

// largestCode is the size of a folder just below the 95 MiB at which Determined's clients stop.
const largestCode = 94 << 20

// TestLargestCode submits as much code as Determined's clients allow, which does not compress, with
// Determined's det, its SDK, and our det; each comes back whole.
func TestLargestCode(t *testing.T) {
	r := rig.Start(t)
	u := r.Person(t, "determined", "")
	config, dir := u.Experiment(t, "large", "print('large')")
	weights := make([]byte, largestCode)
	rand.NewChaCha8([32]byte{1}).Read(weights)
	if err := os.WriteFile(filepath.Join(dir, "weights"), weights, 0o644); err != nil {
		t.Fatal(err)
	}
	const sdk = `
import sys
from determined.experimental import client
client.login(user="determined", password="")
print("Created experiment", client.create_experiment(sys.argv[1], sys.argv[2]).id)
`
	paused := filepath.Join(u.Home, "paused.yaml")
	text, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	// The SDK activates what it creates: these experiments wait for more slots than there are.
	if err := os.WriteFile(paused, append(text, "resources: {slots_per_trial: 64}\n"...), 0o644); err != nil {
		t.Fatal(err)
	}
	w := &typist{r: r, home: u.Home, used: map[string]bool{}}
	for who, submit := range map[string]func() string{
		"Determined's det": func() string { return u.Det(t, "experiment", "create", config, dir, "--paused") },
		"our det":          func() string { return w.det(t, "experiment", "create", config, dir, "--paused") },
		"Determined's SDK": func() string {
			stdout, stderr, code := u.Run(t, "", u.Python, "-c", sdk, paused, dir)
			if code != 0 {
				t.Fatalf("exit %d\n%s%s", code, stdout, stderr)
			}
			return stdout
		},
	} {
		id := rig.First(t, `Created experiment (\d+)`, submit())
		if who == "our det" { // it sends what Determined's det sends
			e, err := client.Call(t.Context(), r.Client, v1.GetExperiment, id)
			if err != nil || e.Experiment.ModelDefinitionSize < largestCode {
				t.Errorf("%s: %+v, %v", who, e, err)
			}
			continue
		}
		into := t.TempDir()
		u.Det(t, "experiment", "download-model-def", fmt.Sprint(id), "--output-dir", into)
		archives, _ := filepath.Glob(filepath.Join(into, "*"))
		if len(archives) != 1 {
			t.Fatalf("%s: %v", who, archives)
		}
		if info, err := os.Stat(archives[0]); err != nil || info.Size() < largestCode {
			t.Errorf("%s: what comes back is %+v, %v", who, info, err)
		}
		u.Det(t, "experiment", "kill", fmt.Sprint(id))
	}
	// One byte too many is an error of the client, before anything is sent.
	if err := os.WriteFile(filepath.Join(dir, "more"), weights[:2<<20], 0o644); err != nil {
		t.Fatal(err)
	}
	if _, stderr, code := w.try(t, "", "experiment", "create", config, dir, "--paused"); code == 0 || !strings.Contains(stderr, "95") {
		t.Errorf("our det: exit %d, %s", code, stderr)
	}
	if stdout, stderr, code := u.Run(t, "", u.Client(), "experiment", "create", config, dir, "--paused"); code == 0 || !strings.Contains(stdout+stderr, "95") {
		t.Errorf("Determined's det: exit %d, %s%s", code, stdout, stderr)
	}
}

// TestLongNamesAndLabels: what Determined's det and SDK can set, and Determined keeps, is kept: at creation, by a change, and
// in the configuration that a running program reads.
func TestLongNamesAndLabels(t *testing.T) {
	r := rig.Start(t)
	u := r.Person(t, "determined", "")
	config, dir := u.Experiment(t, "named", `
import determined as det
info = det.get_cluster_info()
config = info.trial._config
print("the program starts with a name of", len(config["name"]), "characters and", len(config["labels"]), "labels")
`)
	text, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	name := strings.Repeat("実験🧪 ", 12_499) + "end!" // 50,000 characters, 137,493 bytes
	var labels []string
	for i := range 1000 {
		labels = append(labels, fmt.Sprintf("sweep %03d", i))
	}
	list, err := json.Marshal(labels)
	if err != nil {
		t.Fatal(err)
	}
	renamed := regexp.MustCompile(`(?m)^name: .*\n`).ReplaceAllString(string(text), "") + "name: " + name + "\nlabels: " + string(list) + "\n"
	if err := os.WriteFile(config, []byte(renamed), 0o644); err != nil {
		t.Fatal(err)
	}
	id := rig.First(t, `Created experiment (\d+)`, u.Det(t, "experiment", "create", config, dir))
	r.WaitLog(t, id, "the program starts with a name of")
	if lines := r.Log(t, id); !strings.Contains(lines, "and 0 labels") {
		t.Errorf("the configuration of the program: %s", lines)
	}
	label := strings.Repeat("🧪", 2000)
	u.Det(t, "experiment", "label", "add", fmt.Sprint(id), label)
	u.Det(t, "experiment", "set", "name", fmt.Sprint(id), "a name between")
	const sdk = `
import sys
from determined.experimental import client
client.login(user="determined", password="")
exp = client.get_experiment(int(sys.argv[1]))
assert exp.name == "a name between", exp.name[:100]
assert "🧪" * 2000 in exp.labels and len(exp.labels) == 1001, len(exp.labels)
name = "実験🧪 " * 12499 + "end!"
assert len(name) == 50000
exp.set_name(name)
exp.add_label("字" * 2000)
exp.remove_label("🧪" * 2000)
exp.set_description("d" * 200000)
exp.reload()
assert exp.name == name and exp.config["name"] == name
assert len(exp.labels) == 1001 and "字" * 2000 in exp.labels and set(exp.config["labels"]) == exp.labels
exp.set_labels({f"{i} " + "字" * 20 for i in range(1000)})
found = [e for e in client.list_experiments(labels=["7 " + "字" * 20]) if e.id == exp.id]
assert len(found) == 1 and found[0].name == name and len(found[0].labels) == 1000
exp.set_name("n" * 262144)
try:
    exp.set_name("n" * 262145)
except Exception as e:
    assert "over the limit of 262144" in str(e), e
else:
    raise AssertionError("a name without end")
exp.reload()
assert len(exp.name) == 262144
print("all is kept")
`
	stdout, stderr, code := u.Run(t, "", u.Python, "-c", sdk, fmt.Sprint(id))
	if code != 0 || !strings.Contains(stdout, "all is kept") {
		t.Fatalf("exit %d\n%.2000s%.2000s", code, stdout, stderr)
	}
	if out := u.Det(t, "experiment", "describe", fmt.Sprint(id)); !strings.Contains(out, strings.Repeat("n", 1000)) {
		t.Errorf("describe: %.2000s", out)
	}
	if out := u.Det(t, "experiment", "list", "--all"); !strings.Contains(out, strings.Repeat("n", 1000)) {
		t.Errorf("list: %.2000s", out)
	}
	// Lists of other tests are not to be long.
	u.Det(t, "experiment", "set", "name", fmt.Sprint(id), "a short name")
	r.WaitState(t, id, v1.ExperimentStateCompleted)
	u.Det(t, "experiment", "archive", fmt.Sprint(id))
}
