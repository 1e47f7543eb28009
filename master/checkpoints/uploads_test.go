package checkpoints_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/checkpoints"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/schema/rowtest"
)

// uploads are the files of a run in a folder.
type uploads struct {
	*world
	checkpoints.Deps
	storage string
	id      string // of the checkpoint with the files
}

func newUploads(t *testing.T) *uploads {
	t.Helper()
	w, storage := newWorld(t), t.TempDir()
	trial := w.Trial(w.Experiment(rowtest.LossSearcher), 0, 0)
	w.Attempt(trial, 1, 1)
	id, err := checkpoints.AddLogged(t.Context(), w.DB, trial, checkpoints.LoggedByRun)
	if err != nil {
		t.Fatal(err)
	}
	w.Exec(`INSERT INTO storage_backends (config, owner_id) VALUES (jsonb_build_object('type', 'directory', 'container_path', $1::text), 1)`, storage)
	w.Exec(`UPDATE checkpoints SET storage_id = (SELECT max(id) FROM storage_backends)`)
	return &uploads{w, checkpoints.Deps{DB: w.DB, Roots: []string{storage}}, storage, id}
}

func allowed(context.Context) error { return nil }

// begin begins a file, and returns the upload and the folder of its parts.
func (u *uploads) begin(name string, parts ...string) (upload, folder string) {
	u.T.Helper()
	upload, _, err := u.BeginUpload(u.T.Context(), u.id, name, len(parts))
	if err != nil {
		u.T.Fatal(err)
	}
	for i, text := range parts {
		if err := u.WritePart(u.T.Context(), u.id, name, upload, i+1, strings.NewReader(text), int64(len(text))); err != nil {
			u.T.Fatal(err)
		}
	}
	return upload, filepath.Join(u.storage, u.id, u.Text(`SELECT store FROM logged_uploads WHERE id = $1`, upload))
}

// finish completes a file, with an error of this kind that says why; "": without one.
func (u *uploads) finish(name, upload string, code fault.Code, why string) {
	u.T.Helper()
	err := u.FinishUpload(u.T.Context(), u.id, name, upload, allowed)
	if why == "" && err != nil || why != "" && (!fault.Is(err, code) || !strings.Contains(err.Error(), why)) {
		u.T.Errorf("completing %s: %v, want %v %q", name, err, code, why)
	}
}

// complete checks that a file is stored and recorded, and that its parts are removed.
func (u *uploads) complete(name, want, folder string) {
	u.T.Helper()
	got, err := os.ReadFile(filepath.Join(u.storage, u.id, name))
	if size := u.Int(`SELECT coalesce(sum(size), -1) FROM logged_files WHERE name = $1`, name); err != nil || string(got) != want || size != len(want) {
		u.T.Errorf("file %s is %.20q, recorded with %d bytes, %v; want %q", name, got, size, err, want)
	}
	if _, err := os.Stat(folder); !errors.Is(err, os.ErrNotExist) {
		u.T.Errorf("the parts of %s are still there: %v", name, err)
	}
}

// TestPartsAreRegularFiles: what a task puts in the place of a part neither blocks the master nor fills the storage.
func TestPartsAreRegularFiles(t *testing.T) {
	u := newUploads(t)
	upload, folder := u.begin("a.bin", "one", "two")
	part := filepath.Join(folder, "00002")
	for _, put := range []func() error{func() error { return syscall.Mkfifo(part, 0o644) }, func() error { return os.Mkdir(part, 0o755) }} {
		if err := errors.Join(os.Remove(part), put()); err != nil {
			t.Fatal(err)
		}
		u.finish("a.bin", upload, fault.Invalid, "part 2 of 2 is not a regular file")
	}
	if err := errors.Join(os.Remove(part), os.WriteFile(part, []byte("three"), 0o644)); err != nil {
		t.Fatal(err)
	}
	u.finish("a.bin", upload, 0, "")
	u.complete("a.bin", "onethree", folder)
}

// TestPartsThatChange: of a part the master copies as many bytes as it had, and an ended request copies nothing.
func TestPartsThatChange(t *testing.T) {
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if err := errors.Join(os.WriteFile(filepath.Join(dir, "part"), bytes.Repeat([]byte("x"), 100), 0o644), syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o644)); err != nil {
		t.Fatal(err)
	}
	to, err := os.Create(filepath.Join(dir, "whole"))
	if err != nil {
		t.Fatal(err)
	}
	defer to.Close()
	for _, size := range []int64{99, 101} {
		if err := checkpoints.AppendPart(t.Context(), root, to, "part", size); !fault.Is(err, fault.Conflict) {
			t.Errorf("a part of 100 bytes that had %d: %v", size, err)
		}
	}
	if err := checkpoints.AppendPart(t.Context(), root, to, "pipe", 0); err == nil {
		t.Error("a pipe is accepted as a part")
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := checkpoints.AppendPart(ended, root, to, "part", 100); !fault.Is(err, fault.Unavailable) {
		t.Errorf("after the end of the request: %v", err)
	}
	if err := checkpoints.AppendPart(t.Context(), root, to, "part", 100); err != nil {
		t.Error(err)
	}
	if info, err := to.Stat(); err != nil || info.Size() != 100 {
		t.Errorf("%v, %v", info, err)
	}
}

// TestOldUploadsAreRemoved: what nobody has completed within two days is removed, also if many older uploads are in a storage that is away, and
// those in turn with the other owners'; and a look at a folder that was removed does not make it again.
func TestOldUploadsAreRemoved(t *testing.T) {
	u := newUploads(t)
	old, folder := u.begin("old.bin", "one")
	fresh, kept := u.begin("new.bin", "one")
	u.Exec(`UPDATE logged_uploads SET created_at = now() - interval '49 hours' WHERE id = $1`, old)
	away := u.world.Trial(u.world.Experiment(rowtest.LossSearcher), 0, 0)
	u.Attempt(away, 1, 1)
	elsewhere, err := checkpoints.AddLogged(t.Context(), u.DB, away, checkpoints.LoggedByRun)
	if err != nil {
		t.Fatal(err)
	}
	u.Exec(`INSERT INTO storage_backends (config, owner_id) VALUES ('{"type": "directory", "container_path": "/nobody/reaches/this"}', 1)`)
	u.Exec(`UPDATE checkpoints SET storage_id = (SELECT max(id) FROM storage_backends) WHERE uuid = $1`, elsewhere)
	u.Exec(`INSERT INTO logged_uploads (checkpoint, name, parts, store, created_at) SELECT $1, 'x', 1, 'detent-upload-x', now() - interval '50 hours' FROM generate_series(1, 100)`, elsewhere)
	u.Exec(`UPDATE experiments SET owner_id = 1 WHERE id = (SELECT experiment_id FROM trials WHERE id = $1)`, away)
	if got := u.Text(`SELECT string_agg(name, ' ' ORDER BY place) FROM unnest($1::text[]) WITH ORDINALITY o (name, place) WHERE place < 3`, u.old()); got != "x old.bin" {
		t.Errorf("the first uploads to remove are %s", got)
	}
	if n, err := u.DropUploads(t.Context()); n != 1 || err == nil {
		t.Errorf("beside a storage that is away: %d are removed, %v", n, err)
	}
	if n := u.Int(`SELECT count(*) FROM logged_uploads WHERE tried_at IS NOT NULL`); n != 100 {
		t.Errorf("%d uploads were tried once, want 100", n)
	}
	if _, err := os.Stat(folder); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the parts of an old upload are still there: %v", err)
	}
	if _, err := os.Stat(filepath.Join(kept, "00001")); err != nil {
		t.Errorf("the part of a new upload: %v", err)
	}
	u.finish("old.bin", old, fault.NotFound, "has no upload")

	u.Exec(`DELETE FROM logged_uploads WHERE checkpoint = $1`, elsewhere)
	u.Exec(`UPDATE logged_uploads SET created_at = now() - interval '49 hours'`)
	if err := os.RemoveAll(filepath.Join(u.storage, u.id)); err != nil {
		t.Fatal(err)
	}
	u.finish("new.bin", fresh, fault.NotFound, "has no folder")
	if n, err := u.DropUploads(t.Context()); n != 1 || err != nil || u.Int(`SELECT count(*) FROM logged_uploads`) != 0 {
		t.Errorf("after the removal of the folder: %d are removed, %v", n, err)
	}
	if list, err := os.ReadDir(u.storage); err != nil || len(list) != 0 {
		t.Errorf("the folder is there again: %v, %v", list, err)
	}
}

// TestAnUploadIsCompletedAgain: a file that was made of its parts and not recorded is recorded when the client asks again, also if its parts are
// gone, as in the object storages; and if nobody asks again, it is removed.
func TestAnUploadIsCompletedAgain(t *testing.T) {
	u := newUploads(t)
	a, folderA := u.begin("a.bin", "one", "two")
	b, folderB := u.begin("b.bin", "three")
	c, _ := u.begin("c.bin", "four")
	u.Exec(`CREATE FUNCTION away() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'away' USING ERRCODE = '57P01'; END $$`)
	u.Exec(`CREATE TRIGGER away BEFORE INSERT ON logged_files FOR EACH ROW EXECUTE FUNCTION away()`)
	u.finish("a.bin", a, fault.Unavailable, "does not answer")
	u.finish("b.bin", b, fault.Unavailable, "does not answer")
	u.finish("c.bin", c, fault.Unavailable, "does not answer")
	u.Exec(`DROP TRIGGER away ON logged_files`)
	if err := u.WritePart(t.Context(), u.id, "a.bin", a, 1, strings.NewReader("x"), 1); !fault.Is(err, fault.Conflict) {
		t.Errorf("a part of a file that is being completed: %v", err)
	}
	u.finish("a.bin", a, 0, "")
	u.complete("a.bin", "onetwo", folderA)
	u.finish("a.bin", a, 0, "")
	if err := os.RemoveAll(folderB); err != nil {
		t.Fatal(err)
	}
	whole := filepath.Join(u.storage, u.id, "b.bin")
	if err := os.WriteFile(whole, []byte("another"), 0o644); err != nil {
		t.Fatal(err)
	}
	u.finish("b.bin", b, fault.Invalid, "part 1 of 1 has not arrived")
	if err := errors.Join(os.WriteFile(whole, []byte("three"), 0o644), os.Chtimes(whole, time.Time{}, time.Now().Add(-time.Hour))); err != nil {
		t.Fatal(err)
	}
	u.finish("b.bin", b, fault.Invalid, "part 1 of 1 has not arrived") // a file of this name and size that was there before
	if err := os.Chtimes(whole, time.Time{}, time.Now()); err != nil {
		t.Fatal(err)
	}
	u.finish("b.bin", b, 0, "")
	u.complete("b.bin", "three", folderB)
	if err := u.DropUpload(t.Context(), u.id, "c.bin", c); err != nil {
		t.Error(err)
	}
	for name, there := range map[string]bool{"a.bin": true, "b.bin": true, "c.bin": false} {
		if _, err := os.Stat(filepath.Join(u.storage, u.id, name)); (err == nil) != there {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestOneRequestCompletesAnUpload: while a request completes a file, no other one does or removes its parts, until that request has died.
func TestOneRequestCompletesAnUpload(t *testing.T) {
	u := newUploads(t)
	upload, folder := u.begin("a.bin", "one", "two")
	u.Exec(`UPDATE logged_uploads SET created_at = now() - interval '49 hours', holder = gen_random_uuid(), held_until = now() + interval '1 hour'`)
	if err := u.DropUpload(t.Context(), u.id, "a.bin", upload); !fault.Is(err, fault.Conflict) {
		t.Errorf("an abort: %v", err)
	}
	if _, err := u.DropUploads(t.Context()); err != nil {
		t.Errorf("the chore: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	if err := u.FinishUpload(ctx, u.id, "a.bin", upload, allowed); !fault.Is(err, fault.Unavailable) {
		t.Errorf("another completion: %v", err)
	}
	done := make(chan error)
	go func() { done <- u.FinishUpload(t.Context(), u.id, "a.bin", upload, allowed) }()
	u.Exec(`UPDATE logged_uploads SET held_until = now() - interval '1 second'`)
	if err := <-done; err != nil {
		t.Error(err)
	}
	u.complete("a.bin", "onetwo", folder)
	if n := u.Int(`SELECT count(*) FROM logged_uploads WHERE finished AND holder IS NULL`); n != 1 {
		t.Errorf("%d uploads are complete and held by nobody", n)
	}
}

// TestLatePartsAreRemoved: where parts can arrive after the end of an upload, the chore removes them when no more can come. An aborted upload counts until then.
func TestLatePartsAreRemoved(t *testing.T) {
	u := newUploads(t)
	aborted, folderA := u.begin("a.bin", "one")
	done, folderB := u.begin("b.bin", "two")
	u.Exec(`UPDATE logged_uploads SET late = true`)
	if err := u.DropUpload(t.Context(), u.id, "a.bin", aborted); err != nil {
		t.Fatal(err)
	}
	u.finish("b.bin", done, 0, "")
	u.finish("a.bin", aborted, fault.NotFound, "has no upload")
	if n := u.Int(`SELECT count(*) FROM logged_uploads WHERE NOT finished`); n != 1 {
		t.Errorf("%d uploads count", n)
	}
	for _, folder := range []string{folderA, folderB} {
		if err := errors.Join(os.Mkdir(folder, 0o755), os.WriteFile(filepath.Join(folder, "00001"), []byte("late"), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := u.DropUploads(t.Context()); n != 0 || err != nil {
		t.Errorf("while parts can come: %d are removed, %v", n, err)
	}
	u.Exec(`UPDATE logged_uploads SET created_at = now() - interval '49 hours'`)
	if n, err := u.DropUploads(t.Context()); n != 2 || err != nil || u.Int(`SELECT count(*) FROM logged_uploads`) != 0 {
		t.Errorf("when no more can come: %d are removed, %v", n, err)
	}
	u.complete("b.bin", "two", folderB)
	if _, err := os.Stat(folderA); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the late part is still there: %v", err)
	}
	u.Exec(`INSERT INTO logged_uploads (checkpoint, name, parts, store, finished, late) SELECT $1, 'b.bin', 1, 'x', true, true FROM generate_series(1, 20000)`, u.id)
	if _, _, err := u.BeginUpload(t.Context(), u.id, "b.bin", 1); !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), "20000 uploads are allowed in two days") {
		t.Errorf("one more of very many that are kept: %v", err)
	}
	u.Exec(`DELETE FROM logged_uploads`)
	// The same after the deletion of the experiment.
	_, folder := u.begin("c.bin", "one")
	u.Exec(`INSERT INTO abandoned_uploads (id, checkpoint, name, parts, store, late, owner_id, config, storage) SELECT u.id, u.checkpoint, u.name, u.parts, u.store, true, 1, '{}', s.config
		FROM logged_uploads u JOIN checkpoints k ON k.uuid = u.checkpoint JOIN storage_backends s ON s.id = k.storage_id`)
	u.Exec(`DELETE FROM logged_uploads`)
	for _, left := range []int{1, 0} {
		if n, err := u.DropUploads(t.Context()); n != 1 || err != nil || u.Int(`SELECT count(*) FROM abandoned_uploads`) != left {
			t.Errorf("of a deleted experiment: %d are removed, %v, want %d rows left", n, err, left)
		}
		u.Exec(`UPDATE abandoned_uploads SET abandoned_at = now() - interval '14 hours'`)
		if _, err := os.Stat(folder); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the part is still there: %v", err)
		}
	}
}

// TestFullFoldersAreRemovedInSteps: a folder of parts into which a task has put folders as deep as it likes goes, and no further than the time allows.
func TestFullFoldersAreRemovedInSteps(t *testing.T) {
	u := newUploads(t)
	_, folder := u.begin("a.bin", "one")
	deep := folder
	for range 200 {
		deep = filepath.Join(deep, "d")
	}
	if err := errors.Join(os.MkdirAll(deep, 0o755), os.WriteFile(filepath.Join(deep, "x"), nil, 0o644), os.WriteFile(filepath.Join(folder, "d", "y"), nil, 0o644)); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(filepath.Dir(folder))
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := checkpoints.DropFolder(ended, root, filepath.Base(folder)); !fault.Is(err, fault.Unavailable) {
		t.Errorf("without time: %v", err)
	}
	for range 2 { // a folder that is not there is no error
		if err := checkpoints.DropFolder(t.Context(), root, filepath.Base(folder)); err != nil {
			t.Error(err)
		}
	}
	if list, err := os.ReadDir(filepath.Dir(folder)); err != nil || len(list) != 0 {
		t.Errorf("%v are left, %v", list, err)
	}
}

// old are the names of the uploads whose parts the chore removes, in its order.
func (u *uploads) old() []string {
	u.T.Helper()
	names, err := checkpoints.OldUploads(u.T.Context(), u.DB)
	if err != nil {
		u.T.Fatal(err)
	}
	return names
}

// TestPartsOfDeletedFilesAreRemoved: the parts of a file leave the storage also when its checkpoint was removed, or its experiment with all rows.
func TestPartsOfDeletedFilesAreRemoved(t *testing.T) {
	u := newUploads(t)
	_, removed := u.begin("a.bin", "one")
	u.Exec(`UPDATE checkpoints SET state = 'DELETED' WHERE uuid = $1`, u.id)
	if n, err := u.DropUploads(t.Context()); n != 1 || err != nil {
		t.Errorf("of a removed checkpoint: %d are removed, %v", n, err)
	}
	u.Exec(`UPDATE checkpoints SET state = 'COMPLETED'`)
	_, abandoned := u.begin("b.bin", "one", "two")
	_, reached := u.begin("c.bin", "one")
	u.Exec(`INSERT INTO abandoned_uploads (id, checkpoint, name, parts, store, owner_id, config, storage) SELECT u.id, u.checkpoint, u.name, u.parts, u.store, 1, '{}',
		CASE u.name WHEN 'c.bin' THEN jsonb '{"type": "directory", "container_path": "/nobody/reaches/this"}' ELSE s.config END
		FROM logged_uploads u JOIN checkpoints k ON k.uuid = u.checkpoint JOIN storage_backends s ON s.id = k.storage_id`)
	u.Exec(`DELETE FROM logged_uploads`)
	if n, err := u.DropUploads(t.Context()); n != 1 || err == nil {
		t.Errorf("of a deleted experiment: %d are removed, %v", n, err)
	}
	for folder, there := range map[string]bool{removed: false, abandoned: false, reached: true} {
		if _, err := os.Stat(folder); (err == nil) != there {
			t.Errorf("%s: %v", folder, err)
		}
	}
	u.Exec(`UPDATE abandoned_uploads SET abandoned_at = now() - interval '8 days'`)
	if _, err := u.DropUploads(t.Context()); err != nil || u.Int(`SELECT count(*) FROM abandoned_uploads`) != 0 {
		t.Errorf("parts that nobody can remove are tried for longer than a week: %v", err)
	}
}

// TestUploadsAreBounded: requests at the same time do not pass the number of uploads together, parts count for the size of the files before they are
// complete, and complete uploads are remembered once for each file.
func TestUploadsAreBounded(t *testing.T) {
	u := newUploads(t)
	u.Exec(`INSERT INTO logged_uploads (checkpoint, name, parts, store) SELECT $1, n::text, 1, '' FROM generate_series(1, 97) n`, u.id)
	began := make(chan error)
	for range 6 {
		go func() {
			_, _, err := u.BeginUpload(t.Context(), u.id, "more.bin", 1)
			began <- err
		}()
	}
	failed := 0
	for range 6 {
		if err := <-began; fault.Is(err, fault.Invalid) && strings.Contains(err.Error(), "no more are allowed") {
			failed++
		} else if err != nil {
			t.Error(err)
		}
	}
	if n := u.Int(`SELECT count(*) FROM logged_uploads`); failed != 3 || n != 100 {
		t.Errorf("%d requests failed, and there are %d uploads", failed, n)
	}
	u.Exec(`DELETE FROM logged_uploads`)

	upload, _ := u.begin("a.bin", "one", "two")
	u.Exec(`UPDATE checkpoints SET size = (1::bigint << 40) - 10`)
	put := func(n int, text string) error {
		return u.WritePart(t.Context(), u.id, "a.bin", upload, n, strings.NewReader(text), int64(len(text)))
	}
	if err := put(1, "four"); err != nil {
		t.Error(err)
	}
	if err := put(2, "x"); !fault.Is(err, fault.TooLarge) {
		t.Errorf("with more parts than the files may have bytes: %v", err)
	}
	u.Exec(`UPDATE checkpoints SET size = 0`)
	for range 3 {
		again, _ := u.begin("b.bin", "one")
		u.finish("b.bin", again, 0, "")
		u.finish("b.bin", again, 0, "")
	}
	if n := u.Int(`SELECT count(*) FROM logged_uploads WHERE finished`); n != 1 {
		t.Errorf("%d complete uploads of one file are remembered", n)
	}
	u.Exec(`UPDATE logged_uploads SET created_at = now() - interval '49 hours' WHERE finished`)
	if n, err := u.DropUploads(t.Context()); n != 0 || err != nil || u.Int(`SELECT count(*) FROM logged_uploads WHERE finished`) != 0 {
		t.Errorf("an old complete upload: %d removed, %v", n, err)
	}
}

// TestALatePartLeavesNothing: a part that arrives when the file is complete makes no folder again.
func TestALatePartLeavesNothing(t *testing.T) {
	u := newUploads(t)
	upload, folder := u.begin("a.bin", "one")
	u.Exec(`UPDATE logged_uploads SET size = NULL`)
	if err := os.RemoveAll(folder); err != nil {
		t.Fatal(err)
	}
	if err := u.WritePart(t.Context(), u.id, "a.bin", upload, 1, strings.NewReader("x"), 1); !fault.Is(err, fault.Conflict) || !strings.Contains(err.Error(), "was removed") {
		t.Error(err)
	}
	if list, err := os.ReadDir(filepath.Join(u.storage, u.id)); err != nil || len(list) != 0 {
		t.Errorf("%v is there: %v", list, err)
	}
}

// TestWhoMayCompleteIsAskedLast: whether a file may be replaced is asked when nobody can register it any more.
func TestWhoMayCompleteIsAskedLast(t *testing.T) {
	u := newUploads(t)
	upload, folder := u.begin("a.bin", "one")
	err := u.FinishUpload(t.Context(), u.id, "a.bin", upload, func(context.Context) error {
		if n := u.Int(`SELECT count(*) FROM logged_uploads WHERE held_until > now()`); n != 1 {
			t.Errorf("%d uploads are held", n)
		}
		return fault.New(fault.Invalid, "it belongs to a version")
	})
	if !fault.Is(err, fault.Invalid) || u.Int(`SELECT count(*) FROM logged_files`) != 0 || u.Int(`SELECT count(*) FROM logged_uploads WHERE held_until > now()`) != 0 {
		t.Errorf("%v", err)
	}
	u.finish("a.bin", upload, 0, "")
	u.complete("a.bin", "one", folder)
}
