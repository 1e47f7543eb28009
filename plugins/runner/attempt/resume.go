//go:build linux

package attempt

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"syscall"
	"time"

	"github.com/detent-ml/detent/master/attempts/leftover"
	"github.com/detent-ml/detent/master/sleep"
	"github.com/detent-ml/detent/plugins/runner/sandbox"
)

// resumeModule is the program of the master's Python package that restores and keeps a folder. Object storage is read and written by
// the package alone: det-runner, which every attempt fetches, stays small.
const resumeModule = "determined.exec.resume"

// restoring is the action of the module before the program.
const restoring = "restore"

const (
	// minKeep is how long keeping a folder may take at least, if the attempt must end: Python and the client of the storage take a second to start.
	minKeep = 5 * time.Second
	// restGrace is how long the processes that a program has left may run after SIGTERM.
	restGrace = 5 * time.Second
	// killWait is how long a process may take to end by SIGKILL.
	killWait = 5 * time.Second
)

// restore restores the folder that the attempts of the trial keep, before the program starts.
func (r *run) restore(box *sandbox.Box, t *task) error {
	if r.spec.Resume == "" {
		return nil
	}
	if t.layout.harness == "" {
		return fail(CodePrepare, "resume.path needs the Python package of the master, and this task does not use it: remove DET_SKIP_HARNESS or DET_USE_INSTALLED_HARNESS from environment.environment_variables, or resume from the configuration")
	}
	if err := r.resume(r.stop.ctx.Done(), box, t, restoring); err != nil {
		return fail(CodePrepare, "the folder %s of resume.path could not be restored: %v", r.spec.Resume, err)
	}
	return nil
}

// keep stores the folder after the program has ended. Rank 0 keeps it for all: every member restores it. If the attempt must end, there is as much time
// as is left for a program. How the program ended is stored before: if this process dies while it keeps the folder, a
// master reads it on the node.
func (r *run) keep(box *sandbox.Box, t *task, end *ended) {
	if r.spec.Resume == "" || r.spec.Rank != 0 {
		return
	}
	r.note(func(s *state) { s.Ended, s.Stopped = end, r.stop.byNomad() })
	done, late := make(chan struct{}), make(chan struct{})
	defer close(done)
	go func() {
		select {
		case <-done:
			return
		case <-time.After(leftover.Keep):
		case <-r.stop.first:
			select {
			case <-done:
				return
			case <-time.After(max(minKeep, r.grace()-time.Since(r.stop.since()))):
			}
		}
		close(late)
	}()
	if err := r.endRest(box); err != nil {
		r.journal.Errorf("the folder %s of resume.path is not kept, so the next attempt begins from an older state: %v", r.spec.Resume, err)
		return
	}
	if err := r.resume(late, box, t, "save"); err != nil {
		r.journal.Errorf("the folder %s of resume.path could not be kept, so the next attempt begins from an older state: %v", r.spec.Resume, err)
	}
}

// endRest ends the processes that the program has left, so that nothing writes into the folder while it is stored. Those of a program that was
// preempted have got its signal, and have as long as the program had; others get SIGTERM. If the attempt must end, they are killed at once.
func (r *run) endRest(box *sandbox.Box) error {
	wait := restGrace
	if r.stop.signalled.Load() {
		wait = r.stop.preemption.grace // final, because the signal was sent
	} else if alone, err := box.Alone(); err != nil || alone {
		return err
	} else {
		r.journal.Infof("the program has left processes: sending SIGTERM to them, so that %s does not change while it is stored", r.spec.Resume)
		box.Signal(syscall.SIGTERM, true)
	}
	for begun := time.Now(); ; {
		switch alone, err := box.Alone(); {
		case err != nil || alone:
			return err
		case time.Since(begun) > wait+killWait:
			return errors.New("a process that the program has left cannot be killed")
		case time.Since(begun) > wait || r.stop.asked():
			wait = min(wait, time.Since(begun))
			box.Signal(syscall.SIGKILL, true)
		}
		_ = sleep.For(context.Background(), 50*time.Millisecond)
	}
}

// resume runs the module in the sandbox, until late is closed. It starts in the root directory and with the master's
// package alone on PYTHONPATH, so that no file of the user hides a module of Python.
func (r *run) resume(late <-chan struct{}, box *sandbox.Box, t *task, action string) error {
	folder := r.spec.Resume
	if !filepath.IsAbs(folder) {
		folder = filepath.Join(t.dir, folder)
	}
	argv := []string{"python3", "-m", resumeModule, action, filepath.Clean(folder)}
	if action == restoring && r.spec.ResumeFrom != "" {
		argv = append(argv, r.spec.ResumeFrom)
	}
	env := maps.Clone(t.env)
	env["PYTHONPATH"] = t.layout.harness
	box.Start(sandbox.Command{Argv: argv, Env: list(env), Dir: "/"})
	ended, killed := make(chan struct{}), make(chan bool)
	go func() {
		select {
		case <-ended:
			killed <- false
		case <-late:
			box.Signal(syscall.SIGKILL, true)
			killed <- true
		}
	}()
	exit, err := box.Wait()
	close(ended)
	switch stopped := <-killed; {
	case err != nil:
		return err
	case exit.Failed != "":
		return errors.New(exit.Failed + r.hint([]string{"python3"}))
	case exit.Code != 0 && stopped:
		return errors.New("there was no more time")
	case exit.Code != 0:
		return fmt.Errorf("exit code %d; the lines before this one say why", exit.Code)
	}
	return nil
}
