package rig

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/detent-ml/detent/nomad/local"
	"github.com/detent-ml/detent/nomad/servers"
)

// NewOwn prepares a cluster for one test alone: a folder that tasks under other accounts may
// enter, and the programs.
func NewOwn(t *testing.T, name string) (r *Rig, dir string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "detent-"+name+"-")
	if err != nil {
		t.Fatal(err)
	}
	root, err := Root()
	if err := errors.Join(err, os.Chmod(dir, 0o755)); err != nil {
		t.Fatal(err)
	}
	return &Rig{Root: root, Dir: dir, Bin: Programs(t)}, dir
}

// StartCluster starts the cluster and signs in. The cluster ends with the test.
func (r *Rig) StartCluster(t *testing.T, dir string, o local.Options) {
	t.Helper()
	o.StateDir, o.FreePorts = filepath.Join(dir, "cluster"), true
	o.ConsulACL = o.ConsulACL || Guarded() || o.Interface != "" // a master beyond loopback needs it
	o.Master.Binary, o.Master.Runner = filepath.Join(r.Bin, "det-master"), filepath.Join(r.Bin, "det-runner")
	env := map[string]string{"DETENT_HARNESS_PATH": filepath.Join(r.Root, "plugins", "harness"),
		"DETENT_LAUNCH_ERROR": "false"} // tests submit while nodes of their cluster are still joining
	maps.Copy(env, o.Master.Env)
	o.Master.Env = env
	var err error
	r.Cluster, err = local.Up(t.Context(), o, servers.NewReporter(os.Stderr))
	t.Cleanup(func() { RemoveOwn(t, r, dir) })
	if err != nil {
		t.Fatal(err)
	}
	r.Description = r.Describe(t.Context())
	if r.Client, err = r.SignIn(t.Context(), "determined"); err != nil {
		t.Fatal(err)
	}
}

// RemoveOwn removes the cluster of a test, but keeps its folder if the test has failed.
func RemoveOwn(t *testing.T, r *Rig, dir string) {
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	if r.Cluster == nil {
		return
	}
	if t.Failed() {
		t.Logf("the cluster's folder is kept: %s", dir)
		if err := r.Down(ctx, nil); err != nil {
			t.Errorf("could not stop the cluster: %v", err)
		}
		return
	}
	if err := r.Reset(ctx, nil); err != nil {
		t.Errorf("the cluster could not be removed: %v", err)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Error(err)
	}
}
