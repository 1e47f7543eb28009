package store

import (
	"context"
	"encoding/json"

	"github.com/detent-ml/detent/master/fault"
)

// Signal is what a long poll on an attempt looks at.
type Signal struct {
	Preempt bool `db:"preempt"`
	Ended   bool `db:"ended"`
}

// PreemptSignal says whether an attempt has been asked to leave.
func (db *DB) PreemptSignal(ctx context.Context, allocation string) (Signal, error) {
	return row[Signal](ctx, db, "attempt "+allocation, `
		SELECT preempt_at IS NOT NULL AS preempt, state = 'TERMINATED' AS ended FROM allocations WHERE id = $1`, allocation)
}

// reported updates one of the columns of an attempt that its task writes.
func (db *DB) reported(ctx context.Context, allocation, set string, args ...any) error {
	n, err := db.exec(ctx, "UPDATE allocations SET "+set+" WHERE id = $1", append([]any{allocation}, args...)...)
	if err == nil && n == 0 {
		return fault.New(fault.NotFound, "attempt %s not found", allocation)
	}
	return err
}

// AckPreemption notes that the program will checkpoint and leave. An
// acknowledgement that nobody asked for is kept too: the program leaves of its
// own accord and wants to be run again.
func (db *DB) AckPreemption(ctx context.Context, allocation string) error {
	return db.reported(ctx, allocation, "preempt_acked_at = coalesce(preempt_acked_at, now())")
}

// RequestPreemption asks an attempt to leave because its task said that its
// node will go.
func (db *DB) RequestPreemption(ctx context.Context, allocation, reason string) error {
	return db.reported(ctx, allocation,
		"preempt_at = coalesce(preempt_at, now()), preempt_reason = CASE WHEN preempt_at IS NULL THEN $2 ELSE preempt_reason END", reason)
}

// MarkReady notes that the program is up and may be asked to make way.
func (db *DB) MarkReady(ctx context.Context, allocation string) error {
	return db.reported(ctx, allocation, "is_ready = true")
}

// MarkWaiting notes that the program is up but has nothing to show yet.
func (db *DB) MarkWaiting(ctx context.Context, allocation string) error {
	return db.reported(ctx, allocation, "is_waiting = true")
}

// SetProxyAddress stores where the program can be reached.
func (db *DB) SetProxyAddress(ctx context.Context, allocation, address string) error {
	return db.reported(ctx, allocation, "proxy_address = $2", address)
}

// AddAccelerators stores what a member found on its node, by the member's rank: an
// attempt has as many as it has members, whatever they call their nodes.
func (db *DB) AddAccelerators(ctx context.Context, allocation string, rank int, data json.RawMessage) error {
	return db.reported(ctx, allocation,
		"accelerators = coalesce(accelerators, '{}') || jsonb_build_object($2::int::text, $3::jsonb)", rank, data)
}

// A Gathering is something that the peers of an attempt tell each other.
type Gathering struct {
	AllocationID string
	About        string // peers that gather different things do not meet
	Round        int
}

// Gather adds a peer's data to an all-gather of an attempt, and says in which
// round it takes part and how many of its peers have come. The same request gives the
// same round again. An attempt may gather any number of times: a round that is full is
// followed by the next. The data takes at most limit bytes as it is stored. When a
// round begins, all peers have come to the one before it and so have read the one
// before that: what is older is removed, so an attempt has three rounds at most.
func (db *DB) Gather(ctx context.Context, g Gathering, request string, peers, limit int, data json.RawMessage) (at Gathering, come Come, err error) {
	err = db.Tx(ctx, func(tx *DB) error {
		// One peer at a time, whichever master it came to.
		if _, err := tx.exec(ctx, `SELECT pg_advisory_xact_lock(hashtextextended($1, 0))`, "gather "+g.AllocationID); err != nil {
			return err
		}
		round, err := scalar[int](ctx, tx, `SELECT round FROM gathers WHERE allocation_id = $1 AND about = $2 AND request = $3`,
			g.AllocationID, g.About, request)
		if !fault.Is(err, fault.NotFound) {
			if g.Round = round; err == nil {
				come, err = tx.Come(ctx, g)
			}
			return err
		}
		if g.Round, err = scalar[int](ctx, tx, `SELECT coalesce(max(round), 1) FROM gathers WHERE allocation_id = $1 AND about = $2`,
			g.AllocationID, g.About); err != nil {
			return err
		}
		switch come, err = tx.Come(ctx, g); {
		case err != nil:
			return err
		case come.Complete():
			g.Round, come = g.Round+1, Come{}
		case come.Of > 0 && come.Of != peers:
			return fault.New(fault.Invalid, "numPeers is %d; the peers that wait in this all-gather said %d", peers, come.Of)
		}
		// Numbers grow when they are stored: 1e300 has 301 digits.
		n, err := tx.exec(ctx, `
			INSERT INTO gathers (allocation_id, about, request, round, peers, place, data)
			SELECT $1, $2, $3, $4, $5, $6, $7::jsonb WHERE octet_length($7::jsonb::text) <= $8`,
			g.AllocationID, g.About, request, g.Round, peers, come.N, data, limit)
		if err == nil && n == 0 {
			return fault.New(fault.Invalid, "data: it is longer than %d bytes, which is the limit of each peer in an all-gather of %d", limit, peers)
		}
		if err == nil && come.N == 0 {
			_, err = tx.exec(ctx, `DELETE FROM gathers WHERE allocation_id = $1 AND about = $2 AND round < $3 - 1`, g.AllocationID, g.About, g.Round)
		}
		come = Come{N: come.N + 1, Of: peers}
		return badData(err)
	})
	return g, come, err
}

// Come is how many peers of a round have come.
type Come struct {
	N  int `db:"n"`
	Of int `db:"peers"` // 0 while none has
}

// Complete tells whether all have.
func (c Come) Complete() bool { return c.Of > 0 && c.N >= c.Of }

// Come counts the peers of a round. It reads nothing of what they told.
func (db *DB) Come(ctx context.Context, g Gathering) (Come, error) {
	return row[Come](ctx, db, "all-gather", `
		SELECT count(*) AS n, coalesce(max(peers), 0) AS peers FROM gathers WHERE allocation_id = $1 AND about = $2 AND round = $3`,
		g.AllocationID, g.About, g.Round)
}

// GatheredBytes is how much the data of a round takes.
func (db *DB) GatheredBytes(ctx context.Context, g Gathering) (int64, error) {
	return scalar[int64](ctx, db, `
		SELECT coalesce(sum(octet_length(data::text)), 0)::bigint FROM gathers WHERE allocation_id = $1 AND about = $2 AND round = $3`,
		g.AllocationID, g.About, g.Round)
}

// Gathered returns the data of a round in order of arrival.
func (db *DB) Gathered(ctx context.Context, g Gathering) ([]json.RawMessage, error) {
	return scalars[json.RawMessage](ctx, db, `
		SELECT data FROM gathers WHERE allocation_id = $1 AND about = $2 AND round = $3 ORDER BY place`,
		g.AllocationID, g.About, g.Round)
}

// MemberCount is how many members an attempt has.
func (db *DB) MemberCount(ctx context.Context, allocation string) (int, error) {
	return scalar[int](ctx, db, `SELECT count(*) FROM members WHERE allocation_id = $1`, allocation)
}

// End says whether an attempt is over or being ended, and why.
type End struct {
	Over bool   `db:"over"`
	Why  string `db:"why"`
}

// End reads it.
func (db *DB) End(ctx context.Context, allocation string) (End, error) {
	return row[End](ctx, db, "attempt "+allocation, `
		SELECT state = 'TERMINATED' OR kill_at IS NOT NULL AS over,
			coalesce(nullif(kill_reason, ''), exit_reason) AS why FROM allocations WHERE id = $1`, allocation)
}
