package logs

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
)

// maxShippers is the maximum number of shippers of a task; a runner has one for each member of each attempt.
const maxShippers = 100_000

// lockShippers locks the shippers of a batch, in the order of their keys. The numbers of a
// new shipper begin with its first batch and not at 0: after a restore from a backup, the
// database may lack a shipper that has sent lines before.
func lockShippers(ctx context.Context, db *database.DB, batch []*database.Queued[*Batch]) (map[shipperKey]*shipperRow, error) {
	first := map[shipperKey]int64{}
	for _, q := range batch {
		if b := q.Item; b.Shipper != "" {
			if n, there := first[b.shipperKey()]; !there || b.First < n {
				first[b.shipperKey()] = b.First
			}
		}
	}
	if len(first) == 0 {
		return nil, nil
	}
	var tasks, names []string
	var nexts []int64
	for _, k := range slices.SortedFunc(maps.Keys(first), compareShippers) {
		tasks, names, nexts = append(tasks, k.task), append(names, k.shipper), append(nexts, first[k])
	}
	const lock = `
		SELECT s.shipper, s.task_id, s.next, s.done FROM log_shippers s
		JOIN unnest($1::text[], $2::text[]) AS u(t, n) ON s.task_id = u.t AND s.shipper = u.n
		ORDER BY s.task_id COLLATE "C", s.shipper COLLATE "C" FOR UPDATE OF s`
	list, err := database.Rows[shipperRow](ctx, db, lock, tasks, names)
	if err != nil {
		return nil, err
	}
	if len(list) < len(names) {
		err := db.Exec(ctx, `
			INSERT INTO log_shippers (shipper, task_id, next)
			SELECT s, t, n FROM unnest($1::text[], $2::text[], $3::bigint[]) AS u(s, t, n) JOIN tasks ON tasks.id = u.t
			WHERE (SELECT count(*) FROM log_shippers x WHERE x.task_id = u.t) < $4
			ORDER BY t COLLATE "C", s COLLATE "C" ON CONFLICT DO NOTHING`, names, tasks, nexts, maxShippers)
		if err != nil {
			return nil, err
		}
		if list, err = database.Rows[shipperRow](ctx, db, lock, tasks, names); err != nil {
			return nil, err
		}
	}
	found := make(map[shipperKey]*shipperRow, len(list))
	for i := range list {
		found[shipperKey{list[i].TaskID, list[i].Shipper}] = &list[i]
	}
	return found, nil
}

// storePlan writes a plan.
func storePlan(ctx context.Context, db *database.DB, p plan) error {
	if len(p.next) > 0 {
		if err := storeLines(ctx, db, p); err != nil {
			return err
		}
	}
	if err := advanceShippers(ctx, db, p.shippers); err != nil {
		return err
	}
	if err := fireHits(ctx, db, p.fires); err != nil {
		return err
	}
	slices.SortFunc(p.done, func(a, b memberRef) int {
		return cmp.Or(cmp.Compare(a.allocation, b.allocation), cmp.Compare(a.rank, b.rank))
	})
	for _, m := range p.done {
		err := db.Exec(ctx, `UPDATE members SET logs_done = true WHERE allocation_id = $1 AND rank = $2 AND NOT logs_done`,
			m.allocation, m.rank)
		if err != nil {
			return err
		}
	}
	return nil
}

// storeLines writes the lines of a plan, as far as their logs have room. It numbers the lines of chunks while
// it holds locks on the rows of their tasks, which it locks in the order of ids until the commit.
func storeLines(ctx context.Context, db *database.DB, p plan) error {
	tasks := slices.Sorted(maps.Keys(p.next))
	type counter struct {
		ID    int   `db:"id"`
		Next  int64 `db:"next"`
		Bytes int64 `db:"bytes"`
	}
	counters, err := database.Rows[counter](ctx, db, `SELECT id, next, bytes FROM log_tasks WHERE id = ANY($1) ORDER BY id FOR UPDATE`, tasks)
	if err != nil {
		return err
	}
	if len(counters) != len(tasks) {
		return fault.New(fault.NotFound, "received logs of a deleted task")
	}
	base := map[int]int64{}
	var ids []int
	var nexts, bytes []int64
	for _, c := range counters {
		if p.cut(c.ID, c.Bytes, p.limit); p.next[c.ID] == 0 {
			continue
		}
		base[c.ID] = c.Next
		ids, nexts, bytes = append(ids, c.ID), append(nexts, c.Next+p.next[c.ID]), append(bytes, p.bytes[c.ID])
	}
	if len(ids) == 0 {
		return nil
	}
	// emptied_at: the task of a log whose lines are all deleted has been continued.
	err = db.Exec(ctx, `UPDATE log_tasks SET next = u.n, bytes = bytes + u.b, emptied_at = NULL
		FROM unnest($1::int[], $2::bigint[], $3::bigint[]) AS u(id, n, b) WHERE log_tasks.id = u.id`, ids, nexts, bytes)
	if err != nil {
		return err
	}
	return insertChunks(ctx, db, p.chunks, base)
}

// advanceShippers stores the next line number of each shipper.
func advanceShippers(ctx context.Context, db *database.DB, shippers map[shipperKey]*shipperRow) error {
	var tasks, names []string
	var nexts []int64
	var done []bool
	for _, s := range shippers {
		tasks, names, nexts, done = append(tasks, s.TaskID), append(names, s.Shipper), append(nexts, s.Next), append(done, s.Done)
	}
	if len(names) == 0 {
		return nil
	}
	return db.Exec(ctx, `UPDATE log_shippers SET next = u.n, done = u.d
		FROM unnest($1::text[], $2::text[], $3::bigint[], $4::boolean[]) AS u(t, s, n, d)
		WHERE task_id = u.t AND shipper = u.s AND (next <> u.n OR done <> u.d)`, tasks, names, nexts, done)
}

func insertChunks(ctx context.Context, db *database.DB, chunks []plannedChunk, base map[int]int64) error {
	n := len(chunks)
	classes, tasks, origins := make([]int16, n), make([]int, n), make([]int, n)
	firsts, lines, levels := make([]int64, n), make([]int, n), make([]int, n)
	earliest, latest, bodies := make([]time.Time, n), make([]time.Time, n), make([][]byte, n)
	for i, c := range chunks {
		classes[i], tasks[i], origins[i] = c.class, c.task, c.origin
		firsts[i], lines[i], levels[i] = base[c.task]+c.offset, c.Lines, c.Levels
		earliest[i], latest[i], bodies[i] = c.Earliest, c.Latest, c.Body
	}
	return db.Exec(ctx, `
		INSERT INTO log_chunks (class, log_task, origin, first, lines, levels, earliest, latest, body)
		SELECT * FROM unnest($1::smallint[], $2::int[], $3::int[], $4::bigint[], $5::int[], $6::int[], $7::timestamptz[], $8::timestamptz[], $9::bytea[])`,
		classes, tasks, origins, firsts, lines, levels, earliest, latest, bodies)
}

// MemberOrigin returns the origin of a member's lines: its node, and its Nomad allocation
// as the container.
func MemberOrigin(ctx context.Context, db *database.DB, allocation string, rank int) (Origin, error) {
	return database.Row[Origin](ctx, db, "member", `SELECT allocation_id, node_name AS agent_id, claimed_by AS container_id FROM members WHERE allocation_id = $1 AND rank = $2`, allocation, rank)
}
