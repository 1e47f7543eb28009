//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/schema"
	"github.com/detent-ml/detent/nomad/servers/pgtest"
)

// Searches that programs outside drive, each within the bound of one search: more of them
// than fit into a master's memory.
const (
	manySearches = 5
	trialsOfEach = 1000
	bytesOfTrial = 60_000
)

const drivenSearch = "name: n\nentrypoint: x\nsearcher: {name: custom, metric: loss, unit: batches}\ncheckpoint_storage: {type: shared_fs, host_path: /tmp}\n"

// TestSearchesDoNotFillTheMemory: under a limit that was larger, a user has stored more searches than
// fit. A leading master stays within the memory of its job, experiments of other users
// continue, and each of the large ones can be killed.
func TestSearchesDoNotFillTheMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("it stores 300 MB")
	}
	dsn := pgtest.New(t, schema.Hash(), schema.Migrate)
	db, err := database.Open(t.Context(), dsn, database.Options{MaxConns: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	exec := func(sql string, args ...any) {
		t.Helper()
		if err := db.Exec(t.Context(), sql, args...); err != nil {
			t.Fatal(err)
		}
	}
	m := startMasterOn(t, dsn)
	token := m.signIn(t)
	var large []int
	for range manySearches {
		large = append(large, m.create(t, token, drivenSearch))
	}
	other := m.create(t, m.signInAs(t, "admin"), oneTrialEach)
	for _, id := range large {
		exec(`INSERT INTO search_events (experiment_id, seq, kind, trial, body)
			SELECT $1, n, 'told', 0, jsonb_build_object('event', 0, 'list', jsonb_build_array(jsonb_build_object('create',
				jsonb_build_object('name', n::text, 'hparams', jsonb_build_object('x', repeat('x', $3::int))))))
			FROM generate_series(1, $2::int) n`, id, trialsOfEach, bytesOfTrial)
		exec(`UPDATE search_counters SET next = $2 + 1 WHERE experiment_id = $1`, id, trialsOfEach)
		exec(`UPDATE experiments SET memory = memory + $2 WHERE id = $1`, id, trialsOfEach*(bytesOfTrial*9/8+1280)) // as the API estimates
	}
	m.stop()

	m = startMasterOn(t, dsn) // a new leader, which reads what lives
	token = m.signIn(t)
	var polls sync.WaitGroup
	for _, id := range large[:2] { // their programs go on asking
		polls.Go(func() { m.poll(t, token, id) })
	}
	for _, id := range large {
		if _, err := m.call(token, "POST", fmt.Sprintf("/api/v1/experiments/%d/activate", id), nil, 0); err == nil || !strings.Contains(err.Error(), "429") {
			t.Errorf("experiment %d of all was activated: %v", id, err)
		}
	}
	exec(`UPDATE experiments SET desired = 'active' WHERE id = ANY($1)`, large) // as if nobody had refused
	admin := m.signInAs(t, "admin")
	m.ask(t, admin, other, "activate")
	m.await(t, admin, other, "QUEUED") // there is no Nomad
	m.ask(t, admin, other, "kill")
	m.await(t, admin, other, "CANCELED")
	polls.Wait()
	for _, id := range large {
		m.ask(t, token, id, "kill")
		m.await(t, token, id, "CANCELED")
	}
	peak := m.peak(t)
	t.Logf("the master's peak was %d MB", peak>>20)
	if peak > masterMemory*9/10 {
		t.Errorf("the master's peak was %d MB of its %d", peak>>20, masterMemory>>20)
	}
}

// TestOneOwnersSearchesAreBounded: the master rejects further submissions of one owner before its memory
// is full, and the error says what to do.
func TestOneOwnersSearchesAreBounded(t *testing.T) {
	m := startMaster(t)
	token := m.signIn(t)
	var refused error
	stored := 0
	for range manySearches {
		id := m.create(t, token, drivenSearch)
		for n := 0; n < 200 && refused == nil; n++ {
			if refused = m.operate(token, id, n); refused == nil {
				stored += bytesOfTrial
			}
		}
	}
	if refused == nil || !strings.Contains(refused.Error(), "429") || !strings.Contains(refused.Error(), "search_memory_mb") {
		t.Errorf("after %d MB: %v", stored>>20, refused)
	}
	if stored < 10<<20 || stored > masterMemory/5/2 {
		t.Errorf("%d MB were stored", stored>>20)
	}
	if peak := m.peak(t); peak > masterMemory*9/10 {
		t.Errorf("the master's peak was %d MB of its %d", peak>>20, masterMemory>>20)
	}
}

const oneTrialEach = "name: n\nentrypoint: x\nsearcher: {name: single, metric: loss, max_length: {batches: 1}}\ncheckpoint_storage: {type: shared_fs, host_path: /tmp}\n"

// create submits a paused experiment.
func (m *runningMaster) create(t *testing.T, token, config string) int {
	t.Helper()
	body, err := json.Marshal(map[string]any{"config": config, "activate": false})
	if err != nil {
		t.Fatal(err)
	}
	answer, err := m.call(token, "POST", "/api/v1/experiments", strings.NewReader(string(body)), int64(len(body)))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Close()
	var got struct{ Experiment struct{ ID int } }
	if err := json.NewDecoder(answer).Decode(&got); err != nil {
		t.Fatal(err)
	}
	return got.Experiment.ID
}

// operate creates a trial in a search.
func (m *runningMaster) operate(token string, id, n int) error {
	type object = map[string]any
	hparams := `{"x": "` + strings.Repeat("x", bytesOfTrial) + `"}`
	body, err := json.Marshal(object{"searcherOperations": []object{{"createTrial": object{"requestId": fmt.Sprint(n), "hyperparams": hparams}}}})
	if err != nil {
		return err
	}
	answer, err := m.call(token, "POST", fmt.Sprintf("/api/v1/experiments/%d/searcher_operations", id), strings.NewReader(string(body)), int64(len(body)))
	if err != nil {
		return err
	}
	return answer.Close()
}

// poll asks for the events of a search.
func (m *runningMaster) poll(t *testing.T, token string, id int) {
	t.Helper()
	answer, err := m.call(token, "GET", fmt.Sprintf("/api/v1/experiments/%d/searcher_events", id), nil, 0)
	if err != nil {
		t.Error(err)
		return
	}
	defer answer.Close()
	if _, err := io.Copy(io.Discard, answer); err != nil {
		t.Error(err)
	}
}

func (m *runningMaster) ask(t *testing.T, token string, id int, action string) {
	t.Helper()
	answer, err := m.call(token, "POST", fmt.Sprintf("/api/v1/experiments/%d/%s", id, action), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Close()
}

func (m *runningMaster) await(t *testing.T, token string, id int, state string) {
	t.Helper()
	var got struct{ Experiment struct{ State string } }
	for until := time.Now().Add(3 * time.Minute); time.Now().Before(until); <-time.After(100 * time.Millisecond) {
		answer, err := m.call(token, "GET", fmt.Sprintf("/api/v1/experiments/%d", id), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		err = json.NewDecoder(answer).Decode(&got)
		_ = answer.Close()
		if err != nil {
			t.Fatal(err)
		}
		if strings.TrimPrefix(got.Experiment.State, "STATE_") == state {
			return
		}
	}
	t.Fatalf("experiment %d is %s, not %s", id, got.Experiment.State, state)
}
