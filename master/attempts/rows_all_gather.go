package attempts

import (
	"context"
	"encoding/json"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
)

// A Round is one round of an all-gather: the peers of an attempt exchange data.
type Round struct {
	AllocationID string
	Purpose      string // rounds of each purpose have their own numbers
	Round        int
}

// Gather adds a peer's data to an all-gather of an attempt. It returns the round, and how
// many of its peers have arrived. If the peer repeats a request, the result is the same
// round. After a complete round the next one begins. The data may take at most limit bytes
// in the database. When a round begins, all peers have read the data of the round before
// the last one, so older rounds are deleted: an attempt has at most three rounds.
func Gather(ctx context.Context, db *database.DB, g Round, request string, peers, limit int, data json.RawMessage) (at Round, progress Progress, err error) {
	err = db.Tx(ctx, func(tx *database.DB) error {
		// One peer at a time, on all masters.
		if err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock(hashtextextended($1, 0))`, "gather "+g.AllocationID); err != nil {
			return err
		}
		round, err := database.Scalar[int](ctx, tx, `SELECT round FROM gathers WHERE allocation_id = $1 AND purpose = $2 AND request = $3`,
			g.AllocationID, g.Purpose, request)
		if !fault.Is(err, fault.NotFound) {
			if g.Round = round; err == nil {
				progress, err = progressOf(ctx, tx, g)
			}
			return err
		}
		if g.Round, err = database.Scalar[int](ctx, tx, `SELECT coalesce(max(round), 1) FROM gathers WHERE allocation_id = $1 AND purpose = $2`,
			g.AllocationID, g.Purpose); err != nil {
			return err
		}
		switch progress, err = progressOf(ctx, tx, g); {
		case err != nil:
			return err
		case progress.Complete():
			g.Round, progress = g.Round+1, Progress{}
		case progress.Expected > 0 && progress.Expected != peers:
			return fault.New(fault.Invalid, "numPeers is %d; the peers that wait in this all-gather sent %d", peers, progress.Expected)
		}
		// jsonb stores numbers with all digits (1e300 has 301), so the stored size counts.
		n, err := tx.Affect(ctx, `
			INSERT INTO gathers (allocation_id, purpose, request, round, peers, arrival, data)
			SELECT $1, $2, $3, $4, $5, $6, $7::jsonb WHERE octet_length($7::jsonb::text) <= $8`,
			g.AllocationID, g.Purpose, request, g.Round, peers, progress.Arrived, data, limit)
		if err == nil && n == 0 {
			return fault.New(fault.Invalid, "data: longer than %d bytes, the limit of each peer in an all-gather of %d peers", limit, peers)
		}
		if err == nil && progress.Arrived == 0 {
			err = tx.Exec(ctx, `DELETE FROM gathers WHERE allocation_id = $1 AND purpose = $2 AND round < $3 - 1`, g.AllocationID, g.Purpose, g.Round)
		}
		progress = Progress{Arrived: progress.Arrived + 1, Expected: peers}
		return database.BadData(err)
	})
	return g, progress, err
}

// Progress is how many peers of a round have arrived.
type Progress struct {
	Arrived  int `db:"n"`
	Expected int `db:"peers"` // 0 until the first has arrived
}

// Complete reports whether all peers have arrived.
func (c Progress) Complete() bool { return c.Expected > 0 && c.Arrived >= c.Expected }

// progressOf counts the peers of a round. It does not read their data.
func progressOf(ctx context.Context, db *database.DB, g Round) (Progress, error) {
	return database.Row[Progress](ctx, db, "all-gather", `
		SELECT count(*) AS n, coalesce(max(peers), 0) AS peers FROM gathers WHERE allocation_id = $1 AND purpose = $2 AND round = $3`,
		g.AllocationID, g.Purpose, g.Round)
}

// bytesOf returns the size of a round's data in the database.
func bytesOf(ctx context.Context, db *database.DB, g Round) (int64, error) {
	return database.Scalar[int64](ctx, db, `
		SELECT coalesce(sum(octet_length(data::text)), 0)::bigint FROM gathers WHERE allocation_id = $1 AND purpose = $2 AND round = $3`,
		g.AllocationID, g.Purpose, g.Round)
}

// dataOf returns the data of a round in order of arrival.
func dataOf(ctx context.Context, db *database.DB, g Round) ([]json.RawMessage, error) {
	return database.Scalars[json.RawMessage](ctx, db, `
		SELECT data FROM gathers WHERE allocation_id = $1 AND purpose = $2 AND round = $3 ORDER BY arrival`,
		g.AllocationID, g.Purpose, g.Round)
}
