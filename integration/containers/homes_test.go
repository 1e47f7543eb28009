package containers

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"

	"github.com/detent-ml/detent/integration/rig"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/v1"
)

// inShell starts a shell of a user, runs a line in it, kills it, and returns what the line printed.
func (d *inContainers) inShell(t *testing.T, c *client.Client, config, line string) string {
	t.Helper()
	made, err := client.Send(t.Context(), c, v1.CreateShell, v1.LaunchShellRequest{Config: v1.Struct(config)})
	if err != nil {
		t.Fatal(err)
	}
	id := made.Shell.ID
	rig.Eventually(t, "the shell is ready", func() (bool, error) {
		task, err := c.Task(t.Context(), id)
		return err == nil && slices.ContainsFunc(task.Allocations, func(a v1.Allocation) bool { return a.IsReady }), err
	})
	key, err := ssh.ParsePrivateKey([]byte(made.Shell.PrivateKey))
	if err != nil {
		t.Fatal(err)
	}
	conn, err := c.DialTask(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	in, channels, requests, err := ssh.NewClientConn(conn, id, &ssh.ClientConfig{User: "root", Auth: []ssh.AuthMethod{ssh.PublicKeys(key)},
		HostKeyCallback: ssh.InsecureIgnoreHostKey()})
	if err != nil {
		t.Fatal(err)
	}
	login := ssh.NewClient(in, channels, requests)
	defer login.Close()
	session, err := login.NewSession()
	if err != nil {
		t.Fatal(err)
	}
	out, err := session.CombinedOutput(line)
	if err != nil {
		t.Errorf("%s: %v: %s", line, err, out)
	}
	if err := client.Act(t.Context(), c, v1.KillShell, id); err != nil {
		t.Error(err)
	}
	d.waitUntilEmpty(t)
	return strings.TrimSpace(string(out))
}

// homes tests that the files of a user's shell are there in the user's next shell and notebook, and in
// nobody else's.
func (d *inContainers) homes(t *testing.T) {
	const config = `{"resources":{"slots":0,"resource_pool":"homes"}}`
	admin, err := d.SignIn(t.Context(), "admin")
	if err != nil {
		t.Fatal(err)
	}
	if got := d.inShell(t, d.Client, config, "echo kept > words; mkdir -p sub; echo $PWD $HOME"); got != "/determined_home /determined_home" {
		t.Errorf("a shell begins in, and has as its home, %q", got)
	}
	if got := d.inShell(t, d.Client, config, "cat words; ls -A"); got != "kept\nsub\nwords" {
		t.Errorf("the next shell of the same user finds %q", got)
	}
	if got := d.inShell(t, admin, config, "ls -A; echo mine > words; cat words; ls -A /determined_home/.. | tail -100"); !strings.HasPrefix(got, "mine\n") || strings.Contains(got, "homes") {
		t.Errorf("a shell of another user finds %q", got)
	}
	if got := d.inShell(t, d.Client, `{"resources":{"slots":0,"resource_pool":"homes"},"work_dir":"/tmp"}`, "pwd; cat /determined_home/words"); got != "/tmp\nkept" {
		t.Errorf("with a working directory of its own a shell finds %q", got)
	}
	if got := d.inShell(t, d.Client, `{"resources":{"slots":0}}`, "pwd; ls -A /"); !strings.HasPrefix(got, "/run/determined/workdir\n") || strings.Contains(got, "determined_home") {
		t.Errorf("in a pool without homes a shell finds %q", got)
	}
	for _, of := range []string{"homes", "homes/1"} {
		out, err := d.Det(t, "cmd", "run", "--config", "resources.slots=0", "--config", fmt.Sprintf("bind_mounts=[{host_path: %s, container_path: /theirs}]", filepath.Join(d.dir, of)), "ls", "/theirs")
		if err == nil || !strings.Contains(out, "is not allowed in this resource pool") {
			t.Errorf("a command may mount %s: %v\n%s", of, err, out)
		}
	}
	d.homeOfNotebook(t)
	d.homeOfAnAccount(t, config)

	list, err := os.ReadDir(filepath.Join(d.dir, "homes"))
	if err != nil || len(list) != 3 {
		t.Errorf("the nodes have %v: %v", list, err)
	}
}

// homeOfNotebook tests that a notebook begins with the files of its owner's shell, beside which the code
// that was sent with it is not.
func (d *inContainers) homeOfNotebook(t *testing.T) {
	venv := filepath.Dir(rig.PythonOf(t, "notebook"))
	config := labConfig(t, venv, `
resources: {slots: 1, resource_pool: homes}
bind_mounts: [{host_path: `+venv+`, container_path: /opt/lab, read_only: true}]
environment:
  environment_variables:
    - PYTHONPATH=/opt/lab/%[1]s
    - JUPYTERLAB_DIR=/opt/lab/share/jupyter/lab
    - JUPYTER_PATH=/opt/lab/share/jupyter
`)
	sent := t.TempDir()
	rig.Write(t, sent, "sent.txt", "sent")
	out, err := d.Det(t, "notebook", "start", "--no-browser", "-c", sent, "--config-file", config)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	id := rig.Started(t, out)
	const cell = `import os; print(os.getcwd(), open("words").read().strip(), sorted(f for f in os.listdir() if not f.startswith(".")), open("/run/determined/workdir/sent.txt").read(), end="")`
	if got := d.Cell(t, "/proxy/"+id, cell); got != "/determined_home kept ['sub', 'words'] sent" {
		t.Errorf("a cell prints %q", got)
	}
	log, err := d.Det(t, "task", "logs", id)
	if err != nil {
		t.Error(err)
	}
	rig.Holds(t, "its log", log, "files in /determined_home remain after this task ends; files that were submitted with the task are in /run/determined/workdir")
	if out, err := d.Det(t, "notebook", "kill", id); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	d.waitUntilEmpty(t)
}

// homeOfAnAccount tests the error of a task whose account may not write to its owner's folder, and
// that the task runs when an administrator has given the folder to the account.
func (d *inContainers) homeOfAnAccount(t *testing.T, config string) {
	owner := d.NewUser(t, "homely", "Passw0rd-of-homely")
	if out, err := d.detAs(t, "admin", "user", "link-with-agent-user", "--agent-uid", "1234", "--agent-gid", "1235",
		"--agent-user", "homely", "--agent-group", "lab", "homely"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	made, err := client.Send(t.Context(), owner, v1.CreateShell, v1.LaunchShellRequest{Config: v1.Struct(config)})
	if err != nil {
		t.Fatal(err)
	}
	rig.Eventually(t, "the shell says that it cannot write", func() (bool, error) {
		log, err := d.detAs(t, "admin", "task", "logs", made.Shell.ID)
		return strings.Contains(log, "/determined_home in the task, cannot be written by the account 1234:1235"), fmt.Errorf("the shell's log: %s (%w)", log, err)
	})
	d.waitUntilEmpty(t)
	if err := os.Chown(filepath.Join(d.dir, "homes", strconv.Itoa(made.Shell.UserID)), 1234, 1235); err != nil {
		t.Fatal(err)
	}
	if got := d.inShell(t, owner, config, "echo $PWD > words; cat words"); got != "/determined_home" {
		t.Errorf("a shell of an account prints %q", got)
	}
}

// homesUnderPodman tests the same under Podman, which makes no folders: an administrator made that of the
// user.
func (d *inContainers) homesUnderPodman(t *testing.T) {
	const config = `{"resources":{"slots":0}}`
	d.inShell(t, d.Client, config, "echo kept > words")
	if got := d.inShell(t, d.Client, config, "echo $PWD; cat words"); got != "/determined_home\nkept" {
		t.Errorf("the next shell of the same user prints %q", got)
	}
}
