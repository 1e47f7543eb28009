package attempts

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/detent-ml/detent/master/checkpoints"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/nodes"
	"github.com/detent-ml/detent/master/task"
	"github.com/detent-ml/detent/master/tasks"
)

// A Claim is a runner's request to run a member, after its workload identity was verified.
type Claim struct {
	AllocationID string
	Rank         int
	NomadAllocID string
	FirstOfGroup bool   // Nomad did not create its allocation to replace another
	Nonce        string // random value of the runner's process
	Address      string
	Ports        map[string]int
	Certificate  string // SHA-256 of the gateway's certificate, in hexadecimal digits; "" if the runner has none
	TokenHash    []byte // hash of the allocation token that the runner gets
	SessionHash  []byte // hash of the token of its owner's session that the program gets
	NodeID       string // node of the process, as Nomad reports it
	// Namespace is the Nomad namespace of the process, with the pools whose jobs run there.
	Namespace   string
	Pools       []string
	SessionLife time.Duration
}

// Claimed is the result of an accepted claim: what the runner needs to know of its attempt.
type Claimed struct {
	task.Row
	task.Claimed
	NodeID  string     `db:"node_id"`
	Devices []string   `db:"devices"` // ids of its slots' devices
	Node    *nodes.Row `db:"-"`       // node of a member with devices; nil if the node no longer exists
	// ActsForOwner means that the program may act in its owner's name.
	ActsForOwner bool `db:"-"`
}

// claimable has the columns of a member and its attempt that decide about a claim.
type claimable struct {
	State        string `db:"state"`
	KillWanted   bool   `db:"kill_wanted"`
	KillReason   string `db:"kill_reason"`
	NewestRun    int    `db:"newest_run"`
	RunID        int    `db:"run_id"`
	TaskID       string `db:"task_id"`
	TrialID      *int   `db:"trial_id"`
	Adopts       bool   `db:"adopts"` // its trial, of a branch, has the reports of its origin still to take over
	UserID       int    `db:"owner_id"`
	SessionEpoch int    `db:"session_epoch"` // of the owner when the task was created
	ClaimedBy    string `db:"claimed_by"`
	Nonce        string `db:"claim_nonce"`
	Exited       bool   `db:"exited"`
	NodeID       string `db:"node_id"`
	Pool         string `db:"pool"`
}

// Accept accepts the claim of one runner process for each member of an attempt, while the
// attempt is wanted. It locks the rows, so that only one of several simultaneous claims
// succeeds, and the loop cannot end the attempt meanwhile. The same process may repeat its
// claim, and gets a new token that replaces the old one.
//
// The first claim of a new run rolls its trial back: it archives the reports of earlier
// runs beyond the checkpoint from which the run restarts. That of the first run of a trial in a branch takes over the reports of its origin.
func Accept(ctx context.Context, db *database.DB, c Claim) (Claimed, error) {
	var out Claimed
	owner, err := database.Scalar[string](ctx, db, `SELECT u.username FROM allocations a JOIN tasks k ON k.id = a.task_id JOIN users u ON u.id = k.owner_id WHERE a.id = $1`, c.AllocationID)
	if fault.Is(err, fault.NotFound) {
		return out, fault.New(fault.NotFound, "rank %d of attempt %s not found", c.Rank, c.AllocationID)
	}
	if err != nil {
		return out, err
	}
	// Nomad vouches for the process, so it is no stranger; and a rollback of many reports takes as long as the owner's program has made it.
	ctx = database.ForOwner(ctx, tasks.CallsOf(owner))
	for range 3 { // its checkpoint may go away meanwhile
		if err = rollBack(ctx, db, c); err != nil {
			return out, err
		}
		if out, err = admit(ctx, db, c); !errors.Is(err, errNotRolledBack) {
			return out, err
		}
	}
	return out, err
}

// admit is the transaction of Accept. It only reads what rollBack has done: whoever waits here holds the member, for which
// the leader waits.
func admit(ctx context.Context, db *database.DB, c Claim) (out Claimed, err error) {
	err = db.Tx(ctx, func(tx *database.DB) error {
		m, err := lockMember(ctx, tx, c)
		if err != nil {
			return err
		}
		if err := m.refusal(c); err != nil {
			return err
		}
		if m.Adopts {
			return errNotRolledBack
		}
		session, err := pass(ctx, tx, c, m)
		if err != nil {
			return err
		}
		if out, err = claimed(ctx, tx, c); err != nil {
			return err
		}
		out.ActsForOwner = session
		if m.TrialID == nil || m.RunID < 2 {
			return nil
		}
		steps, err := checkpoints.RestartStepsOf(ctx, tx, *m.TrialID)
		if err != nil {
			return err
		}
		done, err := rolledBack(ctx, tx, *m.TrialID)
		if err == nil && !done.covers(m.RunID, steps) {
			err = errNotRolledBack
		}
		return err
	})
	return out, err
}

// lockMember locks the attempt against the loop, then the member against other
// claims.
func lockMember(ctx context.Context, db *database.DB, c Claim) (claimable, error) {
	if err := db.Exec(ctx, `SELECT 1 FROM allocations WHERE id = $1 FOR SHARE`, c.AllocationID); err != nil {
		return claimable{}, err
	}
	return readMember(ctx, db, c, " FOR UPDATE OF m")
}

func readMember(ctx context.Context, db *database.DB, c Claim, lock string) (claimable, error) {
	return database.Row[claimable](ctx, db, fmt.Sprintf("rank %d of attempt %s", c.Rank, c.AllocationID), `
		SELECT a.state, a.kill_at IS NOT NULL AS kill_wanted, a.kill_reason, a.run_id, a.task_id, t.owner_id, t.session_epoch,
			(SELECT max(run_id) FROM allocations n WHERE n.task_id = a.task_id) AS newest_run,
			tr.id AS trial_id, coalesce(tr.origin_until IS NOT NULL, false) AS adopts, m.claimed_by, m.claim_nonce, m.exited_at IS NOT NULL AS exited, m.node_id, a.pool
		FROM members m
		JOIN allocations a ON a.id = m.allocation_id
		JOIN tasks t ON t.id = a.task_id
		LEFT JOIN trials tr ON tr.task_id = t.id
		WHERE m.allocation_id = $1 AND m.rank = $2`+lock, c.AllocationID, c.Rank)
}

// refusal returns why a claim is rejected; nil if it is accepted.
func (m claimable) refusal(c Claim) error {
	refuse := func(format string, args ...any) error {
		return fault.New(fault.Conflict, "attempt %s, rank %d: %s", c.AllocationID, c.Rank, fmt.Sprintf(format, args...))
	}
	switch {
	case m.State == "TERMINATED":
		return refuse("the attempt has ended, so nothing may start for it")
	case m.State == "PENDING":
		return refuse("the scheduler has not placed the attempt yet, so nothing may start for it")
	case !slices.Contains(c.Pools, m.Pool):
		return fault.New(fault.Forbidden, "the process's identity names Nomad namespace %s, but attempt %s belongs to pool %s, whose jobs run in another namespace or region", c.Namespace, c.AllocationID, m.Pool)
	case c.NodeID != m.NodeID:
		return fault.New(fault.Forbidden, "the identity belongs to a process on node %s, but rank %d of attempt %s is placed on node %s", c.NodeID, c.Rank, c.AllocationID, m.NodeID)
	case m.KillWanted:
		return refuse("the attempt is being stopped: %s", m.KillReason)
	case m.RunID != m.NewestRun:
		return refuse("run %d of its task has replaced this attempt", m.NewestRun)
	case !c.FirstOfGroup:
		return refuse("Nomad made allocation %s to replace another one, and only the master decides on a second attempt", c.NomadAllocID)
	case m.Exited:
		return refuse("the program has already run, and its exit was reported")
	case m.ClaimedBy == "":
		return nil
	case m.ClaimedBy != c.NomadAllocID:
		return refuse("Nomad allocation %s already runs this member; the master rejects the claim of allocation %s", m.ClaimedBy, c.NomadAllocID)
	case m.Nonce != c.Nonce:
		return refuse("another runner process of Nomad allocation %s has already claimed this member", c.NomadAllocID)
	}
	return nil
}

// pass stores the claim, and the session with which the program acts in its owner's
// name; session reports whether it stored one. The loop deletes the session when the
// attempt ends. There is no session if all the owner's sessions were ended after the
// task was created. pass locks the owner's row, so that ending all sessions at the
// same moment also ends this one.
func pass(ctx context.Context, db *database.DB, c Claim, m claimable) (session bool, err error) {
	ports, err := json.Marshal(c.Ports)
	if err != nil {
		return false, err
	}
	if c.Ports == nil {
		ports = []byte("{}")
	}
	err = db.Exec(ctx, `
		UPDATE members SET claimed_by = $3, claim_nonce = $4, claimed_at = coalesce(claimed_at, now()),
			token_hash = $5, address = $6, ports = $7, gateway_certificate = $8
		WHERE allocation_id = $1 AND rank = $2`,
		c.AllocationID, c.Rank, c.NomadAllocID, c.Nonce, c.TokenHash, c.Address, ports, c.Certificate)
	if err != nil {
		return false, err
	}
	n, err := db.Affect(ctx, `
		WITH old AS (DELETE FROM sessions WHERE allocation_id = $3 AND allocation_rank = $4 AND token_hash <> $2),
		     owner AS (SELECT id FROM users WHERE id = $1 AND active AND session_epoch = $6 FOR SHARE)
		INSERT INTO sessions (user_id, token_hash, expires_at, allocation_id, allocation_rank)
		SELECT id, $2, now() + $5::interval, $3, $4 FROM owner
		ON CONFLICT (token_hash) DO UPDATE SET expires_at = excluded.expires_at`, m.UserID, c.SessionHash, c.AllocationID, c.Rank, c.SessionLife, m.SessionEpoch)
	return n > 0, err
}

// claimed reads what the runner needs to know.
func claimed(ctx context.Context, db *database.DB, c Claim) (Claimed, error) {
	out, err := claimedRow(ctx, db, c)
	if err == nil && len(out.Devices) > 0 {
		out.Node, err = nodes.Get(ctx, db, out.NodeID)
	}
	if err != nil {
		return out, err
	}
	if out.TrialID != 0 {
		from, err := checkpoints.NewestOf(ctx, db, out.TrialID)
		if from.UUID != "" {
			out.Checkpoint, out.StepsCompleted = &from.UUID, from.Steps
		}
		if err == nil {
			var origin checkpoints.Origin
			if origin, err = checkpoints.OriginOf(ctx, db, out.TrialID); from.UUID == "" {
				out.StepsCompleted = origin.Steps
			}
			out.Origins = origin.Trials
		}
		if err == nil {
			out.Begins, err = checkpoints.BeginningOf(ctx, db, out.TrialID)
		}
		return out, err
	}
	switch out.Type {
	case task.Shell:
		keys, err := tasks.ShellKeysOf(ctx, db, []string{out.TaskID})
		k := keys[out.TaskID]
		out.Keys = task.Keys{Authorized: k.PublicKey, Host: k.HostPrivateKey}
		return out, err
	case task.Removal:
		out.Remaining, err = checkpoints.Remaining(ctx, db, out.TaskID)
		return out, err
	case task.Tensorboard:
		out.Shows, err = tasks.ShownBy(ctx, db, out.TaskID)
		return out, err
	}
	return out, nil
}

func claimedRow(ctx context.Context, db *database.DB, c Claim) (Claimed, error) {
	return database.Row[Claimed](ctx, db, "attempt "+c.AllocationID, `
		SELECT `+Columns+`, m.rank, m.node_id, m.node_name, m.slot_ids, m.devices, m.claimed_by, m.ports,
			a.comm_key::text, (SELECT count(*) FROM members o WHERE o.allocation_id = a.id) AS members,
			k.context_hash IS NOT NULL AS has_context, coalesce(t.seed, 0) AS seed, a.gateway_secret::text, t.hparams,
			coalesce(t.restarts, 0) AS restarts,
			coalesce(former.run_id, 0) AS former_run, coalesce(former.outcome, '') AS former_outcome, coalesce(former.reason, '') AS former_reason
		FROM `+Tables+`
		JOIN members m ON m.allocation_id = a.id
		LEFT JOIN LATERAL (
			SELECT f.run_id, f.outcome, CASE WHEN f.outcome = 'preempted' AND f.preempt_reason <> '' THEN f.preempt_reason ELSE f.exit_reason END AS reason
			FROM allocations f WHERE f.task_id = a.task_id AND f.run_id < a.run_id ORDER BY f.run_id DESC LIMIT 1) former ON true
		WHERE m.allocation_id = $1 AND m.rank = $2`, c.AllocationID, c.Rank)
}
