package clients

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/detent-ml/detent/integration/rig"
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
			e, err := r.Client.Experiment(t.Context(), id)
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
