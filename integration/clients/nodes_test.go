package clients

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/detent-ml/detent/integration/rig"
	"github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/nomad/local"
)

// TestFourNodes: Determined's own client starts a command, a shell, a notebook and a generic task, each on one
// of four nodes, and reaches all of them through the master: a page and a TCP port of the command; a
// program, files and a forwarded port through the shell. A TensorBoard shows an earlier experiment.
func TestFourNodes(t *testing.T) {
	r := rig.Start(t)
	for _, name := range []string{"second", "third", "fourth"} {
		if err := r.AddClient(t.Context(), local.Client{Name: name}); err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := r.RemoveClient(context.WithoutCancel(t.Context()), name); err != nil {
				t.Error(err)
			}
		}()
	}
	u := r.Person(t, "determined", "")
	exp, _ := u.Create(t, "four", "print('trained')")
	u.Det(t, "experiment", "wait", strconv.Itoa(exp))

	const node = "resources.slots=4" // a whole node
	pages, lines := freePort(t), freePort(t)
	dir := t.TempDir()
	rig.Write(t, dir, "serve.py", portsProgram)
	config := rig.Write(t, u.Home, "command.yaml", fmt.Sprintf("resources: {slots: 4}\nenvironment:\n  proxy_ports:\n  - {proxy_port: %d}\n  - {proxy_port: %d, proxy_tcp: true}\n", pages, lines))
	generic := rig.Write(t, u.Home, "generic.yaml", "entrypoint: [\"echo generic on $DET_AGENT_ID; exec sleep 1000\"]\nresources: {slots: 4}\n")
	f := taskUser{Person: u, t: t, r: r}

	command := theirs(t, u, "command", "run", "--detach", "--config-file", config, "--context", dir, "python3", "serve.py", fmt.Sprint(pages), fmt.Sprint(lines))
	shell := theirs(t, u, "shell", "start", "--detach", "--config", node)
	notebook := theirs(t, u, "notebook", "start", "--no-browser", "--config", node, "--config", rig.WithPython(rig.PythonOf(t, "notebook")))
	task := f.created(u.Det(t, "task", "create", generic))
	f.says(task, "generic on ")
	nodes := map[string]string{} // the task of each node
	for _, id := range []string{command, shell, notebook, task} {
		nodes[nodeOf(t, r, id)] = id
	}
	if len(nodes) != 4 {
		t.Errorf("the tasks are on %v", nodes)
	}

	page := fmt.Sprintf("/proxy/%s:%d/", command, pages)
	rig.Eventually(t, "the command's page is there", func() (bool, error) {
		code, body := r.Page(t, r.Client, page)
		return code == 200 && body == "page "+page+" of "+command, fmt.Errorf("%d %s", code, body)
	})
	env := []string{"HOME=" + u.Home, "DET_MASTER=" + r.MasterURL, "PYTHONUNBUFFERED=1"}
	tunnel, forwarded := freePort(t), freePort(t)
	background(t, env, u.Python, "-m", "determined.cli.tunnel", "--auth", "--listener", fmt.Sprint(tunnel), r.MasterURL, fmt.Sprintf("%s:%d", command, lines))
	rig.Eventually(t, "the client's tunnel reaches the command", func() (bool, error) {
		got, err := says(tunnel, "hello")
		return got == command+" says hello\n", fmt.Errorf("%q: %w", got, err)
	})

	theirShell(t, r, u, shell)
	theirFiles(t, u, shell)
	background(t, env, u.Client(), "shell", "open", shell, "--", "-N", "-L", fmt.Sprintf("%d:127.0.0.1:%d", forwarded, pages))
	rig.Eventually(t, "a port forwarded by ssh reaches the command", func() (bool, error) {
		resp, err := http.Get(fmt.Sprintf("http://127.0.0.1:%d/through", forwarded))
		if err != nil {
			return false, err
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		return string(body) == "page /through of "+command, fmt.Errorf("%s: %w", body, err)
	})
	theirPage(t, r, u, "notebook", notebook)
	board := theirs(t, u, "tensorboard", "start", strconv.Itoa(exp), "--config", rig.WithPython(rig.PythonOf(t, "tasks")), "--no-browser")
	theirPage(t, r, u, "tensorboard", board)

	for noun, id := range map[string]string{"command": command, "shell": shell, "notebook": notebook, "tensorboard": board} {
		u.Det(t, noun, "kill", id)
		r.Ends(t, noun, id)
	}
	u.Det(t, "task", "kill", task)
	f.become(task, v1.GenericTaskStateCanceled)
}

// theirs starts a task with Determined's client, and finds it in the client's list.
func theirs(t *testing.T, u rig.Person, noun string, args ...string) string {
	t.Helper()
	before := map[string]bool{}
	for _, row := range u.Table(t, noun, "list") {
		before[row["id"]] = true
	}
	u.Det(t, append([]string{noun}, args...)...)
	for _, row := range u.Table(t, noun, "list") {
		if !before[row["id"]] {
			return row["id"]
		}
	}
	t.Fatalf("the client's list does not contain the %s", noun)
	return ""
}

// nodeOf waits until a task has a node, and returns it.
func nodeOf(t *testing.T, r *rig.Rig, task string) (node string) {
	t.Helper()
	rig.Eventually(t, "task "+task+" has a node", func() (bool, error) {
		running, err := r.Client.Tasks(t.Context())
		if err != nil {
			return false, err
		}
		for _, a := range running {
			for _, part := range a.Resources {
				for name := range part.AgentDevices {
					if a.TaskID == task {
						node = name
					}
				}
			}
		}
		return node != "", nil
	})
	return node
}

// theirFiles copies a file into a shell and back with scp, and forwards a port of the user's machine to the
// shell, over the command that Determined's client shows.
func theirFiles(t *testing.T, u rig.Person, shell string) {
	t.Helper()
	shown := strings.TrimSpace(u.Det(t, "shell", "show-ssh-command", shell))
	shown = shown[strings.LastIndex(shown, "\n")+1:] // the lines before it report that the shell is ready
	at := strings.LastIndex(shown, " ")
	target := shown[at+1:] // user@shell
	if !strings.HasPrefix(shown, "ssh ") || !strings.HasSuffix(target, "@"+shell) {
		t.Fatalf("the client's ssh command is %q", shown)
	}
	ssh := filepath.Join(u.Home, "ssh.sh")
	if err := os.WriteFile(ssh, []byte("#!/bin/sh\nexec "+strings.Replace(shown[:at], " -tt ", " ", 1)+" \"$@\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	sent, back := rig.Write(t, u.Home, "sent.txt", "a file of "+shell), filepath.Join(u.Home, "back.txt")
	for _, args := range [][]string{{"-q", "-S", ssh, sent, target + ":copied.txt"}, {"-q", "-S", ssh, target + ":copied.txt", back}} {
		if stdout, stderr, code := u.Run(t, "", "scp", args...); code != 0 {
			t.Fatalf("scp %s: exit %d\n%s%s", strings.Join(args, " "), code, stdout, stderr)
		}
	}
	if text, err := os.ReadFile(back); err != nil || string(text) != "a file of "+shell {
		t.Errorf("the file came back as %q: %v", text, err)
	}
	mine := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "the user's machine") }))
	defer mine.Close()
	port := freePort(t)
	ask := fmt.Sprintf(`python3 -c "import urllib.request as u; print(u.urlopen('http://127.0.0.1:%d').read().decode())"`, port)
	stdout, stderr, code := u.Run(t, "", ssh, "-R", fmt.Sprintf("%d:%s", port, mine.Listener.Addr()), target, ask)
	if code != 0 || strings.TrimSpace(stdout) != "the user's machine" {
		t.Errorf("ssh -R: exit %d\n%s%s", code, stdout, stderr)
	}
}
