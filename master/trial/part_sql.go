package trial

// What statements about tasks say of their parts, which are the rows of task_parts.

// HoldsRun is SQL for the attempts a of the part whose first run, and the next part's (0: there is none), are these arguments.
func HoldsRun(from, to string) string {
	return `a.run_id >= ` + from + `::int AND (a.run_id < ` + to + `::int OR ` + to + `::int = 0)`
}

// PartOfRun is SQL for the number of the part in which a task had a run.
func PartOfRun(task, run string) string {
	return `coalesce((SELECT max(p.n) FROM task_parts p WHERE p.task_id = ` + task + ` AND p.first_run <= ` + run + `), 0)`
}

// NewestPart is SQL for the number of a task's newest part.
func NewestPart(task string) string {
	return `coalesce((SELECT max(p.n) FROM task_parts p WHERE p.task_id = ` + task + `), 0)`
}

// NewestPartID is SQL for PartID of task k and its newest part.
const NewestPartID = `(k.id || coalesce((SELECT '-' || max(p.n) FROM task_parts p WHERE p.task_id = k.id), ''))`
