package output

import (
	"fmt"
	"strings"
	"time"

	"github.com/detent-ml/detent/master/v1"
)

// LogLine is a line of the master's log.
func LogLine(e v1.LogEntry) string {
	return fmt.Sprintf("%s [%s]: %s", e.Timestamp.UTC().Format(time.RFC3339Nano),
		strings.TrimPrefix(string(e.Level), "LOG_LEVEL_"), strings.TrimRight(e.Message, "\n"))
}
