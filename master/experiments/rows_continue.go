package experiments

import (
	"context"
	"encoding/json"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
)

// Continuation is a request to continue an experiment after its end.
type Continuation struct {
	Single  bool            // the searcher is single: its trial continues however it ended; otherwise only trials that did not complete
	Event   json.RawMessage // body of the search's Continued event
	Changed *New            // the new configuration; nil: unchanged
	Saw     json.RawMessage // the configuration that the changes were merged into
	Memory  int64           // maximum memory of the search, in bytes
}

// Continue stores a request to continue an experiment, with the event for its
// search. It returns the number of the request; HasContinued tells when the loop has
// carried it out.
//
// It resets the trials' requests of users (such as a kill) and their reports of an early
// exit, because these were about the time before.
func Continue(ctx context.Context, db *database.DB, room *Memory, id int, c Continuation) (n int, err error) {
	err = db.Tx(ctx, func(tx *database.DB) error {
		n, err = requestContinuation(ctx, tx, id, c.Single)
		if err != nil {
			return err
		}
		if err := remeasure(ctx, tx, room, id, c.Memory); err != nil {
			return err
		}
		if c.Changed != nil {
			if err := reconfigure(ctx, tx, id, c.Changed, c.Saw); err != nil {
				return err
			}
		}
		err = tx.Exec(ctx, `UPDATE trials SET kill_wanted = false, early_exit = NULL, progress = NULL
			WHERE experiment_id = $1 AND ($2 OR state <> 'COMPLETED')`, id, c.Single)
		if err != nil {
			return err
		}
		return AppendEvents(ctx, tx, []NewEvent{{ExperimentID: id, Kind: "continued", Body: c.Event}})
	})
	return n, err
}

// remeasure stores the memory of a continued experiment's search, if the budget has room.
func remeasure(ctx context.Context, db *database.DB, room *Memory, id int, memory int64) error {
	owner, err := database.Scalar[int](ctx, db, `UPDATE experiments SET memory = $2 WHERE id = $1 RETURNING owner_id`, id, memory)
	if err != nil {
		return err
	}
	return room.admit(ctx, db, owner, id, memory)
}

// requestContinuation increments the number of requests. Of several simultaneous requests
// only one succeeds, and only if the experiment has trials to continue.
func requestContinuation(ctx context.Context, db *database.DB, id int, single bool) (int, error) {
	n, err := database.Scalar[int](ctx, db, `
		UPDATE experiments SET continues = continues + 1, continued_at = now(), desired = 'active'
		WHERE id = $1 AND state IN ('COMPLETED', 'CANCELED', 'ERROR') AND continues = continued AND desired <> 'deleted'
			AND NOT archived AND NOT unmanaged RETURNING continues`, id)
	if fault.Is(err, fault.NotFound) {
		return 0, fault.New(fault.Conflict, "experiment %d has changed in the meantime: an experiment can be continued when it has ended and is not archived", id)
	}
	if err != nil || single {
		return n, err
	}
	left, err := database.Scalar[bool](ctx, db, `
		SELECT e.state <> 'COMPLETED' OR EXISTS (SELECT FROM trials t WHERE t.experiment_id = e.id AND t.state <> 'COMPLETED')
		FROM experiments e WHERE e.id = $1`, id)
	if err == nil && !left {
		err = fault.New(fault.Invalid, "experiment has been completed, cannot continue this experiment")
	}
	return n, err
}

// reconfigure replaces an experiment's configuration. The submitted text and the
// configuration with which its search began stay.
func reconfigure(ctx context.Context, db *database.DB, id int, n *New, saw json.RawMessage) error {
	if n.Labels == nil {
		n.Labels = []string{}
	}
	changed, err := db.Affect(ctx, `
		UPDATE experiments SET search_config = coalesce(search_config, config), config = @config, name = @name, description = @description,
			labels = @labels, pool = @pool, slots_per_trial = @slots, max_slots = @max_slots, weight = @weight, priority = @priority
		WHERE id = @id AND config = @saw::jsonb`,
		database.Args{"id": id, "config": string(n.Config), "name": n.Name, "description": n.Description, "labels": n.Labels,
			"pool": n.Pool, "slots": n.SlotsPerTrial, "max_slots": n.MaxSlots, "weight": n.Weight, "priority": n.Priority, "saw": string(saw)})
	if err == nil && changed == 0 {
		err = fault.New(fault.Conflict, "experiment %d has changed in the meantime; check it and try again", id)
	}
	if err != nil {
		return err
	}
	return db.Exec(ctx, `UPDATE tasks SET pool = $2, slots = $3, priority = $4 WHERE experiment_id = $1 AND type = 'TRIAL'`,
		id, n.Pool, n.SlotsPerTrial, n.Priority)
}

// HasContinued reports whether the loop has carried out request n.
func HasContinued(ctx context.Context, db *database.DB, id, n int) (bool, error) {
	return database.Scalar[bool](ctx, db, `SELECT continued >= $2 FROM experiments WHERE id = $1`, id, n)
}
