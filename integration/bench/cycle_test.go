package bench

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// BenchmarkCycle: whole cycles of the control loop at 10,000 live trials, over the
// cluster's PostgreSQL, each row beside the steady one of the same run; and how long
// the loop takes to fill 8,000 free slots, beside what a Nomad takes for as many bare
// jobs. The benchmarks live with the loop; here they are run and put into the table.
func BenchmarkCycle(b *testing.B) {
	const part = "The loop at 10,000 live trials"
	r := start(b)
	loop := r.packageBenchmarks(b, "./master/control", "Loop")
	measured := measuredIn(b, loop)
	steady := measured("Loop/steady", "ms/p50")
	add := func(f figure) { f.part = part; shared.figures.add(f) }
	add(figure{what: "a cycle, nothing happens, p50", value: steady, unit: "ms", target: "250 ms"})
	add(figure{what: "… nothing happens, longest", value: measured("Loop/steady", "ms/max"), unit: "ms"})
	add(figure{what: "… while an experiment of 8,000,000 metrics is deleted, p50", value: measured("Loop/deleting", "ms/p50"), unit: "ms",
		against: "nothing happens", yardstick: steady})
	add(figure{what: "… it is deleted, longest", value: measured("Loop/deleting", "ms/max"), unit: "ms"})
	add(figure{what: "… it is deleted, until its rows are gone", value: measured("Loop/deleting", "s/deletion"), unit: "s"})
	add(figure{what: "… while Nomad hangs, p50", value: measured("Loop/hung", "ms/p50"), unit: "ms", against: "nothing happens", yardstick: steady})
	add(figure{what: "… Nomad hangs, longest", value: measured("Loop/hung", "ms/max"), unit: "ms"})

	measured = measuredIn(b, r.packageBenchmarks(b, "./master/control", "Fill"))
	bare := measured("Fill", "s/bare")
	add(figure{what: "8,000 free slots, until each of 8,000 trials has one", value: measured("Fill", "s/placed"), unit: "s"})
	add(figure{what: "… until Nomad has accepted the last job", value: measured("Fill", "s/taken"), unit: "s",
		against: "8,000 bare jobs, 32 at once, same Nomad, nothing else", yardstick: bare})
	b.ReportMetric(steady, "ms/cycle")
}

// packageBenchmarks runs a benchmark of a package over the cluster's PostgreSQL.
func (r *rig) packageBenchmarks(b *testing.B, pkg, name string) map[string]map[string]float64 {
	b.Helper()
	cmd := exec.CommandContext(b.Context(), "go", "test", "-run", "^$", "-bench", "^Benchmark"+name+"$", "-benchtime", "1x", "-timeout", "30m", pkg)
	cmd.Env = append(os.Environ(), "DETENT_TEST_POSTGRES="+r.DSN)
	found := map[string]map[string]float64{}
	benchmarks(b, cmd, found)
	return found
}

// benchmarks runs go test, in the root of the checkout, and reads what it prints.
func benchmarks(b *testing.B, cmd *exec.Cmd, into map[string]map[string]float64) {
	b.Helper()
	cmd.Dir = filepath.Join("..", "..")
	out, err := cmd.CombinedOutput()
	if err != nil {
		b.Fatalf("%v: %v\n%s", cmd.Args, err, out)
	}
	parse(out, into)
}

// measuredIn looks a figure up that must be there.
func measuredIn(b *testing.B, found map[string]map[string]float64) func(name, unit string) float64 {
	return func(name, unit string) float64 {
		b.Helper()
		v, ok := found[name][unit]
		if !ok {
			b.Fatalf("Benchmark%s printed no %s", name, unit)
		}
		return v
	}
}
