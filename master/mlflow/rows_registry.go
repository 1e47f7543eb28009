package mlflow

import (
	"context"
	"strings"
	"time"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/mlflow/filter"
	"github.com/detent-ml/detent/master/models"
	v1 "github.com/detent-ml/detent/master/v1"
)

// A RegisteredVersion is a version of a model of the registry with what MLflow's clients see of it.
type RegisteredVersion struct {
	ID          int       `db:"id"`
	ModelID     int       `db:"model_id"`
	Number      int       `db:"version"`
	OwnerID     int       `db:"owner_id"`
	Owner       string    `db:"username"`
	Comment     string    `db:"comment"`
	Metadata    []byte    `db:"metadata"`
	CreatedAt   time.Time `db:"created_at"`
	ModifiedAt  time.Time `db:"modified_at"`
	Name        string    `db:"name"` // of the model
	WorkspaceID int       `db:"workspace_id"`
	Source      string    `db:"source"`
	Location    string    `db:"location"`
	Run         string    `db:"run"`
	Model       string    `db:"model"`
	RunLink     string    `db:"run_link"`
	Stage       string    `db:"stage"`
	Aliases     []string  `db:"aliases"`
}

const versionFrom = ` FROM model_versions v JOIN models m ON m.id = v.model_id JOIN users u ON u.id = v.owner_id JOIN checkpoints k ON k.uuid = v.checkpoint
	LEFT JOIN mlflow_versions x ON x.version_id = v.id`

const (
	versionStage = `coalesce(x.stage, 'None')`
	versionRun   = `coalesce(x.run, k.trial_id::text, '')`
	versionPlace = `format('mlflow-artifacts:/0/checkpoints/%s/artifacts', v.checkpoint)`
)

const versionColumns = `v.id, v.model_id, v.version, v.owner_id, u.username, v.comment, v.metadata, v.created_at, v.modified_at, m.name, m.workspace_id,
	coalesce(x.source, ` + versionPlace + `) AS source, coalesce(x.location, ` + versionPlace + `) AS location, ` + versionRun + ` AS run, coalesce(x.model, '') AS model,
	coalesce(x.run_link, '') AS run_link, ` + versionStage + ` AS stage,
	ARRAY(SELECT a.alias FROM mlflow_aliases a WHERE a.model_id = v.model_id AND a.version = v.version ORDER BY 1) AS aliases`

func noVersion(name, version string) error {
	return fault.New(fault.NotFound, "Model Version (name=%s, version=%s) not found", fault.Clip(name), fault.Clip(version))
}

func versionByNumber(ctx context.Context, db *database.DB, m models.Model, number int) (RegisteredVersion, error) {
	v, err := database.Row[RegisteredVersion](ctx, db, "version", `SELECT `+versionColumns+versionFrom+` WHERE v.model_id = $1 AND v.version = $2`, m.ID, number)
	return v, err
}

// notRegistered fails if a file exists and belongs to a version of a model: who loads the version trusts its files, so nobody replaces one.
func notRegistered(ctx context.Context, db *database.DB, checkpoint, name string) error {
	if checkpoint == "" {
		return nil
	}
	found, err := database.Scalars[string](ctx, db, `
		SELECT format('version %s of model %s', v.version, m.name) FROM checkpoints k JOIN model_versions v ON v.checkpoint = k.uuid JOIN models m ON m.id = v.model_id
			LEFT JOIN mlflow_versions x ON x.version_id = v.id
			CROSS JOIN LATERAL (SELECT coalesce(rtrim(substring(x.location FROM '^mlflow-artifacts:/[^/]+/(?:models/|checkpoints/)?[^/]+/artifacts/(.+)$'), '/'), '') AS path) p
		WHERE k.uuid = $1 AND (k.resources ? $2 OR EXISTS (SELECT FROM logged_files f WHERE f.checkpoint = k.uuid AND f.name = $2)) AND (p.path = '' OR $2 = p.path OR starts_with($2, p.path || '/')) ORDER BY v.id LIMIT 1`, checkpoint, name)
	if err == nil && len(found) > 0 {
		err = fault.New(fault.Invalid, "file %s belongs to %s, so it cannot be replaced; delete the version first, or log the file under another name", fault.Clip(name), fault.Clip(found[0]))
	}
	return err
}

// byAlias is the number of the version with an alias.
func byAlias(ctx context.Context, db *database.DB, model int, alias string) (int, error) {
	n, err := database.Scalar[int](ctx, db, `SELECT version FROM mlflow_aliases WHERE model_id = $1 AND alias = $2`, model, alias)
	return n, database.Missing(database.BadData(err), fault.New(fault.Invalid, "Registered model alias %s not found.", fault.Clip(alias)))
}

// maxAliases is how many aliases a model may have.
const maxAliases = 200

func setAlias(ctx context.Context, db *database.DB, model int, alias string, version int) error {
	return db.Tx(ctx, func(tx *database.DB) error {
		if err := tx.Exec(ctx, `SELECT 1 FROM models WHERE id = $1 FOR NO KEY UPDATE`, model); err != nil {
			return err
		}
		err := tx.Exec(ctx, `INSERT INTO mlflow_aliases (model_id, alias, version) VALUES ($1, $2, $3) ON CONFLICT (model_id, alias) DO UPDATE SET version = $3`, model, alias, version)
		if err != nil {
			return database.BadData(err)
		}
		n, err := database.Scalar[int](ctx, tx, `SELECT count(*)::int FROM mlflow_aliases WHERE model_id = $1`, model)
		if err == nil && n > maxAliases {
			err = fault.New(fault.Invalid, "a model may have %d aliases", maxAliases)
		}
		return err
	})
}

func dropAlias(ctx context.Context, db *database.DB, model int, alias string) error {
	return database.BadData(db.Exec(ctx, `DELETE FROM mlflow_aliases WHERE model_id = $1 AND alias = $2`, model, alias))
}

type aliasRow struct {
	ModelID int    `db:"model_id"`
	Alias   string `db:"alias"`
	Version int    `db:"version"`
}

func aliasesOf(ctx context.Context, db *database.DB, ids []int) ([]aliasRow, error) {
	return database.Rows[aliasRow](ctx, db, `SELECT model_id, alias, version FROM mlflow_aliases WHERE model_id = ANY($1) ORDER BY model_id, alias`, ids)
}

// latestOf lists the newest version in each stage of models.
func latestOf(ctx context.Context, db *database.DB, ids []int) ([]RegisteredVersion, error) {
	return database.Rows[RegisteredVersion](ctx, db, `SELECT DISTINCT ON (v.model_id, `+versionStage+`) `+versionColumns+versionFrom+`
		WHERE v.model_id = ANY($1) ORDER BY v.model_id, `+versionStage+`, v.version DESC`, ids)
}

// An origin is where the files of a new version are.
type origin struct{ source, location, run, model, link string }

// storeIn stores it with the version.
func (p origin) storeIn(ctx context.Context) func(tx *database.DB, version int) error {
	return func(tx *database.DB, version int) error {
		return database.BadData(tx.Exec(ctx, `INSERT INTO mlflow_versions (version_id, source, location, run, model, run_link) VALUES ($1, $2, $3, $4, $5, $6)`,
			version, p.source, p.location, p.run, p.model, p.link))
	}
}

// setStage moves a version to a stage, and the others that are in this stage to Archived if archive is set.
func setStage(ctx context.Context, db *database.DB, v RegisteredVersion, stage string, archive bool) error {
	return db.Tx(ctx, func(tx *database.DB) error {
		if err := tx.Exec(ctx, `SELECT 1 FROM models WHERE id = $1 FOR NO KEY UPDATE`, v.ModelID); err != nil {
			return err
		}
		if archive {
			if err := tx.Exec(ctx, `UPDATE mlflow_versions x SET stage = 'Archived' FROM model_versions o
				WHERE o.id = x.version_id AND o.model_id = $1 AND o.id <> $2 AND x.stage = $3`, v.ModelID, v.ID, stage); err != nil {
				return err
			}
		}
		if err := tx.Exec(ctx, `INSERT INTO mlflow_versions (version_id, source, location, run, stage) VALUES ($1, $2, $3, $4, $5)
			ON CONFLICT (version_id) DO UPDATE SET stage = $5`, v.ID, v.Source, v.Location, v.Run, stage); err != nil {
			return err
		}
		return tx.Exec(ctx, `UPDATE model_versions SET modified_at = now() WHERE id = $1`, v.ID)
	})
}

// tagPrompt marks a prompt, which MLflow's server stores as a model.
const tagPrompt = "mlflow.prompt.is_prompt"

// registryColumn is SQL for what a search of the registry compares or sorts by: of versions, or else of models.
func registryColumn(versions bool) func(s *statement, kind filter.Kind, name string) (string, bool, error) {
	of, what := "m", "model"
	if versions {
		of, what = "v", "version"
	}
	return func(s *statement, kind filter.Kind, name string) (string, bool, error) {
		if kind == filter.Tag {
			column := "(" + of + ".metadata ->> " + s.arg(name) + "::text)"
			if name == tagPrompt { // clients ask for what is not a prompt
				column = "coalesce(" + column + ", 'false')"
			}
			return column, false, nil
		}
		if kind == filter.Attribute {
			switch name {
			case "name":
				return "m.name", false, nil
			case "creation_timestamp":
				return millisSQL(of + ".created_at"), true, nil
			case "last_updated_timestamp":
				return millisSQL(of + ".modified_at"), true, nil
			}
			if sql := map[string]string{"run_id": versionRun, "source_path": "coalesce(x.source, " + versionPlace + ")", "model_id": "coalesce(x.model, '')"}[name]; versions && sql != "" {
				return sql, false, nil
			}
			if versions && (name == "version_number" || name == "version") {
				return "v.version::float8", true, nil
			}
		}
		return "", false, fault.New(fault.Invalid, "a %s of the registry has no %s %q; it has name, tags, creation_timestamp, last_updated_timestamp and, if it is a version, version_number, run_id and source_path", what, kind, fault.Clip(name))
	}
}

// searchRegistry lists the numbers of a page of what a search finds: versions, or else models; more is true if it finds further ones.
func searchRegistry(ctx context.Context, db *database.DB, in auth.Scope, q runSearch, versions bool) (ids []int, more bool, err error) {
	s := &statement{args: database.Args{}, column: registryColumn(versions), where: []string{"true"}}
	if !in.All {
		s.where = append(s.where, "m.workspace_id = ANY("+s.arg(in.Only())+"::int[])")
	}
	for _, c := range q.filter {
		if c.Kind == filter.Dataset {
			return nil, false, fault.New(fault.Invalid, "filter: the registry has no data sets")
		}
		if err := s.compare(c); err != nil {
			return nil, false, err
		}
	}
	key, from, usual, sizes := "m.id", " FROM models m", "m.name, m.id", `SELECT p.place, octet_length(m.description) + octet_length(m.metadata::text) + coalesce((
			SELECT sum(n.size) FROM (SELECT DISTINCT ON (`+versionStage+`) octet_length(v.comment) + octet_length(v.metadata::text) AS size
				FROM model_versions v LEFT JOIN mlflow_versions x ON x.version_id = v.id WHERE v.model_id = m.id ORDER BY `+versionStage+`, v.version DESC) n), 0) AS size
		FROM unnest($1::int[]) WITH ORDINALITY AS p(id, place) JOIN models m ON m.id = p.id`
	if versions {
		key, from, usual, sizes = "v.id", versionFrom, "v.modified_at DESC, m.name, v.version DESC", `SELECT p.place, octet_length(v.comment) + octet_length(v.metadata::text) AS size
		FROM unnest($1::int[]) WITH ORDINALITY AS p(id, place) JOIN model_versions v ON v.id = p.id`
	}
	keys, err := s.keys(q.order, sortKey{usual, ""})
	if err != nil {
		return nil, false, err
	}
	ids, err = database.Scalars[int](ctx, db, `SELECT `+key+from+` WHERE `+strings.Join(s.where, " AND ")+` ORDER BY `+sorted(keys)+` LIMIT `+s.arg(q.limit+1)+` OFFSET `+s.arg(q.offset), s.args)
	if err != nil {
		return nil, false, database.BadData(err)
	}
	found := len(ids)
	ids, err = database.FirstThatFit(ctx, db, ids[:min(found, q.limit)], sizes)
	return ids, len(ids) < found, err
}

func versionsByID(ctx context.Context, db *database.DB, ids []int) ([]RegisteredVersion, error) {
	return database.Rows[RegisteredVersion](ctx, db, `SELECT `+versionColumns+versionFrom+` JOIN unnest($1::int[]) WITH ORDINALITY AS o(id, place) ON o.id = v.id ORDER BY o.place`, ids)
}

// wireAliases are the aliases of a model.
func wireAliases(list []aliasRow, model int) []v1.MLflowAlias {
	out := []v1.MLflowAlias{}
	for _, a := range list {
		if a.ModelID == model {
			out = append(out, v1.MLflowAlias{Alias: a.Alias, Version: itoa(a.Version)})
		}
	}
	return out
}
