//go:build linux

package attempt

import (
	"errors"
	"fmt"
	"path/filepath"
	"syscall"
	"time"

	"github.com/detent-ml/detent/master/attempts/leftover"
	"github.com/detent-ml/detent/plugins/runner/sandbox"
)

// resumeModule is the program of the master's Python package that restores and keeps a folder. Object storage is read and written by
// the package alone: det-runner, which every attempt fetches, stays small.
const resumeModule = "determined.exec.resume"

// minKeep is how long keeping a folder may take at least, if the attempt must end.
const minKeep = 2 * time.Second

// restore restores the folder that the attempts of the trial keep, before the program starts.
func (r *run) restore(box *sandbox.Box, t *task) error {
	if r.spec.Resume == "" {
		return nil
	}
	if t.layout.harness == "" {
		return fail(CodePrepare, "resume.path needs the Python package of the master, and this task does not use it: remove DET_SKIP_HARNESS or DET_USE_INSTALLED_HARNESS from environment.environment_variables, or resume from the configuration")
	}
	if err := r.resume(r.stop.ctx.Done(), box, t, "restore"); err != nil {
		return fail(CodePrepare, "the folder %s of resume.path could not be restored: %v", r.spec.Resume, err)
	}
	return nil
}

// keep stores the folder after the program has ended. Rank 0 keeps it for all: every member restores it. If the attempt must end, there is as much time
// as is left for a program.
func (r *run) keep(box *sandbox.Box, t *task) {
	if r.spec.Resume == "" || r.spec.Rank != 0 {
		return
	}
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
	if err := r.resume(late, box, t, "save"); err != nil {
		r.journal.Errorf("the folder %s of resume.path could not be kept, so the next attempt begins from an older state: %v", r.spec.Resume, err)
	}
}

// resume runs the module in the sandbox, until late is closed. It starts in the root directory, so that no file of the user hides a module of Python.
func (r *run) resume(late <-chan struct{}, box *sandbox.Box, t *task, action string) error {
	folder := r.spec.Resume
	if !filepath.IsAbs(folder) {
		folder = filepath.Join(t.dir, folder)
	}
	box.Start(sandbox.Command{Argv: []string{"python3", "-m", resumeModule, action, filepath.Clean(folder)}, Env: list(t.env), Dir: "/"})
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
