package branches

import (
	"context"
	"encoding/json"
	"time"

	"github.com/detent-ml/detent/master/checkpoints"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/lifecycle"
	"github.com/detent-ml/detent/master/search"
	"github.com/detent-ml/detent/master/trial"
)

// A sharing is what a branch has in common with its origin.
type sharing struct {
	origin int
	event  int64
	search *search.Search  // after the event with which the branch begins
	began  json.RawMessage // what a search reads of the configuration with which it began
	body   json.RawMessage // of the event with which the branch begins
	paused bool
	now    bool // the branch begins at the end of what there is, so the newest checkpoints are part of the common past

	ended, resumed, restarted int // trials
}

// share copies the common past into a new experiment: the events, and a row for each trial.
func (s *sharing) share(ctx context.Context, tx *database.DB, id int) error {
	jobID, err := database.Scalar[string](ctx, tx, `UPDATE experiments SET branch_event = $2, search_config = $3::jsonb WHERE id = $1 RETURNING job_id::text`, id, s.event, string(s.began))
	if err != nil {
		return err
	}
	if err := s.events(ctx, tx, id); err != nil {
		return err
	}
	at, err := database.Scalar[time.Time](ctx, tx, `SELECT CASE WHEN $3 THEN greatest(now(), at) ELSE at END FROM search_events WHERE experiment_id = $1 AND seq = $2`, s.origin, s.event, s.now)
	if err != nil {
		return err
	}
	return s.trials(ctx, tx, id, jobID, at)
}

func (s *sharing) events(ctx context.Context, tx *database.DB, id int) error {
	copied, err := tx.Affect(ctx, `INSERT INTO search_events (experiment_id, seq, kind, trial, body, at)
		SELECT $1, seq, kind, trial, body, at FROM search_events WHERE experiment_id = $2 AND seq <= $3`, id, s.origin, s.event)
	if err != nil {
		return err
	}
	if copied != s.event {
		return fault.New(fault.Conflict, "experiment %d is being deleted", s.origin)
	}
	if err := tx.Exec(ctx, `INSERT INTO search_events (experiment_id, seq, kind, trial, body) VALUES ($1, $2, $3, 0, $4::jsonb)`, id, s.event+1, search.Branched, string(s.body)); err != nil {
		return err
	}
	return tx.Exec(ctx, `UPDATE search_counters SET next = $2 WHERE experiment_id = $1`, id, s.event+2)
}

// states are those of trials that have ended, by how they did.
var states = map[string]lifecycle.State{lifecycle.ExitDone: lifecycle.Done, lifecycle.ExitStopped: lifecycle.Done, lifecycle.ExitInvalidHP: lifecycle.Done,
	lifecycle.ExitErrored: lifecycle.Errored, lifecycle.ExitCanceled: lifecycle.Canceled}

// rows of the trials to make, in columns.
type columns struct {
	numbers       []int
	tasks, states []string
	ended, held   []bool
	targets       []int64
	starts        []*string // the checkpoints from which trials go on
}

func (s *sharing) trials(ctx context.Context, tx *database.DB, id int, jobID string, at time.Time) error {
	have, err := database.Scalar[int](ctx, tx, `SELECT count(*) FROM trials WHERE experiment_id = $1`, s.origin)
	if err != nil {
		return err
	}
	var c columns
	for n := range min(have, s.search.Len()) { // the loop makes the rows of trials in the order of their numbers, so it makes those that are missing
		w, state := s.search.Trial(n), ""
		if w.Ended {
			state = string(states[s.search.ExitOf(n)])
			s.ended++
		}
		c.numbers, c.tasks, c.states = append(c.numbers, n), append(c.tasks, trial.TaskID(id, jobID, n)), append(c.states, state)
		c.ended, c.held, c.targets = append(c.ended, w.Ended), append(c.held, w.Hold && !w.Ended), append(c.targets, w.Target)
	}
	if err := s.chooseStarts(ctx, tx, &c, at); err != nil {
		return err
	}
	return s.insert(ctx, tx, id, c, at)
}

// chooseStarts chooses the newest checkpoints at or before the event for the trials that have not ended, and locks them until the
// transaction has stored that they are needed.
func (s *sharing) chooseStarts(ctx context.Context, tx *database.DB, c *columns, at time.Time) error {
	var open []int
	for i, n := range c.numbers {
		if !c.ended[i] {
			open = append(open, n)
		}
	}
	c.starts = make([]*string, len(c.numbers))
	type start struct {
		Number int     `db:"number"`
		UUID   *string `db:"uuid"`
		Ran    bool    `db:"ran"`
	}
	// What the search had seen of a trial is in a checkpoint of the same steps too, also if it was stored a moment later.
	list, err := database.Rows[start](ctx, tx, `
		WITH seen AS (SELECT trial, max((body->>'steps')::bigint) AS steps FROM search_events WHERE experiment_id = $1 AND seq <= $4 AND kind = 'validated' GROUP BY trial)
		SELECT o.number, coalesce(k.uuid, o.warm_start)::text AS uuid,
			o.origin_id IS NOT NULL OR EXISTS (SELECT FROM allocations a WHERE a.task_id = o.task_id AND a.started_at <= $3) AS ran
		FROM unnest($2::int[]) AS u(number) JOIN trials o ON o.experiment_id = $1 AND o.number = u.number LEFT JOIN seen ON seen.trial = u.number
		LEFT JOIN LATERAL (SELECT k.uuid FROM checkpoints k WHERE `+trial.HasCheckpoint("o", "k")+` AND k.state = 'COMPLETED' AND k.logged = ''
			AND (k.reported_at <= $3 OR k.steps <= seen.steps OR o.origin_until IS NOT NULL) AND NOT `+checkpoints.BeingRemoved+`
			ORDER BY k.kept, CASE WHEN k.kept THEN k.run_id ELSE k.steps END DESC, k.reported_at DESC LIMIT 1) k ON true`, s.origin, append([]int{}, open...), at, s.event)
	if err != nil {
		return err
	}
	var ids []string
	for _, x := range list {
		c.starts[x.Number] = x.UUID
		switch {
		case x.UUID != nil:
			s.resumed++
			ids = append(ids, *x.UUID)
		case x.Ran:
			s.restarted++
		}
	}
	return checkpoints.LockAll(ctx, tx, ids)
}

func (s *sharing) insert(ctx context.Context, tx *database.DB, id int, c columns, at time.Time) error {
	const from = ` FROM unnest(@numbers::int[], @tasks::text[], @states::text[], @ended::bool[], @held::bool[], @targets::bigint[], @starts::text[])
			AS u(number, task, state, ended, held, target, start)
		JOIN trials o ON o.experiment_id = @origin AND o.number = u.number `
	args := database.Args{"id": id, "origin": s.origin, "at": at, "paused": s.paused, "numbers": c.numbers, "tasks": c.tasks, "states": c.states, "ended": c.ended,
		"held": c.held, "targets": c.targets, "starts": c.starts}
	for _, sql := range []string{
		`INSERT INTO tasks (id, type, job_id, owner_id, workspace_id, experiment_id, name, context_hash, pool, slots, priority, session_epoch, created_at, ended_at, exit_status)
		SELECT u.task, 'TRIAL', e.job_id, e.owner_id, p.workspace_id, e.id, format('Trial %s of experiment %s', u.number + 1, e.id), e.context_hash, e.pool, e.slots_per_trial, e.priority, e.session_epoch,
			CASE WHEN u.ended THEN o.started_at ELSE now() END, CASE WHEN u.ended THEN least(coalesce(o.ended_at, @at), @at) END, u.state` + from + `
		JOIN experiments e ON e.id = @id JOIN projects p ON p.id = e.project_id`,
		// A trial of a branch that has not run there yet stands for the same origin.
		`INSERT INTO trials (experiment_id, number, task_id, hparams, seed, state, restarts, warm_start, run_id, held, target, started_at, ended_at, error, metadata,
			origin_id, origin_until, past, origin_run)
		SELECT @id, u.number, u.task, o.hparams, o.seed, CASE WHEN u.ended THEN u.state WHEN @paused THEN 'PAUSED' ELSE 'ACTIVE' END, CASE WHEN u.ended THEN o.restarts ELSE 0 END,
			CASE WHEN u.ended THEN o.warm_start ELSE u.start::uuid END, 0, u.held, nullif(u.target, 0),
			CASE WHEN u.ended THEN o.started_at ELSE now() END, CASE WHEN u.ended THEN least(coalesce(o.ended_at, @at), @at) END,
			CASE WHEN u.state = 'ERROR' THEN o.error ELSE '' END, CASE WHEN u.ended THEN o.metadata END,
			CASE WHEN o.origin_until IS NULL THEN o.id ELSE o.origin_id END, coalesce(o.origin_until, @at),
			p.past, CASE WHEN p.past AND o.origin_until IS NULL THEN o.run_id WHEN p.past THEN o.origin_run END` + from + `
		CROSS JOIN LATERAL (SELECT CASE WHEN o.origin_until IS NULL THEN NOT EXISTS (SELECT FROM allocations a WHERE a.task_id = o.task_id AND coalesce(a.ended_at, 'infinity') > @at)
			ELSE o.past END AS past) p
		ORDER BY u.number`,
		`INSERT INTO trial_summaries (trial_id, summary, total_batches, latest_run, latest_steps, best_run, best_steps, searcher_value, incomplete)
		SELECT t.id, s.summary, s.total_batches, s.latest_run, s.latest_steps, s.best_run, s.best_steps, s.searcher_value, s.incomplete
		FROM trials t JOIN trials o ON o.experiment_id = @origin AND o.number = t.number JOIN trial_summaries s ON s.trial_id = o.id WHERE t.experiment_id = @id AND t.past`,
		`UPDATE experiments e SET best_trial_id = t.id FROM trials t WHERE e.id = @id AND e.searcher = 'single' AND t.experiment_id = e.id AND t.number = 0`,
	} {
		if err := tx.Exec(ctx, sql, args); err != nil {
			return err
		}
	}
	return nil
}
