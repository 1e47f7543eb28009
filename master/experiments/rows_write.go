package experiments

import (
	"cmp"
	"context"
	"encoding/json"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/checkpoints"
	"github.com/detent-ml/detent/master/contexts"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/search"
	"github.com/detent-ml/detent/master/tasks"
	"github.com/detent-ml/detent/master/trial"
)

// New is an experiment to create.
type New struct {
	OwnerID        int
	SessionEpoch   int // session epoch of the user who creates it
	ProjectID      int
	WorkspaceID    int // of the project, whose rights and policies were applied; 0: not looked at
	ParentID       *int
	Config         []byte // complete, JSON
	OriginalConfig string
	Context        []byte  // nil: no code
	Unmanaged      bool    // its trials run outside of the cluster
	ExternalID     *string // of an unmanaged experiment: its program's name for it; nil for none
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
	CreationKey    *string // recognises a repeated request; nil for none
	Template       UsedTemplate
	// PrefixByID appends the experiment's id to the storage's prefix, if the storage is a
	// bucket.
	PrefixByID bool
	// Search is the search before its first event; nil if the loop creates all trials.
	Search  *search.Search
	Learned json.RawMessage // body of the search's first event: what it learns from earlier experiments; nil: nothing
	Memory  int64           // maximum memory of the search, in bytes
	// Also creates in the same transaction what belongs to the experiment with this id; nil: nothing does.
	Also func(ctx context.Context, tx *database.DB, id int) error
}

// Create inserts an experiment, the counter of its search, and the first trials
// that the search wants. The loop creates their attempts and all later trials.
func Create(ctx context.Context, db *database.DB, room *Memory, n New) (int, error) {
	var id int
	err := db.Tx(ctx, func(tx *database.DB) error {
		if n.WorkspaceID != 0 {
			if err := holdProject(ctx, tx, n.ProjectID, n.WorkspaceID); err != nil {
				return err
			}
		}
		if err := checkpoints.Lock(ctx, tx, n.WarmStart); err != nil {
			return err
		}
		err := contexts.Lock(ctx, tx, n.Context)
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
		var only *int // the only trial of an experiment is its best from the beginning, as in Determined
		err = tx.QueryRow(ctx, `
			INSERT INTO experiments (owner_id, project_id, parent_id, config, original_config, context_hash, seed, name, description,
				labels, desired, pool, slots_per_trial, max_slots, weight, priority, template, template_source, warm_start, creation_key, session_epoch,
				unmanaged, external_id, memory, best_trial_id)
			VALUES (@owner, @project, @parent, @config, @original, @context, @seed, @name, @description,
				@labels, @desired, @pool, @slots, @max_slots, @weight, @priority, @template, @template_source, @warm_start, @key, @epoch,
				@unmanaged, @external, @memory, CASE WHEN @run AND @config::jsonb #>> '{searcher,name}' = 'single' THEN `+nextTrial+` END)
			ON CONFLICT (owner_id, creation_key) WHERE creation_key IS NOT NULL DO NOTHING
			RETURNING id, job_id::text, best_trial_id`,
			database.Args{"owner": n.OwnerID, "project": n.ProjectID, "parent": n.ParentID, "config": string(n.Config),
				"original": n.OriginalConfig, "context": n.Context, "seed": n.Seed, "name": n.Name, "description": n.Description,
				"labels": n.Labels, "desired": desired, "pool": n.Pool, "slots": n.SlotsPerTrial, "max_slots": n.MaxSlots,
				"weight": n.Weight, "priority": n.Priority, "template": n.Template.Name, "template_source": n.Template.Source, "warm_start": n.WarmStart,
				"key": n.CreationKey, "epoch": n.SessionEpoch, "unmanaged": n.Unmanaged, "external": n.ExternalID, "memory": n.Memory, "run": n.Search != nil}).Scan(&owner.ID, &owner.JobID, &only)
		if n.CreationKey != nil && fault.Is(err, fault.NotFound) {
			id, err = database.Scalar[int](ctx, tx, `SELECT id FROM experiments WHERE owner_id = $1 AND creation_key = $2`, n.OwnerID, *n.CreationKey)
			return err
		}
		if err != nil {
			return err
		}
		id = owner.ID
		if err := room.admit(ctx, tx, n.OwnerID, id, n.Memory); err != nil {
			return err
		}
		if n.PrefixByID {
			err = tx.Exec(ctx, `UPDATE experiments SET config = jsonb_set(config, '{checkpoint_storage,prefix}', to_jsonb(
				ltrim(coalesce(config #>> '{checkpoint_storage,prefix}', '') || '/' || id::text, '/'))) WHERE id = $1`, id)
			if err != nil {
				return err
			}
		}
		if err := beginSearch(ctx, tx, owner, n, only); err != nil || n.Also == nil {
			return err
		}
		return n.Also(ctx, tx, id)
	})
	return id, err
}

// beginSearch inserts the counter, the event that a search begins with, and the first trials of an experiment, so that clients find
// them as soon as the request is answered, even if the experiment is paused.
func beginSearch(ctx context.Context, db *database.DB, owner trial.Owner, n New, only *int) error {
	s := &database.Statements{}
	s.Queue(`INSERT INTO search_counters (experiment_id) VALUES ($1)`, owner.ID)
	if n.Search != nil {
		rows, err := trial.First(owner, n.Search, !n.Active)
		if err != nil {
			return err
		}
		for _, t := range rows {
			t.ID = only
			QueueNewTrial(s, t)
		}
	}
	if err := s.Send(ctx, db); err != nil || n.Learned == nil {
		return err
	}
	return AppendEvents(ctx, db, []NewEvent{{ExperimentID: owner.ID, Kind: search.Learned, Body: n.Learned}})
}

// An Action is a request of a user about an experiment.
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

// isOver is true for an experiment that has ended and is not about to continue.
const isOver = `(state IN ('COMPLETED', 'CANCELED', 'ERROR', 'DELETE_FAILED') AND continues = continued)`

// actions has, for each action, the columns that it writes and the condition for
// experiments. No action writes the column state, which only the loop does.
var actions = map[Action]struct{ set, where string }{
	Activate:  {`desired = 'active'`, `desired IN ('active', 'paused') AND state IN ('ACTIVE', 'PAUSED') AND NOT unmanaged`},
	Pause:     {`desired = 'paused'`, `desired IN ('active', 'paused') AND state IN ('ACTIVE', 'PAUSED') AND NOT unmanaged`},
	Cancel:    {`desired = CASE WHEN desired IN ('active', 'paused') AND NOT ` + isOver + ` THEN 'canceled' ELSE desired END`, `desired <> 'deleted'`},
	Kill:      {`desired = CASE WHEN ` + isOver + ` THEN desired ELSE 'killed' END`, `desired <> 'deleted'`},
	Archive:   {`archived = true`, isOver + ` AND desired <> 'deleted'`},
	Unarchive: {`archived = false`, `desired <> 'deleted'`},
	Delete: {`desired = 'deleted', delete_requests = delete_requests + 1`,
		isOver + ` AND (desired <> 'deleted' OR state = 'DELETE_FAILED' AND delete_requests = delete_failed)`},
}

// RequestAction stores an action for experiments, and returns those whose state
// allows it.
func RequestAction(ctx context.Context, db *database.DB, ids []int, action Action) ([]int, error) {
	rule := actions[action]
	return database.Scalars[int](ctx, db, `UPDATE experiments SET `+rule.set+` WHERE id = ANY($1) AND `+rule.where+` RETURNING id`, ids)
}

// Patch has the fields to change; nil leaves a field unchanged. Fields that the
// configuration also has change there too.
type Patch struct {
	Name        *string
	Description *string
	Labels      []string // nil: unchanged
	Notes       *string
	MaxSlots    *int
	Weight      *float64
	Priority    *int
	Pool        *string
	Storage     map[string]int // fields of checkpoint_storage: save_experiment_best, save_trial_best, save_trial_latest
}

// Change changes an experiment.
func Change(ctx context.Context, db *database.DB, id int, ch Patch) error {
	return db.Tx(ctx, func(tx *database.DB) error { return ChangeWithin(ctx, tx, id, ch) })
}

// ChangeWithin changes an experiment within a transaction.
func ChangeWithin(ctx context.Context, tx *database.DB, id int, ch Patch) error {
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
	n, err := tx.Affect(ctx, `
		UPDATE experiments SET name = coalesce(@name, name), description = coalesce(@description, description),
			labels = coalesce(@labels::text[], labels), notes = coalesce(@notes, notes), max_slots = coalesce(@max_slots, max_slots),
			weight = coalesce(@weight, weight), priority = coalesce(@priority, priority), pool = coalesce(@pool, pool),
			config = CASE WHEN @same THEN config ELSE config || @top::jsonb
				|| jsonb_build_object('resources', coalesce(config->'resources', '{}') || @resources::jsonb)
				|| jsonb_build_object('checkpoint_storage', coalesce(config->'checkpoint_storage', '{}') || @storage::jsonb) END
		WHERE id = @id`,
		database.Args{"id": id, "name": ch.Name, "description": ch.Description, "labels": ch.Labels, "notes": ch.Notes,
			"max_slots": ch.MaxSlots, "weight": ch.Weight, "priority": ch.Priority, "pool": ch.Pool,
			"same": len(top)+len(resources)+len(ch.Storage) == 0, "top": string(topJSON), "resources": string(resourcesJSON), "storage": string(storageJSON)})
	if err == nil && n == 0 {
		return NotFound(id)
	}
	if err == nil && len(ch.Storage) > 0 {
		err = tx.Exec(ctx, `UPDATE experiments SET gc_requests = gc_requests + 1 WHERE id = $1`, id) // the loop applies the new policy
	}
	if err == nil && ch.Pool != nil {
		err = tx.Exec(ctx, `UPDATE tasks SET pool = $2 WHERE experiment_id = $1 AND type = 'TRIAL' AND ended_at IS NULL`, id, *ch.Pool)
	}
	if err != nil || ch.Priority == nil {
		return err
	}
	ids, err := database.Scalars[string](ctx, tx, `UPDATE tasks SET priority = $2 WHERE experiment_id = $1 AND ended_at IS NULL RETURNING id`, id, *ch.Priority)
	if err != nil {
		return err
	}
	return tasks.PrioritizeAttempts(ctx, tx, ids, *ch.Priority)
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

// ChangeLabel adds or removes a label of an experiment, and returns its labels, sorted. It changes nothing
// if check rejects them.
func ChangeLabel(ctx context.Context, db *database.DB, id int, label string, add bool, check func([]string) error) (labels []string, err error) {
	err = db.Tx(ctx, func(tx *database.DB) error {
		err := tx.QueryRow(ctx, `
			WITH changed AS (
				SELECT e.id, coalesce((SELECT array_agg(DISTINCT l ORDER BY l) FROM unnest(CASE WHEN $3
					THEN e.labels || $2::text ELSE array_remove(e.labels, $2::text) END) AS l), '{}') AS labels
				FROM experiments e WHERE e.id = $1 FOR UPDATE)
			UPDATE experiments e SET labels = changed.labels, config = config || jsonb_build_object('labels', to_jsonb(changed.labels))
			FROM changed WHERE e.id = changed.id RETURNING e.labels`, id, label, add).Scan(&labels)
		if fault.Is(err, fault.NotFound) {
			return NotFound(id)
		}
		return cmp.Or(err, check(labels))
	})
	return labels, err
}

// LabelsUsed lists the labels in use, the most used first.
func LabelsUsed(ctx context.Context, db *database.DB, in auth.Scope, project int) ([]string, error) {
	return database.Scalars[string](ctx, db, database.MostUsed(`experiments e, unnest(e.labels) AS l
		WHERE (@project = 0 OR e.project_id = @project)
		AND (@scope::int[] IS NULL OR e.project_id IN (SELECT id FROM projects WHERE workspace_id = ANY(@scope)))`),
		database.Args{"project": project, "scope": in.Only(), "bytes": database.MaxPageBytes})
}
