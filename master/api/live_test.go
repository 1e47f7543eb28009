package api

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/auth"
)

// until reads events until one matches, and returns it with the names of all events before.
func (s *stream) until(what string, fits func(event) bool) event {
	s.t.Helper()
	const most = 200 // events
	for range most {
		if e := s.event(); fits(e) {
			return e
		}
	}
	s.t.Fatalf("%s did not come within %d events", what, most)
	return event{}
}

func named(name string, words ...string) func(event) bool {
	return func(e event) bool {
		return e.name == name && !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(e.data, w) })
	}
}

func TestLiveTellsWhatMoves(t *testing.T) {
	r := newRig(t)
	me := r.user("determined")
	s := me.open("/api/v1/detent/live", nil)
	defer s.close()
	s.until("the beginning", named("position"))

	id := me.create(yaml(), `"activate":true`)
	s.until("the new experiment", named("experiment", fmt.Sprintf(`"id":%d,`, id), `"state":"STATE_QUEUED"`, `"name":"small"`))
	_, task := r.trial(id, 0)
	s.until("its trial", named("experiment", fmt.Sprintf(`"id":%d,`, id), `"numTrials":1`))
	s.until("the queue", named("look", `"queue"`))
	r.node("n1", "node-1", 2)
	s.until("the node", named("look", `"nodes"`))
	me.post("/api/v1/commands", `{"config":{"entrypoint":["true"]}}`).ok()
	s.until("the command", named("look", `"tasks"`))
	me.post(fmt.Sprintf("/api/v1/experiments/%d/pause", id), "").ok()
	s.until("the pause", named("experiment", `"state":"STATE_PAUSED"`))
	r.runs(task+".1", "PENDING", "TERMINATED")
	r.moves(id, "PAUSED", "CANCELED")
	s.until("the end", named("experiment", `"state":"STATE_CANCELED"`, `"endTime":"`))
}

// TestLiveKeepsToWorkspaces: a user who may view one workspace receives events of its experiments only,
// not of other workspaces. An experiment that moves to another workspace disappears.
func TestLiveKeepsToWorkspaces(t *testing.T) {
	r := newRoleRig(t)
	me, admin := r.user("determined"), r.user("admin")
	theirs := int(at(t, admin.post("/api/v1/workspaces", `{"name":"theirs"}`).ok().tree(), "workspace.id").(float64))
	project := int(at(t, admin.post(fmt.Sprintf("/api/v1/workspaces/%d/projects", theirs), `{"name":"p"}`).ok().tree(), "project.id").(float64))
	r.give(auth.WorkspaceAdmin, "determined", 1)
	s := me.open("/api/v1/detent/live", nil)
	defer s.close()
	s.until("the beginning", named("position"))

	secret := admin.create(strings.Replace(yaml(), "name: small", "name: secret", 1), fmt.Sprintf(`"activate":false,"projectId":%d`, project))
	ours := admin.create(yaml(), `"activate":false,"projectId":1`)
	seen := func(e event) {
		if strings.Contains(e.data, "secret") || strings.Contains(e.data, fmt.Sprintf(`"id":%d,`, secret)) || strings.Contains(e.data, fmt.Sprintf("[%d]", secret)) {
			t.Errorf("an event is about another workspace: %s %s", e.name, e.data)
		}
	}
	fits := func(name string, words ...string) func(event) bool {
		return func(e event) bool { seen(e); return named(name, words...)(e) }
	}
	s.until("our own", fits("experiment", fmt.Sprintf(`"id":%d,`, ours)))
	admin.post(fmt.Sprintf("/api/v1/experiments/%d/kill", secret), "").ok()
	r.moves(secret, "PAUSED", "CANCELED")
	admin.post(fmt.Sprintf("/api/v1/experiments/%d/move", ours), fmt.Sprintf(`{"experimentId":%d,"destinationProjectId":%d}`, ours, project)).ok()
	s.until("the one that went away", fits("look", fmt.Sprintf(`"gone":[%d]`, ours)))
}

// TestLiveComesBack: a client that connects again first receives the missed events, reports and moves,
// in their order. If the server no longer has the position, the client must reload everything.
func TestLiveComesBack(t *testing.T) {
	r := newRig(t)
	a := r.running(yaml(), 1)
	other := r.running(yaml(), 1)
	report := func(x *attempt, step int) {
		t.Helper()
		x.ranks[0].post(x.trialPath("/metrics"), fmt.Sprintf(`{"group":"training","metrics":{"trialRunId":1,"stepsCompleted":%d,"metrics":{"avgMetrics":{"loss":1}}}}`, step)).ok()
	}
	me := r.user("determined")
	path := fmt.Sprintf("/api/v1/detent/live?trials=%d&trials=%d", a.trial, other.trial)
	still := me.open("/api/v1/detent/live", nil) // the feed needs one open connection
	defer still.close()
	still.until("the beginning", named("position"))
	s := me.open(path, nil)
	s.until("the beginning", named("position"))
	report(a, 1)
	report(other, 1)
	seen := []string{}
	last := s.until("both reports", func(e event) bool {
		if e.name == "metrics" {
			seen = append(seen, e.data)
		}
		return len(seen) == 2
	}).id
	s.close()

	report(a, 2)
	report(other, 2)
	id := me.create(yaml("description: missed"), `"activate":true`)
	still.until("the move", named("experiment", fmt.Sprintf(`"id":%d,`, id)))
	s = me.open(path, http.Header{"Last-Event-ID": {last}})
	// A report that is younger than another open transaction is sent as new once that transaction has
	// ended.
	var reports, moves int
	var there bool
	s.until("all that was missed", func(e event) bool {
		switch {
		case e.name == "metrics" && strings.Contains(e.data, `"totalBatches":2,`):
			reports++
		case e.name == "metrics":
			t.Errorf("a report was sent twice: %s", e.data)
		case named("experiment", fmt.Sprintf(`"id":%d,`, id))(e):
			moves++
		case named("look", "experiments")(e):
			t.Errorf("the feed asks the page to load everything again: %s", e.data)
		}
		there = there || e.name == "position"
		return there && reports == 2 && moves > 0
	})
	s.close()

	metrics, _, _ := strings.Cut(last, "/")
	s = me.open(path, http.Header{"Last-Event-ID": {metrics + "/before-7"}})
	s.until("the order to look", named("look", "experiments", "tasks", "queue", "nodes"))
	s.close()
}

func TestLiveRefuses(t *testing.T) {
	r := newRig(t)
	me := r.user("determined")
	r.anyone().get("/api/v1/detent/live").says(401, "sign in")
	me.get("/api/v1/detent/live?after=nonsense").says(400, "event id")
	me.get("/api/v1/detent/live?after=1-2/x").says(400, "event id")
	me.get("/api/v1/detent/live?trials=99").says(404, "trial 99")
	many := strings.Repeat("trials=1&", 101)
	me.get("/api/v1/detent/live?"+many).says(400, "are allowed")
	a := r.running(yaml(), 1)
	a.ranks[0].get("/api/v1/detent/live").says(403, "sign in as a user")
}
