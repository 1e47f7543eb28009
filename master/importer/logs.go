package importer

import (
	"context"
	"log/slog"
	"time"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/logs"
)

// Lines of one batch, which is one commit.
const (
	linesAtOnce = 1000
	bytesAtOnce = 8 << 20
)

// A logTask is a task of the old cluster with lines.
type logTask struct {
	ID    string `db:"id"`    // there
	Ours  string `db:"ours"`  // the task here that gets the lines: the first one of the trial
	Run   int    `db:"run"`   // the trial there
	Early bool   `db:"early"` // its lines are in trial_logs, as before Determined 0.15
}

// copyLogs copies the lines of trials, those of the newest trials first. Of each old task it keeps the number of the last line that was copied, and of lines the
// count: each task is a shipper, whose lines are numbered, so lines that were stored just before an interruption are not stored twice.
func (p *pass) copyLogs(ctx context.Context) error {
	tasks, err := p.logTasks(ctx)
	if err != nil {
		return err
	}
	if _, err := logs.MaintainPartitions(ctx, p.db, time.Now()); err != nil {
		return err
	}
	store := logs.NewStore(p.db, database.NewBus("", slog.New(slog.DiscardHandler)), logs.Settings{Days: logs.Forever})
	defer store.Wait()
	// The number of lines is an estimate, and has those of other tasks than trials. So progress is that of the tasks.
	p.show.begin("logs", int64(len(tasks)))
	p.show.parts = "lines"
	for _, t := range tasks {
		if err := p.copyLog(ctx, store, t); err != nil {
			return err
		}
		p.show.add(1)
	}
	p.show.end()
	return nil
}

// logTasks lists the tasks of imported trials, the newest first.
func (p *pass) logTasks(ctx context.Context) ([]logTask, error) {
	here, err := database.Map[int, string](ctx, p.db, `SELECT t.id, t.task_id FROM trials t JOIN import_trials i ON i.trial_id = t.id`)
	if err != nil {
		return nil, err
	}
	list, err := database.Rows[logTask](ctx, p.source.DB, `
		SELECT t.task_id AS id, '' AS ours, r.run_id AS run, coalesce(t.log_version, 1) = 0 AS early FROM run_id_task_id r JOIN tasks t ON t.task_id = r.task_id
		ORDER BY r.run_id DESC, t.start_time, t.task_id`)
	if err != nil {
		return nil, err
	}
	var known []logTask
	for _, t := range list {
		if t.Ours = here[t.Run+p.shift]; t.Ours != "" {
			known = append(known, t)
		}
	}
	return known, nil
}

// An oldLine is a line of the old cluster.
type oldLine struct {
	id     int64
	origin logs.Origin
	rank   int
	source string
	stream string
	level  string
	at     *time.Time
	text   []byte
}

const lineColumns = `id, coalesce(agent_id, ''), coalesce(container_id, ''), coalesce(rank_id, -1)::int, coalesce(source, ''), coalesce(stdtype, ''), coalesce(level, ''),
	CASE WHEN isfinite(timestamp) THEN timestamp::timestamptz END`

// levels are the numbers of Determined's levels.
var levels = map[string]int{"TRACE": 1, "DEBUG": 2, "INFO": 3, "WARNING": 4, "ERROR": 5, "CRITICAL": 6}

// A copiedLog is how far the log of a task was copied.
type copiedLog struct {
	Last  int64 `db:"last"`
	Lines int64 `db:"lines"`
}

// A logCopy copies the lines of one task, as one query of the old database returns them.
type logCopy struct {
	*pass
	store *logs.Store
	task  logTask
	batch logs.Batch
	bytes int
	done  copiedLog
	skip  int64 // lines that were stored before an interruption, and not counted
}

// copyLog copies the lines of a task that are not here yet.
func (p *pass) copyLog(ctx context.Context, store *logs.Store, t logTask) error {
	c := &logCopy{pass: p, store: store, task: t, batch: logs.Batch{TaskID: t.Ours, Shipper: "import " + t.ID, Past: true}}
	known, err := database.Rows[copiedLog](ctx, p.db, `SELECT last, lines FROM import_logs WHERE import_id = $1 AND task = $2`, p.id, t.ID)
	if err != nil {
		return err
	}
	if c.done.Last = -1; len(known) == 1 {
		c.done = known[0]
	}
	stored, err := store.Append(ctx, c.batch)
	if err != nil {
		return err
	}
	c.skip = max(0, stored-c.done.Lines)
	query, key := `SELECT `+lineColumns+`, log, coalesce(allocation_id, '') FROM task_logs WHERE task_id = $1 AND id > $2 ORDER BY id`, any(t.ID)
	if t.Early {
		query, key = `SELECT `+lineColumns+`, coalesce(log, message), '' FROM trial_logs WHERE trial_id = $1 AND id > $2 ORDER BY id`, any(t.Run)
	}
	var l oldLine
	err = p.source.Each(ctx, query, []any{key, c.done.Last}, []any{&l.id, &l.origin.AgentID, &l.origin.ContainerID, &l.rank, &l.source, &l.stream, &l.level, &l.at, &l.text, &l.origin.AllocationID},
		func() error { return c.add(ctx, l) })
	if err != nil {
		return err
	}
	return c.send(ctx)
}

// add adds a line to the batch, which has lines of one attempt and node.
func (c *logCopy) add(ctx context.Context, l oldLine) error {
	if len(c.batch.Lines) > 0 && (l.origin != c.batch.Origin || len(c.batch.Lines) == linesAtOnce || c.bytes >= bytesAtOnce) {
		if err := c.send(ctx); err != nil {
			return err
		}
	}
	c.done.Last = l.id
	if c.skip > 0 {
		c.skip--
		c.done.Lines++
		return nil
	}
	at := time.Unix(0, 0)
	if l.at != nil {
		at = *l.at
	}
	c.batch.Origin, c.bytes = l.origin, c.bytes+len(l.text)
	c.batch.Lines = append(c.batch.Lines, logs.Line{At: at, Level: levels[l.level], Stdtype: l.stream, Source: l.source, Rank: l.rank, Text: string(l.text)})
	return nil
}

// send stores the batch, and then how far the copy is.
func (c *logCopy) send(ctx context.Context) error {
	if len(c.batch.Lines) == 0 {
		return nil
	}
	c.batch.First = c.done.Lines
	if _, err := c.store.Append(ctx, c.batch); err != nil {
		return err
	}
	c.done.Lines += int64(len(c.batch.Lines))
	c.show.count(int64(len(c.batch.Lines)))
	c.batch.Lines, c.bytes = nil, 0
	return c.db.Exec(ctx, `INSERT INTO import_logs (import_id, task, last, lines) VALUES ($1, $2, $3, $4)
		ON CONFLICT (import_id, task) DO UPDATE SET last = excluded.last, lines = excluded.lines`, c.id, c.task.ID, c.done.Last, c.done.Lines)
}
