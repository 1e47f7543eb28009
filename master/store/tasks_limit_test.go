package store

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
)

// A user has a limited number of tasks that have not ended, and of what the control loop reads of them.
func TestLiveTasksOfAUserAreLimited(t *testing.T) {
	w := newWorld(t)
	create := func(id string, owner int, kind, config string) error {
		_, err := w.db.CreateTask(t.Context(), NewTask{ID: id, Type: kind, OwnerID: owner, WorkspaceID: 1, Name: id, Config: []byte(config), Pool: "default", Priority: 42})
		return err
	}
	w.exec(`INSERT INTO tasks (id, type, job_id, owner_id, workspace_id, name, config, pool, slots, priority)
		SELECT 'many' || n, 'COMMAND', gen_random_uuid(), 2, 1, 'many', '{}', 'default', 1, 42 FROM generate_series(2, $1) n`, maxLiveTasks)
	w.trial(w.experiment(lossSearcher), 1, 1) // trials do not count
	if err := create("last", 2, "SHELL", `{}`); err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"COMMAND", "NOTEBOOK", "SHELL", "TENSORBOARD", "GENERIC"} {
		if err := create("over", 2, kind, `{}`); !fault.Is(err, fault.TooMany) || !strings.Contains(err.Error(), "5000") {
			t.Errorf("%s: %v", kind, err)
		}
	}
	if n := w.int(`SELECT count(*) FROM tasks WHERE id = 'over'`); n != 0 {
		t.Error("a task over the limit is stored")
	}
	if err := create("other", 1, "COMMAND", `{}`); err != nil {
		t.Errorf("another user: %v", err)
	}
	w.exec(`UPDATE tasks SET ended_at = now() WHERE id = 'many2'`)
	if err := create("next", 2, "COMMAND", `{}`); err != nil {
		t.Errorf("after the end of a task: %v", err)
	}

	w.exec(`UPDATE tasks SET ended_at = now() WHERE id LIKE 'many%'`)
	long := `{"environment": {"nomad": {"constraints": ["` + strings.Repeat("x", 1<<20) + `"]}}}`
	for i := range 7 {
		if err := create(fmt.Sprint("long", i), 2, "COMMAND", long); err != nil {
			t.Fatal(err)
		}
	}
	if err := create("longer", 2, "COMMAND", long); !fault.Is(err, fault.TooMany) || !strings.Contains(err.Error(), "environment.nomad") {
		t.Errorf("too much of environment.nomad: %v", err)
	}
	for id, config := range map[string]string{"short": `{"environment": {"nomad": {"constraints": []}}}`, "none": `{"environment": {"nomad": null}}`} {
		if err := create(id, 2, "COMMAND", config); err != nil {
			t.Errorf("%s: %v", id, err)
		}
	}
}

// Requests at the same time count each other's tasks.
func TestLiveTasksAtTheSameTime(t *testing.T) {
	w := newWorld(t)
	w.exec(`INSERT INTO tasks (id, type, job_id, owner_id, workspace_id, name, config, pool, slots, priority)
		SELECT 'many' || n, 'COMMAND', gen_random_uuid(), 2, 1, 'many', '{}', 'default', 1, 42 FROM generate_series(3, $1) n`, maxLiveTasks)
	results := make(chan error)
	for i := range 8 {
		go func() {
			_, err := w.db.CreateTask(t.Context(), NewTask{ID: fmt.Sprint("new", i), Type: "COMMAND", OwnerID: 2, WorkspaceID: 1, Name: "x", Config: []byte(`{}`), Pool: "default", Priority: 42})
			results <- err
		}()
	}
	stored := 0
	for range 8 {
		switch err := <-results; {
		case err == nil:
			stored++
		case !fault.Is(err, fault.TooMany):
			t.Error(err)
		}
	}
	if stored != 2 {
		t.Errorf("%d tasks were stored, want 2", stored)
	}
}

// TestLongConfigurationsOfLiveTasks: what the leader reads of live tasks in each cycle, and what lists read, does not grow with their configurations.
func TestLongConfigurationsOfLiveTasks(t *testing.T) {
	w := newWorld(t)
	raw := make([]byte, 300_000)
	_, _ = rand.Read(raw)
	config := `{"environment": {"environment_variables": {"cpu": ["A=` + hex.EncodeToString(raw) + `"]}, "nomad": {"volumes": []}, "secrets": [{"name": "x"}],
		"proxy_ports": [{"proxy_port": 80}]}, "resources": {"is_single_node": false}, "idle_timeout": "5m"}`
	for i := range 20 {
		w.exec(`INSERT INTO tasks (id, type, job_id, owner_id, workspace_id, name, pool, slots, config) VALUES ($1, 'COMMAND', gen_random_uuid(), 2, 1, 'c', 'default', 1, $2::text::jsonb)`,
			fmt.Sprint("t", i), config)
		w.exec(`INSERT INTO allocations (id, task_id, run_id, pool, slots, priority, state) VALUES ($1 || '.1', $1, 1, 'default', 1, 42, 'PENDING')`, fmt.Sprint("t", i))
		w.exec(`INSERT INTO members (allocation_id, rank, node_id, node_name, slot_ids, devices, claimed_at) VALUES ($1 || '.1', 0, 'n', 'n', '{}', '{}', CASE WHEN $1 <> 't4' THEN now() END)`, fmt.Sprint("t", i))
	}
	list, err := database.Rows[LiveTask](t.Context(), w.db.DB, liveTasks)
	if err != nil || len(list) != 20 || string(list[0].Nomad) != `{"volumes": []}` || !list[0].Secrets || !list[0].Several {
		t.Fatalf("%d live tasks, %v", len(list), err)
	}
	ports, err := w.db.LivePorts(t.Context(), auth.Everywhere())
	if err != nil || len(ports["t3.1"]) != 1 || ports["t4.1"] != nil { // t4 has not begun
		t.Errorf("ports: %v, %v", ports, err)
	}
	idle, err := w.db.IdleTask(t.Context(), "t3")
	if err != nil || idle.Timeout != "5m" {
		t.Errorf("%+v, %v", idle, err)
	}
	if n, whole := w.pages(liveTasks), w.pages(`SELECT config->'resources' FROM tasks`); n > whole/2 {
		t.Errorf("a cycle looks at %d pages; the configurations have %d", n, whole)
	}
}

// TestLargeSubmissionsByTheirText: a submission is large by the bytes of its configuration, also where PostgreSQL stores them in few, and
// also if the configuration is that of the task's experiment.
func TestLargeSubmissionsByTheirText(t *testing.T) {
	w := newWorld(t)
	for i, size := range []int{100, 700_000} {
		config := fmt.Sprintf(`{"environment": {"environment_variables": {"cpu": ["A=%s"]}}}`, strings.Repeat("a", size))
		command := fmt.Sprint("command", i)
		w.exec(`INSERT INTO tasks (id, type, job_id, owner_id, workspace_id, name, pool, slots, config) VALUES ($1, 'COMMAND', gen_random_uuid(), 2, 1, 'c', 'default', 1, $2::text::jsonb)`, command, config)
		id := w.experiment(lossSearcher)
		w.exec(`UPDATE experiments SET config = config || $2::text::jsonb WHERE id = $1`, id, config)
		for _, task := range []string{command, w.taskOf(w.trial(id, 0, 1))} {
			w.exec(`INSERT INTO allocations (id, task_id, run_id, pool, slots, priority, state) VALUES ($1 || '.9', $1, 9, 'default', 1, 42, 'ASSIGNED')`, task)
			s := &statements{}
			queueForAttempt(s, WorkSubmit, task+".9", "true")
			if err := w.db.Send(t.Context(), &s.Batch); err != nil {
				t.Fatal(err)
			}
		}
		if n, stored := w.int(`SELECT count(*) FROM work WHERE large`), w.int(`SELECT max(pg_column_size(config)) FROM tasks`); n != 2*i || stored > largeConfig {
			t.Errorf("with %d bytes, of which %d are stored, %d submissions are large", size, stored, n)
		}
	}
}

// TestLongNamesOfExperiments: neither the leader nor the feed of states keeps long names of experiments.
func TestLongNamesOfExperiments(t *testing.T) {
	w := newWorld(t)
	id := w.experiment(`{"name": "random"}`)
	w.exec(`UPDATE experiments SET name = repeat('実', 80000) WHERE id = $1`, id)
	want := strings.Repeat("実", 1000)
	if live := w.load(w.db.NewLiveCache()); len(live.Experiments) != 1 || live.Experiments[0].Name != want {
		t.Errorf("the leader keeps a name of %d bytes", len(live.Experiments[0].Name))
	}
	view, err := w.db.stateView(t.Context(), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	if got := view.experiments[id].Name; got != want {
		t.Errorf("the feed keeps a name of %d bytes", len(got))
	}
}

// TestLongConfigurationsOfExperiments: what the leader reads of experiments that changed, or are being deleted, does not grow with their configurations.
func TestLongConfigurationsOfExperiments(t *testing.T) {
	w := newWorld(t)
	raw := make([]byte, 300_000)
	_, _ = rand.Read(raw)
	var ids []int
	for range 20 {
		id := w.experiment(lossSearcher)
		w.exec(`UPDATE experiments SET config = config || jsonb_build_object('max_restarts', 3, 'environment', jsonb_build_object('environment_variables', jsonb_build_array('A=' || $2::text))) WHERE id = $1`,
			id, hex.EncodeToString(raw))
		ids = append(ids, id)
	}
	if n, whole := w.pages(experimentRows, ids, []int{}), w.pages(`SELECT config->'max_restarts' FROM experiments`); n > whole/2 {
		t.Errorf("a load looks at %d pages; the configurations have %d", n, whole)
	}
	list, err := database.Rows[experimentRow](t.Context(), w.db.DB, experimentRows, ids[:1], []int{})
	if err != nil || string(list[0].Config) != `{"max_restarts": 3, "preemption_timeout": null}` {
		t.Errorf("%s, %v", list[0].Config, err)
	}
}

// TestLargeSubmissions: attempts with a large configuration, or that start from a checkpoint of such an experiment, are found without reading it.
func TestLargeSubmissions(t *testing.T) {
	w := newWorld(t)
	raw := make([]byte, 50_000)
	_, _ = rand.Read(raw)
	small, large, warm := w.experiment(lossSearcher), w.experiment(lossSearcher), w.experiment(lossSearcher)
	w.exec(`UPDATE experiments SET config = config || jsonb_build_object('environment', $2::text) WHERE id = $1`, large, hex.EncodeToString(raw))
	trials := []int{w.trial(small, 0, 1), w.trial(large, 0, 1), w.trial(warm, 0, 1)}
	const uuid = "0190b5a5-0000-4000-8000-000000000001"
	w.exec(`INSERT INTO checkpoints (uuid, task_id, trial_id, run_id, steps, state, resources, metadata) SELECT $2::uuid, task_id, id, 1, 4, 'COMPLETED', '{}', '{}' FROM trials WHERE id = $1`, trials[1], uuid)
	w.exec(`UPDATE trials SET warm_start = $2::uuid WHERE id = $1`, trials[2], uuid)
	var ids []string
	for _, id := range trials {
		ids = append(ids, w.attempt(id, 1, 1))
	}
	b := &statements{}
	for _, id := range ids {
		queueForAttempt(b, WorkSubmit, id, "true")
	}
	if err := b.send(t.Context(), w.db); err != nil {
		t.Fatal(err)
	}
	for large, want := range map[bool][]string{false: ids[:1], true: ids[1:]} {
		list, err := w.db.DueWork(t.Context(), WorkSubmit, large, nil, 9)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, x := range list {
			got = append(got, x.Subject)
		}
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("large %v: %v, want %v", large, got, want)
		}
	}
}
