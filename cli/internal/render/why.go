package render

import (
	"fmt"
	"strings"

	"github.com/detent-ml/detent/master/v1"
)

// Why explains in a sentence why a trial waits or has failed; "" for other trials.
func Why(t v1.Trial) string {
	switch {
	case strings.HasPrefix(t.WaitingReason, "waits "):
		return fmt.Sprintf("Trial %d %s", t.ID, t.WaitingReason)
	case t.WaitingReason != "":
		return fmt.Sprintf("Trial %d waits: %s", t.ID, t.WaitingReason)
	case t.Error != "":
		return fmt.Sprintf("Trial %d failed: %s", t.ID, t.Error)
	}
	return ""
}

// Policy names the log policy that a line of the trial's log matched last; "" for none.
func Policy(t v1.Trial) string {
	if t.LogPolicyMatched == nil || *t.LogPolicyMatched == "" {
		return ""
	}
	return fmt.Sprintf("Trial %d has printed a line of log policy %q", t.ID, *t.LogPolicyMatched)
}
