package store

import (
	"context"
	"encoding/json"

	"github.com/jackc/pgx/v5"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/search"
	"github.com/detent-ml/detent/master/trial"
)

// NewExperiment is an experiment to be made.
type NewExperiment struct {
	OwnerID        int
	SessionEpoch   int // of the session that starts it
	ProjectID      int
	ParentID       *int
	Config         []byte // complete, JSON
	OriginalConfig string
	Context        []byte  // nil: no code
	Unmanaged      bool    // its trials run elsewhere
	ExternalID     *string // of an unmanaged one, its program's name for it; nil for none
	Seed           int64
	Name           string
	Description    string
	Labels         []string
	Active         bool
	Pool           string
	SlotsPerTrial  int
	MaxSlots       *int
	Weight         float64
	Priority       int
	WarmStart      *string // the checkpoint that its trials start from
	CreationKey    *string // by which a repeated request is known; nil for none
	Template       UsedTemplate
	// PrefixByID is for storage that is a bucket: each experiment's checkpoints lie
	// below its own id, under the prefix that the configuration has.
	PrefixByID bool
	// Search is what its configuration and seed begin with; nil where the loop makes
	// all trials.
	Search *search.Search
	Memory int64 // that the search takes at most, in bytes
}

// CreateExperiment makes an experiment, the counter of its search, and the first
// trials that the search wants. Their attempts, and all later trials, are the
// loop's to make.
func (db *DB) CreateExperiment(ctx context.Context, n NewExperiment) (int, error) {
	var id int
	err := db.Tx(ctx, func(tx *DB) error {
		if err := tx.lockCheckpoint(ctx, n.WarmStart); err != nil {
			return err
		}
		err := tx.lockContext(ctx, n.Context)
		if err != nil {
			return err
		}
		desired := "paused"
		if n.Active {
			desired = "active"
		}
		if n.Labels == nil {
			n.Labels = []string{}
		}
		owner := trial.Owner{WarmStart: n.WarmStart}
		err = asFault(tx.QueryRow(ctx, `
			INSERT INTO experiments (owner_id, project_id, parent_id, config, original_config, context_hash, seed, name, description,
				labels, desired, pool, slots_per_trial, max_slots, weight, priority, template, template_source, warm_start, creation_key, session_epoch,
				unmanaged, external_id, memory)
			VALUES (@owner, @project, @parent, @config, @original, @context, @seed, @name, @description,
				@labels, @desired, @pool, @slots, @max_slots, @weight, @priority, @template, @template_source, @warm_start, @key, @epoch,
				@unmanaged, @external, @memory)
			ON CONFLICT (owner_id, creation_key) WHERE creation_key IS NOT NULL DO NOTHING
			RETURNING id, job_id::text`,
			pgx.NamedArgs{"owner": n.OwnerID, "project": n.ProjectID, "parent": n.ParentID, "config": string(n.Config),
				"original": n.OriginalConfig, "context": n.Context, "seed": n.Seed, "name": n.Name, "description": n.Description,
				"labels": n.Labels, "desired": desired, "pool": n.Pool, "slots": n.SlotsPerTrial, "max_slots": n.MaxSlots,
				"weight": n.Weight, "priority": n.Priority, "template": n.Template.Name, "template_source": n.Template.Source, "warm_start": n.WarmStart,
				"key": n.CreationKey, "epoch": n.SessionEpoch, "unmanaged": n.Unmanaged, "external": n.ExternalID, "memory": n.Memory}).Scan(&owner.ID, &owner.JobID))
		if n.CreationKey != nil && fault.Is(err, fault.NotFound) {
			id, err = scalar[int](ctx, tx, `SELECT id FROM experiments WHERE owner_id = $1 AND creation_key = $2`, n.OwnerID, *n.CreationKey)
			return err
		}
		if err != nil {
			return err
		}
		id = owner.ID
		if err := tx.admit(ctx, n.OwnerID, id, n.Memory); err != nil {
			return err
		}
		if n.PrefixByID {
			_, err = tx.exec(ctx, `UPDATE experiments SET config = jsonb_set(config, '{checkpoint_storage,prefix}', to_jsonb(
				ltrim(coalesce(config #>> '{checkpoint_storage,prefix}', '') || '/' || id::text, '/'))) WHERE id = $1`, id)
			if err != nil {
				return err
			}
		}
		if _, err = tx.exec(ctx, `INSERT INTO search_counters (experiment_id) VALUES ($1)`, id); err != nil {
			return err
		}
		return tx.firstTrials(ctx, owner, n)
	})
	return id, err
}

// firstTrials makes the trials that an experiment begins with, so that they are
// there when its submission is answered, paused or not.
func (db *DB) firstTrials(ctx context.Context, owner trial.Owner, n NewExperiment) error {
	if n.Search == nil {
		return nil
	}
	rows, err := trial.First(owner, n.Search, !n.Active)
	if err != nil {
		return err
	}
	s := &statements{}
	for _, t := range rows {
		queueNewTrial(s, t)
	}
	return s.send(ctx, db)
}

// An Action is what a user asks of an experiment.
type Action string

// The actions.
const (
	Activate  Action = "activate"
	Pause     Action = "pause"
	Cancel    Action = "cancel"
	Kill      Action = "kill"
	Archive   Action = "archive"
	Unarchive Action = "unarchive"
	Delete    Action = "delete"
)

// isOver: nothing of it runs, nor is it about to go on.
const isOver = `(state IN ('COMPLETED', 'CANCELED', 'ERROR', 'DELETE_FAILED') AND continues = continued)`

// actions says, for each action, what it writes and for which experiments. Nothing
// here touches state: that is the loop's.
var actions = map[Action]struct{ set, where string }{
	Activate:  {`desired = 'active'`, `desired IN ('active', 'paused') AND state IN ('ACTIVE', 'PAUSED') AND NOT unmanaged`},
	Pause:     {`desired = 'paused'`, `desired IN ('active', 'paused') AND state IN ('ACTIVE', 'PAUSED') AND NOT unmanaged`},
	Cancel:    {`desired = CASE WHEN desired IN ('active', 'paused') AND NOT ` + isOver + ` THEN 'canceled' ELSE desired END`, `desired <> 'deleted'`},
	Kill:      {`desired = CASE WHEN ` + isOver + ` THEN desired ELSE 'killed' END`, `desired <> 'deleted'`},
	Archive:   {`archived = true`, isOver + ` AND desired <> 'deleted'`},
	Unarchive: {`archived = false`, `desired <> 'deleted'`},
	Delete: {`desired = 'deleted', deletes_asked = deletes_asked + 1`,
		isOver + ` AND (desired <> 'deleted' OR state = 'DELETE_FAILED' AND deletes_asked = deletes_failed)`},
}

// RequestAction stores an action for experiments, and returns those whose state
// allows it.
func (db *DB) RequestAction(ctx context.Context, ids []int, action Action) ([]int, error) {
	rule := actions[action]
	return scalars[int](ctx, db, `UPDATE experiments SET `+rule.set+` WHERE id = ANY($1) AND `+rule.where+` RETURNING id`, ids)
}

// ExperimentPatch says what to change; nil leaves. What tasks read in the
// configuration changes there too, so that it never contradicts the columns.
type ExperimentPatch struct {
	Name        *string
	Description *string
	Labels      []string // nil leaves
	Notes       *string
	MaxSlots    *int
	Weight      *float64
	Priority    *int
	Pool        *string
	Storage     map[string]int // of checkpoint_storage: save_experiment_best and its like
}

// PatchExperiment changes one.
func (db *DB) PatchExperiment(ctx context.Context, id int, ch ExperimentPatch) error {
	return db.Tx(ctx, func(tx *DB) error { return tx.patchExperiment(ctx, id, ch) })
}

func (db *DB) patchExperiment(ctx context.Context, id int, ch ExperimentPatch) error {
	top, resources := map[string]any{}, map[string]any{}
	put(top, "name", ch.Name)
	put(top, "description", ch.Description)
	if ch.Labels != nil {
		top["labels"] = ch.Labels
	}
	put(resources, "max_slots", ch.MaxSlots)
	put(resources, "weight", ch.Weight)
	put(resources, "priority", ch.Priority)
	put(resources, "resource_pool", ch.Pool)
	topJSON, err := json.Marshal(top)
	if err != nil {
		return err
	}
	resourcesJSON, err := json.Marshal(resources)
	if err != nil {
		return err
	}
	storageJSON, err := json.Marshal(nonNil(ch.Storage))
	if err != nil {
		return err
	}
	n, err := db.exec(ctx, `
		UPDATE experiments SET name = coalesce(@name, name), description = coalesce(@description, description),
			labels = coalesce(@labels::text[], labels), notes = coalesce(@notes, notes), max_slots = coalesce(@max_slots, max_slots),
			weight = coalesce(@weight, weight), priority = coalesce(@priority, priority), pool = coalesce(@pool, pool),
			config = CASE WHEN @same THEN config ELSE config || @top::jsonb
				|| jsonb_build_object('resources', coalesce(config->'resources', '{}') || @resources::jsonb)
				|| jsonb_build_object('checkpoint_storage', coalesce(config->'checkpoint_storage', '{}') || @storage::jsonb) END
		WHERE id = @id`,
		pgx.NamedArgs{"id": id, "name": ch.Name, "description": ch.Description, "labels": ch.Labels, "notes": ch.Notes,
			"max_slots": ch.MaxSlots, "weight": ch.Weight, "priority": ch.Priority, "pool": ch.Pool,
			"same": len(top)+len(resources)+len(ch.Storage) == 0, "top": string(topJSON), "resources": string(resourcesJSON), "storage": string(storageJSON)})
	if err == nil && n == 0 {
		return NoExperiment(id)
	}
	if err == nil && len(ch.Storage) > 0 {
		err = db.requestGC(ctx, id)
	}
	if err == nil && ch.Pool != nil {
		_, err = db.exec(ctx, `UPDATE tasks SET pool = $2 WHERE experiment_id = $1 AND type = 'TRIAL' AND ended_at IS NULL`, id, *ch.Pool)
	}
	if err != nil || ch.Priority == nil {
		return err
	}
	tasks, err := scalars[string](ctx, db, `UPDATE tasks SET priority = $2 WHERE experiment_id = $1 AND ended_at IS NULL RETURNING id`, id, *ch.Priority)
	if err != nil {
		return err
	}
	return db.reprioritize(ctx, tasks, *ch.Priority)
}

// reprioritize gives the live attempts of tasks their tasks' new priority, so
// that what waits already waits in its new place.
func (db *DB) reprioritize(ctx context.Context, tasks []string, priority int) error {
	_, err := db.exec(ctx, `UPDATE allocations SET priority = $2 WHERE task_id = ANY($1) AND state <> 'TERMINATED'`, tasks, priority)
	return err
}

func put[T any](m map[string]any, key string, v *T) {
	if v != nil {
		m[key] = *v
	}
}

func nonNil[K comparable, V any](m map[K]V) map[K]V {
	if m == nil {
		return map[K]V{}
	}
	return m
}

// ChangeLabel adds a label to an experiment, or takes it away, and returns the
// labels that it has then, sorted.
func (db *DB) ChangeLabel(ctx context.Context, id int, label string, add bool) ([]string, error) {
	var labels []string
	err := asFault(db.QueryRow(ctx, `
		WITH changed AS (
			SELECT e.id, coalesce((SELECT array_agg(DISTINCT l ORDER BY l) FROM unnest(CASE WHEN $3
				THEN e.labels || $2::text ELSE array_remove(e.labels, $2::text) END) AS l), '{}') AS labels
			FROM experiments e WHERE e.id = $1 FOR UPDATE)
		UPDATE experiments e SET labels = changed.labels, config = config || jsonb_build_object('labels', to_jsonb(changed.labels))
		FROM changed WHERE e.id = changed.id RETURNING e.labels`, id, label, add).Scan(&labels))
	if fault.Is(err, fault.NotFound) {
		return nil, NoExperiment(id)
	}
	return labels, err
}

// MoveExperiment puts an experiment into another project, with its tasks.
func (db *DB) MoveExperiment(ctx context.Context, id, project int) error {
	return db.Tx(ctx, func(tx *DB) error {
		n, err := tx.exec(ctx, `UPDATE experiments SET project_id = $2 WHERE id = $1`, id, project)
		if err == nil && n == 0 {
			return NoExperiment(id)
		}
		if err != nil {
			return err
		}
		_, err = tx.exec(ctx, `UPDATE tasks SET workspace_id = (SELECT workspace_id FROM projects WHERE id = $2) WHERE experiment_id = $1`, id, project)
		return err
	})
}

// ExperimentLabels lists the labels in use, the most used first.
func (db *DB) ExperimentLabels(ctx context.Context, in auth.Scope, project int) ([]string, error) {
	return scalars[string](ctx, db, `SELECT l FROM experiments e, unnest(e.labels) AS l
		WHERE ($1 = 0 OR e.project_id = $1) AND ($2::int[] IS NULL OR e.project_id IN (SELECT id FROM projects WHERE workspace_id = ANY($2)))
		GROUP BY l ORDER BY count(*) DESC, l`, project, workspaces(in))
}
