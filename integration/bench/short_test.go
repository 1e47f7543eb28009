package bench

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/nomad/servers"
	"github.com/detent-ml/detent/nomad/servers/pyenv"
)

// A search of short trials: this many, of one second each, on so many slots.
const shortTrials, shortSlots = 40, 4

// short is a program that trains for a second and reports once. It notes when its first line of code ran.
const short = `import os, time
began = time.time()
from determined import core
with core.init() as context:
    time.sleep(1)
    context.train.report_validation_metrics(1, {"loss": 1.0})
with open(os.path.join(%q, f"{began}-{os.getpid()}"), "w") as f:
    f.write(f"{began} {time.time()}")
`

// BenchmarkShortTrials: a random search of short trials, from its submission to its end, against xargs with the same
// program and the same Python; and how long a slot is idle between two trials.
func BenchmarkShortTrials(b *testing.B) {
	const part = "Short trials"
	r := start(b)
	found := alternately(func() pace { return r.search(b) }, func() pace { return r.xargs(b) })
	add := func(f figure) { f.part = part; shared.figures.add(f) }
	add(figure{what: fmt.Sprintf("a search of %d trials of one second on %d slots", shortTrials, shortSlots), value: found[0].p99, unit: "ms", target: "1.25 × xargs",
		against: "xargs -P4 with the same program", yardstick: found[1].p99})
	add(figure{what: "… from one trial's end to the next one's first line of code, p50", value: found[0].p50, unit: "ms", target: "250 ms", against: "xargs", yardstick: found[1].p50})
	b.ReportMetric(found[0].p99, "ms")
}

// search runs the search on the cluster.
func (r *rig) search(b *testing.B) pace {
	b.Helper()
	dir := b.TempDir()
	began := time.Now()
	config := fmt.Sprintf("name: short\nentrypoint: [%q, -c, %q]\nmax_restarts: 0\nhyperparameters: {lr: {type: double, minval: 0, maxval: 1}}\n"+
		"searcher: {name: random, metric: loss, max_trials: %d, max_concurrent_trials: %d, max_length: {batches: 1}}\n", tasksPython(b), fmt.Sprintf(short, dir), shortTrials, shortSlots)
	e, err := r.client.CreateExperiment(b.Context(), v1.CreateExperimentRequest{Config: &config, Activate: new(true)}, nil)
	if err != nil {
		b.Fatal(err)
	}
	r.awaitEnd(b, e.Experiment.ID)
	return idleTimes(b, dir, time.Since(began))
}

// xargs runs the same program on this machine.
func (r *rig) xargs(b *testing.B) pace {
	b.Helper()
	dir := b.TempDir()
	cmd := exec.CommandContext(b.Context(), "xargs", "-P", fmt.Sprint(shortSlots), "-I{}", tasksPython(b), "-c", fmt.Sprintf(short, dir))
	cmd.Env = append(os.Environ(), "PYTHONPATH="+filepath.Join(r.root, "plugins", "harness"))
	cmd.Stdin = strings.NewReader(strings.Repeat("x\n", shortTrials))
	began := time.Now()
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	return idleTimes(b, dir, time.Since(began))
}

// tasksPython is the Python in which both run the program.
func tasksPython(b *testing.B) string {
	b.Helper()
	python, err := pyenv.Named(b.Context(), "tasks", servers.NewReporter(os.Stderr))
	if err != nil {
		b.Fatal(err)
	}
	return python
}

// idleTimes reads what the programs noted. p50 is the median of the time that a slot was idle between two of them.
func idleTimes(b *testing.B, dir string, whole time.Duration) pace {
	b.Helper()
	files, _ := filepath.Glob(filepath.Join(dir, "*"))
	if len(files) != shortTrials {
		b.Fatalf("%d programs ran, want %d", len(files), shortTrials)
	}
	var begins, ends []float64
	for _, file := range files {
		text, err := os.ReadFile(file)
		var began, ended float64
		if _, scanErr := fmt.Sscan(string(text), &began, &ended); err != nil || scanErr != nil {
			b.Fatalf("%s: %v %v", text, err, scanErr)
		}
		begins, ends = append(begins, began), append(ends, ended)
	}
	slices.Sort(begins)
	slices.Sort(ends)
	var idle []float64
	for i := range len(begins) - shortSlots { // the next program takes the slot of the one that ended first
		idle = append(idle, 1000*(begins[i+shortSlots]-ends[i]))
	}
	return pace{p50: median(idle), p99: float64(whole.Milliseconds())}
}
