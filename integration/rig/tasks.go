package rig

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/detent-ml/detent/jobspecs"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/nomad/servers"
	"github.com/detent-ml/detent/nomad/servers/pyenv"
)

// ServiceOf finds a task's address and port in Consul.
func (r *Rig) ServiceOf(t *testing.T, task string) (host string, port int) {
	t.Helper()
	var found []struct {
		ServiceAddress, Address string
		ServicePort             int
	}
	// Nomad registers a task in Consul some time after its start.
	Eventually(t, "Consul knows where the task is", func() (bool, error) {
		err := json.Unmarshal(r.Get(t, r.ConsulURL+"/v1/catalog/service/"+jobspecs.JobID(task+".1")), &found)
		if err != nil {
			return false, fmt.Errorf("cannot read the answer of Consul: %w", err)
		}
		return len(found) == 1, fmt.Errorf("in Consul are %d services of the task, not one: %v", len(found), found)
	})
	return cmp.Or(found[0].ServiceAddress, found[0].Address), found[0].ServicePort
}

// PythonOf returns the folder with the programs of one of the project's Python environments.
func PythonOf(t testing.TB, name string) string {
	t.Helper()
	python, err := pyenv.Named(t.Context(), name, servers.NewReporter(os.Stderr))
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Dir(python)
}

// WithPython returns the --config value that puts this folder first on a task's PATH.
func WithPython(dir string) string {
	return fmt.Sprintf(`environment.environment_variables=[PATH=%s:/usr/local/bin:/usr/bin:/bin]`, dir)
}

// Started finds the task's id in the output of a det command that started it.
func Started(t testing.TB, out string) string {
	t.Helper()
	m := regexp.MustCompile(`\(id: ([0-9a-f-]{36}), name:`).FindStringSubmatch(out)
	if m == nil {
		t.Fatalf("no id in:\n%s", out)
	}
	return m[1]
}

// Page reads a page through the proxy with the client's token, and follows redirects.
func (r *Rig) Page(t testing.TB, c *client.Client, path string) (int, string) {
	t.Helper()
	header := map[string]string{"Accept": "text/html,*/*"}
	if c != nil {
		header["Authorization"] = "Bearer " + c.Token()
	}
	return r.Read(t, r.MasterURL+path, header)
}

// Ends waits until a task has ended, and returns its exit status.
func (r *Rig) Ends(t testing.TB, noun, id string) string {
	t.Helper()
	status := ""
	Eventually(t, noun+" "+id+" is over", func() (bool, error) {
		out, err := r.Det(t, noun, "describe", "--json", id)
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
		return item.State == string(v1.TaskStateTerminated), fmt.Errorf("the task is %s", item.State)
	})
	return status
}

// CellOfAUser is code for a notebook that asks the master for its user, with the token that
// every task has.
const CellOfAUser = `
import json, os, urllib.request
request = urllib.request.Request(os.environ["DET_MASTER"] + "/api/v1/me", headers={"Authorization": "Bearer " + os.environ["DET_USER_TOKEN"]})
print(json.load(urllib.request.urlopen(request))["user"]["username"], "in", os.environ["DET_TASK_ID"], end="")
`

// Cell runs code in a new kernel of a notebook, over its WebSocket, and returns its output.
func (r *Rig) Cell(t testing.TB, base, code string) string {
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
		req.Header.Set("Authorization", "Bearer "+r.Client.Token())
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
		http.Header{"Authorization": {"Bearer " + r.Client.Token()}})
	if err != nil {
		t.Fatalf("the kernel's WebSocket: %v %v", err, resp)
	}
	defer resp.Body.Close()
	defer ws.Close()
	if err := ws.SetReadDeadline(time.Now().Add(Patience)); err != nil {
		t.Fatal(err)
	}
	ask := map[string]any{"channel": "shell", "header": map[string]any{"msg_id": "1", "msg_type": "execute_request", "username": "", "session": "s", "version": "5.3"},
		"parent_header": map[string]any{}, "metadata": map[string]any{}, "buffers": []any{}, "content": map[string]any{"code": code, "silent": false}}
	if err := ws.WriteJSON(ask); err != nil {
		t.Fatal(err)
	}
	return printedBy(t, ws)
}

// printedBy returns the output of a cell until its kernel is idle again.
func printedBy(t testing.TB, ws *websocket.Conn) string {
	t.Helper()
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
			t.Fatalf("the kernel sent nothing more after %q: %v", printed, err)
		}
		switch said.Header.MsgType {
		case "stream":
			printed += said.Content.Text
		case "error":
			t.Fatalf("the cell failed: %s", strings.Join(said.Content.Traceback, "\n"))
		case "status": // the kernel sends a cell's output before it is idle again
			if said.Parent.MsgID == "1" && said.Content.State == "idle" {
				return printed
			}
		}
	}
}

// Drawing is a program that writes a TensorBoard event file, as trainings do.
const Drawing = `
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

// Drawn opens a TensorBoard of an experiment that ran the program Drawing, checks its curve
// through the proxy, and ends it. Its Python has no TensorFlow, which TensorBoard would import for seconds; frameworks has a TensorBoard that does.
func (r *Rig) Drawn(t *testing.T, exp int, more ...string) {
	t.Helper()
	out, err := r.Det(t, append([]string{"tensorboard", "start", strconv.Itoa(exp), "--no-browser", "--config", WithPython(PythonOf(t, "tasks"))}, more...)...)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	id := Started(t, out)
	run := fmt.Sprintf("exp_%d/trial_%d", exp, r.Trial(t, exp).ID)
	Eventually(t, "the run is shown", func() (bool, error) {
		code, body := r.Page(t, r.Client, "/proxy/"+id+"/data/runs")
		return code == 200 && strings.Contains(body, run), fmt.Errorf("%d %s", code, body)
	})
	Eventually(t, "the run's curve is read", func() (bool, error) { // TensorBoard lists a run before it has read its files
		code, body := r.Page(t, r.Client, "/proxy/"+id+"/data/plugin/scalars/scalars?tag=loss&run="+strings.ReplaceAll(run, "/", "%2F"))
		return code == 200 && strings.Count(body, "[") == 6, fmt.Errorf("%d %s", code, body)
	})
	list, err := r.Det(t, "tensorboard", "list", "--csv")
	if err != nil {
		t.Fatal(err)
	}
	Holds(t, "the list", list, id, fmt.Sprintf(",[%d],[]", exp))
	if out, err := r.Det(t, "tensorboard", "kill", id); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if status := r.Ends(t, "tensorboard", id); status != "killed by determined" {
		t.Errorf("the TensorBoard's status is %q", status)
	}
}
