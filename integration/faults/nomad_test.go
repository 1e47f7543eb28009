package faults

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/nomad/api"
	"github.com/jackc/pgx/v5"

	"github.com/detent-ml/detent/integration/rig"
	"github.com/detent-ml/detent/nomad/local"
)

// tokenLosesItsRights removes the rights of the master's Nomad token during a training. Nomad then
// returns an empty list of jobs, and the master must not conclude that all jobs are lost.
func tokenLosesItsRights(t *testing.T, r *rig.Rig) {
	k := r.Train(t, rig.TrainOptions{})
	nomad, err := r.Nomad()
	if err != nil {
		t.Fatal(err)
	}
	policy, _, err := nomad.ACLPolicies().Info("det-master", nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := nomad.ACLPolicies().Delete(policy.Name, nil); err != nil {
		t.Fatal(err)
	}
	since := time.Now()
	giveBack := func() {
		if _, err := nomad.ACLPolicies().Upsert(policy, nil); err != nil {
			t.Errorf("give the master its rights back: %v", err)
		}
	}
	t.Cleanup(giveBack)
	alarm := alarm(t, r, "token lost its rights")
	t.Logf("after %s: %s", time.Since(since).Round(time.Millisecond), alarm)
	checkTold(t, r, alarm)
	late := r.SubmitTraining(t, rig.TrainOptions{})
	attemptOf(t, late, "PENDING")
	k.Advance(t, 2*rig.CheckpointEvery)
	k.CheckAlone(t)
	if at := late.Starts(t); len(at) > 0 {
		t.Errorf("a training was started without rights: %+v", at)
	}
	giveBack()
	since = time.Now()
	calm(t, r)
	t.Logf("calm again after %s", time.Since(since).Round(time.Millisecond))
	late.Follow(t)
	for _, k := range []*rig.Training{k, late} {
		k.CheckAlone(t)
		k.Finish(t)
		k.CheckWhole(t)
	}
}

// alarm waits until the master raises this alarm. While Nomad starts, the master may raise another one
// first.
func alarm(t testing.TB, r *rig.Rig, what string) string {
	t.Helper()
	var alarm string
	rig.Eventually(t, "an alarm: "+what, func() (bool, error) {
		list, err := rig.Query(t, r, pgx.RowTo[string], `SELECT alarm FROM cluster`)
		if err == nil {
			alarm = list[0]
		}
		return strings.Contains(alarm, what), errors.Join(err, errors.New(alarm))
	})
	return alarm
}

// calm waits until the master raises no alarm.
func calm(t testing.TB, r *rig.Rig) {
	t.Helper()
	rig.Eventually(t, "the end of the alarm", func() (bool, error) {
		list, err := rig.Query(t, r, pgx.RowTo[string], `SELECT alarm FROM cluster`)
		if err != nil {
			return false, err
		}
		return list[0] == "", errors.New(list[0])
	})
}

// checkTold checks that /health and the master's log contain an alarm.
func checkTold(t testing.TB, r *rig.Rig, alarm string) {
	t.Helper()
	resp, err := http.Get(r.MasterURL + "/health")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var health struct{ Alarm string }
	if err := json.NewDecoder(resp.Body).Decode(&health); err != nil || health.Alarm != alarm {
		t.Errorf("the alarm in /health is %q, %v", health.Alarm, err)
	}
	rig.Eventually(t, "the alarm in the master's log", func() (bool, error) {
		out, err := r.Det(t, "master", "logs")
		return strings.Contains(out, alarm[:min(len(alarm), 40)]), err
	})
}

// attempt waits until the first attempt of a submitted training is in a state.
func attemptOf(t testing.TB, k *rig.Training, state string) {
	t.Helper()
	rig.Eventually(t, "an attempt that is "+state, func() (bool, error) {
		n, err := rig.Query(t, k.Rig, pgx.RowTo[int], `SELECT count(*) FROM allocations a JOIN tasks k ON k.id = a.task_id WHERE k.experiment_id = $1 AND a.state = $2`, k.Experiment, state)
		return err == nil && n[0] == 1, errors.Join(err, errors.New(k.Attempts(t)))
	})
}

// nomadIsRestored starts Nomad's server from a copy of its data that is some minutes old. The copy
// lacks a training, and its index is lower. Both trainings continue until operators confirm that the
// missing jobs are lost.
func nomadIsRestored(t *testing.T, r *rig.Rig) {
	known := r.Train(t, rig.TrainOptions{})
	server := r.RunningPart(t, "nomad")
	data := filepath.Join(r.Cluster.StateDir(), "nomad", "data")
	old := filepath.Join(t.TempDir(), "data")
	whileStopped(t, r, server, func() error { return os.CopyFS(old, os.DirFS(data)) })
	ageNomad(t, r)
	forgotten := r.Train(t, rig.TrainOptions{})
	forgotten.Advance(t, 2*rig.CheckpointEvery)
	since := time.Now()
	whileStopped(t, r, server, func() error {
		return errors.Join(os.RemoveAll(data), os.CopyFS(data, os.DirFS(old)))
	})
	// A node that has seen a higher index waits for that index, so operators must restart the agents
	// after a restoration. Tasks survive this.
	restartAgents := sync.OnceFunc(func() {
		for _, agent := range []string{"client-a", "client-b"} {
			r.Kill9(t, agent)
			r.StartPart(t, agent)
		}
	})
	t.Cleanup(restartAgents)
	alarm := alarm(t, r, "restored from an older state")
	t.Logf("after %s: %s", time.Since(since).Round(time.Millisecond), alarm)
	checkTold(t, r, alarm)
	known.Advance(t, 2*rig.CheckpointEvery)
	forgotten.Advance(t, 2*rig.CheckpointEvery)
	known.CheckAlone(t)
	forgotten.CheckAlone(t)
	// The master accepts the reports of tasks although Nomad does not list their jobs.
	known.Finish(t)
	known.CheckWhole(t)

	if out, err := r.Det(t, "--user", "admin", "master", "trust-nomad"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	since = time.Now()
	calm(t, r)
	t.Logf("calm %s after the operators' word", time.Since(since).Round(time.Millisecond))
	restartAgents()
	waitRun(t, forgotten, 2)
	t.Logf("the forgotten training continued %s after an operator confirmed Nomad's state", time.Since(since).Round(time.Millisecond))
	forgotten.Advance(t, rig.CheckpointEvery)
	forgotten.Finish(t)
	checkOneAtATime(t, forgotten)
	checkGoesOn(t, forgotten)
}

// whileStopped calls a function while a part is stopped.
func whileStopped(t testing.TB, r *rig.Rig, part local.Part, do func() error) {
	t.Helper()
	if err := part.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	err := do()
	if startErr := part.Start(t.Context()); err != nil || startErr != nil {
		t.Fatal(errors.Join(err, startErr))
	}
}

// ageNomad raises Nomad's index as some minutes of work do, so that the index after a restoration
// stays lower for some time.
func ageNomad(t testing.TB, r *rig.Rig) {
	t.Helper()
	nomad, err := r.Nomad()
	if err != nil {
		t.Fatal(err)
	}
	for i := range 200 {
		v := &api.Variable{Path: "faults/age", Items: api.VariableItems{"n": strconv.Itoa(i)}}
		if _, _, err := nomad.Variables().Update(v, nil); err != nil {
			t.Fatal(err)
		}
	}
}

// otherWork runs a job of another application on every node.
func otherWork(t testing.TB, r *rig.Rig, nomad *api.Client) {
	t.Helper()
	task := api.NewTask("work", "raw_exec").SetConfig("command", "/bin/true").Require(&api.Resources{CPU: new(1), MemoryMB: new(10)})
	job := api.NewSysbatchJob("somebody-elses", "work", "global", 50).AddDatacenter("*").AddTaskGroup(api.NewTaskGroup("work", 1).AddTask(task))
	job.NodePool = new("all")
	if _, _, err := nomad.Jobs().Register(job, nil); err != nil {
		t.Fatal(err)
	}
}

// nomadReadsASnapshot restores a snapshot with Nomad's own tool while Nomad runs. The index continues.
// When Nomad next places work on a node, the node ends the tasks that Nomad no longer lists; until then
// they continue.
func nomadReadsASnapshot(t *testing.T, r *rig.Rig) {
	known := r.Train(t, rig.TrainOptions{})
	nomad, err := r.Nomad()
	if err != nil {
		t.Fatal(err)
	}
	snapshot, err := nomad.Operator().Snapshot(nil)
	if err != nil {
		t.Fatal(err)
	}
	content, err := io.ReadAll(snapshot)
	if err != nil {
		t.Fatal(err)
	}
	forgotten := r.Train(t, rig.TrainOptions{})
	forgotten.Advance(t, 2*rig.CheckpointEvery)
	since := time.Now()
	if _, err := nomad.Operator().SnapshotRestore(bytes.NewReader(content), nil); err != nil {
		t.Fatal(err)
	}
	otherWork(t, r, nomad)
	waitRun(t, forgotten, 2)
	t.Logf("the forgotten training continued %s after the restoration; attempts: %s", time.Since(since).Round(time.Millisecond), forgotten.Attempts(t))
	calm(t, r)
	known.Advance(t, rig.CheckpointEvery)
	known.CheckAlone(t)
	known.Finish(t)
	known.CheckWhole(t)
	forgotten.Finish(t)
	checkOneAtATime(t, forgotten)
	checkGoesOn(t, forgotten)
}
