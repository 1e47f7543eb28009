package accounts

import (
	"bytes"
	"log/slog"
	"net/netip"
	"strings"
	"testing"
	"time"
)

// TestForwardersAreFew: the number of warnings and their memory are bounded for any input, and the
// master repeats a warning after some time.
func TestForwardersAreFew(t *testing.T) {
	var said bytes.Buffer
	f := NewForwarders(slog.New(slog.NewTextHandler(&said, nil)))
	now := time.Unix(0, 0)
	f.now = func() time.Time { return now }
	address := netip.MustParseAddr("10.0.0.0")
	for range 1000 {
		address = address.Next()
		f.Met(address)
		f.Met(address)
	}
	if lines := strings.Count(said.String(), "\n"); lines != maxForwarders || f.Count() != maxForwarders {
		t.Errorf("%d warnings, %d remembered", lines, f.Count())
	}
	now = now.Add(forwarderLogInterval)
	if f.Count() != 0 {
		t.Errorf("%d are remembered for ever", f.Count())
	}
	f.Met(address)
	if lines := strings.Count(said.String(), "\n"); lines != maxForwarders+1 {
		t.Errorf("%d warnings after a while", lines)
	}
}
