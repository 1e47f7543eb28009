package api

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/control/rows"
	"github.com/detent-ml/detent/master/task"
	"github.com/detent-ml/detent/master/tasks"
)

// attempt is a running attempt of a trial, with its members' clients.
type attempt struct {
	r       *rig
	exp     int
	trial   int
	task    string
	id      string
	ranks   []as
	claimed []map[string]any // what the gate answered each member
}

// place makes an attempt ready to be claimed: a new one of a new trial.
func (r *rig) place(config string, members int) *attempt {
	r.t.Helper()
	a := &attempt{r: r, exp: r.user("determined").create(config, `"activate":true`, `"modelDefinition":[`+modelFile("train.py", "print(1)\n")+`]`)}
	a.trial, a.task = r.trial(a.exp, 0)
	a.id = a.task + ".1"
	a.put(members)
	r.runOf(a, 1)
	return a
}

// put places the attempt on nodes.
func (a *attempt) put(members int) {
	p := rows.Placement{AllocationID: a.id}
	for rank := range members {
		p.Members = append(p.Members, rows.PlacedMember{Rank: rank, NodeID: fmt.Sprint("n", rank), NodeName: fmt.Sprint("node-", rank), SlotIDs: []int{rank}})
	}
	a.r.apply(rows.Changes{Placements: []rows.Placement{p}})
}

// runOf makes a run the trial's newest, as the loop does when it queues one.
func (r *rig) runOf(a *attempt, run int) {
	r.apply(rows.Changes{Trials: []rows.TrialChange{{ID: a.trial, Saw: "ACTIVE", State: "ACTIVE", RunID: run}}})
}

// next ends the attempt and starts the trial's next one.
func (a *attempt) next(run, members int) *attempt {
	a.r.t.Helper()
	a.r.apply(rows.Changes{Allocations: []rows.AllocationChange{{ID: a.id, Saw: "ASSIGNED", State: "TERMINATED", Ended: true, Outcome: "lost"}}})
	b := &attempt{r: a.r, exp: a.exp, trial: a.trial, task: a.task, id: fmt.Sprintf("%s.%d", a.task, run)}
	a.r.apply(rows.Changes{NewAllocations: []tasks.NewAttempt{{ID: b.id, TaskID: a.task, RunID: run, Pool: "default", Slots: members, Priority: 42}}})
	b.put(members)
	a.r.runOf(b, run)
	return b.claimAll(members)
}

// identify makes an identity for a member.
func (a *attempt) identify(rank int, change ...func(*task.Workload)) string {
	w := task.Workload{Namespace: "default", JobID: "det-" + strings.ReplaceAll(a.id, ".", "-"), Group: fmt.Sprint("rank-", rank),
		NomadAllocID: fmt.Sprintf("nomad-%s-%d", a.id, rank), FirstOfGroup: true, NodeID: fmt.Sprint("n", rank)}
	for _, c := range change {
		c(&w)
	}
	jwt := fmt.Sprintf("jwt-%d", len(a.r.identity.known))
	a.r.identity.known[jwt] = w
	return jwt
}

func (a *attempt) claim(rank int, jwt, nonce string) answer {
	if nonce != "" {
		nonce += " of a process that keeps it"
	}
	a.r.t.Helper()
	return a.r.anyone().post("/api/v1/detent/allocations/"+a.id+"/claim", fmt.Sprintf(
		`{"rank":%d,"identity":%q,"nonce":%q,"address":"10.0.0.%d","ports":{"c10d":%d}}`, rank, jwt, nonce, rank+1, 29400+rank))
}

func (a *attempt) claimAll(members int) *attempt {
	a.r.t.Helper()
	for rank := range members {
		got := a.claim(rank, a.identify(rank), "n").ok().tree()
		a.claimed = append(a.claimed, got)
		a.ranks = append(a.ranks, a.r.task(got["token"].(string)))
	}
	return a
}

// running is an attempt whose members have passed the gate.
func (r *rig) running(config string, members int) *attempt {
	r.t.Helper()
	return r.place(config, members).claimAll(members)
}

func (a *attempt) path(rest string) string   { return "/api/v1/allocations/" + a.id + rest }
func (a *attempt) trialPath(s string) string { return fmt.Sprintf("/api/v1/trials/%d%s", a.trial, s) }

// sharedStorage is a configuration whose checkpoints are in a folder.
func sharedStorage(dir string) string {
	return yaml("checkpoint_storage: {type: shared_fs, host_path: "+dir+", storage_path: ckpt}",
		"environment: {environment_variables: [FOO=bar, DET_USER=mallory]}", "bind_mounts: [{host_path: /data, container_path: data, read_only: true}]")
}

// stream is an answer that is read while it is written.
type stream struct {
	t    testing.TB
	body io.ReadCloser
	in   *bufio.Reader
	stop context.CancelFunc
}

func (c as) open(path string, header http.Header) *stream {
	c.r.t.Helper()
	ctx, stop := context.WithTimeout(context.Background(), 30*time.Second)
	req, err := http.NewRequestWithContext(ctx, "GET", c.r.url+path, nil)
	if err != nil {
		c.r.t.Fatal(err)
	}
	for k, v := range header {
		req.Header[k] = v
	}
	req.Header.Set(c.header, c.token)
	resp, err := c.r.client.Do(req)
	if err != nil {
		c.r.t.Fatal(err)
	}
	if resp.StatusCode != 200 {
		b, _ := io.ReadAll(resp.Body)
		c.r.t.Fatalf("%s: %d %s", path, resp.StatusCode, b)
	}
	s := &stream{c.r.t, resp.Body, bufio.NewReader(resp.Body), stop}
	c.r.t.Cleanup(s.close)
	return s
}

func (s *stream) close() { s.stop(); s.body.Close() }

func (s *stream) line() (string, error) {
	line, err := s.in.ReadString('\n')
	return strings.TrimSuffix(line, "\n"), err
}

type event struct{ name, id, data string }

func (s *stream) event() event {
	s.t.Helper()
	var e event
	for {
		line, err := s.line()
		if err != nil {
			s.t.Fatalf("the stream ended: %v", err)
		}
		k, v, _ := strings.Cut(line, ": ")
		switch {
		case line == "" && (e != event{}):
			return e
		case k == "event":
			e.name = v
		case k == "id":
			e.id = v
		case k == "data":
			e.data = v
		}
	}
}

// waitFor polls until something is so.
func waitFor(t testing.TB, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
		if is() {
			return
		}
		<-time.After(5 * time.Millisecond)
	}
	t.Fatal("the condition was not true within a minute")
}

// reports stores a report of an attempt's trial; without steps, at a time.
func (a *attempt) reports(group string, steps any, metrics string) {
	a.r.t.Helper()
	where := fmt.Sprintf(`"stepsCompleted":%v`, steps)
	if at, ok := steps.(string); ok {
		where = fmt.Sprintf(`"reportTime":%q`, at)
	}
	a.ranks[0].post(a.trialPath("/metrics"), fmt.Sprintf(`{"group":%q,"metrics":{"trialId":%d,"trialRunId":1,%s,"metrics":{"avgMetrics":%s}}}`, group, a.trial, where, metrics)).ok()
}

// over ends an experiment with all its trials.
func (r *rig) over(experiment int) {
	r.t.Helper()
	r.exec(`UPDATE trials SET state = 'COMPLETED', ended_at = now() WHERE experiment_id = $1`, experiment)
	r.exec(`UPDATE experiments SET state = 'COMPLETED', ended_at = now() WHERE id = $1`, experiment)
}

// streamed are the records of a stream that ends.
func (c as) streamed(path string) (records []any) {
	c.r.t.Helper()
	for line := range strings.Lines(string(c.get(path).ok().body)) {
		records = append(records, at(c.r.t, parsedJSON(c.r, line), "result"))
	}
	return records
}

func parsedJSON(r *rig, line string) (v any) {
	r.t.Helper()
	if err := json.Unmarshal([]byte(line), &v); err != nil {
		r.t.Fatalf("%q: %v", line, err)
	}
	return v
}
