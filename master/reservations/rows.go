package reservations

import (
	"context"
	"fmt"
	"time"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
)

// A Reservation holds slots of a pool for a workspace, a user, or a user in a workspace; or it takes nodes out of use: a maintenance.
type Reservation struct {
	ID             int       `db:"id"`
	Pool           string    `db:"pool"`
	WorkspaceID    *int      `db:"workspace_id"`
	Workspace      string    `db:"workspace"`
	WorkspaceOwner int       `db:"workspace_owner"`
	UserID         *int      `db:"user_id"`
	Username       string    `db:"username"`
	Slots          int       `db:"slots"` // 0 for a maintenance
	Nodes          []string  `db:"nodes"` // ids, of a maintenance
	NodeNames      []string  `db:"node_names"`
	BeginsAt       time.Time `db:"begins_at"`
	EndsAt         time.Time `db:"ends_at"`
	Note           string    `db:"note"`
	CreatorID      *int      `db:"creator_id"`
	Creator        string    `db:"creator"`
	CreatedAt      time.Time `db:"created_at"`
}

// IsMaintenance reports whether it takes nodes out of use.
func (v Reservation) IsMaintenance() bool { return len(v.Nodes) > 0 }

// overlaps reports whether two reservations hold something at the same time.
func (v Reservation) overlaps(w Reservation) bool {
	return v.BeginsAt.Before(w.EndsAt) && w.BeginsAt.Before(v.EndsAt)
}

func (v Reservation) when() string {
	return fmt.Sprintf("from %s to %s", v.BeginsAt.UTC().Format(time.RFC3339), v.EndsAt.UTC().Format(time.RFC3339))
}

// Limits on reservations: the loop reads all that have not ended in each cycle, and the scheduler plans around them.
const (
	maxOfPool = 32                  // that have not ended
	maxAhead  = 92 * 24 * time.Hour // from now to the start
	maxLength = 31 * 24 * time.Hour
	minLength = time.Minute
	maxNodes  = 500     // of a maintenance
	maxSlots  = 100_000 // of a pool that can grow without a limit
	maxNote   = 1000
	// kept is for how long reservations that have ended are kept.
	kept = 92 * 24 * time.Hour
)

const selected = `SELECT v.id, v.pool, v.workspace_id, coalesce(w.name, '') AS workspace, coalesce(w.owner_id, 0) AS workspace_owner, v.user_id, coalesce(u.username, '') AS username,
		v.slots, v.nodes, ARRAY(SELECT coalesce(n.name, x.id) FROM unnest(v.nodes) WITH ORDINALITY x (id, at) LEFT JOIN nodes n ON n.id = x.id ORDER BY x.at) AS node_names,
		v.begins_at, v.ends_at, v.note, v.creator_id, coalesce(c.username, '') AS creator, v.created_at
	FROM reservations v LEFT JOIN workspaces w ON w.id = v.workspace_id LEFT JOIN users u ON u.id = v.user_id LEFT JOIN users c ON c.id = v.creator_id
	WHERE v.cancelled_at IS NULL AND v.ends_at > now()`

// All lists the reservations that have not ended, the first to begin first; with a pool, only those of it.
func All(ctx context.Context, db *database.DB, pool string) ([]Reservation, error) {
	return database.Rows[Reservation](ctx, db, selected+` AND ($1 = '' OR v.pool = $1) ORDER BY v.begins_at, v.id`, pool)
}

// byID finds a reservation that has not ended.
func byID(ctx context.Context, db *database.DB, id int) (Reservation, error) {
	v, err := database.Row[Reservation](ctx, db, "reservation", selected+` AND v.id = $1`, id)
	return v, database.Missing(err, missing(id))
}

func missing(id int) error {
	return fault.New(fault.NotFound, "reservation %d not found; it may have ended: det resource-pool reservations lists those that have not", id)
}

// insert stores a reservation, if fits allows it beside the others that have not ended. It removes those that ended long ago.
func insert(ctx context.Context, db *database.DB, v Reservation, fits func(others []Reservation) error) (set Reservation, err error) {
	err = db.Tx(ctx, func(tx *database.DB) error {
		// One at a time, so that two do not get the same slots.
		if err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock(hashtextextended('reservations', 0))`); err != nil {
			return err
		}
		others, err := All(ctx, tx, "")
		if err == nil {
			err = fits(others)
		}
		if err != nil {
			return err
		}
		if err := tx.Exec(ctx, `DELETE FROM reservations WHERE least(cancelled_at, ends_at) < now() - $1::interval`, kept); err != nil {
			return err
		}
		id, err := database.Scalar[int](ctx, tx, `INSERT INTO reservations (pool, workspace_id, user_id, slots, nodes, begins_at, ends_at, note, creator_id)
			VALUES (@pool, @workspace, @user, @slots, coalesce(@nodes::text[], '{}'), @begins, @ends, @note, @creator) RETURNING id`,
			database.Args{"pool": v.Pool, "workspace": v.WorkspaceID, "user": v.UserID, "slots": v.Slots, "nodes": v.Nodes, "begins": v.BeginsAt, "ends": v.EndsAt, "note": v.Note, "creator": v.CreatorID})
		if err != nil {
			return err
		}
		set, err = byID(ctx, tx, id)
		return err
	})
	return set, err
}

// cancel ends a reservation now.
func cancel(ctx context.Context, db *database.DB, id int) error {
	return db.Change(ctx, missing(id), `UPDATE reservations SET cancelled_at = now() WHERE id = $1 AND cancelled_at IS NULL AND ends_at > now()`, id)
}
