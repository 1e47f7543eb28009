package clients

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/detent-ml/detent/integration/rig"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/v1"
)

// TestNotebook: a user starts a notebook with files, waits for it, reads it through the proxy and
// ends it; other users cannot open it.
func TestNotebook(t *testing.T) {
	r := rig.Start(t)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "mine.ipynb"), []byte(`{"cells":[],"metadata":{},"nbformat":4,"nbformat_minor":5}`), 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := r.Det(t, "notebook", "start", "--no-browser", "--context", dir, "--config", "resources.slots=1", "--config", rig.WithPython(rig.PythonOf(t, "notebook")))
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	id := rig.Started(t, out)
	rig.Holds(t, "what it says", out, "Jupyter Notebook is running at: "+r.MasterURL+"/proxy/"+id+"/")
	base := "/proxy/" + id
	if code, body := r.Page(t, r.Client, base+"/api/contents/mine.ipynb"); code != 200 || !strings.Contains(body, `"nbformat"`) {
		t.Errorf("the notebook's file: %d %s", code, body)
	}
	if code, body := r.Page(t, r.Client, base+"/lab"); code != 200 || !strings.Contains(body, "JupyterLab") {
		t.Errorf("the notebook's page: %d %.300s", code, body)
	}
	if code, _ := r.Page(t, nil, base+"/api/contents"); code == 200 {
		t.Error("a caller without a session can open the notebook")
	}
	if got := r.Cell(t, base, rig.CellOfAUser); got != "determined in "+id {
		t.Errorf("a cell printed %q", got)
	}
	ownDet(t, r, base)
	checkEditor(t, r, id)
	list, err := r.Det(t, "notebook", "list", "--csv")
	if err != nil {
		t.Fatal(err)
	}
	rig.Holds(t, "the list", list, id+",determined,JupyterLab (", ",RUNNING,")
	tasks, err := r.Det(t, "task", "list")
	if err != nil {
		t.Fatal(err)
	}
	rig.Holds(t, "the tasks", tasks, id, "JupyterLab (")
	if out, err := r.Det(t, "notebook", "open", "--no-browser", id[:13]); err != nil || !strings.Contains(out, base) {
		t.Errorf("open: %v\n%s", err, out)
	}
	if out, err := r.Det(t, "notebook", "kill", id); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if status := r.Ends(t, "notebook", id); status != "killed by determined" {
		t.Errorf("the notebook's status is %q", status)
	}
	log, err := r.Det(t, "notebook", "logs", id)
	if err != nil {
		t.Fatal(err)
	}
	rig.Holds(t, "its log", log, "Serving notebooks from local directory")
	if code, body := r.Page(t, r.Client, base+"/lab"); code == 200 {
		t.Errorf("the notebook answers after its end: %.200s", body)
	}
}

// editor runs a cell as an editor does that knows only the address of det notebook address: it starts
// a kernel with the header of Jupyter's own client for other servers, and connects to the kernel with the
// token in the address, as VS Code does.
const editor = `
import asyncio, json, sys, urllib.parse, uuid
import websocket
from jupyter_server.gateway.gateway_client import GatewayClient
from jupyter_server.gateway.managers import GatewayKernelManager

address = urllib.parse.urlsplit(sys.argv[1])
token = urllib.parse.parse_qs(address.query)["token"][0]
client = GatewayClient.instance()
client.url = urllib.parse.urlunsplit(address._replace(query="")).rstrip("/")
client.auth_token = token

def run(kernel, code):
    ws = websocket.create_connection(f"{client.ws_url}/api/kernels/{kernel}/channels?session_id={uuid.uuid4()}&token={token}", timeout=60)
    header = {"msg_id": "1", "msg_type": "execute_request", "username": "", "session": "s", "version": "5.3"}
    ws.send(json.dumps({"channel": "shell", "header": header, "parent_header": {}, "metadata": {}, "buffers": [], "content": {"code": code, "silent": False}}))
    printed = ""
    while True:
        said = json.loads(ws.recv())
        if said["parent_header"].get("msg_id") == "1" and said["msg_type"] == "stream":
            printed += said["content"]["text"]
        if said["parent_header"].get("msg_id") == "1" and said["msg_type"] == "status" and said["content"]["execution_state"] == "idle":
            return printed

async def main():
    kernel = GatewayKernelManager()
    await kernel.start_kernel(kernel_name="python3")
    print("printed", run(kernel.kernel_id, "import os; print(os.environ['DET_TASK_ID'])"), end="", flush=True)
    await kernel.shutdown_kernel(now=True)

asyncio.run(main())
`

// checkEditor uses a notebook with the address for editors.
func checkEditor(t *testing.T, r *rig.Rig, id string) {
	t.Helper()
	address, err := r.Det(t, "notebook", "address", id)
	if err != nil {
		t.Fatalf("%v\n%s", err, address)
	}
	cmd := exec.CommandContext(t.Context(), rig.PythonOf(t, "notebook")+"/python", "-c", editor, strings.TrimSpace(address))
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "printed "+id) {
		t.Errorf("a cell in an editor: %v\n%s", err, out)
	}
}

// ownDet: det is there in a notebook, and signed in as its owner without a word.
func ownDet(t *testing.T, r *rig.Rig, base string) {
	t.Helper()
	config := "name: listed in a notebook\nentrypoint: python3 train.py\nsearcher: {name: single, metric: loss, max_length: {batches: 1}}\n"
	paused := false
	made, err := r.Client.CreateExperiment(t.Context(), v1.CreateExperimentRequest{Config: &config, Activate: &paused}, nil)
	if err != nil {
		t.Fatal(err)
	}
	shown := r.Cell(t, base, "import subprocess\nprint(subprocess.run(['det', 'experiment', 'list', '--all'], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True).stdout)")
	rig.Holds(t, "det experiment list in a notebook", shown, strconv.Itoa(made.Experiment.ID), "listed in a notebook", "determined")
	out := r.Cell(t, base, fmt.Sprintf("import subprocess\nprint(subprocess.run(['det', 'experiment', 'kill', '%d'], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True))", made.Experiment.ID))
	rig.Holds(t, "det experiment kill in a notebook", out, "returncode=0")
	rig.Eventually(t, "the experiment is killed", func() (bool, error) {
		e, err := client.Call(t.Context(), r.Client, v1.GetExperiment, made.Experiment.ID)
		return err == nil && e.Experiment.State == v1.ExperimentStateCanceled, err
	})
}

// TestIdleNotebook: a notebook that nobody uses ends after its idle timeout, with this reason.
func TestIdleNotebook(t *testing.T) {
	r := rig.Start(t)
	out, err := r.Det(t, "notebook", "start", "--no-browser", "--config", "resources.slots=0", "--config", "idle_timeout=2s", "--config", rig.WithPython(rig.PythonOf(t, "notebook")))
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if status := r.Ends(t, "notebook", rig.Started(t, out)); status != "ended because it was not used for 2s" {
		t.Errorf("the notebook's status is %q", status)
	}
}

// TestNotebookWithoutJupyter: the user who starts a notebook gets an error that names the missing package,
// without a delay.
func TestNotebookWithoutJupyter(t *testing.T) {
	r := rig.Start(t)
	out, err := r.Det(t, "notebook", "start", "--no-browser", "--config", "resources.slots=0", "--config", rig.WithPython(rig.PythonOf(t, "demo")))
	if err == nil {
		t.Fatalf("the notebook started:\n%s", out)
	}
	rig.Holds(t, "what it says", out, "JupyterLab is not installed for ", "pip install jupyterlab", "ended before it could be used: failed: exit code 1")
}

// TestShell: ssh, with a program and its exit status.
func TestShell(t *testing.T) {
	r := rig.Start(t)
	out, err := r.Det(t, "shell", "start", "--config", "resources.slots=0", "--", `echo "in $DET_TASK_TYPE" of $DET_USER; exit 7`)
	if err == nil || !strings.Contains(err.Error(), "exit status 7") {
		t.Fatalf("%v\n%s", err, out)
	}
	rig.Holds(t, "what it says", out, "in SHELL of determined")
	id := rig.Started(t, out)
	if out, err := r.Det(t, "shell", "open", id, "--", "cat /run/determined/info/cluster.json"); err != nil || !strings.Contains(out, id) {
		t.Errorf("open: %v\n%s", err, out)
	}
	if log, err := r.Det(t, "shell", "logs", id); err != nil || !strings.Contains(log, "Server listening on ") { // scripts search for it
		t.Errorf("the shell's log: %v\n%s", err, log)
	}
	eve := another(t, r, "eve")
	if resp, err := client.Call(t.Context(), eve, v1.GetShell, id); err != nil || resp.Shell.PrivateKey != "" {
		t.Errorf("another user sees the key: %v", err)
	}
	if out, err := r.Det(t, "shell", "kill", id); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if status := r.Ends(t, "shell", id); status != "killed by determined" {
		t.Errorf("the shell's status is %q", status)
	}
}

// another makes a user, once, and signs in as them.
func another(t testing.TB, r *rig.Rig, name string) *client.Client {
	t.Helper()
	admin, err := r.SignIn(t.Context(), "admin")
	if err != nil {
		t.Fatal(err)
	}
	c, err := r.SignIn(t.Context(), name)
	if err == nil {
		return c
	}
	if _, err := admin.CreateUser(t.Context(), v1.User{Username: name, Active: true}, ""); err != nil {
		t.Fatal(err)
	}
	if c, err = r.SignIn(t.Context(), name); err != nil {
		t.Fatal(err)
	}
	return c
}

// TestTensorboard: the curve of a training, through the proxy.
func TestTensorboard(t *testing.T) {
	r := rig.Start(t)
	config := "name: drawing\nentrypoint: python3 train.py\nsearcher: {name: single, metric: loss, max_length: {batches: 5}}\nmax_restarts: 0\n"
	exp := r.Submit(t, config, rig.Script(rig.Drawing))
	r.WaitState(t, exp, v1.ExperimentStateCompleted)
	r.Drawn(t, exp)
}

// TestUnmodifiedClientsTasks: Determined's own command line starts, waits for,
// lists, opens and ends each kind.
func TestUnmodifiedClientsTasks(t *testing.T) {
	r := rig.Start(t)
	u := r.Person(t, "determined", "")
	exp, _ := u.Create(t, "shown", "print('trained')")
	u.Det(t, "experiment", "wait", strconv.Itoa(exp))
	notebook, board := rig.WithPython(rig.PythonOf(t, "notebook")), rig.WithPython(rig.PythonOf(t, "tasks"))
	file := filepath.Join(u.Home, "included.txt")
	if err := os.WriteFile(file, []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	aux := "resources.slots=0"
	for noun, args := range map[string][]string{
		"notebook":    {"start", "--config", notebook, "--config", aux, "--include", file, "--no-browser"},
		"tensorboard": {"start", strconv.Itoa(exp), "--config", board, "--no-browser"},
		"shell":       {"start", "--config", aux, "--detach"},
		"command":     {"run", "--config", aux, "--detach", "sleep", "600"},
	} {
		t.Run(noun, func(t *testing.T) {
			id := theirs(t, u, noun, args...)
			rig.Holds(t, "its configuration", u.Det(t, noun, "config", id), "description:", "resources:")
			u.Det(t, noun, "set", "priority", id, "50")
			switch noun {
			case "shell":
				theirShell(t, r, u, id)
			case "notebook", "tensorboard":
				theirPage(t, r, u, noun, id)
			}
			rig.Holds(t, "kill", u.Det(t, noun, "kill", id[:8]), id)
			if status := r.Ends(t, noun, id); status != "killed by determined" {
				t.Errorf("the task's status is %q", status)
			}
			u.Det(t, noun, "logs", id)
		})
	}
}

// theirPage opens the page with their client. The address that it gives to the
// browser, one of a page that Determined has, leads on to the task's own.
func theirPage(t *testing.T, r *rig.Rig, u rig.Person, noun, id string) {
	shown, browser := filepath.Join(u.Home, noun+".url"), filepath.Join(u.Home, noun+".sh")
	if err := os.WriteFile(browser, []byte("#!/bin/sh\necho \"$1\" >"+shown+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if stdout, stderr, code := u.Run(t, "", "env", "BROWSER="+browser+" %s", u.Client(), noun, "open", id); code != 0 {
		t.Fatalf("open: exit %d\n%s%s", code, stdout, stderr)
	}
	address, err := os.ReadFile(shown)
	if err != nil {
		t.Fatalf("no browser was opened: %v", err)
	}
	path, ours := strings.CutPrefix(strings.TrimSpace(string(address)), r.MasterURL)
	if code, body := r.Page(t, r.Client, path); !ours || code != 200 || !strings.Contains(body, "<html") {
		t.Errorf("%s: %d %.300s", address, code, body)
	}
}

// theirShell logs in with their client, whose tunnel is a program of theirs.
func theirShell(t *testing.T, r *rig.Rig, u rig.Person, id string) {
	stdout, stderr, code := u.Run(t, "", u.Client(), "shell", "open", id, "echo", "in", "$DET_TASK_TYPE")
	if code != 0 || !strings.Contains(stdout, "in SHELL") {
		t.Errorf("a shell of Determined's client: exit %d\n%s%s", code, stdout, stderr)
	}
}
