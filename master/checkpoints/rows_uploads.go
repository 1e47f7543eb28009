package checkpoints

import (
	"context"
	"time"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
)

// An upload is a file that a program sends in parts.
type upload struct {
	ID         string `db:"id"`
	Checkpoint string `db:"checkpoint"`
	Name       string `db:"name"`
	Parts      int    `db:"parts"`
	Store      string `db:"store"`
	Finished   bool   `db:"finished"`
	Size       *int64 `db:"size"` // of all parts, since a request began to complete the file
}

const uploadColumns = `SELECT u.id::text, u.checkpoint::text, u.name, u.parts, u.store, u.finished, u.size FROM logged_uploads u`

// addUpload records an upload that has begun.
func addUpload(ctx context.Context, db *database.DB, checkpoint, name string, parts int, store string) (string, error) {
	id, err := database.Scalar[string](ctx, db, `INSERT INTO logged_uploads (checkpoint, name, parts, store)
		SELECT $1, $2, $3, $4 WHERE (SELECT count(*) FROM logged_uploads WHERE checkpoint = $1 AND NOT finished) < $5 RETURNING id::text`, checkpoint, name, parts, store, maxUploads)
	return id, database.Missing(database.BadData(err), fault.New(fault.Invalid, "%d files are being sent in parts at once, and no more are allowed: complete or abort their uploads", maxUploads))
}

// uploadOf finds the upload of a file.
func uploadOf(ctx context.Context, db *database.DB, checkpoint, name, id string) (upload, error) {
	none := fault.New(fault.NotFound, "file %s has no upload %s", fault.Clip(name), fault.Clip(id))
	if !validUUID(id) || checkpoint == "" {
		return upload{}, none
	}
	u, err := database.Row[upload](ctx, db, "upload", uploadColumns+` WHERE u.id = $1 AND u.checkpoint = $2 AND u.name = $3`, id, checkpoint, name)
	return u, database.Missing(err, none)
}

// sizeUpload records how many bytes the parts have together.
func sizeUpload(ctx context.Context, db *database.DB, id string, size int64) error {
	return db.Exec(ctx, `UPDATE logged_uploads SET size = $2 WHERE id = $1`, id, size)
}

// holdUpload makes a request the only one that completes a file or removes its parts, for holdLasts. It reports whether no other one is that.
func holdUpload(ctx context.Context, db *database.DB, id, holder string) (bool, error) {
	return changedUpload(ctx, db, `UPDATE logged_uploads SET holder = $2, held_until = now() + $3::interval
		WHERE id = $1 AND (held_until IS NULL OR held_until < now()) RETURNING true`, id, holder, holdLasts)
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

func finishUpload(ctx context.Context, db *database.DB, id string) error {
	return db.Exec(ctx, `UPDATE logged_uploads SET finished = true WHERE id = $1`, id)
}

func removeUpload(ctx context.Context, db *database.DB, id string) error {
	return db.Exec(ctx, `DELETE FROM logged_uploads WHERE id = $1`, id)
}

// tryUploadLater moves an upload whose parts could not be removed behind the others.
func tryUploadLater(ctx context.Context, db *database.DB, id string) error {
	return db.Exec(ctx, `UPDATE logged_uploads SET tried_at = now() WHERE id = $1`, id)
}

// oldUploads are some uploads that began so long ago, and those whose files are being removed: first those whose removal nobody has tried.
func oldUploads(ctx context.Context, db *database.DB, age time.Duration) ([]upload, error) {
	return database.Rows[upload](ctx, db, uploadColumns+` JOIN checkpoints k ON k.uuid = u.checkpoint JOIN trials t ON t.id = k.trial_id JOIN experiments e ON e.id = t.experiment_id
		WHERE u.created_at < now() - $1::interval OR k.state = 'DELETED' OR e.desired = 'deleted' ORDER BY u.tried_at NULLS FIRST, u.created_at LIMIT 100`, age)
}
