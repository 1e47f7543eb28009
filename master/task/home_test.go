package task

import (
	"slices"
	"testing"

	"github.com/detent-ml/detent/jobspecs"
	v1 "github.com/detent-ml/detent/master/v1"
)

// TestHomes: a notebook and a shell see the folder of their owner, and begin there; nothing else sees any.
func TestHomes(t *testing.T) {
	s := site()
	for _, kind := range []string{Notebook, Shell, Command, Generic, Tensorboard} {
		a := read(t, Row{ID: "7f.1", Run: 1, TaskID: "7f", Type: kind, OwnerID: 12})
		in := images()
		in.Homes = "/mnt/homes"
		job, err := s.Job(a, nil, in)
		if err != nil {
			t.Fatal(err)
		}
		begins := kind == Notebook || kind == Shell
		mount := jobspecs.Mount{Source: "/mnt/homes/12", Target: homeMount, Create: true}
		if has := slices.Contains(job.Container.Mounts, mount); has != begins || len(job.Container.Mounts) > 1 {
			t.Errorf("a %s in an image has %+v", kind, job.Container.Mounts)
		}
		spec, err := s.Spec(a, Claimed{}, in)
		if err != nil || (spec.Home == homeMount) != begins || (spec.Env["HOME"] == homeMount) != begins || len(spec.BindMounts) != 0 {
			t.Errorf("a %s in an image begins in %q, at home in %q, with %+v: %v", kind, spec.Home, spec.Env["HOME"], spec.BindMounts, err)
		}
		on := processes()
		on.Homes = "/mnt/homes"
		spec, err = s.Spec(a, Claimed{}, on)
		if err != nil || (spec.Home == homeMount) != begins || slices.Contains(spec.BindMounts, v1.BindMount{HostPath: "/mnt/homes/12", ContainerPath: homeMount, Create: true}) != begins {
			t.Errorf("a %s without an image begins in %q, with %+v: %v", kind, spec.Home, spec.BindMounts, err)
		}
	}
	own := read(t, Row{ID: "7f.1", Run: 1, TaskID: "7f", Type: Shell, OwnerID: 12,
		TaskConfig: []byte(`{"description":"d","resources":{"slots":0},"work_dir":"/tmp","environment":{"environment_variables":["HOME=/tmp"]}}`)})
	in := images()
	in.Homes = "/mnt/homes"
	spec, err := s.Spec(own, Claimed{}, in)
	if err != nil || spec.WorkDir != "/tmp" || spec.Home != homeMount || spec.Env["HOME"] != "/tmp" {
		t.Errorf("a shell with a working directory of its own: %q, home %q, HOME %q: %v", spec.WorkDir, spec.Home, spec.Env["HOME"], err)
	}
	in.Homes = ""
	if spec, err = s.Spec(own, Claimed{}, in); err != nil || spec.Home != "" {
		t.Errorf("a pool without homes has %q: %v", spec.Home, err)
	}
}
