//go:build linux

package attempt

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/detent-ml/detent/plugins/runner/gateway"
	"github.com/detent-ml/detent/plugins/runner/logs"
	"github.com/detent-ml/detent/plugins/runner/loopback"
	"github.com/detent-ml/detent/plugins/runner/sandbox"
)

// A task is what the runner has prepared for the program.
type task struct {
	layout layout
	setup  sandbox.Setup
	env    map[string]string
	dir    string          // working directory of the program
	socket *gateway.Socket // on which the program listens; nil for a task without a gateway
}

// prepare creates the folders, files and variables of the program, and fetches code and harness at
// the same time. bare marks the second call, on a node that does not permit mounts: it uses what the
// first call has fetched.
func (r *run) prepare(server *loopback.Server, bare bool) (*task, error) {
	l, err := newLayout(r.stop.ctx, r.p, r.spec, r.self, r.account, bare)
	if err != nil {
		return nil, fail(CodePrepare, "%v", err)
	}
	fill := placeholders(r.p, server.URL(), r.token)
	fetching := make(chan error, 1)
	go func() {
		if bare {
			fetching <- nil
			return
		}
		fetching <- errors.Join(fetchContext(r.stop.ctx, r.p, r.masters, r.token, r.spec.ContextURL, l), r.fetchRemover())
	}()
	harness, fetched, err := r.harness(bare)
	if err = errors.Join(<-fetching, err); err != nil {
		if r.stop.asked() {
			return nil, err
		}
		return nil, fail(CodePrepare, "%v", err)
	}
	l.harness, l.fetched = harness, fetched // the fetch of the code, which reads l, has ended
	if l.mountsOnly() && l.fetched {
		l.harness = l.inRun("harness")
	}
	err = l.account.Do(func() error { return errors.Join(link(l, r.spec.BindMounts), pythonShim(&l, r.spec.Prefer)) })
	if err != nil {
		return nil, fail(CodePrepare, "%v", err)
	}
	binds, err := writeFiles(r.p, l, r.spec.Files, fill)
	if err != nil {
		return nil, fail(CodePrepare, "%v", err)
	}
	var env map[string]string
	var socket *gateway.Socket
	err = l.account.Do(func() (err error) {
		env = environ(r.p, r.spec, r.token, server.URL(), server.Port(), l)
		if err = placeDet(l, env); err == nil {
			socket, err = r.makeSocket(l, env)
		}
		if err == nil {
			err = signIn(r.spec, l, env)
		}
		return err
	})
	if err == nil {
		err = mountSecrets(r.p, l, r.spec.Secrets, r.secrets, env)
	}
	if err != nil {
		return nil, fail(CodePrepare, "%v", err)
	}
	if r.spec.Preemption != nil {
		noteTorchrun(l, env)
	}
	restrict(r.p, r.spec, env)
	if err := l.account.Do(func() error { return writeDevices(l, env) }); err != nil {
		return nil, fail(CodePrepare, "%v", err)
	}
	return &task{layout: l, setup: setup(r.p, r.spec, l, binds), env: env, dir: l.workDir, socket: socket}, nil
}

// harness returns the folder of the Python package, and whether it is the master's; again means that an earlier
// call may have downloaded that.
func (r *run) harness(again bool) (dir string, fetched bool, err error) {
	if dir := r.p.local("harness"); again {
		if _, err := os.Stat(dir); err == nil {
			return dir, true, nil
		}
	}
	env := map[string]string{}
	for _, name := range []string{"DET_SKIP_HARNESS", "DET_USE_INSTALLED_HARNESS", "DET_HARNESS", "DET_HARNESS_URL"} {
		env[name] = r.p.Env[name]
		if v, ok := r.spec.Env[name]; ok {
			env[name] = v
		}
	}
	return fetchHarness(r.stop.ctx, r.p, r.masters, r.token, env)
}

// pipes carry the sandbox's output to the backlog.
type pipes struct {
	stdout, stderr *os.File // the sandbox's ends
	readers        []*os.File
	done           sync.WaitGroup
}

func newPipes(r *run) (*pipes, error) {
	p, mask := &pipes{}, logs.NewMask(r.secrets)
	for _, stream := range []struct {
		name string
		end  **os.File
		echo *logs.Echo
	}{{"stdout", &p.stdout, r.stdout}, {"stderr", &p.stderr, r.stderr}} {
		from, to, err := os.Pipe()
		if err != nil {
			return nil, err
		}
		if a := r.account; a != nil { // so that the program may open /dev/stdout
			if err := to.Chown(a.UID, a.GID); err != nil {
				return nil, err
			}
		}
		*stream.end = to
		p.readers = append(p.readers, from)
		p.done.Go(func() {
			if stream.echo == nil {
				logs.Capture(mask.Over(from), stream.name, r.backlog, nil, r.policies.look)
				return
			}
			logs.Capture(mask.Over(from), stream.name, r.backlog, stream.echo, r.policies.look)
		})
	}
	return p, nil
}

// started closes this process's copies of the sandbox's ends.
func (p *pipes) started() {
	_ = p.stdout.Close()
	_ = p.stderr.Close()
}

// drain waits until all output was read, at most 5 s: a process that escaped from its sandbox may
// keep the pipes open.
func (p *pipes) drain() {
	timer := time.AfterFunc(5*time.Second, func() {
		for _, f := range p.readers {
			_ = f.Close()
		}
	})
	p.done.Wait()
	timer.Stop()
}

// signalled describes a program that was ended by a signal that the runner did not send.
func (r *run) signalled(n int) string {
	name := syscall.Signal(n).String()
	if syscall.Signal(n) != syscall.SIGKILL {
		return fmt.Sprintf("the program was ended by signal %d (%s)", n, name)
	}
	if r.starved() {
		return "out of memory: " + r.outOfMemory()
	}
	if r.likelyStarved() {
		return "the program was killed (signal 9), " + r.likelyOutOfMemory()
	}
	return "the program was killed (signal 9) from outside the task: most often by the kernel, when the node runs out of memory"
}
