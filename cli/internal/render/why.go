package render

import (
	"fmt"

	"github.com/detent-ml/detent/master/v1"
)

// Why says in a sentence why a trial does not run yet or has failed; it is empty
// where there is nothing to say.
func Why(t v1.Trial) string {
	switch {
	case t.WaitingReason != "":
		return fmt.Sprintf("Trial %d waits: %s", t.ID, t.WaitingReason)
	case t.Error != "":
		return fmt.Sprintf("Trial %d failed: %s", t.ID, t.Error)
	}
	return ""
}
