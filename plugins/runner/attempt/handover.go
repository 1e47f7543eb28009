//go:build linux

package attempt

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	v1 "github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/plugins/runner/logs"
	"github.com/detent-ml/detent/plugins/runner/masters"
)

// Nomad accepts the workload identity of a running allocation as a token of its own API, whatever the identity's
// audience is, so no program of a user may see it. Nomad puts the identity into the environment of the task's first process.
// That process starts a second one, which claims the attempt and ends, and executes itself anew without the identity: the
// kernel then replaces its memory, and the environment that /proc shows of it. Its process id stays, so Nomad notices nothing.
//
//	det-runner run               has the identity, starts ↓, and becomes →   det-runner attempt, which never had it
//	det-runner claim             claims with it, answers, ends
//
// It does so before the claim, because a signal that arrives while a process executes itself ends it.

// The verbs with which this program starts itself.
const (
	ClaimVerb   = "claim"
	AttemptVerb = "attempt"
)

const (
	// identityVariable is the variable with the workload identity. Nomad sets it once and writes no file.
	identityVariable = "NOMAD_TOKEN_det"
	// identityPrefix begins the variables with workload identities.
	identityPrefix = "NOMAD_TOKEN"
)

// A Claimant is the process that claims, as its parent sees it: descriptors for the question and the answer, and its id.
type Claimant struct {
	question, answer *os.File
	process          *os.Process
}

// A question is what the claimant needs in order to claim.
type question struct {
	Certificate string `json:"certificate"` // fingerprint
}

// An answer is how a claim ended. It has one of its fields.
type answer struct {
	Claim   json.RawMessage  `json:"claim,omitempty"` // a v1.ClaimResponse
	Refusal *masters.Refusal `json:"refusal,omitempty"`
	Error   string           `json:"error,omitempty"`
}

// Run starts the claimant, and executes this program anew to run the attempt. It returns only if that is impossible.
func Run(environ []string, stderr *os.File) int {
	err := becomeAttempt(environ, stderr)
	own := logs.NewEcho(stderr)
	defer own.Close(time.Second)
	logs.NewJournal(own).Errorf("%v", err)
	return CodeMisplaced
}

func becomeAttempt(environ []string, stderr *os.File) error {
	// Processes of the same account must not read the memory of this one. The kernel ends that at the next exec.
	_ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
	asked, ask, err := os.Pipe()
	if err != nil {
		return err
	}
	answered, say, err := os.Pipe()
	if err != nil {
		return err
	}
	// Pdeathsig sends its signal when the thread that forked ends; the thread that executes the program anew stays.
	runtime.LockOSThread()
	cmd := exec.CommandContext(context.Background(), "/proc/self/exe") // it ends with its parent
	cmd.Args = []string{os.Args[0], ClaimVerb}
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = environ, asked, say, stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("cannot start the process that claims the attempt: %w", err)
	}
	argv := []string{os.Args[0], AttemptVerb, strconv.Itoa(cmd.Process.Pid)}
	for _, f := range []*os.File{ask, answered} {
		if _, err := unix.FcntlInt(f.Fd(), unix.F_SETFD, 0); err != nil {
			return fmt.Errorf("cannot keep a descriptor: %w", err)
		}
		argv = append(argv, strconv.Itoa(int(f.Fd())))
	}
	clean := slices.DeleteFunc(slices.Clone(environ), func(kv string) bool { return strings.HasPrefix(kv, identityPrefix) })
	return fmt.Errorf("cannot start det-runner anew: %w", unix.Exec("/proc/self/exe", argv, clean))
}

// NewClaimant returns the claimant that the arguments of AttemptVerb describe.
func NewClaimant(args []string) (*Claimant, error) {
	var numbers [3]int
	for i := range numbers {
		n, err := 0, errors.New("missing")
		if i < len(args) {
			n, err = strconv.Atoi(args[i])
		}
		if err != nil || n < 3 || len(args) != len(numbers) {
			return nil, fmt.Errorf("det-runner %s: det-runner starts itself with this verb", AttemptVerb)
		}
		numbers[i] = n
	}
	for _, fd := range numbers[1:] {
		unix.CloseOnExec(fd)
	}
	process, err := os.FindProcess(numbers[0])
	if err != nil {
		return nil, err
	}
	return &Claimant{question: os.NewFile(uintptr(numbers[1]), "question"), answer: os.NewFile(uintptr(numbers[2]), "answer"), process: process}, nil
}

// claim asks the claimant to claim, and waits for the answer or for the end of ctx. The claimant has ended when it returns. The error is a
// *masters.Refusal if the master refuses.
func (c *Claimant) claim(ctx context.Context, q question) (claimed v1.ClaimResponse, err error) {
	stop := context.AfterFunc(ctx, func() { _ = c.process.Kill() })
	defer stop()
	err = json.NewEncoder(c.question).Encode(q)
	_ = c.question.Close()
	var a answer
	if err == nil {
		err = json.NewDecoder(c.answer).Decode(&a)
	}
	_ = c.answer.Close()
	_, _ = c.process.Wait() // its answer says all
	switch {
	case ctx.Err() != nil:
		return claimed, ctx.Err()
	case err != nil:
		return claimed, fmt.Errorf("the process that claims the attempt ended unexpectedly: %w", err)
	case a.Refusal != nil:
		return claimed, a.Refusal
	case a.Error != "":
		return claimed, errors.New(a.Error)
	}
	return claimed, v1.Unmarshal(a.Claim, &claimed)
}

// Claim is the claimant: it reads a question, claims until a master decides, and writes the answer. It returns the exit status.
func Claim(environ []string, asked io.Reader, say io.Writer, stderr *os.File) int {
	_ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
	own := logs.NewEcho(stderr)
	defer own.Close(time.Second)
	claimed, err := claimFor(environ, asked, logs.NewJournal(own))
	var a answer
	if err == nil {
		a.Claim, err = v1.Marshal(claimed)
	}
	if err != nil && !errors.As(err, &a.Refusal) {
		a.Error = err.Error()
	}
	if json.NewEncoder(say).Encode(a) != nil {
		return CodeInternal // the runner has ended
	}
	return 0
}

func claimFor(environ []string, asked io.Reader, journal *logs.Journal) (v1.ClaimResponse, error) {
	ctx := context.Background() // the runner kills this process
	p, err := ReadNomadTask(ctx, environ)
	if err != nil {
		return v1.ClaimResponse{}, err
	}
	list, err := masters.New(p.Masters)
	if err != nil {
		return v1.ClaimResponse{}, err
	}
	defer list.Close()
	var q question
	if err := json.NewDecoder(asked).Decode(&q); err != nil {
		return v1.ClaimResponse{}, err // the runner has ended
	}
	return claim(ctx, &p, list, rand.Text(), q.Certificate, journal)
}
