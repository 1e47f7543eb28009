//go:build linux

package attempt

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	v1 "github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/plugins/runner/account"
	"github.com/detent-ml/detent/plugins/runner/gateway"
	"github.com/detent-ml/detent/plugins/runner/logs"
	"github.com/detent-ml/detent/plugins/runner/loopback"
	"github.com/detent-ml/detent/plugins/runner/masters"
	"github.com/detent-ml/detent/plugins/runner/sandbox"
)

// Exit statuses of a runner whose program did not run, for operators; the log has the details.
// The master uses the report instead.
const (
	CodeMisplaced = 64 // not started by a job of the master's
	CodePrepare   = 74 // cannot fetch or write code, harness or files
	CodeRefused   = 75 // the master rejected the claim
	CodeMounts    = 78 // the sandbox could not be built
	CodeUnfit     = 79 // the node lacks the devices of the attempt
	CodeInternal  = 70
	codeStopped   = 143 // 128 + SIGTERM
	codeKilled    = 137 // 128 + SIGKILL
)

// A Process is what the runner's main function passes.
type Process struct {
	Env            []string
	Stdout, Stderr io.Writer
	Signals        <-chan os.Signal // Nomad stops the task with signals
	Self           string           // path of this executable
	Claimant       *Claimant
}

// A run is an attempt in progress.
type run struct {
	p         *NomadTask
	self      string
	spec      *v1.TaskSpec
	token     string
	masters   *masters.List
	journal   *logs.Journal
	backlog   *logs.Backlog
	stop      *stopper
	gateway   *gateway.Server // nil: its port cannot be opened
	policies  *policyWatch
	noting    sync.Mutex // protects state while the program runs
	state     state
	oom       tally    // kills by the kernel before the program began
	secrets   []string // values of spec.Secrets
	client    *nomadClient
	gaveWay   *ended           // the end of a program that a signal preempted
	over      atomic.Bool      // the program has ended
	abandoned atomic.Bool      // nobody has answered for so long that another attempt may begin
	account   *account.Account // as which the program runs; nil: that of this process

	stdout, stderr *logs.Echo // nil: the program's output is not copied
}

// Attempt runs one attempt from claim to report. It returns the exit status.
func Attempt(proc Process) int {
	own := logs.NewEcho(proc.Stderr)
	defer own.Close(time.Second)
	journal := logs.NewJournal(own)
	stop, release := newStopper(proc.Signals)
	defer release()
	p, err := ReadNomadTask(stop.ctx, proc.Env)
	if err != nil {
		journal.Errorf("%v", err)
		return CodeMisplaced
	}
	list, err := masters.New(p.Masters)
	if err != nil {
		journal.Errorf("%v", err)
		return CodeMisplaced
	}
	defer list.Close()
	certificate, err := gateway.NewCertificate()
	if err != nil {
		journal.Errorf("%v", err)
		return CodeInternal
	}
	gw := serveGateway(stop.ctx, &p, certificate, journal)
	if gw != nil {
		defer gw.Close()
	}

	claimed, err := proc.Claimant.claim(stop.ctx, question{Certificate: certificate.Fingerprint})
	var refusal *masters.Refusal
	switch {
	case err == nil:
	case stop.asked():
		journal.Infof("%v", errStopped)
		return codeStopped
	case errors.As(err, &refusal):
		journal.Errorf("the master rejected this attempt; nothing is started: %s", refusal.Message)
		return CodeRefused
	default:
		journal.Errorf("the claim failed: %v", err)
		return CodeInternal
	}
	r := &run{p: &p, self: proc.Self, spec: &claimed.Spec, token: claimed.Token, masters: list, journal: journal, stop: stop, gateway: gw}
	if claimed.Spec.Env["DET_SHIPPER_EMIT_STDOUT_LOGS"] != "0" {
		r.stdout, r.stderr = logs.NewEcho(proc.Stdout), logs.NewEcho(proc.Stderr)
		defer r.stdout.Close(time.Second)
		defer r.stderr.Close(time.Second)
	}
	return r.course()
}

// course runs everything after the claim.
func (r *run) course() int {
	r.state = state{
		AllocationID: r.spec.AllocationID, TaskID: r.spec.TaskID, Rank: r.spec.Rank,
		Shipper: r.p.NomadAllocID + "/" + strconv.Itoa(r.spec.Rank), Token: r.token,
	}
	r.save()
	backlog := logs.NewBacklog(r.p.shared("logs"), logs.Limits{Disk: bytesOf(r.p.Env["DET_LOG_BACKLOG_MAX_BYTES"])})
	r.backlog = backlog
	defer backlog.Close()
	r.journal.Attach(backlog)
	if r.spec.Begins != "" {
		r.journal.Infof("%s", r.spec.Begins)
	}
	shipper := logs.NewShipper(backlog, r.batchHead(), logSender(r.masters, r.token, &r.over), func(err error) {
		r.journal.Errorf("%v", err)
	})
	shipping, stopShipping := context.WithCancel(context.Background())
	defer stopShipping()
	r.watchNomad(shipping)
	go shipper.Run(shipping, 0)
	go r.watch(shipping)
	r.policies = newPolicyWatch(r)
	go r.policies.tell(shipping)
	noted := r.noteStop()

	end := r.execute()
	r.blameDisk(end)
	r.blameNode(end)
	noted()
	r.state.Ended, r.state.Stopped = end, r.stop.byNomad()
	r.finish(shipper)
	stopShipping()
	<-shipper.Done()
	return r.state.Ended.Code
}

func bytesOf(s string) int64 {
	n, _ := strconv.ParseInt(s, 10, 64) // 0 is the default
	return n
}

func (r *run) batchHead() v1.LogBatch {
	return v1.LogBatch{AllocationID: r.state.AllocationID, TaskID: r.state.TaskID, Shipper: r.state.Shipper}
}

// save stores what a master needs to know if this process is killed.
func (r *run) save() {
	if err := r.state.save(r.p); err != nil {
		r.journal.Warnf("if this process is killed, nobody will know how the attempt ended: %v", err)
	}
}

// note changes and stores the state while the program runs.
func (r *run) note(change func(*state)) {
	r.noting.Lock()
	defer r.noting.Unlock()
	change(&r.state)
	r.save()
}

// noteStop stores at once that Nomad has stopped the task: this process may be killed before it
// can report the stop. The returned function ends it.
func (r *run) noteStop() (end func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		select {
		case <-ctx.Done():
			return
		case <-r.stop.first:
		}
		if r.stop.byNomad() {
			r.note(func(s *state) { s.Stopped = true })
		}
	}()
	return func() { cancel(); <-done }
}

// A failure is a step that ended the attempt.
type failure struct {
	code   int
	reason string
	unfit  bool // a fault of the node: the attempt may succeed on another
}

func (f *failure) Error() string { return f.reason }

func fail(code int, format string, args ...any) error {
	return &failure{code: code, reason: fmt.Sprintf(format, args...)}
}

// execute runs the attempt to its end, and returns how it ended.
func (r *run) execute() *ended {
	server, err := loopback.Listen(loopback.Config{
		Masters: r.masters, SpillDir: r.p.local("spill"),
		Tokens: []string{r.token, r.spec.Env["DET_USER_TOKEN"], r.spec.Env["DET_NOTEBOOK_TOKEN"]},
	})
	if err != nil {
		return r.end(err)
	}
	defer server.Close()
	code, err := r.within(server)
	switch {
	case r.gaveWay != nil:
		r.journal.Infof("preempted: %s", r.gaveWay.Reason)
		return r.gaveWay
	case err != nil && r.stop.early():
		why := errPreempted.Error()
		if f := new(failure); errors.As(err, &f) && !strings.Contains(f.reason, why) && !strings.Contains(f.reason, context.Canceled.Error()) { // of the step that was running
			why += ": " + f.reason
		}
		r.journal.Infof("%s", why)
		return &ended{Code: codeStopped, Reason: why, Preempted: v1.PreemptedExited}
	case err != nil:
		return r.end(err)
	}
	r.conclude(code)
	return &ended{Code: code}
}

// conclude says how the program ended, in the words of Determined's master, for which scripts
// search logs.
func (r *run) conclude(code int) {
	switch {
	case code == 0:
		r.journal.Infof("the program ended with exit code 0: resources exited successfully with a zero exit code")
	case r.stop.asked():
		r.journal.Infof("killed: the program ended with exit code %d: %s", code, r.stop.reason())
	default:
		r.journal.Errorf("crashed: resources failed with non-zero exit code: container failed with non-zero exit code: %d (exit code %d)", code, code)
	}
}

// endOf is the end of an attempt, from what outcome returned.
func (r *run) endOf(code int, err error) *ended {
	switch {
	case r.gaveWay != nil:
		return r.gaveWay
	case err == nil:
		return &ended{Code: code}
	}
	f := r.failureOf(err)
	return &ended{Code: f.code, Reason: f.reason, Unfit: f.unfit}
}

func (r *run) failureOf(err error) *failure {
	var f *failure
	switch {
	case errors.As(err, &f):
		return f
	case r.stop.asked():
		return &failure{code: codeStopped, reason: errStopped.Error() + ": " + r.stop.reason()}
	}
	return &failure{code: CodeInternal, reason: err.Error()}
}

// end reports the end of an attempt whose program did not exit by itself.
func (r *run) end(err error) *ended {
	f := r.failureOf(err)
	if r.stop.asked() {
		r.journal.Errorf("killed: %s (exit code %d)", f.reason, f.code)
	} else {
		r.journal.Errorf("crashed: resources failed with non-zero exit code: %s (exit code %d)", f.reason, f.code)
	}
	return &ended{Code: f.code, Reason: f.reason, Unfit: f.unfit}
}

// within prepares the task and runs hook and program. The code is that of the program; every
// other end is an error.
func (r *run) within(server *loopback.Server) (int, error) {
	if err := checkDevices(r.stop.ctx, r.p, r.spec); err != nil {
		if r.stop.asked() {
			return 0, err
		}
		return 0, &failure{code: CodeUnfit, unfit: true, reason: fmt.Sprintf("the task does not see the GPUs that it was assigned: %v", err)}
	}
	if err := r.readIdentity(); err != nil {
		return 0, fail(CodePrepare, "%v", err)
	}
	t, err := r.prepare(server, false)
	if err != nil {
		return 0, err
	}
	out, err := newPipes(r)
	if err != nil {
		return 0, err
	}
	box, err := sandbox.Open(r.stop.ctx, t.setup, out.stdout, out.stderr)
	refused := new(sandbox.SetupError)
	if errors.As(err, &refused) && refused.NoMounts && !t.layout.mountsOnly() {
		r.journal.Warnf("%s cannot be created on this node, so programs find it at %s instead: %s", runDir, t.layout.physical, refused.Message)
		if t, err = r.prepare(server, true); err == nil {
			box, err = sandbox.Open(r.stop.ctx, t.setup, out.stdout, out.stderr)
		}
	}
	out.started()
	defer out.drain()
	if err != nil {
		if r.stop.asked() {
			return 0, err
		}
		var known *failure
		switch {
		case errors.As(err, &known): // of the second prepare
			return 0, err
		case errors.As(err, &refused) && refused.Archive:
			return 0, fail(CodePrepare, "cannot extract the Python package of the master: %v", err)
		}
		return 0, fail(CodeMounts, "the task's folders could not be mounted: %v", err)
	}
	defer r.close(box)
	defer r.keepLease(box)()
	if len(box.Tried) > 0 && !box.Mode.Mount {
		r.journal.Infof("the program runs with %s: %s", box.Mode, strings.Join(box.Tried, "; "))
	}
	if t.setup.ShmBytes > 0 && !box.Mode.Mount {
		return 0, fail(CodeMounts, "shm_size cannot be applied: this node does not permit tasks to mount their own /dev/shm (%s)", box.Mode)
	}
	if t.layout.keepsWorkDir {
		r.journal.Infof("files in %s remain after this task ends; files that were submitted with the task are in %s and are removed with the task", t.layout.workDir, t.layout.codeInTask)
	}
	if err := r.hook(box, t); err != nil {
		return 0, err
	}
	peers, err := gather(r.stop.ctx, r.p, r.spec, r.masters, r.token, r.journal)
	if err != nil {
		if r.stop.asked() {
			return 0, err
		}
		return 0, fail(CodePrepare, "%v", err)
	}
	if err := t.layout.account.Do(func() error { return settle(t.layout, r.spec, peers, t.env) }); err != nil {
		return 0, fail(CodePrepare, "cannot write the addresses of the members: %v", err)
	}
	return r.program(box, t)
}

// readIdentity sets the account as which the program runs, and the secrets that it mounts.
func (r *run) readIdentity() (err error) {
	if r.account, err = account.Of(r.spec.Account); err != nil {
		return err
	}
	if r.account != nil {
		if err := secure(r.p); err != nil {
			return err
		}
		r.journal.Infof("the program runs as %s, to which its owner or its workspace is linked", r.account)
	}
	r.secrets, err = readSecrets(r.p, r.spec.Secrets)
	return err
}

// close ends the sandbox with the processes that the program has left.
func (r *run) close(box *sandbox.Box) {
	switch left := box.Close(); {
	case left == 1:
		r.journal.Infof("killed a process that the program had left running")
	case left > 1:
		r.journal.Infof("killed %d processes that the program had left running", left)
	}
}

func (r *run) grace() time.Duration {
	if r.spec.StopGraceSecs > 0 {
		return time.Duration(r.spec.StopGraceSecs) * time.Second
	}
	return defaultGrace
}

// hook runs the startup hooks, if there are any.
func (r *run) hook(box *sandbox.Box, t *task) error {
	c, names := hookCommand(t.layout, shellOn(t.env["PATH"]), t.env)
	if c == nil {
		return nil
	}
	r.journal.Infof("running %s", names)
	exit, _, err := r.supervise(box, *c)
	switch {
	case err != nil:
		return err
	case r.stop.early() && exit.Failed == "" && (exit.Code == 0 || exit.Signal != 0):
		return errPreempted
	case r.stop.asked():
		return fail(codeStopped, "stopped while %s ran: %s", names, r.stop.reason())
	case exit.Failed != "":
		return fail(exit.Code, "%s could not be started: %s", names, exit.Failed)
	case exit.Code != 0:
		return fail(exit.Code, "%s failed with exit code %d; the program was not started", names, exit.Code)
	}
	return t.layout.account.Do(func() (err error) { t.env, t.dir, err = afterHook(t.layout, t.env); return err })
}

// program runs the entrypoint.
func (r *run) program(box *sandbox.Box, t *task) (int, error) {
	if err := r.restore(box, t); err != nil {
		return 0, err
	}
	if err := r.stop.begin(); err != nil {
		return 0, err
	}
	c := sandbox.Command{Argv: r.spec.Entrypoint, Env: list(t.env), Dir: t.dir}
	if r.spec.Shell {
		c.Argv = []string{"/bin/sh", "-c", strings.Join(r.spec.Entrypoint, " ")}
	}
	own, err := r.ownProgram(t)
	if err != nil {
		return 0, fail(CodePrepare, "%v", err)
	}
	if own != nil {
		c.Argv = own
	}
	defer t.socket.Close()
	defer r.admit(t)()
	r.oom = tallyKills()
	exit, killed, err := r.supervise(box, c)
	if err != nil {
		return 0, err
	}
	r.gaveWay = r.stop.preemptedEnd(t.layout.ofTorchrun(exit), killed)
	code, err := r.outcome(c, exit, killed)
	if exit.Failed == "" && !exit.Abandoned && !r.abandoned.Load() { // after that another attempt may run
		r.keep(box, t, r.endOf(code, err))
	}
	return code, err
}

// outcome returns the exit code of the program, or how else it ended.
func (r *run) outcome(c sandbox.Command, exit sandbox.Exit, killed bool) (int, error) {
	switch {
	case r.gaveWay != nil:
		return 0, nil
	case exit.Failed != "":
		return 0, fail(exit.Code, "the program could not be started: %s%s", exit.Failed, r.hint(c.Argv))
	case exit.Signal == 0 && exit.Code != 0 && r.starved():
		return 0, fail(exit.Code, "the program ended with exit code %d after %s", exit.Code, r.outOfMemory())
	case exit.Signal == 0 && exit.Code == codeKilled && r.likelyStarved():
		return 0, fail(exit.Code, "the program ended with exit code %d: one of its processes was killed, %s", exit.Code, r.likelyOutOfMemory())
	case exit.Signal == 0:
		if r.starved() {
			r.journal.Warnf("while the program ran, %s", r.outOfMemory())
		}
		return exit.Code, nil
	case killed:
		return 0, fail(codeKilled, "the program did not end within %s after SIGTERM: %s", r.grace(), r.stop.reason())
	case r.stop.asked():
		return 0, fail(exit.Code, "stopped: %s", r.stop.reason())
	}
	return 0, fail(exit.Code, "%s", r.signalled(exit.Signal))
}

// hint is the remedy for a machine without Python, or an image without a shell.
func (r *run) hint(argv []string) string {
	switch {
	case len(argv) == 0:
		return ""
	case r.p.PrivateRoot && argv[0] == "/bin/sh":
		return ". The image has no shell: write the entrypoint as a list of words"
	case !strings.HasPrefix(filepath.Base(argv[0]), "python"):
		return ""
	case r.p.PrivateRoot:
		return ". Choose an image with Python 3 in environment.image"
	}
	return ". Install Python 3 on the nodes of this pool, set python in the pool's configuration, " +
		"or put its folder on PATH in environment.environment_variables"
}
