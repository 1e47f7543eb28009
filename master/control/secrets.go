package control

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/detent-ml/detent/master/cluster"
	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/store"
	"github.com/detent-ml/detent/master/task"
)

// Secrets is where attempts get the credentials for their checkpoints from. What
// an attempt may do is settled before its job is submitted, and taken back when it
// is over.
type Secrets interface {
	// Away says why no credentials can be had at the moment; "" when they can. It
	// does not wait for anything.
	Away() string
	// Needed says whether work with this storage, or of this type of task, needs them.
	Needed(storage expconf.CheckpointStorage) bool
	NeededBy(taskType string) bool
	// Grant settles what an attempt may do. An error of the code Invalid is final.
	Grant(ctx context.Context, allocationID string, grants task.Grants) error
	// Login reads a username and a password that the attempt itself could not. An error
	// of the code Invalid is final.
	Login(ctx context.Context, path string) (username, password string, err error)
	// Granted says whether this master remembers to have done so.
	Granted(allocationID string) bool
	// Revoke takes it back. It is idempotent.
	Revoke(ctx context.Context, allocationID string) error
	// Sweep takes back what attempts had that are over, whoever gave it to them.
	Sweep(ctx context.Context) (removed int, err error)
}

// sweepEvery is how often a leader looks for what other masters, or killed ones,
// have left.
const sweepEvery = time.Minute

// settle sees to what the job needs of Vault before Nomad is asked: what its program may
// do, and the credentials of its image's registry.
func (t *term) settle(ctx context.Context, job *task.Job) (cluster.Outcome, error) {
	if t.cfg.Secrets == nil || job.Credentials == nil || job.Credentials.Role == "" {
		return cluster.Done, nil
	}
	err := t.login(ctx, job)
	if err == nil {
		err = t.cfg.Secrets.Grant(ctx, job.AllocationID, job.Grants)
	}
	switch {
	case err == nil:
		return cluster.Done, nil
	case fault.Is(err, fault.Invalid):
		return cluster.Refused, err
	default:
		return cluster.TryAgain, err
	}
}

// loginFor is how long Vault may take to tell the credentials of a registry.
const loginFor = 5 * time.Second

func (t *term) login(ctx context.Context, job *task.Job) error {
	if job.Login == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, loginFor)
	defer cancel()
	username, password, err := t.cfg.Secrets.Login(ctx, job.Login)
	if err == nil {
		job.SignInWith(username, password)
	}
	return err
}

// release takes back what attempts had that ended in this cycle, and every so
// often what is left of others.
func (t *term) release(ctx context.Context, changes *store.Changes) {
	s := t.cfg.Secrets
	if s == nil || s.Away() != "" {
		return
	}
	for _, a := range changes.Allocations {
		if !a.Ended || !s.Granted(a.ID) {
			continue
		}
		t.calls.run(ctx, "credentials of "+a.ID, func(ctx context.Context) {
			if err := s.Revoke(ctx, a.ID); err != nil {
				t.log.Warn("could not remove the Vault role of an attempt that ended; the next sweep retries", "term", t.lead.Term, "allocation_id", a.ID, "error", err)
			}
		})
	}
	if time.Since(t.swept) < sweepEvery {
		return
	}
	t.swept = time.Now()
	t.calls.run(ctx, "credentials of all", func(ctx context.Context) {
		removed, err := s.Sweep(ctx)
		if err != nil && !errors.Is(err, context.Canceled) {
			t.log.Warn("could not sweep the Vault roles of attempts that ended; the next sweep retries", "term", t.lead.Term, "error", err)
		}
		if removed > 0 {
			t.log.Info("removed Vault roles of attempts that ended", "term", t.lead.Term, "roles", removed)
		}
	})
}

// credentialsMissing says why an attempt of a task must not get a place yet, because its
// job could not read its credentials; "" when it may.
func (p *Snapshot) credentialsMissing(o owner) string {
	if !o.secrets {
		return ""
	}
	return p.Away
}

// needsSecrets says whether the trials of an experiment need credentials.
func (p *Snapshot) needsSecrets(e *Experiment) bool {
	return p.Secrets != nil && p.Secrets.Needed(e.Config.CheckpointStorage)
}

// blamesVault says whether an attempt that does not get going has Vault to thank
// for it, as far as can be seen: then its nodes are not to be avoided, which on a
// small cluster would leave it none. Nomad tells of a template that waits by the
// name of what it waits for.
func (p *Snapshot) blamesVault(row *store.LiveAllocation) bool {
	if p.Secrets == nil {
		return false
	}
	blamed := p.Away != "" || strings.Contains(row.SubmitError, "Vault")
	for _, m := range row.Members {
		blamed = blamed || strings.Contains(m.NomadDetail, "vault.")
	}
	return blamed
}
