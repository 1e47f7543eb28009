// Package upload has the common parts of commands that send code to the master: packing, and
// the progress bar.
package upload

import (
	"fmt"
	"strings"

	"github.com/detent-ml/detent/cli/internal/pack"
	"github.com/detent-ml/detent/cli/internal/term"
	"github.com/detent-ml/detent/master/v1"
)

// Gather reads a context and includes, and prints warnings about files that are not sent.
func Gather(t *term.IO, context string, includes []string) ([]v1.File, error) {
	listing, err := pack.Scan(context, includes)
	if err != nil {
		return nil, err
	}
	for _, w := range listing.Warnings {
		t.Warn("%s", w)
	}
	bar := NewBar(t, "Reading")
	defer bar.Done()
	return listing.Read(func(_ int, bytes int64) { bar.Update(bytes, listing.Total) })
}

// worth is the number of bytes from which progress is shown: smaller uploads are quick.
const worth = 1 << 20

// Bar shows progress, on terminals only.
type Bar struct {
	io    *term.IO
	verb  string
	shown int // columns, 0 for none
	last  int // percent
}

// NewBar makes a bar, which appears with the first Update that is large enough.
func NewBar(t *term.IO, verb string) *Bar { return &Bar{io: t, verb: verb, last: -1} }

// Update sets the numbers of completed and of all bytes. A total of 0 is unknown.
func (b *Bar) Update(done, total int64) {
	if !b.io.ErrTTY || max(done, total) < worth {
		return
	}
	text := fmt.Sprintf("%s %s", b.verb, pack.Size(done))
	if total > 0 {
		percent := int(100 * done / total)
		if percent == b.last {
			return
		}
		b.last = percent
		const width = 24
		full := min(width, width*percent/100)
		text = fmt.Sprintf("%s %s%s %3d%% of %s", b.verb, strings.Repeat("█", full), strings.Repeat("░", width-full), percent, pack.Size(total))
	} else if step := int(done / worth); step == b.last {
		return
	} else {
		b.last = step
	}
	fmt.Fprintf(b.io.ErrCanvas(), "\r\x1b[K%s", text)
	b.shown = len(text)
}

// Done removes the bar.
func (b *Bar) Done() {
	if b.shown > 0 {
		fmt.Fprint(b.io.ErrCanvas(), "\r\x1b[K")
		b.shown = 0
	}
}
