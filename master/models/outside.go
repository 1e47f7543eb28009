package models

import (
	"context"
	"encoding/json"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
)

// What package mlflow uses of the registry, whose clients know models and versions by the same names and numbers. It checks rights.

// CheckName refuses names that no model can have.
func CheckName(name string) error { return checkName(&name) }

// Insert inserts a model; the caller has locked its workspace.
func Insert(ctx context.Context, tx *database.DB, m Model) (int, error) { return insert(ctx, tx, m) }

// Update changes a model that is not archived.
func Update(ctx context.Context, db *database.DB, m Model, ch Change) error {
	return update(ctx, db, m, ch)
}

// Remove deletes a model with its versions. Their checkpoints stay.
func Remove(ctx context.Context, db *database.DB, id int) error { return remove(ctx, db, id) }

// Register registers a complete checkpoint as the next version of a model, and calls also in the same transaction.
func Register(ctx context.Context, db *database.DB, m Model, v Version, also func(tx *database.DB, id int) error) (version int, err error) {
	return register(ctx, db, m, v, also)
}

// UpdateVersion changes a version of a model.
func UpdateVersion(ctx context.Context, db *database.DB, id int, ch VersionChange) error {
	return updateVersion(ctx, db, id, ch)
}

// RemoveVersion deletes a version of a model. Its checkpoint stays.
func RemoveVersion(ctx context.Context, db *database.DB, id int) error {
	return removeVersion(ctx, db, id)
}

// maxMetadata is how many bytes of metadata a model or a version can get by single entries.
const maxMetadata = 256 << 10

// SetEntry sets an entry of a model's metadata to a text; nil removes the entry.
func SetEntry(ctx context.Context, db *database.DB, m Model, key string, value *string) error {
	if m.Archived {
		return fault.New(fault.Conflict, "model %q is archived and cannot have attributes updated; unarchive it first", m.Name)
	}
	return setEntry(ctx, db, "models", m.ID, key, value)
}

// SetVersionEntry is SetEntry for a version.
func SetVersionEntry(ctx context.Context, db *database.DB, id int, key string, value *string) error {
	return setEntry(ctx, db, "model_versions", id, key, value)
}

func setEntry(ctx context.Context, db *database.DB, table string, id int, key string, value *string) error {
	add := map[string]string{}
	if value != nil {
		add[key], key = *value, ""
	}
	text, err := json.Marshal(add)
	if err != nil {
		return err
	}
	return db.Tx(ctx, func(tx *database.DB) error {
		full, err := database.Scalar[bool](ctx, tx, `UPDATE `+table+` SET metadata = (metadata - $3::text) || $2::text::jsonb, modified_at = now() WHERE id = $1
			RETURNING octet_length(metadata::text) > $4`, id, string(text), key, maxMetadata)
		if err == nil && full {
			err = fault.New(fault.Invalid, "the metadata have more than %d KB", maxMetadata>>10)
		}
		return database.BadData(err)
	})
}
