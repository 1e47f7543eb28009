package importer

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/document"
	"github.com/detent-ml/detent/master/expconf"
)

// configsAtOnce is the number of configurations in memory.
const configsAtOnce = 200

// translateConfigs makes old_configs: the configurations in the form in which this release stores them. Older releases of Determined accepted
// fields and searchers that no longer exist; such fields go, with a note, and the text that was submitted stays as it is.
func (p *pass) translateConfigs(ctx context.Context, tx *database.DB) error {
	if err := tx.Exec(ctx, `CREATE TEMP TABLE old_configs (id int PRIMARY KEY, config jsonb NOT NULL) ON COMMIT DROP`); err != nil {
		return err
	}
	err := eachConfig(ctx, tx, "old_experiments", func(list []oldConfig) error {
		var ids []int
		var texts []string
		for _, c := range list {
			config, gone := translate(c.ID, c.Config)
			p.noteConfig("lost", c, gone)
			ids, texts = append(ids, c.ID), append(texts, string(config))
		}
		return tx.Exec(ctx, `INSERT INTO old_configs SELECT * FROM unnest($1::int[], $2::text[]::jsonb[])`, ids, texts)
	})
	if err != nil {
		return err
	}
	// A stored configuration names where its experiment is, so that it can be submitted again.
	return p.put(ctx, tx, `UPDATE old_configs c SET config = c.config || jsonb_build_object('workspace', w.name, 'project', p.name)
		FROM old_experiments d, projects p JOIN workspaces w ON w.id = p.workspace_id WHERE d.id = c.id AND p.id = `+number("project", "d.project_id"))
}

// unused are sections for batch systems, which Determined stored in each configuration.
var unused = []string{"pbs", "slurm"}

// noteConfig notes what a configuration loses.
func (p *pass) noteConfig(how string, c oldConfig, gone []string) {
	for _, field := range gone {
		p.notes.add("configurations "+how+" "+field, c.ID)
	}
	var storage struct {
		Section struct {
			Type string `json:"type"`
		} `json:"checkpoint_storage"`
	}
	if json.Unmarshal(c.Config, &storage) == nil && storage.Section.Type == "hdfs" {
		p.notes.add("checkpoints are in hdfs, from where neither det nor the master can fetch them", c.ID)
	}
}

type oldConfig struct {
	ID     int             `db:"id"`
	Config json.RawMessage `db:"config"`
}

// eachConfig reads the configurations of a table of experiments, some at a time.
func eachConfig(ctx context.Context, db *database.DB, table string, do func([]oldConfig) error) error {
	for last := -1; ; {
		list, err := database.Rows[oldConfig](ctx, db, `SELECT id, config FROM `+table+` WHERE id > $1 ORDER BY id LIMIT $2`, last, configsAtOnce)
		if err == nil && len(list) > 0 {
			err = do(list)
		}
		if err != nil || len(list) == 0 {
			return err
		}
		last = list[len(list)-1].ID
	}
}

// translate returns a configuration in our form, and the fields that it lost.
func translate(id int, config json.RawMessage) (ours []byte, gone []string) {
	fields, err := fieldsOf(config)
	if err != nil {
		return minimal(id, nil), []string{"everything: they cannot be read"}
	}
	if name, ok := fields["name"].(string); !ok || name == "" {
		fields["name"] = fmt.Sprintf("Experiment %d", id)
	}
	for _, section := range unused {
		if m, ok := fields[section].(map[string]any); ok && len(m) == 0 {
			delete(fields, section)
		}
	}
	for range maxProblems {
		var parsed expconf.Config
		if config, err = json.Marshal(fields); err == nil {
			parsed, err = expconf.ParseConfigJSON(config)
		}
		if err == nil {
			if ours, err = parsed.JSON(); err == nil {
				return ours, gone
			}
		}
		path := problem(err)
		if !seeded(fields) {
			path = "reproducibility"
			fields[path] = map[string]any{"experiment_seed": 0}
		} else if path = remove(fields, path); path == "" {
			break
		}
		gone = append(gone, path)
	}
	return minimal(id, fields), append(gone, "everything but their names, metrics and storages")
}

// fieldsOf decodes a configuration; numbers keep their digits.
func fieldsOf(config []byte) (fields map[string]any, err error) {
	d := json.NewDecoder(bytes.NewReader(config))
	d.UseNumber()
	if err = d.Decode(&fields); err == nil && fields == nil {
		err = errors.New("null")
	}
	return fields, err
}

// seeded reports whether a configuration has a seed that we can read.
func seeded(fields map[string]any) bool {
	section, ok := fields["reproducibility"].(map[string]any)
	if !ok {
		return false
	}
	n, ok := section["experiment_seed"].(json.Number)
	if !ok {
		return false
	}
	seed, err := n.Int64()
	return err == nil && seed >= 0 && seed < 1<<32
}

// maxProblems is the number of fields that one configuration may lose.
const maxProblems = 100

// problem is the path of the first field that a configuration should not have.
func problem(err error) string {
	var list document.Errors
	if !errors.As(err, &list) || len(list) == 0 {
		return ""
	}
	return list[0].Path
}

// remove removes the field at a path, or, where the path leads into a list, the field that has the list. It returns the path of what it removed, "" if there is nothing.
func remove(fields map[string]any, path string) string {
	parts := strings.Split(path, ".")
	for i, part := range parts {
		key, _, inList := strings.Cut(part, "[")
		inner, isMap := fields[key].(map[string]any)
		_, there := fields[key]
		switch {
		case !there:
			return ""
		case inList || !isMap || i == len(parts)-1:
			delete(fields, key)
			return strings.Join(append(parts[:i:i], key), ".")
		}
		fields = inner
	}
	return ""
}

// minimal is a configuration with what the pages show, and what removes checkpoints: those of an experiment whose own one cannot be read.
func minimal(id int, fields map[string]any) []byte {
	config := map[string]any{"name": fmt.Sprintf("Experiment %d", id), "reproducibility": map[string]any{"experiment_seed": 0},
		"searcher": map[string]any{"name": "single", "metric": "validation_loss"}}
	if name, ok := fields["name"].(string); ok {
		config["name"] = name
	}
	if old, ok := fields["searcher"].(map[string]any); ok {
		metric, smaller := old["metric"], old["smaller_is_better"]
		if _, ok := metric.(string); ok {
			config["searcher"] = map[string]any{"name": "single", "metric": metric, "smaller_is_better": smaller != false}
		}
	}
	for _, key := range []string{"checkpoint_storage", "hyperparameters", "labels", "description"} {
		trial := map[string]any{}
		for k, v := range config {
			trial[k] = v
		}
		if trial[key] = fields[key]; trial[key] == nil {
			continue
		}
		if parsed, err := parse(trial); err == nil && parsed != nil {
			config[key] = fields[key]
		}
	}
	parsed, err := parse(config)
	if err != nil {
		panic(err) // cannot happen: the fields are those above
	}
	return parsed
}

func parse(fields map[string]any) ([]byte, error) {
	text, err := json.Marshal(fields)
	if err != nil {
		return nil, err
	}
	parsed, err := expconf.ParseConfigJSON(text)
	if err != nil {
		return nil, err
	}
	return parsed.JSON()
}
