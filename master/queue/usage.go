package queue

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/optional"
	"github.com/detent-ml/detent/master/rest"
	v1 "github.com/detent-ml/detent/master/v1"
)

const (
	maxUsages   = 100_000                   // attempts of one answer
	maxUsageFor = 10 * 366 * 24 * time.Hour // the longest period that a request may ask for
)

// usageWindow checks the times of a request.
func usageWindow(req *v1.GetUsageRequest) (since, until time.Time, err error) {
	for name, t := range map[string]*time.Time{"timestampAfter": req.TimestampAfter, "timestampBefore": req.TimestampBefore} {
		if t == nil {
			return since, until, fault.New(fault.Invalid, "%s: is required: a time such as 2026-01-31T00:00:00Z", name)
		}
	}
	return *req.TimestampAfter, *req.TimestampBefore, usageSpan(*req.TimestampAfter, *req.TimestampBefore)
}

func usageSpan(since, until time.Time) error {
	switch {
	case since.After(until):
		return fault.New(fault.Invalid, "start time cannot be after end time")
	case until.Sub(since) > maxUsageFor:
		return fault.New(fault.Invalid, "the period is longer than 10 years; ask for a part of it")
	}
	return nil
}

// usagePeriod reads the dates of a request for sums: days, or months.
func usagePeriod(req *v1.GetAggregatedUsageRequest) (since, until time.Time, monthly bool, err error) {
	layout, example := time.DateOnly, "2026-01-31"
	switch req.Period {
	case v1.ResourceAllocationAggregationPeriodDaily:
	case v1.ResourceAllocationAggregationPeriodMonthly:
		monthly, layout, example = true, "2006-01", "2026-01"
	default:
		return since, until, false, fault.New(fault.Invalid, "period: expected %s or %s", v1.ResourceAllocationAggregationPeriodDaily, v1.ResourceAllocationAggregationPeriodMonthly)
	}
	date := func(name, text string) (t time.Time) {
		if err == nil {
			if t, err = time.Parse(layout, text); err != nil {
				err = fault.New(fault.Invalid, "%s: expected a date such as %s, found %q", name, example, fault.Clip(text))
			}
		}
		return t
	}
	if since, until = date("startDate", req.StartDate), date("endDate", req.EndDate); err != nil {
		return since, until, monthly, err
	}
	if since.After(until) {
		return since, until, monthly, fault.New(fault.Invalid, "start date cannot be after end date")
	}
	if monthly { // the end is included
		until = until.AddDate(0, 1, 0)
	} else {
		until = until.AddDate(0, 0, 1)
	}
	return since, until, monthly, usageSpan(since, until)
}

// usages lists the attempts that a request asks for.
func (d Deps) usages(ctx context.Context, c *rest.Call, req *v1.GetUsageRequest) ([]Usage, error) {
	since, until, err := usageWindow(req)
	if err != nil {
		return nil, err
	}
	list, err := Usages(ctx, d.DB, c.Scope(), since, until, maxUsages+1)
	if err == nil && len(list) > maxUsages {
		return nil, fault.New(fault.TooLarge, "more than %d attempts are in this time; ask for a shorter one", maxUsages)
	}
	return list, err
}

func (d Deps) rawUsage(ctx context.Context, c *rest.Call, req *v1.GetUsageRequest) (*v1.ResourceAllocationRawResponse, error) {
	list, err := d.usages(ctx, c, req)
	resp := &v1.ResourceAllocationRawResponse{ResourceEntries: make([]v1.ResourceAllocationRawEntry, len(list))}
	for i, u := range list {
		resp.ResourceEntries[i] = v1.ResourceAllocationRawEntry{Kind: strings.ToLower(u.TaskType), StartTime: &list[i].StartedAt, EndTime: u.EndedAt, Username: u.Username, UserID: u.OwnerID,
			Labels: u.Labels, Seconds: u.Seconds, Slots: u.Slots, GPUModels: u.Models, ExperimentID: optional.Value(u.ExperimentID)}
	}
	return resp, err
}

func (d Deps) aggregatedUsage(ctx context.Context, c *rest.Call, req *v1.GetAggregatedUsageRequest) (*v1.ResourceAllocationAggregatedResponse, error) {
	since, until, monthly, err := usagePeriod(req)
	if err != nil {
		return nil, err
	}
	sums, err := UsageSums(ctx, d.DB, c.Scope(), since, until, monthly)
	if err != nil {
		return nil, err
	}
	resp := &v1.ResourceAllocationAggregatedResponse{}
	for _, s := range sums {
		start, period := s.Period.UTC().Format(time.DateOnly), v1.ResourceAllocationAggregationPeriodDaily
		if monthly {
			start, period = s.Period.UTC().Format("2006-01"), v1.ResourceAllocationAggregationPeriodMonthly
		}
		if n := len(resp.ResourceEntries); n == 0 || resp.ResourceEntries[n-1].PeriodStart != start {
			resp.ResourceEntries = append(resp.ResourceEntries, v1.ResourceAllocationAggregatedEntry{PeriodStart: start, Period: period,
				ByUsername: map[string]float64{}, ByExperimentLabel: map[string]float64{}, ByResourcePool: map[string]float64{},
				ByWorkspace: map[string]float64{}, ByProject: map[string]float64{}, ByTaskType: map[string]float64{}, ByGPUModel: map[string]float64{}})
		}
		e := &resp.ResourceEntries[len(resp.ResourceEntries)-1]
		if s.Kind == UsageTotal {
			e.Seconds = s.Seconds
			continue
		}
		usageBy(e)[s.Kind][s.Key] = s.Seconds
	}
	return resp, nil
}

// usageBy are the sums of an entry by their kinds.
func usageBy(e *v1.ResourceAllocationAggregatedEntry) map[string]map[string]float64 {
	return map[string]map[string]float64{UsageUser: e.ByUsername, UsageLabel: e.ByExperimentLabel, UsagePool: e.ByResourcePool,
		UsageWorkspace: e.ByWorkspace, UsageProject: e.ByProject, UsageTask: e.ByTaskType, UsageModel: e.ByGPUModel}
}

// slotHours formats slot-hours as Determined does, which writes 0.0 for zero here only.
func slotHours(n float64) string {
	if n == 0 {
		return "0.0"
	}
	return fmt.Sprintf("%f", n)
}

func csvTime(t *time.Time) string {
	if t == nil {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}

func csvID(id *int) string {
	if id == nil {
		return ""
	}
	return strconv.Itoa(*id)
}

func (d Deps) rawUsageCSV(ctx context.Context, c *rest.Call, req *v1.GetUsageRequest) ([][]string, error) {
	list, err := d.usages(ctx, c, req)
	if err != nil {
		return nil, err
	}
	lines := [][]string{{"experiment_id", "kind", "username", "labels", "slots", "start_time", "end_time", "seconds"}}
	for _, u := range list {
		lines = append(lines, []string{csvID(u.ExperimentID), strings.ToLower(u.TaskType), u.Username, strings.Join(u.Labels, ","), strconv.Itoa(u.Slots),
			csvTime(&u.StartedAt), csvTime(u.EndedAt), fmt.Sprintf("%f", u.Seconds)})
	}
	return lines, nil
}

// allocationsCSV leaves imagepulling_time empty: the time for images is not recorded.
func (d Deps) allocationsCSV(ctx context.Context, c *rest.Call, req *v1.GetUsageRequest) ([][]string, error) {
	list, err := d.usages(ctx, c, req)
	if err != nil {
		return nil, err
	}
	lines := [][]string{{"allocation_id", "task_type", "username", "workspace_name", "experiment_id", "slots", "start_time", "end_time", "imagepulling_time", "slot_hours", "resource_pool"}}
	for _, u := range list {
		lines = append(lines, []string{u.AllocationID, u.TaskType, u.Username, u.Workspace, csvID(u.ExperimentID), strconv.Itoa(u.Slots),
			csvTime(&u.StartedAt), csvTime(u.EndedAt), "", slotHours(float64(u.Slots) * u.Seconds / 3600), u.Pool})
	}
	return lines, nil
}

func (d Deps) aggregatedUsageCSV(ctx context.Context, c *rest.Call, req *v1.GetAggregatedUsageRequest) ([][]string, error) {
	sums, err := d.aggregatedUsage(ctx, c, req)
	if err != nil {
		return nil, err
	}
	lines := [][]string{{"aggregation_type", "aggregation_key", "date", "seconds"}}
	for _, e := range sums.ResourceEntries {
		by := usageBy(&e)
		for _, kind := range []string{UsageLabel, UsageUser, UsagePool, UsageWorkspace, UsageProject, UsageTask, UsageModel} {
			for _, key := range slices.Sorted(maps.Keys(by[kind])) {
				lines = append(lines, []string{kind, key, e.PeriodStart, fmt.Sprintf("%f", by[kind][key])})
			}
		}
		lines = append(lines, []string{UsageTotal, UsageTotal, e.PeriodStart, fmt.Sprintf("%f", e.Seconds)})
	}
	return lines, nil
}
