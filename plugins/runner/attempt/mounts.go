//go:build linux

package attempt

import (
	"path/filepath"
	"strconv"

	v1 "github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/plugins/runner/sandbox"
)

// setup is the sandbox of a task.
func setup(p *NomadTask, spec *v1.TaskSpec, l layout, files []sandbox.Bind) sandbox.Setup {
	s := sandbox.Setup{Stage: p.local("stage"), PrivateRoot: p.PrivateRoot, Account: l.account, NoNewPrivs: p.Env["DET_NO_NEW_PRIVS"] == "1"}
	if l.fetched {
		s.Archive = &sandbox.Archive{File: p.local(harnessFile), Dir: p.local("harness")}
	}
	if l.mountsOnly() {
		s.Hide = filepath.Dir(filepath.Dir(p.AllocDir)) // the folder of all allocations
	}
	if l.source != l.runDir {
		s.Binds = append(s.Binds, sandbox.Bind{Source: l.source, Target: l.runDir})
	}
	s.Binds = append(s.Binds, l.ownMounts(p, spec)...)
	for _, b := range spec.BindMounts {
		if b.Link {
			continue // see link
		}
		s.Binds = append(s.Binds, sandbox.Bind{
			Source: b.HostPath, Target: l.relocate(b.ContainerPath),
			ReadOnly: b.ReadOnly, Propagation: b.Propagation, Create: b.Create,
			// Operators choose where the homes are. A user's own mount may have the same target, but asks
			// for no folder to be created.
			Theirs: spec.Home == "" || b.ContainerPath != spec.Home || !b.Create,
		})
	}
	s.Binds = append(s.Binds, files...)
	if n, err := strconv.ParseInt(spec.Env["DET_SHM_SIZE"], 10, 64); err == nil && n > 0 && p.driver() != dockerDriver {
		s.ShmBytes = n // Docker sets the size
	}
	return s
}
