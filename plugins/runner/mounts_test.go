//go:build linux

package main

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	v1 "github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/plugins/runner/sandbox"
)

// absent fails at the end of a test when a path exists on the host that did not
// at its beginning.
func absent(t *testing.T, paths ...string) {
	t.Helper()
	for _, p := range paths {
		if _, err := os.Lstat(p); err == nil {
			continue
		}
		t.Cleanup(func() {
			if _, err := os.Lstat(p); err == nil {
				t.Errorf("%s was made on the host", p)
			}
		})
	}
}

// mounting is a task with mounts of all kinds, and what it prints.
func mounting(dir string) v1.TaskSpec {
	spec := sh(`
cat /det-test-data/deep/in/file
cat /run/determined/workdir/relative/file
echo written > /determined_shared_fs/out
(echo no > /det-test-data/deep/in/new) 2>/dev/null && echo 'wrote to a read-only mount'
cat /det-test-file.conf /etc/det-test.conf; echo
ls -a / | grep -c det-old
ls /tmp >/dev/null && echo tmp
ls -d /run/determined/train/model/.
df -k /dev/shm | tail -1 | tr -s ' ' | cut -d' ' -f2
`)
	spec.BindMounts = []v1.BindMount{
		{HostPath: dir + "/shared", ContainerPath: "/determined_shared_fs", Create: true},
		{HostPath: dir + "/data", ContainerPath: "/det-test-data/deep/in", ReadOnly: true},
		{HostPath: dir + "/data", ContainerPath: "relative", Propagation: "rslave"},
		{HostPath: dir + "/data/file", ContainerPath: "/det-test-file.conf"},
	}
	spec.Files = []v1.TaskFile{{Path: "/etc/det-test.conf", Mode: 0o644, Content: []byte("conf")}}
	spec.Env["DET_SHM_SIZE"] = "8388608"
	return spec
}

var mounted = []string{"contents", "contents", "contents", "conf", "0", "tmp", "/run/determined/train/model/.", "8192"}

func data(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(dir+"/data", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir+"/data/file", []byte("contents\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

func checkMounts(t *testing.T, r *rig, dir string) {
	t.Helper()
	absent(t, "/determined_shared_fs", "/det-test-data", "/det-test-file.conf", "/etc/det-test.conf", "/run/determined", "/.det-old-root")
	r.run(0)
	r.expectPrinted(mounted...)
	if got, err := os.ReadFile(dir + "/shared/out"); err != nil || string(got) != "written\n" {
		t.Errorf("what the program wrote into its storage: %q %v", got, err)
	}
	if _, err := os.Stat(dir + "/data/new"); err == nil {
		t.Error("a read-only mount was written to")
	}
}

func TestMountsAsRoot(t *testing.T) {
	needRoot(t)
	dir := data(t)
	checkMounts(t, newRig(t, mounting(dir)), dir)
}

// open gives everybody access to what is in a test's folders, for a runner
// that is somebody else.
func (r *rig) open(dirs ...string) {
	r.t.Helper()
	for _, dir := range append(dirs, r.root) {
		for d := dir; len(d) > len(os.TempDir()); d = filepath.Dir(d) {
			if err := os.Chmod(d, 0o777); err != nil {
				r.t.Fatal(err)
			}
		}
		err := filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
			if err != nil {
				return err
			}
			return os.Chmod(path, info.Mode().Perm()|0o666|info.Mode().Perm()&0o100*0o11)
		})
		if err != nil {
			r.t.Fatal(err)
		}
	}
}

// copySelf puts the executable where everybody may run it.
func (r *rig) copySelf() {
	r.t.Helper()
	from, err := os.Open(r.self)
	if err != nil {
		r.t.Fatal(err)
	}
	defer from.Close()
	r.self = r.path("det-runner")
	to, err := os.OpenFile(r.self, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		r.t.Fatal(err)
	}
	if _, err := io.Copy(to, from); err != nil {
		r.t.Fatal(err)
	}
	if err := to.Close(); err != nil {
		r.t.Fatal(err)
	}
}

const nobody = 65534

// asNobody makes the runner somebody without rights.
func (r *rig) asNobody(dirs ...string) {
	r.t.Helper()
	r.copySelf()
	r.open(dirs...)
	if err := os.Chmod(r.self, 0o755); err != nil {
		r.t.Fatal(err)
	}
	r.cred = &syscall.Credential{Uid: nobody, Gid: nobody}
}

func TestMountsWithinAUserNamespace(t *testing.T) {
	needRoot(t)
	dir := data(t)
	spec := mounting(dir)
	spec.Entrypoint[0] += "\nid -u\ngrep CapEff /proc/self/status | tr -d '\\t'\n"
	r := newRig(t, spec)
	r.asNobody(dir)
	if out, err := exec.Command(r.self, "probe").CombinedOutput(); err != nil || !strings.Contains(string(out), `"mount_namespace": true`) {
		t.Skipf("no namespaces here: %s %v", out, err)
	}
	absent(t, "/determined_shared_fs", "/det-test-data")
	p := r.start("run")
	if code := p.wait(); code != 0 && r.said("the system does not allow a process") {
		t.Skip("this system gives nobody a user namespace")
	}
	r.expectPrinted(append(append([]string{}, mounted...), "65534", "CapEff:0000000000000000")...)
}

// powerless is how a container without rights starts its processes.
func powerless(t *testing.T) []string {
	t.Helper()
	needRoot(t)
	path, err := exec.LookPath("setpriv")
	if err != nil {
		t.Skip("setpriv is not installed")
	}
	return []string{path, "--bounding-set", "-all", "--inh-caps", "-all"}
}

func TestWithoutNamespacesTheRunDirectoryMoves(t *testing.T) {
	spec := sh(`pwd; echo $DET_RUN_DIR; cat $DET_RUN_DIR/info/cluster.json; echo; cat $DET_RUN_DIR/info/rendezvous.json; ` + zombies)
	spec.Files = []v1.TaskFile{{Path: "/run/determined/info/cluster.json", Content: []byte("{}")}}
	r := newRig(t, spec)
	r.wrap = powerless(t)
	absent(t, "/run/determined")
	r.run(0)
	run := r.path("main/local/det/run")
	r.expectPrinted(run+"/workdir", run, "{}", `{"container_addrs":["10.1.2.3"],"container_rank":0,"container_slot_counts":[1]}none`)
	if !r.said("cannot be created on this node") {
		t.Fatalf("the log has no warning: %q", r.state.Lines(shipper, "runner"))
	}
}

func TestWithoutNamespacesNothingIsLeftEither(t *testing.T) {
	r := newRig(t, sh(`setsid sh -c 'sleep 64.5 & sleep 64.5' & (sleep 64.5 &) ; echo out`))
	r.wrap = powerless(t)
	r.run(0)
	if running("sleep\x0064.5") {
		t.Fatal("processes are left")
	}
}

func TestWithoutNamespacesAMountNeedsEqualPaths(t *testing.T) {
	dir := data(t)
	spec := sh("cat " + dir + "/data/file")
	spec.BindMounts = []v1.BindMount{{HostPath: dir + "/data", ContainerPath: dir + "/data"}}
	r := newRig(t, spec)
	r.wrap = powerless(t)
	r.run(0)
	r.expectPrinted("contents")
	spec.BindMounts[0].ContainerPath = "/data"
	r = newRig(t, spec)
	r.wrap = powerless(t)
	r.run(78)
	if e := r.exit(); !strings.Contains(e.Reason, "run the Nomad client's raw_exec tasks as root") {
		t.Fatalf("report %+v", e)
	}
}

func TestMountProblems(t *testing.T) {
	needRoot(t)
	dir := data(t)
	for _, c := range []struct {
		name   string
		mount  v1.BindMount
		reason string
	}{
		{"missing source", v1.BindMount{HostPath: dir + "/none", ContainerPath: "/x"}, "does not exist on this node"},
		{"relative source", v1.BindMount{HostPath: "data", ContainerPath: "/x"}, "both paths must be absolute"},
		{"folder on file", v1.BindMount{HostPath: dir + "/data", ContainerPath: "/etc/passwd"}, "must both be folders, or both files"},
		{"below a file", v1.BindMount{HostPath: dir + "/data", ContainerPath: "/etc/passwd/x"}, "/etc/passwd"},
		{"propagation", v1.BindMount{HostPath: dir + "/data", ContainerPath: "/x", Propagation: "upwards"}, "use rprivate"},
	} {
		t.Run(c.name, func(t *testing.T) {
			spec := sh("echo never")
			spec.BindMounts = []v1.BindMount{c.mount}
			r := newRig(t, spec)
			absent(t, "/x")
			r.run(78)
			if e := r.exit(); e.ExitCode != 78 || !strings.Contains(e.Reason, c.reason) {
				t.Fatalf("report %+v, want %q", e, c.reason)
			}
			if len(r.printed()) != 0 {
				t.Fatal("the program ran")
			}
		})
	}
}

func TestAMountPointBesideUserData(t *testing.T) {
	needRoot(t)
	dir := data(t)
	if err := os.Mkdir(dir+"/project", 0o755); err != nil {
		t.Fatal(err)
	}
	spec := sh("cat " + dir + "/project/data/file; echo kept > " + dir + "/project/result")
	spec.BindMounts = []v1.BindMount{{HostPath: dir + "/data", ContainerPath: dir + "/project/data"}}
	r := newRig(t, spec)
	r.run(0)
	r.expectPrinted("contents")
	if got, err := os.ReadFile(dir + "/project/result"); err != nil || string(got) != "kept\n" {
		t.Fatalf("what the program wrote beside its mount is lost: %q %v", got, err)
	}
}

func TestAMountPointOnAReadOnlyFolder(t *testing.T) {
	needRoot(t)
	dir := data(t)
	spec := sh("cat " + dir + "/data/none/file; cat " + dir + "/data/file")
	spec.BindMounts = []v1.BindMount{
		{HostPath: dir + "/data", ContainerPath: dir + "/data", ReadOnly: true},
		{HostPath: dir + "/data", ContainerPath: dir + "/data/none"},
	}
	absent(t, dir+"/data/none")
	r := newRig(t, spec)
	r.run(0)
	r.expectPrinted("contents", "contents")
}

func TestTasksDoNotSeeEachOthersMounts(t *testing.T) {
	needRoot(t)
	gate := t.TempDir() + "/gate"
	if err := syscall.Mkfifo(gate, 0o600); err != nil {
		t.Fatal(err)
	}
	task := func(word, command string) *rig {
		dir := t.TempDir()
		if err := os.WriteFile(dir+"/word", []byte(word+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		spec := sh(command)
		spec.BindMounts = []v1.BindMount{{HostPath: dir, ContainerPath: "/determined_shared_fs"}}
		return newRig(t, spec)
	}
	one := task("one", "read go < "+gate+"; cat /determined_shared_fs/word")
	p := one.start("run")
	eventually(t, "the first is running", func() bool { return len(one.state.Claims()) == 1 })
	two := task("two", "cat /determined_shared_fs/word; echo go > "+gate)
	two.run(0)
	p.expect(0)
	one.expectPrinted("one")
	two.expectPrinted("two")
}

// BenchmarkBox measures a sandbox with mounts, from its request to being ready.
func BenchmarkBox(b *testing.B) {
	needRoot(b)
	stage, source := b.TempDir(), b.TempDir()
	setup := sandbox.Setup{Stage: stage, Binds: []sandbox.Bind{
		{Source: source, Target: "/run/determined"}, {Source: source, Target: "/determined_shared_fs"}, {Source: source, Target: "/det-bench/data"},
	}}
	var opening time.Duration
	for b.Loop() {
		began := time.Now()
		box, err := sandbox.Open(context.Background(), setup, nil, nil)
		if err != nil {
			b.Fatal(err)
		}
		opening += time.Since(began)
		box.Close()
	}
	b.ReportMetric(float64(opening.Microseconds())/float64(b.N)/1000, "ms-to-ready")
}

// TestAFolderThatStays: a task begins in its owner's folder, and the next one finds its files there. The
// code that was sent, with its startup hook, is elsewhere, and a hook in the folder is not run.
func TestAFolderThatStays(t *testing.T) {
	needRoot(t)
	absent(t, "/determined_home", "/run/determined")
	dir := filepath.Join(t.TempDir(), "homes", "12")
	begin := func(script string) *rig {
		spec := sh(script)
		spec.Home, spec.ContextURL = "/determined_home", "/context"
		spec.BindMounts = []v1.BindMount{{HostPath: dir, ContainerPath: "/determined_home", Create: true}}
		r := newRig(t, spec)
		r.state.Serve("/context", tgz(t, "startup-hook.sh", "echo hooked\n", "sent", "sent\n"))
		r.run(0)
		return r
	}
	first := begin(`pwd; echo kept > words; echo 'echo wrong' > startup-hook.sh; cat /run/determined/workdir/sent`)
	first.expectPrinted("hooked", "/determined_home", "sent")
	if !first.said("files in /determined_home remain after this task ends; files that were submitted with the task are in /run/determined/workdir") {
		t.Error("the log does not say what stays")
	}
	begin("cat words; ls").expectPrinted("hooked", "kept", "startup-hook.sh", "words")
	if got, err := os.ReadFile(dir + "/words"); err != nil || string(got) != "kept\n" {
		t.Errorf("the node has %q: %v", got, err)
	}
}
