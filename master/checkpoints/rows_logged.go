package checkpoints

import (
	"context"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
)

// Kinds of logged files.
const (
	LoggedByRun   = "run"
	LoggedByModel = "model"
)

// LoggedOf is the checkpoint with the files that a run logs; "" if it has logged none.
func LoggedOf(ctx context.Context, db *database.DB, trial int) (string, error) {
	id, err := database.Scalar[string](ctx, db, `SELECT uuid::text FROM checkpoints WHERE trial_id = $1 AND logged = 'run' AND state <> 'DELETED'`, trial)
	return id, database.Missing(err, nil)
}

// AddLogged adds a checkpoint without files; of a run, it returns the one that there is.
func AddLogged(ctx context.Context, db *database.DB, trial int, kind string) (id string, err error) {
	err = db.Tx(ctx, func(tx *database.DB) error {
		id, err = AddLoggedIn(ctx, tx, trial, kind)
		return err
	})
	return id, err
}

// AddLoggedIn is AddLogged in a transaction of the caller.
func AddLoggedIn(ctx context.Context, tx *database.DB, trial int, kind string) (string, error) {
	desired, err := database.Scalar[string](ctx, tx, `SELECT e.desired FROM experiments e JOIN trials t ON t.experiment_id = e.id WHERE t.id = $1 FOR SHARE OF e`, trial)
	if err == nil && desired == "deleted" {
		err = fault.New(fault.Conflict, "the experiment of run %d is being deleted", trial)
	}
	if err != nil {
		return "", err
	}
	id, err := database.Scalar[string](ctx, tx, `
		INSERT INTO checkpoints (uuid, task_id, trial_id, run_id, state, logged)
		SELECT gen_random_uuid(), t.task_id, t.id, t.run_id, 'COMPLETED', $2 FROM trials t WHERE t.id = $1
		ON CONFLICT (trial_id) WHERE logged = 'run' AND state <> 'DELETED' DO NOTHING RETURNING uuid::text`, trial, kind)
	if fault.Is(err, fault.NotFound) {
		return LoggedOf(ctx, tx, trial)
	}
	return id, err
}

// loggedByID is what locates files: the checkpoint, its storage and the configuration of its experiment.
func loggedByID(ctx context.Context, db *database.DB, id string) (Checkpoint, error) {
	row, err := database.Row[struct {
		UUID    string `db:"uuid"`
		Config  []byte `db:"config"`
		Storage []byte `db:"storage"`
	}](ctx, db, "checkpoint "+id, `
		SELECT k.uuid::text, e.config, s.config AS storage FROM checkpoints k JOIN trials t ON t.id = k.trial_id JOIN experiments e ON e.id = t.experiment_id
		LEFT JOIN storage_backends s ON s.id = k.storage_id WHERE k.uuid = $1 AND k.state <> 'DELETED'`, id)
	return Checkpoint{UUID: row.UUID, Config: row.Config, Storage: row.Storage}, err
}

// loggedSize is the size of a file; nil if there is no such file.
func loggedSize(ctx context.Context, db *database.DB, id, name string) (*int64, error) {
	return database.Scalar[*int64](ctx, db, `SELECT coalesce((SELECT f.size FROM logged_files f WHERE f.checkpoint = k.uuid AND f.name = $2), (k.resources ->> $2)::bigint)
		FROM checkpoints k WHERE k.uuid = $1`, id, name)
}

// filesInBoth is SQL for the files of the checkpoint $1.
const filesInBoth = `(SELECT name, size FROM logged_files WHERE checkpoint = $1 UNION ALL
	SELECT r.key, r.value::bigint FROM checkpoints k CROSS JOIN LATERAL jsonb_each_text(k.resources) r WHERE k.uuid = $1)`

// FilesSQL is SQL for the files of checkpoint k with their sizes, as one object.
const FilesSQL = `(CASE WHEN k.logged_files = 0 THEN k.resources ELSE k.resources || (SELECT jsonb_object_agg(f.name, f.size) FROM logged_files f WHERE f.checkpoint = k.uuid) END)`

// LoggedBelow lists the file with a name and the files of the folder with this name; "": all files.
func LoggedBelow(ctx context.Context, db *database.DB, id, name string) ([]string, error) {
	return database.Scalars[string](ctx, db, `SELECT f.name FROM `+filesInBoth+` f WHERE $2 = '' OR f.name = $2 OR starts_with(f.name, $2 || '/') ORDER BY f.name`, id, name)
}

// A LoggedFile is a file, or a folder with the sum of its files.
type LoggedFile struct {
	Name   string `db:"name"` // within the folder that is listed
	Folder bool   `db:"folder"`
	Size   int64  `db:"size"`
}

// ListLogged lists what is directly in a folder; "": the folder of all.
func ListLogged(ctx context.Context, db *database.DB, id, folder string) ([]LoggedFile, error) {
	if folder != "" {
		folder += "/"
	}
	return database.Rows[LoggedFile](ctx, db, `
		SELECT split_part(rest, '/', 1) AS name, position('/' IN rest) > 0 AS folder, sum(size)::bigint AS size
		FROM (SELECT substr(f.name, length($2::text) + 1) AS rest, f.size FROM `+filesInBoth+` f WHERE starts_with(f.name, $2::text)) x
		WHERE rest <> '' GROUP BY 1, 2 ORDER BY 1`, id, folder)
}

// loggedState is what decides whether a file can be added.
type loggedState struct {
	Desired string  `db:"desired"` // of the experiment
	State   string  `db:"state"`
	Leaves  bool    `db:"leaves"` // files of it are being removed
	Files   int     `db:"files"`
	Size    int64   `db:"size"`
	Names   int     `db:"names"`
	Clash   *string `db:"clash"` // a file that would be a folder, or the other way round
}

// admitLogged fails if a file cannot be added.
func (d Deps) admitLogged(ctx context.Context, id, name string, size int64) error {
	s, err := stateOfLogged(ctx, d.DB, id, name)
	if err != nil {
		return err
	}
	s.Size += size
	return s.check(id)
}

func stateOfLogged(ctx context.Context, db *database.DB, id, name string) (loggedState, error) {
	return database.Row[loggedState](ctx, db, "checkpoint "+id, `
		SELECT e.desired, k.state, k.size, k.logged_files + coalesce(r.files, 0) AS files, (k.logged_names + coalesce(r.names, 0))::int AS names,
			coalesce((SELECT f.name FROM logged_files f WHERE f.checkpoint = k.uuid AND f.name > $2 || '/' AND f.name < $2 || '0' LIMIT 1), -- the character after /
				(SELECT f.name FROM logged_files f WHERE f.checkpoint = k.uuid AND f.name = ANY($3) LIMIT 1), r.clash) AS clash,
			EXISTS (SELECT FROM removals r JOIN tasks g ON g.id = r.task_id WHERE r.checkpoint = k.uuid AND r.at IS NULL AND g.ended_at IS NULL) AS leaves
		FROM checkpoints k JOIN trials t ON t.id = k.trial_id JOIN experiments e ON e.id = t.experiment_id
		LEFT JOIN LATERAL (SELECT count(*)::int AS files, sum(octet_length(n))::bigint AS names,
			min(n) FILTER (WHERE starts_with(n, $2 || '/') OR starts_with($2, n || '/')) AS clash FROM jsonb_object_keys(k.resources) n) r ON k.resources <> '{}'
		WHERE k.uuid = $1`, id, name, foldersOf(name))
}

// foldersOf are the folders in which a file is.
func foldersOf(name string) []string {
	list := []string{}
	for i, c := range name {
		if c == '/' {
			list = append(list, name[:i])
		}
	}
	return list
}

func (s loggedState) check(id string) error {
	switch {
	case s.Desired == "deleted":
		return fault.New(fault.Conflict, "the experiment of checkpoint %s is being deleted", id)
	case s.State == "DELETED" || s.Leaves:
		return fault.New(fault.Conflict, "files of checkpoint %s are being removed; try again later", id)
	case s.Clash != nil:
		return fault.New(fault.Invalid, "there is the file %s: a path cannot be a file and a folder", fault.Clip(*s.Clash))
	case s.Files > maxLoggedFiles:
		return fault.New(fault.Invalid, "a run or a model may log %d files; put many small files into one archive", maxLoggedFiles)
	case s.Names > maxLoggedNames:
		return fault.New(fault.Invalid, "the names of the files have more than %d bytes; put many small files into one archive", maxLoggedNames)
	case s.Size > maxLoggedBytes:
		return fault.New(fault.TooLarge, "the files have more than %s; the limit of a run or a model is this", database.SizeText(maxLoggedBytes))
	}
	return nil
}

// recordLogged records a file that was written. Requests for one checkpoint wait for each other, so none is lost. If the file was recorded before,
// another request may have written it after this one: then stored tells what the storage has. So the last one that records a file records
// what was written last, because each request writes before it records.
func recordLogged(ctx context.Context, db *database.DB, id, name string, size int64, stored func(ctx context.Context) (int64, error)) error {
	return db.Tx(ctx, func(tx *database.DB) error {
		if err := tx.Exec(ctx, `SELECT 1 FROM checkpoints WHERE uuid = $1 FOR NO KEY UPDATE`, id); err != nil {
			return err
		}
		before, err := loggedSize(ctx, tx, id, name)
		if err == nil && before != nil {
			size, err = stored(ctx)
		}
		if err != nil {
			return err
		}
		err = tx.Exec(ctx, `
			WITH was AS (SELECT size FROM logged_files WHERE checkpoint = $1 AND name = $2),
			put AS (INSERT INTO logged_files (checkpoint, name, size) VALUES ($1, $2, $3) ON CONFLICT (checkpoint, name) DO UPDATE SET size = excluded.size)
			UPDATE checkpoints k SET size = k.size + $3 - coalesce((SELECT size FROM was), (k.resources ->> $2)::bigint, 0), resources = k.resources - $2::text,
				logged_files = k.logged_files + n.more, logged_names = k.logged_names + n.more * octet_length($2::text)
			FROM (SELECT CASE WHEN EXISTS (SELECT FROM was) THEN 0 ELSE 1 END AS more) n WHERE k.uuid = $1`, id, name, size)
		if err != nil {
			return database.BadData(err)
		}
		s, err := stateOfLogged(ctx, tx, id, name)
		if err == nil {
			err = s.check(id)
		}
		if err != nil {
			return err
		}
		task, err := database.Scalar[string](ctx, tx, `SELECT task_id FROM checkpoints WHERE uuid = $1`, id)
		if err != nil {
			return err
		}
		return boundTask(ctx, tx, task)
	})
}

// forgetLogged records that files were removed.
func forgetLogged(ctx context.Context, db *database.DB, id string, names []string) error {
	return db.Exec(ctx, `
		WITH gone AS (DELETE FROM logged_files WHERE checkpoint = $1 AND name = ANY($2) RETURNING name, size)
		UPDATE checkpoints k SET resources = k.resources - $2::text[], logged_files = k.logged_files - g.files, logged_names = k.logged_names - g.names,
			size = k.size - g.size - (SELECT coalesce(sum((k.resources ->> n)::bigint), 0) FROM unnest($2::text[]) n)
		FROM (SELECT count(*) AS files, coalesce(sum(octet_length(name)), 0) AS names, coalesce(sum(size), 0) AS size FROM gone) g WHERE k.uuid = $1`, id, names)
}
