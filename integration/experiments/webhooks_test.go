package experiments

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/detent-ml/detent/integration/rig"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/master/webhook/event"
)

// A receiver of webhooks, which can fail on request.
type receiver struct {
	*httptest.Server
	t *testing.T

	mu     sync.Mutex
	broken bool
	bodies []string
	tried  map[string]int // by event id
}

func newReceiver(t *testing.T) *receiver {
	r := &receiver{t: t, tried: map[string]int{}}
	r.Server = httptest.NewServer(r)
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	body, err := io.ReadAll(q.Body)
	at, noTime := strconv.ParseInt(q.Header.Get(event.TimestampHeader), 10, 64)
	if err != nil || noTime != nil || q.Header.Get(event.SignatureHeader) != event.Signature(rig.SigningKey, at, body) {
		r.t.Errorf("a request with a wrong signature: %v, %s", q.Header, body)
	}
	var event struct {
		ID string `json:"event_id"`
	}
	_ = json.Unmarshal(body, &event)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tried[event.ID]++
	if r.broken {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	r.bodies = append(r.bodies, string(body))
}

func (r *receiver) breaks(broken bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.broken = broken
}

func (r *receiver) got() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string{}, r.bodies...)
}

func (r *receiver) waits(n int) []string {
	r.t.Helper()
	rig.Eventually(r.t, fmt.Sprintf("%d events arrive", n), func() (bool, error) {
		got := r.got()
		return len(got) >= n, fmt.Errorf("there are %d: %s", len(got), strings.Join(got, "\n"))
	})
	return r.got()
}

// TestWebhooks: the events of an experiment arrive, signed: an alert of its program, a line of
// its log, a metric, and its end. An event that could not be delivered outlives the master.
func TestWebhooks(t *testing.T) {
	r := rig.Start(t)
	target := newReceiver(t)
	admin, err := r.SignIn(t.Context(), "admin")
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close()
	made, err := client.Send(t.Context(), admin, v1.CreateWebhook, v1.Webhook{URL: target.URL, Name: "story", WebhookType: v1.WebhookTypeDefault, Mode: v1.WebhookModeSpecific, Triggers: []v1.Trigger{
		{TriggerType: v1.TriggerTypeExperimentStateChange, Condition: v1.StructOf(map[string]string{"state": "COMPLETED"})},
		{TriggerType: v1.TriggerTypeTaskLog, Condition: v1.StructOf(map[string]string{"regex": "sensor [0-9]+ is broken"})},
		{TriggerType: v1.TriggerTypeMetricThresholdExceeded, Condition: v1.StructOf(map[string]any{"metric": "loss", "below": 0.5})},
		{TriggerType: v1.TriggerTypeCustom},
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := client.Act(t.Context(), admin, v1.DeleteWebhook, made.Webhook.ID); err != nil {
			t.Error(err)
		}
	}()
	if err := client.Act(t.Context(), admin, v1.TestWebhook, made.Webhook.ID); err != nil {
		t.Error(err)
	}
	target.waits(1)

	const train = `
import determined as det
with det.core.init() as core_context:
    core_context.alert(title="hello", description="from the program", level="warn")
    print("sensor 7 is broken", flush=True)
    core_context.train.report_validation_metrics(steps_completed=10, metrics={"loss": 0.25})
`
	id := r.Submit(t, rig.Config("integrations: {webhooks: {webhook_name: [story]}}"), rig.Script(train))
	r.WaitState(t, id, v1.ExperimentStateCompleted)
	trial := r.Trial(t, id).ID
	all := strings.Join(target.waits(5), "\n")
	for _, part := range []string{
		`"custom_data":{"title":"hello","description":"from the program","level":"WARNING"}`,
		fmt.Sprintf(`"trial_id":%d},"custom_data"`, trial),
		`"triggering_log":"sensor 7 is broken"`,
		`"metric":{"name":"loss","group":"validation","value":0.25,"steps_completed":10}`,
		fmt.Sprintf(`"condition":{"state":"COMPLETED"},"event_data":{"experiment":{"id":%d,"state":"COMPLETED","name":"end-to-end"`, id),
	} {
		if !strings.Contains(all, part) {
			t.Errorf("no event has %s:\n%s", part, all)
		}
	}

	// An experiment that names no webhook, and one whose event waits while the master dies.
	quiet := r.Submit(t, rig.Config(""), rig.Script(`print("sensor 8 is broken", flush=True)`))
	r.WaitState(t, quiet, v1.ExperimentStateCompleted)
	target.breaks(true)
	last := r.Submit(t, rig.Config(fmt.Sprintf("integrations: {webhooks: {webhook_id: [%d]}}", made.Webhook.ID)), rig.Script(`print("it trains", flush=True)`))
	r.WaitState(t, last, v1.ExperimentStateCompleted)
	r.Kill9(t, "master")
	r.StartPart(t, "master")
	r.Healthy(t)
	target.breaks(false)
	if got := target.waits(6); len(got) != 6 || !strings.Contains(got[5], fmt.Sprintf(`"experiment":{"id":%d,`, last)) {
		t.Errorf("after the master's death %d events have arrived, the last is %s", len(got), got[len(got)-1])
	}
	log, err := client.Send(t.Context(), admin, v1.ListWebhookDeliveries, v1.GetWebhookDeliveriesRequest{Limit: new(10)}, made.Webhook.ID)
	if err != nil || len(log.Deliveries) != 6 {
		t.Fatalf("%+v, %v", log, err)
	}
	target.mu.Lock()
	defer target.mu.Unlock()
	if n := target.tried[log.Deliveries[0].EventID]; n < 1 || len(target.tried) != 6 {
		t.Errorf("the last event was tried %d times; there were %d ids", n, len(target.tried))
	}
}
