package store

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"slices"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/database"
)

// The lists of the metrics, hyperparameters and metadata of a project's runs. A sum of all documents in
// PostgreSQL would need room for all names of all runs, which programs choose, so the master reads the
// documents of the newest runs, a few at a time, and keeps the names that it returns.
const (
	maxRunsRead     = 10_000    // of the newest runs of a project
	maxBestRead     = 100_000   // of the best trials of a project's newest experiments
	maxDocumentRead = 16 << 20  // bytes of the documents of these runs
	maxStoredAtOnce = 256 << 10 // bytes of documents, as PostgreSQL stores them, that one query reads; compression makes them at most a hundred times smaller
	maxRunsAtOnce   = 500       // that one query reads
	maxValueName    = 1000      // bytes of a name; a filter cannot have longer ones
	maxValueText    = 5000      // bytes of a value in a list of values
)

// newestRuns is SQL for the newest runs of project $1 (0: of all) in the workspaces $2.
const newestRuns = `(SELECT t.id, t.hparams, t.metadata FROM trials t JOIN experiments e ON e.id = t.experiment_id
	WHERE ($1 = 0 OR e.project_id = $1) AND ($2::int[] IS NULL OR e.project_id IN (SELECT id FROM projects WHERE workspace_id = ANY($2)))
	ORDER BY t.id DESC LIMIT $3)`

// bestTrials is SQL for the best trials of the newest experiments, as newestRuns.
const bestTrials = `(SELECT e.best_trial_id AS id FROM experiments e WHERE e.best_trial_id IS NOT NULL
	AND ($1 = 0 OR e.project_id = $1) AND ($2::int[] IS NULL OR e.project_id IN (SELECT id FROM projects WHERE workspace_id = ANY($2)))
	ORDER BY e.id DESC LIMIT $3)`

// RunMetricsUsed lists the metrics of a project's runs (0: of all projects), by group and name.
// Groups have the names that summaries use (groupKey).
func (db *DB) RunMetricsUsed(ctx context.Context, in auth.Scope, project int) ([]NamedMetric, error) {
	return db.metricsOf(ctx, in, project, newestRuns, maxRunsRead, func(one, other string) string {
		if one == other {
			return one
		}
		return ""
	})
}

// MetricsUsed lists the metrics of the best trials of a project's experiments (0: of all
// projects), by group and name. Groups have the names that summaries use (groupKey).
func (db *DB) MetricsUsed(ctx context.Context, in auth.Scope, project int) ([]NamedMetric, error) {
	return db.metricsOf(ctx, in, project, bestTrials, maxBestRead, func(one, other string) string { return min(one, other) })
}

// metricsOf lists the metrics of trials; both is the type of a metric that has two types.
func (db *DB) metricsOf(ctx context.Context, in auth.Scope, project int, trials string, most int, both func(one, other string) string) ([]NamedMetric, error) {
	found := firstOf[NamedMetric]{}
	err := db.readDocuments(ctx, storedSummaries(trials), []any{project, in.Only(), most}, `
		SELECT jsonb_build_array(g.key, m.key, min(coalesce(m.value->>'type', '')), max(coalesce(m.value->>'type', ''))) FROM trial_summaries s
		CROSS JOIN LATERAL jsonb_each(s.summary) g
		CROSS JOIN LATERAL jsonb_each(CASE jsonb_typeof(g.value) WHEN 'object' THEN g.value ELSE '{}' END) m
		WHERE s.trial_id = ANY(@ids) AND octet_length(g.key) + octet_length(m.key) <= @longest
		GROUP BY g.key, m.key`, database.Args{"longest": maxValueName}, func(raw []byte) error {
		var m [4]string // group, name, and the first and the last of its types
		if err := json.Unmarshal(raw, &m); err != nil {
			return err
		}
		kind := m[2]
		if m[3] != kind {
			kind = both(kind, m[3])
		}
		key := m[0] + "\x00" + m[1]
		if known, ok := found.kept[key]; !ok {
			found.add(key, NamedMetric{Group: m[0], Name: m[1], Type: kind})
		} else if known.Type != kind {
			known.Type = both(known.Type, kind)
			found.kept[key] = known
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	var list []NamedMetric
	for _, key := range found.sorted() {
		list = append(list, found.kept[key])
	}
	return list, nil
}

// A NamedValue is a hyperparameter, or a key of the metadata, that some run has.
type NamedValue struct {
	Name string
	Type string // of its values, as JSON has it; "" if they have several
}

// RunHParamsUsed lists the hyperparameters of a project's runs (0: of all projects).
func (db *DB) RunHParamsUsed(ctx context.Context, in auth.Scope, project int) ([]NamedValue, error) {
	return db.namesOf(ctx, in, project, "hparams")
}

// RunMetadataUsed lists the keys of the metadata of a project's runs (0: of all projects).
func (db *DB) RunMetadataUsed(ctx context.Context, in auth.Scope, project int) ([]NamedValue, error) {
	return db.namesOf(ctx, in, project, "metadata")
}

func (db *DB) namesOf(ctx context.Context, in auth.Scope, project int, column string) ([]NamedValue, error) {
	found := firstOf[string]{}
	err := db.readDocuments(ctx, storedDocuments(column), []any{project, in.Only(), maxRunsRead}, `SELECT `+column+` FROM trials WHERE id = ANY(@ids) ORDER BY id DESC`, nil, func(raw []byte) error {
		return eachName(raw, func(name []byte, kind string) {
			if known, ok := found.kept[string(name)]; !ok {
				found.add(string(name), kind)
			} else if known != kind {
				found.kept[string(name)] = ""
			}
		})
	})
	if err != nil {
		return nil, err
	}
	var list []NamedValue
	for _, name := range found.sorted() {
		list = append(list, NamedValue{name, found.kept[name]})
	}
	return list, nil
}

// RunMetadataValues lists the texts that a project's runs have under a key of their metadata; for a
// list it lists the elements.
func (db *DB) RunMetadataValues(ctx context.Context, in auth.Scope, project int, key string) ([]string, error) {
	b := newSearch(searchedRuns)
	v := b.named("t.metadata", key)
	found := firstOf[struct{}]{}
	err := db.readDocuments(ctx, storedDocuments("metadata"), []any{project, in.Only(), maxRunsRead}, `
		SELECT x.e #>> '{}' FROM trials t CROSS JOIN LATERAL (SELECT t.metadata || '{}' AS doc OFFSET 0) d
		CROSS JOIN LATERAL (SELECT `+v.read+` AS v OFFSET 0) v CROSS JOIN LATERAL `+elementsOf("v.v")+` x(e)
		WHERE t.id = ANY(@ids) AND jsonb_typeof(x.e) = 'string'`, b.args, func(raw []byte) error {
		if len(raw) <= maxValueText {
			found.add(string(raw), struct{}{})
		}
		return nil
	})
	return found.sorted(), err
}

// storedDocuments is SQL for the newest runs that have a document, and the size with which PostgreSQL stores it.
func storedDocuments(column string) string {
	return `SELECT r.id, pg_column_size(r.` + column + `) AS size FROM ` + newestRuns + ` r WHERE r.` + column + ` IS NOT NULL`
}

// storedSummaries is SQL for trials that have a summary, and the size with which PostgreSQL stores it.
func storedSummaries(trials string) string {
	return `SELECT s.trial_id AS id, pg_column_size(s.summary) AS size FROM ` + trials + ` r JOIN trial_summaries s ON s.trial_id = r.id`
}

// readDocuments runs a query of one column over the trials of a query of ids and sizes, the newest first, until it has
// read maxDocumentRead bytes.
func (db *DB) readDocuments(ctx context.Context, trials string, of []any, sql string, args database.Args, do func(raw []byte) error) error {
	ctx, cancel := db.Bounded(database.UnlimitedReads(ctx))
	defer cancel()
	type stored struct {
		ID   int `db:"id"`
		Size int `db:"size"`
	}
	list, err := database.Rows[stored](ctx, db.DB, trials+` ORDER BY 1 DESC`, of...)
	left := maxDocumentRead
	for err == nil && len(list) > 0 && left > 0 {
		var ids []int
		for size := 0; len(list) > 0 && len(ids) < maxRunsAtOnce && (size == 0 || size+list[0].Size <= maxStoredAtOnce); list = list[1:] {
			size += list[0].Size
			ids = append(ids, list[0].ID)
		}
		all := database.Args{"ids": ids}
		maps.Copy(all, args)
		var raw database.RawBytes
		err = db.Each(ctx, sql, []any{all}, []any{&raw}, func() error {
			left -= len(raw)
			return do(raw)
		})
	}
	return err
}

// firstOf keeps the first maxNames texts in their order, with a value for each, and not more of them than a page has bytes.
type firstOf[V any] struct {
	kept map[string]V
	size int
	last string // the texts after it are not kept; "" if all are
}

func (f *firstOf[V]) add(text string, v V) {
	if f.kept == nil {
		f.kept = map[string]V{}
	}
	if _, ok := f.kept[text]; ok || f.last != "" && text > f.last {
		return
	}
	f.kept[text] = v
	if f.size += len(text); len(f.kept) > 2*maxNames || f.size > 2*database.MaxPageBytes {
		f.cut()
	}
}

func (f *firstOf[V]) cut() {
	f.size = 0
	for i, text := range slices.Sorted(maps.Keys(f.kept)) {
		if i > 0 && (i >= maxNames || f.size+len(text) > database.MaxPageBytes) {
			delete(f.kept, text)
			continue
		}
		f.size, f.last = f.size+len(text), text
	}
}

// sorted returns the texts.
func (f *firstOf[V]) sorted() []string {
	if len(f.kept) > maxNames || f.size > database.MaxPageBytes {
		f.cut()
	}
	return slices.Sorted(maps.Keys(f.kept))
}

// eachName calls found for each value in a document that is neither an object nor null. The name of a value begins with the names
// of the objects that contain it.
func eachName(raw []byte, found func(name []byte, kind string)) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	first, err := d.Token()
	if err != nil || first != json.Delim('{') {
		return err
	}
	return namesWithin(d, nil, found)
}

// namesWithin reads the rest of an object, whose values' names begin with prefix.
func namesWithin(d *json.Decoder, prefix []byte, found func(name []byte, kind string)) error {
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return err
		}
		text, _ := key.(string)
		name := append(append([]byte{}, prefix...), text...)
		value, err := d.Token()
		if err != nil {
			return err
		}
		kind := "string"
		switch v := value.(type) {
		case nil:
			kind = ""
		case bool:
			kind = "boolean"
		case json.Number:
			kind = "number"
		case json.Delim:
			if kind = "array"; v == '{' {
				kind = ""
			}
			if v == '{' && len(name) < maxValueName {
				err = namesWithin(d, append(name, '.'), found)
			} else {
				err = skipRest(d)
			}
		}
		if err != nil {
			return err
		}
		if kind != "" && len(name) <= maxValueName {
			found(name, kind)
		}
	}
	_, err := d.Token() // the end of the object
	return err
}

// skipRest reads the rest of a list or an object.
func skipRest(d *json.Decoder) error {
	for depth := 1; depth > 0; {
		t, err := d.Token()
		if err != nil {
			return err
		}
		switch t {
		case json.Delim('{'), json.Delim('['):
			depth++
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
	}
	return nil
}
