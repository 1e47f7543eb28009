package webhook

import (
	"bytes"
	"cmp"
	"encoding/json"
	"math"
	"strings"

	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/regex"
	v1 "github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/master/webhook/event"
)

const (
	maxMetricName = 500
	validation    = "validation" // the group of a threshold that names none
)

// readCondition reads the condition of a trigger of a type, and rejects keys that other types
// have.
func readCondition(kind string, raw v1.Struct) (c event.Condition, err error) {
	if len(raw) > 0 {
		d := json.NewDecoder(bytes.NewReader(raw))
		d.DisallowUnknownFields()
		if err := d.Decode(&c); err != nil {
			return c, fault.New(fault.Invalid, "condition: %w", err)
		}
	}
	rest := c
	switch kind {
	case event.StateChange:
		if c.State = strings.TrimPrefix(c.State, "STATE_"); !event.Fires(c.State) {
			return c, fault.New(fault.Invalid, "condition.state: expected one of %s, found %q", strings.Join(event.States(), ", "), fault.Clip(c.State))
		}
		rest.State = ""
	case event.TaskLog:
		if c.Regex == "" {
			return c, fault.New(fault.Invalid, `condition: expected {"regex": "…"} with a regular expression`)
		}
		if _, err := regex.Compile(c.Regex); err != nil {
			return c, fault.New(fault.Invalid, "condition.regex: %w", err)
		}
		rest.Regex = ""
	case event.Threshold:
		c.Group = cmp.Or(c.Group, validation)
		if err := checkThreshold(c); err != nil {
			return c, err
		}
		rest.Metric, rest.Group, rest.Above, rest.Below = "", "", nil, nil
	case event.Custom:
	default:
		return c, fault.New(fault.Invalid, "triggerType: expected one of %s, each after %s; found %q",
			strings.Join([]string{event.StateChange, event.Threshold, event.TaskLog, event.Custom}, ", "), typeOfTriggers, fault.Clip(kind))
	}
	if rest != (event.Condition{}) {
		return c, fault.New(fault.Invalid, "condition: it has a key that belongs to another type of trigger than %s: %s", kind, fault.Clip(string(raw)))
	}
	return c, nil
}

func checkThreshold(c event.Condition) error {
	if c.Metric == "" || len(c.Metric) > maxMetricName || len(c.Group) > maxMetricName || strings.ContainsRune(c.Metric+c.Group, 0) {
		return fault.New(fault.Invalid, "condition.metric: expected the name of a metric with at most %d bytes, found %q", maxMetricName, fault.Clip(c.Metric))
	}
	if (c.Above == nil) == (c.Below == nil) {
		return fault.New(fault.Invalid, "condition: expected one of above and below, with a number")
	}
	if limit := cmp.Or(c.Above, c.Below); math.IsInf(*limit, 0) || math.IsNaN(*limit) {
		return fault.New(fault.Invalid, "condition: the number is too large")
	}
	return nil
}
