//go:build linux

package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"

	v1 "github.com/detent-ml/detent/master/v1"
)

// tgz makes an archive of files with their contents.
func tgz(t *testing.T, files ...string) []byte {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	w := tar.NewWriter(z)
	for i := 0; i < len(files); i += 2 {
		h := &tar.Header{Name: files[i], Mode: 0o755, Size: int64(len(files[i+1])), Typeflag: tar.TypeReg}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(files[i+1])); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestContextAndHarness(t *testing.T) {
	spec := sh("sh train.sh; cat /run/determined/train/model/conf/a; cat $PYTHONPATH/determined/__init__.py")
	spec.ContextURL = "/api/v1/detent/context"
	spec.Env["DET_HARNESS_URL"] = "/harness.tgz"
	r := newRig(t, spec)
	r.state.Serve("/api/v1/detent/context", tgz(t, "train.sh", "echo training\n", "conf/a", "configured\n"))
	r.state.Serve("/harness.tgz", tgz(t, "determined/__init__.py", "# ours\n"))
	r.run(0)
	r.expectPrinted("training", "configured", "# ours")
}

// TestWhereTheHarnessIsExtracted: in memory, without files on the disk, or on the disk if it is large or the node permits
// no mounts. Programs see the same.
func TestWhereTheHarnessIsExtracted(t *testing.T) {
	large := strings.Repeat("x", 17<<20)
	for _, c := range []struct {
		name, content  string
		noMounts, disk bool
	}{{"small", "# ours\n", false, false}, {"large", large, false, true}, {"without mounts", "# ours\n", true, true}} {
		t.Run(c.name, func(t *testing.T) {
			spec := sh(`wc -c <$PYTHONPATH/determined/__init__.py; echo >$PYTHONPATH/determined/new && echo written; grep -c " $PYTHONPATH " /proc/self/mountinfo || true`)
			spec.Env["DET_HARNESS_URL"] = "/harness.tgz"
			r := newRig(t, spec)
			if c.noMounts {
				r.wrap = powerless(t)
			}
			r.state.Serve("/harness.tgz", tgz(t, "determined/__init__.py", c.content))
			r.run(0)
			inMemory := 1
			if c.disk {
				inMemory = 0
			}
			r.expectPrinted(strconv.Itoa(len(c.content)), "written", strconv.Itoa(inMemory))
		})
	}
}

func TestADamagedHarness(t *testing.T) {
	for _, noMounts := range []bool{false, true} {
		spec := sh("echo never")
		spec.Env["DET_HARNESS_URL"] = "/harness.tgz"
		r := newRig(t, spec)
		if noMounts {
			r.wrap = powerless(t)
		}
		r.state.Serve("/harness.tgz", []byte("no archive"))
		r.run(74)
		if e := r.exit(); !strings.Contains(e.Reason, "the Python package") || !strings.Contains(e.Reason, "not gzip") {
			t.Errorf("%+v", e)
		}
	}
}

// TestAHarnessOfTheNode is in a folder that the sandbox would choose too.
func TestAHarnessOfTheNode(t *testing.T) {
	spec := sh("echo path=$PYTHONPATH")
	spec.Env["DET_HARNESS"], spec.Env["DET_HARNESS_URL"] = "/run/determined/harness", "/harness.tgz"
	r := newRig(t, spec)
	r.run(0)
	r.expectPrinted("path=/run/determined/harness")
}

func TestTheHarnessIsLeftOutOnRequest(t *testing.T) {
	for _, name := range []string{"DET_USE_INSTALLED_HARNESS", "DET_SKIP_HARNESS"} {
		spec := sh("echo path=$PYTHONPATH")
		spec.Env["DET_HARNESS_URL"] = "/harness.tgz"
		spec.Env[name] = "1"
		r := newRig(t, spec)
		r.run(0)
		r.expectPrinted("path=")
	}
}

func TestContextAsAMessage(t *testing.T) {
	spec := sh("cat a")
	spec.ContextURL = "/api/v1/tasks/7.trial/context_directory"
	r := newRig(t, spec)
	r.state.Serve(spec.ContextURL, []byte(`{"b64Tgz":"`+base64.StdEncoding.EncodeToString(tgz(t, "a", "from a message\n"))+`"}`))
	r.run(0)
	r.expectPrinted("from a message")
}

func TestAContextThatClimbsOut(t *testing.T) {
	spec := sh("echo never")
	spec.ContextURL = "/context"
	r := newRig(t, spec)
	r.state.Serve("/context", tgz(t, "../../../evil", "x"))
	absent(t, r.path("main/local/evil"), r.path("main/evil"), r.path("evil"))
	r.run(74)
	if e := r.exit(); !strings.Contains(e.Reason, `cannot unpack "../../../evil"`) {
		t.Fatalf("report %+v", e)
	}
}

func TestAContextThatIsNotThere(t *testing.T) {
	spec := sh("echo never")
	spec.ContextURL = "/context"
	r := newRig(t, spec)
	r.state.Serve("/context", []byte("no archive"))
	r.run(74)
	if e := r.exit(); !strings.Contains(e.Reason, "not gzip") {
		t.Fatalf("report %+v", e)
	}
}

func hooked(t *testing.T, hook, command string) *rig {
	t.Helper()
	spec := sh(command)
	spec.ContextURL = "/context"
	r := newRig(t, spec)
	r.state.Serve("/context", tgz(t, "startup-hook.sh", hook, "sub/x", ""))
	return r
}

func TestTheHookPreparesTheProgramsEnvironment(t *testing.T) {
	r := hooked(t, "set -u\nset -- nothing\nexport WORD='two  words'\nunset DET_USER\necho hooked\ncd sub\n", `echo "$WORD"; echo user=$DET_USER; pwd`)
	r.run(0)
	r.expectPrinted("hooked", "two  words", "user=", "/run/determined/workdir/sub")
}

func TestAHookThatExitsWithSuccess(t *testing.T) {
	r := hooked(t, "export WORD=x\nexit 0\n", `echo word=$WORD`)
	r.run(0)
	r.expectPrinted("word=")
}

func TestAFailingHook(t *testing.T) {
	r := hooked(t, "echo trying\n(exit 9)\necho never\n", "echo never")
	r.run(9)
	if e := r.exit(); e.ExitCode != 9 || !strings.Contains(e.Reason, "startup-hook.sh failed with exit code 9") {
		t.Fatalf("report %+v", e)
	}
	r.expectPrinted("trying")
}

// TestTheClustersHook: the cluster's hook runs first, with or without a hook of the user.
func TestTheClustersHook(t *testing.T) {
	with := func(own, cluster, command string) *rig {
		r := hooked(t, own, command)
		spec := sh(command)
		if own != "" {
			spec.ContextURL = "/context"
		}
		spec.Files = []v1.TaskFile{{Path: "/run/determined/dynamic-tcd-startup-hook.sh", Mode: 0o700, Content: []byte(cluster)}}
		r.state.Task(spec)
		return r
	}
	r := with("echo own sees $SITE\nexport SITE=changed\n", "echo cluster\nexport SITE=north\ncd /tmp\n", "echo $SITE in $(pwd)")
	r.run(0)
	r.expectPrinted("cluster", "own sees north", "changed in /tmp")
	r = with("", "export SITE=north\n", "echo $SITE")
	r.run(0)
	r.expectPrinted("north")
	r = with("echo never\n", "(exit 7)\n", "echo never")
	r.run(7)
	if e := r.exit(); !strings.Contains(e.Reason, "the cluster's startup hook, then startup-hook.sh failed with exit code 7") {
		t.Errorf("report %+v", e)
	}
	r.expectPrinted()
}

func TestSIGTERMWhileTheHookRuns(t *testing.T) {
	r := hooked(t, "echo ready\nsleep 60\n", "echo never")
	p := r.start("run")
	eventually(t, "the hook runs", func() bool { return strings.Contains(p.stdout.String(), "ready\n") })
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	p.expect(143)
	if e := r.exit(); !strings.Contains(e.Reason, "stopped while startup-hook.sh ran") {
		t.Fatalf("report %+v", e)
	}
}

func TestAHooksBackgroundProcessServesTheProgram(t *testing.T) {
	fifo := t.TempDir() + "/fifo"
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	r := hooked(t, "(echo served > "+fifo+") &\n", "cat "+fifo)
	r.run(0)
	r.expectPrinted("served")
}

func TestThePoolsPython(t *testing.T) {
	interpreter := t.TempDir() + "/python3.99"
	if err := os.WriteFile(interpreter, []byte("#!/bin/sh\necho ran $0 with \"$@\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	spec := sh("")
	spec.Shell, spec.Entrypoint, spec.Prefer = false, []string{"python3", "-m", "a b"}, interpreter
	r := newRig(t, spec)
	r.run(0)
	r.expectPrinted("ran " + interpreter + " with -m a b")
}

func TestAWorkingDirectoryOfItsOwn(t *testing.T) {
	dir := t.TempDir()
	spec := sh("pwd")
	spec.WorkDir = dir
	r := newRig(t, spec)
	r.run(0)
	r.expectPrinted(dir)
	spec.WorkDir = dir + "/none"
	r = newRig(t, spec)
	r.run(127)
	if e := r.exit(); !strings.Contains(e.Reason, "the working directory "+dir+"/none does not exist") {
		t.Fatalf("report %+v", e)
	}
}

func TestDevicesAreNamed(t *testing.T) {
	spec := sh("cat /run/determined/info/resources.json")
	r := newRig(t, spec)
	r.run(0, "NVIDIA_VISIBLE_DEVICES=GPU-a,GPU-b")
	r.expectPrinted(`{"gpu_uuids":["GPU-a","GPU-b"]}`)
}
