package api

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/rest"
	"github.com/detent-ml/detent/master/spool"
	"github.com/detent-ml/detent/nomad/servers/pgtest"
)

// longList makes 12 experiments whose list has 6 MB, more than the kernel stores for a connection, and
// returns its path.
func (r *rig) longList() string {
	r.t.Helper()
	who := r.user("determined")
	for range 12 {
		who.create(yaml())
	}
	r.exec(`UPDATE experiments SET notes = repeat('"', 250000)`)
	return "/api/v1/experiments?limit=1000"
}

// unread requests a path and does not read the answer.
func (r *rig) unread(who as, path string) net.Conn {
	r.t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(r.url, "http://"))
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = conn.Close() })
	if err := conn.(*net.TCPConn).SetReadBuffer(4096); err != nil {
		r.t.Fatal(err)
	}
	if _, err := fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: 127.0.0.1\r\n%s: %s\r\n\r\n", path, who.header, who.token); err != nil {
		r.t.Fatal(err)
	}
	one := make([]byte, 1)
	if _, err := io.ReadFull(conn, one); err != nil { // it has begun
		r.t.Fatal(err)
	}
	return conn
}

// Clients that do not read their answers leave the memory to others, and cannot fill the disk.
func TestAnswersThatNobodyReads(t *testing.T) {
	pgtest.Alone(t)
	r := newRig(t)
	const mb, total = 6, 512 << 20
	r.api.router.Limits.Unread = spool.New(t.TempDir(), total)
	path := r.longList()
	greedy, other := r.user("determined"), r.user("admin")
	before := r.heap()
	var open []net.Conn
	for refused := false; !refused; {
		if len(open) > total/(mb<<20) {
			t.Fatalf("%d answers that nobody reads", len(open))
		}
		conn := r.unread(greedy, path)
		head := make([]byte, 11)
		if _, err := io.ReadFull(conn, head); err != nil {
			t.Fatal(err)
		}
		switch status := "H" + string(head); {
		case strings.HasSuffix(status, " 200"):
			open = append(open, conn)
		case strings.HasSuffix(status, " 429"):
			refused = true
		default:
			t.Fatalf("the answer begins with %q", status)
		}
	}
	if len(open) < 3 {
		t.Errorf("a user can have only %d such answers", len(open))
	}
	if grown := r.heap() - before; grown > int64(mb<<20) {
		t.Errorf("%d answers of %d MB that nobody reads need %.1f MB of memory", len(open), mb, float64(grown)/(1<<20))
	}
	if a := other.get(path); a.code != 200 || !json.Valid(a.body) || len(a.body) < mb<<20/2 {
		t.Errorf("another user gets %d with %d bytes", a.code, len(a.body))
	}
	for _, conn := range open {
		_ = conn.Close()
	}
	eventually(t, func() bool { return r.api.router.Limits.Unread.Used() == 0 })
	if a := greedy.get(path); a.code != 200 {
		t.Errorf("after that: %d", a.code)
	}
	if a := greedy.do(http.MethodHead, path, ""); a.code != 200 || len(a.body) != 0 {
		t.Errorf("HEAD: %d with %d bytes", a.code, len(a.body))
	}
	eventually(t, func() bool { return r.api.router.Limits.Unread.Used() == 0 })
}

// A user whose answers take long leaves turns to others.
func TestTurnsOfAnswers(t *testing.T) {
	r := newRig(t)
	var held []*rest.Share
	for range rest.MaxReadingPerUser {
		turn, err := r.api.router.Limits.Answers.Take(t.Context(), "user determined", 1)
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, turn)
	}
	waits := make(chan int)
	who := r.user("determined")
	go func() { waits <- who.get("/api/v1/experiments").code }()
	r.user("admin").get("/api/v1/experiments").ok()
	select {
	case code := <-waits:
		t.Fatalf("an answer over the limit of its user: %d", code)
	case <-time.After(50 * time.Millisecond):
	}
	who.create(yaml()) // what changes something does not wait
	held[0].Release()
	if code := <-waits; code != 200 {
		t.Errorf("the answer after its turn: %d", code)
	}
}

// The master closes the connection of a client that stops reading an answer or a stream, and so gets the space back.
func TestAnswersEndWithoutReaders(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Receiving.Stall = 300 * time.Millisecond })
	who := r.user("determined")
	path := r.longList()
	r.unread(who, path)
	eventually(t, func() bool { return r.api.router.Limits.Unread.Used() == 0 })
	if a := who.get(path); a.code != 200 {
		t.Errorf("after that: %d", a.code)
	}

	trial, task := r.trial(who.create(yaml()), 0)
	r.history(trial, task)
	r.exec(`INSERT INTO metrics (trial_id, run_id, group_name, steps, position, avg, reported_at) SELECT $1, 1, 'training', n, n, jsonb_build_object('text', repeat('"', 250000)), now()
		FROM generate_series(1000, 1060) AS n`, trial)
	stream := fmt.Sprintf("/api/v1/trials/metrics/training_metrics?trialIds=%d", trial)
	for range maxStreamsPerUser {
		r.unread(who, stream)
	}
	if a := who.get(stream); a.code != 200 || len(a.body) < 30_000_000 {
		t.Errorf("the stream of a client that reads has %d bytes: %d", len(a.body), a.code)
	}
}

// Who waits for another limit keeps no turn, and what changes something needs none.
func TestTurnsAreShort(t *testing.T) {
	r := newRig(t)
	who, other := r.user("determined"), r.user("admin")
	id := who.create(yaml())
	var held []*rest.Share
	for i := range maxLists {
		turn, err := r.api.limits.lists.Take(t.Context(), fmt.Sprint(i), 1)
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, turn)
	}
	trees := make(chan int)
	for range rest.MaxReadingPerUser {
		go func() { trees <- who.get(fmt.Sprintf("/api/v1/experiments/%d/file_tree", id)).code }()
	}
	eventually(t, func() bool { return r.api.limits.lists.HeldBy("user determined") == rest.MaxReadingPerUser })
	who.get("/api/v1/experiments").ok()
	for _, turn := range held {
		turn.Release()
	}
	for range rest.MaxReadingPerUser {
		if code := <-trees; code != 200 {
			t.Errorf("a tree: %d", code)
		}
	}

	for range rest.MaxReadingPerUser {
		if _, err := r.api.router.Limits.Answers.Take(t.Context(), "user admin", 1); err != nil {
			t.Fatal(err)
		}
	}
	other.post("/api/v1/projects/1/experiments/kill", fmt.Sprintf(`{"projectId": 1, "experimentIds": [%d]}`, id)).ok()
}

// What the requests below search for.
const experimentsFound, runsFound = `"filters": {"projectId": 1, "name": "small"}`, `"filter": "{\"filterGroup\":{\"kind\":\"group\",\"conjunction\":\"and\",\"children\":[{\"kind\":\"field\",\"columnName\":\"experimentName\",\"operator\":\"contains\",\"value\":\"small\"}]}}"`

// searchingChanges are a request for each route that changes what a filter finds: method, path and body.
func searchingChanges(other string) []string {
	requests := []string{"POST /runs/move {\"sourceProjectId\": 1, \"destinationProjectId\": " + other + ", " + runsFound + "}",
		"POST /projects/1/experiments/move {\"projectId\": 1, \"destinationProjectId\": " + other + ", " + experimentsFound + "}",
		"PUT /projects/1/experiments/retain_logs {\"numDays\": 5, " + experimentsFound + "}", "POST /tensorboards {\"preview\": true, " + experimentsFound + "}"}
	for _, verb := range []string{"kill", "pause", "resume", "archive", "unarchive", "delete"} {
		requests = append(requests, "POST /runs/"+verb+" {"+runsFound+"}")
	}
	for _, verb := range []string{"activate", "pause", "cancel", "kill", "archive", "unarchive"} {
		requests = append(requests, "POST /projects/1/experiments/"+verb+" {\"projectId\": 1, "+experimentsFound+"}")
	}
	requests = append(requests, "DELETE /projects/1/experiments/delete {\"projectId\": 1, "+experimentsFound+"}")
	return requests
}

// A change of what a filter finds searches in a turn, as a list does, and ends the turn before it waits for what others change.
func TestSearchesOfChangesTakeTurns(t *testing.T) {
	r := newRig(t)
	who := r.user("determined")
	answers := r.api.router.Limits.Answers
	id := who.create(yaml())
	r.exec(`INSERT INTO projects (name, workspace_id, owner_id, key) SELECT 'other', 1, id, 'OTHER' FROM users WHERE username = 'determined'`)
	other := r.text(`SELECT max(id)::text FROM projects`)
	requests := searchingChanges(other)
	for _, request := range requests {
		var held []*rest.Share
		for range rest.MaxReadingPerUser {
			turn, err := answers.Take(t.Context(), "user determined", 1)
			if err != nil {
				t.Fatal(err)
			}
			held = append(held, turn)
		}
		method, words, _ := strings.Cut(request, " ")
		path, body, _ := strings.Cut(words, " ")
		done := make(chan answer)
		go func() { done <- who.do(method, "/api/v1"+path, body) }()
		eventually(t, func() bool {
			select {
			case a := <-done:
				t.Fatalf("%s searched without a turn: %d %s", request, a.code, a.body)
			default:
			}
			return answers.HeldBy("user determined") == rest.MaxReadingPerUser+1
		})
		for _, turn := range held {
			turn.Release()
		}
		if a := <-done; a.code != 200 && (path != "/tensorboards" || a.code >= 500) {
			t.Errorf("%s: %d %s", request, a.code, a.body)
		}
		empties(t, answers)
	}

	id = who.create(yaml())
	err := r.db.Tx(t.Context(), func(tx *database.DB) error {
		if err := tx.Exec(t.Context(), `SELECT FROM trials WHERE experiment_id = $1 FOR UPDATE`, id); err != nil {
			return err
		}
		done := make(chan answer, 1)
		go func() { done <- who.post("/api/v1/runs/kill", "{"+runsFound+"}") }()
		eventually(t, func() bool {
			return r.text(`SELECT count(*)::text FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE 'UPDATE trials SET kill_wanted%'`) == "1"
		})
		if n := answers.Held(); n != 0 {
			t.Errorf("a change that waits holds %d turns", n)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Four users who read as much as they can leave turns to others.
func TestAFewUsersLeaveTurns(t *testing.T) {
	r := newRig(t)
	stop, end := context.WithCancel(t.Context())
	for i := range 4 * rest.MaxReadingPerUser {
		go func() {
			if turn, err := r.api.router.Limits.Answers.Take(stop, fmt.Sprint("user ", i%4), 1); err == nil {
				<-stop.Done()
				turn.Release()
			}
		}()
	}
	eventually(t, func() bool { return r.api.router.Limits.Answers.Held() == 4*rest.MaxReadingPerUser })
	r.user("determined").get("/api/v1/experiments").ok()
	r.user("admin").get("/api/v1/experiments").ok()
	end()
	empties(t, r.api.router.Limits.Answers)
}

// An admin's lists take turns, too.
func TestListsOfAdminsTakeTurns(t *testing.T) {
	r := newRig(t)
	admin := r.user("admin")
	var held []*rest.Share
	for range rest.MaxReadingPerUser {
		turn, err := r.api.router.Limits.Answers.Take(t.Context(), "user admin", 1)
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, turn)
	}
	done := make(chan int)
	go func() { done <- admin.get("/api/v1/detent/audit").code }()
	eventually(t, func() bool { return r.api.router.Limits.Answers.HeldBy("user admin") == rest.MaxReadingPerUser+1 })
	for _, turn := range held {
		turn.Release()
	}
	if code := <-done; code != 200 {
		t.Errorf("the audit trail: %d", code)
	}
}

// An answer is limited by what its rows contain, and a list of trials shows small values only.
func TestAnswersOfLongValues(t *testing.T) {
	r := newRig(t)
	r.api.router.Limits.Rows = rest.MinRows
	who := r.user("determined")
	experiment := who.create(yaml())
	trial, task := r.trial(experiment, 0)
	r.history(trial, task)
	long := "jsonb_build_object('text', repeat('x', 6000000))"
	r.exec(`UPDATE metrics SET avg = avg || `+long+` WHERE trial_id = $1 AND group_name = 'validation'`, trial)
	r.exec(`UPDATE checkpoints SET metadata = `+long+` WHERE trial_id = $1`, trial)
	if a := who.get(fmt.Sprintf("/api/v1/trials/%d/workloads", trial)); a.code != 413 || !strings.Contains(string(a.body), "limit") {
		t.Errorf("workloads of 30 MB: %d %.200s", a.code, a.body)
	}
	if a := who.get(fmt.Sprintf("/api/v1/trials/%d/workloads?limit=1&filter=FILTER_OPTION_VALIDATION", trial)).ok(); len(a.body) < 6_000_000 {
		t.Errorf("one workload has %d bytes", len(a.body))
	}
	if one := who.get(fmt.Sprintf("/api/v1/trials/%d", trial)).ok(); len(one.body) > 1_000_000 || at(t, one.tree(), "trial.bestValidation.totalBatches") == 0.0 {
		t.Errorf("a trial has %d bytes: %.500s", len(one.body), one.body)
	}
	for range 3 {
		made := who.post("/api/v1/commands", `{"config": {"entrypoint": ["true"], "description": "long"}}`).ok()
		r.exec(`UPDATE tasks SET config = config || `+long+` WHERE id = $1`, at(t, made.tree(), "command.id"))
	}
	if a := who.get("/api/v1/commands").ok(); len(a.body) > 10_000 || len(a.tree()["commands"].([]any)) != 3 { // lists do not read configurations
		t.Errorf("the list of commands has %d bytes", len(a.body))
	}
	second := who.create(yaml())
	other, otherTask := r.trial(second, 0)
	r.history(other, otherTask)
	both := who.get(fmt.Sprintf("/api/v1/trials/time-series?trialIds=%d&trialIds=%d&metricNames=loss&metricIds=validation.loss", trial, other))
	if both.code != 200 || len(both.body) > 1_000_000 {
		t.Errorf("the curves of two trials: %d, %d bytes", both.code, len(both.body))
	}
}

// An object that changes while a body arrives is read after that.
func TestAnObjectIsReadAfterTheBody(t *testing.T) {
	r := newRig(t)
	who := r.user("determined")
	id := who.create(yaml())
	conn, err := net.Dial("tcp", strings.TrimPrefix(r.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	body := `{"name": "changed"` + strings.Repeat(" ", 40_000) + "}"
	if _, err := fmt.Fprintf(conn, "PATCH /api/v1/experiments/%d HTTP/1.1\r\nHost: 127.0.0.1\r\n%s: %s\r\nContent-Length: %d\r\n\r\n%s", id, who.header, who.token, len(body), body[:20_000]); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() bool {
		return r.text(`SELECT count(*)::text FROM audit WHERE method = 'PATCH' AND ended_at IS NULL`) == "1"
	})
	r.exec(`DELETE FROM experiments WHERE id = $1`, id)
	if _, err := conn.Write([]byte(body[20_000:])); err != nil {
		t.Fatal(err)
	}
	head := make([]byte, 12)
	if _, err := io.ReadFull(conn, head); err != nil || string(head) != "HTTP/1.1 404" {
		t.Errorf("%q %v", head, err)
	}
}
