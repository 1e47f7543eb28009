//go:build linux

package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	v1 "github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/plugins/runner/sandbox"
)

// linkedTo makes a task of a user who is linked to the account ada (1234:1235) of the nodes.
func linkedTo(script string) v1.TaskSpec {
	spec := sh(script)
	spec.Account = &v1.TaskAccount{UID: 1234, GID: 1235, User: "ada", Group: "lab"}
	spec.Files = []v1.TaskFile{{Path: "/run/determined/info/cluster.json", Mode: 0o600, Content: []byte("{}")}, {Path: "/etc/det-test.conf", Mode: 0o600, Content: []byte("conf")}}
	return spec
}

// rights prints who a program is and what it may.
const rights = `
id -u; id -g; id -G; id -un; id -gn; echo "$HOME $USER $LOGNAME"
grep -E '^(Cap|NoNewPrivs)' /proc/self/status | tr -d '\t'
`

// noRights is what it prints of a linked account without capabilities.
var noRights = []string{"CapInh:0000000000000000", "CapPrm:0000000000000000", "CapEff:0000000000000000", "CapBnd:0000000000000000", "CapAmb:0000000000000000", "NoNewPrivs:1"}

// TestALinkedAccount: on a node without containers, hook and program run as the account that their
// owner is linked to, with its files and names, and see nothing of the allocations on the node.
func TestALinkedAccount(t *testing.T) {
	needRoot(t)
	spec := linkedTo(rights + `
echo hooked=$HOOKED; cat code; echo out > /dev/stdout
for f in /run/determined . code /run/determined/info/cluster.json /etc/det-test.conf $DET_SECRETS_DIR/token; do stat -L -c '%u:%g %n' $f; done
cat /etc/det-test.conf; echo; cat $DET_SECRETS_DIR/token; echo
touch new /run/determined/new $DET_BACKLOG_DIR/report $TMPDIR/x && echo wrote
cat $NOMAD_SECRETS_DIR/kept 2>/dev/null || echo "the runner's secrets are closed"
(touch $NOMAD_SECRETS_DIR/new || touch $PYTHONPATH/new) 2>/dev/null || echo "what is not its own is closed"
cat $PYTHONPATH/determined/__init__.py; echo "alloc=$NOMAD_ALLOC_DIR"; ls -d /proc/[0-9]* | wc -l | tr -d ' '
ls -A $HIDDEN; ls $ALLOCATION 2>/dev/null || echo hidden
`)
	spec.ContextURL, spec.Env["DET_HARNESS_URL"] = "/context", "/harness.tgz"
	spec.Secrets = []v1.TaskSecret{{Name: "tracker", Key: "token", File: "token"}}
	r := newRig(t, spec)
	spec.Env["HIDDEN"], spec.Env["ALLOCATION"] = filepath.Dir(r.root), r.root
	r.state.Task(spec)
	if err := os.WriteFile(r.path("main/secrets/kept"), []byte("not for the program"), 0o600); err != nil {
		t.Fatal(err)
	}
	r.write("main/secrets/user-secrets.json", `[{"name": "tracker", "key": "token", "value": "t0ken"}]`)
	r.state.Serve("/context", tgz(t, "startup-hook.sh", "export HOOKED=$(id -u)\n", "code", "sent\n"))
	r.state.Serve("/harness.tgz", tgz(t, "determined/__init__.py", "# ours\n"))
	absent(t, "/etc/det-test.conf", "/run/determined")
	r.run(0)
	want := append([]string{"1234", "1235", "1235", "ada", "lab", "/run/determined/workdir ada ada"}, noRights...)
	want = append(want, "hooked=1234", "sent", "out", "1234:1235 /run/determined", "1234:1235 .", "1234:1235 code", "1234:1235 /run/determined/info/cluster.json",
		"1234:1235 /etc/det-test.conf", "1234:1235 /run/determined/secrets/mounted/token", "conf", "t0ken", "wrote", "the runner's secrets are closed",
		"what is not its own is closed", "# ours", "alloc=")
	got := r.printed()
	if len(got) < len(want) || strings.Join(got[:len(want)], "\n") != strings.Join(want, "\n") {
		t.Fatalf("printed\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
	if got[len(got)-1] != "hidden" || strings.Contains(strings.Join(got[len(want):], " "), filepath.Base(r.root)) {
		t.Errorf("the program sees the allocations: %q", got[len(want):])
	}
	for _, dir := range []string{"alloc", "main"} {
		if info, err := os.Stat(r.path(dir)); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("other accounts may enter %s: %v %v", dir, info, err)
		}
	}
	if !r.said("the program runs as ada (1234:1235)") {
		t.Error("the log does not say as whom it runs")
	}
}

// TestALinkThatTheRunnerDoesNotFollow: a hook leads a file that the runner writes after it to a folder
// of root.
func TestALinkThatTheRunnerDoesNotFollow(t *testing.T) {
	needRoot(t)
	dir, err := os.MkdirTemp("", "det-root-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	spec := linkedTo("echo never")
	spec.ContextURL = "/context"
	r := newRig(t, spec)
	r.state.Serve("/context", tgz(t, "startup-hook.sh", "mv /run/determined/info /run/determined/old; ln -s "+dir+" /run/determined/info\n"))
	r.run(74)
	if e := r.exit(); !strings.Contains(e.Reason, "cannot write the addresses of the members") || !strings.Contains(e.Reason, "permission denied") {
		t.Errorf("%+v", e)
	}
	if _, err := os.Lstat(dir + "/rendezvous.json"); err == nil {
		t.Error("the runner wrote where the program's account may not")
	}
}

// TestMountsOfALinkedAccount: a user's mount needs the rights of the account; a folder that operators
// chose for the user is made for the account.
func TestMountsOfALinkedAccount(t *testing.T) {
	needRoot(t)
	dir, err := os.MkdirTemp("", "det-mounts-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	for path, mode := range map[string]os.FileMode{"": 0o755, "open": 0o777, "closed": 0o700, "closed/below": 0o777, "homes": 0o700} {
		if err := os.MkdirAll(filepath.Join(dir, path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(filepath.Join(dir, path), mode); err != nil {
			t.Fatal(err)
		}
	}
	spec := linkedTo("touch /det-open/new /determined_home/new && pwd")
	spec.Home = "/determined_home"
	spec.BindMounts = []v1.BindMount{{HostPath: dir + "/open", ContainerPath: "/det-open", Create: true},
		{HostPath: dir + "/homes/12", ContainerPath: "/determined_home", Create: true}}
	absent(t, "/det-open", "/determined_home")
	r := newRig(t, spec)
	r.run(0)
	r.expectPrinted("/determined_home")
	for _, path := range []string{"open/new", "homes/12", "homes/12/new"} {
		if out, err := exec.Command("stat", "-c", "%u:%g", filepath.Join(dir, path)).CombinedOutput(); string(out) != "1234:1235\n" {
			t.Errorf("%s belongs to %s: %v", path, out, err)
		}
	}
	other := newRig(t, sh("true"))
	for _, source := range []string{dir + "/closed/below", dir + "/closed/new", other.path("main")} {
		spec := linkedTo("echo never")
		spec.BindMounts = []v1.BindMount{{HostPath: source, ContainerPath: "/det-open", Create: source == dir+"/closed/new"}}
		r := newRig(t, spec)
		r.run(78)
		if e := r.exit(); !strings.Contains(e.Reason, "permission denied") || len(r.printed()) != 0 {
			t.Errorf("%s: %+v", source, e)
		}
	}
}

// hostile is a folder of this test with an open folder, a file in a closed one, and folders of the user.
func hostile(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "det-hostile-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	for _, path := range []string{"open", "closed/below", "homes", "tmp/fixed/kept", "proc/self/fd"} {
		if err := os.MkdirAll(filepath.Join(dir, path), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for path, mode := range map[string]os.FileMode{"": 0o755, "closed": 0o700} {
		if err := os.Chmod(filepath.Join(dir, path), mode); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(dir+"/closed/below/file", []byte("another's\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestAMountAtTheHome: a user's own mount at the path of the folder that operators chose needs the rights of
// the account, too.
func TestAMountAtTheHome(t *testing.T) {
	needRoot(t)
	dir := hostile(t)
	other := newRig(t, sh("true"))
	absent(t, "/determined_home")
	for _, source := range []string{dir + "/closed/below", other.path("main/secrets")} {
		spec := linkedTo("echo never")
		spec.Home = "/determined_home"
		spec.BindMounts = []v1.BindMount{{HostPath: source, ContainerPath: "/determined_home"},
			{HostPath: dir + "/homes/12", ContainerPath: "/determined_home", Create: true}}
		r := newRig(t, spec)
		r.run(78)
		if e := r.exit(); !strings.Contains(e.Reason, "permission denied") || len(r.printed()) != 0 {
			t.Errorf("%s: %+v", source, e)
		}
	}
}

// TestAProcOfTheUser: a mount that covers /proc, by its name or by a link, would lead the runner's next mounts
// to sources that the account may not reach.
func TestAProcOfTheUser(t *testing.T) {
	needRoot(t)
	dir := hostile(t)
	for fd := 3; fd < 100; fd++ {
		if err := os.Symlink(dir+"/closed/below", fmt.Sprintf("%s/proc/self/fd/%d", dir, fd)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/proc", dir+"/open/link"); err != nil {
		t.Fatal(err)
	}
	absent(t, "/det-open")
	for _, target := range []string{"/proc", "/proc/self/fd", dir + "/open/link"} {
		spec := linkedTo("cat /det-open/file")
		spec.Files = nil
		spec.BindMounts = []v1.BindMount{{HostPath: dir + "/proc", ContainerPath: target}, {HostPath: dir + "/open", ContainerPath: "/det-open"}}
		r := newRig(t, spec)
		r.run(78)
		if e := r.exit(); !strings.Contains(e.Reason, "would hide the processes of the task") || len(r.printed()) != 0 {
			t.Errorf("%s: %+v, printed %q", target, e, r.printed())
		}
	}
}

// TestAMountOverTheAllocations: the folder in which the runner, as root, prepares mounts is not below one of
// the user's, even if a mount of the user covers its path.
func TestAMountOverTheAllocations(t *testing.T) {
	needRoot(t)
	dir := hostile(t)
	spec := linkedTo("")
	r := newRig(t, spec)
	above := filepath.Dir(filepath.Dir(r.root))
	spec.Entrypoint = []string{"ls " + above + "/fixed"}
	spec.BindMounts = []v1.BindMount{{HostPath: dir + "/tmp", ContainerPath: above}, {HostPath: dir + "/open", ContainerPath: above + "/fixed/x"}}
	r.state.Task(spec)
	// A user who changes this link while the runner works would choose where root creates files.
	stage := filepath.Join(dir, "tmp", filepath.Base(filepath.Dir(r.root)))
	if err := os.Mkdir(stage, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(dir+"/nowhere", stage+"/.stage"); err != nil {
		t.Fatal(err)
	}
	r.run(0)
	r.expectPrinted("kept", "x")
}

// TestAnAccountThatTheRunnerCannotTake: without root's rights a program starts as the linked account
// only if that is the runner's own.
func TestAnAccountThatTheRunnerCannotTake(t *testing.T) {
	needRoot(t)
	spec := linkedTo("echo never")
	r := newRig(t, spec)
	r.asNobody()
	r.run(74)
	e := r.exit()
	for _, part := range []string{"linked to the account ada (1234:1235)", "det-runner runs as 65534:65534", "CAP_SETUID", "run the Nomad client as root"} {
		if !strings.Contains(e.Reason, part) {
			t.Errorf("%q does not say %q", e.Reason, part)
		}
	}
	spec = sh("id -u")
	spec.Account = &v1.TaskAccount{UID: nobody, GID: nobody, User: "nobody", Group: "nogroup"}
	r = newRig(t, spec)
	r.asNobody()
	r.run(0)
	r.expectPrinted("65534")
	spec.Account = &v1.TaskAccount{User: "root", Group: "root"}
	r = newRig(t, spec)
	r.asNobody()
	r.run(74)
	if e := r.exit(); !strings.Contains(e.Reason, "does not start programs as root") {
		t.Errorf("%+v", e)
	}
}

// TestALinkedAccountUnderExec: Nomad's exec driver starts the runner as nobody, with capabilities, in a
// root directory of its own.
func TestALinkedAccountUnderExec(t *testing.T) {
	needRoot(t)
	setpriv, err := exec.LookPath("setpriv")
	if err != nil {
		t.Skip("setpriv is not installed")
	}
	spec := linkedTo(strings.Replace(rights, "id -un; id -gn; ", "", 1) + "stat -c %u:%g /run/determined . /run/determined/info/cluster.json; touch new /run/determined/new $DET_BACKLOG_DIR/report && echo wrote\n" +
		"(mv /alloc/det /alloc/other || touch /secrets/new || cat /alloc/det/exit.json) 2>/dev/null || echo closed\nsleep 1000 & trap 'echo stopped; exit 3' TERM; kill -TERM $$; wait")
	spec.Files = spec.Files[:1]
	r := newRig(t, spec)
	run, stage := t.TempDir(), t.TempDir()
	r.open(run)
	for _, dir := range []string{r.path("alloc"), r.path("main/local"), r.path("main/secrets"), run} {
		if err := os.Chown(dir, nobody, nobody); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(dir, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	absent(t, "/alloc", "/local", "/secrets")
	out, err := os.Create(r.path("output"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	box, err := sandbox.Open(ctx, sandbox.Setup{Stage: stage, Binds: []sandbox.Bind{
		{Source: r.path("alloc"), Target: "/alloc"}, {Source: r.path("main/local"), Target: "/local"}, {Source: r.path("main/secrets"), Target: "/secrets"},
		{Source: run, Target: "/run"}, {Source: r.self, Target: "/alloc/det-runner"},
	}}, out, out)
	if err != nil {
		t.Fatal(err)
	}
	defer box.Close()
	env := []string{"DET_DRIVER=exec"}
	for _, kv := range r.env {
		kv = strings.Replace(kv, "="+r.path("alloc"), "=/alloc", 1)
		kv = strings.Replace(kv, "="+r.path("main/local"), "=/local", 1)
		env = append(env, strings.Replace(kv, "="+r.path("main/secrets"), "=/secrets", 1))
	}
	// The defaults of Nomad's allow_caps.
	const caps = "+audit_write,+chown,+dac_override,+fowner,+fsetid,+kill,+mknod,+net_bind_service,+setfcap,+setgid,+setpcap,+setuid,+sys_chroot"
	box.Start(sandbox.Command{Argv: []string{setpriv, "--reuid", "65534", "--regid", "65534", "--clear-groups", "--inh-caps", caps, "--ambient-caps", caps,
		"/alloc/det-runner", "run"}, Env: env, Dir: "/"})
	exit, err := box.Wait()
	if content, _ := os.ReadFile(out.Name()); err != nil || exit.Code != 3 {
		t.Fatalf("%+v %v\n%s", exit, err, content)
	}
	want := append([]string{"1234", "1235", "1235", "/run/determined/workdir ada ada"}, noRights...)
	r.expectPrinted(append(want, "1234:1235", "1234:1235", "1234:1235", "wrote", "closed", "stopped")...)
}

// TestAPageOfALinkedAccount: the runner reaches a program's socket in a folder that only the program's
// account may enter.
func TestAPageOfALinkedAccount(t *testing.T) {
	needRoot(t)
	spec := linkedTo("")
	spec.Entrypoint, spec.Shell = []string{"/run/determined/det-runner", "program:serve", "700"}, false
	spec.Gateway = &v1.Gateway{Kind: v1.GatewayOfHTTP, Secret: gateSecret, BasePath: gateBase, ReadyPath: gateBase + "up"}
	r, p, _ := withGateway(t, spec)
	eventually(t, "the page is reported ready", func() bool { return r.reported(http.MethodPost, "/api/v1/allocations/7.trial.1/ready") })
	_ = p.cmd.Process.Signal(os.Interrupt)
	p.wait()
}
