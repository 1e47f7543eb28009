package recording

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/schema/rowtest"
)

// store stores frames as the loop does.
func store(t *testing.T, w *rowtest.World, frames ...Frame) {
	t.Helper()
	s := &database.Statements{}
	Queue(s, frames)
	if err := w.DB.Tx(t.Context(), func(tx *database.DB) error { return s.Send(t.Context(), tx) }); err != nil {
		t.Fatal(err)
	}
}

// TestPagesLookAtSomeFrames: one pool is idle since long, and another has many frames. No page looks at more than ten frames, whatever it lists.
func TestPagesLookAtSomeFrames(t *testing.T) {
	w := rowtest.New(t)
	begin := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	minute := func(n int) time.Time { return begin.Add(time.Duration(n) * time.Minute) }
	frames := []Frame{{Pool: "idle", At: begin, Whole: true, Text: `{"n": 0}`}}
	for i := 1; i <= 100; i++ {
		frames = append(frames, Frame{Pool: "busy", At: minute(i), Whole: i%30 == 1, Text: fmt.Sprintf(`{"n": %d}`, i)})
	}
	store(t, w, frames...)
	for _, c := range []struct {
		from, until int
		want        string
		pages       int
	}{{65, 70, "0 61 62 63 64 65 66 67 68 69", 11}, {0, 3, "0 1 2", 2}, {98, 200, "0 91 92 93 94 95 96 97 98 99 100", 15}, {-9, -5, "", 1}} {
		var got []string
		pages, after := 0, int64(0)
		for more := true; more; pages++ {
			rows, next, err := page(t.Context(), w.DB, minute(c.from), minute(c.until), after, 3, 1<<20, 10)
			if err != nil || len(rows) > 3 || next != 0 && next <= after {
				t.Fatalf("%d rows and next %d after %d: %v", len(rows), next, after, err)
			}
			for _, x := range rows {
				got = append(got, strings.Trim(string(x.Frame), `{"n: }`))
			}
			more, after = next != 0, next
		}
		if all := strings.Join(got, " "); all != c.want || pages != c.pages {
			t.Errorf("from %d until %d: %d pages of %s; expected %d of %s", c.from, c.until, pages, all, c.pages, c.want)
		}
	}
}

// TestAFrameIsStoredOnce, also when the leader does not know that it was stored.
func TestAFrameIsStoredOnce(t *testing.T) {
	w := rowtest.New(t)
	at := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	first, other, next := Frame{Pool: "a", At: at, Whole: true, Text: "{}"}, Frame{Pool: "b", At: at, Whole: true, Text: "{}"}, Frame{Pool: "a", At: at.Add(time.Second), Text: "{}"}
	store(t, w, first, other)
	store(t, w, first, other, next)
	if pools := w.Text(`SELECT string_agg(pool, ' ' ORDER BY id) FROM queue_recording`); pools != "a b a" {
		t.Errorf("frames of %s", pools)
	}
}

// TestTheSizeIsCounted in parts, and once.
func TestTheSizeIsCounted(t *testing.T) {
	w := rowtest.New(t)
	add := func(frames int) {
		w.Exec(`INSERT INTO queue_recording (pool, at, whole, bytes, frame) SELECT 'a', now(), false, 1024, '{}' FROM generate_series(1, $1::int)`, frames)
	}
	add(maxCounted + maxDeleted + 3)
	var s Size
	var lost error
	transactions := 0
	expire := func(mb int) error {
		return s.Expire(t.Context(), Limits{Days: 9, MaxMB: mb}, func(do func(tx *database.DB) error) error {
			transactions++
			return errors.Join(w.DB.Tx(t.Context(), do), lost)
		})
	}
	for _, c := range []struct {
		mb, left, transactions int
	}{{1 << 20, maxCounted + maxDeleted + 3, 3}, {97, 97 << 10, 3}, {96, 96 << 10, 2}} {
		transactions = 0
		if err := expire(c.mb); err != nil {
			t.Fatal(err)
		}
		// What is left is up to one frame less than the limit.
		if left := w.Int(`SELECT count(*) FROM queue_recording`); left > c.left || left < c.left-1 && c.mb < 1000 || transactions != c.transactions || s.bytes != int64(left)<<10 {
			t.Errorf("%d MB: %d frames are left, %d bytes counted, %d transactions; expected %d and %d", c.mb, left, s.bytes, transactions, c.left, c.transactions)
		}
	}
	add(5)
	if lost = errors.New("the connection broke"); !errors.Is(expire(1), lost) || s != (Size{}) {
		t.Errorf("after a transaction whose end is not known: %+v", s)
	}
	lost = nil
	if err := expire(1); err != nil || !slices.Contains([]int{1023, 1024}, w.Int(`SELECT count(*) FROM queue_recording`)) {
		t.Errorf("%v, %d frames", err, w.Int(`SELECT count(*) FROM queue_recording`))
	}
}
