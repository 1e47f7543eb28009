package spool

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/fault"
)

func TestFilesHaveNoName(t *testing.T) {
	dir := t.TempDir()
	f := New(dir, 4000)
	room, err := f.Reserve(t.Context(), "a", 100)
	if err != nil {
		t.Fatal(err)
	}
	file, err := room.Create()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(file, strings.Repeat("x", 60)+"tail"); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(file.Section(60, 4)); err != nil || string(got) != "tail" {
		t.Fatalf("%q %v", got, err)
	}
	if names, err := os.ReadDir(dir); err != nil || len(names) > 0 {
		t.Fatalf("%v %v", names, err)
	}
	if _, err := file.Write(make([]byte, 37)); !fault.Is(err, fault.TooLarge) {
		t.Fatalf("more than was reserved: %v", err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	room.Close()
	if f.Used() != 0 {
		t.Fatalf("%d bytes are still reserved", f.Used())
	}
}

func TestOneOwnerLeavesRoomForOthers(t *testing.T) {
	f := New(t.TempDir(), 4000)
	first, err := f.Reserve(t.Context(), "greedy", 1000)
	if err != nil {
		t.Fatal(err)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := f.Reserve(over, "greedy", 1); !fault.Is(err, fault.Unavailable) {
		t.Fatalf("a second reservation of the same owner: %v", err)
	}
	if _, err := f.Reserve(t.Context(), "other", 1001); !fault.Is(err, fault.TooLarge) {
		t.Fatalf("more than anybody may have: %v", err)
	}
	other, err := f.Reserve(t.Context(), "other", 1000)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	got := make(chan error)
	go func() {
		again, err := f.Reserve(t.Context(), "greedy", 1000)
		if err == nil {
			again.Close()
		}
		got <- err
	}()
	first.Close()
	if err := <-got; err != nil {
		t.Fatalf("the request does not continue when there is room again: %v", err)
	}
}

func TestAFolderThatIsGone(t *testing.T) {
	f := New(t.TempDir()+"/none", 4000)
	room, err := f.Reserve(t.Context(), "a", 1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := room.Create(); !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
}
