//go:build linux

package main

import (
	"context"
	"os"
	"strings"
	"testing"

	v1 "github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/plugins/runner/sandbox"
)

// TestUnderADriverThatIsolates runs the runner as docker and exec do: in a root directory of its
// own, in which the driver has made the mounts.
func TestUnderADriverThatIsolates(t *testing.T) {
	needRoot(t)
	dir := data(t)
	spec := sh(`pwd; pwd -P; cat /data/file; cat /det-own.conf; echo $PYTHONUSERBASE; touch /run/determined/workdir/written`)
	spec.BindMounts = []v1.BindMount{{HostPath: "/only/on/the/node", ContainerPath: "/data"}}
	spec.Files = []v1.TaskFile{{Path: "/det-own.conf", Content: []byte("own\n")}}
	absent(t, "/det-own.conf", "/alloc", "/local", "/data")
	r := newRig(t, spec)
	run := t.TempDir()
	stage := t.TempDir()
	out, err := os.Create(r.path("output"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	box, err := sandbox.Open(ctx, sandbox.Setup{Stage: stage, Binds: []sandbox.Bind{
		{Source: r.path("alloc"), Target: "/alloc"},
		{Source: r.path("main/local"), Target: "/local"},
		{Source: r.path("main/secrets"), Target: "/secrets"},
		{Source: dir + "/data", Target: "/data"},
		{Source: run, Target: "/run"},
	}}, out, out)
	if err != nil {
		t.Fatal(err)
	}
	defer box.Close()
	var env []string
	for _, kv := range r.env {
		kv = strings.Replace(kv, "="+r.path("alloc"), "=/alloc", 1)
		kv = strings.Replace(kv, "="+r.path("main/local"), "=/local", 1)
		env = append(env, strings.Replace(kv, "="+r.path("main/secrets"), "=/secrets", 1))
	}
	box.Start(sandbox.Command{Argv: []string{r.self, "run"}, Env: env, Dir: "/"})
	exit, err := box.Wait()
	if err != nil || exit.Code != 0 {
		content, _ := os.ReadFile(out.Name())
		t.Fatalf("%+v %v\n%s", exit, err, content)
	}
	r.expectPrinted("/run/determined/workdir", "/run/determined/workdir", "contents", "own", "/run/determined/pythonuserbase")
	if _, err := os.Stat(run + "/determined/workdir/written"); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(strings.Join(r.state.Lines(shipper, "runner"), "\n"), "warning") {
		t.Fatalf("%q", r.state.Lines(shipper, "runner"))
	}
}

// TestMountsOfRootWithoutItsRights is root that may not mount, as in Nomad's exec
// driver: a user namespace in which everybody stays who they are.
func TestMountsOfRootWithoutItsRights(t *testing.T) {
	needRoot(t)
	wrap := powerless(t)
	wrap[2] = "-sys_admin"
	dir := data(t)
	r := newRig(t, mounting(dir))
	r.wrap = wrap
	checkMounts(t, r, dir)
}
