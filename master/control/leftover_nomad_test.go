package control

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/detent-ml/detent/jobspecs"
	"github.com/detent-ml/detent/master/attempts"
	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/cluster"
	"github.com/detent-ml/detent/master/cluster/clustertest"
	"github.com/detent-ml/detent/master/cluster/nomadtest"
	"github.com/detent-ml/detent/master/logs"
	"github.com/detent-ml/detent/master/pool"
	"github.com/detent-ml/detent/master/task"
	v1 "github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/plugins/runner/fakemaster"
)

// farBench is a loop with a real Nomad, whose tasks run the real runner with a fake master
// that can stop answering.
type farBench struct {
	*bench
	agent *nomadtest.Agent
	state *fakemaster.State
	away  *fakemaster.Master
	dir   string
}

func newFarBench(t *testing.T, script string) *farBench {
	b := &farBench{bench: newBench(t), dir: t.TempDir(), agent: nomadtest.Start(t, nomadtest.Options{})}
	runner := filepath.Join(b.dir, "det-runner")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", runner, "../../plugins/runner")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	c, err := cluster.New(cluster.Config{Address: b.agent.Address, ClusterID: "11111111-aaaa-4aaa-8aaa-111111111111", Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err != nil {
		t.Fatal(err)
	}
	spec := v1.TaskSpec{TaskType: "TRIAL", Members: 1, Slots: 1, SlotIDs: []int{0}, Entrypoint: []string{script}, Shell: true, StopGraceSecs: 5,
		Env: map[string]string{"DET_LOG_WAIT_TIME": "1", "GATE": filepath.Join(b.dir, "gate")}}
	b.state = fakemaster.NewState(spec)
	b.away = fakemaster.Start(t, b.state)
	b.term.views[0].nomad, b.term.views[0].leftovers = c, c
	cfg := &b.term.cfg
	cfg.Leftovers, cfg.Logs, cfg.Timing.Read = c, logs.NewStore(b.db, b.term.bus, logs.Settings{Days: logs.Forever}), ReadWithin
	cfg.Timing.Report = 0
	cfg.Exit = func(ctx context.Context, m Member, x v1.MemberExitRequest) error {
		return attempts.MemberExit(ctx, b.db, m.AllocationID, m.Rank, x.ExitCode, x.Reason, x.Stopped, x.LogsDone)
	}
	cfg.Task = func(a task.Attempt, _ []task.Placed, _ *pool.Pool) (task.Job, error) {
		spec.AllocationID, spec.TaskID = a.ID, a.TaskID
		b.state.Task(spec)
		rig := clustertest.Rig{NodeID: b.agent.NodeID, Runner: jobspecs.Runner{Path: runner}}
		job := task.Job{Task: rig.Task("11111111-aaaa-4aaa-8aaa-111111111111", a.ID, 1)}
		job.Masters.URLs = []string{b.away.URL()}
		return job, nil
	}
	return b
}

// until runs cycles until a condition holds.
func (b *farBench) until(what string, so func() bool) {
	b.t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !so(); <-time.After(200 * time.Millisecond) {
		if time.Now().After(deadline) {
			b.t.Fatalf("%s: not within two minutes", what)
		}
		b.cycle()
	}
}

func (b *farBench) cycle() {
	b.t.Helper()
	b.term.views[0].known.Full = true
	if err := b.term.cycle(b.t.Context()); err != nil {
		b.t.Fatal(err)
	}
	b.term.calls.wait()
}

// orphaned runs an attempt whose first log lines a master accepts, and which ends while no
// master answers. It returns when its runner has given up.
func (b *farBench) orphaned() (experiment int, id, nomadAlloc string) {
	b.t.Helper()
	return b.abandoned(func(string) {})
}

// abandoned is the same for a runner that ends because of what end does, after the gate is open.
func (b *farBench) abandoned(end func(nomadAlloc string)) (experiment int, id, nomadAlloc string) {
	b.t.Helper()
	experiment = b.experiment("")
	b.until("the claim", func() bool { return len(b.state.Claims()) == 1 })
	id = b.newest(experiment)
	b.until("Nomad's allocation", func() bool {
		nomadAlloc = b.text(`SELECT nomad_alloc_id FROM members WHERE allocation_id = $1`, id)
		return nomadAlloc != ""
	})
	b.exec(`UPDATE members SET claimed_at = now(), claimed_by = nomad_alloc_id, token_hash = $2 WHERE allocation_id = $1`, id, auth.HashToken(fakemaster.Token))
	shipper := nomadAlloc + "/0"
	b.until("the first lines", func() bool { return len(b.state.Lines(shipper, "task")) == 3 })
	b.away.Stop()
	batch := logs.Batch{TaskID: strings.TrimSuffix(id, ".1"), Origin: logs.Origin{AllocationID: id}, Shipper: shipper}
	for _, l := range b.state.Wire(shipper) {
		batch.Lines = append(batch.Lines, lineOf(l))
	}
	if _, err := b.term.cfg.Logs.Append(b.t.Context(), batch); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(b.dir, "gate"), nil, 0o600); err != nil {
		b.t.Fatal(err)
	}
	end(nomadAlloc)
	for deadline := time.Now().Add(2 * time.Minute); ; <-time.After(200 * time.Millisecond) {
		a, _, err := b.agent.API.Allocations().Info(nomadAlloc, nil)
		if err != nil {
			b.t.Fatal(err)
		}
		if a.ClientStatus == "complete" || a.ClientStatus == "failed" {
			return experiment, id, nomadAlloc
		}
		if time.Now().After(deadline) {
			b.t.Fatal("the runner has not ended")
		}
	}
}

// logged returns the lines of a source in the task's log.
func (b *farBench) logged(id, source string) (lines []string) {
	b.t.Helper()
	r, err := b.term.cfg.Logs.Reader(strings.TrimSuffix(id, ".1"), logs.Filter{Sources: []string{source}})
	if err != nil {
		b.t.Fatal(err)
	}
	_, err = r.Forward(b.t.Context(), 0, 10_000, func(list []logs.Record) error {
		for _, l := range list {
			lines = append(lines, l.Text)
		}
		return nil
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return lines
}

const farScript = `for i in 1 2 3; do echo line $i; done; until [ -e "$GATE" ]; do sleep 0.1; done; i=4; while [ $i -le 3000 ]; do echo line $i; i=$((i+1)); done; exit `

func (b *farBench) wantAllLines(id string) {
	b.t.Helper()
	got := b.logged(id, "task")
	if len(got) != 3000 {
		b.t.Fatalf("%d lines, want 3000", len(got))
	}
	for i, l := range got {
		if l != fmt.Sprintf("line %d", i+1) {
			b.t.Fatalf("line %d is %q", i+1, l)
		}
	}
}

// TestAnExitIsReadOnItsNode tests a program that succeeds while no master answers, so that its
// runner gives up: a later master reads the exit and the lines through Nomad.
func TestAnExitIsReadOnItsNode(t *testing.T) {
	b := newFarBench(t, farScript+"0")
	e, id, _ := b.orphaned()
	b.until("the trial's end", func() bool {
		return b.text(`SELECT state FROM experiments WHERE id = $1`, e) == "COMPLETED"
	})
	b.want(e, "COMPLETED", "COMPLETED", "TERMINATED completed")
	b.wantAllLines(id)
	if n := b.int(`SELECT count(*) FROM members WHERE allocation_id = $1 AND logs_done AND exit_code = 0 AND leftover_read_at IS NOT NULL`, id); n != 1 {
		t.Error("the member does not say that all was read")
	}
	if n := b.int(`SELECT count(*) FROM work WHERE kind = 'read'`); n != 0 {
		t.Errorf("%d pieces of work are left", n)
	}
}

// TestAKilledRunnersLinesAreReadOnItsNode tests a runner that is killed while no master answers: a later master reads the lines through
// Nomad, and the reason of the end and the log have what Nomad says about it.
func TestAKilledRunnersLinesAreReadOnItsNode(t *testing.T) {
	b := newFarBench(t, strings.TrimSuffix(farScript, "exit ")+"sleep 1000")
	_, id, _ := b.abandoned(func(nomadAlloc string) {
		b.until("the runner has stored all lines", func() bool {
			files, _ := filepath.Glob(filepath.Join(b.agent.Dir, "node", "alloc", nomadAlloc, "alloc", "det", "logs", "*.log"))
			return slices.ContainsFunc(files, func(file string) bool {
				content, _ := os.ReadFile(file)
				return strings.Contains(string(content), "line 3000\n")
			})
		})
		killed := 0
		cmdlines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
		for _, file := range cmdlines {
			content, _ := os.ReadFile(file)
			if !strings.HasPrefix(string(content), filepath.Join(b.dir, "det-runner")+"\x00attempt\x00") {
				continue
			}
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
			if err == nil && syscall.Kill(pid, syscall.SIGKILL) == nil {
				killed++
			}
		}
		if killed != 1 {
			t.Fatalf("%d runners were killed", killed)
		}
	})
	b.until("the attempt's end", func() bool {
		return b.text(`SELECT state FROM allocations WHERE id = $1`, id) == "TERMINATED"
	})
	b.wantAllLines(id)
	if got := b.text(`SELECT outcome FROM allocations WHERE id = $1`, id); got != "failed" {
		t.Errorf("the attempt is %s", got)
	}
	const want = "the runner of this attempt ended without a report: Exit Code: 137"
	if why := b.text(`SELECT exit_reason FROM allocations WHERE id = $1`, id); !strings.Contains(why, want) {
		t.Errorf("the attempt's exit reason is: %s", why)
	}
	if said := b.logged(id, "master"); len(said) != 1 || !strings.Contains(said[0], want) {
		t.Errorf("the log says %q", said)
	}
}

// TestAForgedExitIsNotBelieved tests that a process that can write the file, but does not have
// the token, cannot turn a failure into a success. The log lines are stored.
func TestAForgedExitIsNotBelieved(t *testing.T) {
	b := newFarBench(t, farScript+"3")
	_, id, nomadAlloc := b.orphaned()
	file := filepath.Join(b.agent.Dir, "node", "alloc", nomadAlloc, "alloc", "det", "exit.json")
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	forged := strings.Replace(string(content), `"exitCode":3`, `"exitCode":0`, 1)
	if forged == string(content) {
		t.Fatalf("the record does not say the exit code: %s", content)
	}
	if err := os.WriteFile(file, []byte(forged), 0o600); err != nil {
		t.Fatal(err)
	}
	b.until("the attempt's end", func() bool {
		return b.text(`SELECT state FROM allocations WHERE id = $1`, id) == "TERMINATED"
	})
	if got := b.text(`SELECT outcome FROM allocations WHERE id = $1`, id); got != "failed" {
		t.Errorf("the attempt is %s", got)
	}
	if why := b.text(`SELECT exit_reason FROM allocations WHERE id = $1`, id); !strings.Contains(why, "without a report") {
		t.Errorf("the attempt's exit reason is: %s", why)
	}
	b.wantAllLines(id)
}

// openedLeftovers notes which files are opened.
type openedLeftovers struct {
	LeftoverReader
	mu     sync.Mutex
	opened []string
}

func (o *openedLeftovers) ReadLeftover(ctx context.Context, nomadAllocID, file string, most int64) ([]byte, error) {
	o.mu.Lock()
	o.opened = append(o.opened, file)
	o.mu.Unlock()
	return o.LeftoverReader.ReadLeftover(ctx, nomadAllocID, file, most)
}

// TestAPipeInThePlaceOfTheRecord tests that nobody waits for a pipe that a program has left in the place of the record of its exit, or
// among its lines: the lines are stored, and the attempt ends as one without a report.
func TestAPipeInThePlaceOfTheRecord(t *testing.T) {
	b := newFarBench(t, farScript+"0")
	_, id, nomadAlloc := b.orphaned()
	dir := filepath.Join(b.agent.Dir, "node", "alloc", nomadAlloc, "alloc", "det")
	record, lines := filepath.Join(dir, "exit.json"), filepath.Join(dir, "logs", "0000000000005000.log")
	if err := errors.Join(os.Remove(record), syscall.Mkfifo(record, 0o600), syscall.Mkfifo(lines, 0o600)); err != nil {
		t.Fatal(err)
	}
	read := &openedLeftovers{LeftoverReader: b.term.views[0].leftovers}
	b.term.views[0].leftovers = read
	b.until("the attempt's end", func() bool {
		return b.text(`SELECT state FROM allocations WHERE id = $1`, id) == "TERMINATED"
	})
	if why := b.text(`SELECT exit_reason FROM allocations WHERE id = $1`, id); !strings.Contains(why, "without a report") {
		t.Errorf("the attempt's exit reason is: %s", why)
	}
	b.wantAllLines(id)
	for _, file := range read.opened {
		if file == "exit.json" || strings.HasSuffix(file, filepath.Base(lines)) {
			t.Errorf("the pipe %s was opened", file)
		}
	}
	if len(read.opened) == 0 {
		t.Error("no lines were read on the node")
	}
}
