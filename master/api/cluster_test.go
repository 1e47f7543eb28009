package api

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/control/rows"
	"github.com/detent-ml/detent/master/logs/masterlog"
	"github.com/detent-ml/detent/master/names"
	"github.com/detent-ml/detent/master/pool"
)

func TestCommands(t *testing.T) {
	r := newRig(t)
	me, admin := r.user("determined"), r.user("admin")
	r.node("n1", "node-1", 1)
	got := me.post("/api/v1/commands", `{"config":{"entrypoint":["echo","hi"],"resources":{"slots":0}},"template_name":"","files":[`+modelFile("a", "b")+`],"data":"e30="}`).ok().tree()
	id := at(t, got, "command.id").(string)
	if at(t, got, "command.state") != "STATE_QUEUED" || at(t, got, "config.entrypoint.1") != "hi" || at(t, got, "command.username") != "determined" {
		t.Fatalf("%v", got)
	}
	path := "/api/v1/commands/" + id
	if at(t, me.get(path).ok().tree(), "config.resources.slots") != 0.0 {
		t.Error("config")
	}
	me.post("/api/v1/commands", `{"config":{"entrypoint":["sleep","1"],"description":"another","resources":{"slots":1}}}`).ok()
	preview := me.post("/api/v1/commands", `{"preview":true,"config":{"entrypoint":["x"]}}`).ok().tree()
	if at(t, preview, "command.id") != "" {
		t.Error("a preview has an id")
	}
	if n := at(t, me.get("/api/v1/commands?users=determined").ok().tree(), "pagination.total"); n != 2.0 {
		t.Errorf("%v commands", n)
	}
	if d := at(t, me.get("/api/v1/commands?sortBy=SORT_BY_DESCRIPTION&limit=1&orderBy=ORDER_BY_DESC").ok().tree(), "commands.0.description"); d != "another" {
		t.Errorf("sorted: %v", d)
	}
	if n := at(t, me.get("/api/v1/tasks/count").ok().tree(), "commands"); n != 2.0 {
		t.Errorf("%v commands are counted", n)
	}
	task := me.get("/api/v1/tasks/" + id).ok().tree()
	if at(t, task, "task.taskType") != "TASK_TYPE_COMMAND" || at(t, task, "task.allocations.0.allocationId") != id+".1" {
		t.Errorf("task: %v", task)
	}
	if p := at(t, me.post(path+"/set_priority", `{"priority":7}`).ok().tree(), "command.id"); p != id {
		t.Error("set_priority")
	}
	me.post(path+"/set_priority", `{"priority":0}`).says(400, "priority")
	for body, words := range map[string]string{
		`{"config":{"entrypoint":["x"],"resources":{"slotz":1}}}`:                  "slotz",
		`{"config":{"entrypoint":["x"]},"files":[` + modelFile("../a", "b") + `]}`: "..",
		`{"config":{"entrypoint":["x"]},"workspaceId":99}`:                         "99",
	} {
		if got := me.post("/api/v1/commands", body); got.code != 400 && got.code != 404 || !bytes.Contains(got.body, []byte(words)) {
			t.Errorf("%s: %d %s", body, got.code, got.body)
		}
	}
	other := admin.post("/api/v1/commands", `{"config":{"entrypoint":["x"]}}`).ok().tree()
	me.post("/api/v1/commands/"+at(t, other, "command.id").(string)+"/kill", "").says(403, "may not")
	if s := at(t, me.post(path+"/kill", "").ok().tree(), "command.state"); s != "STATE_TERMINATING" {
		t.Errorf("killed: %v", s)
	}
	me.get("/api/v1/commands/nonesuch").says(404, "nonesuch")
}

// TestQueueTimes: each pool has the mean time that requests waited, for each day of a month on which some left the queue, and for today.
func TestQueueTimes(t *testing.T) {
	r := newRig(t)
	me := r.user("determined")
	now := time.Now().UTC() // of the master and of the database
	day := func(ago int) string { return now.AddDate(0, 0, -ago).Format(time.DateOnly) }
	stats := func() string {
		t.Helper()
		return fmt.Sprint(at(t, me.get("/api/v1/job-queues/stats").ok().tree(), "results.0.aggregates"))
	}
	if got, want := stats(), fmt.Sprintf("[map[periodStart:%s seconds:0]]", day(0)); got != want && time.Now().UTC().Day() == now.Day() {
		t.Errorf("before anything was queued: %s, want %s", got, want)
	}
	for i, waited := range []int{10, 20, 40, 80} {
		_, task := r.trial(me.create(yaml()), 0)
		r.exec(`UPDATE allocations SET queued_at = d - make_interval(secs => $3), assigned_at = d FROM (SELECT now() - make_interval(days => $2) AS d) x WHERE task_id = $1`,
			task, []int{2, 2, 1, 40}[i], waited)
	}
	me.r = r.another() // which has read no times yet
	if got, want := stats(), fmt.Sprintf("[map[periodStart:%s seconds:15] map[periodStart:%s seconds:40] map[periodStart:%s seconds:0]]", day(2), day(1), day(0)); got != want && time.Now().UTC().Day() == now.Day() {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestAgentsPoolsAndJobs(t *testing.T) {
	r := newRig(t)
	me, admin := r.user("determined"), r.user("admin")
	r.node("aaaaaaaa-1", "twin", 2)
	r.node("bbbbbbbb-2", "twin", 2)
	r.node("cccccccc-3", "single", 4)
	a, b := me.create(yaml(), `"activate":true`), me.create(yaml("resources: {priority: 5}"), `"activate":true`)
	_, running := r.trial(a, 0)
	_, waiting := r.trial(b, 0)
	r.apply(rows.Changes{Placements: []rows.Placement{{AllocationID: running + ".1",
		Members: []rows.PlacedMember{{NodeID: "cccccccc-3", NodeName: "single", SlotIDs: []int{1}}}}}})
	r.runs(running+".1", "ASSIGNED", "RUNNING")
	reason := "needs 1 slot"
	r.apply(rows.Changes{Allocations: []rows.AllocationChange{{ID: waiting + ".1", Saw: "PENDING", State: "PENDING", Waiting: &reason}}})

	agents := me.get("/api/v1/agents").ok().tree()
	if at(t, agents, "agents.0.id") != "single" || at(t, agents, "agents.1.id") != "twin-aaaaaaaa" {
		t.Fatalf("agents: %v", agents)
	}
	container := at(t, agents, "agents.0.slots.1.container.id").(string)
	tasks := me.get("/api/v1/tasks").ok().tree()["allocationIdToSummary"].(map[string]any)
	if at(t, tasks[running+".1"], "resources.0.containerId") != container || at(t, tasks[running+".1"], "resources.0.agentDevices.single.devices.0.id") != 1.0 {
		t.Errorf("the slot's container %s is not in %v", container, tasks)
	}
	if at(t, agents, "agents.0.slotStats.typeStats.TYPE_CPU.total") != 4.0 || at(t, agents, "agents.0.slotStats.typeStats.TYPE_CPU.states.STATE_RUNNING") != 1.0 {
		t.Errorf("stats: %v", at(t, agents, "agents.0.slotStats"))
	}
	if slots := at(t, me.get("/api/v1/agents?excludeSlots=true&excludeContainers=true").ok().tree(), "agents.0.slots").(map[string]any); len(slots) != 0 {
		t.Errorf("excluded slots: %v", slots)
	}
	pools := me.get("/api/v1/resource-pools").ok().tree()
	for k, want := range map[string]any{"slotsAvailable": 8.0, "slotsUsed": 1.0, "numAgents": 3.0, "defaultComputePool": true, "schedulerType": "SCHEDULER_TYPE_PRIORITY",
		"stats.queuedCount": 1.0, "stats.scheduledCount": 1.0, "details.priorityScheduler.defaultPriority": 42.0} {
		if got := at(t, pools, "resourcePools.0."+k); got != want {
			t.Errorf("pool: %s = %v, want %v", k, got, want)
		}
	}
	jobs := me.get("/api/v1/job-queues-v2?limit=100&offset=0&orderBy=ORDER_BY_ASC").ok().tree()
	for k, want := range map[string]any{"0.full.entityId": fmt.Sprint(a), "0.full.summary.state": "STATE_SCHEDULED", "0.full.allocatedSlots": 1.0,
		"1.full.entityId": fmt.Sprint(b), "1.full.summary.state": "STATE_QUEUED", "1.full.allocatedSlots": 0.0, "1.full.type": "TYPE_EXPERIMENT", "1.full.summary.jobsAhead": 0.0} {
		if got := at(t, jobs, "jobs."+k); got != want {
			t.Errorf("jobs: %s = %v, want %v", k, got, want)
		}
	}
	if at(t, me.get(fmt.Sprintf("/api/v1/experiments/%d", b)).ok().tree(), "jobSummary.state") != "STATE_QUEUED" {
		t.Error("jobSummary")
	}
	if got := at(t, me.get("/api/v1/allocations/"+waiting+".1").ok().tree(), "allocation.waitingReason"); got != reason {
		t.Errorf("the waiting reason is %v", got)
	}
	// A request that waits for Nomad also has a reason.
	if err := r.db.Exec(t.Context(), `UPDATE allocations SET state = 'ASSIGNED', submitted_at = NULL, submit_error = 'no node has room'
		WHERE id = (SELECT a.id FROM allocations a JOIN tasks k ON k.id = a.task_id WHERE k.experiment_id = $1)`, a); err != nil {
		t.Fatal(err)
	}
	if got := at(t, me.get(fmt.Sprintf("/api/v1/experiments/%d/trials", a)).ok().tree(), "trials.0.waitingReason"); got != "Nomad has not accepted the job yet: no node has room" {
		t.Errorf("the trial whose job Nomad does not take waits because %v", got)
	}
	job := at(t, jobs, "jobs.1.full.jobId").(string)
	me.post("/api/v1/job-queues", fmt.Sprintf(`{"updates":[{"jobId":%q,"priority":50,"resourcePool":null,"weight":null}]}`, job)).ok()
	if p := at(t, me.get("/api/v1/job-queues-v2?states=STATE_QUEUED").ok().tree(), "jobs.0.full.priority"); p != 50.0 {
		t.Errorf("priority: %v", p)
	}
	me.post("/api/v1/job-queues", fmt.Sprintf(`{"updates":[{"jobId":%q,"resourcePool":"x"}]}`, job)).says(404, "pool")
	me.post("/api/v1/job-queues", `{"updates":[{"jobId":"nonesuch","priority":1}]}`).says(404, "nonesuch")

	me.post("/api/v1/agents/single/disable", `{"drain":true}`).says(403, "admin")
	got := admin.post("/api/v1/agents/single/disable", `{"drain":true}`).ok().tree()
	if at(t, got, "agent.enabled") != false || at(t, got, "agent.draining") != true {
		t.Errorf("disabled: %v", got)
	}
	got = admin.post("/api/v1/agents/cccccccc-3/enable", "").ok().tree()
	if at(t, got, "agent.enabled") != true || at(t, got, "agent.draining") != false {
		t.Errorf("enabled: %v", got)
	}
	me.get("/api/v1/agents/nonesuch").says(404, "nonesuch")
}

func TestWorkspacesAndProjects(t *testing.T) {
	r := newRig(t)
	me, admin := r.user("determined"), r.user("admin")
	w := me.post("/api/v1/workspaces", `{"name":"Team","defaultComputePool":"default","checkpointStorageConfig":{"type":"shared_fs","host_path":"/data"}}`).ok().tree()
	id := at(t, w, "workspace.id")
	path := fmt.Sprintf("/api/v1/workspaces/%v", id)
	me.post("/api/v1/workspaces", `{"name":"Team"}`).says(409, "Team")
	me.post("/api/v1/workspaces", `{"name":""}`).says(400, "name")
	me.post("/api/v1/workspaces", `{"name":"`+strings.Repeat("n", 10_000)+`"}`).says(400, "10000 bytes")
	me.post("/api/v1/workspaces", `{"name":"x","defaultComputePool":"nowhere"}`).says(404, "nowhere")
	me.post("/api/v1/workspaces", `{"name":"x","checkpointStorageConfig":{"type":"tape"}}`).says(400, "checkpointStorageConfig")
	for query, want := range map[string]float64{"nameCaseSensitive=Team": 1, "nameCaseSensitive=team": 0, "name=tEAM": 1, "name=tea": 0, "": 2, "archived=true": 0, "users=admin": 1, "pinned=true": 1} {
		if n := at(t, me.get("/api/v1/workspaces?"+query).ok().tree(), "pagination.total"); n != want {
			t.Errorf("%s: %v workspaces, want %v", query, n, want)
		}
	}
	p := me.post(path+"/projects", fmt.Sprintf(`{"name":"Alpha one","workspaceId":%v,"description":"d"}`, id)).ok().tree()
	if at(t, p, "project.key") != "ALP" || at(t, p, "project.workspaceName") != "Team" {
		t.Errorf("project: %v", p)
	}
	second := me.post(path+"/projects", fmt.Sprintf(`{"name":"Alpha two","workspaceId":%v}`, id)).ok().tree()
	if k := at(t, second, "project.key").(string); !strings.HasPrefix(k, "ALP") || len(k) != 5 {
		t.Errorf("a second key: %s", k)
	}
	me.post(path+"/projects", `{"name":"Alpha one"}`).says(409, "Alpha one")
	me.post(path+"/projects", `{"name":"z","key":"ALP"}`).says(409, "key ALP")
	me.post(path+"/projects", `{"name":"z","key":"too long"}`).says(400, "key")
	project := fmt.Sprintf("/api/v1/projects/%v", at(t, p, "project.id"))
	exp := me.create(yaml("workspace: Team", "project: Alpha one"))
	e := me.get(fmt.Sprintf("/api/v1/experiments/%d", exp)).ok().tree()
	if at(t, e, "config.checkpoint_storage.host_path") != "/data" || at(t, e, "experiment.projectName") != "Alpha one" {
		t.Errorf("the workspace's storage is not under the experiment: %v", at(t, e, "config"))
	}
	got := me.get(project).ok().tree()
	if at(t, got, "project.numExperiments") != 1.0 || at(t, got, "project.numActiveExperiments") != 1.0 {
		t.Errorf("counts: %v", got)
	}
	if at(t, me.patch(project, `{"name":"Beta","description":null,"key":"bet"}`).ok().tree(), "project.description") != "d" {
		t.Error("null is not \"leave as it is\"")
	}
	me.put(project+"/notes", `{"notes":[{"name":"n","contents":"c"}],"projectId":1}`).ok()
	if at(t, me.get("/api/v1/projects/key/bet").ok().tree(), "project.notes.0.contents") != "c" {
		t.Error("notes")
	}
	if got := me.post(project+"/notes", `{"name":"second","contents":"more"}`).ok().tree(); at(t, got, "notes.0.name") != "n" || at(t, got, "notes.1.contents") != "more" {
		t.Errorf("a note more: %v", got)
	}
	me.post(project+"/notes", `{"name":"large","contents":"`+strings.Repeat("x", names.MaxText)+`"}`).says(413, "notes")
	if got := me.post("/api/v1/projects/-1/experiments/pause", fmt.Sprintf(`{"projectId":-1,"experimentIds":[%d]}`, exp)).ok().tree(); at(t, got, "results.0.error") != "" {
		t.Errorf("by all projects: %v", got)
	}
	if at(t, me.get(path+"/projects?name=Beta").ok().tree(), "projects.0.name") != "Beta" {
		t.Error("list of projects")
	}
	me.del(fmt.Sprintf("/api/v1/projects/%v", at(t, second, "project.id"))).ok()
	if at(t, me.patch(path, `{"name":"Crew"}`).ok().tree(), "workspace.defaultComputePool") != "default" {
		t.Error("a renamed workspace lost its pool")
	}
	me.post(path+"/archive", "").ok()
	me.post(path+"/projects", `{"name":"late"}`).says(409, "archived")
	me.patch(path, `{"name":"late"}`).says(409, "archived")
	me.patch(project, `{"name":"late"}`).says(409, "archived")
	me.post(project+"/archive", "").says(409, "archived")
	me.post("/api/v1/commands", fmt.Sprintf(`{"workspaceId":%v,"config":{"entrypoint":["true"]}}`, id)).says(404, "not found")
	if at(t, me.get(project).ok().tree(), "project.archived") != true {
		t.Error("a project of an archived workspace is not shown as archived")
	}
	for query, want := range map[string]float64{"archived=false": 0, "": 1, "archived=false&projectId=" + fmt.Sprint(at(t, p, "project.id")): 1} {
		if n := at(t, me.get("/api/v1/experiments?"+query).ok().tree(), "pagination.total"); n != want {
			t.Errorf("experiments with %q: %v, want %v", query, n, want)
		}
	}
	me.post("/api/v1/experiments", createBody(yaml("workspace: Crew", "project: Beta"))).says(409, "archived")
	me.post(path+"/unarchive", "").ok()
	// The status is not 403, which Determined's client raises as ForbiddenException: what is built in cannot change, whoever asks.
	me.patch("/api/v1/workspaces/1", `{"name":"mine"}`).says(409, "workspace (1) is immutable and cannot have attributes updated")
	me.patch("/api/v1/projects/1", `{"name":"mine"}`).says(409, "project (1) is immutable and cannot have attributes updated")
	me.post("/api/v1/workspaces/1/projects", `{"name":"mine"}`).says(409, "workspace (1) is immutable and cannot add new projects")
	r.newUser("stranger").patch(path, `{"name":"mine"}`).says(403)
	admin.patch("/api/v1/workspaces/1", `{"name":"mine"}`).says(409, "built in")
	admin.del("/api/v1/projects/1").says(409, "built in")
	admin.del("/api/v1/workspaces/1").says(409)
	me.get("/api/v1/workspaces/99").says(404, "99")
}

func TestMasterAndInfo(t *testing.T) {
	r := newRig(t)
	me, admin := r.user("determined"), r.user("admin")
	info := r.anyone().get("/info").ok().tree()
	requireKeys(t, "info", info, "version", "cluster_id", "master_id", "cluster_name", "sso_providers")
	if info["version"] != "0.38.1" {
		t.Errorf("version %v", info["version"])
	}
	r.anyone().get("/api/v1/master").ok()
	if h := r.anyone().get("/health").ok().tree(); h["status"] != "up" {
		t.Errorf("health: %v", h)
	}
	me.get("/api/v1/master/config").says(403, "admin")
	if at(t, admin.get("/api/v1/master/config").ok().tree(), "config.database") != "…" {
		t.Error("config")
	}
	r.exec(`INSERT INTO log_sinks (name, masters, sent, lost, rejected, waiting, failing_since) VALUES ('otel', 0, 7, 3, 1, 12, now() - interval '1 hour')`)
	text := string(r.anyone().get("/metrics").ok().body)
	for _, line := range []string{`det_log_sink_lines_sent_total{log_sink="otel"} 7`, `det_log_sink_lines_lost_total{log_sink="otel"} 3`, `det_log_sink_lines_rejected_total{log_sink="otel"} 1`,
		`det_log_sink_lines_waiting{log_sink="otel"} 12`, `det_log_sink_failing_seconds{log_sink="otel"} 36`,
		`det_api_requests_total{method="GET",route="/api/v1/master/config",code="403"} 1`, "det_database_up 1",
		`det_api_request_seconds_bucket{route="/info",le="+Inf"} 1`, "det_database_connections_allowed 8"} {
		if !strings.Contains(text, line) {
			t.Errorf("/metrics lacks %s:\n%s", line, text)
		}
	}
	r.anyone().with("GET", "/metrics", nil, http.Header{"X-Forwarded-For": {"10.0.0.1"}}).says(401)
	me.with("GET", "/metrics", nil, http.Header{"X-Forwarded-For": {"10.0.0.1"}}).ok()
	doc := r.anyone().get("/api/v1/openapi.json").ok().tree()
	if doc["openapi"] != "3.1.0" || at(t, doc, "paths./api/v1/experiments/{id}.get.summary") == "" {
		t.Errorf("openapi: %v", doc["openapi"])
	}
	params := map[string]bool{}
	for _, p := range at(t, doc, "paths./api/v1/experiments.get.parameters").([]any) {
		params[at(t, p, "name").(string)] = true
	}
	if !params["sortBy"] || !params["states"] {
		t.Errorf("parameters: %v", params)
	}
	refs := 0
	walk(doc, func(k string, v any) {
		if k == "$ref" {
			refs++
			name := strings.TrimPrefix(v.(string), "#/components/schemas/")
			if m := at(t, doc, "components.schemas."+name).(map[string]any); m["type"] != "object" {
				t.Errorf("%s is not described", name)
			}
		}
	})
	if refs < 100 {
		t.Errorf("only %d references", refs)
	}
	r.anyone().get("/api/v1/api.swagger.json").ok()
	page := r.anyone().get("/docs/rest-api").ok()
	if !bytes.Contains(page.body, []byte("/api/v1/experiments/{id}/labels/{label}")) || bytes.Contains(page.body, []byte("https://")) {
		t.Error("the page lacks a route, or needs something from elsewhere")
	}
	page = r.anyone().get("/docs/python").ok() // after ./justw made
	if !bytes.Contains(page.body, []byte(`<a href="/docs/python/determined.core">`)) || bytes.Contains(page.body, []byte("https://")) {
		t.Error("the list of modules lacks one, or needs something from elsewhere")
	}
	page = r.anyone().get("/docs/python/determined.core").ok()
	if !bytes.Contains(page.body, []byte(`<h2 id="class-traincontext">`)) {
		t.Error("the page of determined.core lacks a class")
	}
	r.anyone().get("/docs/python/determined.gone").says(404, "no public module determined.gone")
	pretty := me.get("/api/v1/me?pretty").ok()
	if !bytes.Contains(pretty.body, []byte("{\n  \"user\"")) {
		t.Errorf("pretty: %s", pretty.body)
	}
}

func walk(v any, fn func(k string, v any)) {
	switch x := v.(type) {
	case map[string]any:
		for k, y := range x {
			fn(k, y)
			walk(y, fn)
		}
	case []any:
		for _, y := range x {
			walk(y, fn)
		}
	}
}

func TestPeopleWithoutDatabase(t *testing.T) {
	r := newRig(t)
	me := r.user("admin")
	r.db.Close()
	if h := r.anyone().get("/health").is(503); !bytes.Contains(h.body, []byte(`"database":"the database does not answer`)) || h.header.Get("Retry-After") == "" {
		t.Errorf("health: %s", h.body)
	}
	got := me.get("/api/v1/experiments").says(503, "database")
	if got.header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	me.post("/api/v1/experiments", createBody(yaml())).says(503, "database")
	if m := r.anyone().get("/metrics").ok(); !bytes.Contains(m.body, []byte("det_database_up 0")) {
		t.Errorf("metrics: %s", m.body)
	}
}

func TestMasterLogs(t *testing.T) {
	r := newRig(t)
	me := r.user("determined")
	ctx, cancel := context.WithCancel(context.Background())
	logs := masterlog.New(r.db, slog.DiscardHandler)
	done := make(chan struct{})
	go func() { logs.Run(ctx); close(done) }()
	log := slog.New(logs).With("term", 3)
	for i := range 5 {
		log.WithGroup("g").Info("line", "n", i)
	}
	log.Debug("unseen")
	log.Error("bad", "why", "two words")
	cancel()
	<-done
	lines := strings.Split(strings.TrimSuffix(string(me.get("/api/v1/master/logs").ok().body), "\n"), "\n")
	if len(lines) != 6 || !strings.Contains(lines[0], `"message":"line term=3 g.n=0"`) || !strings.Contains(lines[5], `"level":"LOG_LEVEL_ERROR","message":"bad term=3 why=\"two words\""`) {
		t.Fatalf("logs: %q", lines)
	}
	if b := string(me.get("/api/v1/master/logs?offset=-2&limit=1").ok().body); strings.Count(b, "\n") != 1 || !strings.Contains(b, "g.n=4") {
		t.Errorf("offset -2: %s", b)
	}
	if b := string(me.get("/api/v1/master/logs?offset=5").ok().body); strings.Count(b, "\n") != 1 {
		t.Errorf("offset 5: %s", b)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for range 200 {
			r.exec(`INSERT INTO master_logs (at, level, message) VALUES (now(), 'INFO', 'meanwhile')`)
		}
	}()
	for writing := true; writing; {
		select {
		case <-ended:
			writing = false
		default:
		}
		if b := string(me.get("/api/v1/master/logs?offset=-1").ok().body); strings.Count(b, "\n") != 1 {
			t.Fatalf("the last line, while others are written: %s", b)
		}
	}
	me.get("/api/v1/master/logs?follow=true&limit=3").says(400, "follow")
	r.anyone().get("/api/v1/master/logs").is(401)
}

func TestPanicsAreAnswered(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Redacted = func() any { panic("oh no") } })
	admin := r.user("admin")
	admin.get("/api/v1/master/config").says(500, "master's log")
	if !strings.Contains(r.log.String(), "oh no") {
		t.Error("the panic is not in the log")
	}
	admin.get("/api/v1/me").ok()
}

// TestSchedulersOfPools: a pool shows how it shares its slots, and a job has a position in the
// queue only if the pool's scheduler uses priorities.
func TestSchedulersOfPools(t *testing.T) {
	r := newRig(t, func(c *Config) {
		c.Pools = slices.Clone(c.Pools)
		fair, turns := c.Pools[0], c.Pools[0]
		fair.Name, fair.Compute, fair.Aux, fair.Scheduler = "fair", false, false, pool.Scheduler{Type: pool.FairShare, Fitting: pool.WorstFit}
		turns.Name, turns.Compute, turns.Aux, turns.Scheduler = "turns", false, false, pool.Scheduler{Type: pool.RoundRobin}
		turns.Preemption = false
		c.Pools = append(c.Pools, fair, turns)
	})
	me := r.user("determined")
	pools := me.get("/api/v1/resource-pools").ok().tree()
	for k, want := range map[string]any{
		"0.schedulerType": "SCHEDULER_TYPE_PRIORITY", "0.schedulerFittingPolicy": "FITTING_POLICY_BEST", "0.details.priorityScheduler.defaultPriority": 42.0,
		"1.schedulerType": "SCHEDULER_TYPE_FAIR_SHARE", "1.schedulerFittingPolicy": "FITTING_POLICY_WORST", "1.details.priorityScheduler": nil, "1.preemptible": true,
		"2.schedulerType": "SCHEDULER_TYPE_ROUND_ROBIN", "2.preemptible": false} {
		if got := at(t, pools, "resourcePools."+k); got != want {
			t.Errorf("pool: %s = %v, want %v", k, got, want)
		}
	}
	for name, want := range map[string]float64{"default": 0, "fair": -1, "turns": -1} {
		_, task := r.trial(me.create(yaml("resources: {resource_pool: "+name+"}"), `"activate":true`), 0)
		if err := r.db.Exec(t.Context(), `UPDATE allocations SET pool = $2 WHERE task_id = $1`, task, name); err != nil {
			t.Fatal(err)
		}
		if got := at(t, me.get("/api/v1/job-queues-v2?resourcePool="+name).ok().tree(), "jobs.0.full.summary.jobsAhead"); got != want {
			t.Errorf("a job of pool %s has %v jobs ahead, want %v", name, got, want)
		}
	}
}
