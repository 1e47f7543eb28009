package clients

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/detent-ml/detent/integration/rig"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/nomad/local"
	"github.com/detent-ml/detent/nomad/servers/turn"
)

// checkpoints is a program that stores a checkpoint.
const checkpoints = `
from determined import core

with core.init() as ctx:
    with ctx.checkpoint.store_path({"steps_completed": 1}) as (path, uuid):
        (path / "state").write_text("one")
    print("CHECKPOINT", uuid, flush=True)
    ctx.train.report_validation_metrics(1, {"loss": 1.0})
`

// A linked person is a user with Determined's own client, whose tasks run as an account of the nodes.
type linked struct {
	taskUser
	client *client.Client
}

// link makes a user, and links the user to an account with Determined's own client.
func link(t *testing.T, r *rig.Rig, admin rig.Person, name string, uid, gid int) linked {
	t.Helper()
	c := r.NewUser(t, name, "Passw0rd-of-"+name)
	admin.Det(t, "user", "link-with-agent-user", "--agent-uid", fmt.Sprint(uid), "--agent-user", name, "--agent-gid", fmt.Sprint(gid), "--agent-group", "lab-of-"+name, name)
	return linked{taskUser{Person: r.Person(t, name, "Passw0rd-of-"+name), t: t, r: r}, c}
}

// runs runs a command to its end, and returns its log.
func (u linked) runs(script string, config ...string) string {
	u.t.Helper()
	args := []string{"cmd", "run", "--config", "resources.slots=0"}
	for _, c := range config {
		args = append(args, "--config", c)
	}
	stdout, stderr, _ := u.Run(u.t, "", u.Client(), append(args, script)...)
	return stdout + stderr
}

// TestLinkedAccounts: with Determined's own client users are linked to accounts of the nodes. Under raw_exec
// and exec their commands, shells, generic tasks and trials run as these accounts, which cannot read
// what belongs to another's tasks.
func TestLinkedAccounts(t *testing.T) {
	turn.First(t)
	if os.Geteuid() != 0 {
		t.Skip("tasks run as other accounts only if Nomad's client is root")
	}
	r := rig.Start(t)
	admin := r.Person(t, "admin", "")
	lina, lars := link(t, r, admin, "lina", 4321, 4322), link(t, r, admin, "lars", 4323, 4324)

	rig.Holds(t, "a command", lina.runs(`id; echo "at home in $HOME as $USER"; grep -E "^(CapEff|NoNewPrivs)" /proc/self/status; touch new /run/determined/new && stat -c "%U of %G" new`),
		"uid=4321(lina) gid=4322(lab-of-lina) groups=4322(lab-of-lina)", "at home in /run/determined/workdir as lina", "CapEff:\t0000000000000000", "NoNewPrivs:\t1", "lina of lab-of-lina")
	lina.shell()
	task := lina.created(lina.Det(t, "task", "create", rig.Write(t, lina.Home, "task.yaml", "entrypoint: [\"id -un; exec sleep 1000\"]\nresources: {slots: 0}\n")))
	lina.says(task, "lina")
	lina.Det(t, "task", "kill", task)
	lina.trial()
	closed(t, r, lina, lars)
	if out, err := r.Det(t, "cmd", "run", "--config", "resources.slots=0", "id -u"); err != nil || !strings.Contains(out, "0\n") {
		t.Errorf("a user without a link runs %v\n%s", err, out)
	}
	t.Run("exec", func(t *testing.T) { underExec(t, r, lina) })
}

// shell logs in with Determined's client.
func (u linked) shell(config ...string) {
	u.t.Helper()
	args := []string{"shell", "start", "--detach", "--config", "resources.slots=0"}
	for _, c := range config {
		args = append(args, "--config", c)
	}
	id := strings.TrimSpace(u.Det(u.t, args...))
	stdout, stderr, code := u.Run(u.t, "", u.Client(), "shell", "open", id, "id -u; id -g; id -G; touch /run/determined/shell && echo wrote; pwd")
	if code != 0 || !strings.Contains(strings.ReplaceAll(stdout, "\r", ""), "4321\n4322\n4322\nwrote\n/run/determined/workdir\n") {
		u.t.Errorf("a shell: exit %d\n%s%s", code, stdout, stderr)
	}
	u.Det(u.t, "shell", "kill", id)
}

// trial stores a checkpoint in a folder of the node that several accounts share.
func (u linked) trial() {
	u.t.Helper()
	dir := filepath.Join(u.r.Dir, "checkpoints")
	// Folders of shared_fs are the operators', who let everybody write.
	if err := errors.Join(os.MkdirAll(dir, 0o755), os.Chmod(dir, 0o777|os.ModeSticky)); err != nil {
		u.t.Fatal(err)
	}
	theirs := &rig.Rig{Cluster: u.r.Cluster, Description: u.r.Description, Client: u.client, Dir: u.r.Dir, Bin: u.r.Bin, Root: u.r.Root}
	id := theirs.Submit(u.t, rig.Config("environment: {environment_variables: [\"PATH=/usr/bin:/bin\"]}\n"), rig.Script(checkpoints))
	theirs.WaitState(u.t, id, v1.ExperimentStateCompleted)
	_, uuid, found := strings.Cut(theirs.Log(u.t, id), "CHECKPOINT ")
	uuid, _, _ = strings.Cut(uuid, "\n")
	info, err := os.Stat(filepath.Join(dir, uuid, "state"))
	if !found || err != nil {
		u.t.Fatalf("no checkpoint: %v\n%s", err, theirs.Log(u.t, id))
	}
	if st, ok := info.Sys().(*syscall.Stat_t); !ok || st.Uid != 4321 || st.Gid != 4322 {
		u.t.Errorf("the checkpoint belongs to %+v", info.Sys())
	}
	u.Det(u.t, "e", "delete", "--yes", fmt.Sprint(id))
	rig.Eventually(u.t, "the files of its checkpoint are gone", func() (bool, error) {
		_, err := os.Stat(filepath.Join(dir, uuid, "state"))
		return errors.Is(err, os.ErrNotExist), err
	})
}

// closed: a program of one account finds nothing of a task of the other that runs beside it, by no path
// and by no mount.
func closed(t *testing.T, r *rig.Rig, lina, lars linked) {
	t.Helper()
	rig.Write(t, lina.Home+"/code", "mine.txt", "the code of lina")
	said := strings.Fields(lina.Det(t, "cmd", "run", "--detach", "--config", "resources.slots=0", "-c", lina.Home+"/code", "exec sleep 1000"))
	var run string
	rig.Eventually(t, "the task of lina runs", func() (bool, error) {
		found, err := filepath.Glob(filepath.Join(r.Dir, "cluster", "alloc", "*", "main", "local", "det", "run", "workdir", "mine.txt"))
		if len(found) == 1 {
			run = filepath.Dir(filepath.Dir(found[0]))
		}
		return run != "", err
	})
	token := filepath.Join(run, "info", "cluster.json")
	script := fmt.Sprintf("for f in %s %s; do cat $f && echo READ; done; ls -A %s; find / -xdev -user 4321 2>/dev/null; echo searched",
		token, filepath.Join(run, "workdir", "mine.txt"), filepath.Join(run, "..", "..", "..", "..", ".."))
	if out := lars.runs(script); strings.Contains(out, "READ") || strings.Contains(out, filepath.Base(filepath.Join(run, "..", "..", "..", ".."))+"\n") ||
		strings.Contains(out, "mine.txt\n") || !strings.Contains(out, "searched") {
		t.Errorf("lars finds of lina's task:\n%s", out)
	}
	if out := lars.runs("echo never", fmt.Sprintf("bind_mounts=[{host_path: %s, container_path: /theirs}]", run)); !strings.Contains(out, "permission denied") || strings.Contains(out, "never\n") {
		t.Errorf("lars mounts the folder of lina's task:\n%s", out)
	}
	if text, err := os.ReadFile(token); err != nil || !strings.Contains(string(text), "session_token") { // the paths above are right
		t.Errorf("%s: %s %v", token, text, err)
	}
	lina.Det(t, "cmd", "kill", said[len(said)-1]) // after the progress of sending the code
}

// underExec: Nomad's exec driver starts runners as nobody, with capabilities.
func underExec(t *testing.T, r *rig.Rig, lina linked) {
	system, err := rig.FindSystemPython(t.Context())
	if err != nil {
		t.Skip(err)
	}
	if err := r.AddClient(t.Context(), local.Client{Name: "accounts", Pool: "lab", Chroot: system.Chroot}); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := r.RemoveClient(context.WithoutCancel(t.Context()), "accounts"); err != nil {
			t.Error(err)
		}
	}()
	lina.t = t
	const lab = "resources.resource_pool=lab"
	rig.Holds(t, "a command", lina.runs(`id -u; id -G; echo "at home in $HOME as $USER"; grep -E "^(CapEff|CapBnd|NoNewPrivs)" /proc/self/status; touch new /run/determined/new && stat -c "%u of %g" new; cat /alloc/det/exit.json; touch /alloc/new`, lab),
		"4321\n", "4322\n", "at home in /run/determined/workdir as lina", "CapEff:\t0000000000000000", "CapBnd:\t0000000000000000", "NoNewPrivs:\t1", "4321 of 4322",
		"/alloc/det/exit.json: Permission denied", "'/alloc/new': Permission denied")
	lina.shell(lab)
}
