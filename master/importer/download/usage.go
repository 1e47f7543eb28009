package download

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"time"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
	v1 "github.com/detent-ml/detent/master/v1"
)

// firstYear is the year before the first release of Determined.
const firstYear = 2018

// usage fetches the attempts of notebooks, shells, commands and TensorBoards, which the API has as a table of all attempts, year by year. Those of trials come with
// their tasks.
func (d *copying) usage(ctx context.Context) error {
	var rows []row
	for year := firstYear; year <= time.Now().Year(); year++ {
		q := url.Values{"timestamp_after": {fmt.Sprintf("%d-01-01T00:00:00Z", year)}, "timestamp_before": {fmt.Sprintf("%d-01-01T00:00:00Z", year+1)}}
		text, err := d.c.Raw(ctx, "GET", v1.GetAllocationsCSV.At()+"?"+q.Encode(), nil)
		if absent(err) {
			d.note("the old master does not tell who used how much")
			return nil
		}
		if err != nil {
			return fmt.Errorf("the attempts of %d: %w", year, err)
		}
		if rows, err = attemptsIn(rows, text); err != nil {
			return fmt.Errorf("the attempts of %d: %w", year, err)
		}
	}
	return d.in(ctx, func(tx *database.DB) error {
		for _, sql := range []string{
			`CREATE TEMP TABLE told (allocation_id text, task_type text, username text, workspace_name text, slots int, start_time timestamptz, end_time timestamptz, resource_pool text) ON COMMIT DROP`,
			`DELETE FROM allocations WHERE task_id IN (SELECT task_id FROM tasks WHERE task_type <> 'TRIAL')`, `DELETE FROM jobs WHERE job_id LIKE 'of %'`, `DELETE FROM tasks WHERE task_type <> 'TRIAL'`, `DELETE FROM allocation_workspace_info`,
		} {
			if err := tx.Exec(ctx, sql); err != nil {
				return err
			}
		}
		for ; len(rows) > 0; rows = rows[min(len(rows), reportsAtOnce):] {
			if err := put(ctx, tx, "told", "allocation_id, task_type, username, workspace_name, slots, start_time, end_time, resource_pool", rows[:min(len(rows), reportsAtOnce)]); err != nil {
				return err
			}
		}
		for _, sql := range []string{
			`INSERT INTO jobs SELECT 'of ' || t.username, min(u.id) FROM told t JOIN users u ON u.username = t.username GROUP BY 1 ON CONFLICT DO NOTHING`,
			`INSERT INTO tasks (task_id, task_type, start_time, end_time, job_id) SELECT regexp_replace(allocation_id, '\.\d+$', ''), min(task_type), min(start_time), max(end_time), min('of ' || username) FROM told GROUP BY 1 ON CONFLICT DO NOTHING`,
			`INSERT INTO allocations (allocation_id, task_id, resource_pool, slots, state, start_time, end_time) SELECT DISTINCT ON (allocation_id) allocation_id, regexp_replace(allocation_id, '\.\d+$', ''), resource_pool, slots, 'TERMINATED', start_time, end_time FROM told ON CONFLICT DO NOTHING`,
			`INSERT INTO allocation_workspace_info SELECT DISTINCT ON (t.allocation_id) t.allocation_id, w.id, t.workspace_name FROM told t LEFT JOIN workspaces w ON w.name = t.workspace_name ON CONFLICT DO NOTHING`,
		} {
			if err := tx.Exec(ctx, sql); err != nil {
				return err
			}
		}
		return nil
	})
}

// attemptsIn adds the attempts of a table that are not of trials. Releases have different columns, so columns are found by their names.
func attemptsIn(rows []row, text []byte) ([]row, error) {
	r := csv.NewReader(bytes.NewReader(text))
	r.FieldsPerRecord, r.ReuseRecord = -1, true
	at := map[string]int{}
	for line := 0; ; line++ {
		record, err := r.Read()
		switch {
		case errors.Is(err, io.EOF):
			return rows, nil
		case err != nil:
			return rows, fault.New(fault.Invalid, "the table cannot be read: %w", err)
		case line == 0:
			for i, name := range record {
				at[name] = i
			}
			for _, name := range []string{"allocation_id", "task_type", "username", "slots", "start_time", "end_time"} {
				if _, there := at[name]; !there {
					return rows, fault.New(fault.Invalid, "the table of attempts has no column %s", name)
				}
			}
			continue
		}
		get := func(name string) string {
			if i, there := at[name]; there && i < len(record) {
				return record[i]
			}
			return ""
		}
		slots, err := strconv.Atoi(get("slots"))
		if kind := get("task_type"); err == nil && kind != "TRIAL" && get("start_time") != "" {
			rows = append(rows, row{"allocation_id": get("allocation_id"), "task_type": kind, "username": get("username"), "workspace_name": get("workspace_name"), "slots": slots,
				"start_time": get("start_time"), "end_time": orNull(get("end_time")), "resource_pool": get("resource_pool")})
		}
		if len(rows) > maxRecords {
			return rows, fault.New(fault.TooLarge, "the table of attempts has no end")
		}
	}
}

func orNull(text string) any {
	if text == "" {
		return nil
	}
	return text
}
