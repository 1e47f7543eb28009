package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/nomad/servers"
	"github.com/detent-ml/detent/nomad/servers/pyenv"
)

var watch = flag.Duration("watch", 30*time.Second, "how long BenchmarkPages watches curves grow, to see what the browser's memory does")

const (
	pagesRows   = 10_000
	pagesPoints = 1_000_000
	pagesLines  = 1_000_000
	pagesLive   = 50
	// How many connections report for the trials.
	pagesReporters = 5
)

// BenchmarkPages: the pages in Chromium, with much of everything. webui/test/bench.mjs measures.
func BenchmarkPages(b *testing.B) {
	const part = "The pages in Chromium"
	node, chromium := browserTools(b)
	r := start(b)
	search := r.longSearch(b)
	long := r.longCurve(b)
	logged := r.longLog(b)
	stream, trials := r.liveSearch(b, pagesLive)
	r.fill(b, r.ended(b), pagesRows)
	ids := make([]int, len(trials))
	for i, a := range trials {
		ids[i] = a.trial
	}
	world, err := json.Marshal(map[string]any{"long": long, "search": search, "stream": stream, "streaming": ids, "log": logged, "seconds": int(watch.Seconds()),
		"tensorboard": tensorboard(b, part)})
	if err != nil {
		b.Fatal(err)
	}
	ctx, stop := context.WithCancel(b.Context())
	var perTrial atomic.Int64 // reports in a second
	perTrial.Store(1)
	var reporters sync.WaitGroup
	for part := range slices.Chunk(trials, (len(trials)+pagesReporters-1)/pagesReporters) {
		w := dial(b, r.MasterURL)
		reporters.Go(func() { keepReporting(ctx, b, w, part, &perTrial) })
	}
	defer func() {
		stop()
		reporters.Wait()
	}()
	cmd := exec.CommandContext(b.Context(), node, append([]string{"test/bench.mjs"}, strings.Fields(os.Getenv("DETENT_PARTS"))...)...)
	cmd.Dir = filepath.Join(r.root, "webui")
	cmd.Env = append(os.Environ(), "DETENT_URL="+r.MasterURL, "CHROMIUM="+chromium, "DETENT_WORLD="+string(world))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	above := ""
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if rate, isRate := strings.CutPrefix(lines.Text(), "@reports "); isRate {
			n, err := strconv.Atoi(rate)
			if err != nil || n < 1 {
				b.Fatalf("the browser's side wants %q reports in a second", rate)
			}
			perTrial.Store(int64(n))
			continue
		}
		said, isFigure := strings.CutPrefix(lines.Text(), "@figure ")
		if !isFigure {
			b.Log(lines.Text())
			continue
		}
		var f struct {
			What, Unit, Target string
			Value              float64
		}
		if err := json.Unmarshal([]byte(said), &f); err != nil {
			b.Fatalf("%s: %v", said, err)
		}
		// A figure has a name of its own in the table: that of the figure above it belongs to it.
		if after, below := strings.CutPrefix(f.What, "… "); below {
			f.What = above + ": " + after
		} else {
			above, _, _ = strings.Cut(f.What, ", ")
		}
		shared.figures.add(figure{part: part, what: f.What, value: f.Value, unit: f.Unit, target: f.Target})
	}
	if err := cmd.Wait(); err != nil {
		b.Fatalf("the browser: %v", err)
	}
}

// eventFile writes the million points of longCurve as TensorBoard reads them.
const eventFile = `
import random, sys
from tensorboard.compat.proto import event_pb2, summary_pb2
from tensorboard.summary.writer.record_writer import RecordWriter

with open(sys.argv[1] + "/events.out.tfevents.1.bench", "wb") as f:
    out = RecordWriter(f)
    out.write(event_pb2.Event(wall_time=1e9, file_version="brain.Event:2").SerializeToString())
    for s in range(1, int(sys.argv[2]) + 1):
        value = summary_pb2.Summary.Value(tag="loss", simple_value=1 / (1 + s / 1e4) + random.random() / 20)
        out.write(event_pb2.Event(wall_time=1e9 + s / 100, step=s, summary=summary_pb2.Summary(value=[value])).SerializeToString())
`

// tensorboard starts a TensorBoard with the same million points, and returns its address when it has read them.
func tensorboard(b *testing.B, part string) string {
	b.Helper()
	python, err := pyenv.Named(b.Context(), "tasks", servers.NewReporter(os.Stderr))
	if err != nil {
		b.Fatal(err)
	}
	dir := b.TempDir()
	if out, err := exec.CommandContext(b.Context(), python, "-c", eventFile, dir, strconv.Itoa(pagesPoints)).CombinedOutput(); err != nil {
		b.Fatalf("the points for TensorBoard: %v\n%s", err, out)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	address := ln.Addr().String()
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		b.Fatal(err)
	}
	if err := ln.Close(); err != nil {
		b.Fatal(err)
	}
	began := time.Now()
	cmd := exec.CommandContext(b.Context(), python, "-m", "tensorboard.main", "--logdir", dir, "--host", "127.0.0.1", "--port", port, "--load_fast", "false")
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	awaitFor(b, 5*patience, "TensorBoard has read all points", func() bool { // minutes, if the machine has other work
		pause(b.Context(), time.Second/4)
		resp, err := http.Get("http://" + address + "/data/plugin/scalars/scalars?run=.&tag=loss")
		if err != nil {
			return false
		}
		defer resp.Body.Close()
		var points [][]float64
		if resp.StatusCode != http.StatusOK || json.NewDecoder(resp.Body).Decode(&points) != nil || len(points) == 0 {
			return false
		}
		return points[len(points)-1][1] == pagesPoints
	})
	shared.figures.add(figure{part: part, what: "TensorBoard: until it has read the points", value: time.Since(began).Seconds() * 1000, unit: "ms"})
	return "http://" + address + "/"
}

func browserTools(b *testing.B) (node, chromium string) {
	b.Helper()
	node, err := exec.LookPath("node")
	if err != nil {
		missing(b, "there is no node: install it (Debian: apt-get install nodejs npm)")
	}
	for _, name := range []string{os.Getenv("CHROMIUM"), "chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return node, path
		}
	}
	missing(b, "there is no browser: install Chromium (Debian: apt-get install chromium), or name one in CHROMIUM")
	return "", ""
}

// missing skips a benchmark, and says why also without -v.
func missing(b *testing.B, what string) {
	b.Helper()
	fmt.Fprintf(os.Stderr, "%s is skipped: %s\n", b.Name(), what)
	b.SkipNow()
}

func (r *rig) run(b *testing.B, sql string, args ...any) {
	b.Helper()
	if _, err := r.db.Exec(b.Context(), sql, args...); err != nil {
		b.Fatalf("%s: %v", sql, err)
	}
}

// longSearch makes a search of 10,000 trials that have ended, each with a value of its metric.
func (r *rig) longSearch(b *testing.B) int {
	b.Helper()
	id := r.ended(b)
	tasks := r.columns(b, "tasks", map[string]string{"id": "x.id || '.' || i"})
	trials := r.columns(b, "trials", map[string]string{"number": "x.number + i", "task_id": "x.task_id || '.' || i",
		"hparams": "jsonb_build_object('lr', random(), 'layers', 1 + (random() * 30)::int, 'width', 2 ^ (4 + (random() * 6)::int))"})
	// Only what has ended: a copy of a task that waits, such as a garbage collection, would run.
	r.run(b, "INSERT INTO tasks ("+tasks.names+") SELECT "+tasks.values+" FROM tasks x, generate_series(1, $2) i WHERE x.experiment_id = $1 AND x.type = 'TRIAL' AND x.ended_at IS NOT NULL", id, pagesRows-1)
	r.run(b, "INSERT INTO trials ("+trials.names+") SELECT "+trials.values+" FROM trials x, generate_series(1, $2) i WHERE x.experiment_id = $1 AND x.ended_at IS NOT NULL", id, pagesRows-1)
	r.run(b, `INSERT INTO metrics (trial_id, run_id, group_name, steps, position, reported_at, avg)
		SELECT id, run_id, 'validation', 100, 100, now(), jsonb_build_object('loss', random()) FROM trials WHERE experiment_id = $1`, id)
	r.run(b, "ANALYZE trials, metrics, tasks")
	return id
}

// longCurve makes a trial with 1,000,000 reports; the last one by itself, so that the trial's summary knows them.
func (r *rig) longCurve(b *testing.B) int {
	b.Helper()
	a := r.hold(b, 1)[0]
	r.run(b, `INSERT INTO metrics (trial_id, run_id, group_name, steps, position, reported_at, avg)
		SELECT $1, 1, 'training', s, s, now() - ($2 - s) * interval '10 ms', jsonb_build_object('loss', 1 / (1 + s / 1e4) + random() / 20) FROM generate_series(1, $2 - 1) s`, a.trial, pagesPoints)
	r.run(b, "ANALYZE metrics")
	if _, err := dial(b, r.MasterURL).call("POST", fmt.Sprintf("/api/v1/trials/%d/metrics", a.trial), a.token, fiveMetrics(a.trial, pagesPoints)); err != nil {
		b.Fatal(err)
	}
	awaitFor(b, 5*patience, "the summary of a long curve", func() bool {
		pause(b.Context(), time.Second/4)
		t, err := r.client.Trial(b.Context(), a.trial)
		if err != nil {
			b.Fatal(err)
		}
		return t.TotalBatchesProcessed >= pagesPoints
	})
	return a.trial
}

// longLog makes a task with a log of 1,000,000 lines.
func (r *rig) longLog(b *testing.B) string {
	b.Helper()
	a := r.hold(b, 1)[0]
	w := dial(b, r.MasterURL)
	lines := logLines(perRequest, rand.New(rand.NewPCG(1, 2)))
	for first := 0; first < pagesLines; first += perRequest {
		if err := w.ship(a, first, lines); err != nil {
			b.Fatal(err)
		}
	}
	return a.task
}

// liveSearch starts a search whose trials run side by side, idle, while the benchmark reports in their names.
func (r *rig) liveSearch(b *testing.B, n int) (id int, list []attempt) {
	b.Helper()
	dir := filepath.Join(r.dir, "stream")
	if err := os.MkdirAll(dir, 0o777); err != nil {
		b.Fatal(err)
	}
	script := fmt.Sprintf("umask 077; echo $DET_TASK_ID $DET_SESSION_TOKEN >%s/.$DET_TRIAL_ID && mv %[1]s/.$DET_TRIAL_ID %[1]s/$DET_TRIAL_ID; exec sleep 100000", dir)
	config := fmt.Sprintf("name: stream\nentrypoint: [sh, -c, %q]\nhyperparameters: {lr: {type: double, minval: 0, maxval: 1}}\nmax_restarts: 0\n"+
		"searcher: {name: random, metric: loss, max_trials: %d, max_concurrent_trials: %[2]d, max_length: {batches: 1000000}}\nresources: {resource_pool: pages}\n", script, n)
	active := true
	e, err := r.client.CreateExperiment(b.Context(), v1.CreateExperimentRequest{Config: &config, Activate: &active}, nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := client.Act(ctx, r.client, v1.KillExperiment, e.Experiment.ID); err != nil {
			b.Errorf("kill experiment %d: %v", e.Experiment.ID, err)
		}
	})
	awaitFor(b, 5*patience, "the start of all trials", func() bool {
		pause(b.Context(), time.Second/4)
		names, err := filepath.Glob(filepath.Join(dir, "[0-9]*"))
		if err != nil {
			b.Fatal(err)
		}
		return len(names) == n
	})
	names, err := filepath.Glob(filepath.Join(dir, "[0-9]*"))
	if err != nil {
		b.Fatal(err)
	}
	for _, name := range names {
		a := attempt{experiment: e.Experiment.ID}
		said, err := os.ReadFile(name)
		if err == nil {
			a.trial, err = strconv.Atoi(filepath.Base(name))
		}
		if err == nil {
			_, err = fmt.Sscan(string(said), &a.task, &a.token)
		}
		if err != nil {
			b.Fatalf("%s: %v", name, err)
		}
		list = append(list, a)
	}
	return e.Experiment.ID, list
}

// keepReporting reports for each trial as often in a second as it is told, evenly over the second, or as fast as the master
// takes it.
func keepReporting(ctx context.Context, b *testing.B, w *wire, trials []attempt, perTrial *atomic.Int64) {
	due := time.Now()
	for n := 0; ctx.Err() == nil; n++ {
		a := trials[n%len(trials)]
		if _, err := w.call("POST", fmt.Sprintf("/api/v1/trials/%d/metrics", a.trial), a.token, fiveMetrics(a.trial, 1+n/len(trials))); err != nil && ctx.Err() == nil {
			b.Error(err)
			return
		}
		due = due.Add(time.Second / time.Duration(int64(len(trials))*perTrial.Load()))
		if late := time.Since(due); late < 0 {
			pause(ctx, -late)
		} else if late > time.Second {
			due = time.Now()
		}
	}
}
