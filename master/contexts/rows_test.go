package contexts_test

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/detent-ml/detent/master/contexts"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/schema/rowtest"
)

func TestTaskContext(t *testing.T) {
	w := rowtest.New(t)
	ctx := t.Context()
	task := w.TaskOf(w.Trial(w.Experiment(rowtest.LossSearcher), 0, 1))
	if c, err := contexts.OfTask(ctx, w.DB, task); err != nil || c != nil {
		t.Errorf("without code: %v %v", c, err)
	}
	if c, err := contexts.Get(ctx, w.DB, nil); err != nil || c != nil {
		t.Errorf("no hash: %v %v", c, err)
	}
	for i, size := range []int{0, 1, contexts.PartBytes, 2*contexts.PartBytes + 7} {
		hash, code := []byte{byte(i)}, bytes.Repeat([]byte("0123456"), size/7+1)[:size]
		if err := contexts.Save(ctx, w.DB, 1, hash, func(to io.Writer) error { _, err := to.Write(code); return err }); err != nil {
			t.Fatal(err)
		}
		w.Exec(`UPDATE tasks SET context_hash = $2 WHERE id = $1`, task, hash)
		c, err := contexts.OfTask(ctx, w.DB, task)
		if err != nil || c.Size != int64(size) {
			t.Fatalf("%d bytes: %v %v", size, c, err)
		}
		if got, err := io.ReadAll(contexts.Read(ctx, w.DB, c)); err != nil || !bytes.Equal(got, code) {
			t.Errorf("%d of %d bytes: %v", len(got), size, err)
		}
		if n, _ := contexts.Read(ctx, w.DB, c).Read(make([]byte, contexts.PartBytes)); n > contexts.ReadBytes {
			t.Errorf("%d bytes are in memory at once; %d are enough", n, contexts.ReadBytes)
		}
	}
	failed := errors.New("the writer failed")
	if err := contexts.Save(ctx, w.DB, 1, []byte("half"), func(to io.Writer) error { _, _ = to.Write(make([]byte, 3*contexts.PartBytes)); return failed }); !errors.Is(err, failed) {
		t.Errorf("a writer that fails: %v", err)
	}
	if there, err := contexts.Has(ctx, w.DB, []byte("half")); err != nil || there {
		t.Errorf("half a context is there: %v %v", there, err)
	}
	if _, err := contexts.OfTask(ctx, w.DB, "none"); !fault.Is(err, fault.NotFound) {
		t.Errorf("no such task: %v", err)
	}
}
