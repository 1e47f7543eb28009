package logs

import (
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/logs/chunk"
)

const (
	maxShipper = 255     // bytes of a shipper's name
	maxLabel   = 128     // bytes of a stdtype, a source, or a field of Origin
	maxRank    = 1 << 20 // the highest rank of a line

	warningLevel = 4 // of a line, in the API
)

// Line is one line of a task's output.
type Line = chunk.Line

// Origin is the source of lines: attempt, node and container.
type Origin struct {
	AllocationID string `db:"allocation_id"`
	AgentID      string `db:"agent_id"`
	ContainerID  string `db:"container_id"`
}

// Batch has the lines of one request.
type Batch struct {
	TaskID string
	Origin Origin
	Lines  []Line
	// Shipper is the process that sends the lines. It numbers its lines, and First is the
	// number of the first line here; lines that are stored already are dropped. Without a
	// shipper all lines are new.
	Shipper string
	First   int64
	Done    bool // the shipper will send no more lines
	Rank    int  // the member whose log is complete then
	Past    bool // lines of an import: webhooks that search logs are not told of them

	chunks []chunk.Chunk
	kinds  map[kind]bool // kinds of its lines
	hits   []hit         // lines that webhooks search for
	next   int64
}

// check rejects values that no row can hold, before the batch joins a commit with others.
// It does not correct a shipper's name: under another name the shipper's numbers would
// begin again.
func (b *Batch) check() error {
	switch {
	case b.First < 0:
		return fault.New(fault.Invalid, "first: %d is negative", b.First)
	case b.First > math.MaxInt64/2:
		return fault.New(fault.Invalid, "first: %d is over %d", b.First, int64(math.MaxInt64/2))
	case len(b.Shipper) > maxShipper:
		return fault.New(fault.Invalid, "shipper: the name has %d bytes; %d are allowed", len(b.Shipper), maxShipper)
	case database.Text(b.Shipper) != b.Shipper:
		return fault.New(fault.Invalid, "shipper: a name with a NUL character or invalid UTF-8 cannot be stored")
	case database.Text(b.TaskID) != b.TaskID:
		return fault.New(fault.NotFound, "task %q not found", b.TaskID)
	}
	b.Origin = Origin{clipLabel(b.Origin.AllocationID), clipLabel(b.Origin.AgentID), clipLabel(b.Origin.ContainerID)}
	return nil
}

// sanitize returns a line that can be shown: without broken UTF-8, which JSON rejects, and without the
// newline at its end, which readers add again.
func sanitize(l Line) Line {
	l.Text = cutLine(strings.ToValidUTF8(strings.TrimSuffix(l.Text, "\n"), "\uFFFD"))
	l.Stdtype, l.Source = clipLabel(l.Stdtype), clipLabel(l.Source)
	l.Level = min(max(l.Level, 0), 6)
	if l.Rank < -1 || l.Rank > maxRank {
		l.Rank = -1
	}
	return l
}

// maxLine is the size of the longest line, in bytes. A chunk with a longer one could be too large to read.
const maxLine = 1 << 20

// cutLine shortens a line that is too long, and says so at its end.
func cutLine(text string) string {
	if len(text) <= maxLine {
		return text
	}
	end := maxLine
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return fmt.Sprintf("%s … (cut: the line had %d bytes)", text[:end], len(text))
}

// clipLabel shortens a label to the size that an index can hold.
func clipLabel(s string) string {
	s = database.Text(s)
	if len(s) <= maxLabel {
		return s
	}
	end := maxLabel
	for !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end]
}
