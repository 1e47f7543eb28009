package api

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/diskuse"

	v1 "github.com/detent-ml/detent/master/v1"
)

// hexNoise is text that compresses to half at best.
func hexNoise(n int) string {
	r := rand.New(rand.NewPCG(1, uint64(n))) //nolint:gosec // no secret
	b := make([]byte, n)
	for i := range b {
		b[i] = "0123456789abcdef"[r.IntN(16)]
	}
	return string(b)
}

// TestStoringTooMuch: a user who stores more than one user may can start nothing new, and the message names what is stored. What runs
// goes on, other users are not affected, and a deletion frees.
func TestStoringTooMuch(t *testing.T) {
	r := rigOf(t, func(c *Config) { c.Stored = diskuse.Limits{Owner: 50_000} })
	me, ben := r.user("determined"), r.newUser("ben")
	own := me.ownWorkspace()
	a := r.placeOf("determined", yaml(), 1).claimAll(1)
	big := me.create(yaml(), `"modelDefinition":[`+modelFile("data.txt", hexNoise(120_000))+`]`)
	over := func(ans answer) {
		t.Helper()
		ans.says(413, "determined stores", "the limit for one user is 49 KiB", "of code", "of logs", "of metrics", "det experiment delete", "database_limits.user_mb")
	}
	codes := r.text(`SELECT count(*)::text FROM contexts`)
	over(me.post("/api/v1/experiments", createBody(yaml(), `"modelDefinition":[`+modelFile("x", "1")+`]`)))
	over(me.post("/api/v1/experiments", createBody(yaml())))
	over(me.post("/api/v1/commands", `{"config":{"entrypoint":["true"]}}`))
	over(me.post("/api/v1/notebooks", `{"config":{}}`))
	over(me.post("/api/v1/models", `{"name":"m"}`))
	over(me.post("/api/v1/templates/t", `{"name":"t","config":{}}`))
	over(me.post("/api/v1/workspaces", `{"name":"w"}`))
	over(me.post(fmt.Sprintf("/api/v1/workspaces/%v/projects", own), `{"name":"p"}`))
	if n := r.text(`SELECT count(*)::text FROM contexts`); n != codes {
		t.Errorf("%s contexts, want %s: the code of rejected requests is stored", n, codes)
	}
	me.post("/api/v1/experiments", createBody(yaml(), `"validateOnly":true`)).ok()
	a.reports("training", 1, `{"loss":1}`)
	a.ranks[0].post("/api/v1/detent/logs", `{"shipper":"s","first":0,"lines":[{"timestamp":"2026-01-01T00:00:00Z","log":"a line"}]}`).ok()
	ben.create(yaml())
	use := func(who as) v1.GetDiskUseResponse {
		t.Helper()
		var got v1.GetDiskUseResponse
		if err := v1.Unmarshal(who.get("/api/v1/detent/disk-use").ok().body, &got); err != nil {
			t.Fatal(err)
		}
		return got
	}
	if got := use(me); got.UserLimit != 50_000 || len(got.Users) != 1 || got.Users[0].Username != "determined" || got.Users[0].CodeBytes < 50_000 || got.Users[0].LogBytes == 0 || got.Users[0].RecordBytes == 0 {
		t.Errorf("determined sees %+v", got)
	}
	if got := use(r.user("admin")); len(got.Users) < 2 || got.Users[0].Username != "determined" || got.Users[1].Username != "ben" || got.Users[1].CodeBytes != 0 {
		t.Errorf("admin sees %+v", got)
	}
	r.moves(big, "PAUSED", "COMPLETED")
	over(me.post("/api/v1/experiments/continue", fmt.Sprintf(`{"id":%d}`, big)))
	r.exec(`UPDATE contexts SET created_at = now() - interval '1 day'`)
	r.exec(`DELETE FROM experiments WHERE id = $1`, big)
	me.create(yaml())
}

// TestGrowingTooMuch: a user who stores more than one user may cannot make what is there longer either, and can still change a little.
func TestGrowingTooMuch(t *testing.T) {
	r := rigOf(t, func(c *Config) { c.Stored = diskuse.Limits{Owner: 50_000} })
	me := r.user("determined")
	own := me.ownWorkspace()
	ex := me.create(yaml())
	trial := r.text(`SELECT id::text FROM trials WHERE experiment_id = $1`, ex)
	project := fmt.Sprint(at(t, me.post(fmt.Sprintf("/api/v1/workspaces/%v/projects", own), `{"name":"p"}`).ok().tree(), "project.id"))
	me.post("/api/v1/models", `{"name":"m"}`).ok()
	me.post("/api/v1/templates/t", `{"name":"t","config":{}}`).ok()
	me.create(yaml(), `"modelDefinition":[`+modelFile("data.txt", hexNoise(120_000))+`]`)
	for _, text := range []string{hexNoise(100), hexNoise(4500)} {
		for path, body := range map[string]string{
			"PUT /projects/" + project + "/notes":    `{"notes":[{"name":"n","contents":%q}]}`,
			"POST /projects/" + project + "/notes":   `{"name":"n","contents":%q}`,
			fmt.Sprintf("PATCH /experiments/%d", ex): `{"notes":%q}`,
			"PATCH /models/m":                        `{"notes":%q}`,
			"PUT /templates/t":                       `{"name":"t","config":{"description":%q}}`,
			"POST /runs/" + trial + "/metadata":      `{"metadata":{"k":%q}}`,
		} {
			method, path, _ := strings.Cut(path, " ")
			got, want := me.do(method, "/api/v1"+path, fmt.Sprintf(body, text)), 200
			if len(text) > 1000 {
				want = 413
			}
			if got.code != want {
				t.Errorf("%s %s with %d bytes: %d, want %d: %s", method, path, len(text), got.code, want, got.body)
			}
		}
	}
}

// TestReportingTooMuch: beyond the limit of a trial the master rejects reports with an error that harnesses do not repeat.
func TestReportingTooMuch(t *testing.T) {
	r := rigOf(t, func(c *Config) { c.Stored = diskuse.Limits{Metrics: 20_000} })
	a := r.running(yaml(), 1)
	report := func(step int) answer {
		return a.ranks[0].post(a.trialPath("/metrics"), fmt.Sprintf(`{"group":"training","metrics":{"trialId":%d,"trialRunId":1,"stepsCompleted":%d,"metrics":{"avgMetrics":{"text":%q}}}}`, a.trial, step, hexNoise(4000+step)))
	}
	report(1).ok()
	last := report(2)
	for step := 3; step < 20 && last.code == 200; step++ {
		last = report(step)
	}
	last.says(413, fmt.Sprintf("trial %d", a.trial), "the limit for one trial is 20 KiB", "trial_metrics_mb")
}

// TestStoringOutside: programs outside of the cluster report no more than their owner may store, in however many trials.
func TestStoringOutside(t *testing.T) {
	r := rigOf(t, func(c *Config) { c.Stored = diskuse.Limits{Owner: 60_000, Metrics: 40_000}; c.Logs.MaxBytes = 40_000 })
	me := r.user("determined")
	id := at(t, me.putExperiment("e"), "experiment.id")
	var trials []any
	var tasks []string
	for i := range 10 {
		tr := me.putTrial(id, fmt.Sprint("t", i))
		trials, tasks = append(trials, at(t, tr, "trial.id")), append(tasks, at(t, tr, "trial.taskId").(string))
		me.post(fmt.Sprintf("/api/v1/trials/%v/start", trials[i]), fmt.Sprintf(`{"trialId":%v,"resume":true}`, trials[i])).ok()
	}
	line := func(i, size int) answer {
		return me.post("/task-logs", fmt.Sprintf(`[{"task_id":%q,"timestamp":"2026-01-01T00:00:00Z","rank":"0","log":%q}]`, tasks[i], hexNoise(size)))
	}
	report := func(i, size int) answer {
		return me.post(fmt.Sprintf("/api/v1/trials/%v/metrics", trials[i]), fmt.Sprintf(
			`{"group":"validation","metrics":{"trialId":%v,"trialRunId":1,"stepsCompleted":%d,"metrics":{"avgMetrics":{"text":%q}}}}`, trials[i], size, hexNoise(size)))
	}
	accepted, refused := 0, 0
	for i := range trials {
		for _, send := range []func(i, size int) answer{line, report} {
			if a := send(i, 20_000+i); a.code == 200 {
				accepted++
			} else {
				a.says(413, "stores", "limit for one user")
				refused++
			}
		}
	}
	if accepted == 0 || accepted > 8 || refused == 0 {
		t.Errorf("%d reports were accepted and %d refused", accepted, refused)
	}
	me.post("/api/v1/checkpoints", fmt.Sprintf(`{"uuid":"11111111-1111-4111-8111-111111111111","taskId":%q,"state":"STATE_COMPLETED","resources":{"a":"1"},"metadata":{"steps_completed":1},"training":{}}`, tasks[0])).says(413, "limit for one user")
}

// TestNumbersThatGrow: PostgreSQL writes the digits of 1e308, so documents with many such numbers are rejected wherever they come in.
func TestNumbersThatGrow(t *testing.T) {
	r := newRig(t)
	me := r.user("determined")
	many := "[" + strings.Repeat("1e308,", 10_000) + "1]"
	a := r.running(yaml(), 1)
	const says = "too many digits"
	me.post("/api/v1/experiments", createBody(yaml("data: {a: "+many+"}"))).says(400, says)
	me.post("/api/v1/templates/grows", `{"config":{"data":{"a":`+many+`}},"workspaceId":1}`).says(400, says)
	me.post("/api/v1/models", `{"name":"m","metadata":{"a":`+many+`}}`).says(400, says)
	id := at(t, me.putExperiment("e"), "experiment.id")
	me.put("/api/v1/trials", fmt.Sprintf(`{"externalTrialId":"t","createTrialRequest":{"experimentId":%v,"hparams":{"a":%s},"unmanaged":true}}`, id, many)).says(400, says)
	checkpoint := func(metadata string) answer {
		return a.ranks[0].post("/api/v1/checkpoints", fmt.Sprintf(`{"uuid":"11111111-1111-4111-8111-111111111111","taskId":%q,"state":"STATE_COMPLETED","resources":{"a":"1"},"metadata":%s,"training":{}}`, a.task, metadata))
	}
	checkpoint(`{"steps_completed":1,"a":`+many+`}`).says(400, says)
	checkpoint(`{"steps_completed":1,"a":"`+strings.Repeat("x", 1<<20)+`"}`).says(413, "metadata")
	checkpoint(`{"steps_completed":1,"a":[1e308,1e-308]}`).ok()
}

// TestListsInRequestsAreLimited: neither lists of numbers nor many empty notes keep a master busy.
func TestListsInRequestsAreLimited(t *testing.T) {
	r := newRig(t)
	me := r.user("determined")
	id := me.create(yaml())
	ids := strings.Repeat("999999,", 10_001)
	me.post("/api/v1/projects/1/experiments/pause", `{"projectId":1,"experimentIds":[`+strings.TrimSuffix(ids, ",")+`]}`).says(400, "10001 experiments are over the limit of 10000")
	got := me.post("/api/v1/projects/1/experiments/pause", fmt.Sprintf(`{"projectId":1,"experimentIds":[%d,777,777,%[1]d]}`, id)).ok().tree()
	if results := at(t, got, "results").([]any); len(results) != 2 {
		t.Errorf("each experiment is answered once: %v", results)
	}
	r.user("admin").put("/api/v1/projects/1/notes", `{"notes":[`+strings.TrimSuffix(strings.Repeat("{},", 1001), ",")+`]}`).says(413, "1001 notes")
}
