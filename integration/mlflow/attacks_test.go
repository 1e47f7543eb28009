package mlflow

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/server/servertest"
	v1 "github.com/detent-ml/detent/master/v1"
)

const calls = "/mlflow/api/2.0/mlflow"

// A caller calls a master with a token.
type caller struct {
	t     *testing.T
	m     *servertest.Master
	token string
}

// do makes a call with the path exactly as it is, and returns the status and the body.
func (c caller) do(method, path, body string) (int, string) {
	c.t.Helper()
	req, err := http.NewRequestWithContext(c.t.Context(), method, c.m.Address(), strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	req.URL.Opaque = "//" + req.URL.Host + path
	req.Header.Set("Authorization", "Bearer "+c.token)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		c.t.Error(err)
	}
	return resp.StatusCode, string(text)
}

// want makes a call and checks its status.
func (c caller) want(status int, method, path, body string) string {
	c.t.Helper()
	got, text := c.do(method, path, body)
	if got != status {
		c.t.Errorf("%s %s: %d %s, want %d", method, path, got, text, status)
	}
	return text
}

// run creates a run.
func (c caller) run() string {
	c.t.Helper()
	var made v1.MLflowRunAnswer
	if err := v1.Unmarshal([]byte(c.want(200, "POST", calls+"/runs/create", `{"experiment_id":"0"}`)), &made); err != nil {
		c.t.Fatal(err)
	}
	return made.Run.Info.RunID
}

func file(run, path string) string {
	return "/mlflow/api/2.0/mlflow-artifacts/artifacts/1/" + run + "/artifacts/" + path
}

// stored lists the files below the folder of the checkpoint storage.
func stored(t *testing.T, m *servertest.Master) (names []string) {
	t.Helper()
	err := filepath.WalkDir(m.Storage, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			names = append(names, strings.TrimPrefix(path, m.Storage+"/"))
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	return names
}

// TestFilesStayInTheirFolder: no path leads out of the folder of a run, or to what is no file of it.
func TestFilesStayInTheirFolder(t *testing.T) {
	m := servertest.Start(t, nil)
	me := caller{t, m, m.Client("determined").Token()}
	run := me.run()
	me.want(200, "PUT", file(run, "a/b.txt"), "b")
	for _, path := range []string{"../x", "a/../../x", "%2e%2e/x", "a/%2e%2e/%2e%2e/x", "..%2fx", "%2fetc/x", "/x", "a//x", "a/./x", ".", "..", "x%00y", "x%0ay", `x%5c..%5cy`, "x/",
		"%ff%fe", strings.Repeat("x", 256), strings.Repeat("xxxxxxxxx/", 100) + "x", "%25/%zz"} {
		for _, method := range []string{"PUT", "GET", "DELETE"} {
			if status, text := me.do(method, file(run, path), "x"); status < 400 || status >= 500 {
				t.Errorf("%s %q: %d %s", method, path, status, text)
			}
		}
	}
	for _, path := range []string{"../x", "a/../..", "a//b", "x%00y"} {
		me.want(400, "GET", calls+"/artifacts/list?run_id="+run+"&path="+strings.ReplaceAll(path, "/", "%2f"), "")
	}
	for _, strange := range []string{"0", "-1", "99999999999999999999", "1e3", "../1", "2147483648", "x", "models", "m-" + strings.Repeat("0", 32)} {
		if status, text := me.do("PUT", file(strange, "x"), "x"); status != 404 && status != 400 {
			t.Errorf("run %s: %d %s", strange, status, text)
		}
	}
	me.want(404, "GET", "/mlflow/api/2.0/mlflow-artifacts/artifacts/1/models/m-"+strings.Repeat("f", 32)+"/artifacts/MLmodel", "")
	me.want(404, "PUT", "/mlflow/api/2.0/mlflow-artifacts/artifacts/1/checkpoints/00000000-0000-4000-8000-000000000001/artifacts/x", "x")
	files := stored(t, m)
	if len(files) != 1 || !strings.HasSuffix(files[0], "/a/b.txt") {
		t.Fatalf("stored: %v", files)
	}
	// Links in the folder lead nowhere.
	folder, outside := filepath.Join(m.Storage, strings.TrimSuffix(files[0], "/a/b.txt")), t.TempDir()
	if err := os.Symlink(outside, filepath.Join(folder, "link")); err != nil {
		t.Fatal(err)
	}
	if status, _ := me.do("PUT", file(run, "link/x"), "x"); status < 400 {
		t.Errorf("a link is followed: %d", status)
	}
	if left, err := os.ReadDir(outside); err != nil || len(left) > 0 {
		t.Errorf("outside: %v, %v", left, err)
	}
	// A browser does not run what a program has logged.
	req, err := http.NewRequestWithContext(t.Context(), "GET", m.Address()+file(run, "a/b.txt"), nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+me.token)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if h := resp.Header; h.Get("Content-Disposition") != "attachment" || h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Content-Type") != "application/octet-stream" {
		t.Errorf("%v", h)
	}
	// Too many files.
	if err := m.DB.Exec(t.Context(), `UPDATE checkpoints SET resources = resources || (SELECT jsonb_object_agg('many/' || n, 1) FROM generate_series(1, 9999) n) WHERE logged = 'run'`); err != nil {
		t.Fatal(err)
	}
	me.want(400, "PUT", file(run, "one more"), "x")
	if got := stored(t, m); len(got) != 2 { // with the link
		t.Errorf("stored: %v", got)
	}
}

// TestFilesOfOthers: users write only to their own runs, and programs of trials only to the trial's run and to runs within it.
func TestFilesOfOthers(t *testing.T) {
	results := make(chan string, 1)
	var theirs string
	m := servertest.Start(t, func(ctx context.Context, a *servertest.Attempt) int {
		if a.TrialID == 0 { // it removes files
			return 0
		}
		me := caller{t, a.Master(), a.Token()}
		own := fmt.Sprint(a.TrialID)
		me.want(200, "PUT", file(own, "own.txt"), "own")
		me.want(200, "GET", file(own, "own.txt"), "")
		me.want(403, "PUT", file(theirs, "theirs.txt"), "x")
		me.want(403, "DELETE", file(theirs, "theirs.txt"), "")
		me.want(403, "POST", calls+"/runs/outputs", `{"run_id":"`+theirs+`","models":[]}`)
		me.want(403, "POST", calls+"/logged-models", `{"experiment_id":"1","name":"x","source_run_id":"`+theirs+`"}`)
		var made v1.MLflowRunAnswer
		within := me.want(200, "POST", calls+"/runs/create", `{"experiment_id":"0","tags":[{"key":"mlflow.parentRunId","value":"`+own+`"}]}`)
		if err := v1.Unmarshal([]byte(within), &made); err != nil {
			t.Error(err)
		}
		me.want(200, "PUT", file(made.Run.Info.RunID, "within.txt"), "within")
		model := me.want(200, "POST", calls+"/logged-models", `{"experiment_id":"1","name":"net","source_run_id":"`+own+`"}`)
		me.want(200, "POST", calls+"/registered-models/create", `{"name":"by a trial"}`)
		me.want(200, "POST", calls+"/model-versions/create", `{"name":"by a trial","source":"runs:/`+own+`/own.txt","run_id":"`+own+`"}`)
		results <- model
		return 0
	})
	admin, me := caller{t, m, m.Client("admin").Token()}, caller{t, m, m.Client("determined").Token()}
	theirs = admin.run()
	admin.want(200, "PUT", file(theirs, "theirs.txt"), "theirs")
	me.want(200, "GET", file(theirs, "theirs.txt"), "")
	me.want(403, "PUT", file(theirs, "theirs.txt"), "mine")
	me.want(403, "DELETE", file(theirs, "theirs.txt"), "")
	me.want(403, "PUT", file(theirs, "new.txt"), "mine")

	config, yes := "name: logs\nentrypoint: python3 -V\nsearcher: {name: single, metric: loss, max_length: {batches: 1}}\nresources: {slots_per_trial: 1}\n", true
	made, err := m.Client("determined").CreateExperiment(t.Context(), v1.CreateExperimentRequest{Config: &config, Activate: &yes}, nil)
	if err != nil {
		t.Fatal(err)
	}
	m.Ended(made.Experiment.ID)
	var answer v1.MLflowModelAnswer
	if err := json.Unmarshal([]byte(<-results), &answer); err != nil && answer.Model.Info.ID == "" {
		t.Fatal(err)
	}
	id := answer.Model.Info.ID
	admin.want(200, "GET", calls+"/logged-models/"+id, "")
	stranger := caller{t, m, ""}
	stranger.want(401, "GET", file(theirs, "theirs.txt"), "")
	stranger.want(401, "PUT", file(theirs, "theirs.txt"), "x")
	// Files of a version stay.
	me.want(400, "DELETE", file(answer.Model.Info.SourceRunID, "own.txt"), "")
	me.want(400, "PUT", file(answer.Model.Info.SourceRunID, "own.txt"), "another text")
	if text := me.want(200, "GET", file(answer.Model.Info.SourceRunID, "own.txt"), ""); text != "own" {
		t.Errorf("the file of a version is %q", text)
	}
	me.want(200, "PUT", file(answer.Model.Info.SourceRunID, "further.txt"), "a run logs further files")
	// The files of a run elsewhere go with its experiment, because the master has stored them.
	experiment, err := database.Scalar[int](t.Context(), m.DB, `SELECT experiment_id FROM trials WHERE id = $1::text::int`, theirs)
	if err != nil {
		t.Fatal(err)
	}
	admin.want(200, "POST", calls+"/runs/update", `{"run_id":"`+theirs+`","status":"FINISHED"}`)
	admin.want(200, "DELETE", fmt.Sprintf("/api/v1/experiments/%d", experiment), "")
	m.Until("the removal of the files of a run", func() bool {
		n, err := database.Scalar[int](t.Context(), m.DB, `SELECT count(*)::int FROM removals r JOIN checkpoints k ON k.uuid = r.checkpoint JOIN trials t ON t.id = k.trial_id
			WHERE t.experiment_id = $1 AND k.logged = 'run' AND '**/*' = ANY(r.globs)`, experiment)
		return err == nil && n == 1
	})
}
