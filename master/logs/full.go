package logs

import (
	"fmt"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/logs/chunk"
)

// chunkBeside is about what a row of log_chunks needs beside its body, with its entry in the index.
const chunkBeside = 140

// sizeOf is the size of a chunk in the database.
func sizeOf(c chunk.Chunk) int64 { return chunkBeside + int64(len(c.Body)) }

// cut drops the chunks for which a log has no room; stored is its size before. In place of the first one the log gets
// a line that says so, and its size is over the limit from then on. The limit 0 is none.
func (p *plan) cut(task int, stored, limit int64) {
	if limit <= 0 || stored+p.bytes[task] <= limit {
		return
	}
	var kept []plannedChunk
	size, next := stored, int64(0)
	for _, c := range p.chunks {
		if c.task == task {
			if size > limit {
				continue
			}
			if size+sizeOf(c.Chunk) > limit {
				c.Chunk, size = p.fullLog(c.Chunk, limit), limit+1
			}
			c.offset = next
			next, size = next+int64(c.Lines), size+sizeOf(c.Chunk)
		}
		kept = append(kept, c)
	}
	p.chunks, p.next[task], p.bytes[task] = kept, next, size-stored
}

// fullLog has the last line of a log, in place of a chunk.
func (p *plan) fullLog(c chunk.Chunk, limit int64) chunk.Chunk {
	text := fmt.Sprintf("the log of this task takes %s in the database, which is the limit for one task: further lines are not stored; "+
		"operators can raise database_limits.task_log_mb", database.SizeText(limit))
	return p.codec.Pack([]Line{{At: c.Earliest, Level: warningLevel, Stdtype: "stderr", Source: "master", Rank: -1, Text: text}})[0]
}
