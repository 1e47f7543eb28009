package control

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/detent-ml/detent/jobspecs"
	"github.com/detent-ml/detent/master/cluster"
	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/pool"
	"github.com/detent-ml/detent/master/task"
)

// fakeSecrets keeps roles in a map.
type fakeSecrets struct {
	mu     sync.Mutex
	away   string
	fails  error
	roles  map[string]bool
	sweeps int
	before func(id string) // a grant
	keys   map[string][]string
}

func (f *fakeSecrets) Away() string { f.mu.Lock(); defer f.mu.Unlock(); return f.away }

func (f *fakeSecrets) Needed(s expconf.CheckpointStorage) bool { return s.Type == expconf.S3 }
func (f *fakeSecrets) NeededBy(string) bool                    { return false }

func (f *fakeSecrets) Keys(_ context.Context, path string) ([]string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	keys, ok := f.keys[path]
	if !ok {
		return nil, fault.New(fault.Invalid, "Vault has no secret at %s", path)
	}
	return keys, nil
}

func (f *fakeSecrets) Login(_ context.Context, path string) (username, password string, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return "robot", path, f.fails
}

func (f *fakeSecrets) Grant(_ context.Context, id, _ string, _ task.Grants) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.before != nil {
		f.before(id)
	}
	if f.fails == nil {
		f.roles[id] = true
	}
	return f.fails
}

func (f *fakeSecrets) Granted(id string) bool { f.mu.Lock(); defer f.mu.Unlock(); return f.roles[id] }

func (f *fakeSecrets) Revoke(_ context.Context, id string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.roles, id)
	return nil
}

func (f *fakeSecrets) Sweep(context.Context) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sweeps++
	return 0, nil
}

func (f *fakeSecrets) set(away string, fails error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.away, f.fails = away, fails
}

// withSecrets makes work with storage in S3 need credentials.
func withSecrets(t *testing.T) (*bench, *fakeSecrets) {
	b := newBench(t, "n1")
	f := &fakeSecrets{roles: map[string]bool{}}
	describe := b.term.cfg.Task
	b.term.cfg.Secrets = f
	b.term.cfg.Task = func(a task.Attempt, members []task.Placed, p *pool.Pool) (task.Job, error) {
		j, err := describe(a, members, p)
		j.Credentials = &jobspecs.Credentials{Role: "det-task", Engine: "aws"}
		return j, err
	}
	return b, f
}

const inS3 = "checkpoint_storage: {type: s3, bucket: b}\n"

func TestRoleIsThereBeforeTheJobAndGoneAfterIt(t *testing.T) {
	b, f := withSecrets(t)
	f.before = func(id string) {
		b.nomad.mu.Lock()
		defer b.nomad.mu.Unlock()
		if b.nomad.submit[id] != 0 {
			t.Error("the job was submitted before its role was there")
		}
	}
	e := b.experiment(inS3)
	b.settle()
	id := b.newest(e)
	if !f.roles[id] || b.nomad.submit[id] != 1 || f.sweeps != 1 {
		t.Fatalf("roles %v, submitted %d times, swept %d times", f.roles, b.nomad.submit[id], f.sweeps)
	}
	b.claim(id)
	b.settle()
	if !f.roles[id] {
		t.Error("the role of a running attempt was removed")
	}
	b.exit(id, 0)
	b.settle()
	b.want(e, "COMPLETED", "COMPLETED", "TERMINATED completed")
	if len(f.roles) != 0 {
		t.Errorf("left: %v", f.roles)
	}
	b.term.swept = time.Now().Add(-2 * sweepEvery)
	b.settle()
	if f.sweeps != 2 {
		t.Errorf("swept %d times", f.sweeps)
	}
}

// TestWorkWaitsWhileThereAreNoCredentials: such an attempt holds no slots, shows the reason, and starts when Vault answers again; other attempts start meanwhile.
func TestWorkWaitsWhileThereAreNoCredentials(t *testing.T) {
	b, f := withSecrets(t)
	const why = "waits for Vault at http://vault: it is sealed"
	f.set(why, nil)
	e := b.experiment(inS3)
	b.settle()
	b.want(e, "ACTIVE", "ACTIVE", "PENDING")
	id := b.newest(e)
	if got := b.text(`SELECT waiting_reason FROM allocations WHERE id = $1`, id); got != why {
		t.Errorf("the waiting reason is %q", got)
	}
	free := b.experiment("checkpoint_storage: {type: shared_fs, host_path: /tmp}\n")
	b.settle()
	b.want(free, "ACTIVE", "ACTIVE", "STARTING")
	if len(f.roles) != 1 || f.sweeps != 0 { // the fake gives one to whoever asks
		t.Errorf("roles %v, %d sweeps", f.roles, f.sweeps)
	}
	f.set("", nil)
	b.settle()
	b.want(e, "ACTIVE", "ACTIVE", "STARTING")
	if got := b.text(`SELECT waiting_reason FROM allocations WHERE id = $1`, id); got != "" {
		t.Errorf("the attempt runs, with the waiting reason %q", got)
	}
}

// TestVaultThatFailsAtTheLastMoment: the job is not submitted without its role, and is tried again.
func TestVaultThatFailsAtTheLastMoment(t *testing.T) {
	b, f := withSecrets(t)
	f.set("", fault.New(fault.Unavailable, "Vault does not answer: connection refused"))
	e := b.experiment(inS3)
	b.settle()
	id := b.newest(e)
	if b.nomad.submit[id] != 0 {
		t.Error("the job was submitted without its role")
	}
	if got := b.text(`SELECT submit_error FROM allocations WHERE id = $1`, id); !strings.Contains(got, "connection refused") {
		t.Errorf("the row's error is %q", got)
	}
	f.set("", nil)
	b.exec(`UPDATE work SET after = now() WHERE subject = $1`, id)
	b.settle()
	if b.nomad.submit[id] != 1 || !f.roles[id] {
		t.Errorf("submitted %d times, roles %v", b.nomad.submit[id], f.roles)
	}
}

// TestCredentialsThatCannotBeGiven end the attempt with the reason.
func TestCredentialsThatCannotBeGiven(t *testing.T) {
	b, f := withSecrets(t)
	f.set("", fault.New(fault.Invalid, "the policy needs 3000 characters"))
	e := b.experiment(inS3)
	b.settle()
	id := b.newest(e)
	if got := b.text(`SELECT exit_reason FROM allocations WHERE id = $1`, id); !strings.Contains(got, "3000 characters") || b.nomad.submit[id] != 0 {
		t.Errorf("the exit reason is %q", got)
	}
	if outcome := b.text(`SELECT outcome FROM allocations WHERE id = $1`, id); outcome != "refused" {
		t.Errorf("the attempt's outcome is %s", outcome)
	}
	if _, err := b.term.prepareSecrets(t.Context(), &task.Job{}); err != nil {
		t.Errorf("a task without credentials: %v", err)
	}
	if outcome, _ := b.term.prepareSecrets(t.Context(), &task.Job{Task: jobspecs.Task{Credentials: &jobspecs.Credentials{Audience: "sts"}}}); outcome != cluster.Done {
		t.Error("a task that shows its identity was given a role")
	}
}

// TestVaultThatIsAwayIsNoNodesFault: an attempt that could not start because of Vault may start again on the only node.
func TestVaultThatIsAwayIsNoNodesFault(t *testing.T) {
	b, f := withSecrets(t)
	f.set("", fault.New(fault.Unavailable, "Vault does not answer: connection refused"))
	e := b.experiment(inS3)
	b.settle()
	first := b.newest(e)
	b.exec(`UPDATE allocations SET tried_at = now() - interval '1 hour' WHERE id = $1`, first)
	f.set("waits for Vault", nil)
	b.settle()
	if outcome := b.text(`SELECT outcome FROM allocations WHERE id = $1`, first); outcome != "unplaced" {
		t.Fatalf("the first attempt is %s", outcome)
	}
	second := b.newest(e)
	if avoided := b.int(`SELECT cardinality(exclude) FROM allocations WHERE id = $1`, second); second == first || avoided != 0 {
		t.Errorf("the next attempt %s avoids %d nodes", second, avoided)
	}
	// The same with a job that waits for its keys.
	f.set("", nil)
	b.exec(`UPDATE allocations SET not_before = NULL WHERE id = $1`, second)
	b.settle()
	b.nomad.turn(second, func(f *cluster.TaskFact) {
		f.Status, f.Started, f.Detail = "pending", false, "Template: Missing: vault.read(aws/sts/det-1)"
	})
	b.exec(`UPDATE members SET started = false WHERE allocation_id = $1`, second)
	b.exec(`UPDATE allocations SET submitted_at = now() - interval '1 hour', state = 'ASSIGNED' WHERE id = $1`, second)
	b.settle()
	b.nomad.turn(second, func(f *cluster.TaskFact) { f.Status = "failed" }) // Nomad ends it
	b.settle()
	if why := b.text(`SELECT exit_reason FROM allocations WHERE id = $1`, second); !strings.Contains(why, "vault.read(aws/sts/det-1)") {
		t.Errorf("the second attempt ended with %q", why)
	}
	if third := b.newest(e); third == second || b.int(`SELECT cardinality(exclude) FROM allocations WHERE id = $1`, third) != 0 {
		t.Errorf("the third attempt is %s", third)
	}
}

// mountsSecrets lets users mount two secrets, and the job of every attempt name those of its configuration.
func mountsSecrets(t *testing.T) (*bench, *fakeSecrets) {
	b, f := withSecrets(t)
	f.keys = map[string][]string{"secret/data/a": {"k"}, "secret/data/b": nil}
	b.term.cfg.UserSecrets = task.Secrets{{Name: "a", Path: "secret/data/a", Workspaces: []string{"Uncategorized"}}, {Name: "b", Path: "secret/data/b", Workspaces: []string{"*"}},
		{Name: "lost", Path: "secret/data/lost", Workspaces: []string{"*"}}}
	describe := b.term.cfg.Task
	b.term.cfg.Task = func(a task.Attempt, members []task.Placed, p *pool.Pool) (task.Job, error) {
		j, err := describe(a, members, p)
		for _, s := range a.Secrets() {
			j.Secrets = append(j.Secrets, jobspecs.Secret{Name: s.Name, Path: "secret/data/" + s.Name, Key: s.Key})
		}
		return j, err
	}
	return b, f
}

func mounting(name, key string) string {
	return fmt.Sprintf("environment: {secrets: [{name: %s, key: %s, env: T}]}\ncheckpoint_storage: {type: shared_fs, host_path: /tmp}\n", name, key)
}

// TestSecretsAreCheckedAtEachLaunch: an attempt mounts a secret only if its owner may at this moment, and the
// audit trail names it.
func TestSecretsAreCheckedAtEachLaunch(t *testing.T) {
	b, f := mountsSecrets(t)
	e := b.experiment(mounting("a", "k"))
	b.settle()
	first := b.newest(e)
	b.claim(first)
	b.settle()
	if b.nomad.submit[first] != 1 || len(f.roles) != 1 {
		t.Fatalf("submitted %d times, roles %v", b.nomad.submit[first], f.roles)
	}
	if n := b.int(`SELECT count(*) FROM audit WHERE verb = 'mount' AND kind = 'secret' AND object = 'a' AND credential = 'task ' || $1 AND names = '{"secrets": ["a"]}' AND user_id IS NOT NULL AND status = 200`, first); n != 1 {
		t.Errorf("the audit trail has %d entries", n)
	}
	b.term.cfg.UserSecrets[0].Workspaces = []string{"another"}
	b.exit(first, 1)
	b.settle()
	second := b.newest(e)
	const why = `this task may no longer mount its secrets: environment.secrets: there is no secret "a" that`
	if got := b.text(`SELECT exit_reason FROM allocations WHERE id = $1`, second); second == first || !strings.Contains(got, why) || b.nomad.submit[second] != 0 {
		t.Errorf("the second attempt %s was submitted %d times, and ended with %q", second, b.nomad.submit[second], got)
	}
	if n := b.int(`SELECT count(*) FROM audit WHERE verb = 'mount'`); n != 1 {
		t.Errorf("the audit trail has %d entries", n)
	}
}

// TestSecretsThatCannotBeMounted: what Vault lacks, and an owner who may no longer work there.
func TestSecretsThatCannotBeMounted(t *testing.T) {
	b, _ := mountsSecrets(t)
	for mounts, want := range map[string]string{
		mounting("a", "other"): `secret "a" has no key "other" in Vault; it has k`,
		mounting("lost", "k"):  `secret "lost": Vault has no secret at secret/data/lost`,
		mounting("none", "k"):  `there is no secret "none" that`,
	} {
		e := b.experiment(mounts)
		b.settle()
		id := b.newest(e)
		if got := b.text(`SELECT exit_reason FROM allocations WHERE id = $1`, id); !strings.Contains(got, want) || b.nomad.submit[id] != 0 {
			t.Errorf("%s: it ended with %q; want %q", mounts, got, want)
		}
	}
	unlisted := b.experiment(mounting("b", "whatever")) // the master may not list its keys
	b.settle()
	if id := b.newest(unlisted); b.nomad.submit[id] != 1 {
		t.Errorf("keys that the master may not know: submitted %d times", b.nomad.submit[id])
	}
	b.exec(`UPDATE users SET active = false WHERE id = (SELECT owner_id FROM experiments WHERE id = $1)`, unlisted)
	e := b.experiment(mounting("a", "k"))
	b.settle()
	if got := b.text(`SELECT exit_reason FROM allocations WHERE id = $1`, b.newest(e)); !strings.Contains(got, `may no longer start work in workspace "Uncategorized"`) {
		t.Errorf("an owner who was deactivated: %q", got)
	}
}

// TestWorkWithSecretsWaitsForVault: an attempt that mounts secrets waits without slots while Vault is away,
// wherever its checkpoints are.
func TestWorkWithSecretsWaitsForVault(t *testing.T) {
	b, f := mountsSecrets(t)
	f.set("waits for Vault", nil)
	e := b.experiment(mounting("a", "k"))
	b.settle()
	b.want(e, "ACTIVE", "ACTIVE", "PENDING")
	f.set("", nil)
	b.settle()
	b.want(e, "ACTIVE", "ACTIVE", "STARTING")
}
