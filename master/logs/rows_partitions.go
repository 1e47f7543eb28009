package logs

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/sleep"
)

const (
	partitionsAhead   = 3         // periods for which partitions are created ahead of time
	partitionInterval = time.Hour // time between two runs
	lateChunks        = time.Hour // after the end of a partition's period: transactions that began in it have ended

	// Rows that a partition may still keep when it is dropped: writers wait while these are copied.
	maxMovedChunks = 500
	maxMovedBytes  = 16 << 20
	// maxDeletions is the number of transactions in which one run deletes rows of a table.
	maxDeletions = 50
)

// Partitions creates partitions for logs ahead of time and drops those whose lines are all
// deleted. Any number of masters may run one.
type Partitions struct {
	db  *database.DB
	log *slog.Logger
}

// NewPartitions returns a Partitions; Run starts it.
func NewPartitions(db *database.DB, log *slog.Logger) *Partitions {
	return &Partitions{db: db, log: log}
}

// Run maintains the partitions until ctx ends.
func (k *Partitions) Run(ctx context.Context) {
	for ctx.Err() == nil {
		pause := partitionInterval
		if dropped, err := MaintainPartitions(ctx, k.db, time.Now()); err != nil {
			if ctx.Err() == nil && !fault.Is(err, fault.Unavailable) {
				k.log.Error("log partition maintenance failed; new lines use the default partition", "error", err)
			}
			pause = time.Minute
		} else if dropped > 0 {
			k.log.Info("old logs were dropped", "partitions", dropped)
		}
		_ = sleep.For(ctx, pause)
	}
}

type class struct {
	Days   int           `db:"days"`
	Period time.Duration `db:"period"`
}

// MaintainPartitions creates the partitions for lines of the next periods, and drops those
// whose lines are all deleted.
func MaintainPartitions(ctx context.Context, db *database.DB, now time.Time) (dropped int, err error) {
	classes, err := database.Rows[class](ctx, db, `SELECT days, period FROM log_classes ORDER BY days`)
	if err != nil {
		return 0, err
	}
	for _, c := range classes {
		for i := range partitionsAhead + 1 {
			if err := addPartition(ctx, db, c, now.Add(time.Duration(i)*c.Period)); err != nil {
				return dropped, err
			}
		}
		n, err := dropPartitions(ctx, db, c, now)
		dropped += n
		if err != nil {
			return dropped, err
		}
		if err := deleteExpiredChunks(ctx, db, c.table()+"_rest"); err != nil {
			return dropped, err
		}
	}
	return dropped, nil
}

// table has the lines of a class.
func (c class) table() string { return fmt.Sprintf("log_chunks_%d", c.Days) }

// partitionName consists of the class and of the first day of the partition.
func partitionName(c class, begin time.Time) string {
	return c.table() + "_" + begin.Format("20060102")
}

// addPartition creates the partition for lines of a moment. Periods begin at a fixed day,
// so that all masters compute the same partitions.
func addPartition(ctx context.Context, db *database.DB, c class, at time.Time) error {
	begin := at.UTC().Truncate(c.Period) // since the year 1: whole days stay whole days
	end := begin.Add(c.Period)
	name := partitionName(c, begin)
	return db.Tx(ctx, func(tx *database.DB) error {
		if err := lockPartitions(ctx, tx); err != nil {
			return err
		}
		there, err := database.Scalar[bool](ctx, tx, `SELECT to_regclass($1) IS NOT NULL`, name)
		if err != nil || there {
			return err
		}
		held, err := database.Scalar[bool](ctx, tx, fmt.Sprintf(
			`SELECT EXISTS (SELECT 1 FROM log_chunks_%d_rest WHERE arrived_at >= $1 AND arrived_at < $2)`, c.Days), begin, end)
		if err != nil || held {
			return err // the default partition has lines of this period, and keeps the further ones too
		}
		return tx.Exec(ctx, fmt.Sprintf(`CREATE TABLE %s PARTITION OF log_chunks_%d FOR VALUES FROM ('%s') TO ('%s')`,
			name, c.Days, begin.Format(time.RFC3339), end.Format(time.RFC3339)))
	})
}

// dropPartitions drops the partitions of a class that contain deleted lines alone, and those that
// contain few others a period after the lines of tasks that ended within the period have expired.
func dropPartitions(ctx context.Context, db *database.DB, c class, now time.Time) (dropped int, err error) {
	names, err := database.Scalars[string](ctx, db, `
		SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
		WHERE i.inhparent = to_regclass($1) AND c.relname ~ '_[0-9]{8}$' ORDER BY 1`, c.table())
	if err != nil {
		return 0, err
	}
	for _, name := range names {
		begin, err := time.Parse("20060102", name[len(name)-8:])
		if err != nil || begin.Add(c.Period+lateChunks).After(now) {
			continue
		}
		kept, err := database.Scalar[bool](ctx, db, fmt.Sprintf(hasKeptChunks, name))
		if err != nil {
			return dropped, err
		}
		if kept {
			overdue := c.Days > 0 && begin.Add(2*c.Period).AddDate(0, 0, c.Days).Before(now)
			if !overdue {
				continue
			}
			few, err := database.Scalar[bool](ctx, db, fmt.Sprintf(hasFewKeptChunks, name), maxMovedChunks, maxMovedBytes)
			if err != nil {
				return dropped, err
			}
			if !few {
				if err := deleteExpiredChunks(ctx, db, name); err != nil {
					return dropped, err
				}
				continue
			}
		}
		if err := dropPartition(ctx, db, c, name, kept); err != nil {
			return dropped, err
		}
		dropped++
	}
	return dropped, nil
}

const (
	// keptChunks are the chunks of a table, as c, whose lines are not deleted.
	keptChunks = `%[1]s c JOIN log_tasks l ON l.id = c.log_task WHERE c.first >= l.expired_to`

	// hasKeptChunks looks at one row of the index for each log in the table, not at all chunks.
	hasKeptChunks = `
		WITH RECURSIVE logs(id) AS (
			(SELECT log_task FROM %[1]s ORDER BY log_task LIMIT 1)
			UNION ALL
			SELECT (SELECT c.log_task FROM %[1]s c WHERE c.log_task > logs.id ORDER BY c.log_task LIMIT 1) FROM logs WHERE logs.id IS NOT NULL)
		SELECT EXISTS (SELECT 1 FROM logs JOIN log_tasks l ON l.id = logs.id
			WHERE EXISTS (SELECT 1 FROM %[1]s c WHERE c.log_task = l.id AND c.first >= l.expired_to))`

	hasFewKeptChunks = `
		SELECT count(*) <= $1 AND coalesce(sum(size), 0) <= $2
		FROM (SELECT octet_length(c.body) AS size FROM ` + keptChunks + ` LIMIT $1 + 1) kept`
)

// dropPartition drops a partition. It first moves the chunks with lines that are not deleted to the
// class's table for such chunks.
func dropPartition(ctx context.Context, db *database.DB, c class, name string, kept bool) error {
	return db.Tx(ctx, func(tx *database.DB) error {
		if err := lockPartitions(ctx, tx); err != nil {
			return err
		}
		there, err := database.Scalar[bool](ctx, tx, `SELECT to_regclass($1) IS NOT NULL`, name)
		if err != nil || !there { // another master has dropped it
			return err
		}
		if kept {
			if err := tx.Exec(ctx, fmt.Sprintf(`ALTER TABLE %s DETACH PARTITION %s`, c.table(), name)); err != nil {
				return err
			}
			const columns = `class, arrived_at, log_task, origin, first, lines, earliest, latest, levels, body`
			if err := tx.Exec(ctx, fmt.Sprintf(`INSERT INTO log_chunks (`+columns+`) SELECT c.`+strings.ReplaceAll(columns, ", ", ", c.")+` FROM `+keptChunks, name)); err != nil {
				return err
			}
		}
		return tx.Exec(ctx, `DROP TABLE `+name)
	})
}

// lockPartitions lets one master at a time change partitions, with a short lock timeout: while a
// statement waits for a long reader, all writers would wait for that statement.
func lockPartitions(ctx context.Context, db *database.DB) error {
	for _, sql := range []string{`SET LOCAL lock_timeout = '2s'`, `SELECT pg_advisory_xact_lock(hashtextextended('log partitions', 0))`} {
		if err := db.Exec(ctx, sql); err != nil {
			return err
		}
	}
	return nil
}

// deleteExpiredChunks deletes the chunks of a table whose lines have expired, in short transactions. If more than
// maxDeletions transactions are needed, the next run continues.
func deleteExpiredChunks(ctx context.Context, db *database.DB, table string) error {
	for range maxDeletions {
		n, err := db.Affect(ctx, fmt.Sprintf(`DELETE FROM %[1]s WHERE ctid = ANY(ARRAY(
			SELECT c.ctid FROM %[1]s c JOIN log_tasks l ON l.id = c.log_task WHERE c.first < l.expired_to LIMIT $1))`, table), expiredChunks)
		if err != nil || n < expiredChunks {
			return err
		}
	}
	return nil
}
