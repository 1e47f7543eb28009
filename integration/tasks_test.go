package integration

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/nomad/servers"
	"github.com/detent-ml/detent/nomad/servers/pyenv"
)

// pythonOf is the folder of the programs of one of the project's environments.
func pythonOf(t testing.TB, name string) string {
	t.Helper()
	python, err := pyenv.Named(t.Context(), name, servers.NewReporter(os.Stderr))
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Dir(python)
}

// withPython is the flag by which a task has that Python.
func withPython(dir string) string {
	return fmt.Sprintf(`environment.environment_variables=[PATH=%s:/usr/local/bin:/usr/bin:/bin]`, dir)
}

// started finds the id in what starting a task has printed.
func started(t testing.TB, out string) string {
	t.Helper()
	m := regexp.MustCompile(`\(id: ([0-9a-f-]{36}), name:`).FindStringSubmatch(out)
	if m == nil {
		t.Fatalf("no id in:\n%s", out)
	}
	return m[1]
}

// page reads a page with a token, and takes what a browser would be shown.
func (r *rig) page(t testing.TB, c *client.Client, path string) (int, string) {
	t.Helper()
	header := map[string]string{"Accept": "text/html,*/*"}
	if c != nil {
		header["Authorization"] = "Bearer " + c.Token()
	}
	return r.read(t, r.MasterURL+path, header)
}

// ends waits until a task is over and returns its exit status.
func (r *rig) ends(t testing.TB, noun, id string) string {
	t.Helper()
	status := ""
	eventually(t, noun+" "+id+" is over", func() (bool, error) {
		out, err := r.det(t, noun, "describe", "--json", id)
		if err != nil {
			return false, fmt.Errorf("%w\n%s", err, out)
		}
		var item struct {
			State      string `json:"state"`
			ExitStatus string `json:"exitStatus"`
		}
		if err := json.Unmarshal([]byte(out), &item); err != nil {
			return false, err
		}
		status = item.ExitStatus
		return item.State == string(v1.TaskStateTerminated), fmt.Errorf("it is %s", item.State)
	})
	return status
}

// TestNotebook: started with files, waited for, read through the proxy, ended by
// its owner; and nobody else's.
func TestNotebook(t *testing.T) {
	r := start(t)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "mine.ipynb"), []byte(`{"cells":[],"metadata":{},"nbformat":4,"nbformat_minor":5}`), 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := r.det(t, "notebook", "start", "--no-browser", "--context", dir, "--config", "resources.slots=1", "--config", withPython(pythonOf(t, "notebook")))
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	id := started(t, out)
	holds(t, "what it says", out, "Jupyter Notebook is running at: "+r.MasterURL+"/proxy/"+id+"/")
	base := "/proxy/" + id
	if code, body := r.page(t, r.client, base+"/api/contents/mine.ipynb"); code != 200 || !strings.Contains(body, `"nbformat"`) {
		t.Errorf("its file: %d %s", code, body)
	}
	if code, body := r.page(t, r.client, base+"/lab"); code != 200 || !strings.Contains(body, "JupyterLab") {
		t.Errorf("its page: %d %.300s", code, body)
	}
	if code, _ := r.page(t, nil, base+"/api/contents"); code == 200 {
		t.Error("anybody gets in")
	}
	if got := r.cell(t, base, cellOfAUser); got != "determined in "+id {
		t.Errorf("a cell printed %q", got)
	}
	r.ownDet(t, base)
	list, err := r.det(t, "notebook", "list", "--csv")
	if err != nil {
		t.Fatal(err)
	}
	holds(t, "the list", list, id+",determined,JupyterLab (", ",RUNNING,")
	tasks, err := r.det(t, "task", "list")
	if err != nil {
		t.Fatal(err)
	}
	holds(t, "the tasks", tasks, id, "JupyterLab (")
	if out, err := r.det(t, "notebook", "open", "--no-browser", id[:13]); err != nil || !strings.Contains(out, base) {
		t.Errorf("open: %v\n%s", err, out)
	}
	if out, err := r.det(t, "notebook", "kill", id); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if status := r.ends(t, "notebook", id); status != "killed by determined" {
		t.Errorf("its status is %q", status)
	}
	log, err := r.det(t, "notebook", "logs", id)
	if err != nil {
		t.Fatal(err)
	}
	holds(t, "its log", log, "Serving notebooks from local directory")
	if code, body := r.page(t, r.client, base+"/lab"); code == 200 {
		t.Errorf("it answers after its end: %.200s", body)
	}
}

// ownDet: det is there in a notebook, and signed in as its owner without a word.
func (r *rig) ownDet(t *testing.T, base string) {
	t.Helper()
	config := "name: listed in a notebook\nentrypoint: python3 train.py\nsearcher: {name: single, metric: loss, max_length: {batches: 1}}\n"
	paused := false
	made, err := r.client.CreateExperiment(t.Context(), v1.CreateExperimentRequest{Config: &config, Activate: &paused}, nil)
	if err != nil {
		t.Fatal(err)
	}
	shown := r.cell(t, base, "import subprocess\nprint(subprocess.run(['det', 'experiment', 'list', '--all'], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True).stdout)")
	holds(t, "det experiment list in a notebook", shown, itoa(made.Experiment.ID), "listed in a notebook", "determined")
	out := r.cell(t, base, fmt.Sprintf("import subprocess\nprint(subprocess.run(['det', 'experiment', 'kill', '%d'], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True))", made.Experiment.ID))
	holds(t, "det experiment kill in a notebook", out, "returncode=0")
	eventually(t, "the experiment is killed", func() (bool, error) {
		e, err := r.client.Experiment(t.Context(), made.Experiment.ID)
		return err == nil && e.Experiment.State == v1.ExperimentStateCanceled, err
	})
}

// cellOfAUser asks the master who it is, with what every task is given.
const cellOfAUser = `
import json, os, urllib.request
request = urllib.request.Request(os.environ["DET_MASTER"] + "/api/v1/me", headers={"Authorization": "Bearer " + os.environ["DET_USER_TOKEN"]})
print(json.load(urllib.request.urlopen(request))["user"]["username"], "in", os.environ["DET_TASK_ID"], end="")
`

// cell runs code in a new kernel of a notebook, over its WebSocket, and returns
// what it prints.
func (r *rig) cell(t testing.TB, base, code string) string {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	browser := &http.Client{Jar: jar}
	call := func(method, path, token string) []byte {
		req, err := http.NewRequestWithContext(t.Context(), method, r.MasterURL+base+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+r.client.Token())
		req.Header.Set("X-XSRFToken", token)
		resp, err := browser.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode >= 300 {
			t.Fatalf("%s %s: %s %s %v", method, path, resp.Status, body, err)
		}
		return body
	}
	call(http.MethodGet, "/lab", "")
	home, err := url.Parse(r.MasterURL + base + "/")
	if err != nil {
		t.Fatal(err)
	}
	token := ""
	for _, c := range jar.Cookies(home) {
		if c.Name == "_xsrf" {
			token = c.Value
		}
	}
	var kernel struct{ ID string }
	if err := json.Unmarshal(call(http.MethodPost, "/api/kernels", token), &kernel); err != nil {
		t.Fatal(err)
	}
	ws, resp, err := websocket.DefaultDialer.DialContext(t.Context(), "ws"+strings.TrimPrefix(r.MasterURL, "http")+base+"/api/kernels/"+kernel.ID+"/channels",
		http.Header{"Authorization": {"Bearer " + r.client.Token()}})
	if err != nil {
		t.Fatalf("the kernel's WebSocket: %v %v", err, resp)
	}
	defer ws.Close()
	if err := ws.SetReadDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	ask := map[string]any{"channel": "shell", "header": map[string]any{"msg_id": "1", "msg_type": "execute_request", "username": "", "session": "s", "version": "5.3"},
		"parent_header": map[string]any{}, "metadata": map[string]any{}, "buffers": []any{}, "content": map[string]any{"code": code, "silent": false}}
	if err := ws.WriteJSON(ask); err != nil {
		t.Fatal(err)
	}
	printed := ""
	for {
		var said struct {
			Header struct {
				MsgType string `json:"msg_type"`
			}
			Parent struct {
				MsgID string `json:"msg_id"`
			} `json:"parent_header"`
			Content struct {
				Text      string
				State     string `json:"execution_state"`
				Traceback []string
			}
		}
		if err := ws.ReadJSON(&said); err != nil {
			t.Fatalf("the kernel said no more after %q: %v", printed, err)
		}
		switch said.Header.MsgType {
		case "stream":
			printed += said.Content.Text
		case "error":
			t.Fatalf("the cell failed: %s", strings.Join(said.Content.Traceback, "\n"))
		case "status": // what a cell prints comes before its kernel is idle again
			if said.Parent.MsgID == "1" && said.Content.State == "idle" {
				return printed
			}
		}
	}
}

// TestIdleNotebook: nobody comes, so it ends by itself, and says so.
func TestIdleNotebook(t *testing.T) {
	r := start(t)
	out, err := r.det(t, "notebook", "start", "--no-browser", "--config", "resources.slots=0", "--config", "idle_timeout=2s", "--config", withPython(pythonOf(t, "notebook")))
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if status := r.ends(t, "notebook", started(t, out)); status != "ended because nobody used it for 2s" {
		t.Errorf("its status is %q", status)
	}
}

// TestNotebookWithoutJupyter: the person who started it reads what is missing, at
// once and not after a time.
func TestNotebookWithoutJupyter(t *testing.T) {
	r := start(t)
	out, err := r.det(t, "notebook", "start", "--no-browser", "--config", "resources.slots=0", "--config", withPython(pythonOf(t, "demo")))
	if err == nil {
		t.Fatalf("it started:\n%s", out)
	}
	holds(t, "what it says", out, "JupyterLab is not installed for ", "pip install jupyterlab", "ended before it could be used: failed: exit code 1")
}

// TestShell: ssh, with a program and its exit status.
func TestShell(t *testing.T) {
	r := start(t)
	out, err := r.det(t, "shell", "start", "--config", "resources.slots=0", "--", `echo "in $DET_TASK_TYPE" of $DET_USER; exit 7`)
	if err == nil || !strings.Contains(err.Error(), "exit status 7") {
		t.Fatalf("%v\n%s", err, out)
	}
	holds(t, "what it says", out, "in SHELL of determined")
	id := started(t, out)
	if out, err := r.det(t, "shell", "open", id, "--", "cat /run/determined/info/cluster.json"); err != nil || !strings.Contains(out, id) {
		t.Errorf("open: %v\n%s", err, out)
	}
	eve := r.another(t, "eve")
	if resp, err := eve.Shell(t.Context(), id); err != nil || resp.Shell.PrivateKey != "" {
		t.Errorf("another user sees the key: %v", err)
	}
	if out, err := r.det(t, "shell", "kill", id); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if status := r.ends(t, "shell", id); status != "killed by determined" {
		t.Errorf("its status is %q", status)
	}
}

// another makes a user, once, and signs in as them.
func (r *rig) another(t testing.TB, name string) *client.Client {
	t.Helper()
	admin, err := r.signIn(t.Context(), "admin")
	if err != nil {
		t.Fatal(err)
	}
	c, err := r.signIn(t.Context(), name)
	if err == nil {
		return c
	}
	if _, err := admin.CreateUser(t.Context(), v1.User{Username: name, Active: true}, ""); err != nil {
		t.Fatal(err)
	}
	if c, err = r.signIn(t.Context(), name); err != nil {
		t.Fatal(err)
	}
	return c
}

// drawing writes an event file as trainings do.
const drawing = `
from determined import core
from determined.tensorboard import EventWriter

with core.init(tensorboard_mode=core.TensorboardMode.MANUAL) as ctx:
    writer = EventWriter(ctx.train.get_tensorboard_path())
    for step in range(1, 6):
        writer.add_scalar("loss", 1.0 / step, step)
    writer.close()
    ctx.train.upload_tensorboard_files()
    ctx.train.report_validation_metrics(5, {"loss": 0.2})
`

// TestTensorboard: the curve of a training, through the proxy.
func TestTensorboard(t *testing.T) {
	r := start(t)
	config := "name: drawing\nentrypoint: python3 train.py\nsearcher: {name: single, metric: loss, max_length: {batches: 5}}\nmax_restarts: 0\n"
	exp := r.submit(t, config, script(drawing))
	r.waitState(t, exp, v1.ExperimentStateCompleted)
	r.drawn(t, exp)
}

// drawn opens a TensorBoard of an experiment that ran the program of drawing, reads
// its curve through the proxy, and ends it.
func (r *rig) drawn(t *testing.T, exp int, more ...string) {
	t.Helper()
	out, err := r.det(t, append([]string{"tensorboard", "start", itoa(exp), "--no-browser", "--config", withPython(pythonOf(t, "keras"))}, more...)...)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	id := started(t, out)
	run := fmt.Sprintf("exp_%d/trial_%d", exp, r.trial(t, exp).ID)
	eventually(t, "the run is shown", func() (bool, error) {
		code, body := r.page(t, r.client, "/proxy/"+id+"/data/runs")
		return code == 200 && strings.Contains(body, run), fmt.Errorf("%d %s", code, body)
	})
	if code, body := r.page(t, r.client, "/proxy/"+id+"/data/plugin/scalars/scalars?tag=loss&run="+strings.ReplaceAll(run, "/", "%2F")); code != 200 || strings.Count(body, "[") != 6 {
		t.Errorf("its curve: %d %s", code, body)
	}
	list, err := r.det(t, "tensorboard", "list", "--csv")
	if err != nil {
		t.Fatal(err)
	}
	holds(t, "the list", list, id, fmt.Sprintf(",[%d],[]", exp))
	if out, err := r.det(t, "tensorboard", "kill", id); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if status := r.ends(t, "tensorboard", id); status != "killed by determined" {
		t.Errorf("its status is %q", status)
	}
}

// TestUnmodifiedClientsTasks: Determined's own command line starts, waits for,
// lists, opens and ends each kind.
func TestUnmodifiedClientsTasks(t *testing.T) {
	r := start(t)
	u := r.person(t, "determined", "")
	exp, _ := u.create(t, "shown", "print('trained')")
	u.det(t, "experiment", "wait", itoa(exp))
	notebook, keras := withPython(pythonOf(t, "notebook")), withPython(pythonOf(t, "keras"))
	file := filepath.Join(u.home, "included.txt")
	if err := os.WriteFile(file, []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	aux := "resources.slots=0"
	for noun, args := range map[string][]string{
		"notebook":    {"start", "--config", notebook, "--config", aux, "--include", file, "--no-browser"},
		"tensorboard": {"start", itoa(exp), "--config", keras, "--no-browser"},
		"shell":       {"start", "--config", aux, "--detach"},
		"command":     {"run", "--config", aux, "--detach", "sleep", "600"},
	} {
		t.Run(noun, func(t *testing.T) {
			before := map[string]bool{}
			for _, row := range u.table(t, noun, "list") {
				before[row["id"]] = true
			}
			u.det(t, append([]string{noun}, args...)...)
			id := ""
			for _, row := range u.table(t, noun, "list") {
				if !before[row["id"]] {
					id = row["id"]
				}
			}
			if id == "" {
				t.Fatalf("it is not in their list")
			}
			holds(t, "its configuration", u.det(t, noun, "config", id), "description:", "resources:")
			u.det(t, noun, "set", "priority", id, "50")
			switch noun {
			case "shell":
				theirShell(t, r, u, id)
			case "notebook", "tensorboard":
				theirPage(t, r, u, noun, id)
			}
			holds(t, "kill", u.det(t, noun, "kill", id[:8]), id)
			if status := r.ends(t, noun, id); status != "killed by determined" {
				t.Errorf("its status is %q", status)
			}
			u.det(t, noun, "logs", id)
		})
	}
}

// theirPage opens the page with their client. The address that it gives to the
// browser, one of a page that Determined has, leads on to the task's own.
func theirPage(t *testing.T, r *rig, u theirs, noun, id string) {
	shown, browser := filepath.Join(u.home, noun+".url"), filepath.Join(u.home, noun+".sh")
	if err := os.WriteFile(browser, []byte("#!/bin/sh\necho \"$1\" >"+shown+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if stdout, stderr, code := u.run(t, "", "env", "BROWSER="+browser+" %s", u.client(), noun, "open", id); code != 0 {
		t.Fatalf("open: exit %d\n%s%s", code, stdout, stderr)
	}
	address, err := os.ReadFile(shown)
	if err != nil {
		t.Fatalf("no browser was opened: %v", err)
	}
	path, ours := strings.CutPrefix(strings.TrimSpace(string(address)), r.MasterURL)
	if code, body := r.page(t, r.client, path); !ours || code != 200 || !strings.Contains(body, "<html") {
		t.Errorf("%s: %d %.300s", address, code, body)
	}
}

// theirShell logs in with their client, whose tunnel is a program of theirs.
func theirShell(t *testing.T, r *rig, u theirs, id string) {
	stdout, stderr, code := u.run(t, "", u.client(), "shell", "open", id, "echo", "in", "$DET_TASK_TYPE")
	if code != 0 || !strings.Contains(stdout, "in SHELL") {
		t.Errorf("their shell: exit %d\n%s%s", code, stdout, stderr)
	}
}
