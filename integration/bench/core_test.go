package bench

import (
	"bufio"
	"bytes"
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

// BenchmarkCore: what decides, by itself. These benchmarks live with their
// packages; here they are run and put into the table.
func BenchmarkCore(b *testing.B) {
	const part = "Deciding"
	found := map[string]map[string]float64{}
	for _, pkg := range []string{"./master/sched", "./master/control", "./master/search"} {
		benchmarks(b, exec.CommandContext(b.Context(), "go", "test", "-run", "^$", "-bench", "^Benchmark(Plan|PlanQuotas|Starts|Decide|Snapshot|Rebuild|Apply)$", pkg), found)
	}
	measured := measuredIn(b, found)
	for _, f := range []struct {
		name, what, unit, target string
		per                      float64
	}{
		{"Plan/empty", "sched.Plan, 1,000 nodes of 8, 10,000 queued, nothing runs", "ms", "50 ms", 1e6},
		{"Plan/half", "… half of them held", "ms", "50 ms", 1e6},
		{"Plan/full", "… all held", "ms", "50 ms", 1e6},
		{"Plan/preempt", "… all held by what may be preempted", "ms", "50 ms", 1e6},
		{"Plan/preempt-crumbs", "… all held by tasks of one slot that may be preempted", "ms", "50 ms", 1e6},
		{"Plan/constrained", "… each with constraints of its own, which one node in ten meets", "ms", "50 ms", 1e6},
		{"Plan/nowhere", "… each with constraints of its own, which no node meets", "ms", "", 1e6},
		{"Plan/drawn", "… with affinities", "ms", "", 1e6},
		{"Plan/spread", "… with four spreads", "ms", "", 1e6},
		{"Plan/racks", "… in racks of 20 nodes, nothing runs", "ms", "50 ms", 1e6},
		{"Plan/fair-empty", "… fair share, nothing runs", "ms", "50 ms", 1e6},
		{"Plan/fair-half", "… fair share, half of them held", "ms", "50 ms", 1e6},
		{"Plan/fair-full", "… fair share, all held", "ms", "50 ms", 1e6},
		{"Plan/fair-crumbs", "… fair share, all held by tasks of one slot", "ms", "50 ms", 1e6},
		{"Plan/fair-alone", "… fair share, each request a job of its own", "ms", "50 ms", 1e6},
		{"PlanQuotas/wide", "… all held, under quotas that nothing reaches", "ms", "50 ms", 1e6},
		{"PlanQuotas/fair-held", "… fair share, all held, under quotas that are used up", "ms", "50 ms", 1e6},
		{"PlanQuotas/fair-lent", "… fair share, all held, over soft quotas", "ms", "50 ms", 1e6},
		{"PlanQuotas/fair-wide", "… fair share, all held, under quotas that nothing reaches", "ms", "50 ms", 1e6},
		{"Plan/turns-empty", "… round robin, nothing runs", "ms", "50 ms", 1e6},
		{"Plan/turns-half", "… round robin, half of them held", "ms", "50 ms", 1e6},
		{"Plan/turns-full", "… round robin, all held", "ms", "50 ms", 1e6},
		{"Starts", "sched.Starts, 10,000 queued, 24 ends", "ms", "", 1e6},
		{"Decide/steady", "control.Decide, 10,000 live trials, nothing happened", "ms", "200 ms", 1e6},
		{"Decide/arrivals", "… 100 experiments came", "ms", "200 ms", 1e6},
		{"Decide/ends", "… 100 programs ended", "ms", "200 ms", 1e6},
		{"Snapshot/known", "rows joined with searches, 10,000 live trials", "ms", "", 1e6},
		{"Snapshot/new-leader", "… by a new leader, which reads 10,000 configurations", "ms", "", 1e6},
		{"Apply/single", "search, one report: of a single trial", "µs", "20 µs", 1e3},
		{"Apply/random-10000", "… of a random search of 10,000 trials", "µs", "20 µs", 1e3},
		{"Apply/asha-stopping-10000", "… of ASHA that stops, 10,000 trials", "µs", "20 µs", 1e3},
		{"Apply/asha-promotion-10000", "… of ASHA that promotes, 10,000 trials", "µs", "20 µs", 1e3},
		{"Apply/adaptive-10000", "… of adaptive ASHA, 10,000 trials", "µs", "20 µs", 1e3},
		{"Apply/pasha-10000", "… of PASHA, 10,000 trials", "µs", "20 µs", 1e3},
		{"Rebuild", "search, a new leader folds 1,000,000 events", "ms", "", 1e6},
	} {
		shared.figures.add(figure{part: part, what: f.what, value: measured(f.name, "ns/op") / f.per, unit: f.unit, target: f.target})
	}
	b.ReportMetric(measured("Decide/steady", "ns/op")/1e6, "ms/Decide")
}

// parse reads what go test -bench prints: the figures by their units, by the
// benchmark's name without its prefix and the number of processors.
func parse(out []byte, into map[string]map[string]float64) {
	lines := bufio.NewScanner(bytes.NewReader(out))
	for lines.Scan() {
		f := strings.Fields(lines.Text())
		if len(f) < 4 {
			continue
		}
		name, ok := strings.CutPrefix(f[0], "Benchmark")
		if _, err := strconv.Atoi(f[1]); !ok || err != nil {
			continue
		}
		if i := strings.LastIndexByte(name, '-'); i > 0 {
			if _, err := strconv.Atoi(name[i+1:]); err == nil {
				name = name[:i]
			}
		}
		for i := 2; i+1 < len(f); i += 2 {
			v, err := strconv.ParseFloat(f[i], 64)
			if err != nil {
				break
			}
			if into[name] == nil {
				into[name] = map[string]float64{}
			}
			into[name][f[i+1]] = v
		}
	}
}

func TestParse(t *testing.T) {
	found := map[string]map[string]float64{}
	parse([]byte("goos: linux\nBenchmarkPlan/preempt-crumbs-2 \t      3\t 10657981.5 ns/op\t 7 B/op\nBenchmarkApply\t  9  812 ns/op\t 0.5 ms/p50\n"+
		"BenchmarkFill\nBenchmarkOdd one 2 three\nPASS\nok  \tx\t1.5s\n"), found)
	if len(found) != 2 || found["Plan/preempt-crumbs"]["ns/op"] != 10657981.5 || found["Plan/preempt-crumbs"]["B/op"] != 7 || found["Apply"]["ms/p50"] != 0.5 {
		t.Errorf("read %v", found)
	}
}
