package trial

// ReportsOf is SQL for the trial that has the reports and checkpoints of a trial, which a statement calls by this name: a trial
// of the common past of a branch has those of its origin, which may be deleted. Of them it has those of the runs up to PastRun.
func ReportsOf(name string) string {
	return `CASE WHEN ` + name + `.past THEN ` + name + `.origin_id ELSE ` + name + `.id END`
}

// PastRun is SQL for the last run of the trial that ReportsOf names whose reports and checkpoints are those of a trial: an origin may have gone on since.
func PastRun(name string) string {
	return `CASE WHEN ` + name + `.past AND ` + name + `.origin_run IS NOT NULL THEN ` + name + `.origin_run ELSE 2147483647 END`
}

// HasCheckpoint is SQL for the condition that a trial can go on from a checkpoint, both called by these names. A trial of a branch that has not run there has
// the checkpoints that its origin stored before the event, and the one that was chosen for it: clocks differ.
func HasCheckpoint(name, checkpoint string) string {
	return `(` + checkpoint + `.trial_id = CASE WHEN ` + name + `.origin_until IS NULL THEN ` + name + `.id ELSE ` + name + `.origin_id END AND (` +
		name + `.origin_until IS NULL OR ` + checkpoint + `.reported_at <= ` + name + `.origin_until OR ` + checkpoint + `.run_id <= ` + name + `.origin_run OR ` + checkpoint + `.uuid = ` + name + `.warm_start))`
}
