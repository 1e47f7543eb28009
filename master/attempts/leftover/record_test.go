package leftover

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/auth"
	v1 "github.com/detent-ml/detent/master/v1"
)

func record() Record {
	return Record{AllocationID: "7.trial.1", Rank: 1, NomadAllocID: "n-1", Exit: v1.MemberExitRequest{ExitCode: 3, Reason: "<killed> & \u2028 more", LogsDone: true,
		LogMatches: []v1.LogMatch{{Policy: 1, Line: "CUDA out of memory"}}}}
}

func TestARecordComesBack(t *testing.T) {
	hash := auth.HashToken("det.token")
	content, err := Seal(hash, record())
	if err != nil {
		t.Fatal(err)
	}
	got, err := Open(hash, content, "7.trial.1", 1, "n-1")
	if err != nil || !reflect.DeepEqual(got, record()) {
		t.Fatalf("%+v %v", got, err)
	}
	if bytes.Contains(content, []byte("det.token")) {
		t.Error("the token is in the file")
	}
}

func TestAForgedRecordIsRefused(t *testing.T) {
	hash := auth.HashToken("det.token")
	content, _ := Seal(hash, record())
	other, _ := Seal(auth.HashToken("det.other"), record())
	for name, c := range map[string][]byte{
		"another exit code": bytes.Replace(content, []byte(`"exitCode":3`), []byte(`"exitCode":0`), 1),
		"another token":     other,
		"no proof":          []byte(`{"record":{"allocation_id":"7.trial.1","rank":1,"nomad_alloc_id":"n-1"}}`),
		"an empty proof":    []byte(`{"record":{},"mac":""}`),
	} {
		if _, err := Open(hash, c, "7.trial.1", 1, "n-1"); !errors.Is(err, ErrForged) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Open(nil, content, "7.trial.1", 1, "n-1"); !errors.Is(err, ErrForged) {
		t.Errorf("a member without a token: %v", err)
	}
	if _, err := Open(hash, []byte("{"), "7.trial.1", 1, "n-1"); err == nil {
		t.Error("half a record was accepted")
	}
	for _, whose := range []struct {
		id, nomad string
		rank      int
	}{{"7.trial.2", "n-1", 1}, {"7.trial.1", "n-1", 0}, {"7.trial.1", "n-2", 1}} {
		if _, err := Open(hash, content, whose.id, whose.rank, whose.nomad); err == nil {
			t.Errorf("the record of another member was accepted for %+v", whose)
		}
	}
}

func TestARecordIsShortEnoughToBeRead(t *testing.T) {
	r := record()
	for range 100 {
		r.Exit.LogMatches = append(r.Exit.LogMatches, v1.LogMatch{Line: strings.Repeat("x", 2000)})
	}
	content, err := Seal(auth.HashToken("t"), r)
	if err != nil || len(content) > MaxRecord {
		t.Fatalf("%d bytes, %v", len(content), err)
	}
	if got, err := Open(auth.HashToken("t"), content, "7.trial.1", 1, "n-1"); err != nil || got.Exit.ExitCode != 3 {
		t.Errorf("%+v %v", got, err)
	}
}
