package control

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/detent-ml/detent/master/audit"
	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/cluster"
	"github.com/detent-ml/detent/master/control/rows"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/task"
)

// Secrets manages the attempts' access to credentials in Vault: a role for each attempt.
// The loop grants the role before it submits the attempt's job, and revokes it when the
// attempt has ended.
type Secrets interface {
	// Away returns why Vault cannot grant credentials now; "" if it can. It does not block.
	Away() string
	// Needed reports whether work with this storage needs credentials.
	Needed(storage expconf.CheckpointStorage) bool
	// NeededBy reports whether tasks of this type need credentials.
	NeededBy(taskType string) bool
	// Grant creates the role of an attempt (jobspecs.Task.VaultRole). If the error has the code
	// Invalid, a retry is useless.
	Grant(ctx context.Context, allocationID, role string, grants task.Grants) error
	// Login reads the credentials of an image registry, which the attempt itself must not
	// read. If the error has the code Invalid, a retry is useless.
	Login(ctx context.Context, path string) (username, password string, err error)
	// Keys lists the keys of a secret that users mount; nil if the master may not know them. If the
	// error has the code Invalid, a retry is useless.
	Keys(ctx context.Context, path string) ([]string, error)
	// Granted reports whether this master has granted a role to the attempt, as far as it remembers.
	Granted(allocationID string) bool
	// Revoke deletes the attempt's role. It is idempotent.
	Revoke(ctx context.Context, allocationID string) error
	// Sweep deletes the roles of all ended attempts, also those that another master granted.
	Sweep(ctx context.Context) (removed int, err error)
}

// sweepEvery is how often the leader sweeps roles that other masters granted.
const sweepEvery = time.Minute

// prepareSecrets grants the job's Vault role and reads the credentials of its image's
// registry, before the job is submitted to Nomad.
func (t *term) prepareSecrets(ctx context.Context, job *task.Job) (cluster.Outcome, error) {
	if t.cfg.Secrets == nil || job.Credentials == nil || job.Credentials.Role == "" {
		return cluster.Done, nil
	}
	err := t.login(ctx, job)
	if err == nil {
		err = t.haveKeys(ctx, job)
	}
	if err == nil {
		err = t.cfg.Secrets.Grant(ctx, job.AllocationID, job.VaultRole(), job.Grants)
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

// loginTimeout limits a call to Vault for the credentials of a registry.
const loginTimeout = 5 * time.Second

func (t *term) login(ctx context.Context, job *task.Job) error {
	if job.Login == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, loginTimeout)
	defer cancel()
	username, password, err := t.cfg.Secrets.Login(ctx, job.Login)
	if err == nil {
		job.SignInWith(username, password)
	}
	return err
}

// haveKeys returns an error if Vault lacks a secret or a key that the job mounts: its node would wait
// for it without an end.
func (t *term) haveKeys(ctx context.Context, job *task.Job) error {
	ctx, cancel := context.WithTimeout(ctx, loginTimeout)
	defer cancel()
	known := map[string][]string{}
	for _, s := range job.Secrets {
		keys, asked := known[s.Path]
		if !asked {
			var err error
			if keys, err = t.cfg.Secrets.Keys(ctx, s.Path); err != nil {
				return fault.New(fault.CodeOf(err), "secret %q: %w", s.Name, err)
			}
			known[s.Path] = keys
		}
		if keys != nil && !slices.Contains(keys, s.Key) {
			return fault.New(fault.Invalid, "environment.secrets: secret %q has no key %q in Vault; it has %s", s.Name, s.Key, fault.ClipTo(strings.Join(keys, ", "), 300))
		}
	}
	return nil
}

// mayMount returns an error if the owner of an attempt may no longer mount its secrets: they are no
// longer offered there, or the owner may no longer start work in the workspace.
func (t *term) mayMount(a *task.Attempt, s *rows.PendingSubmission) error {
	wanted := a.Secrets()
	if len(wanted) == 0 {
		return nil
	}
	who, err := s.Who()
	if err != nil {
		return err
	}
	if !s.OwnerActive || !auth.Can(who, auth.Create, auth.Object{Kind: a.Kind(), WorkspaceID: s.WorkspaceID}) {
		return fault.New(fault.Invalid, "this task mounts secrets (%s), and its owner %s may no longer start work in workspace %q", fault.ClipTo(strings.Join(wanted.Names(), ", "), 300), s.Owner, fault.Clip(s.Workspace))
	}
	if err := t.cfg.UserSecrets.Check(wanted, s.Workspace, s.Owner); err != nil {
		return fault.New(fault.Invalid, "this task may no longer mount its secrets: %w", err)
	}
	return nil
}

// auditMount records that an attempt mounts secrets of its owner.
func auditMount(ctx context.Context, tx *database.DB, s *rows.PendingSubmission, job *task.Job) error {
	var names []string
	for _, secret := range job.Secrets {
		if !slices.Contains(names, secret.Name) {
			names = append(names, secret.Name)
		}
	}
	fields, err := json.Marshal(map[string][]string{"secrets": names})
	if err != nil {
		return err
	}
	owner, workspace, status := s.OwnerID, s.WorkspaceID, http.StatusOK
	_, err = audit.Begin(ctx, tx, audit.Entry{UserID: &owner, Username: s.Owner, Credential: "task " + s.ID, Verb: "mount", Kind: "secret",
		Object: names[0], WorkspaceID: &workspace, Names: fields, Status: &status})
	return err
}

// release revokes the Vault roles of attempts that ended in this cycle, and sweeps the
// roles of others every sweepEvery.
func (t *term) release(ctx context.Context, changes *rows.Changes) {
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

// credentialsMissing returns why an attempt must not be placed now because Vault cannot
// grant its credentials; "" if it may be placed.
func (p *Snapshot) credentialsMissing(o *owner) string {
	if !o.secrets {
		return ""
	}
	return p.Away
}

// needsSecrets reports whether the trials of an experiment need credentials.
func (p *Snapshot) needsSecrets(e *Experiment) bool {
	return p.Secrets != nil && (p.Secrets.Needed(e.Config.CheckpointStorage) || len(e.Config.Environment.Secrets) > 0)
}

// taskNeedsSecrets reports whether the attempts of a task that is not a trial need credentials.
func (p *Snapshot) taskNeedsSecrets(t *rows.LiveTask) bool {
	return p.Secrets != nil && (t.Secrets || p.Secrets.NeededBy(t.Type))
}

// blamesVault reports whether Vault is probably the reason why an attempt does not start.
// Then the next attempt does not avoid the nodes of this one, because on a small cluster no
// node would be left. While Nomad waits for a template, it reports the name of the missing
// value, which begins with "vault.".
func (p *Snapshot) blamesVault(row *rows.LiveAllocation) bool {
	if p.Secrets == nil {
		return false
	}
	blamed := p.Away != "" || strings.Contains(row.SubmitError, "Vault")
	for _, m := range row.Members {
		blamed = blamed || strings.Contains(m.NomadDetail, "vault.")
	}
	return blamed
}
