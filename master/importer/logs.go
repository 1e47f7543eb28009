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

// copyLogs copies the lines of trials, those of the newest trials first. Each old task is a shipper, which numbers its lines: that is how an
// interrupted copy continues, and how lines are never stored twice.
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
	p.show.begin("logs", p.facts.Lines)
	for _, t := range tasks {
		if err := p.copyLog(ctx, store, t); err != nil {
			return err
		}
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
	ID         int64      `db:"id"`
	Allocation string     `db:"allocation"`
	Agent      string     `db:"agent"`
	Container  string     `db:"container"`
	Rank       int        `db:"rank"`
	Source     string     `db:"source"`
	Stdtype    string     `db:"stdtype"`
	Level      string     `db:"level"`
	At         *time.Time `db:"at"`
	Text       []byte     `db:"text"`
}

const lineColumns = `id, coalesce(agent_id, '') AS agent, coalesce(container_id, '') AS container, coalesce(rank_id, -1)::int AS rank, coalesce(source, '') AS source, coalesce(stdtype, '') AS stdtype,
	coalesce(level, '') AS level, timestamp::timestamptz AS at`

// levels are the numbers of Determined's levels.
var levels = map[string]int{"TRACE": 1, "DEBUG": 2, "INFO": 3, "WARNING": 4, "ERROR": 5, "CRITICAL": 6}

// copyLog copies the lines of a task that are not here yet.
func (p *pass) copyLog(ctx context.Context, store *logs.Store, t logTask) error {
	b := logs.Batch{TaskID: t.Ours, Shipper: "import " + t.ID, Past: true}
	next, err := store.Append(ctx, b)
	if err != nil {
		return err
	}
	query, key := `SELECT `+lineColumns+`, coalesce(allocation_id, '') AS allocation, log AS text FROM task_logs WHERE task_id = $1 AND id > $2 ORDER BY id LIMIT $3`, any(t.ID)
	if t.Early {
		query, key = `SELECT `+lineColumns+`, '' AS allocation, coalesce(log, message) AS text FROM trial_logs WHERE trial_id = $1 AND id > $2 ORDER BY id LIMIT $3`, any(t.Run)
	}
	for seen, last := int64(0), int64(-1); ; {
		lines, err := database.Rows[oldLine](ctx, p.source.DB, query, key, last, linesAtOnce)
		if err != nil || len(lines) == 0 {
			return err
		}
		last = lines[len(lines)-1].ID
		p.show.add(int64(len(lines)))
		if seen += int64(len(lines)); seen <= next {
			continue // all of them are here
		}
		if next, err = appendLines(ctx, store, b, lines, seen-int64(len(lines))); err != nil {
			return err
		}
	}
}

// appendLines stores lines of which the first one has a number, those of each attempt and node on their own.
func appendLines(ctx context.Context, store *logs.Store, b logs.Batch, lines []oldLine, first int64) (next int64, err error) {
	for len(lines) > 0 {
		b.First, b.Lines, b.Origin = first, nil, lines[0].origin()
		for size := 0; len(b.Lines) < len(lines) && lines[len(b.Lines)].origin() == b.Origin && size < bytesAtOnce; {
			l := lines[len(b.Lines)]
			size += len(l.Text)
			at := time.Unix(0, 0)
			if l.At != nil {
				at = *l.At
			}
			b.Lines = append(b.Lines, logs.Line{At: at, Level: levels[l.Level], Stdtype: l.Stdtype, Source: l.Source, Rank: l.Rank, Text: string(l.Text)})
		}
		if next, err = store.Append(ctx, b); err != nil {
			return 0, err
		}
		first += int64(len(b.Lines))
		lines = lines[len(b.Lines):]
	}
	return next, nil
}

func (l oldLine) origin() logs.Origin {
	return logs.Origin{AllocationID: l.Allocation, AgentID: l.Agent, ContainerID: l.Container}
}
