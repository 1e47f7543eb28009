package event

import (
	"encoding/json"
	"fmt"
)

// Body is the body of a request for a type of webhook. base is the address of the pages,
// for links; "" for none. The same event always has the same body.
func Body(kind, eventID string, e Event, base string) ([]byte, error) {
	switch kind {
	case Default:
		return json.Marshal(defaultBody(eventID, e))
	case Slack:
		return json.Marshal(slackBody(e, base))
	}
	return nil, fmt.Errorf("there is no type of webhook %q", kind)
}

type payload struct {
	ID        string    `json:"event_id"`
	Type      string    `json:"event_type"`
	Timestamp int64     `json:"timestamp"`
	Condition Condition `json:"condition"`
	Data      data      `json:"event_data"`
}

type data struct {
	Test       *string      `json:"data,omitempty"`
	Experiment *Experiment  `json:"experiment,omitempty"`
	TaskLog    *LogLine     `json:"task_log,omitempty"`
	Custom     *CustomData  `json:"custom_data,omitempty"`
	Metric     *MetricValue `json:"metric,omitempty"`
}

func defaultBody(eventID string, e Event) payload {
	p := payload{ID: eventID, Type: e.Type, Timestamp: e.Timestamp, Condition: e.Condition,
		Data: data{Experiment: e.Experiment, Custom: e.Custom, Metric: e.Metric}}
	if e.Experiment != nil && e.Experiment.Unnamed {
		x := *e.Experiment
		x.Unnamed = false
		p.Data.Experiment = &x
	}
	if l := e.TaskLog; l != nil {
		p.Data.TaskLog = &LogLine{TaskID: l.TaskID, Node: l.Node, Line: l.Line}
	}
	if e.Test {
		word := "test"
		p.Data.Test = &word
	}
	return p
}
