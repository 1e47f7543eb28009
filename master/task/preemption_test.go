package task

import (
	"testing"

	"github.com/detent-ml/detent/master/expconf"
	v1 "github.com/detent-ml/detent/master/v1"
)

// TestPreemptionOfTheSpec: what the runner of a trial gets of the configuration's preemption.
func TestPreemptionOfTheSpec(t *testing.T) {
	for doc, want := range map[string]v1.Preemption{
		"{}": {Signal: "SIGTERM", GraceSecs: 60, UnlessAsked: true, AnyExit: true},
		"preemption: {signal: SIGUSR2, grace: 1500ms}": {Signal: "SIGUSR2", GraceSecs: 2, UnlessAsked: true},
		"preemption: {signal: SIGTERM, always: true}":  {Signal: "SIGTERM", GraceSecs: 60},
		"preemption: {always: true}":                   {Signal: "SIGTERM", GraceSecs: 60, AnyExit: true},
		"preemption: {grace: 3m}":                      {Signal: "SIGTERM", GraceSecs: 180, UnlessAsked: true, AnyExit: true},
	} {
		raw, _, err := expconf.Parse("", []byte(doc))
		if err != nil {
			t.Fatal(err)
		}
		cfg, err := expconf.Complete(raw, expconf.ClusterDefaults{Name: "unnamed"})
		if err != nil {
			t.Fatal(err)
		}
		if got := preemptionOf(cfg); *got != want {
			t.Errorf("%s: %+v, want %+v", doc, *got, want)
		}
	}
}
