package runs

import (
	"context"
	"slices"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/find/query"
	"github.com/detent-ml/detent/master/jsontext"
	"github.com/detent-ml/detent/master/metrics"
)

// The lists of the metrics, hyperparameters and metadata of a project's runs. The master reads the documents of the newest runs, a few
// at a time (database.EachDocument).
const (
	maxRunsRead  = 10_000 // of the newest runs of a project
	maxValueName = 1000   // bytes of a name; a filter cannot have longer ones
	maxValueText = 5000   // bytes of a value in a list of values
)

// newestRuns is SQL for the newest runs of project $1 (0: of all) in the workspaces $2.
const newestRuns = `(SELECT t.id, t.hparams, t.metadata FROM trials t JOIN experiments e ON e.id = t.experiment_id
	WHERE ($1 = 0 OR e.project_id = $1) AND ($2::int[] IS NULL OR e.project_id IN (SELECT id FROM projects WHERE workspace_id = ANY($2)))
	ORDER BY t.id DESC LIMIT $3)`

// MetricsUsed lists the metrics of a project's runs (0: of all projects), by group and name.
// Groups have the names that summaries use (summary.GroupKey).
func MetricsUsed(ctx context.Context, db *database.DB, in auth.Scope, project int) ([]metrics.Named, error) {
	return metrics.OfTrials(ctx, db, newestRuns, []any{project, in.Only(), maxRunsRead}, func(one, other string) string {
		if one == other {
			return one
		}
		return ""
	})
}

// A NamedValue is a hyperparameter, or a key of the metadata, that some run has.
type NamedValue struct {
	Name string
	Type string // of its values, as JSON has it; "" if they have several
}

// HParamsUsed lists the hyperparameters of a project's runs (0: of all projects).
func HParamsUsed(ctx context.Context, db *database.DB, in auth.Scope, project int) ([]NamedValue, error) {
	return namesOf(ctx, db, in, project, "hparams")
}

// MetadataUsed lists the keys of the metadata of a project's runs (0: of all projects).
func MetadataUsed(ctx context.Context, db *database.DB, in auth.Scope, project int) ([]NamedValue, error) {
	return namesOf(ctx, db, in, project, "metadata")
}

func namesOf(ctx context.Context, db *database.DB, in auth.Scope, project int, column string) ([]NamedValue, error) {
	found := database.FirstTexts[string]{}
	err := database.EachDocument(ctx, db, storedDocuments(column), []any{project, in.Only(), maxRunsRead}, `SELECT `+column+` FROM trials WHERE id = ANY(@ids) ORDER BY id DESC`, nil, func(raw []byte) error {
		return eachName(raw, func(name []byte, kind string) {
			if known, ok := found.Kept[string(name)]; !ok {
				found.Add(string(name), kind)
			} else if known != kind {
				found.Kept[string(name)] = ""
			}
		})
	})
	if err != nil {
		return nil, err
	}
	return each.Of(found.Sorted(), func(name string) NamedValue { return NamedValue{name, found.Kept[name]} }), nil
}

// MetadataValues lists the texts that a project's runs have under a key of their metadata; for a
// list it lists the elements.
func MetadataValues(ctx context.Context, db *database.DB, in auth.Scope, project int, key string) ([]string, error) {
	b := query.New(searchedRuns)
	v := b.Named("t.metadata", key)
	found := database.FirstTexts[struct{}]{}
	err := database.EachDocument(ctx, db, storedDocuments("metadata"), []any{project, in.Only(), maxRunsRead}, `
		SELECT x.e #>> '{}' FROM trials t CROSS JOIN LATERAL (SELECT t.metadata || '{}' AS doc OFFSET 0) d
		CROSS JOIN LATERAL (SELECT `+v.Read+` AS v OFFSET 0) v CROSS JOIN LATERAL `+query.ElementsOf("v.v")+` x(e)
		WHERE t.id = ANY(@ids) AND jsonb_typeof(x.e) = 'string'`, b.Args, func(raw []byte) error {
		if len(raw) <= maxValueText {
			found.Add(string(raw), struct{}{})
		}
		return nil
	})
	return found.Sorted(), err
}

// storedDocuments is SQL for the newest runs that have a document, and the size with which PostgreSQL stores it.
func storedDocuments(column string) string {
	return `SELECT r.id, pg_column_size(r.` + column + `) AS size FROM ` + newestRuns + ` r WHERE r.` + column + ` IS NOT NULL`
}

// eachName calls found for each value in a document that is neither an object nor null. The name of a value begins with the names
// of the objects that contain it.
func eachName(raw []byte, found func(name []byte, kind string)) error {
	p := jsontext.NewParser(raw)
	if p.Peek() != '{' {
		return nil
	}
	return namesWithin(&p, nil, found)
}

// kinds are those of values, by their first byte; those of numbers have none here.
var kinds = map[byte]string{'"': "string", 't': "boolean", 'f': "boolean", '[': "array", '{': "", 'n': ""}

// namesWithin reads an object, whose values' names begin with prefix.
func namesWithin(p *jsontext.Parser, prefix []byte, found func(name []byte, kind string)) error {
	return p.Members(func(key []byte) error {
		name := slices.Concat(prefix, key)
		first := p.Peek()
		kind, known := kinds[first]
		if !known {
			kind = "number"
		}
		if kind != "" && len(name) <= maxValueName {
			found(name, kind)
		}
		if first == '{' && len(name) < maxValueName {
			return namesWithin(p, append(name, '.'), found)
		}
		_, err := p.Value()
		return err
	})
}
