package experiments

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/detent-ml/detent/integration/rig"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/v1"
)

// sound is a configuration without mistakes.
const sound = "name: sound\nentrypoint: python3 train.py\nsearcher: {name: single, metric: loss}\n"

// An ask is a raw request and the expected answer.
type ask struct {
	name         string
	method, path string
	body         any // text and bytes are sent as they are, all else as JSON
	header       http.Header
	status       int
	says         string
}

// bearer is the header of users, allocationToken the header of tasks.
func bearer(token string) http.Header {
	return http.Header{"Authorization": {"Bearer " + token}}
}

func allocationToken(token string) http.Header {
	return http.Header{"Grpc-Metadata-X-Allocation-Token": {"Bearer " + token}}
}

// byHand sends a request and returns the status and the message of the error, which the answer must
// contain in both of its places, and nothing else.
func byHand(t testing.TB, r *rig.Rig, a ask) (int, string) {
	t.Helper()
	var body io.Reader
	switch b := a.body.(type) {
	case nil:
	case io.Reader:
		body = b
	case string:
		body = strings.NewReader(b)
	case []byte:
		body = bytes.NewReader(b)
	default:
		text, err := json.Marshal(b)
		if err != nil {
			t.Fatal(err)
		}
		body = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(t.Context(), a.method, r.MasterURL+a.path, body)
	if err != nil {
		t.Fatal(err)
	}
	for name, values := range a.header {
		req.Header[name] = values
	}
	if sized, ok := a.body.(*io.LimitedReader); ok {
		req.ContentLength = sized.N
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatalf("%s: %v", a.name, err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("%s: %v", a.name, err)
	}
	if resp.StatusCode < 300 {
		return resp.StatusCode, string(answer)
	}
	var said struct {
		Message string
		Error   struct{ Error, Reason string }
	}
	if err := json.Unmarshal(answer, &said); err != nil || said.Message == "" || said.Message != said.Error.Error || said.Error.Reason == "" {
		t.Errorf("%s: the answer has no clear error: %v\n%s", a.name, err, answer)
	}
	return resp.StatusCode, said.Message
}

// refused sends all requests and checks the answers.
func refused(t *testing.T, r *rig.Rig, asks []ask) {
	for _, a := range asks {
		t.Run(a.name, func(t *testing.T) {
			status, message := byHand(t, r, a)
			if status != a.status || !strings.Contains(message, a.says) {
				t.Errorf("HTTP %d: %.300s\nexpected HTTP %d and %q", status, message, a.status, a.says)
			}
			if len(message) > 1000 {
				t.Errorf("the message has %d bytes", len(message))
			}
		})
	}
}

// unharmed is called before the bad requests. It returns a function that checks afterwards that the
// cluster is unharmed: the same master runs, its log has no new error, and a small experiment
// completes.
func unharmed(t *testing.T, r *rig.Rig) func() {
	t.Helper()
	before, failures := masterPids(t, r), masterErrors(t, r)
	return func() {
		t.Helper()
		var health struct{ Status, Database, Alarm string }
		if err := json.Unmarshal(r.Get(t, r.MasterURL+"/health"), &health); err != nil || health.Status != "up" || health.Database != "up" || health.Alarm != "" {
			t.Errorf("the master's health is %+v: %v", health, err)
		}
		if after := masterPids(t, r); after != before {
			t.Errorf("the master was started anew: process %s was %s", after, before)
		}
		if all := masterErrors(t, r); len(all) > len(failures) {
			t.Errorf("the master logged errors:\n%s", strings.Join(all[len(failures):], "\n"))
		}
		id := r.Submit(t, sound, rig.Script("print('all is well')"))
		r.WaitState(t, id, v1.ExperimentStateCompleted)
	}
}

func masterPids(t *testing.T, r *rig.Rig) string {
	t.Helper()
	part, err := r.Part("master")
	if err != nil {
		t.Fatal(err)
	}
	masters, err := part.Processes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(masters)
}

func masterErrors(t *testing.T, r *rig.Rig) []string {
	t.Helper()
	var found []string
	for entry, err := range r.Client.MasterLogs(t.Context(), false, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if entry.LogEntry.Level == v1.LogLevelError || entry.LogEntry.Level == v1.LogLevelCritical {
			found = append(found, entry.LogEntry.Message)
		}
	}
	return found
}

// creation is the body of a request for an experiment with one file.
func creation(config, path string) map[string]any {
	return map[string]any{"config": config, "activate": false, "modelDefinition": []map[string]any{
		{"path": path, "type": 48, "content": "cHJpbnQoMSk=", "mtime": "1", "mode": 0o100644, "uid": 0, "gid": 0},
	}}
}

// deep returns JSON of this depth.
func deep(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }

// TestBadSubmissionsAreRefused: for every mistake in an experiment the answer is one error that names
// the mistake, and the master creates nothing.
func TestBadSubmissionsAreRefused(t *testing.T) {
	r := rig.Start(t)
	check := unharmed(t, r)
	before, err := client.List(t.Context(), r.Client, v1.ListExperiments, client.Page{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	me := bearer(r.Client.Token())
	var asks []ask
	create := func(name string, body any, status int, says string) {
		asks = append(asks, ask{name, http.MethodPost, "/api/v1/experiments", body, me, status, says})
	}
	config := func(name, text, says string) { create(name, creation(text, "train.py"), 400, says) }
	config("broken YAML", "name: [x\nfoo", "not valid YAML")
	config("unknown field", sound+"max_restart: 1\n", "config:4:1: max_restart: unknown field; did you mean max_restarts?")
	config("wrong type", sound+"max_restarts: many\n", `config:4:15: max_restarts: expected an integer, found a string "many"`)
	config("missing entrypoint", "name: x\nsearcher: {name: single, metric: loss}\n", "entrypoint: is required")
	config("several problems", "name: 5\nmax_restart: 1\n", "problems:")
	config("negative slots", sound+"resources: {slots_per_trial: -1}\n", "resources.slots_per_trial: must be from 0 to 1000000, found -1")
	config("unknown pool", sound+"resources: {resource_pool: nowhere}\n", `there is no resource pool "nowhere"; there are default`)
	config("name of 300,000 bytes", strings.Replace(sound, "name: sound", "name: "+strings.Repeat("n", 300_000), 1), "name: has 300000 bytes, over the limit of 262144")
	config("NUL in the name", strings.Replace(sound, "name: sound", `name: "a\0b"`, 1), "name: contains a NUL character")
	config("NUL in the YAML", sound+"description: a\x00b\n", "U+0000 is not allowed")
	config("deep YAML", sound+"data: "+deep(100000)+"\n", "nested more than 64 levels deep")
	config("a bomb of aliases", sound+bomb(), "more than 100000 values")
	for name, path := range map[string]string{"..": "../train.py", ".. within": "a/../../train.py", "from the root": "/etc/passwd", "NUL": "a\x00b"} {
		create("path: "+name, creation(sound, path), 400, "the context: the path ")
	}
	create("a long path", creation(sound, strings.Repeat("x", 5000)), 400, "is 5000 bytes long; the limit is 1024")
	create("not JSON", "hello", 400, "the body is not JSON")
	create("not an object", "[]", 400, "expected an object")
	create("deep JSON", `{"config":`+deep(100000)+"}", 400, "the body is not JSON: invalid character '[' exceeded max depth")
	create("not text", []byte("{\"config\":\"\xff\xfe\"}"), 400, "not UTF-8 text")
	create("nothing", "", 400, "config: is required")
	create("content that is not base64", strings.Replace(compacted(t, creation(sound, "a")), "cHJpbnQoMSk=", "%%%", 1), 400, "expected base64")
	create("over the limit", &io.LimitedReader{R: zeros{}, N: 131 << 20}, 413, "the limit here is 130.0 MB")
	refused(t, r, asks)
	after, err := client.List(t.Context(), r.Client, v1.ListExperiments, client.Page{}, nil)
	if err != nil || len(after) != len(before) {
		t.Errorf("%d experiments became %d: %v", len(before), len(after), err)
	}
	check()
}

func compacted(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// bomb is a small document whose aliases expand to a thousand million values.
func bomb() string {
	text := "data:\n  a: &a [x,x,x,x,x,x,x,x,x,x]\n"
	for c := 'b'; c < 'j'; c++ {
		text += fmt.Sprintf("  %c: &%c [%s]\n", c, c, strings.TrimSuffix(strings.Repeat("*"+string(c-1)+",", 10), ","))
	}
	return text
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// TestBadRequestsAreRefused: the master rejects other invalid requests.
func TestBadRequestsAreRefused(t *testing.T) {
	r := rig.Start(t)
	check := unharmed(t, r)
	me := bearer(r.Client.Token())
	experiment := r.Submit(t, sound, rig.Script("print(1)"))
	r.WaitState(t, experiment, v1.ExperimentStateCompleted)
	e, trial := "/api/v1/experiments/"+strconv.Itoa(experiment), strconv.Itoa(r.Trial(t, experiment).ID)
	sign := func(user, password any) map[string]any {
		return map[string]any{"username": user, "password": password, "isHashed": true}
	}
	refused(t, r, []ask{
		{"wrong password", "POST", "/api/v1/auth/login", sign("determined", client.HashPassword("guess")), nil, 401, "invalid credentials"},
		{"unknown user", "POST", "/api/v1/auth/login", sign("nobody", ""), nil, 401, "invalid credentials"},
		{"NUL in the user", "POST", "/api/v1/auth/login", sign("a\x00b", ""), nil, 400, "cannot be stored"},
		{"user of another type", "POST", "/api/v1/auth/login", sign(5, ""), nil, 400, "username: expected a string"},
		{"nobody", "GET", "/api/v1/experiments", nil, nil, 401, "not signed in"},
		{"made-up token", "GET", "/api/v1/experiments", nil, bearer("made-up"), 401, "the session is unknown or has ended"},
		{"a token with NUL", "GET", "/api/v1/experiments", nil, bearer("a%00b"), 401, "the session is unknown or has ended"},
		{"a task's token that is made up", "GET", "/api/v1/trials/" + trial, nil, allocationToken("made-up"), 401, ""},
		{"no number", "GET", "/api/v1/experiments/abc", nil, me, 400, "is not an id"},
		{"too large a number", "GET", "/api/v1/experiments/99999999999999999999", nil, me, 400, "is not an id"},
		{"no such experiment", "GET", "/api/v1/experiments/123456", nil, me, 404, "experiment 123456 not found"},
		{"no such trial", "GET", "/api/v1/trials/123456", nil, me, 404, "trial 123456 not found"},
		{"no such path", "GET", "/api/v1/nothing", nil, me, 404, "no such path"},
		{"no UUID", "GET", "/api/v1/checkpoints/abc", nil, me, 400, "is not the UUID of a checkpoint"},
		{"no such checkpoint", "GET", "/api/v1/checkpoints/11111111-1111-4111-8111-111111111111", nil, me, 404, "not found"},
		{"unknown sort", "GET", "/api/v1/experiments?sortBy=SORT_BY_COLOUR", nil, me, 400, "sortBy"},
		{"no limit", "GET", "/api/v1/experiments?limit=many", nil, me, 400, `limit: expected an integer, found "many"`},
		{"NUL in a filter", "GET", "/api/v1/experiments?name=a%00b", nil, me, 400, "cannot be stored"},
		{"a broken regular expression", "GET", "/api/v1/trials/" + trial + "/logs?searchText=(&enableRegex=true", nil, me, 400, "searchText"},
		{"a long name", "PATCH", e, map[string]any{"name": strings.Repeat("n", 300_000)}, me, 400, "over the limit"},
		{"an empty name", "PATCH", e, map[string]any{"name": ""}, me, 400, "name: is empty"},
		{"NUL in notes", "PATCH", e, map[string]any{"notes": "a\x00b"}, me, 400, "cannot be stored"},
		{"NUL in a label", "PUT", e + "/labels/a%00b", nil, me, 400, "label"},
		{"a long label", "PATCH", e, map[string]any{"labels": []string{strings.Repeat("l", 300_000)}}, me, 400, "over the limit"},
		{"a label that no address holds", "PUT", e + "/labels/" + strings.Repeat("l", 40_000), nil, me, 413, "28 KB"},
		{"a user made by nobody special", "POST", "/api/v1/users", map[string]any{"user": map[string]any{"username": "q"}}, me, 403, "only an admin may do this"},
		{"NUL in a command", "POST", "/api/v1/commands", map[string]any{"config": map[string]any{"entrypoint": []string{"a\x00b"}}}, me, 400, "entrypoint[0]: contains a NUL character"},
		{"a deep command", "POST", "/api/v1/commands", `{"config":{"entrypoint":["a"],"data":` + deep(20000) + "}}", me, 400, "the body is not JSON"},
		{"a question without sense", "POST", "/api/v1/experiments-search", map[string]any{"query": "id > 0 and lables = x"}, me, 400, "query: column 12: there is no column"},
		{"NUL in a question", "POST", "/api/v1/experiments-search", map[string]any{"query": "name = 'a\x00b'"}, me, 400, ""},
		{"NUL in the name of a hyperparameter", "POST", "/api/v1/experiments-search", map[string]any{"sort": "hp.a\x00b=asc"}, me, 400, ""},
		{"a deep filter", "POST", "/api/v1/experiments-search", map[string]any{"filter": `{"filterGroup":` + deep(20000) + "}"}, me, 400, "filter"},
		{"a filter with SQL in it", "POST", "/api/v1/experiments-search", map[string]any{"sort": "id;DROP TABLE experiments=asc"}, me, 400, "invalid sort col"},
		{"a template of nothing that there is", "POST", "/api/v1/templates/x", map[string]any{"config": map[string]any{"a": 1}}, me, 400, `template "x":1:1: a: unknown field`},
		{"NUL in the name of a template", "POST", "/api/v1/templates/a%00b", map[string]any{"config": map[string]any{}}, me, 400, ""},
		{"NUL in a template", "POST", "/api/v1/templates/x", map[string]any{"config": map[string]any{"name": "a\x00b"}}, me, 400, ""},
		{"a deep template", "PUT", "/api/v1/templates/x", map[string]any{"source": "data: " + strings.Repeat("[", 1000)}, me, 400, "nested more than"},
		{"no such template", "PATCH", "/api/v1/templates/none", map[string]any{}, me, 404, `template "none" not found`},
		{"a large body where small ones go", "POST", "/api/v1/auth/login", &io.LimitedReader{R: zeros{}, N: 1 << 20}, nil, 413, "the limit here is"},
	})
	check()
}

// TestTokensOpenOnlyTheirOwn: neither a user nor a task can change objects of another user.
func TestTokensOpenOnlyTheirOwn(t *testing.T) {
	r := rig.Start(t)
	check := unharmed(t, r)
	stranger := r.NewUser(t, "mallory", "Xyzzy-mallory-1")
	file := filepath.Join(t.TempDir(), "secrets.json")
	mine := r.Submit(t, rig.Config("environment: {environment_variables: [\"SECRETS="+file+"\"]}"), rig.Script(rig.Waiting))
	other := r.Submit(t, rig.Config(""), rig.Script(rig.Waiting))
	r.WaitLog(t, mine, "begins")
	r.WaitLog(t, other, "begins")
	var inside map[string]string
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &inside); err != nil {
		t.Fatal(err)
	}
	task := allocationToken(inside["DET_SESSION_TOKEN"])
	own, foreign := r.Trial(t, mine), r.Trial(t, other)
	allocation := r.Allocation(t, other)
	report := func(trial v1.Trial) map[string]any {
		return map[string]any{"group": "training", "metrics": map[string]any{"trialId": trial.ID, "trialRunId": 1, "stepsCompleted": 1,
			"metrics": map[string]any{"avgMetrics": map[string]any{"loss": 1}}}}
	}
	them := bearer(stranger.Token())
	e := "/api/v1/experiments/" + strconv.Itoa(mine)
	refused(t, r, []ask{
		{"a stranger kills", "POST", e + "/kill", nil, them, 403, "mallory may not change this experiment"},
		{"a stranger renames", "PATCH", e, map[string]any{"name": "mine"}, them, 403, "mallory may not change"},
		{"a stranger deletes", "DELETE", e, nil, them, 403, "mallory may not"},
		{"a stranger kills the trial", "POST", "/api/v1/trials/" + strconv.Itoa(own.ID) + "/kill", nil, them, 403, "mallory may not"},
		{"a stranger reports", "POST", "/api/v1/trials/" + strconv.Itoa(own.ID) + "/metrics", report(own), them, 403, ""},
		{"a task reports for another", "POST", "/api/v1/trials/" + strconv.Itoa(foreign.ID) + "/metrics", report(foreign), task, 403, ""},
		{"a task ends another early", "POST", "/api/v1/trials/" + strconv.Itoa(foreign.ID) + "/early_exit", map[string]any{"reason": "EXITED_REASON_INVALID_HP"}, task, 403, ""},
		{"a task answers for another", "POST", "/api/v1/allocations/" + allocation + "/signals/ack_preemption", nil, task, 403, ""},
		{"a task kills an experiment", "POST", "/api/v1/experiments/" + strconv.Itoa(other) + "/kill", nil, task, 403, ""},
		{"a task makes a template", "POST", "/api/v1/templates/tasks", map[string]any{"config": map[string]any{}}, task, 403, ""},
		{"a task makes a user", "POST", "/api/v1/users", map[string]any{"user": map[string]any{"username": "q"}}, task, 403, ""},
	})
	if status, said := byHand(t, r, ask{method: "POST", path: "/api/v1/trials/" + strconv.Itoa(own.ID) + "/metrics", body: report(own), header: task}); status != 200 {
		t.Errorf("a task cannot report for itself: HTTP %d: %s", status, said)
	}
	if got := r.Steps(t, "training", foreign.ID); len(got) != 0 {
		t.Errorf("the other trial has reports at %v", got)
	}
	r.End(t, mine)
	r.End(t, other)
	rig.Eventually(t, "the token of an attempt that is over opens nothing", func() (bool, error) {
		status, said := byHand(t, r, ask{method: "POST", path: "/api/v1/trials/" + strconv.Itoa(own.ID) + "/metrics", body: report(own), header: task})
		return status == http.StatusUnauthorized || status == http.StatusForbidden, fmt.Errorf("HTTP %d: %s", status, said)
	})
	check()
}

// TestMoreSlotsThanThereAre: the master rejects a request for more slots than exist with both numbers,
// and the other requests of the queue continue.
func TestMoreSlotsThanThereAre(t *testing.T) {
	r := rig.Start(t)
	check := unharmed(t, r)
	dir := t.TempDir()
	rig.Write(t, dir, "many.yaml", sound+"resources: {slots_per_trial: 1000}\n")
	folder := filepath.Join(dir, "code")
	rig.Write(t, folder, "train.py", "print(1)")
	stdout, stderr, code := r.Run(t, nil, "experiment", "create", filepath.Join(dir, "many.yaml"), folder)
	rig.Holds(t, "the warning", stderr, "1000 slots are asked for and pool default has")
	if n := strings.Count(strings.TrimSpace(stderr), "\n"); code != 0 || n != 0 {
		t.Errorf("exit %d, %d lines more than one:\n%s", code, n, stderr)
	}
	id := rig.First(t, `Created experiment (\d+)`, stdout)
	rig.Eventually(t, "the trial says why it waits", func() (bool, error) {
		trial, err := r.Client.Trial(t.Context(), r.Trial(t, id).ID)
		return err == nil && strings.Contains(trial.WaitingReason, "needs 1000 slots; pool default has"), err
	})
	out, _, _ := r.Run(t, nil, "experiment", "describe", strconv.Itoa(id))
	rig.Holds(t, "describe", out, "QUEUED", "waits: needs 1000 slots")
	large := r.Submit(t, sound+"resources: {cpus: 4000}\n", rig.Script("print(1)"))
	rig.Eventually(t, "the trial of 4,000 processors says why it waits", func() (bool, error) {
		why := r.Trial(t, large).WaitingReason
		return strings.Contains(why, "the task needs 4000 processors"), fmt.Errorf("it waits: %q", why)
	})
	check()
	r.End(t, id)
	r.End(t, large)
}

// TestBadCommandsAreRefused: det reports the same mistakes, with an exit status for each kind of error.
func TestBadCommandsAreRefused(t *testing.T) {
	r := rig.Start(t)
	check := unharmed(t, r)
	dir := t.TempDir()
	code := filepath.Join(dir, "code")
	rig.Write(t, code, "train.py", "print(1)")
	large := filepath.Join(dir, "large")
	if err := os.Truncate(rig.Write(t, large, "weights.bin", ""), 96<<20); err != nil {
		t.Fatal(err)
	}
	file := func(name, text string) string { return rig.Write(t, dir, name+".yaml", text) }
	fine := file("fine", sound)
	for _, c := range []struct {
		name   string
		args   []string
		env    []string
		status int
		says   []string
		lines  int
	}{
		{"broken YAML", []string{"experiment", "create", file("broken", "name: [x\nfoo"), code}, nil, 1, []string{"broken.yaml:2:1: not valid YAML"}, 1},
		{"unknown field and wrong type", []string{"experiment", "create", file("two", sound+"max_restart: 1\nmax_restarts: many\n"), code}, nil, 1,
			[]string{"two.yaml has 2 problems:", "two.yaml:4:1: max_restart: unknown field; did you mean max_restarts?", "two.yaml:5:15: max_restarts: expected an integer"}, 3},
		{"missing entrypoint", []string{"experiment", "create", file("none", "name: x\nsearcher: {name: single, metric: loss}\n"), code}, nil, 1, []string{"entrypoint: is required"}, 1},
		{"long name", []string{"experiment", "create", file("long", "name: "+strings.Repeat("n", 300_000)+sound[len("name: sound"):]), code}, nil, 1, []string{"name: has 300000 bytes"}, 1},
		{"unknown pool", []string{"experiment", "create", fine, code, "--config", "resources.resource_pool=nowhere"}, nil, 1, []string{`there is no resource pool "nowhere"`}, 1},
		{"no such file", []string{"experiment", "create", filepath.Join(dir, "absent.yaml"), code}, nil, 1, []string{"absent.yaml: no such file"}, 1},
		{"no such folder", []string{"experiment", "create", fine, filepath.Join(dir, "absent")}, nil, 1, []string{"does not exist"}, 1},
		{"over the limit", []string{"experiment", "create", fine, large}, nil, 1, []string{"95", "weights.bin"}, 0},
		{"wrong password", []string{"experiment", "list"}, []string{"DET_PASS=guess"}, 4, []string{"invalid credentials"}, 2},
		{"no such experiment", []string{"experiment", "kill", "123456"}, nil, 5, []string{"experiment 123456 not found"}, 1},
		{"no such trial", []string{"trial", "logs", "123456"}, nil, 5, []string{"trial 123456 not found"}, 1},
		{"no number", []string{"experiment", "kill", "abc"}, nil, 2, []string{"abc"}, 0},
		{"unknown verb", []string{"experiment", "crate"}, nil, 2, []string{"create"}, 0},
		{"nobody special", []string{"user", "create", "q", "--password", "Passw0rd"}, nil, 7, []string{"only an admin"}, 1},
		{"nobody there", []string{"experiment", "list"}, []string{"DET_MASTER=http://127.0.0.1:1"}, 8, []string{"127.0.0.1:1"}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			stdout, stderr, status := r.Run(t, c.env, c.args...)
			if status != c.status {
				t.Errorf("exit status %d, expected %d\n%s%s", status, c.status, stdout, stderr)
			}
			rig.Holds(t, "the error", stderr, c.says...)
			if n := strings.Count(strings.TrimSpace(stderr), "\n") + 1; stderr == "" || c.lines != 0 && n != c.lines {
				t.Errorf("the error has %d lines, expected %s:\n%s", n, strconv.Itoa(c.lines), stderr)
			}
			for _, leak := range []string{"goroutine", "panic", ".go:"} {
				if strings.Contains(stderr, leak) {
					t.Errorf("the error shows %q:\n%s", leak, stderr)
				}
			}
		})
	}
	check()
}
