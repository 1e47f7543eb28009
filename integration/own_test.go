package integration

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/detent-ml/detent/nomad/local"
	"github.com/detent-ml/detent/nomad/servers"
)

// newOwn is for a test that needs a cluster of its own: a folder that others may
// enter, and the programs, built once for all tests.
func newOwn(t *testing.T, name string) (r *rig, dir string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "detent-"+name+"-")
	if err != nil {
		t.Fatal(err)
	}
	root, err := filepath.Abs("..")
	if err := errors.Join(err, os.Chmod(dir, 0o755)); err != nil {
		t.Fatal(err)
	}
	r = &rig{root: root, bin: filepath.Join(dir, "bin")}
	if shared.rig != nil {
		r.bin = shared.rig.bin
	} else if err := build(t.Context(), root, r.bin); err != nil {
		t.Fatal(err)
	}
	return r, dir
}

// up starts the cluster and signs in. It goes with the test.
func (r *rig) up(t *testing.T, dir string, o local.Options) {
	t.Helper()
	o.StateDir, o.FreePorts = filepath.Join(dir, "cluster"), true
	o.ACL, o.ConsulACL = o.ACL || guarded(), o.ConsulACL || guarded()
	o.Master.Binary, o.Master.Runner = filepath.Join(r.bin, "det-master"), filepath.Join(r.bin, "det-runner")
	env := map[string]string{"DETENT_HARNESS_PATH": filepath.Join(r.root, "plugins", "harness")}
	maps.Copy(env, o.Master.Env)
	o.Master.Env = env
	var err error
	r.Cluster, err = local.Up(t.Context(), o, servers.NewReporter(os.Stderr))
	t.Cleanup(func() { removeOwn(t, r, dir) })
	if err != nil {
		t.Fatal(err)
	}
	r.Description = r.Describe(t.Context())
	if r.client, err = r.signIn(t.Context(), "determined"); err != nil {
		t.Fatal(err)
	}
}
