package attempts

import (
	"context"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
	v1 "github.com/detent-ml/detent/master/v1"
)

// A peer is a member with the fields that other members need at the rendezvous.
type peer struct {
	Rank      int            `db:"rank"`
	NodeName  string         `db:"node_name"`
	Slots     int            `db:"slots"`
	ClaimedBy string         `db:"claimed_by"`
	Arrived   bool           `db:"arrived"`
	Address   string         `db:"address"`
	Ports     map[string]int `db:"ports"`
}

// arrive stores that a member waits at the rendezvous.
func arrive(ctx context.Context, db *database.DB, allocation string, rank int) error {
	return db.Change(ctx, fault.New(fault.NotFound, "rank %d of attempt %s not found", rank, allocation), `
		UPDATE members SET arrived_at = coalesce(arrived_at, now()) WHERE allocation_id = $1 AND rank = $2`, allocation, rank)
}

// arrivals are how far the rendezvous of an attempt is.
type arrivals struct {
	Ended   bool `db:"ended"`
	Missing int  `db:"missing"` // members that have not arrived
}

// countArrivals counts the members that have not arrived.
func countArrivals(ctx context.Context, db *database.DB, allocation string) (arrivals, error) {
	return database.Row[arrivals](ctx, db, "attempt "+allocation, `
		SELECT state = 'TERMINATED' AS ended,
			(SELECT count(*)::int FROM members WHERE allocation_id = a.id AND arrived_at IS NULL) AS missing
		FROM allocations a WHERE id = $1`, allocation)
}

// peers lists the members of an attempt by rank.
func peers(ctx context.Context, db *database.DB, allocation string) ([]peer, error) {
	return database.Rows[peer](ctx, db, `
		SELECT rank, node_name, cardinality(slot_ids) AS slots, claimed_by, arrived_at IS NOT NULL AS arrived, address, ports
		FROM members WHERE allocation_id = $1 ORDER BY rank`, allocation)
}

// MemberExit stores how a runner's program ended. The first report counts; later ones
// may only add that the logs are complete. An exit that a master reads on the node later was
// when Nomad saw it: which member of a gang failed first depends on it.
func MemberExit(ctx context.Context, db *database.DB, allocation string, rank, code int, reason string, stopped, logsDone bool) error {
	return db.Change(ctx, fault.New(fault.NotFound, "rank %d of attempt %s not found", rank, allocation), `
		UPDATE members SET exited_at = coalesce(exited_at, nomad_ended_at, now()),
			exit_code = CASE WHEN exited_at IS NULL THEN $3 ELSE exit_code END,
			exit_reason = CASE WHEN exited_at IS NULL THEN $4 ELSE exit_reason END,
			stopped = CASE WHEN exited_at IS NULL THEN $5 ELSE stopped END,
			logs_done = logs_done OR $6
		WHERE allocation_id = $1 AND rank = $2`, allocation, rank, code, reason, stopped, logsDone)
}

// markUnfit stores that a member's node prevented the start of its program. It takes effect
// with the exit that follows.
func markUnfit(ctx context.Context, db *database.DB, allocation string, rank int) error {
	return db.Exec(ctx, `UPDATE members SET unfit = true WHERE allocation_id = $1 AND rank = $2 AND exited_at IS NULL`, allocation, rank)
}

// markPreempted stores how a member's program ended after the signal that preempted it. It takes effect with the exit that
// follows. Only an attempt that is preempted can end so; of a word that this master does not know, only the exit counts.
func markPreempted(ctx context.Context, db *database.DB, allocation string, rank int, how string) error {
	if how != v1.PreemptedExited && how != v1.PreemptedKilled {
		return nil
	}
	return db.Exec(ctx, `UPDATE members m SET preempted = $3 FROM allocations a
		WHERE a.id = m.allocation_id AND a.preempt_at IS NOT NULL AND m.allocation_id = $1 AND m.rank = $2 AND m.exited_at IS NULL`, allocation, rank, how)
}

// markDaemon stores that the attempt may complete while this member runs.
func markDaemon(ctx context.Context, db *database.DB, allocation string, rank int) error {
	return db.Exec(ctx, `UPDATE members SET daemon = true WHERE allocation_id = $1 AND rank = $2`, allocation, rank)
}

// countMembers is how many members an attempt has.
func countMembers(ctx context.Context, db *database.DB, allocation string) (int, error) {
	return database.Scalar[int](ctx, db, `SELECT count(*) FROM members WHERE allocation_id = $1`, allocation)
}
