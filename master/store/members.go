package store

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
	"github.com/detent-ml/detent/master/metrics"
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

// gate has the columns that decide about a claim.
type gate struct {
	State        string `db:"state"`
	KillWanted   bool   `db:"kill_wanted"`
	KillReason   string `db:"kill_reason"`
	NewestRun    int    `db:"newest_run"`
	RunID        int    `db:"run_id"`
	TaskID       string `db:"task_id"`
	TrialID      *int   `db:"trial_id"`
	UserID       int    `db:"owner_id"`
	SessionEpoch int    `db:"session_epoch"` // of the owner when the task was created
	ClaimedBy    string `db:"claimed_by"`
	Nonce        string `db:"claim_nonce"`
	Exited       bool   `db:"exited"`
	NodeID       string `db:"node_id"`
	Pool         string `db:"pool"`
}

// Claim accepts the claim of one runner process for each member of an attempt, while the
// attempt is wanted. It locks the rows, so that only one of several simultaneous claims
// succeeds, and the loop cannot end the attempt meanwhile. The same process may repeat its
// claim, and gets a new token that replaces the old one.
//
// The first claim of a new run rolls its trial back: it archives the reports of earlier
// runs beyond the checkpoint from which the run restarts.
func (db *DB) Claim(ctx context.Context, c Claim) (Claimed, error) {
	var out Claimed
	owner, err := database.Scalar[string](ctx, db.DB, `SELECT u.username FROM allocations a JOIN tasks k ON k.id = a.task_id JOIN users u ON u.id = k.owner_id WHERE a.id = $1`, c.AllocationID)
	if fault.Is(err, fault.NotFound) {
		return out, fault.New(fault.NotFound, "rank %d of attempt %s not found", c.Rank, c.AllocationID)
	}
	if err != nil {
		return out, err
	}
	// Nomad vouches for the process, so it is no stranger; and a rollback of many reports takes as long as the owner's program has made it.
	ctx = database.ForOwner(ctx, tasks.CallsOf(owner))
	for range 3 { // its checkpoint may go away meanwhile
		if err = db.rollBack(ctx, c); err != nil {
			return out, err
		}
		if out, err = db.claim(ctx, c); !errors.Is(err, errNotRolledBack) {
			return out, err
		}
	}
	return out, err
}

// claim is the transaction of Claim. It only reads what rollBack has done: whoever waits here holds the member, for which
// the leader waits.
func (db *DB) claim(ctx context.Context, c Claim) (out Claimed, err error) {
	err = db.Tx(ctx, func(tx *DB) error {
		g, err := tx.lockGate(ctx, c)
		if err != nil {
			return err
		}
		if err := g.refusal(c); err != nil {
			return err
		}
		session, err := tx.passGate(ctx, c, g)
		if err != nil {
			return err
		}
		if out, err = tx.claimed(ctx, c); err != nil {
			return err
		}
		out.ActsForOwner = session
		if g.TrialID == nil || g.RunID < 2 {
			return nil
		}
		done, err := tx.rolledBack(ctx, *g.TrialID)
		if err == nil && !done.covers(g.RunID, out.StepsCompleted) {
			err = errNotRolledBack
		}
		return err
	})
	return out, err
}

// lockGate locks the attempt against the loop, then the member against other
// claims.
func (db *DB) lockGate(ctx context.Context, c Claim) (gate, error) {
	if _, err := db.Exec(ctx, `SELECT 1 FROM allocations WHERE id = $1 FOR SHARE`, c.AllocationID); err != nil {
		return gate{}, err
	}
	return db.gate(ctx, c, " FOR UPDATE OF m")
}

func (db *DB) gate(ctx context.Context, c Claim, lock string) (gate, error) {
	return database.Row[gate](ctx, db.DB, fmt.Sprintf("rank %d of attempt %s", c.Rank, c.AllocationID), `
		SELECT a.state, a.kill_at IS NOT NULL AS kill_wanted, a.kill_reason, a.run_id, a.task_id, t.owner_id, t.session_epoch,
			(SELECT max(run_id) FROM allocations n WHERE n.task_id = a.task_id) AS newest_run,
			tr.id AS trial_id, m.claimed_by, m.claim_nonce, m.exited_at IS NOT NULL AS exited, m.node_id, a.pool
		FROM members m
		JOIN allocations a ON a.id = m.allocation_id
		JOIN tasks t ON t.id = a.task_id
		LEFT JOIN trials tr ON tr.task_id = t.id
		WHERE m.allocation_id = $1 AND m.rank = $2`+lock, c.AllocationID, c.Rank)
}

// refusal returns why a claim is rejected; nil if it is accepted.
func (g gate) refusal(c Claim) error {
	refuse := func(format string, args ...any) error {
		return fault.New(fault.Conflict, "attempt %s, rank %d: %s", c.AllocationID, c.Rank, fmt.Sprintf(format, args...))
	}
	switch {
	case g.State == "TERMINATED":
		return refuse("the attempt has ended, so nothing may start for it")
	case g.State == "PENDING":
		return refuse("the scheduler has not placed the attempt yet, so nothing may start for it")
	case !slices.Contains(c.Pools, g.Pool):
		return fault.New(fault.Forbidden, "the process's identity names Nomad namespace %s, but attempt %s belongs to pool %s, whose jobs run in another namespace or region", c.Namespace, c.AllocationID, g.Pool)
	case c.NodeID != g.NodeID:
		return fault.New(fault.Forbidden, "the identity belongs to a process on node %s, but rank %d of attempt %s is placed on node %s", c.NodeID, c.Rank, c.AllocationID, g.NodeID)
	case g.KillWanted:
		return refuse("the attempt is being stopped: %s", g.KillReason)
	case g.RunID != g.NewestRun:
		return refuse("run %d of its task has replaced this attempt", g.NewestRun)
	case !c.FirstOfGroup:
		return refuse("Nomad made allocation %s to replace another one, and only the master decides on a second attempt", c.NomadAllocID)
	case g.Exited:
		return refuse("the program has already run, and its exit was reported")
	case g.ClaimedBy == "":
		return nil
	case g.ClaimedBy != c.NomadAllocID:
		return refuse("Nomad allocation %s already runs this member; the master rejects the claim of allocation %s", g.ClaimedBy, c.NomadAllocID)
	case g.Nonce != c.Nonce:
		return refuse("another runner process of Nomad allocation %s has already claimed this member", c.NomadAllocID)
	}
	return nil
}

// passGate stores the claim, and the session with which the program acts in its owner's
// name; session reports whether it stored one. The loop deletes the session when the
// attempt ends. There is no session if all the owner's sessions were ended after the
// task was created. passGate locks the owner's row, so that ending all sessions at the
// same moment also ends this one.
func (db *DB) passGate(ctx context.Context, c Claim, g gate) (session bool, err error) {
	ports, err := json.Marshal(c.Ports)
	if err != nil {
		return false, err
	}
	if c.Ports == nil {
		ports = []byte("{}")
	}
	_, err = db.Exec(ctx, `
		UPDATE members SET claimed_by = $3, claim_nonce = $4, claimed_at = coalesce(claimed_at, now()),
			token_hash = $5, address = $6, ports = $7, gateway_certificate = $8
		WHERE allocation_id = $1 AND rank = $2`,
		c.AllocationID, c.Rank, c.NomadAllocID, c.Nonce, c.TokenHash, c.Address, ports, c.Certificate)
	if err != nil {
		return false, err
	}
	n, err := db.Exec(ctx, `
		WITH old AS (DELETE FROM sessions WHERE allocation_id = $3 AND allocation_rank = $4 AND token_hash <> $2),
		     owner AS (SELECT id FROM users WHERE id = $1 AND active AND session_epoch = $6 FOR SHARE)
		INSERT INTO sessions (user_id, token_hash, expires_at, allocation_id, allocation_rank)
		SELECT id, $2, now() + $5::interval, $3, $4 FROM owner
		ON CONFLICT (token_hash) DO UPDATE SET expires_at = excluded.expires_at`, g.UserID, c.SessionHash, c.AllocationID, c.Rank, c.SessionLife, g.SessionEpoch)
	return n > 0, err
}

func (db *DB) claimed(ctx context.Context, c Claim) (Claimed, error) {
	out, err := db.claimedRow(ctx, c)
	if err == nil && len(out.Devices) > 0 {
		out.Node, err = nodes.Get(ctx, db.DB, out.NodeID)
	}
	if err != nil {
		return out, err
	}
	switch out.Type {
	case task.Shell:
		keys, err := tasks.ShellKeysOf(ctx, db.DB, []string{out.TaskID})
		k := keys[out.TaskID]
		out.Keys = task.Keys{Authorized: k.PublicKey, Host: k.HostPrivateKey}
		return out, err
	case task.Removal:
		out.Remaining, err = checkpoints.Remaining(ctx, db.DB, out.TaskID)
		return out, err
	case task.Tensorboard:
		out.Shows, err = tasks.ShownBy(ctx, db.DB, out.TaskID)
		return out, err
	}
	return out, nil
}

func (db *DB) claimedRow(ctx context.Context, c Claim) (Claimed, error) {
	return database.Row[Claimed](ctx, db.DB, "attempt "+c.AllocationID, `
		SELECT `+AttemptColumns+`, m.rank, m.node_id, m.node_name, m.slot_ids, m.devices, m.claimed_by, m.ports,
			a.comm_key::text, (SELECT count(*) FROM members o WHERE o.allocation_id = a.id) AS members,
			k.context_hash IS NOT NULL AS has_context, coalesce(t.seed, 0) AS seed, a.gateway_secret::text, t.hparams,
			newest.uuid::text AS checkpoint, coalesce(newest.steps, 0) AS steps, coalesce(t.restarts, 0) AS restarts,
			coalesce(former.run_id, 0) AS former_run, coalesce(former.outcome, '') AS former_outcome, coalesce(former.reason, '') AS former_reason
		FROM `+AttemptTables+`
		JOIN members m ON m.allocation_id = a.id
		LEFT JOIN LATERAL (
			SELECT f.run_id, f.outcome, CASE WHEN f.outcome = 'preempted' AND f.preempt_reason <> '' THEN f.preempt_reason ELSE f.exit_reason END AS reason
			FROM allocations f WHERE f.task_id = a.task_id AND f.run_id < a.run_id ORDER BY f.run_id DESC LIMIT 1) former ON true
		LEFT JOIN LATERAL (
			SELECT uuid, steps FROM checkpoints k WHERE `+restartsFrom+`t.id`+newestFirst+`) newest ON true
		WHERE m.allocation_id = $1 AND m.rank = $2`, c.AllocationID, c.Rank)
}

// errNotRolledBack is the error of a claim whose trial lost its checkpoint at the same moment.
var errNotRolledBack = fault.New(fault.Unavailable, "the checkpoint from which the trial restarts has just been removed; the claim is to be repeated")

// rollBackChunk is the number of reports that one transaction archives.
const rollBackChunk = 50_000

// rollback says which reports of a trial are archived: those of runs before run, beyond steps.
type rollback struct {
	Run   int `db:"rolled_back_run"`
	Steps int `db:"rolled_back_steps"`
}

// covers reports whether a run may start from a checkpoint with so many steps.
func (r rollback) covers(run, steps int) bool { return r.Run == run && r.Steps <= steps }

func (db *DB) rolledBack(ctx context.Context, trial int) (rollback, error) {
	return database.Row[rollback](ctx, db.DB, "trial", `SELECT rolled_back_run, rolled_back_steps FROM trials WHERE id = $1`, trial)
}

// restartSteps is the number of steps of the checkpoint from which a trial restarts; 0 without one.
func (db *DB) restartSteps(ctx context.Context, trial int) (int, error) {
	return database.Scalar[int](ctx, db.DB, `SELECT coalesce((SELECT k.steps FROM checkpoints k WHERE `+restartsFrom+`$1`+newestFirst+`), 0)`, trial)
}

// rollBack archives the reports of earlier runs beyond the steps from which a run restarts, for a claim that would be
// accepted. A trial may have reported millions of times, so it does that in steps, and notes in the trial that all are
// done: the other members of the attempt then have nothing to do.
func (db *DB) rollBack(ctx context.Context, c Claim) error {
	var of gate
	var done rollback
	var steps int
	err := db.Snapshot(ctx, func(tx *DB) (err error) {
		if of, err = tx.gate(ctx, c, ""); err != nil || of.TrialID == nil || of.RunID < 2 || of.refusal(c) != nil {
			of.TrialID = nil
			return err
		}
		if done, err = tx.rolledBack(ctx, *of.TrialID); err != nil {
			return err
		}
		steps, err = tx.restartSteps(ctx, *of.TrialID)
		return err
	})
	if err != nil || of.TrialID == nil || done.covers(of.RunID, steps) {
		return err
	}
	// This lock waits for reports that are being written, also of checkpoints, and holds nothing: later ones see the new run,
	// and are refused.
	err = db.Tx(ctx, func(tx *DB) error {
		_, err := tx.Exec(ctx, `SELECT 1 FROM trials WHERE id = $1 FOR UPDATE`, *of.TrialID)
		return err
	})
	if err != nil {
		return err
	}
	for more := true; more; {
		err := db.Tx(ctx, func(tx *DB) (err error) {
			more, err = tx.archiveReports(ctx, *of.TrialID, of.RunID)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// archiveReports archives a part of the reports; more says that some may be left. One member of an attempt does it at a time.
func (db *DB) archiveReports(ctx context.Context, trial, run int) (more bool, err error) {
	if err := metrics.LockArchive(ctx, db.DB, trial); err != nil {
		return false, err
	}
	done, err := db.rolledBack(ctx, trial)
	if err != nil {
		return false, err
	}
	steps, err := db.restartSteps(ctx, trial)
	if err != nil || done.Run > run || done.covers(run, steps) {
		return false, err
	}
	n, err := metrics.ArchiveBeyond(ctx, db.DB, trial, run, steps, rollBackChunk)
	if err != nil || n == rollBackChunk {
		return true, err
	}
	_, err = db.Exec(ctx, `UPDATE trials SET rolled_back_run = $2, rolled_back_steps = $3 WHERE id = $1`, trial, run, steps)
	return false, err
}

// restartsFrom begins the condition for the checkpoints k from which a trial may restart, and newestFirst chooses the newest.
const (
	newestFirst  = ` ORDER BY k.steps DESC, k.reported_at DESC LIMIT 1`
	restartsFrom = `k.state = 'COMPLETED' AND NOT ` + checkpoints.BeingRemoved + ` AND k.trial_id = `
)

// Peer is a member with the fields that other members need at the rendezvous.
type Peer struct {
	Rank      int            `db:"rank"`
	NodeName  string         `db:"node_name"`
	Slots     int            `db:"slots"`
	ClaimedBy string         `db:"claimed_by"`
	Arrived   bool           `db:"arrived"`
	Address   string         `db:"address"`
	Ports     map[string]int `db:"ports"`
}

// Arrive stores that a member waits at the rendezvous.
func (db *DB) Arrive(ctx context.Context, allocation string, rank int) error {
	return db.Change(ctx, fault.New(fault.NotFound, "rank %d of attempt %s not found", rank, allocation), `
		UPDATE members SET arrived_at = coalesce(arrived_at, now()) WHERE allocation_id = $1 AND rank = $2`, allocation, rank)
}

// Arrivals are how far the rendezvous of an attempt is.
type Arrivals struct {
	Ended   bool `db:"ended"`
	Missing int  `db:"missing"` // members that have not arrived
}

// Arrivals counts the members that have not arrived.
func (db *DB) Arrivals(ctx context.Context, allocation string) (Arrivals, error) {
	return database.Row[Arrivals](ctx, db.DB, "attempt "+allocation, `
		SELECT state = 'TERMINATED' AS ended,
			(SELECT count(*)::int FROM members WHERE allocation_id = a.id AND arrived_at IS NULL) AS missing
		FROM allocations a WHERE id = $1`, allocation)
}

// Peers lists the members of an attempt by rank.
func (db *DB) Peers(ctx context.Context, allocation string) ([]Peer, error) {
	return database.Rows[Peer](ctx, db.DB, `
		SELECT rank, node_name, cardinality(slot_ids) AS slots, claimed_by, arrived_at IS NOT NULL AS arrived, address, ports
		FROM members WHERE allocation_id = $1 ORDER BY rank`, allocation)
}

// MemberExit stores how a runner's program ended. The first report counts; later ones
// may only add that the logs are complete.
func (db *DB) MemberExit(ctx context.Context, allocation string, rank, code int, reason string, stopped, logsDone bool) error {
	return db.Change(ctx, fault.New(fault.NotFound, "rank %d of attempt %s not found", rank, allocation), `
		UPDATE members SET exited_at = coalesce(exited_at, now()),
			exit_code = CASE WHEN exited_at IS NULL THEN $3 ELSE exit_code END,
			exit_reason = CASE WHEN exited_at IS NULL THEN $4 ELSE exit_reason END,
			stopped = CASE WHEN exited_at IS NULL THEN $5 ELSE stopped END,
			logs_done = logs_done OR $6
		WHERE allocation_id = $1 AND rank = $2`, allocation, rank, code, reason, stopped, logsDone)
}

// MarkUnfit stores that a member's node prevented the start of its program. It takes effect
// with the exit that follows.
func (db *DB) MarkUnfit(ctx context.Context, allocation string, rank int) error {
	_, err := db.Exec(ctx, `UPDATE members SET unfit = true WHERE allocation_id = $1 AND rank = $2 AND exited_at IS NULL`, allocation, rank)
	return err
}

// MarkDaemon stores that the attempt may complete while this member runs.
func (db *DB) MarkDaemon(ctx context.Context, allocation string, rank int) error {
	_, err := db.Exec(ctx, `UPDATE members SET daemon = true WHERE allocation_id = $1 AND rank = $2`, allocation, rank)
	return err
}
