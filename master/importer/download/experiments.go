package download

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"sync"

	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
	v1 "github.com/detent-ml/detent/master/v1"
)

// experiments fetches all experiments with their trials and checkpoints, and removes those that the old cluster has no more.
func (d *copying) experiments(ctx context.Context) error {
	names, err := d.runNames(ctx)
	if err != nil {
		return err
	}
	pages := pagesOf[v1.GetExperimentsRequest, v1.GetExperimentsResponse, v1.Experiment](ctx, d.lists(), v1.ListExperiments, askExperiments)
	ids, err := whole(d.lists(), "the list of experiments", pages, func(e v1.Experiment) (int, int) { return e.ID, e.ID })
	if err != nil {
		return err
	}
	d.Begin("experiments", int64(len(ids)))
	var mu sync.Mutex
	there := make([]int, 0, len(ids))
	if err := parallel(ctx, ids, func(ctx context.Context, id int) error {
		err := d.experiment(ctx, id, names)
		d.tell(1)
		if fault.Is(err, fault.NotFound) && gone(ctx, d.c, v1.GetExperiment, id) { // it was deleted since the list was read
			return nil
		}
		if err != nil {
			return fmt.Errorf("experiment %d: %w", id, err)
		}
		mu.Lock()
		defer mu.Unlock()
		there = append(there, id)
		return nil
	}); err != nil {
		return err
	}
	return d.in(ctx, func(tx *database.DB) error {
		return errors.Join(tx.Exec(ctx, `DELETE FROM experiments WHERE NOT id = ANY($1)`, there), tx.Exec(ctx, `DELETE FROM runs r WHERE NOT EXISTS (SELECT FROM experiments e WHERE e.id = r.experiment_id)`),
			tx.Exec(ctx, `UPDATE runs r SET warm_start_checkpoint_id = k.id FROM checkpoints_v2 k WHERE k.uuid = r.warm_start`))
	})
}

func askExperiments(w v1.Window) v1.GetExperimentsRequest {
	return v1.GetExperimentsRequest{WithoutConfig: true, Window: w, Order: ascending("SORT_BY_ID")}
}

// A runName is what only the list of runs tells about a trial.
type runName struct {
	project  int
	local    any // its number in the project; nil for none
	external *string
	archived bool
}

var localID = regexp.MustCompile(`-([0-9]{1,9})$`)

// runNames fetches what only the list of runs tells.
func (d *copying) runNames(ctx context.Context) (map[int]runName, error) {
	sort, filter := "id=asc", `{"filterGroup": {"children": [], "conjunction": "and", "kind": "group"}, "showArchived": true}`
	pages := func(limit, offset int) ([]v1.FlatRun, int, error) {
		got, err := client.Send(ctx, d.c, v1.SearchRuns, v1.SearchRunsRequest{Limit: &limit, Offset: &offset, Sort: &sort, Filter: &filter})
		return got.Runs, got.Pagination.Total, err
	}
	type named struct {
		id int
		runName
	}
	list, err := whole(d.lists(), "the list of runs", pages, func(r v1.FlatRun) (int, named) {
		name := runName{project: r.ProjectID, external: r.ExternalRunID, archived: r.Archived}
		if m := localID.FindStringSubmatch(r.LocalID); m != nil {
			name.local, _ = strconv.Atoi(m[1]) // nine digits
		}
		return r.ID, named{r.ID, name}
	})
	names := make(map[int]runName, len(list))
	for _, n := range list {
		names[n.id] = n.runName
	}
	return names, err
}

// An experiment's rows, as they are put together.
type rows struct {
	experiment                            row
	runs, metadata, tasks, checkpoints, k []row
}

// experiment fetches an experiment, its trials and its checkpoints.
func (d *copying) experiment(ctx context.Context, id int, names map[int]runName) error {
	got, err := client.Call(ctx, d.c, v1.GetExperiment, id)
	if err != nil {
		return err
	}
	e, config := got.Experiment, got.Config
	if len(config) <= len("null") {
		config = e.Config
	}
	stored, gone := withoutSecrets(config, secretSections...)
	if gone {
		d.note("the API hides the secrets in configurations: experiments whose storage or image needs some get them from the cluster's settings here, or not at all")
	}
	all := rows{experiment: row{"id": e.ID, "state": stateOf(e.State), "config": stored, "start_time": e.StartTime, "end_time": e.EndTime, "archived": e.Archived, "parent_id": e.ForkedFrom, "owner_id": e.UserID,
		"progress": e.Progress, "original_config": e.OriginalConfig, "notes": e.Notes, "job_id": e.JobID, "project_id": e.ProjectID, "best_trial_id": e.BestTrialID, "unmanaged": e.Unmanaged, "external_experiment_id": e.ExternalExperimentID, "pool": e.ResourcePool}}
	trials, err := list(ctx, d.lists(), v1.ListTrials, func(w v1.Window) v1.GetExperimentTrialsRequest {
		return v1.GetExperimentTrialsRequest{Window: w, Order: ascending("SORT_BY_ID")}
	}, func(t v1.Trial) int { return t.ID }, id)
	if err != nil {
		return err
	}
	for _, t := range trials {
		all.trial(t, names[t.ID], e)
	}
	checkpoints, err := list(ctx, d.lists(), v1.ListExperimentCheckpoints, func(w v1.Window) v1.GetCheckpointsRequest {
		return v1.GetCheckpointsRequest{Window: w, SortByAttr: "SORT_BY_UUID", OrderBy: "ORDER_BY_ASC"}
	}, func(k v1.Checkpoint) string { return k.UUID }, id)
	if err != nil {
		return err
	}
	for _, k := range checkpoints {
		all.checkpoint(k)
	}
	return d.soon(ctx, func(tx *database.DB) error { return all.put(ctx, tx) })
}

// stateOf is the state of an experiment or a trial in Determined's database: the API also says how far an active one is.
func stateOf[T ~string](s T) string {
	switch text := short(s, "STATE_"); text {
	case "QUEUED", "PULLING", "STARTING", "RUNNING":
		return "ACTIVE"
	case "DELETED":
		return "DELETING"
	default:
		return text
	}
}

// trial adds the rows of a trial.
func (all *rows) trial(t v1.Trial, name runName, e v1.Experiment) {
	if name.project == 0 {
		name.project = e.ProjectID
	}
	tasks := t.TaskIDs
	if len(tasks) == 0 && t.TaskID != "" {
		tasks = []string{t.TaskID}
	}
	for _, task := range tasks {
		all.tasks = append(all.tasks, row{"run_id": t.ID, "task_id": task})
	}
	if metadata := object(t.Metadata); metadata != nil && string(t.Metadata) != "{}" {
		all.metadata = append(all.metadata, row{"run_id": t.ID, "metadata": metadata})
	}
	var warmStart any
	if t.WarmStartCheckpointUUID != "" {
		warmStart = t.WarmStartCheckpointUUID
	}
	summary := object(t.SummaryMetrics)
	if summary == nil {
		summary = json.RawMessage("{}")
	}
	all.runs = append(all.runs, row{"id": t.ID, "experiment_id": t.ExperimentID, "state": stateOf(t.State), "start_time": t.StartTime, "end_time": t.EndTime, "hparams": object(t.HParams), "warm_start": warmStart,
		"best_batches": batchesOf(t.BestValidation), "latest_batches": batchesOf(t.LatestValidation), "runner_state": t.RunnerState, "restart_id": t.Restarts + 1, "restarts": t.Restarts,
		"searcher_metric_value": t.SearcherMetricValue, "total_batches": t.TotalBatchesProcessed, "summary_metrics": summary, "external_run_id": name.external, "project_id": name.project,
		"log_retention_days": t.LogRetentionDays, "archived": name.archived, "local_id": name.local, "log_policy_matched": t.LogPolicyMatched, "wanted": markOf(t)})
}

func batchesOf(w *v1.MetricsWorkload) any {
	if w == nil {
		return nil
	}
	return w.TotalBatches
}

// markOf changes when a trial does.
func markOf(t v1.Trial) string {
	t.WallClockTime, t.WaitingReason = 0, ""
	text, err := json.Marshal(t)
	if err != nil {
		return "" // a trial without a mark is fetched again each time
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}

// checkpoint adds the rows of a checkpoint.
func (all *rows) checkpoint(k v1.Checkpoint) {
	size := int64(0)
	for _, n := range k.Resources {
		size += n
	}
	var allocation any
	if k.AllocationID != "" {
		allocation = k.AllocationID
	}
	all.checkpoints = append(all.checkpoints, row{"uuid": k.UUID, "task_id": k.TaskID, "allocation_id": allocation, "report_time": k.ReportTime, "state": short(k.State, "STATE_"), "resources": k.Resources, "metadata": object(k.Metadata), "size": size})
	if k.Training.TrialID != nil {
		all.k = append(all.k, row{"run_id": *k.Training.TrialID, "checkpoint_id": k.UUID})
	}
}

const (
	experimentColumns = "id, state, config, start_time, end_time, archived, parent_id, owner_id, progress, original_config, notes, job_id, project_id, best_trial_id, unmanaged, external_experiment_id, pool"
	runColumns        = "id, experiment_id, state, start_time, end_time, hparams, warm_start, best_batches, latest_batches, runner_state, restart_id, restarts, searcher_metric_value, total_batches, summary_metrics, external_run_id, project_id, log_retention_days, archived, local_id, log_policy_matched, wanted"
)

// put puts the rows of an experiment in the place of those that are there. What was fetched of its trials, and its code, stay.
func (all *rows) put(ctx context.Context, tx *database.DB) error {
	id := all.experiment["id"]
	for _, sql := range []string{
		`CREATE TEMP TABLE kept ON COMMIT DROP AS SELECT id, fetched, logged, greatest(restart_id, 1) AS restart_id, best_validation_id, latest_validation_id, last_activity, summary_metrics_timestamp
			FROM runs WHERE experiment_id = $1 AND (fetched IS NOT NULL OR logged IS NOT NULL)`,
		`CREATE TEMP TABLE kept_code ON COMMIT DROP AS SELECT id, model_definition FROM experiments WHERE id = $1 AND code_known`,
		`DELETE FROM checkpoints_v2 WHERE uuid IN (SELECT c.checkpoint_id FROM run_checkpoints c JOIN runs r ON r.id = c.run_id WHERE r.experiment_id = $1)`,
		`DELETE FROM run_checkpoints WHERE run_id IN (SELECT id FROM runs WHERE experiment_id = $1)`,
		`DELETE FROM run_id_task_id WHERE run_id IN (SELECT id FROM runs WHERE experiment_id = $1)`,
		`DELETE FROM runs_metadata WHERE run_id IN (SELECT id FROM runs WHERE experiment_id = $1)`,
		`DELETE FROM runs WHERE experiment_id = $1`, `DELETE FROM experiments WHERE id = $1`,
	} {
		if err := tx.Exec(ctx, sql, id); err != nil {
			return err
		}
	}
	for _, t := range []table{
		{"experiments", experimentColumns, []row{all.experiment}}, {"runs", runColumns, all.runs}, {"runs_metadata", "run_id, metadata", all.metadata}, {"run_id_task_id", "run_id, task_id", all.tasks},
		{"checkpoints_v2", "uuid, task_id, allocation_id, report_time, state, resources, metadata, size", all.checkpoints}, {"run_checkpoints", "run_id, checkpoint_id", all.k},
		{"jobs", "job_id, owner_id", []row{{"job_id": all.experiment["job_id"], "owner_id": all.experiment["owner_id"]}}},
	} {
		if err := put(ctx, tx, t.name, t.columns, t.rows); err != nil {
			return err
		}
	}
	for _, sql := range []string{
		`UPDATE runs r SET fetched = k.fetched, logged = k.logged, restart_id = greatest(r.restart_id, k.restart_id), best_validation_id = k.best_validation_id, latest_validation_id = k.latest_validation_id,
			last_activity = k.last_activity, summary_metrics_timestamp = k.summary_metrics_timestamp FROM kept k WHERE k.id = r.id`,
		`UPDATE experiments e SET model_definition = k.model_definition, code_known = true FROM kept_code k WHERE k.id = e.id`,
	} {
		if err := tx.Exec(ctx, sql); err != nil {
			return err
		}
	}
	return nil
}

// code fetches the code of an experiment, once.
func (d *copying) code(ctx context.Context, id int) error {
	got, err := d.c.ModelDef(ctx, id)
	if fault.Is(err, fault.Forbidden) && d.hidden(err, fmt.Sprintf("the code of experiment %d", id)) {
		return nil // which somebody else may fetch later
	}
	if absent(err) {
		got, err = nil, nil
	}
	if err != nil {
		return err
	}
	return d.in(ctx, func(tx *database.DB) error {
		return tx.Exec(ctx, `UPDATE experiments SET model_definition = coalesce($2::bytea, ''), code_known = true WHERE id = $1`, id, got)
	})
}
