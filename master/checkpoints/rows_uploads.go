package checkpoints

import (
	"context"
	"time"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
)

// An upload is a file that a program sends in parts.
type upload struct {
	ID         string    `db:"id"`
	Checkpoint string    `db:"checkpoint"`
	Name       string    `db:"name"`
	Parts      int       `db:"parts"`
	Store      string    `db:"store"`
	Finished   bool      `db:"finished"`
	Size       *int64    `db:"size"` // of all parts, since a request began to complete the file
	CreatedAt  time.Time `db:"created_at"`
}

const uploadColumns = `SELECT u.id::text, u.checkpoint::text, u.name, u.parts, u.store, u.finished, u.size, u.created_at FROM logged_uploads u`

// addUpload records an upload before it begins in the store. Requests for one checkpoint wait for each other, so that they do not pass the limit together.
func addUpload(ctx context.Context, db *database.DB, checkpoint, name string, parts int) (id string, err error) {
	err = db.Tx(ctx, func(tx *database.DB) error {
		if err := tx.Exec(ctx, `SELECT 1 FROM checkpoints WHERE uuid = $1 FOR NO KEY UPDATE`, checkpoint); err != nil {
			return err
		}
		id, err = database.Scalar[string](ctx, tx, `INSERT INTO logged_uploads (checkpoint, name, parts, store)
			SELECT $1, $2, $3, '' FROM (SELECT count(*) FILTER (WHERE NOT finished) AS begun, count(*) AS kept FROM logged_uploads WHERE checkpoint = $1) u
			WHERE u.begun < $4 AND u.kept < $5 RETURNING id::text`, checkpoint, name, parts, maxUploads, maxKeptUploads)
		return database.Missing(database.BadData(err), fault.New(fault.Invalid, "%d files are being sent in parts at once, and no more are allowed: complete or abort their uploads. "+
			"Where parts may come late (Google, Azure), an aborted upload counts for %d hours, and %d uploads are allowed in two days", maxUploads, int((uploadLife+lateBy).Hours()), maxKeptUploads))
	})
	return id, err
}

// startUpload records the store's name of an upload, and whether parts may come late.
func startUpload(ctx context.Context, db *database.DB, id, store string, late bool) error {
	ok, err := changedUpload(ctx, db, `UPDATE logged_uploads SET store = $2, late = $3 WHERE id = $1 RETURNING true`, id, store, late)
	if err == nil && !ok {
		err = fault.New(fault.Conflict, "the checkpoint of the file was removed meanwhile")
	}
	return err
}

// countPart counts a part that the master is about to write, and fails if the files and the parts of the checkpoint have too many bytes with it.
func countPart(ctx context.Context, db *database.DB, id string, size int64) error {
	ok, err := changedUpload(ctx, db, `UPDATE logged_uploads u SET sent = u.sent + $2 FROM checkpoints k WHERE u.id = $1 AND k.uuid = u.checkpoint
		AND k.size + $2 + (SELECT sum(o.sent) FROM logged_uploads o WHERE o.checkpoint = k.uuid AND NOT o.finished) <= $3 RETURNING true`, id, size, int64(maxLoggedBytes))
	if err == nil && !ok {
		err = fault.New(fault.TooLarge, "the files, with the parts of those that are not complete, have more than %s; the limit of a run or a model is this: complete or abort uploads",
			database.SizeText(maxLoggedBytes))
	}
	return err
}

// uploadOf finds the upload of a file.
func uploadOf(ctx context.Context, db *database.DB, checkpoint, name, id string) (upload, error) {
	none := fault.New(fault.NotFound, "file %s has no upload %s", fault.Clip(name), fault.Clip(id))
	if !validUUID(id) || checkpoint == "" {
		return upload{}, none
	}
	u, err := database.Row[upload](ctx, db, "upload", uploadColumns+` WHERE u.id = $1 AND u.checkpoint = $2 AND u.name = $3 AND NOT u.aborted`, id, checkpoint, name)
	return u, database.Missing(err, none)
}

// sizeUpload records how many bytes the parts have together; nil: the store has not made the file of them.
func sizeUpload(ctx context.Context, db *database.DB, id string, size *int64) error {
	return db.Exec(ctx, `UPDATE logged_uploads SET size = $2 WHERE id = $1`, id, size)
}

// holdUpload makes a request the only one that completes a file or removes its parts, for holdLasts. It reports whether no other one is that. It
// waits until nobody registers the checkpoint, and who does that afterwards finds the hold.
func holdUpload(ctx context.Context, db *database.DB, id, holder string) (bool, error) {
	return changedUpload(ctx, db, `
		WITH k AS MATERIALIZED (SELECT k.uuid FROM checkpoints k WHERE k.uuid = (SELECT checkpoint FROM logged_uploads WHERE id = $1) FOR NO KEY UPDATE)
		UPDATE logged_uploads u SET holder = $2, held_until = now() + $3::interval FROM k
		WHERE u.id = $1 AND u.checkpoint = k.uuid AND (u.held_until IS NULL OR u.held_until < now()) RETURNING true`, id, holder, holdLasts)
}

func renewUpload(ctx context.Context, db *database.DB, id, holder string) (bool, error) {
	return changedUpload(ctx, db, `UPDATE logged_uploads SET held_until = now() + $3::interval WHERE id = $1 AND holder = $2 RETURNING true`, id, holder, holdLasts)
}

func releaseUpload(ctx context.Context, db *database.DB, id, holder string) error {
	return db.Exec(ctx, `UPDATE logged_uploads SET holder = NULL, held_until = NULL WHERE id = $1 AND holder = $2`, id, holder)
}

func changedUpload(ctx context.Context, db *database.DB, sql string, args ...any) (bool, error) {
	ok, err := database.Scalar[bool](ctx, db, sql, args...)
	return ok, database.Missing(err, nil)
}

// finishUpload records that a file is complete. No client asks about earlier uploads of the file any more.
func finishUpload(ctx context.Context, db *database.DB, id string) error {
	return db.Exec(ctx, `
		WITH done AS (UPDATE logged_uploads SET finished = true WHERE id = $1 RETURNING checkpoint, name)
		DELETE FROM logged_uploads o USING done WHERE o.checkpoint = done.checkpoint AND o.name = done.name AND o.finished AND NOT o.late AND o.id <> $1`, id)
}

// removeUpload removes an upload whose parts were removed. Where parts may come late, its row stays until that is over, and counts for the limit of its checkpoint.
func removeUpload(ctx context.Context, db *database.DB, id string) error {
	return db.Exec(ctx, `
		WITH a AS (DELETE FROM abandoned_uploads WHERE id = $1 AND NOT (late AND abandoned_at > now() - $2::interval)),
		kept AS (UPDATE logged_uploads SET aborted = true, size = NULL, sent = 0 WHERE id = $1 AND late AND created_at > now() - $2::interval)
		DELETE FROM logged_uploads WHERE id = $1 AND NOT (late AND created_at > now() - $2::interval)`, id, uploadLife+lateBy)
}

// forgetUploads removes complete uploads about which no client asks any more, and those of deleted experiments whose storage has kept the parts for too long.
func forgetUploads(ctx context.Context, db *database.DB, finished, abandoned time.Duration) error {
	err := db.Exec(ctx, `DELETE FROM logged_uploads WHERE ctid = ANY(ARRAY(SELECT ctid FROM logged_uploads
		WHERE finished AND created_at < now() - CASE WHEN late THEN $2::interval ELSE $1::interval END LIMIT 20000))`, finished, abandoned)
	if err == nil {
		err = db.Exec(ctx, `DELETE FROM abandoned_uploads WHERE ctid = ANY(ARRAY(
			SELECT ctid FROM abandoned_uploads
			WHERE abandoned_at < now() - 2 * $1::interval OR tried_at IS NOT NULL AND abandoned_at < now() - $1::interval LIMIT 20000))`, abandoned)
	}
	return err
}

// tryUploadLater moves an upload whose parts could not be removed behind the others.
func tryUploadLater(ctx context.Context, db *database.DB, id string) error {
	return db.Exec(ctx, `WITH a AS (UPDATE abandoned_uploads SET tried_at = now() WHERE id = $1) UPDATE logged_uploads SET tried_at = now() WHERE id = $1`, id)
}

// An oldUpload is an upload whose parts are removed, with what locates them: of the configuration, only the storage and what every configuration has.
type oldUpload struct {
	upload
	Abandoned bool   `db:"abandoned"`
	Config    []byte `db:"config"`
	Storage   []byte `db:"storage"`
}

// oldUploads are some uploads that began so long ago, also complete ones to whose storage parts may have come late, and those whose files are being
// removed, unless their removal was tried since some time: of each owner one, then the second of each, and so on.
func oldUploads(ctx context.Context, db *database.DB, age time.Duration, since time.Time) ([]oldUpload, error) {
	return database.Rows[oldUpload](ctx, db, `
		WITH old AS (
			SELECT u.id, u.checkpoint, u.name, u.parts, u.store, u.finished, u.size, u.created_at, u.tried_at, false AS abandoned, e.owner_id, e.id AS experiment, k.storage_id
			FROM logged_uploads u JOIN checkpoints k ON k.uuid = u.checkpoint JOIN trials t ON t.id = k.trial_id JOIN experiments e ON e.id = t.experiment_id
			WHERE (NOT u.finished OR u.late) AND (u.created_at < now() - $1::interval OR k.state = 'DELETED' OR e.desired = 'deleted')
			UNION ALL
			SELECT id, checkpoint, name, parts, store, false, size, abandoned_at, tried_at, true, owner_id, NULL, NULL FROM abandoned_uploads),
		turns AS (SELECT *, row_number() OVER (PARTITION BY owner_id ORDER BY tried_at NULLS FIRST, created_at) AS turn FROM old WHERE coalesce(tried_at < $2, true)),
		chosen AS MATERIALIZED (SELECT * FROM turns ORDER BY turn, tried_at NULLS FIRST, created_at LIMIT 100),
		place AS MATERIALIZED ( -- a configuration may be large, and is read once
			SELECT e.id, jsonb_build_object('name', 'x', 'reproducibility', jsonb_build_object('experiment_seed', 0), 'checkpoint_storage', e.config -> 'checkpoint_storage') AS config
			FROM experiments e WHERE e.id IN (SELECT experiment FROM chosen))
		SELECT s.id::text, s.checkpoint::text, s.name, s.parts, s.store, s.finished, s.size, s.created_at, s.abandoned, coalesce(a.config, p.config) AS config, coalesce(a.storage, b.config) AS storage
		FROM chosen s LEFT JOIN place p ON p.id = s.experiment LEFT JOIN storage_backends b ON b.id = s.storage_id LEFT JOIN abandoned_uploads a ON s.abandoned AND a.id = s.id
		ORDER BY s.turn, s.tried_at NULLS FIRST, s.created_at`, age, since)
}
