package mlflow

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"strconv"
	"time"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/metrics/report"
	"github.com/detent-ml/detent/master/optional"
	"github.com/detent-ml/detent/master/rest"
	v1 "github.com/detent-ml/detent/master/v1"
)

const (
	usualHistory = 25_000
	maxHistory   = 50_000
	maxHistories = 100   // runs of one request
	usualPoints  = 2_500 // values of each run, of a request for several
)

// A place is where a page of the values of a metric ended.
type place struct {
	Group    string `json:"g"`
	Position int64  `json:"p"`
	Run      int    `json:"r"`
}

func placeOf(token string) (p place, err error) {
	if token == "" {
		return place{"", -1, -1}, nil
	}
	b, err := base64.StdEncoding.DecodeString(token)
	if err == nil {
		err = json.Unmarshal(b, &p)
	}
	if err != nil || checkText("", p.Group) != nil || p.Run > maxID || p.Run < -1 {
		return p, fault.New(fault.Invalid, "page_token: %q is not the next_page_token of an earlier answer", fault.Clip(token))
	}
	return p, nil
}

// value is one value of a metric.
type value struct {
	Group      string          `db:"group_name"`
	Position   int64           `db:"position"`
	RunID      int             `db:"run_id"`
	Steps      *int            `db:"steps"`
	ReportedAt time.Time       `db:"reported_at"`
	Value      json.RawMessage `db:"value"`
}

// metric is a value in MLflow's form; false if it is no number.
func (v value) metric(name string) (v1.MLflowMetric, bool) {
	n, ok := report.Float(v.Value)
	return v1.MLflowMetric{Key: name, Value: n, Timestamp: millis(v.ReportedAt), Step: v1.Bare(optional.Value(v.Steps))}, ok
}

// hasNumber is SQL for the reports of a run that have a metric ($2) as a number: the value can also be a long list.
const hasNumber = `trial_id = $1 AND NOT archived AND avg ? $2 AND jsonb_typeof(avg -> $2) IN ('number', 'string') AND octet_length(avg ->> $2) <= 400`

// values reads values of a metric of a run after a place, group by group, by their steps. Reports without steps come after the others.
func values(ctx context.Context, db *database.DB, run int, name string, after place, limit int) ([]value, error) {
	return database.Rows[value](ctx, db, `SELECT group_name, position, run_id, steps, reported_at, avg -> $2 AS value FROM metrics
		WHERE `+hasNumber+` AND (group_name, position, run_id) > ($3, $4, $5)
		ORDER BY group_name, position, run_id LIMIT $6`, run, name, after.Group, after.Position, after.Run, limit)
}

func (d Deps) history(ctx context.Context, c *rest.Call, req *v1.MLflowHistoryRequest) (*v1.MLflowHistory, error) {
	r, err := d.run(ctx, c, req.RunID, req.RunUUID)
	if err != nil {
		return nil, err
	}
	if err := checkKey("metric_key", req.Key); err != nil {
		return nil, err
	}
	p, err := pageOf("", req.MaxResults, usualHistory, maxHistory)
	if err != nil {
		return nil, err
	}
	after, err := placeOf(req.PageToken)
	if err != nil {
		return nil, err
	}
	list, err := values(ctx, d.DB, r.ID, req.Key, after, p.limit+1)
	if err != nil {
		return nil, err
	}
	out := &v1.MLflowHistory{}
	if len(list) > p.limit {
		list = list[:p.limit]
		last := list[len(list)-1]
		b, _ := json.Marshal(place{last.Group, last.Position, last.RunID}) // numbers and a name can be written
		out.Next = new(base64.StdEncoding.EncodeToString(b))
	}
	for _, v := range list {
		if m, ok := v.metric(req.Key); ok {
			out.Metrics = append(out.Metrics, m)
		}
	}
	return out, nil
}

func (d Deps) histories(ctx context.Context, c *rest.Call, req *v1.MLflowHistoriesRequest) (*v1.MLflowHistories, error) {
	if len(req.RunIDs) == 0 || len(req.RunIDs) > maxHistories {
		return nil, fault.New(fault.Invalid, "GetMetricHistoryBulkInterval: run_ids: name 1 to %d runs", maxHistories)
	}
	if err := checkKey("metric_key", req.Key); err != nil {
		return nil, err
	}
	limit := req.MaxResults
	if limit <= 0 || limit > usualPoints {
		limit = usualPoints
	}
	out := &v1.MLflowHistories{}
	for _, id := range req.RunIDs {
		r, err := d.run(ctx, c, id, "")
		if err != nil {
			return nil, err
		}
		list, err := sampled(ctx, d.DB, r.ID, req, limit)
		if err != nil {
			return nil, err
		}
		for _, v := range list {
			if m, ok := v.metric(req.Key); ok {
				out.Metrics = append(out.Metrics, v1.MLflowRunMetric{RunID: strconv.Itoa(r.ID), Key: m.Key, Value: m.Value, Timestamp: m.Timestamp, Step: m.Step})
			}
		}
	}
	return out, nil
}

// sampled reads at most so many values of a metric of a run between two steps, at equal distances, with the first and the last one.
func sampled(ctx context.Context, db *database.DB, run int, req *v1.MLflowHistoriesRequest, most int) ([]value, error) {
	return database.Rows[value](ctx, db, `SELECT group_name, position, run_id, steps, reported_at, value FROM (
			SELECT group_name, position, run_id, steps, reported_at, avg -> $2 AS value, count(*) OVER () - 1 AS last,
				row_number() OVER (ORDER BY group_name, position, run_id) - 1 AS i
			FROM metrics WHERE `+hasNumber+` AND coalesce(coalesce(steps, 0) >= $3::bigint, true) AND coalesce(coalesce(steps, 0) <= $4::bigint, true)) n
		WHERE last < $5 OR i = 0 OR i * ($5 - 1) / last <> (i - 1) * ($5 - 1) / last
		ORDER BY i`, run, req.Key, req.StartStep, req.EndStep, int64(most))
}
