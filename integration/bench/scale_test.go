package bench

import (
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/v1"
)

// BenchmarkScale submits ten thousand experiments of eight users (the changes of one user are bounded), of which
// one runs and the others wait. It then measures a new experiment of another pool, from its POST to its program's first line.
func BenchmarkScale(b *testing.B) {
	const part, clients = "10,000 live trials", 8
	r := start(b)
	users := r.users(b, clients)
	before := r.important(b)
	config := "name: bench\nentrypoint: [sleep, '100000']\nsearcher: {name: single, metric: loss, max_length: {batches: 1}}\n" +
		"resources: {slots_per_trial: 48}\n" // one of them takes all the slots of the pool, and the others wait
	active := true
	ids := make([][]int, clients)
	var wg sync.WaitGroup
	began := time.Now()
	for c := range clients {
		wg.Go(func() {
			for range *live / clients {
				e, err := users[c].CreateExperiment(b.Context(), v1.CreateExperimentRequest{Config: &config, Activate: &active}, nil)
				if err != nil {
					b.Error(err)
					return
				}
				ids[c] = append(ids[c], e.Experiment.ID)
			}
		})
	}
	wg.Wait()
	took := time.Since(began)
	if b.Failed() {
		b.FailNow()
	}
	add := func(f figure) { f.part = part; shared.figures.add(f) }
	add(figure{what: fmt.Sprintf("%d experiments submitted by %d clients", *live, clients), value: float64(*live) / took.Seconds(), unit: "/s"})
	r.settle(b)
	r.vacuum(b)
	cycles := r.cycles(b)
	after := r.important(b)
	add(figure{what: "one cycle of the loop, p50 while those begin and end", value: median(cycles()), unit: "ms"})
	add(figure{what: "POST /experiments to the program's first line", value: after, unit: "ms", target: "1,000 ms", against: "with nothing live", yardstick: before})
	rss, _ := resident(r.part(b, "master"))
	add(figure{what: "the master's resident memory", value: rss, unit: "MB"})
	began = time.Now()
	r.killAll(b, users, ids)
	add(figure{what: "all killed, until the last one has ended", value: time.Since(began).Seconds(), unit: "s"})
	b.ReportMetric(after, "ms-to-first-line")
}

// users returns the clients of new users who are signed in.
func (r *rig) users(b *testing.B, n int) []*client.Client {
	b.Helper()
	signedIn := func(name string) *client.Client {
		c, err := client.New(client.Options{Master: r.MasterURL})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := c.Login(b.Context(), name, ""); err != nil {
			b.Fatal(err)
		}
		return c
	}
	admin, list := signedIn("admin"), make([]*client.Client, n)
	for i := range list {
		name := fmt.Sprintf("scale-%d-%d", time.Now().UnixNano(), i)
		if _, err := admin.CreateUser(b.Context(), v1.User{Username: name, Active: true}, ""); err != nil {
			b.Fatal(err)
		}
		list[i] = signedIn(name)
	}
	return list
}

// important returns the median time of a few submissions to the pool whose queue is empty.
func (r *rig) important(b *testing.B) float64 {
	b.Helper()
	var all []float64
	for i := range 5 {
		path := filepath.Join(r.dir, fmt.Sprintf("important-%d-%d", time.Now().UnixNano(), i))
		began := time.Now()
		id := r.submit(b, stamp(path), "resources: {resource_pool: beside}")
		all = append(all, ms(stamped(b, path).Sub(began)))
		r.awaitEnd(b, id)
	}
	return median(all)
}

// settle waits until every experiment has its trial in the queue.
func (r *rig) settle(b *testing.B) {
	b.Helper()
	await(b, "a trial of each experiment", func() bool {
		var n int
		if err := r.db.QueryRow(b.Context(), "SELECT count(*) FROM allocations WHERE state <> 'TERMINATED'").Scan(&n); err != nil {
			b.Fatal(err)
		}
		return n >= *live
	})
}

// vacuum does at once what PostgreSQL does by itself within some minutes, so that what is measured after many changes
// does not depend on how fast they were.
func (r *rig) vacuum(b *testing.B) {
	b.Helper()
	if _, err := r.db.Exec(b.Context(), "VACUUM (ANALYZE)"); err != nil {
		b.Fatal(err)
	}
}

// cycles collects how long cycles take, until the returned function is called.
func (r *rig) cycles(b *testing.B) func() []float64 {
	b.Helper()
	stop, all := make(chan struct{}), make(chan []float64)
	go func() {
		var took []float64
		for last := 0.0; ; {
			select {
			case <-stop:
				all <- took
				return
			case <-time.After(20 * time.Millisecond):
				if t := r.gauge(b, "det_loop_last_cycle_seconds") * 1000; t != last {
					took, last = append(took, t), t
				}
			}
		}
	}()
	return func() []float64 {
		close(stop)
		return <-all
	}
}

// killAll kills experiments and waits for their ends.
func (r *rig) killAll(b *testing.B, users []*client.Client, ids [][]int) {
	b.Helper()
	var wg sync.WaitGroup
	for i, list := range ids {
		wg.Go(func() {
			for _, id := range list {
				if err := client.Act(b.Context(), users[i], v1.KillExperiment, id); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	await(b, "the end of all experiments", func() bool {
		var n int
		if err := r.db.QueryRow(b.Context(), "SELECT count(*) FROM experiments WHERE ended_at IS NULL").Scan(&n); err != nil {
			b.Fatal(err)
		}
		return n == 0
	})
}

// gauge reads one of the master's metrics.
func (r *rig) gauge(b *testing.B, name string) float64 {
	b.Helper()
	body, err := r.client.Raw(b.Context(), "GET", "/metrics", nil)
	if err != nil {
		b.Fatal(err)
	}
	for line := range strings.Lines(string(body)) {
		var v float64
		if n, _ := fmt.Sscanf(line, name+" %g", &v); n == 1 {
			return v
		}
	}
	b.Fatalf("the master's metrics do not contain %s", name)
	return 0
}
