package preview

import (
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/term"
)

// TestSimulations: the same --seed gives the same simulation, another one another; --curves trains with recorded curves,
// and with their hyperparameters.
func TestSimulations(t *testing.T) {
	dir := t.TempDir()
	eight, one, curves := filepath.Join(dir, "eight.yaml"), filepath.Join(dir, "one.yaml"), filepath.Join(dir, "curves.gz")
	for file, trials := range map[string]int{eight: 8, one: 1} {
		text := fmt.Sprintf("hyperparameters: {lr: {type: log, base: 10, minval: -5, maxval: 1}}\nsearcher: {name: random, metric: error, max_length: {epochs: 2}, max_trials: %d}\n", trials)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	// Two settings, whose errors after two epochs are a half and a quarter of 65535.
	file, err := os.Create(curves)
	if err != nil {
		t.Fatal(err)
	}
	z := gzip.NewWriter(file)
	_, err = fmt.Fprint(z, `{"name":"x","metric":"error","epochs":2,"axes":[{"name":"a","type":"categorical","values":["p","q"]}]}`+"\n"+"\xff\xff\x00\x80\xff\xff\x00\x40")
	if err != nil || z.Close() != nil || file.Close() != nil {
		t.Fatal(err)
	}
	simulated := func(config string, flags ...string) string {
		t.Helper()
		io, out, _ := term.Buffers("")
		cmd := New(&app.App{IO: io, Now: time.Now, Lookup: os.LookupEnv})
		cmd.SetArgs(append([]string{config, "--simulate", "--json"}, flags...))
		if err := cmd.ExecuteContext(t.Context()); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	first, again, other := simulated(eight, "--seed", "1"), simulated(eight, "--seed", "1"), simulated(eight, "--seed", "2")
	if first != again || first == other {
		t.Errorf("with a seed: %s, the same again: %s, with another one: %s", first, again, other)
	}
	if plain, recorded := simulated(eight), simulated(eight, "--curves", curves); !strings.Contains(recorded, `"best": 0.2500`) || strings.Contains(plain, `"best": 0.2500`) {
		t.Errorf("with recorded curves: %s, without: %s", recorded, plain)
	}
	several := filepath.Join(dir, "several.yaml")
	text := "hyperparameters: {lr: {type: log, base: 10, minval: -5, maxval: 1}}\nsearcher: {name: async_halving, metrics: [{name: error}, {name: accuracy, smaller_is_better: false}], num_rungs: 2, max_length: {epochs: 4}, max_trials: 9}\n"
	if err := os.WriteFile(several, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if first, again := simulated(several), simulated(several); !strings.Contains(first, `"front": `) || first != again || strings.Contains(simulated(eight), `"front"`) {
		t.Errorf("with several metrics: %s, again: %s", first, again)
	}
	drawn := map[string]bool{} // the setting that the only trial of a search gets
	for seed := range 8 {
		drawn[simulated(one, "--curves", curves, "--seed", fmt.Sprint(seed))] = true
	}
	if len(drawn) != 2 {
		t.Errorf("eight seeds draw %d of two settings: %v", len(drawn), drawn)
	}
}

// TestASimulationLearnsFromNoExperiment, and says so.
func TestASimulationLearnsFromNoExperiment(t *testing.T) {
	config := filepath.Join(t.TempDir(), "learns.yaml")
	text := "hyperparameters: {a: {type: int, minval: 1, maxval: 9}}\nsearcher: {name: random, metric: error, max_length: {epochs: 2}, max_trials: 2, learn_from: [7]}\n"
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	io, out, said := term.Buffers("")
	cmd := New(&app.App{IO: io, Now: time.Now, Lookup: os.LookupEnv})
	cmd.SetArgs([]string{config, "--simulate"})
	if err := cmd.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(said.String(), "searcher.learn_from: the simulation learns nothing") || !strings.Contains(out.String(), "trained 2 trials") {
		t.Errorf("it says %q and prints %q", said, out)
	}
}

func TestWhatIsOddIsSaid(t *testing.T) {
	config := filepath.Join(t.TempDir(), "odd.yaml")
	text := "hyperparameters:\n  a: {type: int, minval: 1, maxval: 2}\n  b: {val: 3, when: {a: 1}}\nsearcher: {name: random, metric: error, max_length: {epochs: 2}, max_trials: 2}\n"
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	io, _, said := term.Buffers("")
	cmd := New(&app.App{IO: io, Now: time.Now, Lookup: os.LookupEnv})
	cmd.SetArgs([]string{config, "--simulate"})
	if err := cmd.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(said.String(), "odd.yaml:3:21: hyperparameters.b.when: is a hyperparameter of this group") {
		t.Errorf("it says %q", said)
	}
}

// TestABudgetNeedsAPace: how many trials a budget suffices for depends on the time that a unit of training takes.
func TestABudgetNeedsAPace(t *testing.T) {
	config := filepath.Join(t.TempDir(), "budget.yaml")
	text := "hyperparameters: {a: {type: int, minval: 1, maxval: 9}}\nresources: {slots_per_trial: 2}\nsearcher: {name: random, metric: error, max_length: {epochs: 2}, budget: {slot_hours: 20}}\n"
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	simulated := func(flags ...string) (string, error) {
		io, out, _ := term.Buffers("")
		cmd := New(&app.App{IO: io, Now: time.Now, Lookup: os.LookupEnv})
		cmd.SetArgs(append([]string{config, "--simulate"}, flags...))
		err := cmd.ExecuteContext(t.Context())
		return out.String(), err
	}
	if _, err := simulated(); err == nil || !strings.Contains(err.Error(), "--pace 90s") {
		t.Errorf("without a pace: %v", err)
	}
	// A trial takes an hour of two slots.
	if out, err := simulated("--pace", "30m"); err != nil || !strings.Contains(out, "trained 10 trials") || !strings.Contains(out, "3 hours and 20 slot-hours, with a budget of 20 slot-hours") {
		t.Errorf("%v\n%s", err, out)
	}
}
