package importer_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/importer"
)

// TestWhatAStorageAnswers: a storage that a verification may not read is named; one that it may read, and cannot, fails it.
func TestWhatAStorageAnswers(t *testing.T) {
	from, d := newOld(t), newDetent(t)
	for _, c := range []struct {
		got    importer.Fetched
		err    error
		fails  bool
		prints string
	}{
		{importer.Fetched{Files: 3, Bytes: 2048, Whole: true}, nil, false, ", 3 files, 2048 bytes\n"},
		{importer.Fetched{Files: 3, Bytes: 100}, nil, false, ": read the beginning of the 3 files of "},
		{importer.Fetched{}, fault.New(fault.Unimplemented, "no such store"), false, ": NOT READ: no such store\n    where it can be read: det checkpoint download "},
		{importer.Fetched{}, fault.New(fault.Forbidden, "not below"), false, "of 5 storages cannot be read with this configuration"},
		{importer.Fetched{}, fault.New(fault.NotFound, "file weights is gone"), true, ": FAILED: file weights is gone\n"},
		{importer.Fetched{}, errors.New("cut off"), true, ": FAILED: cut off\n"},
	} {
		asked := map[string]bool{}
		text, err := d.tries(t.Context(), from, func(o *importer.Options) {
			o.Logs = false
			o.Fetch = func(_ context.Context, uuid string) (importer.Fetched, error) {
				asked[uuid] = true
				return c.got, c.err
			}
		})
		if (err != nil) != c.fails || !strings.Contains(text, c.prints) || len(asked) != 5 || strings.Contains(text, "imported cluster") == c.fails {
			t.Errorf("%v: %d storages, %v\n%s", c, len(asked), err, text)
		}
	}
}
