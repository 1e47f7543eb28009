package bench

import (
	"fmt"
	"testing"
	"time"
)

// fiveMetrics is a report as the yardstick's were: five metrics, one report per
// request.
func fiveMetrics(trial, step int) []byte {
	return fmt.Appendf(nil, `{"group":"training","metrics":{"trialId":%d,"trialRunId":1,"stepsCompleted":%d,"reportTime":null,`+
		`"metrics":{"avgMetrics":%s,"batchMetrics":null}}}`, trial, step, values(step))
}

func values(step int) string {
	return fmt.Sprintf(`{"loss":%g,"accuracy":0.913,"lr":0.001,"grad_norm":1.25,"throughput":1034.5}`, 1/float64(step+1))
}

// BenchmarkReports: metric reports per second, from several trials at once,
// against a handler that only groups inserts, and against the inserts alone.
func BenchmarkReports(b *testing.B) {
	const part = "Metric reports, 5 metrics in each"
	r := start(b)
	r.emptyBare(b)
	bare, barePID := r.bareHandler(b)
	direct := make(grouper, 1000)
	go direct.run(b.Context(), r.bare)
	defer close(direct)
	attempts := r.hold(b, 32)
	steps, barest := make([]int, 32), make([]int, 32)
	earlier := map[int]string{1: "457 /s, p99 5 ms (tuned 428 /s)", 8: "444 /s, p99 94 ms (tuned 980 /s)", 32: "313 /s, p99 359 ms (tuned 875 /s)"}
	target := map[int]string{8: "4,440 /s; over 0.67 × of the handler", 32: "8,750 /s; over 0.67 × of the handler"}
	for _, clients := range []int{1, 8, 32} {
		ours, theirs := dialAll(b, r.MasterURL, clients), dialAll(b, bare, clients)
		var behind []float64
		found := alternately(func() pace {
			p := r.metered(b, r.part(b, "master"), clients, func(c int) error {
				steps[c]++
				_, err := ours[c].call("POST", fmt.Sprintf("/api/v1/trials/%d/metrics", attempts[c].trial), attempts[c].token, fiveMetrics(attempts[c].trial, steps[c]))
				return err
			})
			behind = append(behind, r.summariesBehind(b, attempts[:clients], steps))
			return p
		}, func() pace {
			return r.metered(b, barePID, clients, func(c int) error {
				barest[c]++
				_, err := theirs[c].call("POST", "/", "", fiveMetrics(c, barest[c]))
				return err
			})
		}, func() pace {
			return load(b, clients, func(c int) error {
				barest[c]++
				return direct.insert(c, barest[c], values(barest[c]))
			})
		})
		us, handler, inserts := found[0], found[1], found[2]
		name := plural(clients)
		add := func(f figure) { f.part = part; shared.figures.add(f) }
		add(figure{what: name, value: us.rate, unit: "/s", target: target[clients], against: "a handler that only groups inserts", yardstick: handler.rate, determined: earlier[clients]})
		add(figure{what: name + ", against inserts alone", value: us.rate, unit: "/s", against: "grouped inserts, no HTTP", yardstick: inserts.rate})
		add(figure{what: name + ", p50", value: us.p50, unit: "ms", against: "the handler", yardstick: handler.p50})
		add(figure{what: name + ", p99", value: us.p99, unit: "ms", against: "the handler", yardstick: handler.p99})
		for _, who := range []string{serving, inDatabase, ofClients} {
			add(figure{what: name + ", processor time of " + who, value: us.cpu[who], unit: "µs", against: "with the handler", yardstick: handler.cpu[who]})
		}
		add(figure{what: name + ", summaries complete after the last report", value: median(behind), unit: "ms"})
		b.ReportMetric(us.rate, fmt.Sprintf("reports/s-%d", clients))
	}
	r.throughTheRunner(b, part, attempts[:1], steps)
	r.throughTheRunner(b, part, attempts[:8], steps)
}

// summariesBehind measures how long after the last report the summaries of all trials include it.
func (r *rig) summariesBehind(b *testing.B, attempts []attempt, steps []int) float64 {
	b.Helper()
	at := time.Now()
	for i, a := range attempts {
		await(b, "the summary", func() bool {
			t, err := r.client.Trial(b.Context(), a.trial)
			if err != nil {
				b.Fatal(err)
			}
			return t.TotalBatchesProcessed >= steps[i]
		})
	}
	return ms(time.Since(at))
}

// throughTheRunner is how programs report in fact: to the loopback address in
// their runner, which passes the report on.
func (r *rig) throughTheRunner(b *testing.B, part string, attempts []attempt, steps []int) {
	direct := dialAll(b, r.MasterURL, len(attempts))
	var runners []*wire
	for _, a := range attempts {
		runners = append(runners, dial(b, a.local))
	}
	by := func(wires []*wire) func() pace {
		return func() pace {
			return load(b, len(attempts), func(c int) error {
				steps[c]++
				_, err := wires[c].call("POST", fmt.Sprintf("/api/v1/trials/%d/metrics", attempts[c].trial), attempts[c].token, fiveMetrics(attempts[c].trial, steps[c]))
				return err
			})
		}
	}
	found := alternately(by(runners), by(direct))
	what := "1 program through its runner"
	if n := len(attempts); n > 1 {
		what = fmt.Sprintf("%d programs through their runners", n)
	}
	shared.figures.add(figure{part: part, what: what, value: found[0].rate, unit: "/s", against: "to the master itself", yardstick: found[1].rate})
	shared.figures.add(figure{part: part, what: what + ", p50", value: found[0].p50, unit: "ms", target: "at most 0.3 ms more", against: "to the master itself", yardstick: found[1].p50})
}
