package api

import (
	"strings"
	"testing"
)

// The tables of accounting, with what belongs to whom at the time.
func TestUsage(t *testing.T) {
	r := newRig(t)
	me := r.user("determined")
	r.exec(`INSERT INTO usage (allocation_id, task_type, owner_id, username, workspace_id, workspace, project, experiment_id, labels, pool, slots, models, queued_at, started_at, ended_at) VALUES
		('1.a.1', 'TRIAL', 2, 'determined', 1, 'Uncategorized', 'p', 7, '{x,y}', 'default', 2, '{"A100": 2}', '2026-01-01T22:00:00Z', '2026-01-01T23:00:00Z', '2026-01-02T01:00:00Z'),
		('nb.1', 'NOTEBOOK', 1, 'admin', 99, 'gone', '', NULL, '{}', 'default', 1, '{}', '2026-01-02T00:00:00Z', '2026-01-02T00:30:00Z', '2026-01-02T00:30:36Z'),
		('gc.1', 'CHECKPOINT_GC', 1, 'admin', 1, 'Uncategorized', '', NULL, '{}', 'default', 0, '{}', '2026-01-02T02:00:00Z', '2026-01-02T02:00:00Z', '2026-01-02T02:10:00Z')`)
	const window = "?timestamp_after=2026-01-02T00:00:00Z&timestamp_before=2026-01-03T00:00:00Z"
	csv := func(path string) string { return strings.TrimSpace(string(me.get(path).ok().body)) }
	want := func(path string, lines ...string) {
		t.Helper()
		if got := csv(path); got != strings.Join(lines, "\n") {
			t.Errorf("%s:\n%s\nwant\n%s", path, got, strings.Join(lines, "\n"))
		}
	}
	want("/resources/allocation/allocations-csv"+window,
		"allocation_id,task_type,username,workspace_name,experiment_id,slots,start_time,end_time,imagepulling_time,slot_hours,resource_pool",
		"1.a.1,TRIAL,determined,Uncategorized,7,2,2026-01-01T23:00:00Z,2026-01-02T01:00:00Z,,2.000000,default",
		"nb.1,NOTEBOOK,admin,gone,,1,2026-01-02T00:30:00Z,2026-01-02T00:30:36Z,,0.010000,default",
		"gc.1,CHECKPOINT_GC,admin,Uncategorized,,0,2026-01-02T02:00:00Z,2026-01-02T02:10:00Z,,0.0,default")
	want("/resources/allocation/raw"+window,
		"experiment_id,kind,username,labels,slots,start_time,end_time,seconds",
		`7,trial,determined,"x,y",2,2026-01-01T23:00:00Z,2026-01-02T01:00:00Z,3600.000000`,
		",notebook,admin,,1,2026-01-02T00:30:00Z,2026-01-02T00:30:36Z,36.000000",
		",checkpoint_gc,admin,,0,2026-01-02T02:00:00Z,2026-01-02T02:10:00Z,600.000000")
	const days = "?start_date=2026-01-01&end_date=2026-01-02&period=RESOURCE_ALLOCATION_AGGREGATION_PERIOD_DAILY"
	want("/resources/allocation/aggregated"+days,
		"aggregation_type,aggregation_key,date,seconds",
		"experiment_label,x,2026-01-01,7200.000000", "experiment_label,y,2026-01-01,7200.000000", "username,determined,2026-01-01,7200.000000",
		"resource_pool,default,2026-01-01,7200.000000", "workspace,Uncategorized,2026-01-01,7200.000000", "project,Uncategorized/p,2026-01-01,7200.000000",
		"task_type,TRIAL,2026-01-01,7200.000000", "gpu_model,A100,2026-01-01,7200.000000", "total,total,2026-01-01,7200.000000",
		"experiment_label,x,2026-01-02,7200.000000", "experiment_label,y,2026-01-02,7200.000000", "username,admin,2026-01-02,36.000000", "username,determined,2026-01-02,7200.000000",
		"resource_pool,default,2026-01-02,7236.000000", "workspace,Uncategorized,2026-01-02,7200.000000", "workspace,gone,2026-01-02,36.000000",
		"project,Uncategorized/p,2026-01-02,7200.000000", "task_type,NOTEBOOK,2026-01-02,36.000000", "task_type,TRIAL,2026-01-02,7200.000000", "gpu_model,A100,2026-01-02,7200.000000", "total,total,2026-01-02,7236.000000")
	months := me.get("/api/v1/resources/allocation/aggregated?startDate=2026-01&endDate=2026-02&period=RESOURCE_ALLOCATION_AGGREGATION_PERIOD_MONTHLY").ok().tree()
	if at(t, months, "resourceEntries.0.seconds") != 14436.0 || at(t, months, "resourceEntries.0.periodStart") != "2026-01" || at(t, months, "resourceEntries.0.byUsername.admin") != 36.0 || at(t, months, "resourceEntries.0.byGpuModel.A100") != 14400.0 {
		t.Errorf("%v", months)
	}
	raw := me.get("/api/v1/resources/allocation/raw?timestampAfter=2026-01-02T00:00:00Z&timestampBefore=2026-01-03T00:00:00Z").ok().tree()
	if at(t, raw, "resourceEntries.0.experimentId") != 7.0 || at(t, raw, "resourceEntries.1.kind") != "notebook" || at(t, raw, "resourceEntries.2.seconds") != 600.0 ||
		at(t, raw, "resourceEntries.0.gpuModels.A100") != 2.0 {
		t.Errorf("%v", raw)
	}
	// Whoever sees one workspace sees its part.
	r.confine("determined", 1)
	if got := csv("/resources/allocation/allocations-csv" + window); strings.Contains(got, "gone") || !strings.Contains(got, "1.a.1") {
		t.Errorf("of one workspace: %s", got)
	}
	if got := csv("/resources/allocation/aggregated" + days); strings.Contains(got, "admin") || !strings.Contains(got, "total,total,2026-01-02,7200.000000") {
		t.Errorf("of one workspace: %s", got)
	}
	for query, why := range map[string]string{
		"": "timestamp", "?timestamp_after=x&timestamp_before=2026-01-01T00:00:00Z": "timestampAfter: expected a time such as",
		"?timestamp_after=2026-01-03T00:00:00Z&timestamp_before=2026-01-02T00:00:00Z": "start time cannot be after end time",
		"?timestamp_after=1990-01-03T00:00:00Z&timestamp_before=2026-01-02T00:00:00Z": "longer than 10 years",
	} {
		me.get("/resources/allocation/raw"+query).says(400, why)
		me.get("/resources/allocation/allocations-csv"+query).says(400, why)
	}
	me.get("/resources/allocation/aggregated?start_date=2026-01-01&end_date=2026-01-02").says(400, "period")
	me.get("/resources/allocation/aggregated?start_date=2026-01&end_date=2026-01-02&period=RESOURCE_ALLOCATION_AGGREGATION_PERIOD_DAILY").says(400, "startDate")
}
