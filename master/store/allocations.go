package store

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/tasks"
	"github.com/detent-ml/detent/master/trial"
)

// Signal is the preemption signal of an attempt, which its program reads by long polls.
type Signal struct {
	Preempt bool `db:"preempt"`
	Ended   bool `db:"ended"`

	Drained *time.Time `db:"drained"` // when Nomad stops what runs on the first of its nodes that is drained
	Notices []string   `db:"notices"` // that machines of its nodes go away, as Nomad has them
}

// PreemptSignal reads whether an attempt must store a checkpoint and exit.
func (db *DB) PreemptSignal(ctx context.Context, allocation string) (Signal, error) {
	return database.Row[Signal](ctx, db.DB, "attempt "+allocation, `
		SELECT a.preempt_at IS NOT NULL AS preempt, a.state = 'TERMINATED' AS ended,
			min(n.drain_deadline) FILTER (WHERE n.draining) AS drained,
			coalesce(array_agg(n.inventory->'Facts'->>'meta.detent.leaving') FILTER (WHERE n.inventory->'Facts' ? 'meta.detent.leaving'), '{}') AS notices
		FROM allocations a LEFT JOIN members m ON m.allocation_id = a.id LEFT JOIN nodes n ON n.id = m.node_id
		WHERE a.id = $1 GROUP BY a.id`, allocation)
}

// updateAllocation updates one of the columns of an attempt that its task writes.
func (db *DB) updateAllocation(ctx context.Context, allocation, set string, args ...any) error {
	return db.Change(ctx, fault.New(fault.NotFound, "attempt %s not found", allocation), "UPDATE allocations SET "+set+" WHERE id = $1", append([]any{allocation}, args...)...)
}

// AckPreemption stores that the program will save a checkpoint and exit. It also accepts an
// acknowledgement without a preemption: then the program exits by its own decision, and the
// trial is queued again.
func (db *DB) AckPreemption(ctx context.Context, allocation string) error {
	return db.updateAllocation(ctx, allocation, "preempt_acked_at = coalesce(preempt_acked_at, now())")
}

// RequestPreemption preempts an attempt whose task reported that its node is about to
// stop.
func (db *DB) RequestPreemption(ctx context.Context, allocation, reason string) error {
	return db.updateAllocation(ctx, allocation,
		"preempt_at = coalesce(preempt_at, now()), preempt_reason = CASE WHEN preempt_at IS NULL THEN $2 ELSE preempt_reason END", reason)
}

// MarkReady stores that the program is ready: it accepts requests (a notebook, for example), or
// all members have arrived at the rendezvous or an all-gather.
func (db *DB) MarkReady(ctx context.Context, allocation string) error {
	return db.updateAllocation(ctx, allocation, "is_ready = true")
}

// MarkWaiting stores that the program runs but has no data to show yet (a TensorBoard).
func (db *DB) MarkWaiting(ctx context.Context, allocation string) error {
	return db.updateAllocation(ctx, allocation, "is_waiting = true")
}

// SetProxyAddress stores where the program can be reached.
func (db *DB) SetProxyAddress(ctx context.Context, allocation, address string) error {
	return db.updateAllocation(ctx, allocation, "proxy_address = $2", address)
}

// ReportedAccelerators is what a member of an attempt reported about its node's accelerators.
type ReportedAccelerators struct {
	AllocationID string `db:"id"`
	Pool         string `db:"pool"`
	NodeName     string `db:"node_name"`
	Data         []byte `db:"data"`
}

// TaskAccelerators lists what the members of the attempts of a part of a task reported, up to 1000 of them.
func (db *DB) TaskAccelerators(ctx context.Context, task string, p tasks.Part) ([]ReportedAccelerators, error) {
	return database.Rows[ReportedAccelerators](ctx, db.DB, `
		SELECT a.id, a.pool, coalesce(m.node_name, '') AS node_name, x.value AS data
		FROM allocations a CROSS JOIN LATERAL jsonb_each(coalesce(a.accelerators, '{}')) x
		LEFT JOIN members m ON m.allocation_id = a.id AND m.rank::text = x.key
		WHERE a.task_id = $1 AND `+trial.HoldsRun("$2", "$3")+` ORDER BY a.run_id, m.rank LIMIT 1000`, task, p.FromRun, p.ToRun)
}

// AddAccelerators stores the accelerators that a member found on its node. The key is the
// member's rank, so the number of entries is limited whatever node names members report.
func (db *DB) AddAccelerators(ctx context.Context, allocation string, rank int, data json.RawMessage) error {
	return db.updateAllocation(ctx, allocation,
		"accelerators = coalesce(accelerators, '{}') || jsonb_build_object($2::int::text, $3::jsonb)", rank, data)
}

// A GatherRound is one round of an all-gather: the peers of an attempt exchange data.
type GatherRound struct {
	AllocationID string
	Purpose      string // rounds of each purpose have their own numbers
	Round        int
}

// Gather adds a peer's data to an all-gather of an attempt. It returns the round, and how
// many of its peers have arrived. If the peer repeats a request, the result is the same
// round. After a complete round the next one begins. The data may take at most limit bytes
// in the database. When a round begins, all peers have read the data of the round before
// the last one, so older rounds are deleted: an attempt has at most three rounds.
func (db *DB) Gather(ctx context.Context, g GatherRound, request string, peers, limit int, data json.RawMessage) (at GatherRound, progress GatherProgress, err error) {
	err = db.Tx(ctx, func(tx *DB) error {
		// One peer at a time, on all masters.
		if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock(hashtextextended($1, 0))`, "gather "+g.AllocationID); err != nil {
			return err
		}
		round, err := database.Scalar[int](ctx, tx.DB, `SELECT round FROM gathers WHERE allocation_id = $1 AND purpose = $2 AND request = $3`,
			g.AllocationID, g.Purpose, request)
		if !fault.Is(err, fault.NotFound) {
			if g.Round = round; err == nil {
				progress, err = tx.GatherProgress(ctx, g)
			}
			return err
		}
		if g.Round, err = database.Scalar[int](ctx, tx.DB, `SELECT coalesce(max(round), 1) FROM gathers WHERE allocation_id = $1 AND purpose = $2`,
			g.AllocationID, g.Purpose); err != nil {
			return err
		}
		switch progress, err = tx.GatherProgress(ctx, g); {
		case err != nil:
			return err
		case progress.Complete():
			g.Round, progress = g.Round+1, GatherProgress{}
		case progress.Expected > 0 && progress.Expected != peers:
			return fault.New(fault.Invalid, "numPeers is %d; the peers that wait in this all-gather sent %d", peers, progress.Expected)
		}
		// jsonb stores numbers with all digits (1e300 has 301), so the stored size counts.
		n, err := tx.Exec(ctx, `
			INSERT INTO gathers (allocation_id, purpose, request, round, peers, arrival, data)
			SELECT $1, $2, $3, $4, $5, $6, $7::jsonb WHERE octet_length($7::jsonb::text) <= $8`,
			g.AllocationID, g.Purpose, request, g.Round, peers, progress.Arrived, data, limit)
		if err == nil && n == 0 {
			return fault.New(fault.Invalid, "data: longer than %d bytes, the limit of each peer in an all-gather of %d peers", limit, peers)
		}
		if err == nil && progress.Arrived == 0 {
			_, err = tx.Exec(ctx, `DELETE FROM gathers WHERE allocation_id = $1 AND purpose = $2 AND round < $3 - 1`, g.AllocationID, g.Purpose, g.Round)
		}
		progress = GatherProgress{Arrived: progress.Arrived + 1, Expected: peers}
		return database.BadData(err)
	})
	return g, progress, err
}

// GatherProgress is how many peers of a round have arrived.
type GatherProgress struct {
	Arrived  int `db:"n"`
	Expected int `db:"peers"` // 0 until the first has arrived
}

// Complete reports whether all peers have arrived.
func (c GatherProgress) Complete() bool { return c.Expected > 0 && c.Arrived >= c.Expected }

// GatherProgress counts the peers of a round. It does not read their data.
func (db *DB) GatherProgress(ctx context.Context, g GatherRound) (GatherProgress, error) {
	return database.Row[GatherProgress](ctx, db.DB, "all-gather", `
		SELECT count(*) AS n, coalesce(max(peers), 0) AS peers FROM gathers WHERE allocation_id = $1 AND purpose = $2 AND round = $3`,
		g.AllocationID, g.Purpose, g.Round)
}

// GatheredBytes returns the size of a round's data in the database.
func (db *DB) GatheredBytes(ctx context.Context, g GatherRound) (int64, error) {
	return database.Scalar[int64](ctx, db.DB, `
		SELECT coalesce(sum(octet_length(data::text)), 0)::bigint FROM gathers WHERE allocation_id = $1 AND purpose = $2 AND round = $3`,
		g.AllocationID, g.Purpose, g.Round)
}

// Gathered returns the data of a round in order of arrival.
func (db *DB) Gathered(ctx context.Context, g GatherRound) ([]json.RawMessage, error) {
	return database.Scalars[json.RawMessage](ctx, db.DB, `
		SELECT data FROM gathers WHERE allocation_id = $1 AND purpose = $2 AND round = $3 ORDER BY arrival`,
		g.AllocationID, g.Purpose, g.Round)
}

// MemberCount is how many members an attempt has.
func (db *DB) MemberCount(ctx context.Context, allocation string) (int, error) {
	return database.Scalar[int](ctx, db.DB, `SELECT count(*) FROM members WHERE allocation_id = $1`, allocation)
}

// AttemptEnd reports whether an attempt has ended or is being ended, and why.
type AttemptEnd struct {
	Over bool   `db:"over"`
	Why  string `db:"why"`
}

// AttemptEnd reads the end of an attempt.
func (db *DB) AttemptEnd(ctx context.Context, allocation string) (AttemptEnd, error) {
	return database.Row[AttemptEnd](ctx, db.DB, "attempt "+allocation, `
		SELECT state = 'TERMINATED' OR kill_at IS NOT NULL AS over,
			coalesce(nullif(kill_reason, ''), exit_reason) AS why FROM allocations WHERE id = $1`, allocation)
}

// UnendedAllocations says which of these attempts have not ended.
func (db *DB) UnendedAllocations(ctx context.Context, ids []string) (map[string]bool, error) {
	list, err := database.Scalars[string](ctx, db.DB, `SELECT id FROM allocations WHERE id = ANY($1) AND state <> 'TERMINATED'`, ids)
	live := make(map[string]bool, len(list))
	for _, id := range list {
		live[id] = true
	}
	return live, err
}

// attemptsOf returns the ids that the attempt of a job may have: of a task, and of a trial. The id
// of a job has dashes where that of its attempt has dots: before the number of the run, and after
// that of an experiment.
func attemptsOf(job string) (ofTask, ofTrial string) {
	id := strings.TrimPrefix(job, "det-")
	last := strings.LastIndex(id, "-")
	if last < 0 {
		return id, id
	}
	ofTask = id[:last] + "." + id[last+1:]
	return ofTask, strings.Replace(ofTask, "-", ".", 1)
}

// PoolOf returns the pool of an attempt by the id of the attempt's job; "" if it has no row.
func (db *DB) PoolOf(ctx context.Context, job string) (string, error) {
	ofTask, ofTrial := attemptsOf(job)
	return database.Scalar[string](ctx, db.DB, `SELECT coalesce((SELECT pool FROM allocations WHERE id IN ($1, $2) LIMIT 1), '')`, ofTask, ofTrial)
}

// NomadAllocations returns the Nomad allocations of an attempt's job.
func (db *DB) NomadAllocations(ctx context.Context, job string) ([]string, error) {
	ofTask, ofTrial := attemptsOf(job)
	return database.Scalars[string](ctx, db.DB, `
		SELECT DISTINCT p.id FROM members m, unnest(ARRAY[m.nomad_alloc_id, m.claimed_by]) AS p (id)
		WHERE m.allocation_id IN ($1, $2) AND p.id <> ''`, ofTask, ofTrial)
}

// EndedJobs returns those of these Nomad jobs whose attempts have ended or do not exist: no
// process of such a job should still run.
func (db *DB) EndedJobs(ctx context.Context, jobs []string) ([]string, error) {
	return database.Scalars[string](ctx, db.DB, `
		SELECT j.name FROM unnest($1::text[]) AS j (name)
		WHERE NOT EXISTS (SELECT 1 FROM allocations a WHERE a.state <> 'TERMINATED' AND 'det-' || replace(a.id, '.', '-') = j.name)`, jobs)
}
