package models

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
)

// A Version is a checkpoint that is registered as a version of a model.
type Version struct {
	ID         int             `db:"id"`
	ModelID    int             `db:"model_id"`
	Number     int             `db:"version"`
	UUID       string          `db:"checkpoint"`
	OwnerID    int             `db:"owner_id"`
	Owner      string          `db:"owner"`
	Name       string          `db:"name"`
	Comment    string          `db:"comment"`
	Notes      string          `db:"notes"`
	Labels     []string        `db:"labels"`
	Metadata   json.RawMessage `db:"metadata"`
	CreatedAt  time.Time       `db:"created_at"`
	ModifiedAt time.Time       `db:"modified_at"`
}

const versionSelect = `SELECT v.id, v.model_id, v.version, v.checkpoint::text, v.owner_id, u.username AS owner, v.name, v.comment, v.notes, v.labels, v.metadata,
	v.created_at, v.modified_at FROM model_versions v JOIN users u ON u.id = v.owner_id`

var listedVersions = database.Listed{Table: "model_versions v", Key: "v.id", Is: "int", Rows: versionSelect,
	Size:  "octet_length(v.name) + octet_length(v.comment) + octet_length(v.notes) + octet_length(v.metadata::text)",
	Sorts: database.Sorts{"": "v.version", "created": "v.created_at"}}

// maxVersions is the maximum number of versions of one page: each is shown with the
// configuration of its experiment.
const maxVersions = 500

// versionsOf lists a page of the versions of a model (database.PageOf).
func versionsOf(ctx context.Context, db *database.DB, model int, sort string, desc bool, offset, limit int) ([]Version, error) {
	var c database.Conditions
	c.When(true, "v.model_id = @model", "model", model)
	return database.PageOf[Version, int](ctx, db, &listedVersions, c, sort, desc, offset, min(limit, maxVersions))
}

// VersionByNumber finds a version of a model by its number.
func VersionByNumber(ctx context.Context, db *database.DB, m Model, version int) (Version, error) {
	v, err := database.Row[Version](ctx, db, "version", versionSelect+` WHERE v.model_id = $1 AND v.version = $2`, m.ID, version)
	return v, database.Missing(err, fault.New(fault.NotFound, "version %d for model %q not found", version, m.Name))
}

// register registers a complete checkpoint as the next version of a model. From then on
// its files stay. also, if it is not nil, is called in the same transaction.
func register(ctx context.Context, db *database.DB, m Model, v Version, also func(tx *database.DB, id int) error) (version int, err error) {
	err = db.Tx(ctx, func(tx *database.DB) error {
		archived, err := database.Scalar[bool](ctx, tx, `SELECT archived FROM models WHERE id = $1 FOR UPDATE`, m.ID)
		switch {
		case fault.Is(err, fault.NotFound):
			return fault.New(fault.NotFound, "model %q not found", m.Name)
		case err != nil:
			return err
		case archived:
			return fault.New(fault.Conflict, "model %q is archived and cannot register new versions; unarchive it first", m.Name)
		}
		if err := lockToRegister(ctx, tx, v.UUID); err != nil {
			return err
		}
		if version, err = database.Scalar[int](ctx, tx, `UPDATE models SET newest = newest + 1, modified_at = now() WHERE id = $1 RETURNING newest`, m.ID); err != nil {
			return err
		}
		id, err := database.Scalar[int](ctx, tx, `INSERT INTO model_versions (model_id, version, checkpoint, owner_id, name, comment, notes, labels, metadata)
			VALUES (@model, @version, @checkpoint, @owner, @name, @comment, @notes, @labels, coalesce(@metadata::text::jsonb, '{}')) RETURNING id`,
			database.Args{"model": m.ID, "version": version, "checkpoint": v.UUID, "owner": v.OwnerID, "name": v.Name, "comment": v.Comment, "notes": v.Notes,
				"labels": append([]string{}, v.Labels...), "metadata": database.JSONOrNull(v.Metadata)})
		if err != nil || also == nil {
			return database.BadData(err)
		}
		return also(tx, id)
	})
	return version, err
}

// lockToRegister keeps a checkpoint, and the experiment that it belongs to, from being removed
// until the transaction has registered it. It rejects a checkpoint that is not complete, or of
// which files are being removed. The experiment is locked first, as where a GC is created.
func lockToRegister(ctx context.Context, db *database.DB, uuid string) error {
	desired, err := database.Scalars[string](ctx, db, `SELECT e.desired FROM experiments e JOIN trials t ON t.experiment_id = e.id JOIN checkpoints k ON k.trial_id = t.id
		WHERE k.uuid = $1 FOR SHARE OF e`, uuid)
	if err != nil {
		return err
	}
	if slices.Contains(desired, "deleted") {
		return fault.New(fault.Conflict, "the experiment of checkpoint %s is being deleted", uuid)
	}
	state, err := database.Scalar[string](ctx, db, `SELECT state FROM checkpoints WHERE uuid = $1 FOR SHARE`, uuid)
	if err != nil {
		return database.Missing(err, fault.New(fault.NotFound, "checkpoint %s not found", uuid))
	}
	// The store may still make a file of its parts when nobody holds the upload any more.
	held, err := database.Scalar[bool](ctx, db, `SELECT EXISTS (SELECT FROM logged_uploads WHERE checkpoint = $1 AND (held_until > now() OR size IS NOT NULL AND NOT finished))`, uuid)
	if err != nil {
		return err
	}
	if held { // it may replace a file of the version
		return fault.New(fault.Conflict, "a file of checkpoint %s is being completed from its parts; try again when it is complete, or abort its upload", uuid)
	}
	if state != "COMPLETED" {
		return fault.New(fault.Invalid, "checkpoint %s is in %s state. checkpoints for model versions must be in a COMPLETED state", uuid, state)
	}
	leaves, err := database.Scalar[bool](ctx, db, `SELECT EXISTS (SELECT FROM removals r JOIN tasks g ON g.id = r.task_id
		WHERE r.checkpoint = $1 AND r.at IS NULL AND g.ended_at IS NULL AND cardinality(r.globs) > 0)`, uuid)
	if err == nil && leaves {
		return fault.New(fault.Conflict, "files of checkpoint %s are being removed; it cannot be registered", uuid)
	}
	return err
}

// VersionChange has the fields to change; nil leaves a field unchanged.
type VersionChange struct {
	Name     *string
	Comment  *string
	Notes    *string
	Labels   []string
	Metadata json.RawMessage
}

// updateVersion changes a version of a model.
func updateVersion(ctx context.Context, db *database.DB, id int, ch VersionChange) error {
	err := db.Exec(ctx, `UPDATE model_versions SET name = coalesce(@name, name), comment = coalesce(@comment, comment), notes = coalesce(@notes, notes),
			labels = coalesce(@labels::text[], labels), metadata = coalesce(@metadata::text::jsonb, metadata), modified_at = now() WHERE id = @id`,
		database.Args{"id": id, "name": ch.Name, "comment": ch.Comment, "notes": ch.Notes, "labels": ch.Labels, "metadata": database.JSONOrNull(ch.Metadata)})
	return database.BadData(err)
}

// removeVersion deletes a version of a model. Its checkpoint stays, and its number is not given
// to another one.
func removeVersion(ctx context.Context, db *database.DB, id int) error {
	return db.Exec(ctx, `DELETE FROM model_versions WHERE id = $1`, id)
}

// namedVersions are versions in words, the first ten. Owners of checkpoints need the numbers to delete versions in models that they
// do not see.
const namedVersions = `array_to_string((array_agg(format('version %s of model %s', v.version, v.model_id) ORDER BY v.id))[1:10], ', ')
	|| CASE WHEN count(*) > 10 THEN format(' and %s more', count(*) - 10) ELSE '' END`

// Registered returns, of these checkpoints, those that are versions of models, with the
// versions in words.
func Registered(ctx context.Context, db *database.DB, ids []string) (map[string]string, error) {
	return database.Map[string, string](ctx, db, `SELECT v.checkpoint::text AS id, 'it is ' || `+namedVersions+` || ' in the model registry' AS versions FROM model_versions v
		WHERE v.checkpoint = ANY($1::uuid[]) GROUP BY v.checkpoint`, append([]string{}, ids...))
}

// ExperimentsWithVersions returns, of these experiments, those with checkpoints that are
// versions of models, with the versions in words.
func ExperimentsWithVersions(ctx context.Context, db *database.DB, ids []int) (map[int]string, error) {
	return database.Map[int, string](ctx, db, `SELECT t.experiment_id AS id, `+namedVersions+` AS versions FROM trials t JOIN checkpoints k ON k.trial_id = t.id
		JOIN model_versions v ON v.checkpoint = k.uuid WHERE t.experiment_id = ANY($1) GROUP BY t.experiment_id`, append([]int{}, ids...))
}
