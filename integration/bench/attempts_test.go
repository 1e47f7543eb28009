package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/nomad/api"

	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/v1"
)

const submissions = 15

// stamp is a script that writes the time at which it runs into a file, in one step.
func stamp(path string) string {
	return fmt.Sprintf("date +%%s%%N >%[1]s.new && mv %[1]s.new %[1]s; echo stamped", path)
}

// stamped waits for the file and reads when the script ran.
func stamped(b *testing.B, path string) time.Time {
	b.Helper()
	var at time.Time
	await(b, "the script's file", func() bool {
		said, err := os.ReadFile(path)
		if err != nil {
			return false
		}
		ns, err := strconv.ParseInt(strings.TrimSpace(string(said)), 10, 64)
		if err != nil {
			b.Fatalf("the script printed %q", said)
		}
		at = time.Unix(0, ns)
		return true
	})
	return at
}

// BenchmarkSubmission: from POST /experiments to the first line of the user's
// program, by that program's own clock, against the same process as a job that
// is registered with Nomad itself.
func BenchmarkSubmission(b *testing.B) {
	const part = "Submission"
	r := start(b)
	nomad, err := r.Nomad()
	if err != nil {
		b.Fatal(err)
	}
	var ours, seen, bare []float64
	for i := range submissions {
		path := filepath.Join(r.dir, fmt.Sprintf("submission-%d-%d", time.Now().UnixNano(), i))
		began := time.Now()
		id := r.submit(b, stamp(path))
		seen = append(seen, ms(r.firstLine(b, id).Sub(began)))
		ours = append(ours, ms(stamped(b, path).Sub(began)))
		r.awaitEnd(b, id)

		path += "-bare"
		began = time.Now()
		bareJob(b, nomad, fmt.Sprintf("bare-%d-%d", began.UnixNano(), i), stamp(path))
		bare = append(bare, ms(stamped(b, path).Sub(began)))
	}
	add := func(f figure) { f.part = part; shared.figures.add(f) }
	us, them := median(ours), median(bare)
	add(figure{what: "POST /experiments to the program's first line", value: us, unit: "ms", against: "registering the same process with Nomad",
		yardstick: them, determined: "450 ms for a whole trial"})
	add(figure{what: "… more than Nomad alone", value: us - them, unit: "ms", target: "250 ms"})
	add(figure{what: "… until a follower of the log sees it", value: median(seen), unit: "ms"})
	b.ReportMetric(us-them, "ms-more")
}

// firstLine is when a follower of the trial's log sees what the script printed.
func (r *rig) firstLine(b *testing.B, id int) time.Time {
	b.Helper()
	var trial int
	await(b, "the trial", func() bool {
		list, err := client.List(b.Context(), r.client, v1.ListTrials, client.Page{}, nil, id)
		if err != nil {
			b.Fatal(err)
		}
		if len(list) == 1 {
			trial = list[0].ID
		}
		return len(list) == 1
	})
	for rec, err := range r.client.TrialLogs(b.Context(), trial, client.LogQuery{Follow: true}) {
		if err != nil {
			b.Fatal(err)
		}
		if strings.Contains(rec.Message, "stamped") { // after time, container and rank
			return time.Now()
		}
	}
	b.Fatal("the log ended without the script's line")
	return time.Time{}
}

func (r *rig) awaitEnd(b *testing.B, id int) {
	b.Helper()
	await(b, "the experiment's end", func() bool {
		e, err := client.Call(b.Context(), r.client, v1.GetExperiment, id)
		if err != nil {
			b.Fatal(err)
		}
		return e.Experiment.EndTime != nil
	})
}

// bareJob registers a script as nomad job run does.
func bareJob(b *testing.B, nomad *api.Client, id, script string) {
	b.Helper()
	job := api.NewBatchJob(id, id, "global", 50)
	task := api.NewTask("main", "raw_exec").SetConfig("command", "/bin/sh").SetConfig("args", []string{"-c", script})
	cpu, memory := 100, 32
	task.Resources = &api.Resources{CPU: &cpu, MemoryMB: &memory}
	job.AddTaskGroup(api.NewTaskGroup("main", 1).AddTask(task))
	if _, _, err := nomad.Jobs().Register(job, (&api.WriteOptions{}).WithContext(b.Context())); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkBurst: as many experiments at once as fit, until the last of them has
// printed its first line, against as many jobs registered with Nomad itself.
func BenchmarkBurst(b *testing.B) {
	const part, n = "Submission", 40
	r := start(b)
	nomad, err := r.Nomad()
	if err != nil {
		b.Fatal(err)
	}
	found := alternately(func() pace {
		return r.burst(b, n, func(_ int, script string) { r.submit(b, script) })
	}, func() pace {
		return r.burst(b, n, func(i int, script string) {
			bareJob(b, nomad, fmt.Sprintf("burst-%d-%d", time.Now().UnixNano(), i), script)
		})
	})
	shared.figures.add(figure{part: part, what: "40 experiments at once, to the last one's first line", value: found[0].p99, unit: "ms",
		against: "registering 40 processes with Nomad", yardstick: found[1].p99})
	b.ReportMetric(found[0].p99, "ms-to-last")
}

// burst starts many scripts, one after the other, and waits for the last.
func (r *rig) burst(b *testing.B, n int, begin func(i int, script string)) pace {
	b.Helper()
	at := time.Now()
	path := func(i int) string { return filepath.Join(r.dir, fmt.Sprintf("burst-%d-%d", at.UnixNano(), i)) }
	for i := range n {
		begin(i, stamp(path(i)))
	}
	last := at
	for i := range n {
		if t := stamped(b, path(i)); t.After(last) {
			last = t
		}
	}
	return pace{p99: ms(last.Sub(at))}
}
