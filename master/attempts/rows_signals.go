package attempts

import (
	"context"
	"encoding/json"
	"time"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/lifecycle"
	"github.com/detent-ml/detent/master/tasks"
	"github.com/detent-ml/detent/master/trial"
)

// A Signal is the preemption signal of an attempt, which its program reads by long polls.
type Signal struct {
	Preempt bool `db:"preempt"`
	Ended   bool `db:"ended"`
	Asked   bool `db:"asked"` // a program of the attempt has asked for it before

	Drained *time.Time `db:"drained"` // when Nomad stops what runs on the first of its nodes that is drained
	Notices []string   `db:"notices"` // that machines of its nodes go away, as Nomad has them
}

// ReadSignal reads whether an attempt must store a checkpoint and exit.
func ReadSignal(ctx context.Context, db *database.DB, allocation string) (Signal, error) {
	return database.Row[Signal](ctx, db, "attempt "+allocation, `
		SELECT a.preempt_at IS NOT NULL AS preempt, a.state = 'TERMINATED' AS ended, a.preempt_asked_at IS NOT NULL AS asked,
			min(n.drain_deadline) FILTER (WHERE n.draining) AS drained,
			coalesce(array_agg(n.inventory->'Facts'->>'meta.detent.leaving') FILTER (WHERE n.inventory->'Facts' ? 'meta.detent.leaving'), '{}') AS notices
		FROM allocations a LEFT JOIN members m ON m.allocation_id = a.id LEFT JOIN nodes n ON n.id = m.node_id
		WHERE a.id = $1 GROUP BY a.id`, allocation)
}

// update changes one of the columns of an attempt that its task writes.
func update(ctx context.Context, db *database.DB, allocation, set string, args ...any) error {
	return db.Change(ctx, fault.New(fault.NotFound, "attempt %s not found", allocation), "UPDATE allocations SET "+set+" WHERE id = $1", append([]any{allocation}, args...)...)
}

// markAsked stores that a program of the attempt asks the preemption API: it needs no signal.
func markAsked(ctx context.Context, db *database.DB, allocation string) error {
	return update(ctx, db, allocation, "preempt_asked_at = coalesce(preempt_asked_at, now())")
}

// ackPreemption stores that the program will save a checkpoint and exit. It also accepts an
// acknowledgement without a preemption: then the program exits by its own decision, and the
// trial is queued again.
func ackPreemption(ctx context.Context, db *database.DB, allocation string) error {
	return update(ctx, db, allocation, "preempt_acked_at = coalesce(preempt_acked_at, now())")
}

// requestPreemption preempts an attempt whose task reported that its node is about to
// stop.
func requestPreemption(ctx context.Context, db *database.DB, allocation, reason string) error {
	return update(ctx, db, allocation,
		"preempt_at = coalesce(preempt_at, now()), preempt_reason = CASE WHEN preempt_at IS NULL THEN $2 ELSE preempt_reason END", reason)
}

// MarkReady stores that the program is ready: it accepts requests (a notebook, for example), or
// all members have arrived at the rendezvous or an all-gather.
func MarkReady(ctx context.Context, db *database.DB, allocation string) error {
	return update(ctx, db, allocation, "is_ready = true")
}

// markWaiting stores that the program runs but has no data to show yet (a TensorBoard).
func markWaiting(ctx context.Context, db *database.DB, allocation string) error {
	return update(ctx, db, allocation, "is_waiting = true")
}

// setProxyAddress stores where the program can be reached.
func setProxyAddress(ctx context.Context, db *database.DB, allocation, address string) error {
	return update(ctx, db, allocation, "proxy_address = $2", address)
}

// reportedAccelerators is what a member of an attempt reported about its node's accelerators.
type reportedAccelerators struct {
	AllocationID string `db:"id"`
	Pool         string `db:"pool"`
	NodeName     string `db:"node_name"`
	Data         []byte `db:"data"`
}

// acceleratorsOf lists what the members of the attempts of a part of a task reported, up to 1000 of them.
func acceleratorsOf(ctx context.Context, db *database.DB, task string, p tasks.Part) ([]reportedAccelerators, error) {
	return database.Rows[reportedAccelerators](ctx, db, `
		SELECT a.id, a.pool, coalesce(m.node_name, '') AS node_name, x.value AS data
		FROM allocations a CROSS JOIN LATERAL jsonb_each(coalesce(a.accelerators, '{}')) x
		LEFT JOIN members m ON m.allocation_id = a.id AND m.rank::text = x.key
		WHERE a.task_id = $1 AND `+trial.HoldsRun("$2", "$3")+` ORDER BY a.run_id, m.rank LIMIT 1000`, task, p.FromRun, p.ToRun)
}

// addAccelerators stores the accelerators that a member found on its node. The key is the
// member's rank, so the number of entries is limited whatever node names members report.
func addAccelerators(ctx context.Context, db *database.DB, allocation string, rank int, data json.RawMessage) error {
	return update(ctx, db, allocation,
		"accelerators = coalesce(accelerators, '{}') || jsonb_build_object($2::int::text, $3::jsonb)", rank, data)
}

// An end reports whether an attempt has ended or is being ended, or else preempted, and why.
type end struct {
	Over    bool   `db:"over"`
	Why     string `db:"why"`
	Preempt bool   `db:"preempt"`
	Signal  bool   `db:"signal"` // it is decided that a signal preempts its programs
	Spared  bool   `db:"spared"` // it is decided that none does
	Due     bool   `db:"due"`    // a signal is due, and not decided
}

// A signal preempts an attempt if no program has asked the preemption API within 5 seconds of the preemption: a program that has just
// started may still ask. One that has run for a minute without asking will not, and frees its slots sooner. A trial that has trained to the
// end exits by itself.
const (
	asksItself = `(preempt_asked_at IS NOT NULL OR preempt_acked_at IS NOT NULL OR preempt_reason = '` + lifecycle.WhyTrained + `')`
	signalDue  = `(preempt_at <= now() - interval '5 seconds' OR preempt_at IS NOT NULL AND started_at <= now() - interval '1 minute') AND preempt_signalled_at IS NULL AND kill_at IS NULL AND state <> 'TERMINATED' AND NOT ` + asksItself
)

// readEnd reads the end of an attempt.
func readEnd(ctx context.Context, db *database.DB, allocation string) (end, error) {
	return database.Row[end](ctx, db, "attempt "+allocation, `
		SELECT state = 'TERMINATED' OR kill_at IS NOT NULL AS over,
			coalesce(nullif(kill_reason, ''), nullif(exit_reason, ''), preempt_reason) AS why,
			preempt_at IS NOT NULL AS preempt, preempt_signalled_at IS NOT NULL AS signal,
			preempt_at IS NOT NULL AND preempt_signalled_at IS NULL AND `+asksItself+` AS spared,
			coalesce(`+signalDue+`, false) AS due FROM allocations WHERE id = $1`, allocation)
}

// decideSignal stores that a signal preempts an attempt, for all its members, if one is due. A program that asks later gets it too.
func decideSignal(ctx context.Context, db *database.DB, allocation string) error {
	return db.Exec(ctx, `UPDATE allocations SET preempt_signalled_at = now() WHERE id = $1 AND `+signalDue, allocation)
}
