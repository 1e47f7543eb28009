package trial

// ReportsOf is SQL for the trial that has the reports and checkpoints of a trial, which a statement calls by this name: a trial
// of the common past of a branch has those of its origin, which may be deleted.
func ReportsOf(name string) string {
	return `CASE WHEN ` + name + `.past THEN ` + name + `.origin_id ELSE ` + name + `.id END`
}
