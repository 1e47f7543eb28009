package faults

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/nomad/api"

	"github.com/detent-ml/detent/integration/rig"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/pool/leaving"
	"github.com/detent-ml/detent/master/v1"
)

// walker is a script that knows nothing of Detent. At SIGTERM it saves into its working directory, which ends with each attempt. It fails
// when there is a file "fails". The file from-N has the last step of the attempt that began after step N.
const walker = `
exec 2>/dev/null
mkdir -p out
n=$(cat out/count || echo 0)
from=$n
save() { echo $n > out/new && mv out/new out/count; }
trap 'save; exit 0' TERM
echo "begins after $n"
while [ ! -e $1/stop ]; do
	n=$((n+1))
	echo $n > $1/part && mv $1/part $1/from-$from
	[ ! -e $1/fails ] || { rm $1/fails; save; echo "uncorrectable ECC error"; exit 3; }
	sleep 0.1
done
echo "ends after $n"
`

// A departure is something for which a trial frees its slots.
type departure struct {
	what    string
	outcome string // of the attempt that it ends
	reason  string // of its preemption, or of its end
	begin   func(t *testing.T, w *walk, node string)
	back    func(t *testing.T, w *walk, node string) // after which the trial continues; nil: it continues at once, on another node
	undo    func(t *testing.T, w *walk, node string) // when it has continued; may be nil
}

var departures = []departure{
	{what: "a pause", outcome: "preempted", reason: "the experiment was paused",
		begin: func(t *testing.T, w *walk, _ string) { w.act(t, v1.PauseExperiment) },
		back:  func(t *testing.T, w *walk, _ string) { w.act(t, v1.ActivateExperiment) }},
	{what: "fewer slots", outcome: "preempted", reason: "may use 0 slots by now",
		begin: func(t *testing.T, w *walk, _ string) { w.maxSlots(t, 0) },
		back:  func(t *testing.T, w *walk, _ string) { w.maxSlots(t, 1) }},
	{what: "a more important job", outcome: "preempted", reason: "preempted for experiment",
		begin: func(t *testing.T, w *walk, _ string) { w.urgent = w.submitUrgent(t) },
		back:  func(t *testing.T, w *walk, _ string) { w.End(t, w.urgent) }},
	{what: "a drain of its node", outcome: "preempted", reason: "is drained in Nomad until 20",
		begin: func(t *testing.T, w *walk, node string) { w.drain(t, node, &api.DrainSpec{Deadline: time.Hour}) },
		undo:  func(t *testing.T, w *walk, node string) { w.drain(t, node, nil) }},
	{what: "a machine that goes away", outcome: "preempted", reason: "goes away at 20",
		begin: func(t *testing.T, w *walk, node string) {
			w.notice(t, node, new(time.Now().Add(time.Hour).UTC().Format(time.RFC3339)))
		},
		undo: func(t *testing.T, w *walk, node string) { w.notice(t, node, nil) }},
	{what: "a node that is disabled", outcome: "killed", reason: "was disabled",
		begin: func(t *testing.T, w *walk, node string) { disable(t, w.Rig, node) },
		undo:  func(t *testing.T, w *walk, node string) { enable(t, w.Rig, node) }},
	{what: "a line that excludes its node", outcome: "failed", reason: "exit code 3",
		begin: func(t *testing.T, w *walk, _ string) { rig.Write(t, w.folder, "fails", "") }},
}

// A walk is the trial of a walker.
type walk struct {
	*rig.Rig
	id, urgent int
	task       string
	folder     string
	nodes      map[string]string // ids by names
}

// everyDeparture takes a trial whose program knows only signals through everything for which trials free their slots. Each time it saves at
// SIGTERM into the folder that its runner keeps, and continues with at most one step lost. A template names the
// signal, and the pool the grace.
func everyDeparture(t *testing.T, r *rig.Rig) {
	w := startWalk(t, r)
	after := w.begins(t, 1)
	for i, d := range departures {
		run := i + 1
		node := w.nodeOf(t, run)
		if d.undo != nil {
			t.Cleanup(func() { d.undo(t, w, node) })
		}
		since := time.Now()
		d.begin(t, w, node)
		w.ended(t, run, d)
		t.Logf("%s: the slots were free %s later", d.what, time.Since(since).Round(time.Millisecond))
		if d.back != nil {
			d.back(t, w, node)
		}
		next := w.begins(t, run+1)
		if reached := w.reached(t, after); reached-next > 1 || next <= after {
			t.Errorf("%s: the trial had begun after step %d and reached step %d, and continues after step %d", d.what, after, reached, next)
		}
		if there := w.nodeOf(t, run+1); d.back == nil && there == node {
			t.Errorf("%s: the trial continues on the same node, %s", d.what, node)
		}
		if d.undo != nil {
			d.undo(t, w, node)
		}
		after = next
	}
	rig.Holds(t, "the log", w.Log(t, w.id), "sending SIGTERM to the program, which has 50s to exit")
	rig.Write(t, w.folder, "stop", "")
	r.WaitState(t, w.id, v1.ExperimentStateCompleted)
	if restarts := r.Trial(t, w.id).Restarts; restarts != 1 {
		t.Errorf("%d restarts are counted, want one, of the failure", restarts)
	}
	w.keepsOne(t)
}

func startWalk(t *testing.T, r *rig.Rig) *walk {
	t.Helper()
	w := &walk{Rig: r, folder: t.TempDir(), nodes: map[string]string{}}
	nomad, err := r.Nomad()
	if err != nil {
		t.Fatal(err)
	}
	nodes, _, err := nomad.Nodes().List(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range nodes {
		w.nodes[n.Name] = n.ID
	}
	file := rig.Write(t, t.TempDir(), "signals.yaml", "preemption: {signal: SIGTERM}\nresume: {path: out}\n")
	if out, err := r.Det(t, "template", "create", "signals", file); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	config := fmt.Sprintf("name: walk\nentrypoint: [sh, walk.sh, %s]\nsearcher: {name: single, metric: loss, max_length: 1}\nmax_restarts: 1\n"+
		"preemption: {always: true}\nlog_policies: [{name: ECC, pattern: uncorrectable ECC error, action: exclude_node}]\n", w.folder)
	resp, err := r.Client.CreateExperiment(t.Context(), v1.CreateExperimentRequest{Config: &config, Activate: new(true), Template: new("signals"),
		ModelDefinition: []v1.File{{Path: "walk.sh", Type: 48, Mode: 0o100644, Content: []byte(walker)}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	w.id = resp.Experiment.ID
	t.Cleanup(func() {
		if err := client.Act(context.WithoutCancel(t.Context()), r.Client, v1.KillExperiment, w.id); err != nil {
			t.Error(err)
		}
	})
	w.task = r.Trial(t, w.id).TaskID
	return w
}

// begins waits until the program of a run has begun and made a step, and returns after which step it began.
func (w *walk) begins(t *testing.T, run int) (after int) {
	t.Helper()
	var began []string
	rig.Eventually(t, fmt.Sprintf("the program of run %d begins", run), func() (bool, error) {
		began = nil
		log := w.Log(t, w.id)
		for line := range strings.Lines(log) {
			if _, n, ok := strings.Cut(line, "begins after "); ok {
				began = append(began, strings.TrimSpace(n))
			}
		}
		return len(began) >= run, fmt.Errorf("%d have begun; the trial waits: %q; its log:\n%s", len(began), w.Trial(t, w.id).WaitingReason, log)
	})
	after = rig.Number(t, began[run-1])
	rig.Eventually(t, "it makes a step", func() (bool, error) {
		_, err := os.Stat(w.of(after))
		return err == nil, err
	})
	return after
}

// of is the file of the program that began after a step.
func (w *walk) of(after int) string { return filepath.Join(w.folder, fmt.Sprint("from-", after)) }

// reached returns the last step of the program that began after a step.
func (w *walk) reached(t *testing.T, after int) int {
	t.Helper()
	text, err := os.ReadFile(w.of(after))
	if err != nil {
		t.Fatal(err)
	}
	return rig.Number(t, strings.TrimSpace(string(text)))
}

// ended waits for the end of a run, and checks how and why it ended.
func (w *walk) ended(t *testing.T, run int, d departure) {
	t.Helper()
	attempt := fmt.Sprintf("%s.%d", w.task, run)
	rig.Eventually(t, fmt.Sprintf("%s ends run %d", d.what, run), func() (bool, error) {
		state := rig.Value[string](t, w.Rig, `SELECT state || ' ' || preempt_reason FROM allocations WHERE id = $1`, attempt)
		return strings.HasPrefix(state, "TERMINATED"), errors.New(state)
	})
	end := rig.Value[string](t, w.Rig, `SELECT outcome || ': ' || concat_ws(', ', nullif(preempt_reason, ''), nullif(kill_reason, ''), exit_reason) FROM allocations WHERE id = $1`, attempt)
	if !strings.HasPrefix(end, d.outcome+": ") || !strings.Contains(end, d.reason) {
		t.Errorf("%s: the attempt was %q, want %s, because of %q", d.what, end, d.outcome, d.reason)
	}
}

func (w *walk) nodeOf(t *testing.T, run int) string {
	t.Helper()
	return rig.Value[string](t, w.Rig, `SELECT node_name FROM members WHERE allocation_id = $1`, fmt.Sprintf("%s.%d", w.task, run))
}

func (w *walk) act(t *testing.T, action v1.Endpoint[v1.None, v1.Empty]) {
	t.Helper()
	if err := client.Act(t.Context(), w.Client, action, w.id); err != nil {
		t.Fatal(err)
	}
}

func (w *walk) maxSlots(t *testing.T, most int) {
	t.Helper()
	if out, err := w.Det(t, "experiment", "set", "max-slots", fmt.Sprint(w.id), fmt.Sprint(most)); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// submitUrgent submits an experiment that needs all slots of the pool.
func (w *walk) submitUrgent(t *testing.T) int {
	t.Helper()
	return w.Submit(t, "name: urgent\nentrypoint: sleep 3600\nsearcher: {name: single, metric: loss, max_length: 1}\nresources: {slots_per_trial: 8, priority: 1}\n", nil)
}

func (w *walk) drain(t *testing.T, node string, spec *api.DrainSpec) {
	t.Helper()
	nomad, err := w.Nomad()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := nomad.Nodes().UpdateDrain(w.nodes[node], spec, spec == nil, nil); err != nil {
		t.Error(err)
	}
}

// notice sets or removes the notice that the machine of a node goes away, as an operator does.
func (w *walk) notice(t *testing.T, node string, at *string) {
	t.Helper()
	nomad, err := w.Nomad()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := nomad.Nodes().Meta().Apply(&api.NodeMetaApplyRequest{NodeID: w.nodes[node], Meta: map[string]*string{leaving.Key: at}}, nil); err != nil {
		t.Error(err)
	}
}

// keepsOne waits until the policy has removed all copies of the folder but the newest.
func (w *walk) keepsOne(t *testing.T) {
	t.Helper()
	rig.Eventually(t, "all copies but one are collected", func() (bool, error) {
		var states []string
		list, err := client.List(t.Context(), w.Client, v1.ListTrialCheckpoints, client.Page{}, nil, w.Trial(t, w.id).ID)
		for _, k := range list {
			states = append(states, strings.TrimPrefix(string(k.State), "STATE_"))
		}
		slices.Sort(states)
		want := append([]string{"COMPLETED"}, slices.Repeat([]string{"DELETED"}, len(departures)-1)...)
		return slices.Equal(states, want), fmt.Errorf("the checkpoints are %v (%w)", states, err)
	})
}

func asAdmin(t *testing.T, r *rig.Rig) *client.Client {
	t.Helper()
	admin, err := r.SignIn(context.WithoutCancel(t.Context()), "admin")
	if err != nil {
		t.Fatal(err)
	}
	return admin
}

func disable(t *testing.T, r *rig.Rig, node string) {
	t.Helper()
	if _, err := client.Send(t.Context(), asAdmin(t, r), v1.DisableAgent, v1.DisableRequest{}, node); err != nil {
		t.Fatal(err)
	}
}

func enable(t *testing.T, r *rig.Rig, node string) {
	t.Helper()
	if _, err := client.Call(context.WithoutCancel(t.Context()), asAdmin(t, r), v1.EnableAgent, node); err != nil {
		t.Error(err)
	}
}
