package store

import (
	"context"

	"github.com/detent-ml/detent/master/budget"
)

// What experiments take of the masters' memory (experiments.memory), and whether there is
// room for more. Two requests of one owner at once may both be admitted: the leader then
// leaves the newest experiment of that owner aside (control/folds.go), so that the bound
// on its memory holds all the same.

// holding are the experiments whose searches a leader wants in memory, or will when they
// are activated.
const holding = `((state NOT IN ('COMPLETED', 'CANCELED', 'ERROR', 'DELETING', 'DELETE_FAILED') OR continues > continued) AND desired <> 'deleted' AND NOT unmanaged)`

// admit checks whether an owner may use so much more. What the experiment that asks holds
// already does not count; 0 for none.
func (db *DB) admit(ctx context.Context, owner, except int, more int64) error {
	if db.memory.Bytes <= 0 || more <= 0 {
		return nil
	}
	var u budget.Use
	err := asFault(db.QueryRow(ctx, `
		SELECT coalesce(sum(memory) FILTER (WHERE owner_id = $1), 0)::bigint, coalesce(sum(memory), 0)::bigint,
			count(DISTINCT owner_id) + CASE WHEN bool_or(owner_id = $1) THEN 0 ELSE 1 END
		FROM experiments WHERE `+holding+` AND id <> $2`, owner, except).Scan(&u.Owner, &u.All, &u.Owners))
	if err != nil {
		return err
	}
	return db.memory.Admit(u, more)
}

// grow lets an experiment use more, if there is room.
func (db *DB) grow(ctx context.Context, experiment int, more int64) error {
	if more <= 0 {
		return nil
	}
	owner, err := scalar[int](ctx, db, `SELECT owner_id FROM experiments WHERE id = $1`, experiment)
	if err != nil {
		return err
	}
	if err := db.admit(ctx, owner, 0, more); err != nil {
		return err
	}
	_, err = db.exec(ctx, `UPDATE experiments SET memory = memory + $2 WHERE id = $1`, experiment, more)
	return err
}

// NoRoom says which of these experiments cannot be activated, and why: their owner's
// running experiments use what an owner may use. That happens to experiments from before
// the bound, or after the memory of the masters was reduced.
func (db *DB) NoRoom(ctx context.Context, ids []int) (map[int]error, error) {
	if db.memory.Bytes <= 0 || len(ids) == 0 {
		return nil, nil
	}
	type holder struct {
		ID      int   `db:"id"`
		Owner   int   `db:"owner_id"`
		Memory  int64 `db:"memory"`
		Running bool  `db:"running"`
	}
	list, err := rows[holder](ctx, db, `
		SELECT id, owner_id, memory, desired = 'active' OR state = 'ACTIVE' AS running FROM experiments WHERE `+holding+`
			AND (desired = 'active' OR state = 'ACTIVE' OR id = ANY($1)) ORDER BY id`, ids)
	if err != nil {
		return nil, err
	}
	asked := make(map[int]bool, len(ids))
	for _, id := range ids {
		asked[id] = true
	}
	owners, all := map[int]int64{}, int64(0)
	for _, h := range list {
		if h.Running {
			owners[h.Owner] += h.Memory
			all += h.Memory
		}
	}
	out := map[int]error{}
	for _, h := range list {
		if h.Running || !asked[h.ID] {
			continue
		}
		held := owners[h.Owner]
		owners[h.Owner] = held // the owner counts, also with nothing
		if err := db.memory.Admit(budget.Use{Owner: held, All: all, Owners: len(owners)}, h.Memory); err != nil {
			out[h.ID] = err
			continue
		}
		owners[h.Owner] += h.Memory
		all += h.Memory
	}
	return out, nil
}
