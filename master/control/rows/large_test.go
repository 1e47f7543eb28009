package rows

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/schema/rowtest"
	"github.com/detent-ml/detent/master/tasks"
)

// TestLongConfigurationsOfLiveTasks: what the leader reads of live tasks in each cycle, and what lists read, does not grow with their configurations.
func TestLongConfigurationsOfLiveTasks(t *testing.T) {
	w := newWorld(t)
	raw := make([]byte, 300_000)
	_, _ = rand.Read(raw)
	config := `{"environment": {"environment_variables": {"cpu": ["A=` + hex.EncodeToString(raw) + `"]}, "nomad": {"volumes": []}, "secrets": [{"name": "x"}],
		"proxy_ports": [{"proxy_port": 80}]}, "resources": {"is_single_node": false}, "idle_timeout": "5m"}`
	for i := range 20 {
		w.Exec(`INSERT INTO tasks (id, type, job_id, owner_id, workspace_id, name, pool, slots, config) VALUES ($1, 'COMMAND', gen_random_uuid(), 2, 1, 'c', 'default', 1, $2::text::jsonb)`,
			fmt.Sprint("t", i), config)
		w.Exec(`INSERT INTO allocations (id, task_id, run_id, pool, slots, priority, state) VALUES ($1 || '.1', $1, 1, 'default', 1, 42, 'PENDING')`, fmt.Sprint("t", i))
		w.Exec(`INSERT INTO members (allocation_id, rank, node_id, node_name, slot_ids, devices, claimed_at) VALUES ($1 || '.1', 0, 'n', 'n', '{}', '{}', CASE WHEN $1 <> 't4' THEN now() END)`, fmt.Sprint("t", i))
	}
	list, err := database.Rows[LiveTask](t.Context(), w.DB, liveTasks)
	if err != nil || len(list) != 20 || string(list[0].Nomad) != `{"volumes": []}` || !list[0].Secrets || !list[0].Several {
		t.Fatalf("%d live tasks, %v", len(list), err)
	}
	ports, err := tasks.LivePorts(t.Context(), w.DB, auth.Everywhere())
	if err != nil || len(ports["t3.1"]) != 1 || ports["t4.1"] != nil { // t4 has not begun
		t.Errorf("ports: %v, %v", ports, err)
	}
	idle, err := tasks.IdleLimitOf(t.Context(), w.DB, "t3")
	if err != nil || idle.Timeout != "5m" {
		t.Errorf("%+v, %v", idle, err)
	}
	if n, whole := w.Pages(liveTasks), w.Pages(`SELECT config->'resources' FROM tasks`); n > whole/2 {
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
		w.Exec(`INSERT INTO tasks (id, type, job_id, owner_id, workspace_id, name, pool, slots, config) VALUES ($1, 'COMMAND', gen_random_uuid(), 2, 1, 'c', 'default', 1, $2::text::jsonb)`, command, config)
		id := w.Experiment(rowtest.LossSearcher)
		w.Exec(`UPDATE experiments SET config = config || $2::text::jsonb WHERE id = $1`, id, config)
		for _, task := range []string{command, w.TaskOf(w.Trial(id, 0, 1))} {
			w.Exec(`INSERT INTO allocations (id, task_id, run_id, pool, slots, priority, state) VALUES ($1 || '.9', $1, 9, 'default', 1, 42, 'ASSIGNED')`, task)
			s := &database.Statements{}
			queueForAttempt(s, WorkSubmit, task+".9", "true")
			if err := w.DB.Send(t.Context(), &s.Batch); err != nil {
				t.Fatal(err)
			}
		}
		if n, stored := w.Int(`SELECT count(*) FROM work WHERE large`), w.Int(`SELECT max(pg_column_size(config)) FROM tasks`); n != 2*i || stored > largeConfig {
			t.Errorf("with %d bytes, of which %d are stored, %d submissions are large", size, stored, n)
		}
	}
}

// TestLongConfigurationsOfExperiments: what the leader reads of experiments that changed, or are being deleted, does not grow with their configurations.
func TestLongConfigurationsOfExperiments(t *testing.T) {
	w := newWorld(t)
	raw := make([]byte, 300_000)
	_, _ = rand.Read(raw)
	var ids []int
	for range 20 {
		id := w.Experiment(rowtest.LossSearcher)
		w.Exec(`UPDATE experiments SET config = config || jsonb_build_object('max_restarts', 3, 'environment', jsonb_build_object('environment_variables', jsonb_build_array('A=' || $2::text))) WHERE id = $1`,
			id, hex.EncodeToString(raw))
		ids = append(ids, id)
	}
	if n, whole := w.Pages(experimentRows, ids, []int{}), w.Pages(`SELECT config->'max_restarts' FROM experiments`); n > whole/2 {
		t.Errorf("a load looks at %d pages; the configurations have %d", n, whole)
	}
	list, err := database.Rows[experimentRow](t.Context(), w.DB, experimentRows, ids[:1], []int{})
	if err != nil || string(list[0].Config) != `{"resume": null, "resources": {"max_runtime": null}, "preemption": null, "max_restarts": 3, "preemption_timeout": null}` {
		t.Errorf("%s, %v", list[0].Config, err)
	}
}

// TestLargeSubmissions: attempts with a large configuration, or that start from a checkpoint of such an experiment, are found without reading it.
func TestLargeSubmissions(t *testing.T) {
	w := newWorld(t)
	raw := make([]byte, 50_000)
	_, _ = rand.Read(raw)
	small, large, warm := w.Experiment(rowtest.LossSearcher), w.Experiment(rowtest.LossSearcher), w.Experiment(rowtest.LossSearcher)
	w.Exec(`UPDATE experiments SET config = config || jsonb_build_object('environment', $2::text) WHERE id = $1`, large, hex.EncodeToString(raw))
	trials := []int{w.Trial(small, 0, 1), w.Trial(large, 0, 1), w.Trial(warm, 0, 1)}
	const uuid = "0190b5a5-0000-4000-8000-000000000001"
	w.Exec(`INSERT INTO checkpoints (uuid, task_id, trial_id, run_id, steps, state, resources, metadata) SELECT $2::uuid, task_id, id, 1, 4, 'COMPLETED', '{}', '{}' FROM trials WHERE id = $1`, trials[1], uuid)
	w.Exec(`UPDATE trials SET warm_start = $2::uuid WHERE id = $1`, trials[2], uuid)
	var ids []string
	for _, id := range trials {
		ids = append(ids, w.Attempt(id, 1, 1))
	}
	b := &database.Statements{}
	for _, id := range ids {
		queueForAttempt(b, WorkSubmit, id, "true")
	}
	if err := b.Send(t.Context(), w.DB); err != nil {
		t.Fatal(err)
	}
	for large, want := range map[bool][]string{false: ids[:1], true: ids[1:]} {
		list, err := DueWork(t.Context(), w.DB, WorkSubmit, large, nil, 9)
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

// TestLongNamesOfExperiments: the leader does not keep long names of experiments.
func TestLongNamesOfExperiments(t *testing.T) {
	w := newWorld(t)
	id := w.Experiment(`{"name": "random"}`)
	w.Exec(`UPDATE experiments SET name = repeat('実', 80000) WHERE id = $1`, id)
	if live := w.load(NewLiveCache(w.DB)); len(live.Experiments) != 1 || live.Experiments[0].Name != strings.Repeat("実", 1000) {
		t.Errorf("the leader keeps a name of %d bytes", len(live.Experiments[0].Name))
	}
}
